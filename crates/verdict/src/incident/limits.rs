//! Hosts that refuse requests, as runs find them.

use std::collections::BTreeSet;

use urldb_protocol::Notice;

/// The facts of a run about hosts that refuse requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitFacts {
    /// The hosts whose `limit-patience` was over in enough runs in a row, the last of which is this run.
    pub slow: Vec<SlowHost>,
    /// The hosts with a row of such runs or a notice of which this run checked all URLs in time.
    pub in_time: BTreeSet<String>,
}

/// A host whose `limit-patience` was over before all its URLs were checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlowHost {
    /// The host.
    pub host: String,
    /// The notice about it.
    pub notice: Notice,
    /// Whether all URLs that were not checked are muted.
    pub is_muted: bool,
}
