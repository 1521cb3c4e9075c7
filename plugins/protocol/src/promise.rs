//! The promise of a record, and the answer of the network, in the same terms.

use serde::{Deserialize, Serialize};
use urldb_text::Shown;

/// The comparable part of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Promised {
    /// Length of the body in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of the body, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Media type, or a pseudo type such as `X-301-Redirect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The target that the URL must redirect to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects_to: Option<String>,
}

/// The answer of the network; the fields correspond to [`Promised`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Observed {
    /// Status of the last response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The URL of the last response, if it differs from the requested URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_url: Option<Shown>,
    /// Number of bytes of the body that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// SHA-256 of a complete body, lower-case hex.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The content type that the server sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Shown>,
    /// Status of the first response, if it is a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_status: Option<u16>,
    /// The target of the first response, if it is a redirect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Shown>,
    /// The IP address that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}
