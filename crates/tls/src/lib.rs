//! The certificates of servers that urldb trusts: those of the system's authorities, and those that a
//! `ca-file` names.
//!
//! A `ca-file` names authorities, or the server's own certificate. A self-signed certificate of a server
//! often says that it belongs to an authority, as `openssl req -x509` writes it, and no library takes an
//! authority for a server. So a certificate that the file names is compared byte for byte; its dates and
//! its names count all the same.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod certificate;

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;

pub use certificate::CertificateNames;

/// The fault of a certificate from an unknown authority, and the remedy, for a sentence about the
/// certificate.
pub const UNKNOWN_AUTHORITY: &str = "is not from a known authority: it is self-signed, its authority \
    is private, or the server leaves out an intermediate certificate; `ca-file` names certificates that \
    are trusted as well";

/// The certificates that are to be trusted cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is no PEM.
    #[error("is not valid PEM: {0}")]
    Pem(String),
    /// The PEM holds something else.
    #[error("holds no certificate")]
    NoCertificate,
    /// The system has no certificate authorities.
    #[error(
        "no certificate authorities ({0}): install the system's (ca-certificates), or name a `ca-file`"
    )]
    NoAuthorities(#[source] rustls::Error),
}

/// Verifies the certificates of servers.
#[derive(Debug)]
pub struct Trust {
    system: Verifier,
    /// The certificates that the user names.
    named: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Trusts the authorities of the system, and the certificates in `pem`.
    ///
    /// # Errors
    /// When `pem` holds no certificate, or the system has no authorities.
    pub fn new(pem: Option<&[u8]>) -> Result<Self, Error> {
        let named: Vec<_> = CertificateDer::pem_slice_iter(pem.unwrap_or_default())
            .collect::<Result<_, _>>()
            .map_err(|error| Error::Pem(error.to_string()))?;
        if pem.is_some() && named.is_empty() {
            return Err(Error::NoCertificate);
        }
        let system = Verifier::new_with_extra_roots(named.iter().cloned(), provider())
            .map_err(Error::NoAuthorities)?;
        Ok(Self { system, named })
    }
}

/// The settings of TLS connections with this verifier.
///
/// # Errors
/// When the cryptography has no protocol that is safe.
pub fn client_config(verifier: Arc<dyn ServerCertVerifier>) -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// Whether no trusted authority has signed the certificate. An authority's certificate in place of a
/// server's counts too: the library reports it without a name.
pub fn is_unknown_authority(error: &CertificateError) -> bool {
    matches!(
        error,
        CertificateError::UnknownIssuer | CertificateError::Other(_)
    )
}

/// Checks the dates and the names of a certificate that the user names.
fn verify_named(
    certificate: &CertificateDer<'_>,
    server_name: &ServerName<'_>,
    now: UnixTime,
) -> Result<ServerCertVerified, rustls::Error> {
    let read = CertificateNames::read(certificate).ok_or(CertificateError::BadEncoding)?;
    if now < read.not_before {
        return Err(CertificateError::NotValidYet.into());
    }
    if now > read.not_after {
        return Err(CertificateError::Expired.into());
    }
    verify_server_name(&ParsedCertificate::try_from(certificate)?, server_name)?;
    Ok(ServerCertVerified::assertion())
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.named.iter().any(|named| named == end_entity) {
            return verify_named(end_entity, server_name, now);
        }
        self.system
            .verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.system
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.system
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};

    use super::*;

    const DAY: u64 = 86_400;

    /// A self-signed certificate for `localhost`, valid in January 2026.
    fn self_signed(is_ca: bool) -> rcgen::Certificate {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2026, 2, 1);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap()
    }

    #[test]
    fn a_named_certificate_of_a_server_is_trusted_within_its_dates_and_for_its_names() {
        let january = 1_767_225_600;
        for is_ca in [false, true] {
            let (named, other) = (self_signed(is_ca), self_signed(is_ca));
            let trust = Trust::new(Some(named.pem().as_bytes())).unwrap();
            let verify = |certificate: &rcgen::Certificate, name: &'static str, seconds| {
                let name = ServerName::try_from(name).unwrap();
                let now = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
                let verified = trust.verify_server_cert(certificate.der(), &[], &name, &[], now);
                match verified {
                    Ok(_) => None,
                    Err(rustls::Error::InvalidCertificate(error)) => Some(error),
                    Err(error) => panic!("{error}"),
                }
            };
            assert_eq!(verify(&named, "localhost", january + DAY), None);
            assert!(matches!(
                verify(&named, "elsewhere.test", january + DAY),
                Some(CertificateError::NotValidForNameContext { .. })
            ));
            let (early, late) = (january - DAY, january + 40 * DAY);
            assert_eq!(
                verify(&named, "localhost", early),
                Some(CertificateError::NotValidYet)
            );
            assert_eq!(
                verify(&named, "localhost", late),
                Some(CertificateError::Expired)
            );
            // The same name and dates, and another key.
            let error = verify(&other, "localhost", january + DAY).unwrap();
            assert!(
                is_unknown_authority(&error) || error == CertificateError::BadSignature,
                "{error:?}"
            );
        }
    }

    #[test]
    fn what_is_no_certificate_is_an_error() {
        let key = KeyPair::generate().unwrap().serialize_pem();
        for pem in ["", "no PEM", &key] {
            let error = Trust::new(Some(pem.as_bytes())).unwrap_err();
            assert!(matches!(error, Error::NoCertificate), "{pem}: {error}");
        }
        let cut = "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n";
        assert!(matches!(
            Trust::new(Some(cut.as_bytes())),
            Err(Error::Pem(_))
        ));
    }
}
