//! Reads certificates (RFC 5280), for people. Nothing is verified.

use der::asn1::{AnyRef, GeneralizedTime, ObjectIdentifier, UtcTime};
use der::{Decode, Reader, SliceReader, Tag, Tagged};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};

use crate::oid;

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
        Some(Certificate::read(der).ok()?.names)
    }
}

/// The parts of a certificate that explain why it is rejected.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) names: CertificateNames,
    /// The version of X.509: 1, 2 or 3.
    pub(crate) version: u64,
    pub(crate) key: PublicKey,
    pub(crate) extensions: Extensions,
}

/// A public key, as far as its algorithm goes.
#[derive(Debug)]
pub(crate) enum PublicKey {
    /// RSA, with this number of bits.
    Rsa(usize),
    Other,
}

/// The extensions of a certificate that explain why it is rejected.
#[derive(Debug, Default)]
pub(crate) struct Extensions {
    /// Whether the certificate may issue others.
    pub(crate) is_authority: bool,
    /// The extended purposes of the key, if they are limited.
    pub(crate) purposes: Option<Vec<ObjectIdentifier>>,
    /// The critical extensions.
    pub(crate) critical: Vec<ObjectIdentifier>,
}

impl Certificate {
    pub(crate) fn read(der: &[u8]) -> der::Result<Self> {
        let mut certificate = nested(&mut SliceReader::new(der)?, Tag::Sequence)?;
        let mut fields = nested(&mut certificate, Tag::Sequence)?;
        let version_or_serial = AnyRef::decode(&mut fields)?;
        let mut version = 1;
        if version_or_serial.tag() != Tag::Integer {
            let number = u64::from_der(version_or_serial.value());
            version = number.unwrap_or_default().saturating_add(1);
            let _serial = AnyRef::decode(&mut fields)?;
        }
        let _signature_algorithm = nested(&mut fields, Tag::Sequence)?;
        let issuer = read_name(&mut fields)?;
        let mut validity = nested(&mut fields, Tag::Sequence)?;
        let names = CertificateNames {
            issuer,
            not_before: read_time(&mut validity)?,
            not_after: read_time(&mut validity)?,
            subject: read_name(&mut fields)?,
        };
        // The names count, whatever follows.
        let key = read_key(&mut fields).unwrap_or(PublicKey::Other);
        Ok(Self {
            names,
            version,
            key,
            extensions: read_extensions(&mut fields).unwrap_or_default(),
        })
    }
}

fn read_key(fields: &mut SliceReader<'_>) -> der::Result<PublicKey> {
    let mut info = nested(fields, Tag::Sequence)?;
    let id: ObjectIdentifier = nested(&mut info, Tag::Sequence)?.decode()?;
    if !matches!(id, oid::RSA_KEY | oid::RSA_PSS) {
        return Ok(PublicKey::Other);
    }
    let bits = AnyRef::decode(&mut info)?;
    // The first byte is the number of unused bits.
    let key = bits.value().get(1..).unwrap_or_default();
    let mut numbers = nested(&mut SliceReader::new(key)?, Tag::Sequence)?;
    let modulus = AnyRef::decode(&mut numbers)?.value();
    let zeros = modulus.iter().take_while(|byte| **byte == 0).count();
    let first = modulus.get(zeros).copied().unwrap_or_default();
    let unused = usize::try_from(first.leading_zeros()).unwrap_or_default();
    Ok(PublicKey::Rsa(
        ((modulus.len() - zeros) * 8).saturating_sub(unused),
    ))
}

fn read_extensions(fields: &mut SliceReader<'_>) -> der::Result<Extensions> {
    let mut extensions = Extensions::default();
    while !fields.is_finished() {
        let field = AnyRef::decode(fields)?;
        if field.tag().number().value() != 3 {
            continue;
        }
        let mut all = nested(&mut SliceReader::new(field.value())?, Tag::Sequence)?;
        while !all.is_finished() {
            let mut extension = nested(&mut all, Tag::Sequence)?;
            let id: ObjectIdentifier = extension.decode()?;
            let mut value = AnyRef::decode(&mut extension)?;
            if value.tag() == Tag::Boolean {
                if value.value() != [0] {
                    extensions.critical.push(id);
                }
                value = AnyRef::decode(&mut extension)?;
            }
            extensions.add(id, value.value())?;
        }
    }
    Ok(extensions)
}

impl Extensions {
    fn add(&mut self, id: ObjectIdentifier, value: &[u8]) -> der::Result<()> {
        if !matches!(id, oid::BASIC_CONSTRAINTS | oid::EXTENDED_KEY_USAGE) {
            return Ok(());
        }
        let mut parts = nested(&mut SliceReader::new(value)?, Tag::Sequence)?;
        if id == oid::BASIC_CONSTRAINTS {
            self.is_authority = !parts.is_finished() && {
                let first = AnyRef::decode(&mut parts)?;
                first.tag() == Tag::Boolean && first.value() != [0]
            };
            return Ok(());
        }
        let mut purposes = vec![];
        while !parts.is_finished() {
            purposes.push(parts.decode()?);
        }
        self.purposes = Some(purposes);
        Ok(())
    }
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

/// Most characters of a name. A server chooses the names of its certificate.
const LONGEST_NAME: usize = 256;

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
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, DnValue, KeyPair, date_time_ymd};

    use super::*;

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
        let expected = format!("CN={}…", "é".repeat(LONGEST_NAME - 3));
        assert_eq!(read.subject, expected);
    }

    proptest! {
        #[test]
        fn damaged_certificates_do_not_panic(at: prop::sample::Index, byte: u8, cut: prop::sample::Index) {
            let mut der = certificate();
            let at = at.index(der.len());
            der[at] = byte;
            let _ = Certificate::read(&der);
            let _ = Certificate::read(&der[..cut.index(der.len())]);
        }
    }
}
