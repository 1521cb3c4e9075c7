//! The whole pipeline: the one module that knows every stage.
//!
//! [`check`] only looks. [`run`] looks, and then archives, remembers and tells.
//! What [`run`] writes, it writes in an order in which a kill at any point
//! loses nothing: captures first, then the message to send, then the ledger,
//! and only then is the message delivered and crossed off.

mod canonical;
mod domains;
mod keeper;
mod memory;
mod mistakes;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use urldb_format::Finding;
use urldb_protocol::{Envelope, JobResult, RunInfo};

use crate::ambient::Ambient;
use crate::archive::Archive;
use crate::config::{self, ArchiveRecords, Config};
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::fetch::{Fetcher, Next, Observation};
use crate::ledger::{self, Ledger};
use crate::notify::{self, Delivered, Notifiers, Outbox};
use crate::plan::{Cnames, Job, Keep, LeftOut, Purpose, Rehash, Selection};
use crate::report::{Judged, Misread, Report};
use crate::stop::Stop;
use crate::verdict::{self, Assessment, Canary, Judgement, Policy, Settled};
use domains::{Domains, Planned};
use keeper::Keeper;

/// Seconds.
const DAY: i64 = 24 * 60 * 60;

/// What a run works with.
pub struct Setting<'a> {
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

/// Watches a run go on.
pub trait Progress {
    /// These jobs there are, file by file.
    fn planned(&self, _jobs: &[Vec<Job>]) {}
    /// One more is done, and comes to this by itself.
    fn finished(&self, _job: &Job, _assessment: &Assessment) {}
    /// This was seen of a job, and comes to that beside all others.
    fn settled(&self, _job: &Job, _seen: &[Observation], _assessment: &Assessment) {}
}

/// Both are told.
impl<A: Progress, B: Progress> Progress for (&A, &B) {
    fn planned(&self, jobs: &[Vec<Job>]) {
        self.0.planned(jobs);
        self.1.planned(jobs);
    }

    fn finished(&self, job: &Job, assessment: &Assessment) {
        self.0.finished(job, assessment);
        self.1.finished(job, assessment);
    }

    fn settled(&self, job: &Job, seen: &[Observation], assessment: &Assessment) {
        self.0.settled(job, seen, assessment);
        self.1.settled(job, seen, assessment);
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
pub fn check(setting: &Setting<'_>) -> anyhow::Result<Outcome> {
    let started = (setting.ambient.now)();
    let domains = Domains::list(setting.config, setting.selection)?;
    let Planned {
        mut jobs,
        files,
        unreadable,
        left_out,
    } = domains.plan(purpose(setting, Keep::None, started), &())?;
    canonical::want(&mut jobs, setting.config)?;
    let mut report = new_report(setting, left_out, mistakes::all(files));
    observe(setting, jobs, |(job, observations, assessment)| {
        report.add(&Judged {
            job: &job,
            observations: &observations,
            assessment: &assessment,
            standing: None,
        });
    })?;
    let exit_code = report.exit_code();
    let (envelope, results) = report.finish(run_info(setting, started));
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
pub fn run(setting: &Setting<'_>) -> anyhow::Result<Outcome> {
    let (config, started) = (setting.config, (setting.ambient.now)());
    let domains = Domains::list(config, setting.selection)?;
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
    } = domains.plan(purpose_of_run(setting, started, &folder)?, &ledger)?;
    canonical::want(&mut jobs, config)?;
    let due = jobs.iter().flatten().map(|job| job.key.clone()).collect();
    let understood = domains::understood(&files);
    let misread = mistakes::beside(&mut ledger, files);

    let mut aside = Aside::default();
    let report = new_report(setting, left_out, misread);
    let report = look_and_archive(setting, jobs, report, &mut ledger, &mut aside)?;
    let (exit_code, unverified) = (report.exit_code(), report.unverified());
    let (envelope, results) = report.finish(run_info(setting, started));
    if setting.selection.is_everything() {
        let forgotten = memory::forget(&mut ledger, &hosts, &understood, &due);
        aside.note_failure(forgotten);
    }
    // News that could not be put down anywhere is not believed yet: it stays news.
    let lines = memory::history(&envelope, setting.selection, unverified);
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
    setting: &Setting<'_>,
    jobs: Vec<Vec<Job>>,
    report: Report,
    ledger: &mut Ledger,
    aside: &mut Aside,
) -> anyhow::Result<Report> {
    let config = setting.config;
    let folder = config.root.join(&config.archive.path);
    let (archive, notes) = Archive::open(&folder, &config.archive, setting.ambient)?;
    aside.notes.extend(notes);
    let mut keeper = Keeper {
        policy: policy(&config.check),
        ambient: setting.ambient,
        ledger,
        report,
        trouble: None,
        files: BTreeSet::new(),
    };
    keeper.keep_all(&archive, |keep| observe(setting, jobs, keep))?;
    let Keeper {
        report,
        trouble,
        files,
        ..
    } = keeper;
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

fn new_report(setting: &Setting<'_>, left_out: LeftOut, misread: Misread) -> Report {
    let expiry_warning = setting.config.check.expiry_warning;
    Report::new(setting.with_results, expiry_warning, left_out, misread)
}

fn purpose(setting: &Setting<'_>, keep: Keep, now: Timestamp) -> Purpose {
    Purpose {
        max_body: setting.config.check.largest_body(),
        whole: setting.whole,
        keep,
        // What an alias serves is nothing to promise.
        cnames: if setting.whole {
            Cnames::None
        } else {
            setting.config.check.cnames
        },
        day: day_of(now),
        rehash: Rehash::ALWAYS,
    }
}

/// The day is that on which the run begins, as the history has it: else one that ends meanwhile
/// would be passed over by the next run.
fn purpose_of_run(
    setting: &Setting<'_>,
    started: Timestamp,
    ledger_folder: &Path,
) -> anyhow::Result<Purpose> {
    let keep = match setting.config.archive.records {
        ArchiveRecords::Static => Keep::Static,
        ArchiveRecords::All => Keep::All,
    };
    let purpose = purpose(setting, keep, started);
    // Which records are read in full now: those whose day has come since the last run.
    let every = setting.config.check.rehash_every;
    if every == 1 {
        return Ok(purpose);
    }
    let last = ledger::last_run(ledger_folder)?.map(day_of);
    Ok(Purpose {
        rehash: Rehash::new(every, purpose.day, last),
        ..purpose
    })
}

/// The number of a day, in UTC.
fn day_of(time: Timestamp) -> u64 {
    u64::try_from(time.as_second() / DAY).unwrap_or_default()
}

fn run_info(setting: &Setting<'_>, started: Timestamp) -> RunInfo {
    let [a, b, c, d, ..] = (setting.ambient.random)();
    let root =
        std::path::absolute(&setting.config.root).unwrap_or_else(|_| setting.config.root.clone());
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
        finished: (setting.ambient.now)(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repository,
    }
}

/// The verdict's part of `[check]`.
pub fn policy(check: &config::Check) -> Policy {
    Policy {
        retries: check.retries,
        retry_wait: check.retry_wait,
        confirm: check.confirm,
        blocked_after: check.blocked_after,
        challenges: check.challenges.clone(),
    }
}

/// Fetches every job until the verdict is content, and hands it on with what was seen.
fn observe(
    setting: &Setting<'_>,
    jobs: Vec<Vec<Job>>,
    mut done: impl FnMut(Settled),
) -> anyhow::Result<()> {
    let check = &setting.config.check;
    let policy = policy(check);
    let fetcher =
        Fetcher::new(check, &setting.config.network).context("cannot set up the HTTP client")?;
    setting.progress.planned(&jobs);
    let judge = |job: &Job, seen: &[Observation]| verdict::judge(job, seen, &policy);
    let next = |job: &Job, seen: &[Observation]| match judge(job, seen) {
        Judgement::Settled(_) => Next::Done,
        Judgement::Again { wait, fresh } => Next::Again { wait, fresh },
    };
    let mut canary = Canary::default();
    let mut tell = |settled: Vec<Settled>| {
        for (job, seen, assessment) in settled {
            setting.progress.settled(&job, &seen, &assessment);
            done((job, seen, assessment));
        }
    };
    fetcher.fetch_all(
        // What was taken in is not kept here as well.
        jobs.into_iter().flatten(),
        next,
        |job, seen| {
            let assessment = match judge(&job, &seen) {
                Judgement::Settled(assessment) => assessment,
                Judgement::Again { .. } => verdict::unsettled(&seen),
            };
            setting.progress.finished(&job, &assessment);
            tell(canary.pass((job, seen, assessment)));
        },
        setting.stop,
    );
    tell(canary.end());
    Ok(())
}
