//! The causes that impair runs: they do not get to the URLs of a host, or to most URLs because of our own network.

use std::collections::{BTreeMap, BTreeSet};

use urldb_protocol::Notice;

/// The hosts that impair a run, and our own network, whose name is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImpairedFacts {
    /// The notices, by host, of those that impaired enough runs in a row, the last of which is this run.
    pub notices: BTreeMap<String, Notice>,
    /// Those that impaired earlier runs, and not this one, as it has shown.
    pub ended: BTreeSet<String>,
}
