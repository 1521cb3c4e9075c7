//! `urldb lint`.

use std::io::Write;
use std::path::PathBuf;

use urldb_format::{DomainFile, Severity};

use super::{Context, Exit, fmt, style};

/// Find mistakes in domain files
///
/// Every finding has a code, explained in docs/findings.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb lint
  urldb lint urldb/example.org.yaml")]
pub(super) struct Args {
    /// Only these files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<Exit> {
    let files = fmt::files(&args.files, context)?;
    let mut out = anstream::stdout().lock();
    let (mut errors, mut warnings) = (0, 0);
    for path in &files {
        let name = context.shown(path);
        for finding in urldb_format::lint(&DomainFile::read(path)?) {
            match finding.severity {
                Severity::Error => errors += 1,
                Severity::Warning => warnings += 1,
            }
            style::write_finding(&mut out, &name, &finding)?;
        }
    }
    if !context.quiet {
        let files = style::count(files.len() as u64, "file");
        writeln!(
            out,
            "{files}: {}, {}",
            style::count(errors, "error"),
            style::count(warnings, "warning")
        )?;
    }
    Ok(if errors > 0 {
        Exit::Findings
    } else {
        Exit::Fine
    })
}
