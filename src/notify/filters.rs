//! Filters of notifiers against the records of the database: names that no record has, and records that no
//! section gets.

use std::collections::BTreeSet;
use std::path::Path;

use urldb_format::{DomainReader, Error, Record};
use urldb_text::{Code, Finding, nearest};

use super::audience::{Route, RoutedRecord, Routing};
use crate::config::{Audience, Config};

/// Most names of other categories and hosts that are kept for suggestions.
const MOST_NAMES: usize = 10_000;

/// Names in filters that no record has, and records that no filter lets through.
#[derive(Debug, Default)]
pub struct FilterReport {
    /// A finding for each name in a filter that no record has, in urldb.toml.
    pub findings: Vec<Finding>,
    /// The number of records that no section gets.
    pub unrouted: u64,
}

/// Compares the filters with all records. Without filters, the database is not read.
///
/// # Errors
/// When the database cannot be listed.
pub fn filter_report(config: &Config) -> anyhow::Result<FilterReport> {
    let is_filter = |audience: &Audience| {
        let Audience {
            domains,
            categories,
            owners,
            ..
        } = audience;
        !domains.is_empty() || !categories.is_empty() || !owners.is_empty()
    };
    let is_filtered = config
        .notifiers
        .values()
        .any(|notify| is_filter(&notify.audience));
    if !is_filtered && config.owners.names().is_empty() {
        return Ok(FilterReport::default());
    }
    let routing = Routing::new(config);
    let telling: Vec<Route<'_>> = routing.telling().map(|(_, route)| route).collect();
    let mut names = KnownNames::of(config);
    let mut unrouted = 0;
    for path in config.open_database()?.files() {
        let host = urldb_format::host_of(path);
        let see = |record: &Record| {
            names.see(record);
            let record = RoutedRecord {
                host: host.as_str().into(),
                categories: &record.categories,
                owner: config.owners.of(&host, &record.path),
            };
            let is_routed = telling.iter().any(|route| route.has_record(&record));
            unrouted += u64::from(routing.has_sections() && !is_routed);
        };
        // Lint reports a file that cannot be read.
        let _ = each_record(path, see);
        names.hosts.insert(host);
    }
    Ok(FilterReport {
        findings: names.findings(config),
        unrouted,
    })
}

/// The names that filters can have.
struct KnownNames<'a> {
    hosts: BTreeSet<String>,
    /// Categories, for suggestions.
    categories: BTreeSet<String>,
    /// The categories in filters that a record has.
    used: BTreeSet<&'a str>,
    wanted: BTreeSet<&'a str>,
}

impl<'a> KnownNames<'a> {
    /// No names yet, to compare with the filters of the configuration.
    fn of(config: &'a Config) -> Self {
        let wanted = config
            .notifiers
            .values()
            .map(|notify| &notify.audience)
            .flat_map(|it| it.categories.iter().map(String::as_str));
        Self {
            hosts: BTreeSet::new(),
            categories: BTreeSet::new(),
            used: BTreeSet::new(),
            wanted: wanted.collect(),
        }
    }

    fn see(&mut self, record: &Record) {
        let own = &record.categories;
        let wanted = own.iter().filter_map(|it| self.wanted.get(it.as_str()));
        self.used.extend(wanted);
        if self.categories.len() < MOST_NAMES {
            self.categories.extend(own.iter().cloned());
        }
    }

    /// A finding for each name that nothing has.
    fn findings(&self, config: &Config) -> Vec<Finding> {
        let mut findings = vec![];
        let owners: BTreeSet<String> = config.owners.names().into_iter().map(Into::into).collect();
        for (host, prefix) in config.owners.prefixes() {
            if !self.hosts.contains(host) {
                let message = format!(
                    "no domain file is of the host of \"{}\" in [owners]{}",
                    prefix.key,
                    suggestion(host, &self.hosts)
                );
                findings.push(finding(config, ("owners", &prefix.key), message));
            }
        }
        for (name, notify) in &config.notifiers {
            let section = format!("notify.{name}");
            let mut add = |key: &str, value: &str, lack: &str, known: &BTreeSet<String>| {
                let near = suggestion(value, known);
                let message = format!("{lack} \"{value}\" in `{key}` of [{section}]{near}");
                findings.push(finding(config, (&section, key), message));
            };
            for pattern in &notify.audience.domains {
                if !self.hosts.iter().any(|host| pattern.matches(host)) {
                    let lack = "no domain file is of the host";
                    add("domains", pattern.as_str(), lack, &self.hosts);
                }
            }
            for category in &notify.audience.categories {
                if !self.used.contains(category.as_str()) {
                    let lack = "no record has the category";
                    add("categories", category, lack, &self.categories);
                }
            }
            for owner in &notify.audience.owners {
                if !owners.contains(owner) {
                    let lack = "[owners] has no URLs of the owner";
                    add("owners", owner, lack, &owners);
                }
            }
        }
        findings
    }
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

/// `; did you mean "NAME"?`, if a known name is near.
fn suggestion(value: &str, known: &BTreeSet<String>) -> String {
    let near = nearest(value, known.iter().map(String::as_str));
    near.map_or_else(String::new, |near| format!("; did you mean \"{near}\"?"))
}

/// The finding about a key of a section.
fn finding(config: &Config, (section, key): (&str, &str), message: String) -> Finding {
    let lines = config.lines.get(section);
    let line = lines.map_or(1, |lines| {
        lines.keys.get(key).copied().unwrap_or(lines.section)
    });
    Finding::new(Code::UnusedFilter, line, message).in_file(&config.file)
}
