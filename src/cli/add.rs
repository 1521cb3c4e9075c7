//! `urldb add`.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use urldb_canon::rules::{Failure, Parts};
use urldb_canon::{Identity, Scheme};
use urldb_format::{DomainFile, Metadata, Record};

use super::context::MapArgs;
use super::edit::Edit;
use super::request::RequestArgs;
use super::served::{self, Bytes};
use super::{Context, Exit, style};
use crate::config::Config;
use crate::plan::{BodyUse, Request};
use crate::rules;
use crate::stop::{Stop, stop_on_signals};

/// Add URLs to the database
///
/// Each URL is fetched first: only one that answers is added. With --static
/// its length and SHA-256 become part of the promise. Where there are site
/// rules, URLs of one page become one record.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb add http://example.org/
  urldb add --static -c data http://example.org/m51.csv
  urldb add --static - < list-of-urls.txt
  urldb add --data @query.json --content-type application/json http://example.org/search")]
pub(super) struct Args {
    /// Promise the bytes that are served now
    #[arg(long = "static", conflicts_with = "no_fetch")]
    is_static: bool,
    /// Put the records into a category
    #[arg(short, long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Add without asking the network
    #[arg(long)]
    no_fetch: bool,
    #[command(flatten)]
    request: RequestArgs,
    #[command(flatten)]
    map: MapArgs,
    /// URLs; `-` reads them from standard input, one a line
    #[arg(value_name = "URL", required = true)]
    urls: Vec<String>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> anyhow::Result<Exit> {
    context.add_maps(&args.map.maps);
    anyhow::ensure!(
        !(args.request.reads_stdin() && args.urls.iter().any(|url| url == "-")),
        "standard input is either the body or a list of URLs: put one of them into a file"
    );
    let asked = args.request.record()?;
    let wanted = pages(&read_urls(&args.urls)?, context)?;
    let Fetched { seen, exit } = if args.no_fetch {
        Fetched {
            seen: wanted.into_iter().map(Seen::unfetched).collect(),
            exit: Exit::Fine,
        }
    } else {
        fetch(args, context, &asked, wanted)?
    };
    // Read again: the files may have changed while the network was asked.
    let _edit = Edit::begin(&context.database())?;
    let mut domains = Domains::load(&context.config)?;
    let mut out = anstream::stdout().lock();
    for seen in &seen {
        let done = domains.add(seen, &asked, &args.categories)?;
        if !context.quiet {
            let file = context.shown(&domains.path_of(&seen.identity.host));
            let method = asked.method.as_deref();
            let method = method.map_or_else(String::new, |method| format!("{method} "));
            writeln!(out, "{done} {method}{} in {file}", seen.identity)?;
        }
        if let Some(warning) = unsent(&asked, &seen.identity, &context.config) {
            style::print_warning(warning);
        }
        if let Some(warning) = domains.unasked(&seen.identity) {
            style::print_warning(warning);
        }
    }
    domains.write()?;
    Ok(exit)
}

/// Says so if a request is one that runs will not send.
fn unsent(asked: &Record, identity: &Identity, config: &Config) -> Option<String> {
    let manners = config.check.manners_of(&identity.host);
    let is_sent = Request::of(asked).is_safe() || manners.unsafe_methods;
    let method = asked.method.as_deref()?;
    (!is_sent).then(|| {
        format!(
            "{method} may change something on {}: it is not sent before `unsafe-methods = true` \
             is set under [check] or [check.host.\"{}\"]",
            identity.host, identity.host
        )
    })
}

/// The page of each URL, once, in the spelling of the site rules and of `cnames`.
fn pages(urls: &[String], context: &Context) -> anyhow::Result<Vec<Identity>> {
    let domains = Domains::load(&context.config)?;
    let rules = rules::load(&context.config)?;
    let mut out = anstream::stdout().lock();
    let (mut pages, mut known) = (vec![], HashSet::new());
    for url in urls {
        let spelled = Parts::parse(url)?.to_string();
        let mut page = match rules.resolve(url).and_then(|found| found.record) {
            Err(Failure::Url(error)) => return Err(error.into()),
            other => other.with_context(|| format!("{spelled} cannot be added"))?,
        };
        if page.to_string() != spelled && !context.quiet {
            writeln!(out, "{spelled} is {page} to the site rules")?;
        }
        page.host = domains.primary_host(&page.host);
        if known.insert(page.clone()) {
            pages.push(page);
        }
    }
    Ok(pages)
}

fn read_urls(arguments: &[String]) -> anyhow::Result<Vec<String>> {
    let mut urls = vec![];
    for argument in arguments {
        if argument == "-" {
            for line in io::stdin().lock().lines() {
                let line = line.context("cannot read URLs from standard input")?;
                urls.extend(
                    Some(line.trim().to_owned())
                        .filter(|url| !url.is_empty() && !url.starts_with('#')),
                );
            }
        } else {
            urls.push(argument.clone());
        }
    }
    Ok(urls)
}

/// A URL to be added, and what it serves.
struct Seen {
    identity: Identity,
    /// Where they were asked for.
    bytes: Option<Bytes>,
}

impl Seen {
    fn unfetched(identity: Identity) -> Self {
        Self {
            identity,
            bytes: None,
        }
    }
}

/// What came of fetching.
struct Fetched {
    /// The URLs that answer as they should.
    seen: Vec<Seen>,
    exit: Exit,
}

/// Fetches each URL. Those that do not answer as they should are told of.
fn fetch(
    args: &Args,
    context: &Context,
    asked: &Record,
    wanted: Vec<Identity>,
) -> anyhow::Result<Fetched> {
    let body = if args.is_static {
        served::hashed(context)
    } else {
        BodyUse::Skip
    };
    let stop = Stop::new();
    stop_on_signals(&stop)?;
    let jobs = wanted
        .iter()
        .map(|identity| served::job(identity, asked, body));
    let mut results = HashMap::new();
    served::ask(context, jobs, &stop, |job, served| {
        results.insert(job.url, served);
    })?;
    let mut fetched = Fetched {
        seen: vec![],
        exit: Exit::Fine,
    };
    for identity in wanted {
        let url = identity.to_string();
        match results.remove(&url) {
            Some(Ok(bytes)) => fetched.seen.push(Seen { identity, bytes }),
            Some(Err(_)) | None if stop.is_set() => {}
            Some(Err(problem)) => {
                style::print_warning(format!("{url} was not added: {}", style::plain(&problem)));
                fetched.exit = Exit::Findings;
            }
            None => {}
        }
    }
    if stop.is_set() {
        style::print_warning("interrupted; what had not answered by then was not added");
        fetched.exit = Exit::Interrupted;
    }
    Ok(fetched)
}

/// What adding a URL came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Done {
    Added,
    Updated,
    Known,
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&match self {
            Self::Added => style::paint(style::GOOD, "added"),
            Self::Updated => style::paint(style::GOOD, "updated"),
            Self::Known => style::paint(style::DIM, "known"),
        })
    }
}

/// The domain files, for edits of several at once.
pub(super) struct Domains {
    folder: PathBuf,
    files: BTreeMap<String, DomainFile>,
    /// Cnames and the hosts that they are aliases of.
    aliases: BTreeMap<String, String>,
    changed: Vec<String>,
}

impl Domains {
    pub(super) fn load(config: &Config) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        let mut domains = Self {
            folder: database.directory().to_owned(),
            files: BTreeMap::new(),
            aliases: BTreeMap::new(),
            changed: vec![],
        };
        for parsed in database.read() {
            let file = parsed?.file;
            let host = file.host().to_owned();
            domains.aliases.extend(
                file.metadata()
                    .cnames
                    .iter()
                    .map(|cname| (cname.clone(), host.clone())),
            );
            domains.files.insert(host, file);
        }
        Ok(domains)
    }

    /// The host whose file a host's records stand in.
    pub(super) fn primary_host(&self, host: &str) -> String {
        self.aliases
            .get(host)
            .filter(|_| !self.files.contains_key(host))
            .map_or(host, String::as_str)
            .to_owned()
    }

    /// Whether there is a record of this path, whatever its request.
    pub(super) fn has_record(&self, host: &str, path: &str) -> bool {
        self.paths(host).any(|known| known == path)
    }

    /// The line of the first record of this path, whatever its request.
    pub(super) fn line_of(&self, host: &str, path: &str) -> Option<usize> {
        let mut records = self.files.get(host)?.records();
        records
            .find(|entry| entry.record().path == path)
            .map(urldb_format::Entry::line)
    }

    /// The paths of a host's records.
    pub(super) fn paths(&self, host: &str) -> impl Iterator<Item = &str> {
        let file = self.files.get(host).into_iter();
        file.flat_map(DomainFile::records)
            .map(|entry| entry.record().path.as_str())
    }

    fn path_of(&self, host: &str) -> PathBuf {
        self.folder.join(format!("{host}.yaml"))
    }

    /// Adds a record, or adds to it what it lacks. What it promises already is
    /// not touched: that is what `accept` is for.
    fn add(&mut self, seen: &Seen, asked: &Record, categories: &[String]) -> anyhow::Result<Done> {
        let Identity { scheme, host, path } = &seen.identity;
        let file_path = self.path_of(host);
        let file = match self.files.entry(host.clone()) {
            std::collections::btree_map::Entry::Occupied(file) => file.into_mut(),
            std::collections::btree_map::Entry::Vacant(place) => {
                place.insert(DomainFile::create(file_path, first_metadata(*scheme))?)
            }
        };
        let wanted = Record {
            path: path.clone(),
            ..asked.clone()
        };
        let identity = wanted.identity();
        let before = file.get(&identity).map(|entry| entry.record().clone());
        let mut record = before.clone().unwrap_or(wanted);
        if let Some(bytes) = &seen.bytes {
            bytes.promise_in(&mut record);
        }
        record.categories.extend(
            categories
                .iter()
                .filter(|category| !category.is_empty())
                .cloned(),
        );
        record.categories.sort();
        record.categories.dedup();
        let done = match &before {
            None => Done::Added,
            Some(before) if *before == record => return Ok(Done::Known),
            Some(_) => Done::Updated,
        };
        match before {
            None => file.insert(record)?,
            Some(_) => file.update(&identity, |old| *old = record)?,
        }
        if !self.changed.contains(host) {
            self.changed.push(host.clone());
        }
        Ok(done)
    }

    /// Says so if a URL's scheme is one that its domain is not asked over.
    fn unasked(&self, identity: &Identity) -> Option<String> {
        let Identity { scheme, host, .. } = identity;
        let metadata = self.files.get(host)?.metadata();
        let is_asked = match scheme {
            Scheme::Http => metadata.http,
            Scheme::Https => metadata.https || !metadata.http,
        };
        (!is_asked).then(|| {
            format!("{host} is not asked over {scheme}: set `{scheme}: true` in the metadata of its file")
        })
    }

    /// Writes the files that have changed, each atomically.
    fn write(&self) -> anyhow::Result<()> {
        let mut changed = self.changed.iter().filter_map(|host| self.files.get(host));
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        changed.try_for_each(|file| Ok(file.write()?))
    }
}

/// A domain that is first named by an https URL is asked over https only.
fn first_metadata(scheme: Scheme) -> Metadata {
    Metadata {
        https: scheme == Scheme::Https,
        http: scheme == Scheme::Http,
        ..Metadata::default()
    }
}
