//! The options of the plan of a run.

use jiff::Timestamp;
use urldb_verdict::{Cnames, KeptBodies, PlanOptions, Rehash, Shard};

use super::options::RunOptions;
use crate::config::ArchiveRecords;
use crate::ledger::RunLine;

const DAY: i64 = 24 * 60 * 60;

/// The options of the plan: of all domain files, or of those of each shard.
#[derive(Debug, Clone)]
pub(super) struct PlanOptionsByHost {
    /// The options of hosts of no shard.
    pub(super) default: PlanOptions,
    /// The options of each shard; none if the run has no shards.
    pub(super) shards: Vec<PlanOptions>,
}

impl From<PlanOptions> for PlanOptionsByHost {
    fn from(default: PlanOptions) -> Self {
        Self {
            default,
            shards: vec![],
        }
    }
}

impl PlanOptionsByHost {
    /// The static records that all shards read in full. Shards that began on different days have no such
    /// days in common, unless they read all records.
    pub(super) fn rehash(&self) -> Rehash {
        let mut plans = self.shards.iter();
        let of_all = plans.next().unwrap_or(&self.default).rehash;
        if plans.all(|plan| plan.rehash == of_all) {
            return of_all;
        }
        Rehash::of_days(of_all.every(), self.default.day, 0)
    }

    /// The options of the domain file of a host.
    pub(super) fn of(&self, host: &str) -> PlanOptions {
        let count = u32::try_from(self.shards.len()).unwrap_or(u32::MAX);
        let shard = Shard::of_host(host, count);
        self.shards
            .get(shard.index())
            .copied()
            .unwrap_or(self.default)
    }
}

/// The options of a run that archives these bodies.
pub(super) fn plan_options(
    options: &RunOptions<'_>,
    kept_bodies: KeptBodies,
    now: Timestamp,
) -> PlanOptions {
    PlanOptions {
        max_body: options.config.check.fetch.largest_body(),
        max_capture: options.config.archive.max_capture,
        whole: options.for_promise,
        kept_bodies,
        // The bytes of an alias are never promised.
        cnames: if options.for_promise {
            Cnames::None
        } else {
            options.config.check.cnames
        },
        day: day_of(now),
        rehash: Rehash::ALWAYS,
    }
}

/// The options of `run`. The day of the run is the day on which it begins, as in the history, so that
/// a run over midnight skips no day.
pub(super) fn plan_options_of_run(
    options: &RunOptions<'_>,
    started: Timestamp,
    past: &[RunLine],
) -> PlanOptions {
    let kept_bodies = match options.config.archive.records {
        ArchiveRecords::Static => KeptBodies::Static,
        ArchiveRecords::All => KeptBodies::All,
    };
    let plan = plan_options(options, kept_bodies, started);
    let every = options.config.check.rehash_every;
    if every == 1 {
        return plan;
    }
    let last = past
        .iter()
        .filter(|run| run.is_complete())
        .map(|run| day_of(run.at))
        .max();
    PlanOptions {
        rehash: Rehash::new(every, plan.day, last),
        ..plan
    }
}

/// The number of a day, in UTC.
fn day_of(time: Timestamp) -> u64 {
    u64::try_from(time.as_second() / DAY).unwrap_or_default()
}
