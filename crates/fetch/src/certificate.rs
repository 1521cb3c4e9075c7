//! Reads the certificates of servers, accepted ones and rejected ones.

use jiff::Timestamp;
use rustls::pki_types::UnixTime;
use urldb_tls::{CertificateNames, Fault};
use urldb_verdict::Certificate;

/// Reads a server's own certificate from DER; `None` if the bytes are no certificate.
pub(crate) fn read_certificate(der: &[u8]) -> Option<Certificate> {
    certificate_of(CertificateNames::read(der)?, true)
}

/// A certificate with these names and dates: the server's own, or that of an authority in its chain.
pub(crate) fn certificate_of(read: CertificateNames, is_own: bool) -> Option<Certificate> {
    Some(Certificate {
        subject: read.subject,
        issuer: read.issuer,
        not_before: timestamp(read.not_before)?,
        not_after: timestamp(read.not_after)?,
        is_authority: !is_own,
    })
}

/// The certificate that has a fault.
pub(crate) fn faulty_certificate(fault: &Fault) -> Option<Certificate> {
    certificate_of(fault.certificate.clone()?, fault.is_own)
}

fn timestamp(time: UnixTime) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(time.as_secs()).ok()?).ok()
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
