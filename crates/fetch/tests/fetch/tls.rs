//! Certificates, good and bad.

use std::io::Write;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};
use tempfile::NamedTempFile;
use urldb_fetch::{Fetcher, NetworkOptions};
use urldb_verdict::{BodyEnd, FailureKind};

use crate::support::{Reply, Server};
use crate::{fetch, job, kind, network, quick};

/// A certificate authority, and the file that says so.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) file: NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "The authority");
        let certificate = params.self_signed(&key).unwrap();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(certificate.pem().as_bytes()).unwrap();
        Self {
            issuer: Issuer::new(params, key),
            file,
        }
    }

    /// A server at `example.test` with a certificate of this authority.
    pub(crate) fn server(&self, params: &CertificateParams) -> Server {
        let key = KeyPair::generate().unwrap();
        serve(&params.signed_by(&key, &self.issuer).unwrap(), &key)
    }
}

pub(crate) fn params(name: &str) -> CertificateParams {
    CertificateParams::new(vec![name.to_owned()]).unwrap()
}

fn serve(certificate: &rcgen::Certificate, key: &KeyPair) -> Server {
    answer(certificate, key, Reply::ok("hello"))
}

fn answer(certificate: &rcgen::Certificate, key: &KeyPair, reply: Reply) -> Server {
    Server::tls(config(certificate, key), move |_| reply.clone())
}

fn config(certificate: &rcgen::Certificate, key: &KeyPair) -> ServerConfig {
    config_for(rustls::DEFAULT_VERSIONS, certificate, key)
}

fn config_for(
    versions: &[&'static SupportedProtocolVersion],
    certificate: &rcgen::Certificate,
    key: &KeyPair,
) -> ServerConfig {
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = rustls::crypto::ring::default_provider();
    ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap()
}

fn trusting(authority: &Authority, server: &Server) -> NetworkOptions {
    NetworkOptions {
        ca_file: Some(authority.file.path().to_owned()),
        ..network(&[("example.test", server)])
    }
}

#[test]
fn a_good_certificate_is_accepted_through_the_ca_file() {
    let authority = Authority::new();
    let mut params = params("example.test");
    params.not_after = date_time_ymd(2999, 12, 31);
    let server = authority.server(&params);
    let seen = fetch(
        &quick(),
        &trusting(&authority, &server),
        job("https://example.test/"),
    );
    assert_eq!(seen.failure, None);
    assert_eq!(seen.complete_body().unwrap().length, 5);
    let certificate = seen.last().unwrap().certificate.as_ref().unwrap();
    assert_eq!(certificate.issuer, "CN=The authority");
    assert_eq!(certificate.not_after.to_string(), "2999-12-31T00:00:00Z");
}

#[test]
fn bad_certificates_are_told_apart() {
    let authority = Authority::new();
    let mut expired = params("example.test");
    expired.not_before = date_time_ymd(2019, 1, 1);
    expired.not_after = date_time_ymd(2020, 1, 1);
    let mut early = params("example.test");
    early.not_before = date_time_ymd(2999, 1, 1);
    early.not_after = date_time_ymd(3000, 1, 1);
    for (params, expected, years) in [
        (expired, FailureKind::TlsExpired, (2019, 2020)),
        (early, FailureKind::TlsNotYetValid, (2999, 3000)),
        // What the library writes unless told otherwise.
        (
            params("other.test"),
            FailureKind::TlsWrongHost,
            (1975, 4096),
        ),
    ] {
        let server = authority.server(&params);
        let seen = fetch(
            &quick(),
            &trusting(&authority, &server),
            job("https://example.test/"),
        );
        assert_eq!(kind(&seen), Some(expected), "{:?}", seen.failure);
        let detail = seen.failure.unwrap().detail;
        let facts = format!(
            "issued by CN=The authority, valid from {}-01-01T00:00:00Z to {}-01-01T00:00:00Z",
            years.0, years.1
        );
        assert!(detail.ends_with(&facts), "{detail}");
    }
}

#[test]
fn nobody_vouches_for_a_self_signed_certificate() {
    let authority = Authority::new();
    let mut as_authority = params("example.test");
    as_authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let mut impostor = params("example.test");
    impostor
        .distinguished_name
        .push(DnType::CommonName, "The authority");
    for params in [params("example.test"), as_authority, impostor] {
        let key = KeyPair::generate().unwrap();
        let server = serve(&params.self_signed(&key).unwrap(), &key);
        let seen = fetch(
            &quick(),
            &trusting(&authority, &server),
            job("https://example.test/"),
        );
        assert_eq!(
            kind(&seen),
            Some(FailureKind::TlsUntrusted),
            "{:?}",
            seen.failure
        );
    }
}

#[test]
fn a_server_that_does_not_speak_tls_fails_in_tls() {
    let server = Server::new(|_| Reply::ok(""));
    let garbage = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = garbage.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = garbage.accept().unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .unwrap();
    });
    let mut network = network(&[("example.test", &server)]);
    network.map[0].to_port = Some(address.port());
    let seen = fetch(&quick(), &network, job("https://example.test/"));
    assert_eq!(kind(&seen), Some(FailureKind::Tls), "{:?}", seen.failure);
}

#[test]
fn nothing_but_http_1_1_is_spoken() {
    let authority = Authority::new();
    for (protocols, expected) in [
        (&["h2", "http/1.1"] as &[&str], None),
        (&["h2"], Some(FailureKind::NeedsHttp2)),
    ] {
        let key = KeyPair::generate().unwrap();
        let certificate = params("example.test").signed_by(&key, &authority.issuer);
        let mut config = config(&certificate.unwrap(), &key);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().into())
            .collect();
        let server = Server::tls(config, |_| Reply::ok("hello"));
        let seen = fetch(
            &quick(),
            &trusting(&authority, &server),
            job("https://example.test/"),
        );
        assert_eq!(kind(&seen), expected, "{protocols:?}");
    }
}

#[test]
fn the_version_of_tls_is_observed() {
    let authority = Authority::new();
    for (version, expected) in [
        (&rustls::version::TLS12, "tls/1.2"),
        (&rustls::version::TLS13, "tls/1.3"),
    ] {
        let key = KeyPair::generate().unwrap();
        let certificate = params("example.test").signed_by(&key, &authority.issuer);
        let config = config_for(&[version], &certificate.unwrap(), &key);
        let server = Server::tls(config, |_| Reply::ok("hello"));
        let seen = fetch(
            &quick(),
            &trusting(&authority, &server),
            job("https://example.test/"),
        );
        assert_eq!(seen.last().unwrap().protocols, ["http/1.1", expected]);
    }
}

#[test]
fn a_ca_file_that_cannot_be_used_is_an_error_that_names_it() {
    let empty = NamedTempFile::new().unwrap();
    for path in [
        empty.path().to_owned(),
        empty.path().with_extension("absent"),
    ] {
        let network = NetworkOptions {
            ca_file: Some(path.clone()),
            ..NetworkOptions::default()
        };
        let error = Fetcher::new(&quick(), &network).unwrap_err();
        assert!(
            error.to_string().contains(&path.display().to_string()),
            "{error}"
        );
    }
}

/// The support's server closes its connections without notice, as an attacker in between would.
#[test]
fn tls_that_is_closed_without_notice_cuts_what_only_the_close_would_end() {
    let authority = Authority::new();
    for (head, expected) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", None),
        (
            "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello",
            Some(FailureKind::Disconnected),
        ),
        (
            "HTTP/1.0 200 OK\r\n\r\nhello",
            Some(FailureKind::Disconnected),
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
            Some(FailureKind::Disconnected),
        ),
    ] {
        let key = KeyPair::generate().unwrap();
        let certificate = params("example.test")
            .signed_by(&key, &authority.issuer)
            .unwrap();
        let server = answer(&certificate, &key, Reply::raw(head).close());
        let seen = fetch(
            &quick(),
            &trusting(&authority, &server),
            job("https://example.test/"),
        );
        assert_eq!(kind(&seen), expected, "{head} {:?}", seen.failure);
        let end = match expected {
            None => BodyEnd::Complete,
            Some(_) => BodyEnd::Broken,
        };
        let body = seen.body.unwrap();
        assert_eq!((body.length, body.end), (5, end), "{head}");
    }
}

#[test]
fn a_response_has_the_certificates_as_the_server_sent_them() {
    let authority = Authority::new();
    let (middle_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut middle = CertificateParams::new(Vec::new()).unwrap();
    middle.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    middle
        .distinguished_name
        .push(DnType::CommonName, "The deputy");
    let signed = middle.signed_by(&middle_key, &authority.issuer).unwrap();
    let deputy = Issuer::new(middle, middle_key);
    let own = params("example.test").signed_by(&key, &deputy).unwrap();
    let chain = vec![own.der().clone(), signed.der().clone()];
    let expected: Vec<Vec<u8>> = chain.iter().map(|it| it.to_vec()).collect();
    let provider = rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(rustls::DEFAULT_VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            chain,
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .unwrap();
    let server = Server::tls(config, |_| Reply::ok("hello"));
    let seen = fetch(
        &quick(),
        &trusting(&authority, &server),
        job("https://example.test/"),
    );
    assert_eq!(seen.failure, None);
    let origin = &seen.last().unwrap().origin;
    assert_eq!(origin.certificates.as_deref(), Some(&*expected));
    // The host is mapped, so the resolver was not asked about it.
    assert!(origin.addresses.is_empty());
}
