//! `urldb watch`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use urldb_format::{DomainFile, Record};
use urldb_verdict::Selection;

use super::Context;
use super::args::MapArgs;
use super::check::execute;
use super::print::style::Format;
use super::print::{outcome, style};
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
    context.add_maps(&args.map.maps);
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
        known: known_records(&context.config)?,
    };
    watch(&settings, &SystemClock, &mut worker, &stop)?;
    Ok(ExitCode::Success)
}

/// Handles the events of the loop. A failed run prints its error, and the loop goes on.
struct Worker<'a> {
    context: &'a Context,
    stop: &'a Stop,
    /// The records at the last look, to find those that changed.
    known: BTreeMap<PathBuf, Vec<Record>>,
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
        if let Err(error) = self.execute(&selection_of(schedule), run::run) {
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
            let _ = writeln!(
                anstream::stdout(),
                "{} {text}",
                style::paint(style::DIM, now)
            );
        }
    }

    /// Lints the changed files, and checks their new and changed records.
    fn check_files(&mut self, changed: &[PathBuf]) -> anyhow::Result<()> {
        let mut records = vec![];
        for path in changed {
            let name = self.context.shown(path);
            let before = self.known.remove(path).unwrap_or_default();
            if !path.exists() {
                self.say(&format!("{name} is gone"));
                continue;
            }
            self.say(&format!("{name} has changed"));
            let parsed = DomainFile::read(path)?;
            for finding in urldb_format::lint(&parsed) {
                style::write_finding(
                    &mut anstream::stdout(),
                    self.context,
                    &finding.in_file(path),
                )?;
            }
            let host = parsed.file.host().to_owned();
            let now: Vec<Record> = parsed
                .file
                .records()
                .map(|entry| entry.record().clone())
                .collect();
            let new = now.iter().filter(|record| !before.contains(record));
            records.extend(new.map(|record| (host.clone(), record.path.clone())));
            self.known.insert(path.clone(), now);
        }
        if records.is_empty() {
            return Ok(());
        }
        self.execute(
            &Selection {
                records,
                ..Selection::default()
            },
            run::check,
        )
    }

    fn execute(
        &self,
        selection: &Selection,
        work: fn(&run::RunOptions<'_>) -> anyhow::Result<run::Outcome>,
    ) -> anyhow::Result<()> {
        let (outcome, attempts) = execute(self.context, selection, self.stop, false, work)?;
        outcome::print(&outcome, &attempts, Format::Human, self.context)
    }
}

fn selection_of(schedule: &Schedule) -> Selection {
    Selection {
        domains: schedule.domain.iter().cloned().collect(),
        categories: schedule.category.iter().cloned().collect(),
        ..Selection::default()
    }
}

fn known_records(config: &Config) -> anyhow::Result<BTreeMap<PathBuf, Vec<Record>>> {
    let mut known = BTreeMap::new();
    for parsed in config.open_database()?.read() {
        let file = parsed?.file;
        known.insert(
            file.path().to_owned(),
            file.records().map(|entry| entry.record().clone()).collect(),
        );
    }
    Ok(known)
}
