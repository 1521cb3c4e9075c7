//! Reads server certificates, accepted ones and rejected ones.

use std::sync::Arc;

use jiff::Timestamp;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, OtherError};
use urldb_tls::{CertificateNames, UNKNOWN_AUTHORITY, is_unknown_authority};
use urldb_verdict::Certificate;

/// Reads a certificate from DER; `None` if the bytes are no certificate.
pub(crate) fn read_certificate(der: &[u8]) -> Option<Certificate> {
    let read = CertificateNames::read(der)?;
    Some(Certificate {
        subject: read.subject,
        issuer: read.issuer,
        not_before: timestamp(read.not_before)?,
        not_after: timestamp(read.not_after)?,
    })
}

fn timestamp(time: UnixTime) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(time.as_secs()).ok()?).ok()
}

/// A certificate that the verifier rejected, and the reason.
#[derive(Debug, thiserror::Error)]
#[error("{}; the certificate is {certificate}", tls_fault(error))]
pub(crate) struct RejectedCertificate {
    pub(crate) error: rustls::Error,
    pub(crate) certificate: Certificate,
}

/// A TLS error for people: what is wrong, and nothing about the library.
pub(crate) fn tls_fault(error: &rustls::Error) -> String {
    use CertificateError as C;
    let rustls::Error::InvalidCertificate(certificate) = error else {
        return error.to_string();
    };
    let fault = match certificate {
        C::UnsupportedSignatureAlgorithmContext { .. }
        | C::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "the certificate is signed with an algorithm that is no longer trusted, such as SHA-1"
        }
        error if is_unknown_authority(error) => {
            return format!("the certificate {UNKNOWN_AUTHORITY}");
        }
        C::BadSignature => "the certificate's signature is not that of its authority",
        C::Revoked => "the certificate is revoked",
        C::InvalidPurposeContext { .. } => "the certificate is not for servers",
        // The names in the certificate, and its dates, are part of the library's own words.
        other => return format!("invalid peer certificate: {other}"),
    };
    fault.to_owned()
}

impl RejectedCertificate {
    /// The rejected certificate inside a TLS error.
    pub(crate) fn within(error: &rustls::Error) -> Option<&Self> {
        match error {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
                inner.downcast_ref()
            }
            _ => None,
        }
    }
}

/// Adds the rejected certificate to the error about it.
pub(crate) fn with_certificate(
    error: rustls::Error,
    rejected: &CertificateDer<'_>,
) -> rustls::Error {
    let Some(certificate) = read_certificate(rejected) else {
        return error;
    };
    let rejected = Arc::new(RejectedCertificate { error, certificate });
    rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(rejected)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn der() -> Vec<u8> {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["example.test".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2020, 1, 2);
        params.not_after = rcgen::date_time_ymd(2021, 1, 2);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, "\x1b[31mred");
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn dates_are_read_and_names_contain_no_terminal_escapes() {
        let read = read_certificate(&der()).unwrap();
        assert_eq!(
            (read.not_before.to_string(), read.not_after.to_string()),
            ("2020-01-02T00:00:00Z".into(), "2021-01-02T00:00:00Z".into())
        );
        let shown = read.to_string();
        assert!(shown.contains("[31mred"), "{shown}");
        assert!(!shown.contains('\x1b'), "{shown}");
    }

    #[test]
    fn faults_of_tls_are_named_in_words() {
        use CertificateError as C;
        for (error, words) in [
            (
                C::UnsupportedSignatureAlgorithmContext {
                    signature_algorithm_id: vec![42, 134, 72, 134, 247, 13, 1, 1, 5],
                    supported_algorithms: Vec::new(),
                },
                "SHA-1",
            ),
            (C::UnknownIssuer, "self-signed"),
            (C::BadSignature, "signature"),
        ] {
            let fault = tls_fault(&rustls::Error::InvalidCertificate(error));
            assert!(fault.contains(words) && fault.len() < 200, "{fault}");
            assert!(!fault.contains(['{', '[']), "{fault}");
        }
    }

    proptest! {
        #[test]
        fn damaged_certificates_do_not_panic(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let mut der = der();
            let at = at.index(der.len());
            der[at] = byte;
            read_certificate(&der);
            read_certificate(&der[..cut.index(der.len())]);
        }
    }
}
