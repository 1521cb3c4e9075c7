//! `urldb add`. `pages` reads the URLs.

mod pages;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::PathBuf;

use urldb_canon::{Identity, host_of};
use urldb_format::{DomainFile, Metadata, Record, RecordEntry, RecordIdentity, differing_headers};
use urldb_protocol::Reason;
use urldb_text::sanitize;
use urldb_verdict::Request;

use self::pages::{Page, pages, read_urls};
use super::Context;
use super::args::{ChangedUrls, MapArgs, RecordArgs, WriteArgs};
use super::print::progress::ProgressLine;
use super::print::style;
use crate::cli::print::output;
use crate::config::Config;
use crate::database::edit::Edit;
use crate::exit::ExitCode;
use crate::run::{self, Progress, PromisedKeys, ServedPromise};
use crate::stop::{Stop, stop_on_signals};

/// Add URLs to the database
///
/// Each URL is fetched first: only one that answers is added. With --static
/// its length and SHA-256 become part of the promise, and so do its media type
/// and its redirect when asked. Where there are site rules, URLs of one page
/// become one record, and the record of a URL with a retired option promises
/// its redirect to the page.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb add http://example.org/
  urldb add --static -c data http://example.org/m51.csv
  urldb add --static --commit http://example.org/m51.csv
  urldb add --static - < list-of-urls.txt
  urldb add --content-type --redirect http://example.org/latest
  urldb add --data @query.json --request-content-type application/json http://example.org/search")]
pub(super) struct Args {
    #[command(flatten)]
    promise: PromiseArgs,
    /// Put the records into a category
    #[arg(short, long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Add without asking the network
    #[arg(long)]
    no_fetch: bool,
    #[command(flatten)]
    request: RecordArgs,
    #[command(flatten)]
    write: WriteArgs,
    #[command(flatten)]
    map: MapArgs,
    /// URLs; `-` reads them from standard input, one a line
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
}

/// The parts of the answer that become a promise.
#[derive(Debug, clap::Args)]
struct PromiseArgs {
    /// Promise the bytes that are served now
    #[arg(long = "static", conflicts_with = "no_fetch")]
    is_static: bool,
    /// Promise the media type that is served now; of a redirect, `X-301-Redirect` and the like
    #[arg(long = "content-type", conflicts_with = "no_fetch")]
    has_content_type: bool,
    /// Promise the target of the redirect that is served now, if there is one
    #[arg(long = "redirect", conflicts_with = "no_fetch")]
    has_redirect: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(
        !(args.request.reads_stdin() && args.urls.iter().any(|url| url == "-")),
        "standard input is either the body or a list of URLs: put one of them into a file"
    );
    let commit = args.write.begin(context)?;
    let asked = args.request.record(&context.directory)?;
    let wanted = pages(&read_urls(&args.urls)?, &asked, context)?;
    let hosts: Vec<String> = wanted
        .iter()
        .map(|page| page.identity.host.clone())
        .collect();
    args.map.apply(context, &hosts)?;
    let FetchResult { candidates, exit } = if args.no_fetch {
        FetchResult {
            candidates: wanted.into_iter().map(Candidate::unfetched).collect(),
            exit: ExitCode::Success,
        }
    } else {
        fetch(args, context, &asked, wanted)?
    };
    let keys = RecordKeys {
        asked: &asked,
        categories: &args.categories,
    };
    let (added, files) = write(&candidates, &keys, args.write.edit(context)?, context)?;
    let mut subject = CommitSubject::default();
    for Candidate { page, .. } in &candidates {
        if let Some(result) = added.get(&page.identity) {
            subject.add(&page.identity, result.change);
            print(page, result, args, &asked, context)?;
        }
    }
    if let Some(commit) = commit {
        commit.finish(&files, || subject.text(), exit, context)?;
    }
    Ok(exit)
}

/// The subject of the commit, from the URLs that it adds and changes.
#[derive(Default)]
struct CommitSubject {
    new: ChangedUrls,
    updated: ChangedUrls,
    /// The URLs that an earlier command may have added.
    known: ChangedUrls,
}

impl CommitSubject {
    fn add(&mut self, identity: &Identity, change: RecordChange) {
        let urls = match change {
            RecordChange::Added => &mut self.new,
            RecordChange::Updated => &mut self.updated,
            RecordChange::Known => &mut self.known,
        };
        urls.add(&identity.host, || identity.to_string());
    }

    fn text(&self) -> String {
        let (new, updated) = (&self.new, &self.updated);
        match (new.is_empty(), updated.is_empty()) {
            (true, true) => format!("Add {}", self.known.phrase()),
            (true, false) => format!("Update {}", updated.phrase()),
            (false, true) => format!("Add {}", new.phrase()),
            (false, false) => format!("Add {}, update {}", new.phrase(), updated.phrase()),
        }
    }
}

/// Prints the change of a record, and warns if runs will not send its request.
fn print(
    page: &Page,
    result: &AddResult,
    args: &Args,
    asked: &Record,
    context: &Context,
) -> anyhow::Result<()> {
    let Page { identity, redirect } = page;
    if !context.quiet {
        let change = result.change.painted(args.write.dry_run);
        let file = context.shown(&context.domain_file(&identity.host));
        let method = asked
            .method
            .as_deref()
            .map_or_else(String::new, |method| format!("{method} "));
        writeln!(output::stdout(), "{change} {method}{identity} in {file}")?;
        if let Some(redirect) = redirect.as_ref().filter(|_| result.contradiction.is_none()) {
            let description = redirect.description();
            writeln!(output::stdout(), "  it promises {description}")?;
        }
    }
    if let (Some(redirect), Some(key)) = (redirect, result.contradiction) {
        style::print_warning(format!(
            "{identity} should promise {}; `{key}` of its record differs: write {}",
            redirect.description(),
            redirect.keys()
        ));
    }
    if let Some(warning) = unsent(asked, identity, &context.config) {
        style::print_warning(warning);
    }
    Ok(())
}

/// A warning if runs will not send this request.
fn unsent(asked: &Record, identity: &Identity, config: &Config) -> Option<String> {
    let options = config.check.fetch.of_host(host_of(&identity.host));
    let is_sent = Request::of(asked).is_safe() || options.unsafe_methods;
    let method = asked.method.as_deref()?;
    (!is_sent).then(|| {
        format!(
            "{method} may change something on {}: it is not sent before `unsafe-methods = true` \
             is set under [check] or [check.host.\"{}\"]",
            identity.host, identity.host
        )
    })
}

struct Candidate {
    page: Page,
    /// The parts of the answer that become a promise.
    served: ServedPromise,
}

impl Candidate {
    fn unfetched(page: Page) -> Self {
        Self {
            page,
            served: ServedPromise::default(),
        }
    }

    /// Adds to a record what it does not promise yet.
    fn complete(&self, record: &mut Record) {
        let Some(redirect) = &self.page.redirect else {
            return self.served.complete(record);
        };
        redirect.complete(record);
        let had_type = record.content_type.is_some();
        self.served.complete(record);
        let is_pseudo = |name: &String| urldb_verdict::pseudo_status(name).is_some();
        if !had_type && record.content_type.as_ref().is_some_and(is_pseudo) {
            // The status of the redirect is promised already.
            record.content_type = None;
        }
    }

    /// The key of the record that promises another answer than the redirect of the site rules.
    fn contradiction(&self, record: Option<&Record>, file: &DomainFile) -> Option<&'static str> {
        let (redirect, record) = (self.page.redirect.as_ref()?, record?);
        let schemes = file.metadata().schemes_of(record);
        redirect.contradiction(record, file.host(), &schemes)
    }
}

struct FetchResult {
    /// The URLs that can be added.
    candidates: Vec<Candidate>,
    exit: ExitCode,
}

/// Fetches each URL, and warns of those that cannot be added.
fn fetch(
    args: &Args,
    context: &Context,
    asked: &Record,
    wanted: Vec<Page>,
) -> anyhow::Result<FetchResult> {
    let keys = PromisedKeys {
        bytes: args.promise.is_static,
        content_type: args.promise.has_content_type,
        redirect: args.promise.has_redirect,
    };
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let jobs = wanted
        .iter()
        .filter_map(|page| run::unpromised_job(&page.identity, asked, keys, &context.config));
    let (mut results, mut unresolved) = (HashMap::new(), None);
    let bar = ProgressLine::new(wanted.len() as u64, context.quiet);
    let mut hosts = BTreeMap::new();
    for page in &wanted {
        *hosts.entry(page.identity.host.clone()).or_default() += 1;
    }
    bar.planned(&hosts);
    let fetched = run::fetch_served(
        &context.config,
        keys,
        &stop,
        &bar,
        jobs,
        |judged, served| {
            if judged.verdict.classification.reason == Some(Reason::Dns) {
                unresolved = Some(judged.job.host().to_owned());
            }
            results.insert(judged.job.url.to_string(), served);
        },
    );
    bar.finish();
    fetched?;
    let mut fetched = FetchResult {
        candidates: vec![],
        exit: ExitCode::Success,
    };
    for page in wanted {
        let url = page.identity.to_string();
        match results.remove(&url) {
            Some(Ok(served)) => fetched.candidates.push(Candidate { page, served }),
            Some(Err(_)) | None if stop.is_set() => {}
            Some(Err(problem)) => {
                style::print_warning(format!("{url} was not added: {}", sanitize(&problem)));
                fetched.exit = ExitCode::Findings;
            }
            None => {}
        }
    }
    if let Some(host) = unresolved {
        style::print_note(&format!(
            "`--map {host}=HOST:PORT` asks another host in place of {host} (`map` under [network] of urldb.toml, in each command), `--no-fetch` none"
        ));
    }
    if stop.is_set() {
        style::print_warning("interrupted; what had not answered by then was not added");
        fetched.exit = ExitCode::Interrupted;
    }
    Ok(fetched)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordChange {
    Added,
    Updated,
    Known,
}

impl RecordChange {
    fn painted(self, dry_run: bool) -> String {
        let (style, real, dry) = match self {
            Self::Added => (style::GOOD, "added", "would add"),
            Self::Updated => (style::GOOD, "updated", "would update"),
            Self::Known => (style::DIM, "known", "known"),
        };
        style::paint(style, if dry_run { dry } else { real })
    }
}

struct AddResult {
    change: RecordChange,
    /// The key of the record that promises another answer than the redirect of the site rules.
    contradiction: Option<&'static str>,
}

/// Adds all URLs, and returns their domain files too. The new domain files replace the old ones only when
/// all are on disk; without an edit, never. The files are read only now, since they may have changed during the
/// fetches.
fn write<'a>(
    candidates: &'a [Candidate],
    keys: &RecordKeys<'_>,
    mut edit: Option<Edit>,
    context: &Context,
) -> anyhow::Result<(HashMap<&'a Identity, AddResult>, Vec<PathBuf>)> {
    let mut by_host: BTreeMap<&str, Vec<&Candidate>> = BTreeMap::new();
    for candidate in candidates {
        by_host
            .entry(&candidate.page.identity.host)
            .or_default()
            .push(candidate);
    }
    let (mut all, mut files) = (HashMap::new(), vec![]);
    for (host, candidates) in by_host {
        let path = context.domain_file(host);
        files.push(path.clone());
        let urls = candidates
            .iter()
            .map(|candidate| &candidate.page.identity)
            .map(|url| (url.path.as_str(), url.scheme));
        let mut paths: Vec<&str> = candidates
            .iter()
            .map(|candidate| candidate.page.identity.path.as_str())
            .collect();
        paths.sort_unstable();
        let paths = paths[0]..=paths[paths.len() - 1];
        let mut file = if urldb_files::is_there(&path) {
            DomainFile::read_for_edit(path, paths)?
        } else {
            DomainFile::create(path, Metadata::of_urls(urls))?
        };
        let added = keys.add_to(&mut file, &candidates)?;
        let is_changed = added
            .iter()
            .any(|(_, result)| result.change != RecordChange::Known);
        if let Some(edit) = edit.as_mut().filter(|_| is_changed) {
            edit.prepare(&file)?;
        }
        all.extend(added);
    }
    edit.map_or(Ok(vec![]), Edit::commit)?;
    Ok((all, files))
}

/// The keys that all new records get.
struct RecordKeys<'a> {
    asked: &'a Record,
    categories: &'a [String],
}

impl RecordKeys<'_> {
    /// The record of a URL that promises nothing yet.
    fn plain(&self, url: &Identity) -> Record {
        Record {
            path: url.path.clone(),
            ..self.asked.clone()
        }
    }

    /// Adds the records to a file, or completes the records that it already has.
    fn add_to<'a>(
        &self,
        file: &mut DomainFile,
        candidates: &[&'a Candidate],
    ) -> anyhow::Result<Vec<(&'a Identity, AddResult)>> {
        let mut known: HashMap<_, _> = file
            .records()
            .map(RecordEntry::record)
            .map(|record| (file.identity_of(record), record.clone()))
            .collect();
        let (mut changed, mut all) = (vec![], vec![]);
        for candidate in candidates {
            let (record, change) = self.applied(candidate, file, &known)?;
            let identity = file.identity_of(&record);
            if change != RecordChange::Known {
                known.insert(identity.clone(), record.clone());
                changed.push(record);
            }
            let contradiction = candidate.contradiction(known.get(&identity), file);
            let result = AddResult {
                change,
                contradiction,
            };
            all.push((&candidate.page.identity, result));
        }
        file.put_all(changed)?;
        Ok(all)
    }

    /// The new record of a URL. Existing promises stay, since `accept` is the command to change them.
    ///
    /// # Errors
    /// When the file has a record for another body or with other headers, and both have one identity.
    fn applied(
        &self,
        candidate: &Candidate,
        file: &DomainFile,
        known: &HashMap<RecordIdentity, Record>,
    ) -> anyhow::Result<(Record, RecordChange)> {
        let identity = &candidate.page.identity;
        let wanted = self.plain(identity);
        let before = known.get(&file.identity_of(&wanted));
        let is_other = |before: &&Record| before.request_body != wanted.request_body;
        if let Some(before) = before.filter(is_other) {
            anyhow::bail!(
                "{identity} cannot be added: the database has a record for {} {} with another body, and \
                 docs/request-canonicalization.md makes one request of both; nothing was added",
                before.method.as_deref().unwrap_or("GET"),
                before.path
            );
        }
        let has_headers = !wanted.request_headers.is_empty();
        let differing = before.and_then(|before| differing_headers(before, &wanted));
        if let Some(headers) = differing.filter(|_| has_headers) {
            anyhow::bail!(
                "{identity} cannot be added: the database has a record for it with other request headers; `vary: [{}]` \
                 in the metadata of {}.yaml tells them apart; nothing was added",
                headers.join(", "),
                file.host()
            );
        }
        let mut record = before.cloned().unwrap_or(wanted);
        candidate.complete(&mut record);
        let named = [identity.scheme];
        file.metadata()
            .add_schemes(&mut record, before.is_some(), &named);
        let categories = self.categories.iter().filter(|name| !name.is_empty());
        record.categories.extend(categories.cloned());
        record.categories.sort();
        record.categories.dedup();
        let change = match before {
            None => RecordChange::Added,
            Some(before) if *before == record => RecordChange::Known,
            Some(_) => RecordChange::Updated,
        };
        Ok((record, change))
    }
}
