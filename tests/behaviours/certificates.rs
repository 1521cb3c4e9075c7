//! Certificates, good and bad, and the authority that vouches for some of them.

use std::io::Write;
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
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

    /// How a server speaks TLS that shows such a certificate for this host.
    pub(crate) fn server(&self, kind: Kind, host: &str) -> ServerConfig {
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
        ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .expect("versions of TLS")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate and its key")
    }
}
