//! The options that select records.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use clap::Args;
use urldb_canon::rules::SiteRules;
use urldb_canon::{Identity, RequestUrl, authority, kind_of_held};
use urldb_format::{Database, DomainFile, HELD_URIS};
use urldb_render::numbers::counted;
use urldb_text::nearest;
use urldb_verdict::{NamedRecord, Selection};

use super::context::MapArgs;
use crate::cli::Context;
use crate::cli::print::style::print_note;
use crate::config::Config;
use crate::database::aliases::Aliases;
use crate::database::left_out::left_out;
use crate::database::lookup::DomainIndex;
use crate::database::site_rules;

/// The selection of records by domain, category and path.
#[derive(Debug, Default, Args)]
pub(crate) struct SelectArgs {
    /// Only this domain, by the name of its file or by a cname
    #[arg(short, long = "domain", value_name = "DOMAIN")]
    pub(crate) domains: Vec<String>,
    /// Only records of this category
    #[arg(short, long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Only paths that begin with this text
    #[arg(long, value_name = "PREFIX")]
    path_prefix: Option<String>,
}

/// A selection of records, or single URLs.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    #[command(flatten)]
    pub(crate) select: SelectArgs,
    #[command(flatten)]
    pub(crate) map: MapArgs,
    /// Only these URLs of the database
    #[arg(value_name = "URL")]
    pub(crate) urls: Vec<String>,
}

impl SelectArgs {
    /// Whether every record is selected. A prefix without characters selects every record.
    pub(crate) fn is_everything(&self) -> bool {
        let has_prefix = self
            .path_prefix
            .as_ref()
            .is_some_and(|prefix| !prefix.is_empty());
        self.domains.is_empty() && self.categories.is_empty() && !has_prefix
    }

    /// The selection, if every domain in it has a file, or is a cname in one.
    pub(crate) fn resolve(&self, context: &Context) -> anyhow::Result<Selection> {
        Ok(Selection {
            domains: resolve_domains(&context.config, &self.domains)?,
            categories: self.categories.clone(),
            path_prefix: self.path_prefix.clone(),
            ..Selection::default()
        })
    }

    /// The selection among these records, or of the hosts if no domain is selected; among all records that are on disk,
    /// if there are none of both.
    pub(crate) fn among(
        &self,
        records: Vec<NamedRecord>,
        hosts: Vec<String>,
        context: &Context,
    ) -> anyhow::Result<Selection> {
        let mut selection = self.resolve(context)?;
        selection.records = records;
        if selection.domains.is_empty() {
            selection.domains = hosts;
        }
        if selection.domains.is_empty() && selection.records.is_empty() {
            selection.domains = present_hosts(&context.config)?;
        }
        Ok(selection)
    }
}

impl TargetArgs {
    /// The selection, if every URL in it is in the database, and runs ask for it.
    pub(crate) fn resolve(&self, context: &Context) -> anyhow::Result<Selection> {
        let records = find_records(context, &self.urls)?;
        self.select.among(records, vec![], context)
    }
}

/// The hosts of all domain files on disk, if a sparse checkout leaves out others, which is told: what is left out is not
/// gone. None without one.
pub(crate) fn present_hosts(config: &Config) -> anyhow::Result<Vec<String>> {
    let left_out = left_out(config.database_root().path());
    if left_out.is_empty() {
        return Ok(vec![]);
    }
    let files = counted(left_out.len() as u64, "domain file");
    print_note(&format!(
        "the sparse checkout leaves out {files}: their URLs are not checked"
    ));
    let database = config.open_database()?;
    Ok(database.all_files().map(urldb_format::host_of).collect())
}

/// The hosts of the files that have these domains, which may be cnames.
pub(crate) fn resolve_domains(config: &Config, domains: &[String]) -> anyhow::Result<Vec<String>> {
    if domains.is_empty() {
        return Ok(vec![]);
    }
    // A port may be written as in a URL.
    let domains: Vec<String> = domains.iter().map(|it| it.replace(':', "+")).collect();
    let database = config.open_database()?;
    let has_file = |domain: &str| {
        database
            .path_of(domain)
            .is_some_and(|path| urldb_files::is_file(&path))
    };
    if domains.iter().all(|domain| has_file(domain)) {
        return Ok(domains);
    }
    let aliases = Aliases::load_readable(config)?;
    let resolve = |domain: &String| {
        let host = aliases.primary_host(domain);
        if has_file(&host) {
            Ok(host)
        } else {
            Err(no_domain(config, &database, &aliases, domain))
        }
    };
    domains.iter().map(resolve).collect()
}

fn no_domain(
    config: &Config,
    database: &Database,
    aliases: &Aliases,
    domain: &str,
) -> anyhow::Error {
    let name = authority(domain);
    let problem = if config.database.is_of_lists {
        format!("no list has a URL of {name}")
    } else {
        format!("there is no domain file for {name}")
    };
    let names = database
        .files()
        .iter()
        .map(|path| urldb_format::host_of(path));
    match similar_host(&name, names.chain(aliases.cnames().map(str::to_owned))) {
        Some(near) => {
            anyhow::anyhow!("{problem}; did you mean {near}?")
        }
        None if config.database.is_of_lists => anyhow::anyhow!(problem),
        None => anyhow::anyhow!("{problem} in {}", database.directory().display()),
    }
}

/// The host that was typed without its port, or a similar name.
pub(crate) fn similar_host(typed: &str, names: impl Iterator<Item = String>) -> Option<String> {
    let names: Vec<String> = names.map(|name| authority(&name)).collect();
    let with_port = |name: &&String| {
        name.strip_prefix(typed)
            .is_some_and(|it| it.starts_with(':'))
    };
    let near = || nearest(typed, &names);
    names.iter().find(with_port).or_else(near).cloned()
}

/// The records that URLs name, or those of the pages that they are to the site rules.
///
/// # Errors
/// When a URL has no record, or when no run asks for the URL although its record exists.
pub(crate) fn find_records(context: &Context, urls: &[String]) -> anyhow::Result<Vec<NamedRecord>> {
    if urls.is_empty() {
        return Ok(vec![]);
    }
    let mut lookup = RecordLookup::new(context, urls)?;
    urls.iter().map(|url| lookup.find_asked(url)).collect()
}

/// As [`find_records`]; of a URL without a record, the sentence that says so.
///
/// # Errors
/// When no run asks for a URL although its record exists.
pub(crate) fn find_known(
    context: &Context,
    urls: &[String],
) -> anyhow::Result<Vec<Result<NamedRecord, String>>> {
    let mut lookup = RecordLookup::new(context, urls)?;
    let find = |url: &String| match lookup.find_if_asked(url)? {
        Some(named) => Ok(Ok(named)),
        None => Ok(Err(lookup.not_found(url)?)),
    };
    urls.iter().map(find).collect()
}

/// The records that URLs or held URIs would name, whether the database has them or not.
pub(crate) fn named_records(
    context: &Context,
    urls: &[String],
) -> anyhow::Result<Vec<NamedRecord>> {
    let aliases = Aliases::load_readable(&context.config)?;
    Ok(urls
        .iter()
        .map(|url| {
            let (domain, path) = match urldb_canon::identify(url) {
                Ok(Identity { host, path, .. }) => (aliases.primary_host(&host), path),
                Err(_) => (HELD_URIS.to_owned(), url.clone()),
            };
            NamedRecord {
                domain,
                path,
                alias: None,
            }
        })
        .collect())
}

/// The records of [`find_records`], or those of held URIs, and their domain file, read for edits of them: `None` if
/// they are in several files.
///
/// # Errors
/// As [`find_records`].
pub(crate) fn find_records_for_edit(
    context: &Context,
    urls: &[String],
) -> anyhow::Result<(Vec<NamedRecord>, Option<DomainFile>)> {
    if urls.is_empty() {
        return Ok((vec![], None));
    }
    let mut lookup = RecordLookup::new(context, urls)?;
    lookup.hint = "";
    let file = lookup.read_for_edit()?;
    let find = |url: &String| match lookup.held(url)? {
        Some(named) => Ok(named),
        None => lookup.find_asked(url),
    };
    let records = urls
        .iter()
        .map(find)
        .collect::<anyhow::Result<Vec<NamedRecord>>>()?;
    // A path in the file need not be canonical, and so may be beyond the part that was read.
    let is_read = |named: &NamedRecord| {
        lookup
            .domains
            .get(&named.domain)
            .is_some_and(|domain| domain.find(&named.path).is_some())
    };
    let file = file.filter(|_| records.iter().all(is_read));
    Ok((records, file))
}

/// Looks records up by URL; caches what it reads of each domain file.
struct RecordLookup<'a> {
    context: &'a Context,
    /// The end of the message about a URL without a record.
    hint: &'static str,
    rules: SiteRules,
    aliases: Aliases,
    /// All URLs to look up, as typed and of their pages.
    wanted: Vec<Identity>,
    /// Their paths in lower case, in the order of [`by_length`].
    paths: Vec<String>,
    /// The records of these paths.
    domains: HashMap<String, DomainIndex>,
}

impl<'a> RecordLookup<'a> {
    fn new(context: &'a Context, urls: &[String]) -> anyhow::Result<Self> {
        // Rules with mistakes are ignored here; `lint` reports them.
        let rules = site_rules::read(&context.database())?.rules;
        let typed = urls
            .iter()
            .filter_map(|url| urldb_canon::identify(url).ok());
        let pages = urls.iter().filter_map(|url| page_of(&rules, url));
        let wanted: Vec<Identity> = typed.chain(pages).collect();
        let mut paths: Vec<String> = wanted
            .iter()
            .map(|url| url.path.to_ascii_lowercase())
            .collect();
        paths.sort_by(|one, other| by_length(one, other));
        Ok(Self {
            context,
            hint: "; `urldb add` adds it",
            wanted,
            paths,
            rules,
            aliases: Aliases::load_readable(&context.config)?,
            domains: HashMap::new(),
        })
    }

    /// Reads the domain file of all URLs for edits of their records; `None` if there is not exactly one.
    fn read_for_edit(&mut self) -> anyhow::Result<Option<DomainFile>> {
        let mut hosts: Vec<String> = self
            .wanted
            .iter()
            .map(|url| &url.host)
            .map(|it| self.aliases.primary_host(it))
            .collect();
        hosts.dedup();
        let paths = || self.wanted.iter().map(|url| url.path.as_str());
        let (Some(first), Some(last), [host]) = (paths().min(), paths().max(), &*hosts) else {
            return Ok(None);
        };
        let path = self.context.domain_file(host);
        if !urldb_files::is_there(&path) {
            return Ok(None);
        }
        let file = DomainFile::read_for_edit(path, first..=last)?;
        self.domains.insert(host.clone(), DomainIndex::of(&file));
        Ok(Some(file))
    }

    /// The record of a URL, which runs ask for.
    fn find_asked(&mut self, url: &str) -> anyhow::Result<NamedRecord> {
        match self.find_if_asked(url)? {
            Some(named) => Ok(named),
            None => Err(anyhow::anyhow!(self.not_found(url)?)),
        }
    }

    /// The record of a URL, which runs ask for; `None` if the URL has no record.
    fn find_if_asked(&mut self, url: &str) -> anyhow::Result<Option<NamedRecord>> {
        anyhow::ensure!(
            self.held(url)?.is_none(),
            "{url} is held, not checked: runs ask only for URLs of http and https without an IPv6 address"
        );
        let found = self.find(url)?;
        if let Some((identity, named)) = &found {
            self.require_asked(identity, named)?;
        }
        Ok(found.map(|(_, named)| named))
    }

    /// The record of a URI, if the database holds it.
    fn held(&self, uri: &str) -> anyhow::Result<Option<NamedRecord>> {
        if kind_of_held(uri).is_none() {
            return Ok(None);
        }
        let wants = |path: &str| path == uri;
        let file = self.context.domain_file(HELD_URIS);
        let index = DomainIndex::read_where(&file, wants)?;
        Ok(index.find(uri).map(|(path, _)| NamedRecord {
            domain: HELD_URIS.to_owned(),
            path: path.to_owned(),
            alias: None,
        }))
    }

    /// The URL of the database that `typed` means, and its record; `None` if there is none.
    fn find(&mut self, typed: &str) -> anyhow::Result<Option<(Identity, NamedRecord)>> {
        let identity = urldb_canon::identify(typed)?;
        if let Some(found) = self.record(&identity)? {
            return Ok(Some((identity, found)));
        }
        if let Some(page) = page_of(&self.rules, typed)
            && let Some(found) = self.record(&page)?
        {
            return Ok(Some((page, found)));
        }
        let found = self.record_asked_as(typed, &identity)?;
        Ok(found.map(|found| (identity, found)))
    }

    /// The record of a URL, if it has one.
    fn record(&mut self, url: &Identity) -> anyhow::Result<Option<NamedRecord>> {
        let host = self.aliases.primary_host(&url.host);
        let path = self
            .domain(&host)?
            .find(&url.path)
            .map(|(spelling, _)| spelling.to_owned());
        Ok(path.map(|path| NamedRecord {
            alias: (host != url.host).then(|| url.host.clone()),
            domain: host,
            path,
        }))
    }

    /// The record for which runs ask for exactly the URL `typed`, as messages show the URL: the path in a
    /// file need not be canonical.
    fn record_asked_as(&self, typed: &str, url: &Identity) -> anyhow::Result<Option<NamedRecord>> {
        let host = self.aliases.primary_host(&url.host);
        let all = DomainIndex::read(&self.context.domain_file(&host))?;
        let is_typed = |path: &&str| {
            RequestUrl::new(url.scheme, &url.host, path)
                .is_some_and(|asked| asked.as_ref() == typed)
        };
        Ok(all.paths().find(is_typed).map(|path| NamedRecord {
            alias: (host != url.host).then(|| url.host.clone()),
            domain: host.clone(),
            path: path.to_owned(),
        }))
    }

    /// The sentence about a URL without a record.
    fn not_found(&self, typed: &str) -> anyhow::Result<String> {
        let url = urldb_canon::identify(typed)?;
        let host = self.aliases.primary_host(&url.host);
        let all = DomainIndex::read(&self.context.domain_file(&host))?;
        let near = nearest(&url.path, all.paths());
        let near = near.and_then(|near| RequestUrl::new(url.scheme, &host, near));
        let help = near.map_or_else(
            || self.hint.to_owned(),
            |near| format!("; did you mean {near}?"),
        );
        Ok(format!("{typed} is not in the database{help}"))
    }

    /// An error for a URL that no run asks for, although its record exists.
    fn require_asked(&mut self, url: &Identity, named: &NamedRecord) -> anyhow::Result<()> {
        let scheme = &url.scheme;
        let (host, path) = (authority(&named.domain), &named.path);
        let domain = self.domain(&named.domain)?;
        let found = domain.find(path);
        if let Some((_, record)) = found.filter(|(_, record)| !record.schemes.contains(scheme)) {
            let asked = record
                .schemes
                .iter()
                .map(|it| it.as_str())
                .collect::<Vec<_>>()
                .join(" and ");
            anyhow::ensure!(
                domain.has_schemes(&record.schemes),
                "{url} is never asked: its record has `schemes` of its own, and is asked over {asked} \
                 only; `urldb add {url}` adds {scheme}"
            );
            anyhow::bail!(
                "{url} is never asked: the records of {host} are asked over {asked} only; \
                 `{scheme}: true` in the metadata of its file adds {scheme}"
            );
        }
        anyhow::ensure!(
            named.alias.is_none() || found.is_some_and(|(_, record)| record.is_asked_of_cnames),
            "{url} is never asked: its record promises a redirect, which is the promise of {host} \
             alone; ask for {scheme}://{host}{path}"
        );
        Ok(())
    }

    fn domain(&mut self, host: &str) -> anyhow::Result<&DomainIndex> {
        Ok(match self.domains.entry(host.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let paths = &self.paths;
                let wants = |path: &str| {
                    paths
                        .binary_search_by(|known| by_length(known, path))
                        .is_ok()
                };
                let file = self.context.domain_file(host);
                place.insert(DomainIndex::read_where(&file, wants)?)
            }
        })
    }
}

/// Compares a path in lower case with any path, without case. The cheapest comparison comes first: a file
/// may have millions of paths.
fn by_length(known: &str, path: &str) -> Ordering {
    let lower = || path.bytes().map(|byte| byte.to_ascii_lowercase());
    known
        .len()
        .cmp(&path.len())
        .then_with(|| known.bytes().cmp(lower()))
}

/// The page that a URL is to the site rules.
fn page_of(rules: &SiteRules, url: &str) -> Option<Identity> {
    rules.resolve(url).ok()?.record.ok()
}
