//! Notices: dangers to promises that are still kept, and faults of the watching itself.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::Shown;

use crate::event::Because;
use crate::finding::{FixedMistake, Mistake};

/// A danger to promises of which people are told though no URL is broken.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Notice {
    /// The kind of danger.
    pub kind: NoticeKind,
    /// The domain file of the host, relative to the root of the repository, with `/`; empty if it is about no
    /// host.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// The categories of the URLs that are in danger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Number of URLs that are in danger; absent if the run asked only a part of them. Number of URLs in `lost` that
    /// the archive lacks, of [`NoticeKind::EvidenceLost`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endangered: Option<u64>,
    /// Number of complete runs in a row that were impaired, of [`NoticeKind::Impaired`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<u64>,
    /// The start of the first of these runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The first mistakes in the file, of [`NoticeKind::Mistake`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// Number of all mistakes in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Number of mistakes or of URLs in `lost` that the reader of a report does not know; absent in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// The mistakes of which the reader of a report knows and that are corrected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<FixedMistake>,
    /// The reason why URLs are not checked: of [`NoticeKind::Impaired`], what the host does and which key of `urldb.toml`
    /// helps; of [`NoticeKind::UnsupportedTls`], `needs Ed448, which urldb does not support`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Shown>,
    /// The URLs whose promised bytes the archive lost, of [`NoticeKind::EvidenceLost`]: in a file and in an event those
    /// that are new, else all since the notice opened.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostContent>,
    /// The certificate that ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateDates>,
    /// Less than this number of hours was left when a run saw the certificate; 0 after its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within_hours: Option<u64>,
    /// The address and the port that showed the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Shown>,
    /// The certificate that has taken its place.
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// Complete runs in a row do not get to all URLs of a host, or, of no host, to most URLs, probably because of the
    /// network of this machine.
    Impaired,
    /// A domain file has mistakes, so that some records are not checked.
    Mistake,
    /// A host needs an algorithm of TLS that urldb lacks, so that its URLs are not checked.
    UnsupportedTls,
    /// The archive lost its copy of promised bytes of a host, whose URLs serve others by now.
    EvidenceLost,
}

impl NoticeKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::CertificateEnds,
        Self::Impaired,
        Self::Mistake,
        Self::UnsupportedTls,
        Self::EvidenceLost,
    ];

    /// The name, as in files and reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CertificateEnds => "certificate-ends",
            Self::Impaired => "impaired",
            Self::Mistake => "mistake",
            Self::UnsupportedTls => "unsupported-tls",
            Self::EvidenceLost => "evidence-lost",
        }
    }
}

impl Notice {
    /// Whether the certificate has ended.
    pub fn has_ended(&self) -> bool {
        self.within_hours == Some(0)
    }
}

/// Promised bytes of a URL that the archive lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LostContent {
    /// The URL.
    pub url: String,
    /// The canonical request, if it is not a plain GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The digests of the bytes, such as `sha256:` and lower-case hex: that first, then each other one that the record
    /// promised.
    pub digests: Vec<String>,
    /// When a run found the copy lost.
    pub lost: Timestamp,
    /// Why the notice is no longer about the URL: the archive has the bytes again, the promise was changed, or the
    /// record is gone. Absent in files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Because>,
}

impl LostContent {
    /// Whether a promise of these digests is one of these bytes. People may have added a digest since.
    pub fn is_promised_by(&self, digests: &[String]) -> bool {
        digests.iter().any(|digest| self.digests.contains(digest))
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
    /// The name of the authority that holds the certificate, if it is not the host's own, but one that the host's
    /// depends on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authority: Option<Shown>,
}
