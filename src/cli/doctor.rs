//! `urldb doctor`.

use std::io::{self, Write};

use jiff::Timestamp;
use serde::Serialize;
use urldb_render::{Text, wrap};

use super::GlobalArgs;
use super::print::output::{self, write_json_pretty};
use super::print::style::{BAD, Format, GOOD, WARN, count, paint, terminal_width};
use crate::doctor::{Check, Outcome, Remedy, examine};
use crate::exit::ExitCode;

/// The column where the sentences begin.
const SENTENCES: usize = 22;

/// Bold, as commands are.
const COMMAND: anstyle::Style = anstyle::Style::new().bold();

/// Show what is set up and what is not, each with the command that mends it
///
/// Nothing is changed, and nothing is sent. The exit code is 1 if something
/// should be mended.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb doctor                    what matters, and all that should be mended
  urldb doctor --verbose          every check
  urldb doctor --format json")]
pub(super) struct Args {
    /// The form of the output
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
}

/// All checks, for programs.
#[derive(Serialize)]
struct Document<'a> {
    /// The worst outcome.
    outcome: Outcome,
    checks: &'a [Check],
}

pub(super) fn run(args: &Args, global: &GlobalArgs) -> anyhow::Result<ExitCode> {
    let config = global.load_config()?;
    let checks = examine(&global.directory()?, config, Timestamp::now())?;
    let worst = checks
        .iter()
        .map(|check| check.outcome)
        .max()
        .unwrap_or(Outcome::Ok);
    match args.format {
        Format::Json => {
            let document = Document {
                outcome: worst,
                checks: &checks,
            };
            // Not past the boundary: a server's answer in the outbox may repeat a secret.
            write_json_pretty(&mut output::stdout(), &document)?;
        }
        Format::Human => write_checks(&mut output::stdout(), &checks, global)?,
    }
    Ok(match worst {
        Outcome::Ok => ExitCode::Success,
        Outcome::Advice | Outcome::Fault => ExitCode::Findings,
    })
}

fn write_checks(out: &mut impl Write, checks: &[Check], global: &GlobalArgs) -> io::Result<()> {
    let is_shown = |check: &&Check| {
        let is_bad = check.outcome != Outcome::Ok;
        is_bad || global.is_verbose() || !(check.is_minor || global.is_quiet())
    };
    if !global.is_quiet() {
        writeln!(out, "{}\n", headline(checks))?;
    }
    checks
        .iter()
        .filter(is_shown)
        .try_for_each(|check| write_check(out, check))
}

fn headline(checks: &[Check]) -> String {
    let number = |outcome| {
        checks
            .iter()
            .filter(|check| check.outcome == outcome)
            .count() as u64
    };
    let verb = |number| if number == 1 { "is" } else { "are" };
    let (faults, advice) = (number(Outcome::Fault), number(Outcome::Advice));
    let text = match (faults, advice) {
        (0, 0) => return format!("{} urldb is set up completely.", paint(GOOD, "All good:")),
        (0, advice) => format!("{} {} missing", count(advice, "thing"), verb(advice)),
        (faults, 0) => format!("{} {} broken", count(faults, "thing"), verb(faults)),
        (faults, advice) => format!(
            "{} {} broken, {advice} {} missing",
            count(faults, "thing"),
            verb(faults),
            verb(advice)
        ),
    };
    format!("{} {text}.", paint(BAD, "Action needed:"))
}

fn write_check(out: &mut impl Write, check: &Check) -> io::Result<()> {
    let Check {
        name,
        outcome,
        sentence,
        remedies,
        ..
    } = check;
    let (style, word) = match outcome {
        Outcome::Ok => (GOOD, "ok"),
        Outcome::Advice => (WARN, "note"),
        Outcome::Fault => (BAD, "fail"),
    };
    let text = Text::new().own(sentence);
    let lines = wrap(&text, terminal_width(), SENTENCES, SENTENCES);
    let word = paint(style, format!("{word:<4}"));
    let name_width = SENTENCES - 8;
    for (index, line) in lines.iter().enumerate() {
        if index == 0 {
            writeln!(out, "  {word}  {name:<name_width$}{line}")?;
        } else {
            writeln!(out, "{:SENTENCES$}{line}", "")?;
        }
    }
    write_remedies(out, remedies)
}

/// Writes purpose and command on one line each, if all of them fit; else on two. A command is never
/// cut.
fn write_remedies(out: &mut impl Write, remedies: &[Remedy]) -> io::Result<()> {
    let width = remedies
        .iter()
        .map(|remedy| remedy.purpose.len())
        .max()
        .unwrap_or_default();
    let longest = remedies.iter().map(|remedy| remedy.command.chars().count());
    let fits = SENTENCES + width + 2 + longest.max().unwrap_or_default() <= terminal_width();
    for Remedy { purpose, command } in remedies {
        let command = paint(COMMAND, command);
        if fits {
            writeln!(out, "{:SENTENCES$}{purpose:<width$}  {command}", "")?;
        } else {
            writeln!(out, "{:SENTENCES$}{purpose}:", "")?;
            writeln!(out, "{:SENTENCES$}  {command}", "")?;
        }
    }
    Ok(())
}
