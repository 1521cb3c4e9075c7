//! Notices: dangers to promises that are still kept.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::Shown;

/// A danger to the promises of a host, of which people are told before a URL is broken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Notice {
    /// The kind of danger.
    pub kind: NoticeKind,
    /// The domain file of the host, relative to the root of the repository, with `/`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The categories of the URLs that are in danger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Number of URLs that are in danger; absent if the run asked only a part of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endangered: Option<u64>,
    /// The certificate that ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateDates>,
    /// Less than this number of hours was left when a run saw the certificate; 0 after its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_hours: Option<u64>,
    /// The address and the port that showed the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Shown>,
    /// The certificate that has taken its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renewed: Option<CertificateDates>,
}

/// The kinds of notices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    /// The certificate of a host ends soon, or has ended.
    #[default]
    CertificateEnds,
}

impl NoticeKind {
    /// The name, as in files and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CertificateEnds => "certificate-ends",
        }
    }
}

impl Notice {
    /// Whether the certificate has ended.
    pub fn has_ended(&self) -> bool {
        self.within_hours == Some(0)
    }
}

/// The part of a certificate that people look at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CertificateDates {
    /// Begin of the validity.
    pub not_before: Timestamp,
    /// End of the validity.
    pub not_after: Timestamp,
    /// The common name of the issuer; empty if it has none.
    #[serde(default)]
    pub issuer: Shown,
}
