//! `urldb lint`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use jiff::tz::TimeZone;
use urldb_format::{Linter, fold};
use urldb_text::{Finding, Severity};

use super::args::{ChangedArgs, ChangedFindings, TrustArgs};
use super::print::findings::write_finding;
use super::print::style;
use super::{Context, fmt};
use crate::ambient::Ambient;
use crate::cli::print::output;
use crate::database::across::{AcrossFiles, is_on_disk};
use crate::database::site_rules;
use crate::database::static_urls::{StaticUrls, StaticWarnings};
use crate::exit::ExitCode;
use crate::notify::filter_report;

/// Find mistakes in domain files and site rules
///
/// With site rules, records are compared with them too. Warnings name static
/// URLs that are likely to change. docs/findings.md explains the code of each
/// finding.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb lint
  urldb lint urldb/example.org.yaml urldb/rules/example.org.rules
  urldb lint --untrusted --changed-since origin/main    for a pull request")]
pub(super) struct Args {
    /// Only these files
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    changed: ChangedArgs,
    #[command(flatten)]
    pub(super) trust: TrustArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let files = fmt::files(&args.files, context)?;
    let (mut scripts, files): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|path| site_rules::is_rules_file(path));
    let loaded = site_rules::read(&context.database())?;
    let mut across = AcrossFiles::new(loaded.holding());
    let mut warnings = StaticWarnings::new(&context.config.lint.allow);
    let mut findings = vec![];
    if args.files.is_empty() {
        scripts.clone_from(&loaded.files);
        findings.clone_from(&loaded.findings);
    } else {
        for path in &scripts {
            findings.extend(site_rules::check(path));
        }
    }
    let changed = args
        .changed
        .resolve(context)?
        .map(|files| files.findings(&context.config.lint.keys));
    let changed = changed.as_ref();
    let mut printed = PrintedFindings::default();
    for path in &files {
        let urls = lint(path, changed, context, &mut printed)?;
        across.add(path);
        for finding in warnings.add(path, urls) {
            printed.print(context, &finding.in_file(path))?;
        }
    }
    if args.files.is_empty() {
        for path in context.config.open_database()?.misnamed() {
            let misnamed = urldb_format::lint_misnamed(path).into_iter();
            findings.extend(misnamed.map(|finding| finding.in_file(path)));
        }
        findings.extend(filter_report(&context.config)?.findings);
    }
    let across = across
        .finish(is_on_disk, |path| {
            changed.is_none_or(|changed| changed.covers(path))
        })
        .into_iter();
    findings.extend(across.filter(|finding| {
        finding.file.as_deref().is_none_or(|file| {
            !urldb_format::is_domain_file(file) || is_wanted(changed, file, finding)
        })
    }));
    findings.extend(warnings.finish());
    for finding in &findings {
        printed.print(context, finding)?;
    }
    printed.summarize(context, files.len() + scripts.len())?;
    Ok(if printed.errors > 0 {
        ExitCode::Findings
    } else {
        ExitCode::Success
    })
}

/// Prints the findings in one domain file, and returns its static URLs.
fn lint(
    path: &Path,
    changed: Option<&ChangedFindings>,
    context: &Context,
    printed: &mut PrintedFindings,
) -> anyhow::Result<StaticUrls> {
    let today = (Ambient::SYSTEM.now)().to_zoned(TimeZone::UTC).date();
    let start = || {
        let linter = Linter::new(path, &context.config.lint.keys).with_expired(today);
        (linter, StaticUrls::new(path, changed.is_some()))
    };
    let is_wanted_record = |line| changed.is_none_or(|changed| changed.is_changed(path, line));
    let (mut lines, mut result) = (0, Ok(()));
    // A file may be larger than memory.
    let (_, urls) = fold(path, start, |(linter, urls), document| {
        for finding in linter.see(document) {
            // A file out of order comes again from its start.
            let is_new = finding.line > lines || finding.code.hides_file();
            if is_new && result.is_ok() && is_wanted(changed, path, &finding) {
                result = printed.print(context, &finding.in_file(path));
            }
        }
        urls.see(document, is_wanted_record);
        lines = lines.max(document.end_line());
    });
    result?;
    Ok(urls)
}

/// Whether the finding is new since the commit of `--changed-since`.
fn is_wanted(changed: Option<&ChangedFindings>, path: &Path, finding: &Finding) -> bool {
    changed.is_none_or(|changed| changed.has(path, finding))
}

/// Numbers of the findings that were printed.
#[derive(Default)]
struct PrintedFindings {
    errors: u64,
    warnings: u64,
}

impl PrintedFindings {
    /// Prints the numbers for so many files.
    fn summarize(&self, context: &Context, files: usize) -> io::Result<()> {
        if context.quiet {
            return Ok(());
        }
        writeln!(
            output::stdout(),
            "{}: {}, {}",
            style::count(files as u64, "file"),
            style::count(self.errors, "error"),
            style::count(self.warnings, "warning")
        )
    }

    fn print(&mut self, context: &Context, finding: &Finding) -> io::Result<()> {
        match finding.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        write_finding(&mut output::stdout(), context, finding)
    }
}
