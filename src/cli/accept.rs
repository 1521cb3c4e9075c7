//! `urldb accept`.

mod answer;
mod candidates;
mod counts;
mod same_content;

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use urldb_canon::rules::SiteRules;
use urldb_format::RecordIdentity;
use urldb_protocol::{JobResult, Reason, State};
use urldb_text::{REDACTED, Shown, sanitize};
use urldb_verdict::{JudgedJob, NamedRecord};

use super::Context;
use super::args::{
    ChangedUrls, CommitArgs, PlannedCommit, TargetArgs, UncommittedRecord, uncommitted_records,
};
use super::print::progress::ProgressLine;
use super::print::style;
use candidates::AcceptOptions;
use counts::AcceptCounts;
use same_content::SameContent;

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
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb accept http://example.org/m51.csv
  urldb accept --all --yes -d example.org
  urldb accept --force http://example.org/looks-like-a-challenge.html")]
pub(super) struct Args {
    #[command(flatten)]
    targets: TargetArgs,
    /// Everything that the other options select
    #[arg(long, conflicts_with = "urls", required_unless_present = "urls")]
    all: bool,
    /// Also what is in another state, unstable, growing, or the same at many URLs, if only it came whole
    /// and with a good status
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    commit: CommitArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        args.yes || io::stdin().is_terminal(),
        "there is no terminal to ask on; --yes accepts without asking"
    );
    args.targets.map.apply(context, &[])?;
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let commit = args.commit.begin(&context.database())?;
    let fetched = fetch(args, context, &stop)?.into_iter();
    let is_kept =
        |it: &FetchedRecord| it.result.state == State::Ok && (it.doubt.is_none() || args.force);
    let (kept, others): (Vec<_>, Vec<_>) = fetched.partition(is_kept);
    let mut counts = AcceptCounts {
        kept: kept.len() as u64,
        ..AcceptCounts::default()
    };
    let (mut changed, mut written) = accepted_before(kept, commit.as_ref(), context)?;
    let mut acceptable = acceptable(others, args, context, &mut counts)?;
    counts.refused += refuse_same_content(&mut acceptable, args.force);
    let how = AcceptOptions {
        yes: args.yes,
        is_committed: commit.is_some(),
        stop: &stop,
    };
    let accepted = candidates::accept(acceptable, how, context, &mut counts, &mut changed);
    written.extend(accepted?);
    if !context.quiet {
        writeln!(output::stdout(), "{}", counts.line())?;
    }
    let exit = counts.exit_code(&stop);
    if let Some(commit) = commit {
        let serve = if changed.is_one() { "serves" } else { "serve" };
        let subject = || format!("Accept what {} {serve}", changed.phrase());
        commit.finish(&written, subject, exit, context)?;
    }
    Ok(exit)
}

/// The kept promises that a killed call has written and not committed, and their domain files and lists.
fn accepted_before(
    kept: Vec<FetchedRecord>,
    commit: Option<&PlannedCommit>,
    context: &Context,
) -> anyhow::Result<(ChangedUrls, Vec<PathBuf>)> {
    let uncommitted = uncommitted_records(commit, context)?;
    // A list that cannot be read has no places.
    let has_lists = uncommitted.values().any(UncommittedRecord::is_listed);
    let lists = has_lists.then(|| locations(&context.config).ok()).flatten();
    let (mut changed, mut files) = (ChangedUrls::default(), BTreeSet::new());
    for FetchedRecord {
        result, identity, ..
    } in kept
    {
        let key = (urldb_format::host_of(Path::new(&result.file)), identity);
        let Some(record) = uncommitted.get(&key) else {
            continue;
        };
        let (host, identity) = key;
        let list = lists.as_ref().filter(|_| record.is_listed());
        let list = list.and_then(|it| it.of(&host, &identity));
        files.extend(list.map(|(file, _)| context.config.root.join(&**file)));
        files.insert(record.file.clone());
        changed.add(&host, || result.url);
    }
    Ok((changed, files.into_iter().collect()))
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
        // `refuse_same_content` names all URLs of one content together.
        let doubt = doubt.filter(|_| !is_same_content(&result));
        let problem = problem(&result, doubt.as_deref(), args.force);
        if let Some(problem) = problem.or_else(|| problem_by_rules(&result, &rules)) {
            style::print_warning(format!("{} {}", result.name(), sanitize(&problem)));
            counts.refused += 1;
        } else {
            acceptable.push((result, identity));
        }
    }
    Ok(acceptable)
}

/// Warns of contents that several URLs serve; removes and counts the URLs that only `force` accepts.
fn refuse_same_content(acceptable: &mut Vec<(JobResult, RecordIdentity)>, force: bool) -> u64 {
    let same = SameContent::of(acceptable.iter().map(|(result, _)| result));
    for content in &same {
        let is_refused = content.is_refused() && !force;
        let remedy = if is_refused {
            "; --force accepts them"
        } else {
            ""
        };
        style::print_warning(sanitize(&format!("{}{remedy}", content.message())));
    }
    let before = acceptable.len();
    acceptable
        .retain(|(result, _)| force || !same.iter().any(|it| it.is_refused() && it.has(result)));
    acceptable.retain(|(result, _)| {
        let is_refused = is_same_content(result) && !force;
        if is_refused {
            let text = format!("{} {}; --force accepts it", result.name(), result.message);
            style::print_warning(sanitize(&text));
        }
        !is_refused
    });
    (before - acceptable.len()) as u64
}

/// Whether the answer is a page that other URLs of the host serve too, as far as a page that names its URL can be told.
fn is_same_content(result: &JobResult) -> bool {
    result.reason.as_deref() == Some(Reason::SameContent.as_str())
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
        return Some(format!(
            "{doubt}: what is accepted now may be broken at once; --force accepts what came last"
        ));
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
    let url = url::Url::parse(target);
    let is_web = url.is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
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
fn fetch(args: &Args, context: &Context, stop: &Stop) -> anyhow::Result<Vec<FetchedRecord>> {
    let selection = args.targets.resolve(context)?;
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
        selection: &selection,
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
    let results = outcome?.results.unwrap_or_default().into_iter();
    results
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
