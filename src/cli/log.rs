//! `urldb log`.

use std::collections::HashMap;
use std::io::{self, Write};

use jiff::Timestamp;
use urldb_canon::RequestUrl;
use urldb_protocol::LogEntry;

use super::Context;
use super::args::UrlOrHost;
use super::print::output;
use super::print::style::{ListFormat, print_warning};
use crate::database::lookup::DomainIndex;
use crate::exit::ExitCode;
use crate::ledger::incidents;
use crate::notify::Outbox;
use crate::overview::{Commits, Scope, Sources, UnknownCommits};

/// Show the history of URLs: what broke and recovered, and the commits that changed the records
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  urldb log
  urldb log example.org
  urldb log http://example.org/m51.csv
  urldb log --format jsonl | jq -r 'select(.event == \"broken\") | .host'")]
pub(super) struct Args {
    /// Only this URL, or this host
    #[arg(value_name = "URL|HOST")]
    target: Option<String>,
    /// Text for people, or one JSON object per line
    #[arg(long, default_value = "human")]
    format: ListFormat,
}

pub(super) fn run(args: &Args, context: &Context) -> anyhow::Result<ExitCode> {
    let target = UrlOrHost::find(args.target.as_deref(), context)?;
    let urls = match &target {
        UrlOrHost::Record { host, path, .. } => urls_of(context, host, path),
        _ => vec![],
    };
    // Everything changes rarely, but one URL never needs the changes of others.
    let wants = |url: &str| match &target {
        UrlOrHost::Record { .. } => urls.iter().any(|known| known == url),
        UrlOrHost::Everywhere | UrlOrHost::Host(_) => true,
    };
    let sources = Sources::read(&context.config, Timestamp::now(), wants)?;
    let (scope, host) = match &target {
        UrlOrHost::Everywhere => (Scope::All, None),
        UrlOrHost::Host(host) => (Scope::Host(host), Some(host.as_str())),
        UrlOrHost::Record { host, path, .. } => (
            Scope::Record {
                host,
                path,
                urls: &urls,
            },
            Some(host.as_str()),
        ),
    };
    let commits = commits(context, host)?;
    let outbox = Outbox::new(&context.ledger());
    let is_waiting = |notifier: &str, run: &str| outbox.has_message(notifier, run);
    let entries = sources.timeline(scope, commits.as_ref(), &is_waiting);
    match args.format {
        ListFormat::Jsonl => {
            let mut out = io::BufWriter::new(output::stdout());
            for entry in &entries {
                output::write_json_line(&mut out, entry)?;
            }
            out.flush()?;
        }
        ListFormat::Human => {
            let project = sources.project().name;
            let about = match &target {
                UrlOrHost::Everywhere => project.as_str(),
                UrlOrHost::Host(host) => host,
                UrlOrHost::Record { .. } => args.target.as_deref().unwrap_or_default(),
            };
            let with_hosts = matches!(target, UrlOrHost::Everywhere);
            print(about, &entries, with_hosts, context)?;
        }
    }
    Ok(ExitCode::Success)
}

/// The commits that changed the database, or the domain file of a host; none if git does not have them.
fn commits(context: &Context, host: Option<&str>) -> anyhow::Result<Option<Commits>> {
    match Commits::read(&context.config, host)? {
        Ok(commits) => Ok(Some(commits)),
        Err(UnknownCommits::NoRepository) => Ok(None),
        Err(UnknownCommits::Shallow) => {
            print_warning(
                "this is a shallow clone, so the commits are unknown; \
                 `git fetch --unshallow` gets them",
            );
            Ok(None)
        }
    }
}

/// Prints the history for people.
fn print(
    about: &str,
    entries: &[LogEntry],
    with_hosts: bool,
    context: &Context,
) -> anyhow::Result<()> {
    let all = incidents::all(&context.ledger())?.into_iter();
    let all: Vec<_> = all.filter_map(|file| file.to_incident()).collect();
    let by_id: HashMap<&str, _> = all.iter().map(|it| (it.id.as_str(), it)).collect();
    let find = |id: &str| by_id.get(id).copied();
    let text = urldb_render::log(about, entries, find, with_hosts, context.terminal_options());
    output::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// The URLs of a record, over each scheme that runs use.
fn urls_of(context: &Context, host: &str, path: &str) -> Vec<String> {
    let file = context.domain_file(host);
    let index = DomainIndex::read_where(&file, |it| it == path).unwrap_or_default();
    let urls = index.schemes_of(path).into_iter();
    let urls = urls.filter_map(|scheme| RequestUrl::new(scheme, host, path));
    urls.map(|url| url.to_string()).collect()
}
