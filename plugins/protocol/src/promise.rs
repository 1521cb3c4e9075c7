//! The promise of a record, and the answer of the network, in the same terms.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use urldb_text::Shown;

/// The comparable part of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Promised {
    /// Length of the body in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of the body, lower-case hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Further digests of the body in lower-case hex, by their algorithms: `md5`, `sha1`, `sha384`, `sha512`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// Media type, or a pseudo type such as `X-301-Redirect`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Status code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The target that the URL must redirect to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirects_to: Option<String>,
}

impl Promised {
    /// Whether the bytes of the body are promised.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.has_digest()
    }

    /// Whether a digest of the body is promised.
    pub fn has_digest(&self) -> bool {
        self.sha256.is_some() || !self.digests.is_empty()
    }

    /// Each promised digest with its algorithm, the weakest first.
    pub fn all_digests(&self) -> Vec<(&str, &str)> {
        all_digests(self.sha256.as_deref(), &self.digests)
    }
}

impl Observed {
    /// The status that is compared with a promised one: that of the first response if a redirect is promised, else that
    /// of the last.
    pub fn status_beside(&self, promised: u16) -> Option<u16> {
        match promised {
            300..400 => self.redirect_status.or(self.status),
            _ => self.status,
        }
    }

    /// Each known digest with its algorithm, the weakest first.
    pub fn all_digests(&self) -> Vec<(&str, &str)> {
        all_digests(self.sha256.as_deref(), &self.digests)
    }
}

fn all_digests<'a>(
    sha256: Option<&'a str>,
    further: &'a BTreeMap<String, String>,
) -> Vec<(&'a str, &'a str)> {
    let mut digests: Vec<_> = further
        .iter()
        .map(|(name, hex)| (name.as_str(), hex.as_str()))
        .chain(sha256.map(|hex| ("sha256", hex)))
        .collect();
    // The order of the names is that of their strengths.
    digests.sort_unstable();
    digests
}

/// The answer of the network; the fields correspond to [`Promised`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Observed {
    /// Status of the last response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The URL of the last response, if it differs from the requested URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub final_url: Option<Shown>,
    /// Number of bytes of the body that were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of a complete body, lower-case hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Further digests of a complete body in lower-case hex, by the algorithms of the promise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub digests: BTreeMap<String, String>,
    /// The content type that the server sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Shown>,
    /// Status of the first response, if it is a redirect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect_status: Option<u16>,
    /// The target of the first response, if it is a redirect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Shown>,
    /// The IP address that answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}
