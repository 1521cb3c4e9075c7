//! The fault of a rejected certificate, in words, and the certificate of the chain that has it.
//!
//! The library names the first fault of a chain, and not the certificate.

use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use der::asn1::ObjectIdentifier;
use der::{Reader, SliceReader};
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, OtherError};
use webpki::Error as Chain;

use crate::certificate::{Certificate, CertificateNames, PublicKey};
use crate::oid;

/// Most names of a certificate that a message lists.
const MOST_NAMES: usize = 5;

/// The fault of a certificate from an unknown authority, and the remedy.
const UNKNOWN_AUTHORITY: &str = "is not from a known authority: it is self-signed, its authority \
    is private, or the server leaves out an intermediate certificate; `ca-file` names certificates that \
    are trusted as well";

/// Shortest and longest RSA key that the library verifies, in bits.
const RSA_BITS: RangeInclusive<usize> = 2048..=8192;

/// Why a certificate is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The kind of fault.
    pub kind: FaultKind,
    /// The fault, for a sentence about the certificate: `has expired`.
    pub words: String,
    /// The certificate that has the fault, if it can be read.
    pub certificate: Option<CertificateNames>,
    /// Whether it is the certificate of the server itself, and not of an authority between the server and the
    /// trusted one.
    pub is_own: bool,
}

/// The kinds of faults of certificates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The time is over.
    Expired,
    /// The time has not come.
    NotYetValid,
    /// The server has another name.
    WrongName,
    /// No trusted authority has issued the certificate.
    UnknownAuthority,
    /// An algorithm or an extension is unknown to the library, and known to other programs: the certificate may be
    /// valid. The words name it: `needs Ed448, which urldb does not support`.
    Unsupported,
    /// Another fault.
    Other,
}

impl Fault {
    /// The fault of a certificate in an error of TLS.
    pub fn within(error: &rustls::Error) -> Option<&Self> {
        match error {
            rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(inner))) => {
                inner.downcast_ref()
            }
            _ => None,
        }
    }

    /// The error of TLS with the fault of the certificates that a server sent, its own first.
    pub(crate) fn explain(
        error: rustls::Error,
        own: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
    ) -> rustls::Error {
        let rustls::Error::InvalidCertificate(fault) = &error else {
            return error;
        };
        let fault = Path::of(own, others).fault(fault);
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(Arc::new(fault))))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.certificate.as_ref().filter(|_| !self.is_own) {
            Some(names) => write!(f, "the intermediate certificate {} ", names.subject)?,
            None => f.write_str("the certificate ")?,
        }
        f.write_str(&self.words)
    }
}

impl std::error::Error for Fault {}

/// The certificate of a server, and those among the others that may have issued it, directly or not.
struct Path(Vec<Certificate>);

impl Path {
    fn of(own: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> Self {
        let mut path: Vec<Certificate> = Certificate::read(own).into_iter().collect();
        let mut others: Vec<Certificate> = others
            .iter()
            .filter_map(|it| Certificate::read(it).ok())
            .collect();
        let mut at = 0;
        while let Some(issued) = path.get(at) {
            let issuer = issued.names.issuer.clone();
            let is_issuer = |other: &mut Certificate| other.names.subject == issuer;
            path.extend(others.extract_if(.., is_issuer).collect::<Vec<_>>());
            at += 1;
        }
        Self(path)
    }

    fn fault(&self, error: &CertificateError) -> Fault {
        use CertificateError as C;
        match error {
            C::Expired if self.0.iter().any(ends_before_it_begins) => {
                let words = "ends before it begins";
                self.at(ends_before_it_begins, FaultKind::Other, words)
            }
            C::Expired | C::ExpiredContext { .. } => {
                let end = match error {
                    C::ExpiredContext { not_after, .. } => Some(*not_after),
                    _ => None,
                };
                let is_meant = |it: &Certificate| Some(it.names.not_after) == end;
                self.at(is_meant, FaultKind::Expired, "has expired")
            }
            C::NotValidYet | C::NotValidYetContext { .. } => {
                let start = match error {
                    C::NotValidYetContext { not_before, .. } => Some(*not_before),
                    _ => None,
                };
                let is_meant = |it: &Certificate| Some(it.names.not_before) == start;
                self.at(is_meant, FaultKind::NotYetValid, "is not valid yet")
            }
            C::NotValidForName => self.own(FaultKind::WrongName, "is for another host"),
            C::NotValidForNameContext { presented, .. } => {
                self.own(FaultKind::WrongName, &other_names(presented))
            }
            C::UnknownIssuer => self.unknown_authority(),
            C::BadSignature => self.bad_signature(),
            C::Revoked => self.other("is revoked"),
            C::BadEncoding => self.other("is not encoded as RFC 5280 says"),
            C::InvalidPurpose | C::InvalidPurposeContext { .. } => self.wrong_purpose(),
            C::UnsupportedSignatureAlgorithmContext {
                signature_algorithm_id,
                ..
            } => self.unsupported_signature(signature_algorithm_id),
            C::UnsupportedSignatureAlgorithmForPublicKeyContext {
                signature_algorithm_id,
                public_key_algorithm_id,
            } => self.unsupported_key(signature_algorithm_id, public_key_algorithm_id),
            C::Other(OtherError(inner)) => match inner.downcast_ref::<Chain>() {
                Some(error) => self.in_chain(error),
                // The verifier of the system has a private error for this one.
                None if self.has_wrong_purpose() => self.wrong_purpose(),
                None => self.other(&format!("is not accepted: {inner}")),
            },
            error => self.other(&format!("is not accepted: {error}")),
        }
    }

    /// The faults that the library has no name for at its surface.
    fn in_chain(&self, error: &Chain) -> Fault {
        match error {
            Chain::CaUsedAsEndEntity => match self.0.first() {
                Some(own) if own.names.subject == own.names.issuer => self.unknown_authority(),
                _ => self.other("is that of an authority, not of a server"),
            },
            Chain::EndEntityUsedAsCa => {
                let words = "is not that of an authority, and has issued another certificate";
                let own = self.0.first().map(|own| own.names.clone());
                let is_issuer = |it: &Certificate| {
                    !it.extensions.is_authority && Some(&it.names) != own.as_ref()
                };
                self.at(is_issuer, FaultKind::Other, words)
            }
            Chain::NameConstraintViolation => {
                self.other("is for a name that its authority may not certify (name constraints)")
            }
            Chain::PathLenConstraintViolated => {
                self.other("has more authorities above it than one of them permits (path length)")
            }
            Chain::UnsupportedCriticalExtension => self.critical_extension(),
            Chain::UnsupportedCertVersion => self.old_version(),
            Chain::SignatureAlgorithmMismatch => {
                self.other("names two different algorithms for its signature")
            }
            Chain::CertDistrusted => self.other("is of an authority that is no longer trusted"),
            Chain::EmptyEkuExtension => self.wrong_purpose(),
            Chain::MaximumNameConstraintComparisonsExceeded
            | Chain::MaximumPathBuildCallsExceeded
            | Chain::MaximumPathDepthExceeded
            | Chain::MaximumSignatureChecksExceeded => {
                self.other("comes with too many others to be verified")
            }
            _ => self.other("is not encoded as RFC 5280 says"),
        }
    }

    /// A fault of the server's own certificate.
    fn own(&self, kind: FaultKind, words: &str) -> Fault {
        Fault {
            kind,
            words: words.to_owned(),
            certificate: self.0.first().map(|own| own.names.clone()),
            is_own: true,
        }
    }

    fn other(&self, words: &str) -> Fault {
        self.own(FaultKind::Other, words)
    }

    /// A limit of the library, which is no fault of the server.
    fn unsupported(&self, needed: &str) -> Fault {
        let words = format!("needs {needed}, which urldb does not support");
        self.own(FaultKind::Unsupported, &words)
    }

    /// A fault of the first certificate with this mark: of the server's own if none has it.
    fn at(&self, has_mark: impl Fn(&Certificate) -> bool, kind: FaultKind, words: &str) -> Fault {
        let at = self.0.iter().position(has_mark).unwrap_or_default();
        Fault {
            certificate: self.0.get(at).map(|it| it.names.clone()),
            is_own: at == 0,
            ..self.own(kind, words)
        }
    }

    fn unknown_authority(&self) -> Fault {
        self.own(FaultKind::UnknownAuthority, UNKNOWN_AUTHORITY)
    }

    /// The library calls a signature bad if the key has a length that it does not verify.
    fn bad_signature(&self) -> Fault {
        let bits = |it: &Certificate| match it.key {
            PublicKey::Rsa(bits) => Some(bits).filter(|bits| !RSA_BITS.contains(bits)),
            PublicKey::Other => None,
        };
        if let Some(odd) = self.0.iter().find_map(bits) {
            if odd > *RSA_BITS.end() {
                return self.unsupported(&format!("an RSA key of {odd} bits"));
            }
            let words = format!("has an RSA key of {odd} bits, which is too short");
            return self.at(|it| bits(it).is_some(), FaultKind::Other, &words);
        }
        match self.0.first() {
            Some(own) if own.names.subject == own.names.issuer => self.unknown_authority(),
            _ => self.other("has a signature that is not that of its authority"),
        }
    }

    fn has_wrong_purpose(&self) -> bool {
        self.0.iter().any(has_wrong_purpose)
    }

    fn wrong_purpose(&self) -> Fault {
        let purposes: Vec<_> = self
            .0
            .iter()
            .filter(|it| has_wrong_purpose(it))
            .flat_map(|it| it.extensions.purposes.iter().flatten())
            .take(MOST_NAMES)
            .map(|id| oid::name_or("", id))
            .collect();
        let words = match purposes.join(", ") {
            none if none.is_empty() => "is not for servers".to_owned(),
            some => format!("is not for servers (extended key usage: {some})"),
        };
        self.at(has_wrong_purpose, FaultKind::Other, &words)
    }

    fn critical_extension(&self) -> Fault {
        let unknown = |it: &Certificate| {
            it.extensions
                .critical
                .iter()
                .find(|id| !oid::is_understood(id))
                .copied()
        };
        let Some(id) = self.0.iter().find_map(unknown) else {
            return self.other("has a critical extension that is unknown");
        };
        if let Some(name) = oid::known_extension(&id) {
            return self.unsupported(&format!("the critical extension {name}"));
        }
        let words = format!("has a critical extension that is unknown ({id})");
        self.at(|it| unknown(it).is_some(), FaultKind::Other, &words)
    }

    fn old_version(&self) -> Fault {
        let is_old = |it: &Certificate| it.version != 3;
        let version = self
            .0
            .iter()
            .find(|it| is_old(it))
            .map_or(1, |it| it.version);
        let words = format!("is of version {version} of X.509, not 3");
        self.at(is_old, FaultKind::Other, &words)
    }

    fn unsupported_signature(&self, algorithm: &[u8]) -> Fault {
        let (id, parameters) = algorithm_of(algorithm);
        let Some(id) = id else {
            return self.other("is not encoded as RFC 5280 says");
        };
        // Without parameters, RSA-PSS is with SHA-1 (RFC 4055, 3.1).
        let is_broken = oid::is_broken(&id)
            || id == oid::RSA_PSS && (parameters.is_empty() || has_sha1(parameters));
        if is_broken {
            return self
                .other("is signed with an algorithm that is no longer trusted, such as SHA-1");
        }
        self.unsupported(&oid::name_or("the signature algorithm ", &id))
    }

    /// A signature by a key for which the library does not know this algorithm, or by a key of another kind.
    fn unsupported_key(&self, signature: &[u8], key: &[u8]) -> Fault {
        let (signature, _) = algorithm_of(signature);
        let (kind, parameters) = algorithm_of(key);
        let is_ecdsa = signature.is_some_and(|id| id.to_string().starts_with("1.2.840.10045.4."));
        let is_curve = kind.is_some_and(|id| id.to_string() == "1.2.840.10045.2.1");
        match algorithm_of(parameters).0.filter(|_| is_ecdsa && is_curve) {
            Some(curve) => self.unsupported(&format!("ECDSA over {}", oid::name_or("", &curve))),
            None if kind == Some(oid::RSA_PSS) => self.unsupported("keys for RSA-PSS only"),
            None => self.bad_signature(),
        }
    }
}

fn ends_before_it_begins(certificate: &Certificate) -> bool {
    certificate.names.not_before > certificate.names.not_after
}

fn has_wrong_purpose(certificate: &Certificate) -> bool {
    let purposes = certificate.extensions.purposes.as_ref();
    purposes.is_some_and(|purposes| !purposes.contains(&oid::SERVER))
}

/// `is for other.test, www.other.test`
fn other_names(names: &[String]) -> String {
    let shown: Vec<_> = names
        .iter()
        .take(MOST_NAMES)
        .map(|name| bare_name(name))
        .collect();
    match names.len().saturating_sub(MOST_NAMES) {
        _ if names.is_empty() => "names no host".to_owned(),
        0 => format!("is for {}", shown.join(", ")),
        more => format!("is for {} and {more} more names", shown.join(", ")),
    }
}

/// `other.test` of `DnsName("other.test")`.
fn bare_name(name: &str) -> &str {
    name.split_once('"')
        .map_or(name, |(_, rest)| rest.trim_end_matches([')', '"']))
}

/// The identifier of an algorithm, and its parameters in DER.
fn algorithm_of(content: &[u8]) -> (Option<ObjectIdentifier>, &[u8]) {
    let Ok(mut reader) = SliceReader::new(content) else {
        return (None, &[]);
    };
    let id = reader.decode().ok();
    let length = usize::try_from(u32::from(reader.remaining_len())).unwrap_or_default();
    (id, &content[content.len().saturating_sub(length)..])
}

/// Whether the parameters of RSA-PSS name SHA-1, or no digest for the content, which means SHA-1.
fn has_sha1(parameters: &[u8]) -> bool {
    let sha1 = oid::SHA1.as_bytes();
    let first = parameters.get(2);
    // The digest of the content has the tag 0.
    first != Some(&0xa0) || parameters.windows(sha1.len()).any(|bytes| bytes == sha1)
}

#[cfg(test)]
#[path = "fault_tests.rs"]
mod tests;
