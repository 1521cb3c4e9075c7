//! Where the observations of a run come from: the network, or the bundles of its shards.

use jiff::Timestamp;
use urldb_protocol::RunInfo;
use urldb_verdict::PlanOptions;

use super::collected::Collection;
use super::domain_files::{PlanOptionsByHost, PlannedJobs};
use super::incidents::Outcomes;
use super::outcome::Messages;
use super::recorder::Recorder;
use super::{RunOptions, check_and_archive};
use crate::report::Report;

/// Where the observations of a run come from. Bundles have the times and the id of the run too.
pub(super) enum Source {
    Network,
    Bundles(Collection),
}

impl Source {
    /// When the run began.
    pub(super) fn started(&self, options: &RunOptions<'_>) -> Timestamp {
        match self {
            Self::Network => (options.ambient.now)(),
            Self::Bundles(collection) => collection.started(),
        }
    }

    /// When the run ended.
    pub(super) fn finished(&self, options: &RunOptions<'_>) -> Timestamp {
        match self {
            Self::Network => (options.ambient.now)(),
            Self::Bundles(collection) => collection.finished(),
        }
    }

    /// The random part of the run's id.
    pub(super) fn random(&self, options: &RunOptions<'_>) -> [u8; 16] {
        match self {
            Self::Network => (options.ambient.random)(),
            Self::Bundles(collection) => collection.id(),
        }
    }

    /// The options of the plan; `of_day` gives those of a run that begins then.
    pub(super) fn plan_options(
        &self,
        started: Timestamp,
        of_day: impl Fn(Timestamp) -> PlanOptions,
    ) -> PlanOptionsByHost {
        match self {
            Self::Network => of_day(started).into(),
            Self::Bundles(collection) => collection.plan_options(of_day),
        }
    }

    /// Judges all jobs, and records them in archive, ledger and report.
    pub(super) fn record(
        &mut self,
        jobs: &mut PlannedJobs<'_>,
        recorder: Recorder<'_>,
        run: &RunInfo,
        messages: &mut Messages,
    ) -> anyhow::Result<(Report, Outcomes)> {
        match self {
            Self::Network => check_and_archive(jobs, recorder, run, messages),
            Self::Bundles(collection) => collection.record(jobs, recorder, run, messages),
        }
    }
}
