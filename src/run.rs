//! The whole pipeline: the one module that knows every stage.
//!
//! [`check`] only looks. [`run`] looks, and then archives, remembers and tells.
//! What [`run`] writes, it writes in an order in which a kill at any point
//! loses nothing: captures first, then the message to send, then the ledger,
//! and only then is the message delivered and crossed off.

mod canonical;
mod domains;
mod keeper;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context;
use urldb_format::Finding;
use urldb_protocol::{Envelope, JobResult, RunInfo};

use crate::ambient::Ambient;
use crate::archive::Archive;
use crate::config::{self, ArchiveRecords, Config};
use crate::explain::explain;
use crate::fetch::{Fetcher, Next, Observation};
use crate::ledger::{self, ChangeLine, Ledger, Line, RunLine};
use crate::notify::{self, Delivered};
use crate::plan::{
    Cnames, Job, JobKey, Keep, Known, LeftOut, Purpose, Rehash, Selection, Validators,
};
use crate::report::{Judged, Report};
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
    /// 0, 1, 2 or 3, as DESIGN says.
    pub exit_code: u8,
}

/// Looks at every selected URL. Writes nothing and tells nobody.
pub fn check(setting: &Setting<'_>) -> anyhow::Result<Outcome> {
    let domains = Domains::list(setting.config, setting.selection)?;
    let Planned {
        mut jobs,
        unreadable,
        left_out,
        ..
    } = domains.plan(purpose(setting, Keep::None), &())?;
    canonical::want(&mut jobs, setting.config)?;
    let started = (setting.ambient.now)();
    let mut report = new_report(setting, left_out);
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
        exit_code: if unreadable.is_empty() { exit_code } else { 1 },
        envelope,
        results,
        unreadable,
        troubles: vec![],
        notes: vec![],
    })
}

/// Looks at every selected URL, archives what was seen, remembers it, and tells people what is news.
pub fn run(setting: &Setting<'_>) -> anyhow::Result<Outcome> {
    let config = setting.config;
    let domains = Domains::list(config, setting.selection)?;
    let hosts = domains.hosts();
    let notifiers = notify::Notifiers::new(config)?;
    let ledger_folder = config.root.join(&config.ledger.path);
    let outbox = notify::Outbox::new(&ledger_folder);
    for folder in notify::folders(config, &outbox)
        .iter()
        .chain([&ledger_folder])
    {
        // What a killed run has left; nobody else writes there while this one does. One that
        // cannot be removed, or a folder that is not there yet, is no obstacle.
        let _ = urldb_format::remove_stray_files(folder);
    }
    let mut ledger = Ledger::load(&ledger_folder, hosts.iter().map(String::as_str))?;
    let keep = match config.archive.records {
        ArchiveRecords::Static => Keep::Static,
        ArchiveRecords::All => Keep::All,
    };
    let purpose = Purpose {
        rehash: rehash(setting, &ledger_folder)?,
        ..purpose(setting, keep)
    };
    let Planned {
        mut jobs,
        unreadable,
        understood,
        left_out,
    } = domains.plan(purpose, &ledger)?;
    canonical::want(&mut jobs, config)?;
    let due: BTreeSet<JobKey> = jobs.iter().flatten().map(|job| job.key.clone()).collect();
    let (archive, mut notes) = Archive::open(
        &config.root.join(&config.archive.path),
        &config.archive,
        setting.ambient,
    )?;

    let started = (setting.ambient.now)();
    let mut keeper = Keeper {
        policy: policy(&config.check),
        ambient: setting.ambient,
        ledger: &mut ledger,
        report: new_report(setting, left_out),
        trouble: None,
    };
    keeper.keep_all(&archive, |keep| observe(setting, jobs, keep))?;
    let Keeper {
        report, trouble, ..
    } = keeper;
    let mut troubles: Vec<String> = trouble.into_iter().collect();
    match archive.finish() {
        Ok(files) => {
            let archived = |path| format!("archived in {}", config.relative_name(path));
            notes.extend(files.iter().map(|path| archived(path)));
        }
        Err(error) => troubles.push(explain(&error)),
    }

    let (exit_code, unverified) = (report.exit_code(), report.unverified());
    let (envelope, results) = report.finish(run_info(setting, started));
    if setting.selection.is_everything() {
        for host in &understood {
            ledger.keep_only(host, &due);
        }
        let forgotten = ledger.forget_others(hosts.iter().map(String::as_str));
        troubles.extend(forgotten.err().map(|error| explain(&error)));
    }
    // News that could not be put down anywhere is not believed yet: it stays news.
    let lines = history(&envelope, setting.selection, unverified);
    let remembered = notifiers
        .post(&outbox, &envelope)
        .and_then(|()| ledger.save())
        .and_then(|()| ledger::append(&ledger_folder, &lines));
    troubles.extend(remembered.err().map(|error| explain(&error)));
    for Delivered {
        notifier,
        message,
        failed,
    } in notifiers.deliver(&outbox, &envelope)?
    {
        if failed { &mut troubles } else { &mut notes }.push(format!("{notifier}: {message}"));
    }
    let exit_code = match exit_code {
        _ if !troubles.is_empty() => 2,
        _ if !unreadable.is_empty() => 1,
        code => code,
    };
    Ok(Outcome {
        envelope,
        results,
        unreadable,
        troubles,
        notes,
        exit_code,
    })
}

fn new_report(setting: &Setting<'_>, left_out: LeftOut) -> Report {
    let expiry_warning = setting.config.check.expiry_warning;
    Report::new(setting.with_results, expiry_warning, left_out)
}

fn purpose(setting: &Setting<'_>, keep: Keep) -> Purpose {
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
        day: day_of((setting.ambient.now)()),
        rehash: Rehash::ALWAYS,
    }
}

/// Which records are read in full now: those whose day has come since the last run.
fn rehash(setting: &Setting<'_>, ledger_folder: &Path) -> anyhow::Result<Rehash> {
    let every = setting.config.check.rehash_every;
    if every == 1 {
        return Ok(Rehash::ALWAYS);
    }
    let last = ledger::last_run(ledger_folder)?.map(day_of);
    Ok(Rehash::new(every, day_of((setting.ambient.now)()), last))
}

/// The number of a day, in UTC.
fn day_of(time: jiff::Timestamp) -> u64 {
    u64::try_from(time.as_second() / DAY).unwrap_or_default()
}

impl Known for Ledger {
    fn is_archived(&self, key: &JobKey, digest: &[u8; 32]) -> bool {
        let content = self.get(key).and_then(|entry| entry.content.as_ref());
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        content.is_some_and(|content| content.capture.is_some() && content.digest == digest)
    }

    fn validators(&self, key: &JobKey, digest: &[u8; 32]) -> Option<Validators> {
        let entry = self.get(key)?;
        let content = entry.content.as_ref()?;
        let capture = content.capture.as_ref()?;
        let digest = urldb_warc::Digest::sha256(*digest).to_string();
        let is_as_promised = entry.standing.is_untroubled() && content.digest == digest;
        is_as_promised.then(|| Validators {
            url: capture.uri.clone(),
            etag: content.etag.clone(),
            last_modified: content.last_modified.clone(),
        })
    }

    fn is_in_doubt(&self, key: &JobKey) -> bool {
        self.get(key)
            .is_some_and(|entry| !entry.standing.is_untroubled())
    }
}

fn history(envelope: &Envelope, selection: &Selection, unverified: Vec<String>) -> Vec<Line> {
    let run = &envelope.run;
    let mut lines = vec![Line::Run(RunLine {
        run: run.id.clone(),
        at: run.started,
        selection: (!selection.is_everything()).then(|| selection.clone()),
        due: envelope.summary.coverage.due,
        states: envelope.summary.states.clone(),
        unverified,
    })];
    lines.extend(envelope.changes.iter().map(|change| {
        Line::Change(ChangeLine {
            run: run.id.clone(),
            at: run.finished,
            url: change.url.clone(),
            from: change.from,
            to: change.to,
        })
    }));
    lines
}

fn run_info(setting: &Setting<'_>, started: jiff::Timestamp) -> RunInfo {
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
