//! The facts behind many failures of a run.

use serde::{Deserialize, Serialize};
use urldb_text::Shown;

/// A fact that explains the failures of several URLs of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Explanation {
    /// The kind of fact.
    pub kind: ExplanationKind,
    /// The host that was asked; empty if it is about our own network.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// Number of URLs that it explains.
    pub urls: u64,
    /// Number of URLs of the host that the run asked; of our own network, of the run.
    pub of: u64,
    /// The fact, for people: a sentence without a capital letter and a full stop.
    pub sentence: Shown,
}

urldb_text::named_enum! {
    /// The kinds of facts that explain failures.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum ExplanationKind {
        /// The network of this machine.
        OwnNetwork = "own-network",
        /// The promised content in another form, such as with other line ends.
        Converted = "converted",
        /// One content in place of several files.
        SameContent = "same-content",
        /// The promised files and others, in turn.
        TwoVersions = "two-versions",
        /// New files in place of several others.
        Replaced = "replaced",
        /// Redirects of several URLs to one place.
        Moved = "moved",
        /// A bucket of an object store that is gone, or no longer public.
        Bucket = "bucket",
    }
}
