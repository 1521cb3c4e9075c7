//! `urldb accept`.

mod answer;
mod candidates;
mod counts;
mod incidents;

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anyhow::Context as _;
use urldb_canon::rules::SiteRules;
use urldb_format::RecordIdentity;
use urldb_protocol::{JobResult, State};
use urldb_text::{REDACTED, Shown, sanitize};
use urldb_verdict::{JudgedJob, NamedRecord, Selection};

use super::Context;
use super::args::{TargetArgs, WriteArgs, named_records};
use super::print::progress::ProgressLine;
use super::print::style;
use candidates::{AcceptOptions, Accepted};
use counts::AcceptCounts;
use incidents::OpenIncident;

use crate::ambient::Ambient;
use crate::cli::print::output;
use crate::database::page_redirect::PromisedRedirect;
use crate::database::site_rules;
use crate::exit::ExitCode;
use crate::run::{self, Progress, Results, RunOptions};
use crate::stop::{Interrupted, Stop, stop_on_signals};
use crate::sync::locations;

/// Make what is served now the new promise, where it has changed on purpose
///
/// Fetches, shows old and new, asks once, and updates the records of URLs that are
/// `changed` or `redirected`, and serve the same thing each time. Lists that state the promise are edited too.
/// Without URLs and --all, shows what could be accepted, as the last run saw it, and writes nothing.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb accept    what could be accepted
  urldb accept http://example.org/m51.csv
  urldb accept --all --yes -d example.org
  urldb accept --force http://example.org/looks-like-a-challenge.html")]
pub(super) struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    /// Everything that the other options select
    #[arg(long, conflicts_with = "urls")]
    all: bool,
    /// Also what is in another state, unstable, growing, or the same at many URLs, if only it came whole
    /// and with a good status
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    write: WriteArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    let is_dry = args.is_dry();
    args.targets.map.apply(context, &[])?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let commit = args.write.begin(context)?.filter(|_| !is_dry);
    let incidents = OpenIncident::all(context)?;
    let selected = selection(args, &incidents, context)?;
    anyhow::ensure!(
        args.yes || is_dry || io::stdin().is_terminal(),
        "there is no terminal to ask on; --yes accepts without asking"
    );
    let fetched = selected.map_or(Ok(vec![]), |it| fetch(&it, context, &stop))?;
    let is_kept =
        |it: &FetchedRecord| it.result.state == State::Ok && (it.doubt.is_none() || args.force);
    let (kept, others): (Vec<_>, Vec<_>) = fetched.into_iter().partition(is_kept);
    let mut counts = AcceptCounts {
        kept: kept.len() as u64,
        ..AcceptCounts::default()
    };
    let acceptable = acceptable(others, args, context, &mut counts)?;
    let how = AcceptOptions {
        yes: args.yes,
        is_dry,
        is_committed: commit.is_some(),
        stop: &stop,
    };
    let mut accepted = candidates::accept(acceptable, how, context, &mut counts)?;
    if !context.quiet {
        report(args, &counts, &accepted, &incidents)?;
    }
    let exit = counts.exit_code(&stop);
    if let Some(commit) = commit {
        if !args.targets.urls.is_empty() {
            add_kept(&kept, context, &mut accepted);
        }
        let changed = accepted.changed();
        let serve = if changed.is_one() { "serves" } else { "serve" };
        let subject = || format!("Accept what {} {serve}", changed.phrase());
        commit.finish(&accepted.written, subject, exit, context)?;
    }
    Ok(exit)
}

impl Args {
    /// Whether the arguments say what to accept.
    fn has_targets(&self) -> bool {
        self.all || !self.targets.urls.is_empty()
    }

    /// Whether nothing is written.
    fn is_dry(&self) -> bool {
        self.write.dry_run || !self.has_targets()
    }
}

/// The records that the arguments name; without URLs and `--all`, those of open incidents, if there are any.
fn selection(
    args: &Args,
    incidents: &[OpenIncident],
    context: &Context,
) -> anyhow::Result<Option<Selection>> {
    let mut selection = args.targets.resolve(context)?;
    if !args.has_targets() {
        let urls = incidents.iter().flat_map(OpenIncident::acceptable);
        selection.records = named_records(context, &urls.collect::<Vec<_>>())?;
    }
    Ok(Some(selection).filter(|it| args.has_targets() || !it.records.is_empty()))
}

/// Prints the numbers, and what becomes of incidents.
fn report(
    args: &Args,
    counts: &AcceptCounts,
    accepted: &Accepted,
    incidents: &[OpenIncident],
) -> io::Result<()> {
    let mut out = output::stdout();
    writeln!(out, "{}", counts.line(args.is_dry()))?;
    for effect in incidents.iter().filter_map(|it| it.effect(&accepted.urls)) {
        writeln!(out, "{}", sanitize(&effect))?;
    }
    if !args.has_targets() {
        let hint = match counts.accepted {
            0 => {
                "no URL that the last run saw changed can be accepted; `urldb accept --all` asks for all URLs"
            }
            _ => "`urldb accept URL` accepts one of them, `urldb accept --all` all",
        };
        writeln!(out, "{hint}")?;
    }
    Ok(())
}

/// Adds the domain files and lists of promises that are kept: an earlier call may have written them.
fn add_kept(kept: &[FetchedRecord], context: &Context, accepted: &mut Accepted) {
    // A list that cannot be read has no places.
    let lists = locations(&context.config).ok();
    for FetchedRecord {
        result, identity, ..
    } in kept
    {
        let host = urldb_format::host_of(Path::new(&result.file));
        accepted.written.push(context.domain_file(&host));
        let list = lists
            .as_ref()
            .and_then(|it| it.of(&host, identity))
            .map(|(file, _)| context.config.root.join(&**file));
        accepted.written.extend(list);
        accepted.urls.insert(result.url.clone(), host);
    }
}

/// The answers that may become promises; counts the other ones.
fn acceptable(
    fetched: Vec<FetchedRecord>,
    args: &Args,
    context: &Context,
    counts: &mut AcceptCounts,
) -> anyhow::Result<Vec<(JobResult, RecordIdentity)>> {
    // Rules with mistakes are ignored here; `lint` reports them.
    let rules = site_rules::read(&context.database())?.rules;
    let mut acceptable = vec![];
    for FetchedRecord {
        result,
        identity,
        doubt,
    } in fetched
    {
        if let Some(problem) = problem(&result, doubt.as_deref(), args.force)
            .or_else(|| problem_by_rules(&result, &rules))
        {
            style::print_warning(format!("{} {}", result.name(), sanitize(&problem)));
            counts.refused += 1;
        } else {
            acceptable.push((result, identity));
        }
    }
    Ok(acceptable)
}

/// The reason why another answer than the redirect of the site rules does not become the promise.
fn problem_by_rules(result: &JobResult, rules: &SiteRules) -> Option<String> {
    let (promised, observed) = (&result.promised, &result.observed);
    let status = promised.status?;
    let target = promised.redirects_to.as_deref()?;
    let is_same = observed.redirect.as_deref() == Some(target)
        && observed.status_beside(status) == Some(status);
    let redirect = PromisedRedirect::of(&rules.resolve(&result.url).ok()?)?;
    (!is_same && redirect.leads_to(&result.url, target)).then(|| {
        format!(
            "promises {}, and is not accepted otherwise: change the site or the rules",
            redirect.description()
        )
    })
}

/// The reason why the answer does not become the promise.
fn problem(result: &JobResult, doubt: Option<&str>, force: bool) -> Option<String> {
    let JobResult {
        state,
        message,
        promised,
        observed,
        ..
    } = result;
    let is_static = promised.is_static();
    let is_good = observed
        .status
        .is_some_and(|status| (200..300).contains(&status));
    let is_head = result.method == "HEAD" && !promised.has_digest();
    let is_whole = observed.sha256.is_some() || is_head && observed.length.is_some();
    let is_acceptable = matches!(state, State::Changed | State::Redirected | State::Ok);
    // The report has the target without them, which is not what the server sends.
    let has_credentials = |target: &Shown| target.contains(REDACTED);
    let is_altered = |text: &Shown| {
        text.contains(char::REPLACEMENT_CHARACTER) || text.chars().count() == Shown::LONGEST
    };
    let texts = [
        observed
            .redirect
            .as_ref()
            .filter(|_| promised.redirects_to.is_some()),
        observed
            .content_type
            .as_ref()
            .filter(|_| promised.content_type.is_some()),
    ];
    if texts.into_iter().flatten().any(is_altered) {
        return Some("sends text that cannot be shown, which is never promised".to_owned());
    }
    if promised.redirects_to.is_some() && observed.redirect.as_ref().is_some_and(has_credentials) {
        return Some("redirects to a URL with credentials, which is never promised".to_owned());
    }
    let is_other = |target: &Shown| !is_web_url(target);
    if promised.redirects_to.is_some() && observed.redirect.as_ref().is_some_and(is_other) {
        return Some("redirects to no URL of http or https, which is never promised".to_owned());
    }
    if observed.content_type.as_ref().is_some_and(has_credentials) {
        return Some("names a content type with a secret, which is never promised".to_owned());
    }
    if is_acceptable && is_static && !is_whole {
        let text =
            "cannot be accepted: its body did not arrive whole, or its coding cannot be undone";
        return Some(text.to_owned());
    }
    if let Some(doubt) = doubt.filter(|_| !force) {
        return Some(format!("{doubt}; --force accepts what came last"));
    }
    if is_acceptable {
        return None;
    }
    if !is_good || !is_whole {
        return Some(format!("is {state}, which cannot be accepted: {message}"));
    }
    (!force).then(|| format!("is {state}, which only --force accepts: {message}"))
}

/// Whether a target is a URL that a list can hold as the target of a redirect.
fn is_web_url(target: &str) -> bool {
    let is_web = url::Url::parse(target).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
    is_web && !target.contains(|char: char| char.is_whitespace() || char.is_control())
}

/// A record with the answer of its URL.
struct FetchedRecord {
    result: JobResult,
    identity: RecordIdentity,
    /// The reason why the answer should not become the promise.
    doubt: Option<String>,
}

/// The records of URLs, and the doubts about their answers, by file, URL and line.
#[derive(Default)]
struct JudgedRecords(RefCell<HashMap<RecordLine, (RecordIdentity, Option<String>)>>);

type RecordLine = (String, String, usize);

impl Progress for JudgedRecords {
    fn judged(&self, judged: &JudgedJob) {
        let job = &judged.job;
        let line = (job.file.to_string(), job.url.to_string(), job.line);
        let identity = job.key.record();
        self.0
            .borrow_mut()
            .insert(line, (identity, run::doubt(judged)));
    }
}

/// The end of an interrupted command.
const NOTHING: &str = "nothing was accepted";

/// Fetches each URL that is selected.
fn fetch(
    selection: &Selection,
    context: &Context,
    stop: &Stop,
) -> anyhow::Result<Vec<FetchedRecord>> {
    if let Some(named) = selection.records.iter().find(|it| it.alias.is_some()) {
        let NamedRecord {
            domain,
            path,
            alias,
        } = named;
        let alias = alias.as_deref().unwrap_or_default();
        anyhow::bail!(
            "{alias}{path} is an alias of {domain}{path}, whose bytes are promised; \
             accept the URL at {domain}"
        );
    }
    let bar = ProgressLine::new(0, context.quiet);
    let records = JudgedRecords::default();
    let options = RunOptions {
        config: &context.config,
        selection,
        ambient: Ambient::SYSTEM,
        stop,
        progress: &(&bar, &records),
        results: Results::Kept,
        for_promise: true,
        lists: None,
    };
    let outcome = run::check(&options);
    bar.finish();
    Interrupted::unless_goes_on(stop, NOTHING)?;
    let mut records = records.0.into_inner();
    outcome?
        .results
        .unwrap_or_default()
        .into_iter()
        .map(|result| {
            let line = (result.file.clone(), result.url.clone(), result.line);
            let (identity, doubt) = records
                .remove(&line)
                .with_context(|| format!("{} has a result without a verdict", result.url))?;
            Ok(FetchedRecord {
                result,
                identity,
                doubt,
            })
        })
        .collect()
}
