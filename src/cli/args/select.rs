//! The options that select records.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use clap::Args;
use urldb_canon::Identity;
use urldb_format::Database;
use urldb_text::nearest;
use urldb_verdict::Selection;

use super::context::MapArgs;
use crate::cli::Context;
use crate::database::aliases::{Aliases, paths_in};
use crate::database::site_rules;

/// Which records.
#[derive(Debug, Default, Args)]
pub(crate) struct SelectArgs {
    /// Only this domain, by the name of its file
    #[arg(short, long = "domain", value_name = "DOMAIN")]
    domains: Vec<String>,
    /// Only records of this category
    #[arg(short, long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Only paths that begin with this text
    #[arg(long, value_name = "PREFIX")]
    path_prefix: Option<String>,
}

/// Which records, or exactly these URLs.
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
    /// The selection, if every domain in it has a file.
    pub(crate) fn resolve(&self, context: &Context) -> anyhow::Result<Selection> {
        if !self.domains.is_empty() {
            let database = context.config.open_database()?;
            for domain in &self.domains {
                require_domain(&database, domain)?;
            }
        }
        Ok(Selection {
            domains: self.domains.clone(),
            categories: self.categories.clone(),
            path_prefix: self.path_prefix.clone(),
            records: vec![],
        })
    }
}

impl TargetArgs {
    /// The selection, if every URL in it is in the database.
    pub(crate) fn resolve(&self, context: &Context) -> anyhow::Result<Selection> {
        let selection = self.select.resolve(context)?;
        Ok(Selection {
            records: find_records(context, &self.urls)?,
            ..selection
        })
    }
}

fn require_domain(database: &Database, domain: &str) -> anyhow::Result<()> {
    if database.path_of(domain).is_some_and(|path| path.is_file()) {
        return Ok(());
    }
    let names = database
        .files()
        .iter()
        .filter_map(|path| path.file_stem()?.to_str());
    match nearest(domain, names) {
        Some(near) => anyhow::bail!("there is no domain file for {domain}; did you mean {near}?"),
        None => anyhow::bail!(
            "there is no domain file for {domain} in {}",
            database.directory().display()
        ),
    }
}

/// Host and path of the records that URLs name, or of the pages that they are to the site rules;
/// cnames resolved.
pub(crate) fn find_records(
    context: &Context,
    urls: &[String],
) -> anyhow::Result<Vec<(String, String)>> {
    if urls.is_empty() {
        return Ok(vec![]);
    }
    // Rules with mistakes are ignored here; `lint` reports them.
    let rules = site_rules::read(&context.database())?.rules;
    let mut lookup = RecordLookup {
        context,
        aliases: Aliases::load_readable(&context.config)?,
        paths: HashMap::new(),
    };
    urls.iter()
        .map(|url| {
            let identity = urldb_canon::identify(url)?;
            if let Some(found) = lookup.record(&identity)? {
                return Ok(found);
            }
            let page = rules.resolve(url).ok().and_then(|found| found.record.ok());
            match page.map(|page| lookup.record(&page)).transpose()?.flatten() {
                Some(found) => Ok(found),
                None => Err(lookup.not_found(url, &identity)?),
            }
        })
        .collect()
}

/// Looks records up by URL; caches the paths of each host.
struct RecordLookup<'a> {
    context: &'a Context,
    aliases: Aliases,
    paths: HashMap<String, BTreeSet<String>>,
}

impl RecordLookup<'_> {
    /// Host and path of the record of a URL, if it has one.
    fn record(&mut self, url: &Identity) -> anyhow::Result<Option<(String, String)>> {
        let host = self.aliases.primary_host(&url.host);
        let is_known = self.paths(&host)?.contains(&url.path);
        Ok(is_known.then(|| (host, url.path.clone())))
    }

    /// The error about a URL without a record.
    fn not_found(&mut self, typed: &str, url: &Identity) -> anyhow::Result<anyhow::Error> {
        let host = self.aliases.primary_host(&url.host);
        let paths = self.paths(&host)?.iter().map(String::as_str);
        Ok(match nearest(&url.path, paths) {
            Some(near) => anyhow::anyhow!(
                "{typed} is not in the database; did you mean {}://{host}{near}?",
                url.scheme
            ),
            None => anyhow::anyhow!("{typed} is not in the database; `urldb add` adds it"),
        })
    }

    fn paths(&mut self, host: &str) -> anyhow::Result<&BTreeSet<String>> {
        Ok(match self.paths.entry(host.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(paths_in(&self.context.domain_file(host))?),
        })
    }
}
