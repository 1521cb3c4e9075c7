//! The pipeline: the one module that joins all stages.
//!
//! - [`check`] fetches the selected URLs and judges them. It writes nothing.
//! - [`run`] also archives, updates the ledger and notifies. A kill at any point loses nothing,
//!   because `run` writes captures first, then the message, then the ledger, and only then delivers
//!   the message and removes it from the outbox.
//! - [`shard`] fetches and archives a part of a run, and writes a bundle; [`collect`] is a run whose
//!   observations come from bundles.
//! - [`probe`] fetches URLs whose bytes a command wants to promise.

mod archiving;
mod canonical;
mod collected;
mod domain_files;
mod doubt;
mod failures;
mod incidents;
mod late;
mod memory;
mod mistakes;
mod observe;
mod options;
mod outcome;
mod past_runs;
mod pool;
mod probe;
mod recorder;
mod shard;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use urldb_files::Root;
use urldb_protocol::{Incident, RunInfo};
use urldb_verdict::{
    Canary, ClockVotes, Cnames, JobKey, JudgedJob, KeptBodies, PastRuns, PlanOptions, Rehash,
    SkippedRecords,
};

use crate::archive::{self, Archive, ArchiveFiles, Provenance};
use crate::bundle::{Bundles, Expected, digest_of_inputs};
use crate::config::{ArchiveRecords, Config};
use crate::environment;
use crate::explain::explain;
use crate::ledger::{self, Incidents, Ledger, PastRun, Verifications};
use crate::notify::{Notifiers, Outbox};
use crate::project::{Checkout, Project, selection_text};
use crate::report::{Mistakes, Report, ReportedJob};

use archiving::archive_all;
use collected::Collection;
use domain_files::{DomainFiles, Plan, PlannedJobs, Survey};
use failures::FailureLog;
use incidents::{Outcomes, PlannedUrls, RecordedJob, RunIncidents};
use observe::observe;
use outcome::{UnsentMessages, combined};
use past_runs::SharedLedger;
use recorder::Recorder;
use source::Source;

pub use doubt::doubt;
pub use late::{Overdue, overdue};
pub use memory::IncidentMemory;
pub use options::{Progress, Results, RunOptions};
pub use outcome::{Messages, Outcome};
pub use probe::{PromisedKeys, ServedPromise, probe, probe_job};
pub use shard::{ShardOutcome, shard};

/// Seconds in a day.
const DAY: i64 = 24 * 60 * 60;

/// Checks every selected URL. Writes nothing and notifies nobody.
pub fn check(options: &RunOptions<'_>) -> anyhow::Result<Outcome> {
    let started = (options.ambient.now)();
    let domain_files = DomainFiles::list(options.config, options.selection)?;
    let Plan {
        mut jobs,
        files,
        skipped,
    } = domain_files.plan(
        plan_options(options, KeptBodies::None, started),
        &(),
        |_| {},
    )?;
    let mut planned = PlannedUrls::default();
    planned.count(jobs.by_host(), &skipped);
    let mut outcomes = Outcomes::of(&[]);
    let mistakes = mistakes::current(files);
    let mut report = new_report(options, &skipped, mistakes).expecting(jobs.count());
    observe_planned(options, &mut jobs, &(), |judged| {
        outcomes.add(&RecordedJob::of_check(&judged, started));
        report.add(&ReportedJob::new(&judged, None));
        pass_on_results(options, &mut report);
    })?;
    let run = RunInfo {
        finished: (options.ambient.now)(),
        interrupted: options.stop.is_set(),
        ..run_info(options, started, (options.ambient.random)())
    };
    let incidents = RunIncidents {
        config: options.config,
        run: &run,
        now: options.ambient.now_in_seconds(),
        is_complete: options.selection.is_everything(),
        past: &[],
        planned,
        understood: &[],
    };
    let (incidents, totals) = incidents.of_check(&outcomes);
    report.set_incidents(incidents, totals);
    let exit_code = report.exit_code();
    let (envelope, results) = report.finish(run);
    let Messages { troubles, notes } = jobs.messages();
    Ok(Outcome {
        exit_code: combined(exit_code, &envelope.mistakes, &troubles),
        envelope,
        results,
        troubles,
        notes,
        late: None,
        settings: None,
        unsent: None,
    })
}

/// Checks every selected URL, archives the observations, updates the ledger, and puts the message
/// about transitions into the outbox; [`Outcome::deliver`] sends it.
pub fn run(options: &RunOptions<'_>) -> anyhow::Result<Outcome> {
    run_from(options, Source::Network)
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
    run_from(options, Source::Bundles(Collection::new(bundles)))
}

#[expect(clippy::too_many_lines)]
fn run_from(options: &RunOptions<'_>, mut source: Source) -> anyhow::Result<Outcome> {
    let (config, started) = (options.config, source.started(options));
    let domain_files = DomainFiles::list(config, options.selection)?;
    let hosts = domain_files.hosts();
    let notifiers = Notifiers::new(config);
    let folder = config.ledger_root();
    let outbox = Outbox::new(&folder);
    remove_strays(config, &outbox, &folder);
    let mut messages = Messages::default();
    let ledger = SharedLedger::new(open_ledger(config, &hosts, &mut messages.notes)?);
    let open = Incidents::load(&folder)?;
    let past = ledger::past_runs(&folder, started)?.known;
    let base = Verifications::base(&folder, started)?;
    let mut run = run_info(options, started, source.random(options));
    let is_everything = options.selection.is_everything();
    let of_day = |day| plan_options_of_run(options, day, &past);
    let plan_options = source.plan_options(started, of_day);
    let rehash = plan_options.rehash();
    let mut planned = PlannedUrls::expecting(open.open());
    let mut unplanned: Vec<JobKey> = vec![];
    let Plan {
        mut jobs,
        files,
        skipped,
    } = domain_files.plan(plan_options, &ledger, |seen| match seen {
        Survey::Job(job) => {
            ledger.of(&job.key).set_planned(&job.key);
            planned.see(job);
        }
        Survey::File(file) => {
            let without_record = ledger.planned(&file);
            if is_everything {
                unplanned.extend(without_record);
            }
        }
    })?;
    planned.count(jobs.by_host(), &skipped);
    let understood = domain_files::understood(&files);
    let mistakes = mistakes::compared(&ledger, files);
    ledger.check()?;

    let report = new_report(options, &skipped, mistakes)
        .expecting(jobs.count())
        .comparing_with(base.unverified);
    let history = RunHistory {
        run: &run,
        past: &past,
        open: open.open(),
    };
    let recorder = new_recorder(options, report, &ledger, history);
    let (mut report, outcomes) = source.record(&mut jobs, recorder, &run, &mut messages)?;
    let mut ledger = ledger.into_inner()?;
    messages.extend(jobs.messages());
    run.finished = source.finished(options);
    run.interrupted = options.stop.is_set();
    let incidents = RunIncidents {
        config,
        run: &run,
        now: in_seconds(run.finished),
        is_complete: is_everything,
        past: &past,
        planned,
        understood: &understood,
    };
    let (incidents, totals) = incidents.finish(&open, &mut ledger, outcomes)?;
    report.set_incidents(incidents, totals);
    let (exit_code, verification) = (report.exit_code(), report.take_verification());
    let (envelope, results) = report.finish(run);
    if is_everything {
        let forgotten = past_runs::forget(&mut ledger, &hosts, &understood, &unplanned);
        messages.add_failure(forgotten);
    }
    // A transition that could not be written is not in the ledger, so the next run sees it again.
    let base = base.id;
    let starting = past_runs::Starting { base, rehash };
    let lines = past_runs::history_lines(&envelope, options.selection, starting, verification);
    let memory = IncidentMemory::of_run(&folder, envelope.incidents.clone());
    let remembered = notifiers
        .post(&outbox, &envelope, &memory)
        .and_then(|()| memory.save(&open))
        .and_then(|()| ledger.save())
        .and_then(|()| ledger::append(&folder, started, &lines));
    messages.add_failure(remembered);
    messages.notes.extend(notifiers.unheard(&envelope));
    let late = lateness(&past, started).filter(|_| is_everything);
    let Messages { troubles, notes } = messages;
    let exit_code = combined(exit_code, &envelope.mistakes, &troubles);
    Ok(Outcome {
        envelope,
        results,
        troubles,
        notes,
        late,
        settings: None,
        exit_code,
        unsent: Some(UnsentMessages {
            notifiers,
            outbox,
            now: options.ambient.now,
            memory,
        }),
    })
}

/// The delay of a run that began at `started`, by the complete runs before.
fn lateness(past: &[PastRun], started: Timestamp) -> Option<String> {
    let complete = past.iter().filter(|run| run.is_complete());
    let starts: Vec<Timestamp> = complete.map(|run| run.at).collect();
    late::lateness(&starts, started)
}

/// The ledger, without captures of these hosts that are lost.
fn open_ledger(
    config: &Config,
    hosts: &[String],
    notes: &mut Vec<String>,
) -> anyhow::Result<Ledger> {
    let folder = config.ledger_root();
    let mut ledger = Ledger::new(&folder);
    if let Some(host) = hosts.first() {
        // A folder that cannot be read is an error of the ledger, before any other one.
        ledger.open(host)?;
        ledger.close(host);
    }
    if config.archive.store.is_some() {
        notes.extend(forget_lost_captures(config, hosts, &mut ledger)?);
    }
    Ok(ledger)
}

/// Removes temporary files of killed runs. No other process writes there meanwhile.
fn remove_strays(config: &Config, outbox: &Outbox, ledger: &Root) {
    let of_ledger = [
        ledger.clone(),
        Incidents::folder(ledger),
        ledger::captures_folder(ledger),
    ];
    let folders = config.output_roots().chain(outbox.folders());
    for folder in folders.chain(of_ledger) {
        // A file that cannot be removed, or a folder that does not exist yet, is no obstacle.
        let _ = folder.remove_stray_files();
    }
}

/// Makes the run capture content again whose captures are neither in the store nor on this machine: an
/// earlier machine ended before it had stored them. Returns a line about it.
///
/// # Errors
/// When the store has no credentials or cannot be set up. A store that cannot be reached is none: the
/// upload at the end of the run reports that.
fn forget_lost_captures(
    config: &Config,
    hosts: &[String],
    ledger: &mut Ledger,
) -> anyhow::Result<Option<String>> {
    archive::open_store(config)?;
    let Ok(files) = ArchiveFiles::open(config) else {
        return Ok(None);
    };
    if files.offline().is_some() {
        return Ok(None);
    }
    let mut lost = BTreeSet::new();
    for host in hosts {
        ledger.open(host)?;
        let mut of_host = ledger.capture_files(host)?;
        of_host.retain(|name| !lost.contains(name) && !files.has_or_had(name));
        lost.append(&mut of_host);
        ledger.close(host);
    }
    if lost.is_empty() {
        return Ok(None);
    }
    for host in hosts {
        ledger.open(host)?;
        ledger.forget_captures(host, &lost)?;
        ledger.close(host);
    }
    Ok(Some(format!(
        "{} of the archive never reached the store: their content is captured again",
        count(lost.len(), "file")
    )))
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// The facts of earlier runs that a run uses.
#[derive(Clone, Copy)]
struct RunHistory<'a> {
    /// This run.
    run: &'a RunInfo,
    past: &'a [PastRun],
    /// The open incidents.
    open: &'a [Incident],
}

fn new_recorder<'a>(
    options: &'a RunOptions<'a>,
    report: Report,
    ledger: &'a SharedLedger,
    history: RunHistory<'a>,
) -> Recorder<'a> {
    Recorder {
        run: options,
        ledger,
        report,
        failures: FailureLog {
            run: &history.run.id,
            past: history.past,
        },
        outcomes: Outcomes::of(history.open),
        certificates: BTreeMap::new(),
        trouble: None,
        files: BTreeSet::new(),
    }
}

fn provenance(config: &Config, run: &RunInfo) -> Provenance {
    Provenance {
        project: run.project.clone(),
        user_agent: config.check.fetch.default_host.user_agent.clone(),
        commit: run.commit.clone(),
    }
}

/// Checks all jobs, and records them in archive, ledger and report.
fn check_and_archive(
    jobs: &mut PlannedJobs<'_>,
    mut recorder: Recorder<'_>,
    run: &RunInfo,
    messages: &mut Messages,
) -> anyhow::Result<(Report, Outcomes)> {
    let options = recorder.run;
    let config = options.config;
    let folder = config.archive_root();
    let provenance = provenance(config, run);
    let (archive, notes) = Archive::open(&folder, &config.archive, provenance, options.ambient)?;
    messages.notes.extend(notes);
    let ledger = recorder.ledger;
    let archive = archive_all(
        archive,
        ledger,
        |take| observe_planned(options, jobs, ledger, take),
        |archived| recorder.record(archived, options.ambient.now_in_seconds()),
    )?;
    let finished = archive.finish();
    Ok(finish_records(config, recorder, finished, messages))
}

/// Ends the records of a run once its archive files are finished.
fn finish_records(
    config: &Config,
    recorder: Recorder<'_>,
    archived: anyhow::Result<Vec<PathBuf>>,
    messages: &mut Messages,
) -> (Report, Outcomes) {
    let Recorder {
        ledger,
        mut report,
        outcomes,
        certificates,
        trouble,
        files,
        ..
    } = recorder;
    for (host, shown) in &certificates {
        ledger.of_domain(host).set_certificate(host, shown);
    }
    messages.troubles.extend(trouble);
    match archived {
        Ok(files) => {
            let files: Vec<String> = files
                .iter()
                .map(|path| config.relative_name(path))
                .collect();
            report.set_archived(files);
        }
        Err(error) => messages.troubles.push(explain(&error)),
    }
    if !messages.troubles.is_empty() {
        // The ledger must not refer to captures in a file that could not be finished.
        let folder = config.archive_root();
        let unfinished = files.into_iter();
        let unfinished = unfinished.filter(|name| !folder.file(name).is_file());
        ledger.forget_captures(&unfinished.collect());
    }
    (report, outcomes)
}

fn new_report(options: &RunOptions<'_>, skipped: &SkippedRecords, mistakes: Mistakes) -> Report {
    let expiry_warning = options.config.check.expiry_warning;
    let with_results = options.results != Results::Dropped;
    Report::new(with_results, expiry_warning, skipped, mistakes)
}

/// Gives the results that the report has collected to whoever reads them one by one.
fn pass_on_results(options: &RunOptions<'_>, report: &mut Report) {
    if options.results == Results::Streamed {
        for result in report.take_results() {
            options.progress.result(&result);
        }
    }
}

fn plan_options(options: &RunOptions<'_>, kept_bodies: KeptBodies, now: Timestamp) -> PlanOptions {
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
fn plan_options_of_run(
    options: &RunOptions<'_>,
    started: Timestamp,
    past: &[PastRun],
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
    let complete = past.iter().filter(|run| run.is_complete());
    let last = complete.map(|run| day_of(run.at)).max();
    PlanOptions {
        rehash: Rehash::new(every, plan.day, last),
        ..plan
    }
}

/// The number of a day, in UTC.
fn day_of(time: Timestamp) -> u64 {
    u64::try_from(time.as_second() / DAY).unwrap_or_default()
}

/// The name of the project, as reports have it.
pub fn project_name(config: &Config) -> String {
    project(config).1.name
}

/// The name of the repository's folder, and the project.
fn project(config: &Config) -> (String, Project) {
    let root = std::path::absolute(&config.root).unwrap_or_else(|_| config.root.clone());
    let repository = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let checkout = Checkout::discover(&root);
    let project = Project::new(config, &repository, checkout, environment::variable);
    (repository, project)
}

/// The id of a run: its start in UTC, and a random number.
fn run_id(started: Timestamp, random: [u8; 16]) -> String {
    let start = started.strftime("%Y%m%dT%H%M%SZ");
    format!("{start}-{}", HEXLOWER.encode(&random[..4]))
}

fn in_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

/// The description of a run that begins at `started`. The caller sets its end.
fn run_info(options: &RunOptions<'_>, started: Timestamp, random: [u8; 16]) -> RunInfo {
    let (repository, project) = project(options.config);
    RunInfo {
        id: run_id(started, random),
        started,
        finished: started,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repository,
        project: project.name,
        project_url: project.url,
        site_url: project.site_url,
        commit: project.commit,
        selection: selection_text(options.selection),
        interrupted: false,
        test: false,
    }
}

/// Observes the jobs of a plan.
///
/// # Errors
/// As [`observe`], and when our clock is wrong: then nothing may come of what `take` got. A promise has no
/// time, so no clock is too wrong for one.
fn observe_planned<P: PastRuns + Sync>(
    options: &RunOptions<'_>,
    jobs: &mut PlannedJobs<'_>,
    past: &P,
    mut take: impl FnMut(JudgedJob),
) -> anyhow::Result<()> {
    options.progress.planned(jobs.by_host());
    let canary = Canary::new(jobs.has_static());
    let decide = if options.for_promise {
        urldb_verdict::decide_promise
    } else {
        urldb_verdict::decide
    };
    let RunOptions {
        config,
        stop,
        progress,
        ..
    } = options;
    let sources = jobs.sources(past);
    let mut votes = ClockVotes::default();
    observe(config, stop, *progress, decide, canary, sources, |judged| {
        votes.add(&judged);
        take(judged);
    })?;
    match votes.wrong_clock() {
        Some(wrong) if !options.for_promise => anyhow::bail!(
            "{wrong}: nothing was recorded, and nobody was notified; set the clock (timedatectl \
             set-ntp true), and start urldb again"
        ),
        _ => Ok(()),
    }
}
