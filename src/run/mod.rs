//! The pipeline: the one module that joins all stages.
//!
//! - [`check`] fetches the selected URLs and judges them. It writes nothing.
//! - [`run`] also archives, updates the ledger and notifies. A kill at any point loses nothing,
//!   because `run` writes captures first, then the message, then the ledger, and only then delivers
//!   the message and removes it from the outbox.
//! - [`shard`] fetches and archives a part of a run, and writes a bundle; [`collect`] is a run whose
//!   records come from bundles.
//! - [`fetch_served`] fetches URLs whose bytes a command wants to promise.
//!
//! A run is a sequence of steps, each in a file:
//!
//! | step | input | output |
//! |---|---|---|
//! | `prepare` | the options of the run | `Prepared`: everything that earlier runs left |
//! | `plan` | `Prepared`, domain files | `Plan`: jobs, mistakes, counts |
//! | `observe`, `archive` | jobs | a [`JobRecord`] of each, with the verdict of this job alone |
//! | `bundles` in their place | jobs, bundles | the same |
//! | `diagnose`, `probes` | records | the same, settled: good ones at once, all others at the end |
//! | `record` | settled records | `RunTally`: report, outcomes; and the entries of the ledger |
//! | `conclude` | `Prepared`, `Plan`, `RunTally` | `Conclusion`: envelope, incidents, line, exit code |
//! | `commit` | `Conclusion` | [`Outcome`]: outbox, incidents, ledger and history are written |
//!
//! `check` leaves `archive` and `commit` out. A shard writes the records to its bundle, and ends.

mod archive;
#[cfg(test)]
mod audience_tests;
mod bundles;
mod certificates;
mod commit;
mod conclude;
mod diagnose;
mod domain_files;
mod doubt;
mod impaired;
mod incidents;
mod late;
mod lost_evidence;
mod memory;
mod network;
mod observe;
mod options;
mod outcome;
mod outcomes;
mod plan;
mod plan_options;
mod planned_jobs;
mod planner;
mod pool;
mod prepare;
mod probes;
mod record;
mod served;
mod shard;
mod shared_ledger;
mod unchecked;
mod unsettled;

use std::path::PathBuf;

use crate::bundle::{Bundles, Expected, digest_of_inputs};
use crate::ledger::JobRecord;

use archive::from_network;
use bundles::from_bundles;
use commit::commit;
use conclude::{conclude, conclude_check};
use diagnose::Diagnosis;
use observe::observe_planned;
use plan::{plan, plan_check};
use prepare::{RunStart, prepare, run_info};
use probes::probe;
use record::RunTally;
use unsettled::unarchived;

pub use doubt::doubt;
pub use late::{Overdue, overdue};
pub use memory::IncidentMemory;
pub(crate) use observe::fetcher;
pub use options::{CheckedLists, Progress, Results, RunOptions};
pub use outcome::{Messages, Outcome};
pub use plan::audience_urls;
pub use prepare::{project_name, run_id};
pub use served::{PromisedKeys, ServedPromise, fetch_served, unpromised_job};
pub use shard::{ShardOutcome, shard};

/// The source of the records of a run.
enum JobSource {
    Network,
    Bundles(Bundles),
}

/// Checks every selected URL. Writes nothing and notifies nobody.
pub fn check(options: &RunOptions<'_>) -> anyhow::Result<Outcome> {
    let started = (options.ambient.now)();
    let run = run_info(options, started, (options.ambient.random)());
    let mut plan = plan_check(options, started)?;
    let mut tally = RunTally::of_check(options, started, &mut plan);
    let mut diagnosis = Diagnosis::new(options, plan.jobs.has_static(), 1);
    observe_planned(options, &mut plan.jobs, &(), |judged| {
        let mut record = unarchived(judged, started);
        if diagnosis.note(0, &mut record) {
            tally.check(options, &record);
        }
        tally.see(&record.judged);
    })?;
    let probes = probe(options, diagnosis.take_probes(), &run.id)?;
    let explanations = diagnosis.end(&probes, None, |record| tally.check(options, &record))?;
    tally.report.set_explanations(explanations);
    Ok(conclude_check(options, run, plan, tally))
}

/// Checks every selected URL, archives the observations, updates the ledger, and puts the message
/// about transitions into the outbox; [`Outcome::deliver`] sends it.
pub fn run(options: &RunOptions<'_>) -> anyhow::Result<Outcome> {
    let start = RunStart {
        started: (options.ambient.now)(),
        finished: None,
        random: (options.ambient.random)(),
        shards: vec![],
    };
    run_from(options, start, JobSource::Network)
}

/// As [`run`], with the observations and captures in the bundles of shards. Jobs without a bundle were
/// not asked. The same bundles make the same run, in its id, its times and all that it writes.
pub fn collect(options: &RunOptions<'_>, folders: &[PathBuf]) -> anyhow::Result<Outcome> {
    let inputs = digest_of_inputs(options.config)?;
    let expected = Expected {
        inputs: &inputs,
        selection: options.selection,
    };
    let bundles = Bundles::open(folders, &expected)?;
    run_from(
        options,
        bundles::start(&bundles),
        JobSource::Bundles(bundles),
    )
}

fn run_from(
    options: &RunOptions<'_>,
    start: RunStart,
    source: JobSource,
) -> anyhow::Result<Outcome> {
    let mut prepared = prepare(options, start)?;
    let mut plan = plan(&prepared)?;
    let mut tally = RunTally::of_run(&mut prepared, &mut plan);
    let machines = match &source {
        JobSource::Network => 1,
        JobSource::Bundles(bundles) => bundles.shards().len(),
    };
    let mut diagnosis = Diagnosis::new(options, plan.jobs.has_static(), machines);
    let jobs = &mut plan.jobs;
    let mut note = |machine: usize, mut record: JobRecord| {
        if diagnosis.note(machine, &mut record) {
            tally.record(&prepared, &mut record);
        }
        tally.end_job(&prepared, &record.judged);
    };
    let (archive, probes) = match source {
        JobSource::Network => {
            let archive = from_network(&prepared, jobs, |record| note(0, record))?;
            let probes = probe(options, diagnosis.take_probes(), &prepared.run.id)?;
            (archive, probes)
        }
        JobSource::Bundles(bundles) => {
            let probes = bundles.probes();
            (from_bundles(bundles, &prepared, jobs, note)?, probes)
        }
    };
    let last_run = prepared
        .past
        .iter()
        .rfind(|run| run.is_complete())
        .map(|run| run.at);
    let mut settling = tally.settling(&prepared);
    let explanations = diagnosis.end(&probes, last_run, |record| settling.record(record))?;
    settling.close();
    tally.report.set_explanations(explanations);
    conclude(prepared, plan, tally, archive).map(commit)
}
