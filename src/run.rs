//! The whole pipeline: the one module that knows every stage.
//!
//! [`check`] only looks. [`run`] looks, and then archives, remembers and tells.
//! What [`run`] writes, it writes in an order in which a kill at any point
//! loses nothing: captures first, then the message to send, then the ledger,
//! and only then is the message delivered and crossed off.

mod canonical;
mod domains;
mod memory;
mod mistakes;
mod recorder;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use urldb_format::Finding;
use urldb_protocol::{Envelope, JobResult, RunInfo};

use crate::ambient::Ambient;
use crate::archive::Archive;
use crate::config::{ArchiveRecords, Config};
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::ledger::{self, Ledger};
use crate::notify::{self, Delivered, Notifiers, Outbox};
use crate::report::{Mistakes, Report, ReportedJob};
use crate::stop::Stop;
use domains::{Domains, Planned};
use recorder::Recorder;
use urldb_fetch::{FetchedJob, Fetcher, Next};
use urldb_verdict::Observation;
use urldb_verdict::{Canary, Decision, JudgedJob, Verdict, VerdictOptions};
use urldb_verdict::{Cnames, Job, Keep, LeftOut, PlanOptions, Rehash, Selection};

/// Seconds.
const DAY: i64 = 24 * 60 * 60;

/// What a run works with.
pub struct RunOptions<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// Which records are looked at.
    pub selection: &'a Selection,
    /// Time and chance.
    pub ambient: Ambient,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// Is told of each finished job.
    pub progress: &'a dyn Progress,
    /// Whether the result of every job is kept.
    pub with_results: bool,
    /// Whether bodies are read to the end even where they are longer than promised.
    pub whole: bool,
}

/// Receives progress events of a run.
pub trait Progress {
    /// The run has planned these jobs, one list for each domain file.
    fn planned(&self, _jobs: &[Vec<Job>]) {}
    /// A job is finished, with the verdict of this job alone.
    fn finished(&self, _judged: &JudgedJob) {}
    /// The final verdict of a job, after the canary.
    fn judged(&self, _judged: &JudgedJob) {}
}

/// Both receive every event.
impl<A: Progress, B: Progress> Progress for (&A, &B) {
    fn planned(&self, jobs: &[Vec<Job>]) {
        self.0.planned(jobs);
        self.1.planned(jobs);
    }

    fn finished(&self, judged: &JudgedJob) {
        self.0.finished(judged);
        self.1.finished(judged);
    }

    fn judged(&self, judged: &JudgedJob) {
        self.0.judged(judged);
        self.1.judged(judged);
    }
}

/// What came of it.
pub struct Outcome {
    /// The report.
    pub envelope: Envelope,
    /// The result of every job, if they were kept.
    pub results: Option<Vec<JobResult>>,
    /// What is wrong with records, or keeps them from being read at all, each with its file.
    pub unreadable: Vec<(PathBuf, Finding)>,
    /// Things that went wrong beside the verdicts: the archive is full, a message was refused.
    pub troubles: Vec<String>,
    /// What went well and is worth a line.
    pub notes: Vec<String>,
    /// The table of docs/verdicts.md.
    pub exit_code: ExitCode,
}

/// Things beside the verdicts.
#[derive(Default)]
struct Aside {
    troubles: Vec<String>,
    notes: Vec<String>,
}

/// Looks at every selected URL. Writes nothing and tells nobody.
pub fn check(options: &RunOptions<'_>) -> anyhow::Result<Outcome> {
    let started = (options.ambient.now)();
    let domains = Domains::list(options.config, options.selection)?;
    let Planned {
        mut jobs,
        files,
        unreadable,
        left_out,
    } = domains.plan(plan_options(options, Keep::None, started), &())?;
    canonical::want(&mut jobs, options.config)?;
    let mut report = new_report(options, left_out, mistakes::all(files));
    observe(options, jobs, |judged| {
        report.add(&ReportedJob::new(&judged, None))
    })?;
    let exit_code = report.exit_code();
    let (envelope, results) = report.finish(run_info(options, started));
    Ok(Outcome {
        exit_code: combined(exit_code, &unreadable, &[]),
        envelope,
        results,
        unreadable,
        troubles: vec![],
        notes: vec![],
    })
}

/// Looks at every selected URL, archives what was seen, remembers it, and tells people what is news.
pub fn run(options: &RunOptions<'_>) -> anyhow::Result<Outcome> {
    let (config, started) = (options.config, (options.ambient.now)());
    let domains = Domains::list(config, options.selection)?;
    let hosts = domains.hosts();
    let notifiers = Notifiers::new(config)?;
    let folder = config.root.join(&config.ledger.path);
    let outbox = Outbox::new(&folder);
    remove_strays(config, &outbox, &folder);
    let mut ledger = Ledger::load(&folder, hosts.iter().map(String::as_str))?;
    let Planned {
        mut jobs,
        files,
        unreadable,
        left_out,
    } = domains.plan(plan_options_of_run(options, started, &folder)?, &ledger)?;
    canonical::want(&mut jobs, config)?;
    let due = jobs.iter().flatten().map(|job| job.key.clone()).collect();
    let understood = domains::understood(&files);
    let misread = mistakes::beside(&mut ledger, files);

    let mut aside = Aside::default();
    let report = new_report(options, left_out, misread);
    let report = look_and_archive(options, jobs, report, &mut ledger, &mut aside)?;
    let (exit_code, unverified) = (report.exit_code(), report.unverified());
    let (envelope, results) = report.finish(run_info(options, started));
    if options.selection.is_everything() {
        let forgotten = memory::forget(&mut ledger, &hosts, &understood, &due);
        aside.note_failure(forgotten);
    }
    // News that could not be put down anywhere is not believed yet: it stays news.
    let lines = memory::history(&envelope, options.selection, unverified);
    let remembered = notifiers
        .post(&outbox, &envelope)
        .and_then(|()| ledger.save())
        .and_then(|()| ledger::append(&folder, &lines));
    aside.note_failure(remembered);
    aside.note_deliveries(notifiers.deliver(&outbox, &envelope)?);
    let Aside { troubles, notes } = aside;
    let exit_code = combined(exit_code, &unreadable, &troubles);
    Ok(Outcome {
        envelope,
        results,
        unreadable,
        troubles,
        notes,
        exit_code,
    })
}

/// The exit code of a run: the most severe of its parts.
fn combined(
    verdicts: ExitCode,
    unreadable: &[(PathBuf, Finding)],
    troubles: &[String],
) -> ExitCode {
    let files = if unreadable.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Findings
    };
    let work = if troubles.is_empty() {
        ExitCode::Success
    } else {
        ExitCode::Failure
    };
    verdicts.max(files).max(work)
}

/// Removes what a killed run has left; nobody else writes there while this one does.
fn remove_strays(config: &Config, outbox: &Outbox, ledger_folder: &Path) {
    let mut folders = notify::folders(config, outbox);
    folders.push(ledger_folder.to_owned());
    for folder in folders {
        // One that cannot be removed, or a folder that is not there yet, is no obstacle.
        let _ = urldb_files::remove_stray_files(&folder);
    }
}

/// Looks at all jobs, archives what was seen, and takes it into ledger and report.
fn look_and_archive(
    options: &RunOptions<'_>,
    jobs: Vec<Vec<Job>>,
    report: Report,
    ledger: &mut Ledger,
    aside: &mut Aside,
) -> anyhow::Result<Report> {
    let config = options.config;
    let folder = config.root.join(&config.archive.path);
    let (archive, notes) = Archive::open(&folder, &config.archive, options.ambient)?;
    aside.notes.extend(notes);
    let mut recorder = Recorder {
        options: &config.check.verdict,
        ambient: options.ambient,
        ledger,
        report,
        trouble: None,
        files: BTreeSet::new(),
    };
    recorder.keep_all(&archive, |keep| observe(options, jobs, keep))?;
    let Recorder {
        report,
        trouble,
        files,
        ..
    } = recorder;
    aside.troubles.extend(trouble);
    match archive.finish() {
        Ok(files) => {
            let archived = |path| format!("archived in {}", config.relative_name(path));
            aside.notes.extend(files.iter().map(|path| archived(path)));
        }
        Err(error) => aside.troubles.push(explain(&error)),
    }
    if !aside.troubles.is_empty() {
        // A file that could not be finished is whole again when it has been recovered, or never.
        let unfinished = files.into_iter();
        let unfinished = unfinished.filter(|name| !folder.join(name).is_file());
        ledger.forget_captures(&unfinished.collect());
    }
    Ok(report)
}

impl Aside {
    fn note_failure(&mut self, result: anyhow::Result<()>) {
        self.troubles
            .extend(result.err().map(|error| explain(&error)));
    }

    fn note_deliveries(&mut self, delivered: Vec<Delivered>) {
        for Delivered {
            notifier,
            message,
            failed,
        } in delivered
        {
            let heard = if failed {
                &mut self.troubles
            } else {
                &mut self.notes
            };
            heard.push(format!("{notifier}: {message}"));
        }
    }
}

fn new_report(options: &RunOptions<'_>, left_out: LeftOut, misread: Mistakes) -> Report {
    let expiry_warning = options.config.check.expiry_warning;
    Report::new(options.with_results, expiry_warning, left_out, misread)
}

fn plan_options(options: &RunOptions<'_>, keep: Keep, now: Timestamp) -> PlanOptions {
    PlanOptions {
        max_body: options.config.check.fetch.largest_body(),
        whole: options.whole,
        keep,
        // What an alias serves is nothing to promise.
        cnames: if options.whole {
            Cnames::None
        } else {
            options.config.check.cnames
        },
        day: day_of(now),
        rehash: Rehash::ALWAYS,
    }
}

/// The day is that on which the run begins, as the history has it: else one that ends meanwhile
/// would be passed over by the next run.
fn plan_options_of_run(
    options: &RunOptions<'_>,
    started: Timestamp,
    ledger_folder: &Path,
) -> anyhow::Result<PlanOptions> {
    let keep = match options.config.archive.records {
        ArchiveRecords::Static => Keep::Static,
        ArchiveRecords::All => Keep::All,
    };
    let plan = plan_options(options, keep, started);
    // Which records are read in full now: those whose day has come since the last run.
    let every = options.config.check.rehash_every;
    if every == 1 {
        return Ok(plan);
    }
    let last = ledger::last_run(ledger_folder)?.map(day_of);
    Ok(PlanOptions {
        rehash: Rehash::new(every, plan.day, last),
        ..plan
    })
}

/// The number of a day, in UTC.
fn day_of(time: Timestamp) -> u64 {
    u64::try_from(time.as_second() / DAY).unwrap_or_default()
}

fn run_info(options: &RunOptions<'_>, started: Timestamp) -> RunInfo {
    let [a, b, c, d, ..] = (options.ambient.random)();
    let root =
        std::path::absolute(&options.config.root).unwrap_or_else(|_| options.config.root.clone());
    let repository = root
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    RunInfo {
        id: format!(
            "{}-{a:02x}{b:02x}{c:02x}{d:02x}",
            started.strftime("%Y%m%dT%H%M%SZ")
        ),
        started,
        finished: (options.ambient.now)(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repository,
    }
}

/// Fetches every job until the verdict is content, and hands it on with what was seen.
fn observe(
    options: &RunOptions<'_>,
    jobs: Vec<Vec<Job>>,
    mut done: impl FnMut(JudgedJob),
) -> anyhow::Result<()> {
    let check = &options.config.check;
    let fetcher = Fetcher::new(&check.fetch, &options.config.network)
        .context("cannot set up the HTTP client")?;
    options.progress.planned(&jobs);
    let next = |job: &Job, seen: &[Observation]| decide(job, seen, &check.verdict);
    let mut canary = Canary::default();
    let mut hand_on = |judged: Vec<JudgedJob>| {
        for judged in judged {
            options.progress.judged(&judged);
            done(judged);
        }
    };
    fetcher.fetch_all(
        // Jobs that the fetcher has taken are not kept here as well.
        jobs.into_iter().flatten(),
        next,
        |fetched| {
            let judged = judge(fetched, &check.verdict);
            options.progress.finished(&judged);
            hand_on(canary.pass(judged));
        },
        options.stop,
    );
    hand_on(canary.end());
    Ok(())
}

/// The fetcher's next step for a job.
fn decide(job: &Job, seen: &[Observation], options: &VerdictOptions) -> Next<Verdict> {
    match urldb_verdict::decide(job, seen, options) {
        Decision::Final(verdict) => Next::Done(verdict),
        Decision::Retry { wait, fresh } => Next::Retry { wait, fresh },
    }
}

/// The verdict on a finished job: the one that finished the job, or that of a job given up.
fn judge(fetched: FetchedJob<Verdict>, options: &VerdictOptions) -> JudgedJob {
    let FetchedJob {
        job,
        observations,
        decision,
    } = fetched;
    let verdict = decision.unwrap_or_else(|| match decide(&job, &observations, options) {
        Next::Done(verdict) => verdict,
        Next::Retry { .. } => urldb_verdict::undecided(&job, &observations, options),
    });
    JudgedJob {
        job,
        observations,
        verdict,
    }
}
