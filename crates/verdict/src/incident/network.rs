//! Our own network, as runs find it: while it fails, they see nothing.

use jiff::Timestamp;

/// Our own network, as a run found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnNetwork {
    /// The run shows nothing about it, or not for long enough.
    Unknown,
    /// The run has seen the hosts.
    Works,
    /// Our own network took the results of most URLs, in enough complete runs in a row.
    Fails(BlindRuns),
}

/// Complete runs in a row that got no result for most URLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlindRuns {
    /// Their number.
    pub runs: u64,
    /// The start of the first.
    pub since: Timestamp,
    /// Number of URLs without a result in the last.
    pub urls: u64,
    /// Number of URLs that it asked.
    pub asked: u64,
}
