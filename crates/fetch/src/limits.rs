//! Limits of a whole run: interruption, deadline and byte budget.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::OptionFuture;
use urldb_verdict::{Failure, FailureKind};

use crate::options::FetchOptions;
use crate::stop::{Stop, deadline_in};

/// The limits of one run, and the bytes read so far.
#[derive(Debug)]
pub(crate) struct Limits {
    stop: Stop,
    deadline: Option<Instant>,
    byte_budget: Option<u64>,
    bytes_read: Arc<AtomicU64>,
}

impl Limits {
    /// The limits of a run that starts now.
    pub(crate) fn new(stop: &Stop, options: &FetchOptions) -> Self {
        Self {
            stop: stop.clone(),
            deadline: options.deadline.map(deadline_in),
            byte_budget: options.byte_budget,
            bytes_read: options.bytes_read.clone().unwrap_or_default(),
        }
    }

    /// Waits until the run is stopped or reaches its deadline; returns the failure of every
    /// unfinished job.
    pub(crate) async fn run_end(&self) -> Failure {
        let deadline: OptionFuture<_> = self
            .deadline
            .map(|at| tokio::time::sleep_until(at.into()))
            .into();
        tokio::select! {
            biased;
            () = self.stop.wait() => failure("the run was interrupted"),
            Some(()) = deadline => failure("the run reached its deadline"),
        }
    }

    /// Counts body bytes against the budget.
    pub(crate) fn count_bytes(&self, bytes: usize) {
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// The failure of every job without a request under way, once the byte budget is used up.
    pub(crate) fn budget_failure(&self) -> Option<Failure> {
        let budget = self.byte_budget?;
        (self.bytes_read.load(Ordering::Relaxed) >= budget).then(|| {
            failure(&format!(
                "the run's byte budget of {budget} bytes is used up"
            ))
        })
    }
}

fn failure(detail: &str) -> Failure {
    Failure {
        kind: FailureKind::RunEnded,
        detail: detail.to_owned(),
        certificate: None,
    }
}
