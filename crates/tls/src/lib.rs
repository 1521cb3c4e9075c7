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

use der::asn1::{AnyRef, GeneralizedTime, ObjectIdentifier, UtcTime};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use rustls_platform_verifier::Verifier;

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
#[derive(Debug, Clone)]
pub struct Trust {
    system: Arc<Verifier>,
    /// The certificates that the user names.
    named: Arc<[CertificateDer<'static>]>,
    on_rejection: RejectionError,
}

/// Makes the error about a rejected certificate.
pub type RejectionError = fn(rustls::Error, &CertificateDer<'_>) -> rustls::Error;

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
            on_rejection: |error, _| error,
        })
    }

    /// Changes the error of each rejected certificate.
    #[must_use]
    pub fn on_rejection(mut self, change: RejectionError) -> Self {
        self.on_rejection = change;
        self
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
        let verified = if self.named.iter().any(|named| named == end_entity) {
            verify_named(end_entity, server_name, now)
        } else {
            self.system.verify_server_cert(
                end_entity,
                intermediates,
                server_name,
                ocsp_response,
                now,
            )
        };
        verified.map_err(|error| (self.on_rejection)(error, end_entity))
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

/// The names and the dates of a certificate (RFC 5280, 4.1), for people. Nothing else is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateNames {
    /// Name of the server, such as `CN=example.org`.
    pub subject: String,
    /// Name of the authority, such as `C=US, O=Example Trust, CN=Example CA`.
    pub issuer: String,
    /// Begin of the validity.
    pub not_before: UnixTime,
    /// End of the validity.
    pub not_after: UnixTime,
}

impl CertificateNames {
    /// Reads them from the first certificate of a PEM text; `None` if there is none.
    pub fn read_pem(pem: &[u8]) -> Option<Self> {
        let first = CertificateDer::pem_slice_iter(pem).next()?.ok()?;
        Self::read(&first)
    }

    /// Reads them from DER; `None` if the bytes are no certificate.
    pub fn read(der: &[u8]) -> Option<Self> {
        read_certificate(der).ok()
    }
}

/// Most characters of a name. A server chooses the names of its certificate.
const LONGEST_NAME: usize = 256;

fn read_certificate(der: &[u8]) -> der::Result<CertificateNames> {
    let mut certificate = nested(&mut SliceReader::new(der)?, Tag::Sequence)?;
    let mut fields = nested(&mut certificate, Tag::Sequence)?;
    let version_or_serial = AnyRef::decode(&mut fields)?;
    if version_or_serial.tag() != Tag::Integer {
        let _serial = AnyRef::decode(&mut fields)?;
    }
    let _signature_algorithm = nested(&mut fields, Tag::Sequence)?;
    let issuer = read_name(&mut fields)?;
    let mut validity = nested(&mut fields, Tag::Sequence)?;
    Ok(CertificateNames {
        issuer,
        not_before: read_time(&mut validity)?,
        not_after: read_time(&mut validity)?,
        subject: read_name(&mut fields)?,
    })
}

/// A reader of the next value's content.
fn nested<'a>(reader: &mut SliceReader<'a>, tag: Tag) -> der::Result<SliceReader<'a>> {
    let value = AnyRef::decode(reader)?;
    value.tag().assert_eq(tag)?;
    SliceReader::new(value.value())
}

fn read_time(reader: &mut SliceReader<'_>) -> der::Result<UnixTime> {
    let time = AnyRef::decode(reader)?;
    let since_1970 = match time.tag() {
        Tag::UtcTime => time.decode_as::<UtcTime>()?.to_unix_duration(),
        _ => time.decode_as::<GeneralizedTime>()?.to_unix_duration(),
    };
    Ok(UnixTime::since_unix_epoch(since_1970))
}

/// Reads a name, such as `C=US, O=Example, CN=example.org + serialNumber=1`.
fn read_name(reader: &mut SliceReader<'_>) -> der::Result<String> {
    let mut sets = nested(reader, Tag::Sequence)?;
    let mut parts = Vec::new();
    while !sets.is_finished() {
        let mut set = nested(&mut sets, Tag::Set)?;
        let mut attributes = Vec::new();
        while !set.is_finished() {
            let mut attribute = nested(&mut set, Tag::Sequence)?;
            let id: ObjectIdentifier = attribute.decode()?;
            let value = attribute_text(AnyRef::decode(&mut attribute)?);
            attributes.push(format!("{}={value}", attribute_name(&id.to_string())));
        }
        parts.push(attributes.join(" + "));
    }
    let mut name = parts.join(", ");
    if let Some((end, _)) = name.char_indices().nth(LONGEST_NAME) {
        name.truncate(end);
        name.push('…');
    }
    Ok(name)
}

fn attribute_text(value: AnyRef<'_>) -> String {
    match value.tag() {
        Tag::BmpString => {
            let (pairs, _) = value.value().as_chunks();
            let units: Vec<_> = pairs.iter().map(|&pair| u16::from_be_bytes(pair)).collect();
            String::from_utf16_lossy(&units)
        }
        _ => String::from_utf8_lossy(value.value()).into_owned(),
    }
}

/// The usual abbreviation of an attribute, or its name in X.520 and PKCS #9.
fn attribute_name(id: &str) -> String {
    let name = match id {
        "2.5.4.3" => "CN",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "0.9.2342.19200300.100.1.25" => "DC",
        "1.2.840.113549.1.9.1" => "Email",
        "0.9.2342.19200300.100.1.1" => "uid",
        "1.2.840.113549.1.9.2" => "unstructuredName",
        "1.3.6.1.4.1.311.60.2.1.1" => "msJurisdictionLocality",
        "1.3.6.1.4.1.311.60.2.1.2" => "msJurisdictionStateOrProvince",
        "1.3.6.1.4.1.311.60.2.1.3" => "msJurisdictionCountry",
        "2.5.4.4" => "surname",
        "2.5.4.5" => "serialNumber",
        "2.5.4.9" => "streetAddress",
        "2.5.4.12" => "title",
        "2.5.4.13" => "description",
        "2.5.4.15" => "businessCategory",
        "2.5.4.16" => "postalAddress",
        "2.5.4.17" => "postalCode",
        "2.5.4.41" => "name",
        "2.5.4.42" => "givenName",
        "2.5.4.46" => "dnQualifier",
        other => return format!("OID({other})"),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, DnValue, IsCa, KeyPair, date_time_ymd,
    };

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

    fn certificate() -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["example.test".to_owned()]).unwrap();
        params.not_before = date_time_ymd(2020, 1, 2);
        params.not_after = date_time_ymd(2060, 1, 2);
        let bmp = rcgen::string::BmpString::try_from("Zoë").unwrap();
        let name = &mut params.distinguished_name;
        name.push(DnType::CountryName, "DE");
        name.push(DnType::OrganizationName, DnValue::BmpString(bmp));
        name.push(DnType::CustomDnType(vec![2, 5, 4, 5]), "17");
        name.push(DnType::CustomDnType(vec![2, 5, 4, 97]), "other");
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().to_vec()
    }

    #[test]
    fn names_and_dates_are_read() {
        let read = CertificateNames::read(&certificate()).unwrap();
        assert_eq!(
            read.subject,
            "CN=rcgen self signed cert, C=DE, O=Zoë, serialNumber=17, OID(2.5.4.97)=other"
        );
        assert_eq!(read.issuer, read.subject);
        let seconds = (read.not_before.as_secs(), read.not_after.as_secs());
        assert_eq!(seconds, (1_577_923_200, 2_840_227_200));
    }

    #[test]
    fn names_of_servers_are_short() {
        let mut params = CertificateParams::new(vec!["example.test".to_owned()]).unwrap();
        let name = &mut params.distinguished_name;
        name.push(DnType::CommonName, "é".repeat(60_000));
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        let read = CertificateNames::read(certificate.der()).unwrap();
        assert_eq!(
            read.subject,
            format!("CN={}…", "é".repeat(LONGEST_NAME - 3))
        );
    }

    proptest! {
        #[test]
        fn damaged_certificates_do_not_panic(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let mut der = certificate();
            let at = at.index(der.len());
            der[at] = byte;
            CertificateNames::read(&der);
            CertificateNames::read(&der[..cut.index(der.len())]);
        }
    }
}
