//! `urldb watch`.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use urldb_format::{DomainFile, Record};

use super::Context;
use super::args::MapArgs;
use super::check::execute;
use super::print::style::Format;
use super::print::{outcome, style};
use crate::config::{Config, Schedule};
use crate::exit::ExitCode;
use crate::run;
use crate::schedule::{Cron, Handlers, Notice, Settings, SystemClock, watch};
use crate::stop::{Stop, stop_on_signals};
use urldb_verdict::Selection;

/// Follow the database, check what is added or changed in it, and run by schedule
///
/// Every `[[schedule]]` of urldb.toml starts a `urldb run`. Ends on Ctrl-C and SIGTERM.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    map: MapArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    context.add_maps(&args.map.maps);
    let _owner = context.own()?;
    let schedules: Result<Vec<Cron>, _> = context
        .config
        .schedules
        .iter()
        .map(|schedule| Cron::parse(&schedule.cron, &schedule.timezone))
        .collect();
    let settings = Settings {
        schedules: schedules?,
        ..Settings::new(context.database())
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

/// Does what the loop calls for. A run that fails is told of; the watch goes on.
struct Worker<'a> {
    context: &'a Context,
    stop: &'a Stop,
    /// The records as they were last seen, to find those that changed.
    known: BTreeMap<PathBuf, Vec<Record>>,
}

impl Handlers for Worker<'_> {
    fn files_changed(&mut self, changed: &[PathBuf]) {
        if let Err(error) = self.look_at(changed) {
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

    fn notice(&mut self, notice: &Notice) {
        match notice {
            Notice::Problem(problem) => style::print_warning(problem),
            notice => self.say(&notice.to_string()),
        }
    }
}

impl Worker<'_> {
    fn say(&self, text: &str) {
        if !self.context.quiet {
            let now = jiff::Timestamp::now().strftime("%H:%M:%SZ").to_string();
            // A daemon whose output nobody reads any more goes on.
            let _ = writeln!(
                anstream::stdout(),
                "{} {text}",
                style::paint(style::DIM, now)
            );
        }
    }

    /// Lints the changed files, and checks the records in them that are new or other than before.
    fn look_at(&mut self, changed: &[PathBuf]) -> anyhow::Result<()> {
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
                style::write_finding(&mut anstream::stdout(), &name, &finding)?;
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
        let (outcome, stories) = execute(self.context, selection, self.stop, false, work)?;
        outcome::print(&outcome, &stories, Format::Human, self.context)
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
