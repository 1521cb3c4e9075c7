//! `urldb watch`.

mod log;
mod metrics;
mod ping;
mod publish;
mod service;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use urldb_format::{DomainFile, Metadata, Record};
use urldb_render::Scope;
use urldb_text::Finding;
use urldb_verdict::{NamedRecord, Selection};

use self::log::{DaemonLog, LogFormat};
use self::metrics::LastExit;
use self::ping::{Monitor, Signal, run_id};
use self::service::ServiceManager;
use super::args::{MapArgs, present_hosts, resolve_domains};
use super::execute::execute;
use super::print::outcome;
use super::print::upload::upload_and_check;
use super::resolve::resolve_ledger;
use super::{Context, GlobalArgs, sync};
use crate::ambient::Ambient;
use crate::config::{Config, FILE_NAME, Schedule};
use crate::exit::ExitCode;
use crate::explain::explain;
use crate::limits;
use crate::run::{self, Outcome};
use crate::schedule::{Cron, Handlers, SystemClock, WatchEvent, WatchOptions, watch};
use crate::stop::{Stop, stop_on_signals};

/// Follow the database, check added and changed records, and run by schedule
///
/// Every `[[schedule]]` of urldb.toml starts a `urldb run`. An edited urldb.toml
/// takes effect at once. Ctrl-C and SIGTERM end it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    map: MapArgs,
    /// Form of the log
    #[arg(long, default_value = "human")]
    format: LogFormat,
}

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let mut setup = DaemonSettings::load(args, global)?;
    let _lock = setup.context.lock_repository()?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let manager = ServiceManager::new();
    let log = DaemonLog {
        format: args.format,
        quiet: setup.context.quiet,
    };
    let mut settings = SettingsFile::read(&setup.context.config);
    let mut known = known_files(&setup.context.config)?;
    while !stop.is_set() {
        let mut worker = Worker {
            setup: &setup,
            stop: &stop,
            log,
            manager: &manager,
            settings: &mut settings,
            known,
        };
        worker.write_metrics(None);
        watch(&setup.options, &SystemClock, &mut worker, &stop)?;
        known = worker.known;
        if stop.is_set() {
            break;
        }
        match DaemonSettings::load(args, global) {
            Ok(new) => {
                let has_moved = new.options.directory != setup.options.directory;
                setup = new;
                if has_moved {
                    known = known_files(&setup.context.config)?;
                }
                log.event("urldb.toml has changed: the new settings hold");
            }
            Err(error) => {
                let advice =
                    "urldb.toml has changed and cannot be used: the settings from before hold";
                log.error(&error.context(advice));
            }
        }
    }
    service::tell_stopping();
    Ok(ExitCode::Success)
}

/// The settings of a daemon, all of which work.
struct DaemonSettings {
    context: Context,
    options: WatchOptions,
    monitor: Option<Monitor>,
}

impl DaemonSettings {
    fn load(args: &Args, global: &GlobalArgs) -> anyhow::Result<Self> {
        let mut context = Context::new(global)?;
        args.map.apply(&mut context, &[])?;
        let schedules: Result<Vec<Cron>, _> = context
            .config
            .schedules
            .iter()
            .map(|schedule| Cron::parse(&schedule.cron, &schedule.timezone))
            .collect();
        let options = WatchOptions {
            schedules: schedules?,
            ..WatchOptions::new(context.database())
        };
        let monitor = Monitor::new(&context.config)?;
        Ok(Self {
            context,
            options,
            monitor,
        })
    }
}

/// The bytes of urldb.toml as they were last read.
struct SettingsFile {
    path: PathBuf,
    bytes: Option<Vec<u8>>,
}

impl SettingsFile {
    fn read(config: &Config) -> Self {
        let path = if config.file.as_os_str().is_empty() {
            config.root.join(FILE_NAME)
        } else {
            config.file.clone()
        };
        let bytes = urldb_files::read(&path, limits::SETTINGS).ok();
        Self { path, bytes }
    }

    /// Whether the file has other bytes than at the last call.
    fn has_changed(&mut self) -> bool {
        let bytes = urldb_files::read(&self.path, limits::SETTINGS).ok();
        let has_changed = bytes != self.bytes;
        self.bytes = bytes;
        has_changed
    }
}

/// Handles the events of the loop. A failed run prints its error, and the loop goes on.
struct Worker<'a> {
    setup: &'a DaemonSettings,
    stop: &'a Stop,
    log: DaemonLog,
    manager: &'a ServiceManager,
    settings: &'a mut SettingsFile,
    /// The domain files as they were last read, to find their changed records.
    known: BTreeMap<PathBuf, KnownFile>,
}

/// The promises in a domain file.
#[derive(Debug, Default)]
struct KnownFile {
    metadata: Metadata,
    records: Vec<Record>,
}

impl KnownFile {
    fn new(file: &DomainFile) -> Self {
        Self {
            metadata: file.metadata().clone(),
            records: file.records().map(|entry| entry.record().clone()).collect(),
        }
    }
}

impl Handlers for Worker<'_> {
    fn files_changed(&mut self, changed: &[PathBuf]) {
        self.manager.set_busy(true);
        if let Err(error) = self.check_files(changed) {
            self.log.error(&error);
        }
        self.manager.set_busy(false);
    }

    fn scheduled(&mut self, index: usize) {
        let Some(schedule) = self.context().config.schedules.get(index) else {
            return;
        };
        self.manager.set_busy(true);
        self.log
            .event(&format!("scheduled run ({})", schedule.cron));
        let id = run_id((Ambient::SYSTEM.random)());
        self.ping(Signal::Start, &id, "");
        // A pull may have left conflicts in the ledger, and a killed git half of a file.
        let usable = resolve_ledger(self.context());
        if let Err(error) = usable.and_then(|()| self.context().restore_ledger()) {
            self.log.error(&error);
        }
        if let Err(error) =
            sync::before_run(self.context(), self.context().config.git.commit, self.stop)
        {
            self.log.error(&error.context("the lists are not followed"));
        }
        let commit = publish::begin(self.context());
        let done = selection_of(schedule, &self.context().config)
            .and_then(|selection| self.execute(&selection, Scope::Run, run::run));
        let (exit, text, published) = match done {
            Ok(Outcome {
                exit_code,
                envelope,
                ..
            }) => {
                let published = commit.and_then(|commit| match commit {
                    Some(commit) => {
                        publish::finish(&commit, &envelope, exit_code, self.context(), self.stop)
                    }
                    None => Ok(()),
                });
                let text = format!("exit code {}", exit_code.code());
                (exit_code, text, published)
            }
            // The next run commits what this one has written.
            Err(error) => {
                self.log.error(&error);
                (ExitCode::Failure, explain(&error), commit.map(drop))
            }
        };
        if let Err(error) = published {
            self.log.error(&error);
        }
        let signal = match exit {
            // The next run makes up for an interrupted one.
            ExitCode::Failure | ExitCode::Interrupted => Signal::Failure,
            _ => Signal::Success,
        };
        self.ping(signal, &id, &text);
        self.write_metrics(Some(exit));
        self.manager.set_busy(false);
    }

    fn log(&mut self, event: &WatchEvent) {
        if let WatchEvent::Watching { .. } = event {
            self.manager.ready(&event.to_string());
        }
        match event {
            WatchEvent::Problem(problem) => self.log.warning(problem),
            event => self.log.event(&event.to_string()),
        }
    }

    fn goes_on(&mut self) -> bool {
        self.manager.turn();
        !self.settings.has_changed()
    }
}

impl Worker<'_> {
    fn context(&self) -> &Context {
        &self.setup.context
    }

    /// A monitor that does not answer stops no run.
    fn ping(&self, signal: Signal, run: &str, text: &str) {
        let Some(monitor) = &self.setup.monitor else {
            return;
        };
        if let Err(error) = monitor.send(signal, run, text) {
            self.log.warning(&explain(&error));
        }
    }

    fn write_metrics(&self, last: LastExit) {
        let now = (Ambient::SYSTEM.now)();
        if let Err(error) = metrics::write(&self.context().config, last, now) {
            self.log.warning(&explain(&error));
        }
    }

    /// Lints the changed files, and checks their new and changed records; all records of a file whose
    /// metadata changed.
    fn check_files(&mut self, changed: &[PathBuf]) -> anyhow::Result<()> {
        let (mut records, mut domains) = (vec![], vec![]);
        for path in changed {
            let name = self.context().shown(path);
            if !urldb_files::is_there(path) {
                self.known.remove(path);
                self.log.event(&format!("{name} is gone"));
                continue;
            }
            self.log.event(&format!("{name} has changed"));
            let misnamed = urldb_format::lint_misnamed(path);
            if !misnamed.is_empty() {
                self.write_findings(path, misnamed)?;
                continue;
            }
            let parsed = DomainFile::read_or_report(path);
            let findings = urldb_format::lint(&parsed, &self.context().config.lint.keys);
            self.write_findings(path, findings)?;
            let is_unreadable = |finding: &Finding| finding.code.hides_file();
            if parsed.findings.iter().any(is_unreadable) {
                continue;
            }
            let host = parsed.file.host().to_owned();
            let now = KnownFile::new(&parsed.file);
            let before = self.known.remove(path).unwrap_or_default();
            if before.metadata == now.metadata {
                let known: HashSet<String> = before.records.iter().map(text_of).collect();
                let new = now
                    .records
                    .iter()
                    .filter(|record| !known.contains(&text_of(record)));
                records.extend(new.map(|record| NamedRecord {
                    domain: host.clone(),
                    path: record.path.clone(),
                    alias: None,
                }));
            } else if !now.records.is_empty() {
                domains.push(host);
            }
            self.known.insert(path.clone(), now);
        }
        let records = (!records.is_empty()).then(|| Selection {
            records,
            ..Selection::default()
        });
        let domains = (!domains.is_empty()).then(|| Selection {
            domains,
            ..Selection::default()
        });
        let results: Vec<anyhow::Result<Outcome>> = records
            .iter()
            .chain(&domains)
            .map(|selection| self.execute(selection, Scope::Check, run::check))
            .collect();
        results
            .into_iter()
            .try_for_each(|result| result.map(|_| ()))
    }

    fn write_findings(&self, path: &Path, findings: Vec<Finding>) -> std::io::Result<()> {
        findings
            .into_iter()
            .map(|finding| finding.in_file(path))
            .try_for_each(|finding| self.log.finding(&finding, self.context()))
    }

    fn execute(
        &self,
        selection: &Selection,
        scope: Scope<'_>,
        work: fn(&run::RunOptions<'_>) -> anyhow::Result<Outcome>,
    ) -> anyhow::Result<Outcome> {
        let context = self.context();
        let (mut outcome, attempts) = execute(
            context,
            selection,
            self.stop,
            run::Results::Dropped,
            None,
            work,
        )?;
        let format = self.log.format.of_reports();
        outcome::print(&outcome, scope, &attempts, format, context)?;
        let statuses = outcome.deliver()?;
        if scope == Scope::Run {
            outcome::print_delivered(&outcome, scope, &statuses, format, context)?;
            let stored = upload_and_check(context, format, self.stop)?;
            outcome.exit_code = outcome.exit_code.max(stored);
        }
        if self.stop.is_set() {
            outcome.exit_code = ExitCode::Interrupted;
        }
        Ok(outcome)
    }
}

fn selection_of(schedule: &Schedule, config: &Config) -> anyhow::Result<Selection> {
    let domains: Vec<String> = schedule.domain.iter().cloned().collect();
    let domains = match &domains[..] {
        [] => present_hosts(config)?,
        domains => resolve_domains(config, domains)?,
    };
    Ok(Selection {
        domains,
        categories: schedule.category.iter().cloned().collect(),
        ..Selection::default()
    })
}

/// The record as text, to compare records in a set.
fn text_of(record: &Record) -> String {
    urldb_format::write_documents([&record.to_mapping()])
}

/// The files that can be read; runs report the others.
fn known_files(config: &Config) -> anyhow::Result<BTreeMap<PathBuf, KnownFile>> {
    let database = config.open_database()?;
    Ok(database
        .all_files()
        .map(DomainFile::read)
        .filter_map(Result::ok)
        .map(|parsed| (parsed.file.path().to_owned(), KnownFile::new(&parsed.file)))
        .collect())
}
