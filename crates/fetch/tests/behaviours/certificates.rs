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
            let (certificate, key) = self.certificate(*kind, host);
            let chain = vec![certificate];
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

    /// Such a certificate for this host, and its key.
    fn certificate(
        &self,
        kind: Kind,
        host: &str,
    ) -> (CertificateDer<'static>, PrivateKeyDer<'static>) {
        let name = if kind == Kind::OtherHost {
            "other.test"
        } else {
            host
        };
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        let years = match kind {
            Kind::Expired => (2019, 2020),
            Kind::Early => (2999, 3000),
            Kind::Good | Kind::OtherHost | Kind::SelfSigned => (2020, 3000),
        };
        params.not_before = date_time_ymd(years.0, 1, 1);
        params.not_after = date_time_ymd(years.1, 1, 1);
        let key = KeyPair::generate().expect("a key");
        let certificate = match kind {
            Kind::SelfSigned => params.self_signed(&key),
            _ => params.signed_by(&key, &self.issuer),
        }
        .expect("a certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        (certificate.der().clone(), key)
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
