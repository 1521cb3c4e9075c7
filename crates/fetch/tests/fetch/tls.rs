//! Certificates, good and bad.

use std::io::{Read, Write};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
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

/// A server with its own certificate, and that of an intermediate authority with these years; and both certificates.
fn with_intermediate(
    authority: &Authority,
    years: (i32, i32),
) -> (ServerConfig, [CertificateDer<'static>; 2]) {
    let (middle_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let mut middle = CertificateParams::new(Vec::new()).unwrap();
    middle.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    middle.not_before = date_time_ymd(years.0, 1, 1);
    middle.not_after = date_time_ymd(years.1, 1, 1);
    middle
        .distinguished_name
        .push(DnType::CommonName, "The intermediate");
    let signed = middle.signed_by(&middle_key, &authority.issuer).unwrap();
    let intermediate = Issuer::new(middle, middle_key);
    let own = params("example.test")
        .signed_by(&key, &intermediate)
        .unwrap();
    let chain = [own.der().clone(), signed.der().clone()];
    let provider = rustls::crypto::ring::default_provider();
    let config = ServerConfig::builder_with_provider(provider.into())
        .with_protocol_versions(rustls::DEFAULT_VERSIONS)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            chain.to_vec(),
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
        )
        .unwrap();
    (config, chain)
}

#[test]
fn a_response_has_the_certificates_as_the_server_sent_them() {
    let authority = Authority::new();
    let (config, chain) = with_intermediate(&authority, (2019, 2999));
    let expected = chain.map(|it| it.to_vec());
    let server = Server::tls(config, |_| Reply::ok("hello"));
    let seen = fetch(
        &quick(),
        &trusting(&authority, &server),
        job("https://example.test/"),
    );
    assert_eq!(seen.failure, None);
    let origin = &seen.last().unwrap().origin;
    assert_eq!(origin.certificates.as_deref(), Some(&expected[..]));
    // The host is mapped, so the resolver was not asked about it.
    assert!(origin.addresses.is_empty());
}

/// The answer to the first record of a client.
type Script = fn(&[u8]) -> Vec<u8>;

/// A server of which each connection gets the answer of this script.
fn greeted(script: Script) -> std::net::SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut head = [0; 5];
            if stream.read_exact(&mut head).is_err() {
                continue;
            }
            let mut record = vec![0; usize::from(u16::from_be_bytes([head[3], head[4]]))];
            if stream.read_exact(&mut record).is_ok() {
                let _ = stream.write_all(&script(&record));
            }
        }
    });
    address
}

const HANDSHAKE_FAILURE: [u8; 7] = [21, 3, 3, 0, 2, 2, 40];

fn number(bytes: &[u8]) -> usize {
    usize::from(u16::from_be_bytes([bytes[0], bytes[1]]))
}

/// The numbers of a list that begins with its length in bytes.
fn list(bytes: &[u8]) -> Vec<u16> {
    let list = bytes[2..2 + number(bytes)].chunks(2);
    list.map(|it| u16::from_be_bytes([it[0], it[1]])).collect()
}

/// The cipher suites of a greeting, and the list in each of these extensions.
fn offers<const N: usize>(hello: &[u8], extensions: [usize; N]) -> (Vec<u16>, [Vec<u16>; N]) {
    // After the type, the length, the version, the random number and the session.
    let rest = &hello[39 + usize::from(hello[38])..];
    let suites = list(rest);
    // And after the compression.
    let mut all = &rest[2 + number(rest) + 4..];
    let mut found = extensions.map(|_| Vec::new());
    while !all.is_empty() {
        let (kind, length) = (number(all), number(&all[2..]));
        if let Some(at) = extensions.iter().position(|wanted| *wanted == kind) {
            found[at] = list(&all[4..]);
        }
        all = &all[4 + length..];
    }
    (suites, found)
}

fn server_hello(random: &[u8; 32], suite: u16, extensions: &[u8]) -> Vec<u8> {
    let body = [
        &[3, 3],
        &random[..],
        &[0],
        &suite.to_be_bytes(),
        &[0],
        &u16::try_from(extensions.len()).unwrap().to_be_bytes(),
        extensions,
    ]
    .concat();
    let length = u8::try_from(body.len()).unwrap();
    // A warning before it, and two records.
    let warning = [21, 3, 3, 0, 2, 1, 112];
    let first = [22, 3, 3, 0, 5, 2, 0, 0, length, body[0]];
    let second = [22, 3, 3, 0, length - 1];
    [&warning[..], &first, &second, &body[1..]].concat()
}

#[test]
fn the_algorithm_that_only_our_library_lacks_is_named() {
    let old_cipher = |hello: &[u8]| {
        let accepts = offers(hello, []).0.contains(&0x002f);
        let hello = accepts.then(|| server_hello(&[7; 32], 0x002f, &[]));
        hello.unwrap_or_else(|| HANDSHAKE_FAILURE.to_vec())
    };
    let closes = |hello: &[u8]| {
        let accepts = offers(hello, []).0.contains(&0xc028);
        let hello = accepts.then(|| server_hello(&[7; 32], 0xc028, &[]));
        hello.unwrap_or_default()
    };
    let curve = |hello: &[u8]| {
        let accepts = offers(hello, [13]).1[0].contains(&0x0603);
        let hello = accepts.then(|| server_hello(&[7; 32], 0x1302, &[0, 43, 0, 2, 3, 4]));
        hello.unwrap_or_else(|| HANDSHAKE_FAILURE.to_vec())
    };
    let group = |hello: &[u8]| {
        let mut retry = [0; 32];
        retry[..4].copy_from_slice(&[0xcf, 0x21, 0xad, 0x74]);
        let extensions = [0, 43, 0, 2, 3, 4, 0, 51, 0, 2, 0, 30];
        let accepts = offers(hello, [10]).1[0].contains(&30);
        let hello = accepts.then(|| server_hello(&retry, 0x1302, &extensions));
        hello.unwrap_or_else(|| HANDSHAKE_FAILURE.to_vec())
    };
    let refuses = |_: &[u8]| HANDSHAKE_FAILURE.to_vec();
    let alert = "the server refuses TLS with the alert HandshakeFailure";
    let plain_http = |_: &[u8]| b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec();
    // As a server that wants a certificate of the client, which refuses later.
    let agrees_first = |hello: &[u8]| {
        let is_greeting = hello[6..38] == [0x55; 32];
        let hello = is_greeting.then(|| server_hello(&[7; 32], 0xc02f, &[]));
        hello.unwrap_or_else(|| HANDSHAKE_FAILURE.to_vec())
    };
    let old_version = |_: &[u8]| vec![21, 3, 1, 0, 2, 2, 70];
    let scripts: [(Script, FailureKind, &str); 8] = [
        (
            old_cipher,
            FailureKind::UnsupportedTls,
            "needs TLS_RSA_WITH_AES_128_CBC_SHA, which urldb does not support",
        ),
        (
            closes,
            FailureKind::UnsupportedTls,
            "needs TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384, which urldb does not support",
        ),
        (
            curve,
            FailureKind::UnsupportedTls,
            "needs the curve P-521, which urldb does not support",
        ),
        (
            group,
            FailureKind::UnsupportedTls,
            "needs key exchange with X448, which urldb does not support",
        ),
        (refuses, FailureKind::Tls, alert),
        (
            plain_http,
            FailureKind::Tls,
            "the server answers without TLS, as at a port for plain HTTP, whose URLs begin with http:",
        ),
        (agrees_first, FailureKind::Tls, alert),
        (
            old_version,
            FailureKind::Tls,
            "the server accepts neither TLS 1.2 nor 1.3; older versions are not secure (RFC 8996)",
        ),
    ];
    for (script, kind, words) in scripts {
        let address = greeted(script);
        let network = NetworkOptions {
            map: vec![format!("example.test={address}").parse().unwrap()],
            ..NetworkOptions::default()
        };
        let seen = fetch(&quick(), &network, job("https://example.test/"));
        let failure = seen.failure.unwrap();
        assert_eq!((failure.kind, &*failure.detail), (kind, words));
    }
}

#[test]
fn the_certificate_of_the_chain_that_is_to_blame_is_named() {
    let authority = Authority::new();
    for (years, expected) in [
        ((2019, 2020), Some((FailureKind::TlsExpired, "has expired"))),
        (
            (2999, 3000),
            Some((FailureKind::TlsNotYetValid, "is not valid yet")),
        ),
        ((2019, 2999), None),
    ] {
        let server = Server::tls(with_intermediate(&authority, years).0, |_| {
            Reply::ok("hello")
        });
        let seen = fetch(
            &quick(),
            &trusting(&authority, &server),
            job("https://example.test/"),
        );
        let to_blame = match (&seen.failure, expected) {
            (Some(failure), Some((kind, words))) => {
                let facts = format!(
                    "the intermediate certificate CN=The intermediate {words}; the certificate is issued by \
                     CN=The authority, valid from {}-01-01T00:00:00Z to {}-01-01T00:00:00Z",
                    years.0, years.1
                );
                assert_eq!((failure.kind, &failure.detail), (kind, &facts));
                failure.certificate.as_deref()
            }
            (None, None) => seen.hops[0].authority.as_ref(),
            other => panic!("{other:?}"),
        };
        let certificate = to_blame.unwrap();
        assert_eq!(certificate.subject, "CN=The intermediate");
        assert!(certificate.is_authority);
        assert_eq!(
            certificate.dates().authority.as_deref(),
            Some("The intermediate")
        );
    }
}
