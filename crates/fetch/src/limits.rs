//! When a run is over before its jobs are: stopped, out of time, or out of bytes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use futures_util::future::OptionFuture;

use super::after;
use crate::FetchOptions;
use crate::stop::Stop;
use urldb_verdict::{Failure, FailureKind};

/// The bounds of one run.
#[derive(Debug)]
pub(super) struct Limits {
    stop: Stop,
    deadline: Option<Instant>,
    budget: Option<u64>,
    read: AtomicU64,
}

impl Limits {
    /// Those of a run that starts now.
    pub(super) fn new(stop: &Stop, check: &FetchOptions) -> Self {
        Self {
            stop: stop.clone(),
            deadline: check.deadline.map(after),
            budget: check.byte_budget,
            read: AtomicU64::new(0),
        }
    }

    /// Returns once even what is under way must end, with what that means for a job.
    pub(super) async fn reached(&self) -> Failure {
        let over: OptionFuture<_> = self
            .deadline
            .map(|at| tokio::time::sleep_until(at.into()))
            .into();
        tokio::select! {
            biased;
            () = self.stop.wait() => failure("the run was interrupted"),
            Some(()) = over => failure("the run's time was over"),
        }
    }

    /// Takes note of body bytes that were read.
    pub(super) fn count(&self, bytes: usize) {
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// What it means for jobs not begun when too much was read to begin more.
    pub(super) fn is_spent(&self) -> Option<Failure> {
        let budget = self.budget?;
        (self.read.load(Ordering::Relaxed) >= budget).then(|| {
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
    }
}
