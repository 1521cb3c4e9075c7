//! `urldb fmt`.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use similar::TextDiff;
use urldb_files::is_there;
use urldb_format::{DomainFile, Error};

use super::Context;
use super::print::findings::write_finding;
use super::print::style;
use crate::cli::print::output;
use crate::database::edit::Edit;
use crate::exit::ExitCode;
use crate::limits;

/// Make domain files canonical: keys, lists and records sorted, one spelling for everything
///
/// Comments are kept. A file with text that cannot be understood is reported
/// and left as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb fmt                       all files of the database
  urldb fmt --check --diff        show what would change, and exit with 1 if anything would
  urldb fmt urldb/example.org.yaml")]
pub(super) struct Args {
    /// Change nothing; exit with 1 if a file is not canonical
    #[arg(long)]
    check: bool,
    /// Show what changes
    #[arg(long)]
    diff: bool,
    /// Only these files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let _edit = (!args.check)
        .then(|| Edit::begin(&context.database()))
        .transpose()?;
    let mut exit = ExitCode::Success;
    let mut out = output::stdout();
    for path in files(&args.files, context)? {
        // A file that cannot be read is reported below.
        if DomainFile::is_canonical(&path).unwrap_or(false) {
            continue;
        }
        let file = DomainFile::read_or_report(&path).file;
        let name = context.shown(&path);
        let canonical = match file.canonical() {
            Ok(canonical) => canonical,
            Err(Error::NotNormalizable { findings, .. }) => {
                for finding in findings {
                    write_finding(&mut out, context, &finding.in_file(&path))?;
                }
                exit = ExitCode::Findings;
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        if is_as_stored(&path, &canonical)? {
            continue;
        }
        if args.diff {
            write_diff(&mut out, &name, &file.text(), &canonical)?;
        }
        if args.check {
            exit = ExitCode::Findings;
        } else {
            file.write_text(&canonical)?;
        }
        if !context.quiet {
            let what = if args.check {
                style::paint(style::BAD, "not canonical")
            } else {
                style::paint(style::GOOD, "formatted")
            };
            writeln!(out, "{what}: {name}")?;
        }
    }
    Ok(exit)
}

/// The named files, or all of the database.
///
/// # Errors
/// When there is no file of a name that was typed. A file that cannot be read is a finding instead.
pub(super) fn files(named: &[PathBuf], context: &Context) -> anyhow::Result<Vec<PathBuf>> {
    if named.is_empty() {
        let database = context.config.open_database()?;
        return Ok(database.all_files().map(Path::to_owned).collect());
    }
    named
        .iter()
        .map(|path| {
            let path = context.directory.join(path);
            match urldb_files::open(&path) {
                Err(error) if error.kind() == ErrorKind::NotFound && !is_there(&path) => {
                    let name = context.shown(&path);
                    Err(error).with_context(|| format!("cannot read {name}"))
                }
                _ => Ok(path),
            }
        })
        .collect()
}

/// Compares bytes, not text: undecodable bytes are never canonical.
fn is_as_stored(path: &Path, canonical: &str) -> anyhow::Result<bool> {
    Ok(urldb_files::read(path, limits::DOMAIN_FILE)? == canonical.as_bytes())
}

fn write_diff(out: &mut impl Write, name: &str, old: &str, new: &str) -> std::io::Result<()> {
    let text = TextDiff::from_lines(old, new)
        .unified_diff()
        .context_radius(3)
        .header(&format!("a/{name}"), &format!("b/{name}"))
        .to_string();
    for line in text.lines() {
        let style = match line.as_bytes().first() {
            Some(b'-') => style::BAD,
            Some(b'+') => style::GOOD,
            _ => style::DIM,
        };
        writeln!(out, "{}", style::paint(style, line))?;
    }
    Ok(())
}
