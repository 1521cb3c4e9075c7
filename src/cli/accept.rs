//! `urldb accept`.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::Context as _;
use urldb_format::{DomainFile, Identity, Record};
use urldb_protocol::{JobResult, State};

use super::edit::Edit;
use super::progress::Bar;
use super::select::TargetArgs;
use super::style::{self, BAD, GOOD, paint};
use super::{Context, Exit};
use crate::ambient::Ambient;
use crate::run::{self, Setting};
use crate::stop::{Stop, stop_on_signals};

/// Make what is served now the new promise, where it has changed on purpose
///
/// Fetches, shows old and new, asks, and updates the records of URLs that are
/// `changed` or `redirected`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb accept http://example.org/m51.csv
  urldb accept --all --yes -d example.org")]
pub(super) struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    /// Everything that the other options select
    #[arg(long, conflicts_with = "urls", required_unless_present = "urls")]
    all: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        args.yes || io::stdin().is_terminal(),
        "there is no terminal to ask on; --yes accepts without asking"
    );
    context.add_maps(&args.targets.map.maps);
    let mut exit = Exit::Fine;
    let mut acceptable = vec![];
    for result in look(args, context)? {
        if result.state == State::Ok {
            continue;
        }
        if let Some(problem) = problem(&result) {
            style::print_warning(format!("{} {problem}", result.url));
            exit = Exit::Findings;
        } else {
            // Before anything is written: that may move the other records of a file.
            let identity = identity_of(&result, context)?;
            acceptable.push((result, identity));
        }
    }
    for (result, identity) in &acceptable {
        if args.yes || is_wanted(result)? {
            accept(result, identity, context)?;
        } else {
            exit = Exit::Findings;
        }
    }
    Ok(exit)
}

/// Why what was seen cannot become a promise.
fn problem(result: &JobResult) -> Option<String> {
    let JobResult { state, message, .. } = result;
    if !matches!(state, State::Changed | State::Redirected) {
        return Some(format!("is {state}, which cannot be accepted: {message}"));
    }
    let is_static = result.promised.length.is_some() || result.promised.sha256.is_some();
    (is_static && result.observed.sha256.is_none())
        .then(|| "cannot be accepted: its body did not arrive whole".to_owned())
}

fn look(args: &Args, context: &Context) -> anyhow::Result<Vec<JobResult>> {
    let selection = args.targets.resolve(context)?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let bar = Bar::new(0, context.quiet);
    let setting = Setting {
        config: &context.config,
        selection: &selection,
        ambient: Ambient::SYSTEM,
        stop: &stop,
        progress: &bar,
        with_results: true,
        whole: true,
    };
    let outcome = run::check(&setting)?;
    bar.finish();
    anyhow::ensure!(!stop.is_set(), "interrupted; nothing was accepted");
    Ok(outcome.results.unwrap_or_default())
}

fn is_wanted(result: &JobResult) -> anyhow::Result<bool> {
    let mut out = anstream::stdout().lock();
    writeln!(
        out,
        "{}\n  {} {}:{}",
        result.url,
        paint(style::DIM, "-->"),
        result.file,
        result.line
    )?;
    let promised = &result.promised;
    let observed = &result.observed;
    show(&mut out, "length", promised.length, observed.length)?;
    show(
        &mut out,
        "sha256",
        promised.sha256.as_ref(),
        observed.sha256.as_ref(),
    )?;
    show(
        &mut out,
        "content type",
        promised.content_type.as_ref(),
        observed.content_type.as_ref(),
    )?;
    show(&mut out, "status", promised.status, observed.status)?;
    show(
        &mut out,
        "redirects to",
        promised.redirects_to.as_ref(),
        observed.redirect.as_ref(),
    )?;
    write!(out, "accept? [y/N] ")?;
    out.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// What is promised and differs.
fn show<T: std::fmt::Display + PartialEq>(
    out: &mut impl Write,
    what: &str,
    promised: Option<T>,
    observed: Option<T>,
) -> io::Result<()> {
    let Some(promised) = promised else {
        return Ok(());
    };
    if observed.as_ref() == Some(&promised) {
        return Ok(());
    }
    writeln!(out, "  {what}")?;
    writeln!(out, "    {}", paint(BAD, format!("- {promised}")))?;
    let observed = observed.map_or_else(|| "nothing".to_owned(), |observed| observed.to_string());
    writeln!(out, "    {}", paint(GOOD, format!("+ {observed}")))
}

fn identity_of(result: &JobResult, context: &Context) -> anyhow::Result<Identity> {
    let file = DomainFile::read(context.config.root.join(&result.file))?.file;
    let entry = file.records().find(|entry| entry.line() == result.line);
    let identity = entry.map(|entry| entry.record().identity());
    identity.with_context(|| {
        format!(
            "{}:{} has no record any more; run `urldb accept` again",
            result.file, result.line
        )
    })
}

fn accept(result: &JobResult, identity: &Identity, context: &Context) -> anyhow::Result<()> {
    let _edit = Edit::begin(&context.database())?;
    let path = context.config.root.join(&result.file);
    let mut file = DomainFile::read(&path)?.file;
    file.update(identity, |record| renew(record, result))?;
    file.write()?;
    if !context.quiet {
        writeln!(
            anstream::stdout(),
            "{} {}",
            paint(GOOD, "accepted"),
            result.url
        )?;
    }
    Ok(())
}

/// Only what is promised already is promised anew.
fn renew(record: &mut Record, result: &JobResult) {
    let observed = &result.observed;
    if record.content_length.is_some() {
        record.content_length = observed.length;
    }
    if record.content_sha256.is_some() {
        record.content_sha256.clone_from(&observed.sha256);
    }
    if record.status.is_some() {
        record.status = observed.status;
    }
    if record.redirects_to.is_some() {
        record.redirects_to.clone_from(&observed.redirect);
    }
    if record.content_type.is_some() {
        record.content_type = match observed.redirect_status {
            Some(status) if !record.is_static() => Some(format!("X-{status}-Redirect")),
            _ => observed.content_type.clone(),
        };
    }
}
