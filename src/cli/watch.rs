//! `urldb watch`.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use urldb_format::{DomainFile, Metadata, Record};
use urldb_render::Scope;
use urldb_text::{Code, Finding};
use urldb_verdict::{NamedRecord, Selection};

use super::Context;
use super::args::{MapArgs, resolve_domains};
use super::check::execute;
use super::print::style::ReportFormat;
use super::print::upload::upload_and_print;
use super::print::{outcome, style};
use super::resolve::resolve_ledger;
use crate::cli::print::output;
use crate::config::{Config, Schedule};
use crate::exit::ExitCode;
use crate::run;
use crate::schedule::{Cron, Handlers, SystemClock, WatchEvent, WatchOptions, watch};
use crate::stop::{Stop, stop_on_signals};

/// Follow the database, check added and changed records, and run by schedule
///
/// Every `[[schedule]]` of urldb.toml starts a `urldb run`. Ctrl-C and SIGTERM end it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    map: MapArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    args.map.apply(context, &[])?;
    let _lock = context.lock_repository()?;
    let schedules: Result<Vec<Cron>, _> = context
        .config
        .schedules
        .iter()
        .map(|schedule| Cron::parse(&schedule.cron, &schedule.timezone))
        .collect();
    let settings = WatchOptions {
        schedules: schedules?,
        ..WatchOptions::new(context.database())
    };
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let mut worker = Worker {
        context,
        stop: &stop,
        known: known_files(&context.config)?,
    };
    watch(&settings, &SystemClock, &mut worker, &stop)?;
    Ok(ExitCode::Success)
}

/// Handles the events of the loop. A failed run prints its error, and the loop goes on.
struct Worker<'a> {
    context: &'a Context,
    stop: &'a Stop,
    /// The domain files as they were last read, to find what changed in them.
    known: BTreeMap<PathBuf, KnownFile>,
}

/// The promises in a domain file.
#[derive(Debug, Default)]
struct KnownFile {
    metadata: Metadata,
    records: Vec<Record>,
}

impl KnownFile {
    fn of(file: &DomainFile) -> Self {
        Self {
            metadata: file.metadata().clone(),
            records: file.records().map(|entry| entry.record().clone()).collect(),
        }
    }
}

impl Handlers for Worker<'_> {
    fn files_changed(&mut self, changed: &[PathBuf]) {
        if let Err(error) = self.check_files(changed) {
            style::print_error(&error);
        }
    }

    fn scheduled(&mut self, index: usize) {
        let Some(schedule) = self.context.config.schedules.get(index) else {
            return;
        };
        self.say(&format!("scheduled run ({})", schedule.cron));
        // A pull may have left conflicts in the ledger.
        if let Err(error) = resolve_ledger(self.context) {
            style::print_error(&error);
        }
        let done = selection_of(schedule, &self.context.config)
            .and_then(|selection| self.execute(&selection, Scope::Run, run::run));
        if let Err(error) = done {
            style::print_error(&error);
        }
    }

    fn log(&mut self, event: &WatchEvent) {
        match event {
            WatchEvent::Problem(problem) => style::print_warning(problem),
            event => self.say(&event.to_string()),
        }
    }
}

impl Worker<'_> {
    fn say(&self, text: &str) {
        if !self.context.quiet {
            let now = jiff::Timestamp::now().strftime("%H:%M:%SZ").to_string();
            // The daemon goes on when its output is closed.
            let _ = writeln!(output::stdout(), "{} {text}", style::paint(style::DIM, now));
        }
    }

    /// Lints the changed files, and checks their new and changed records; all records of a file whose
    /// metadata changed.
    fn check_files(&mut self, changed: &[PathBuf]) -> anyhow::Result<()> {
        let (mut records, mut domains) = (vec![], vec![]);
        for path in changed {
            let name = self.context.shown(path);
            if path.symlink_metadata().is_err() {
                self.known.remove(path);
                self.say(&format!("{name} is gone"));
                continue;
            }
            self.say(&format!("{name} has changed"));
            let misnamed = urldb_format::lint_misnamed(path);
            if !misnamed.is_empty() {
                self.write_findings(path, misnamed)?;
                continue;
            }
            let parsed = DomainFile::read_or_report(path);
            let findings = urldb_format::lint(&parsed, &self.context.config.lint.keys);
            self.write_findings(path, findings)?;
            let is_unreadable = |finding: &Finding| finding.code == Code::UnreadableFile;
            if parsed.findings.iter().any(is_unreadable) {
                continue;
            }
            let host = parsed.file.host().to_owned();
            let now = KnownFile::of(&parsed.file);
            let before = self.known.remove(path).unwrap_or_default();
            if before.metadata == now.metadata {
                let known: HashSet<String> = before.records.iter().map(text_of).collect();
                let new = now.records.iter();
                let new = new.filter(|record| !known.contains(&text_of(record)));
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
        let checks = records.iter().chain(&domains);
        let results: Vec<_> = checks
            .map(|selection| self.execute(selection, Scope::Check, run::check))
            .collect();
        results.into_iter().collect()
    }

    fn write_findings(&self, path: &Path, findings: Vec<Finding>) -> std::io::Result<()> {
        let mut out = output::stdout();
        let mut findings = findings.into_iter().map(|finding| finding.in_file(path));
        findings.try_for_each(|finding| style::write_finding(&mut out, self.context, &finding))
    }

    fn execute(
        &self,
        selection: &Selection,
        scope: Scope<'_>,
        work: fn(&run::RunOptions<'_>) -> anyhow::Result<run::Outcome>,
    ) -> anyhow::Result<()> {
        let (mut outcome, attempts) = execute(
            self.context,
            selection,
            self.stop,
            run::Results::Dropped,
            work,
        )?;
        let format = ReportFormat::Human;
        outcome::print(&outcome, scope, &attempts, format, self.context)?;
        let standings = outcome.deliver()?;
        if scope == Scope::Run {
            outcome::print_delivered(&outcome, scope, &standings, format, self.context)?;
            upload_and_print(self.context, format)?;
        }
        Ok(())
    }
}

fn selection_of(schedule: &Schedule, config: &Config) -> anyhow::Result<Selection> {
    let domains: Vec<String> = schedule.domain.iter().cloned().collect();
    Ok(Selection {
        domains: resolve_domains(config, &domains)?,
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
    let files = database.read().filter_map(Result::ok);
    Ok(files
        .map(|parsed| (parsed.file.path().to_owned(), KnownFile::of(&parsed.file)))
        .collect())
}
