//! The certificates of servers that urldb trusts: those of the system's authorities, and those that a
//! `ca-file` names.
//!
//! A `ca-file` names authorities, or the server's own certificate. A self-signed certificate of a server
//! often says that it belongs to an authority, as `openssl req -x509` writes it, and no library takes an
//! authority for a server. So a certificate that the file names is compared byte for byte; its dates and
//! its names count all the same.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;

mod certificate;
mod fault;
mod oid;

pub use certificate::CertificateNames;
pub use fault::{Fault, FaultKind};

/// Most certificates of authorities that are looked at for the first one to end.
const MOST_AUTHORITIES: usize = 8;

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
#[derive(Debug, Clone)]
pub struct Trust {
    system: Arc<Verifier>,
    /// The certificates that the user names.
    named: Arc<[CertificateDer<'static>]>,
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
        Ok(Self {
            system: Arc::new(system),
            named: named.into(),
        })
    }

    /// The certificate of an authority that ends before the server's own, and without which the chain is not valid: the
    /// first of these to end. `chain` is what a server sent and is valid, its own certificate first.
    pub fn first_to_end(
        &self,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
    ) -> Option<CertificateNames> {
        let (own, others) = chain.split_first()?;
        let end = CertificateNames::read(own)?.not_after;
        let mut earlier: Vec<_> = others
            .iter()
            .take(MOST_AUTHORITIES)
            .filter_map(|it| CertificateNames::read(it))
            .filter(|it| it.not_after < end)
            .collect();
        earlier.sort_by_key(|it| it.not_after);
        earlier.into_iter().find(|it| {
            let after = Duration::from_secs(it.not_after.as_secs().saturating_add(1));
            let after = UnixTime::since_unix_epoch(after);
            self.verify(own, others, name, &[], after).is_err()
        })
    }

    fn verify(
        &self,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.named.iter().any(|named| named == own) {
            verify_named(own, name, now)
        } else {
            self.system
                .verify_server_cert(own, others, name, ocsp_response, now)
        }
    }
}

/// The settings of TLS connections to servers that `trust` verifies.
///
/// # Errors
/// When the cryptography has no protocol that is safe.
pub fn client_config(trust: Trust) -> Result<ClientConfig, rustls::Error> {
    Ok(ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(trust))
        .with_no_client_auth())
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
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
        self.verify(end_entity, intermediates, server_name, ocsp_response, now)
            .map_err(|error| Fault::explain(error, end_entity, intermediates))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.system
            .verify_tls12_signature(message, certificate, signature)
            .map_err(|error| Fault::explain(error, certificate, &[]))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.system
            .verify_tls13_signature(message, certificate, signature)
            .map_err(|error| Fault::explain(error, certificate, &[]))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.system.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
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
                verified
                    .err()
                    .map(|error| Fault::within(&error).unwrap().kind)
            };
            assert_eq!(verify(&named, "localhost", january + DAY), None);
            assert_eq!(
                verify(&named, "elsewhere.test", january + DAY),
                Some(FaultKind::WrongName)
            );
            let (early, late) = (january - DAY, january + 40 * DAY);
            assert_eq!(
                verify(&named, "localhost", early),
                Some(FaultKind::NotYetValid)
            );
            assert_eq!(verify(&named, "localhost", late), Some(FaultKind::Expired));
            // The same name and dates, and another key.
            assert_eq!(
                verify(&other, "localhost", january + DAY),
                Some(FaultKind::UnknownAuthority)
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
