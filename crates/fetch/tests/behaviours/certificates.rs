//! Certificates, good and bad, and the authority that vouches for some of them.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tempfile::NamedTempFile;

/// What is the matter with a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing.
    Good,
    /// It was valid until 2020.
    Expired,
    /// It will be valid from 2999 on.
    Early,
    /// It is for another host.
    OtherHost,
    /// It is vouched for by itself.
    SelfSigned,
    /// The signature is by ECDSA with SHA-512, as the certificate says, which our library does not know.
    Unsupported,
    /// The issuer is an intermediate authority, whose certificate was valid until 2020.
    ExpiredIntermediate,
    /// The issuer is an intermediate authority, whose certificate is valid until 2900.
    OfIntermediate,
}

/// An authority, and the file that names it.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    file: NamedTempFile,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(DnType::CommonName, "The authority");
        let certificate = params.self_signed(&key).expect("a certificate");
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(certificate.pem().as_bytes())
            .expect("room for it");
        Self {
            issuer: Issuer::new(params, key),
            file,
        }
    }

    /// The `ca-file`.
    pub(crate) fn file(&self) -> &Path {
        self.file.path()
    }

    /// How a server speaks TLS that shows each connection the next of these certificates for this host,
    /// and all further connections the last one.
    pub(crate) fn server(&self, kinds: &[Kind], host: &str) -> ServerConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certified = kinds.iter().map(|kind| {
            let (chain, key) = self.certificate(*kind, host);
            let certified = CertifiedKey::from_der(chain, key, &provider);
            Arc::new(certified.expect("a certificate and its key"))
        });
        let resolver = InTurn {
            certified: certified.collect(),
            connections: AtomicUsize::new(0),
        };
        ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(resolver))
    }

    /// Such a certificate for this host with those above it, and its key.
    fn certificate(
        &self,
        kind: Kind,
        host: &str,
    ) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        let name = if kind == Kind::OtherHost {
            "other.test"
        } else {
            host
        };
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let years = match kind {
            Kind::Expired => (2019, 2020),
            Kind::Early => (2999, 3000),
            _ => (2020, 3000),
        };
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let signed = |issuer| params.signed_by(&key, issuer).expect("a certificate");
        let chain = match kind {
            Kind::SelfSigned => {
                let certificate = params.self_signed(&key).expect("a certificate");
                vec![certificate.der().clone()]
            }
            Kind::Unsupported => vec![with_sha512(signed(&self.issuer).der())],
            Kind::ExpiredIntermediate | Kind::OfIntermediate => {
                let until = if kind == Kind::OfIntermediate {
                    2900
                } else {
                    2020
                };
                let (intermediate, certificate) = self.intermediate(until);
                vec![signed(&intermediate).der().clone(), certificate]
            }
            _ => vec![signed(&self.issuer).der().clone()],
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        (chain, key)
    }

    /// An intermediate whose certificate is valid until a year begins.
    fn intermediate(&self, until: i32) -> (Issuer<'static, KeyPair>, CertificateDer<'static>) {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(2010, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        params
            .distinguished_name
            .push(DnType::CommonName, "The intermediate");
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
        (Issuer::new(params, key), certificate.der().clone())
    }
}

/// Several servers behind one name: each connection meets the next of them.
#[derive(Debug)]
struct InTurn {
    certified: Vec<Arc<CertifiedKey>>,
    connections: AtomicUsize,
}

impl ResolvesServerCert for InTurn {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let number = self.connections.fetch_add(1, Ordering::SeqCst);
        let certified = self.certified.get(number).or(self.certified.last());
        certified.cloned()
    }
}

/// The certificate with the identifier of ECDSA with SHA-512 in place of that with SHA-256. Nobody verifies the signature.
fn with_sha512(der: &CertificateDer<'_>) -> CertificateDer<'static> {
    let sha256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
    let mut der = der.to_vec();
    for at in 0..der.len() - sha256.len() {
        if der[at..].starts_with(&sha256) {
            der[at + 7] = 4;
        }
    }
    der.into()
}
