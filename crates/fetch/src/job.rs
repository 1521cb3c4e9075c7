//! Types that the fetcher and its caller exchange about a job.

use std::time::Duration;

use urldb_verdict::{Job, Observation};

/// The next step of a job after a fetch, chosen by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next<D> {
    /// The job is finished, with this decision.
    Done(D),
    /// The job is fetched once more. The bytes of the bodies so far are dropped.
    Retry {
        /// Time until the next fetch; the job takes no slot while it waits.
        wait: Duration,
        /// Whether the fetch uses a new connection, bypasses all caches and keeps the body.
        fresh: bool,
    },
}

/// A finished job.
#[derive(Debug)]
pub struct FetchedJob<D> {
    /// The job.
    pub job: Job,
    /// All observations of the job, oldest first. Only the last one may have the bytes of its body.
    pub observations: Vec<Observation>,
    /// The caller's decision; `None` if the fetcher gave up the job, and then the last observation
    /// says why.
    pub decision: Option<D>,
}
