//! A shard: fetches and archives the part of a run that falls to one machine, and writes a bundle.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use urldb_verdict::Shard;
use urldb_verdict::diagnosis::ProbePlan;

use super::archive::archive_all;
use super::domain_files::{DomainFiles, FirstReading};
use super::options::RunOptions;
use super::plan_options::plan_options_of_run;
use super::planned_jobs::PlannedJobs;
use super::planner::PlanEvent;
use super::prepare::{open_ledger, provenance, run_id, run_info};
use super::probes::probe;
use super::shared_ledger::SharedLedger;
use crate::archive::Archive;
use crate::bundle::{BundleLine, BundleWriter, digest_of_inputs};
use crate::ledger::{self, JobRecord};

/// The result of a shard.
pub struct ShardOutcome {
    /// The folder of the bundle; `None` if the shard was interrupted, so that there is none.
    pub bundle: Option<PathBuf>,
    /// Number of jobs.
    pub jobs: u64,
    /// Number of hosts that were asked.
    pub hosts: usize,
    /// The first error: of the archive, which the collecting run reports too, or of a domain file that could
    /// not be read again.
    pub trouble: Option<String>,
    /// Lines for people.
    pub notes: Vec<String>,
}

/// Checks the selected URLs of one shard, archives them, and writes a bundle to the folder of the run.
/// Changes no ledger, and notifies nobody.
///
/// # Errors
/// When the shard could not do its work. There is no bundle then.
pub fn shard(
    options: &RunOptions<'_>,
    shard: Shard,
    run_folder: &Path,
) -> anyhow::Result<ShardOutcome> {
    let (config, started) = (options.config, (options.ambient.now)());
    let inputs = digest_of_inputs(config)?;
    let domain_files = DomainFiles::list(config, options.selection)?.of_shard(shard);
    let mut notes = vec![];
    let ledger = open_ledger(config, &domain_files.hosts(), started, &mut notes)?;
    let ledger = SharedLedger::new(ledger);
    let mut jobs = plan(options, started, &domain_files, &ledger)?;
    anyhow::ensure!(
        digest_of_inputs(config)? == inputs,
        "the domain files, urldb.toml or the ledger were changed while the shard read them: run the \
         shard again"
    );
    let hosts = jobs.by_host().len();
    let random = (options.ambient.random)();
    let attempt = run_id(started, random);
    let mut bundle = BundleWriter::create(run_folder, shard, attempt.clone())?;
    let archive = Archive::of_bundle(
        bundle.folder(),
        &config.archive,
        provenance(config, &run_info(options, started, random)),
        options.ambient,
        &label(shard, &attempt),
    );
    let (mut count, mut trouble, mut added) = (0, None, Ok(()));
    let mut plan = ProbePlan::default();
    let archive = archive_all(archive, &ledger, options, &mut jobs, |record| {
        count += 1;
        plan.note(&record.judged);
        if trouble.is_none() {
            trouble.clone_from(&record.archived.error);
        }
        if added.is_ok() {
            added = bundle.add(line(record, &ledger));
        }
    })?;
    added?;
    ledger.check()?;
    let messages = jobs.messages();
    notes.extend(messages.notes);
    let files = archive.finish()?;
    // A later attempt asks for the rest.
    let is_whole = !options.stop.is_set();
    let folder = bundle.folder().path().to_owned();
    if is_whole {
        let probes = probe(options, plan, &attempt)?;
        let times = (started, (options.ambient.now)());
        bundle.finish(inputs, options.selection, times, probes, &files)?;
    }
    Ok(ShardOutcome {
        bundle: is_whole.then_some(folder),
        jobs: count,
        hosts,
        trouble: trouble.or_else(|| messages.troubles.into_iter().next()),
        notes,
    })
}

/// Plans the jobs of a shard that began at `started`.
fn plan<'a>(
    options: &RunOptions<'a>,
    started: Timestamp,
    domain_files: &DomainFiles<'a>,
    ledger: &SharedLedger,
) -> anyhow::Result<PlannedJobs<'a>> {
    let past = ledger::past_runs(&options.config.ledger_root(), started)?.known;
    let plan_options = plan_options_of_run(options, started, &past);
    let FirstReading { jobs, .. } = domain_files.read(plan_options, ledger, |event| {
        if let PlanEvent::File(file) = event {
            ledger.planned(&file);
        }
    })?;
    ledger.check()?;
    Ok(jobs)
}

/// A part of the names of archive files that differs between all attempts of all shards.
fn label(shard: Shard, attempt: &str) -> String {
    let (_, number) = attempt.rsplit_once('-').unwrap_or_default();
    format!("{}of{}-{number}", shard.number(), shard.count())
}

fn line(record: JobRecord, ledger: &SharedLedger) -> BundleLine {
    let key = &record.judged.job.key;
    let known = ledger.known_captures(key);
    let mut shared = ledger.of(key);
    if shared.is_last(&key.domain) {
        shared.close(&key.domain);
    }
    drop(shared);
    BundleLine::new(record, &known)
}
