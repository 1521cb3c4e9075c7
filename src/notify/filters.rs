//! Filters of notifiers against the records of the database: names that no record has, and URLs whose
//! incidents nobody is told of.

use std::collections::BTreeSet;
use std::path::Path;

use urldb_format::{DomainReader, Error, Record};
use urldb_text::{Code, Finding, nearest};

use super::audience;
use crate::config::{Audience, Config, NotifierKind};

/// Most names of other categories and hosts that are kept for suggestions.
const MOST_NAMES: usize = 10_000;

/// Names in filters that no record has, and records that no filter lets through.
#[derive(Debug, Default)]
pub struct FilterReport {
    /// A finding for each name in a filter that no record has, in urldb.toml.
    pub findings: Vec<Finding>,
    /// The number of records that no notifier is for.
    pub unheard: u64,
}

/// Compares the filters with all records. Without filters, the database is not read.
///
/// # Errors
/// When the database cannot be listed.
pub fn filter_report(config: &Config) -> anyhow::Result<FilterReport> {
    let audiences = || config.notifiers.values().map(|notify| &notify.audience);
    if audiences().all(|audience| audience.domains.is_empty() && audience.categories.is_empty()) {
        return Ok(FilterReport::default());
    }
    // A site shows everything, and tells nobody.
    let tells = |kind: &NotifierKind| !matches!(kind, NotifierKind::Html(_));
    let telling = config.notifiers.values().filter(|it| tells(&it.kind));
    let telling: Vec<&Audience> = telling.map(|notify| &notify.audience).collect();
    let (mut hosts, mut categories) = (BTreeSet::new(), BTreeSet::new());
    let mut used: BTreeSet<&str> = BTreeSet::new();
    let wanted: BTreeSet<&str> = audiences()
        .flat_map(|audience| audience.categories.iter().map(String::as_str))
        .collect();
    let mut unheard = 0;
    for path in config.open_database()?.files() {
        let (file, host) = (path.to_string_lossy(), urldb_format::host_of(path));
        let mut see = |own: &[String]| {
            used.extend(own.iter().filter_map(|it| wanted.get(it.as_str())));
            if categories.len() < MOST_NAMES {
                categories.extend(own.iter().cloned());
            }
            let is_heard = |audience: &&Audience| audience::has_url(audience, &file, own);
            unheard += u64::from(!telling.is_empty() && !telling.iter().any(is_heard));
        };
        // Lint reports a file that cannot be read.
        let _ = each_record(path, |record| see(&record.categories));
        hosts.insert(host);
    }
    let mut findings = vec![];
    for (name, notify) in &config.notifiers {
        let mut add = |key: &str, value: &str, known: &BTreeSet<String>| {
            findings.push(finding(config, name, (key, value), known));
        };
        for pattern in &notify.audience.domains {
            if !hosts.iter().any(|host| pattern.matches(host)) {
                add("domains", pattern.as_str(), &hosts);
            }
        }
        for category in &notify.audience.categories {
            if !used.contains(category.as_str()) {
                add("categories", category, &categories);
            }
        }
    }
    Ok(FilterReport { findings, unheard })
}

/// Calls `see` for each record of the file at `path`.
fn each_record(path: &Path, mut see: impl FnMut(&Record)) -> Result<(), Error> {
    let mut file = DomainReader::open(path)?;
    while let Some(document) = file.next()? {
        if let Some(entry) = document.to_entry() {
            see(entry.record());
        }
    }
    Ok(())
}

/// The finding about a name in a filter that no record has.
fn finding(
    config: &Config,
    notifier: &str,
    (key, value): (&str, &str),
    known: &BTreeSet<String>,
) -> Finding {
    let lines = config.lines.get(&format!("notify.{notifier}"));
    let line = lines.map_or(1, |lines| {
        lines.keys.get(key).copied().unwrap_or(lines.section)
    });
    let what = match key {
        "domains" => "no domain file is of the host",
        _ => "no record has the category",
    };
    let near = nearest(value, known.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"));
    let message = format!("{what} \"{value}\" in `{key}` of [notify.{notifier}]{near}");
    Finding::new(Code::UnusedFilter, line, message).in_file(&config.file)
}
