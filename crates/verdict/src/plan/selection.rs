//! Selects records of the database.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};
use urldb_format::{Record, RecordIdentity};

use crate::job::JobKey;

/// The records that a command is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Only these domains, by the names of their files; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// Only records with one of these categories; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Only paths that begin with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
    /// Only these records, each at the domain or at one of its cnames; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<NamedRecord>,
    /// Only these records, which have changed; all when `None`. Not in the history, since no run has it.
    #[serde(skip)]
    pub changed: Option<ChangedRecords>,
}

/// The records that differ from those of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedRecords {
    /// The commit, as the user names it.
    pub revision: String,
    /// None of the records was in the commit: all of them are new.
    pub are_new: bool,
    /// By the hosts of the domain files.
    domains: BTreeMap<String, ChangedDomain>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ChangedDomain {
    /// Every record, because the metadata of the file apply to all.
    Whole,
    /// These records.
    Records(BTreeSet<RecordIdentity>),
}

impl ChangedRecords {
    /// No records.
    pub fn since(revision: impl Into<String>) -> Self {
        Self {
            revision: revision.into(),
            are_new: true,
            domains: BTreeMap::new(),
        }
    }

    /// Adds all records of a domain.
    pub fn add_domain(&mut self, host: &str) {
        self.domains.insert(host.to_owned(), ChangedDomain::Whole);
    }

    /// Adds a record of a domain.
    pub fn add_record(&mut self, host: &str, identity: RecordIdentity) {
        let nothing = || ChangedDomain::Records(BTreeSet::new());
        let domain = self.domains.entry(host.to_owned()).or_insert_with(nothing);
        if let ChangedDomain::Records(records) = domain {
            records.insert(identity);
        }
    }

    /// Adds the records of another change.
    pub fn add_all(&mut self, other: Self) {
        self.are_new &= other.are_new;
        for (host, domain) in other.domains {
            match domain {
                ChangedDomain::Whole => self.add_domain(&host),
                ChangedDomain::Records(records) => {
                    for identity in records {
                        self.add_record(&host, identity);
                    }
                }
            }
        }
    }

    fn has(&self, host: &str, record: &Record) -> bool {
        self.domains.get(host).is_some_and(|domain| match domain {
            ChangedDomain::Whole => true,
            ChangedDomain::Records(records) => {
                let first = record.identity();
                // The records of all variants follow the one without.
                records
                    .range(first.clone()..)
                    .next()
                    .is_some_and(|it| it.path == first.path && it.request == first.request)
            }
        })
    }
}

/// A record that a selection names, and the host that is asked for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NamedRecord {
    /// The host that the domain file is named after.
    pub domain: String,
    /// The record's `_path`.
    pub path: String,
    /// The cname that is asked in place of the domain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
}

impl Selection {
    /// Whether anything of this domain can be selected.
    pub fn wants_domain(&self, host: &str) -> bool {
        let by_name = self.domains.is_empty() || self.domains.iter().any(|domain| domain == host);
        let by_record =
            self.records.is_empty() || self.records.iter().any(|named| named.domain == host);
        let by_change = self.changed.as_ref();
        by_name && by_record && by_change.is_none_or(|changed| changed.domains.contains_key(host))
    }

    /// The first and the last of the paths that the selection names at this domain; `None` if it names
    /// no path there.
    pub fn named_paths(&self, host: &str) -> Option<RangeInclusive<&str>> {
        let named = self.records.iter().filter(|named| named.domain == host);
        let paths = || named.clone().map(|named| named.path.as_str());
        Some(paths().min()?..=paths().max()?)
    }

    /// Whether records of a wanted domain can be selected that have this path.
    pub fn wants_path(&self, host: &str, path: &str) -> bool {
        let by_name = self.records.is_empty() || self.names(host, path);
        let by_prefix = self.path_prefix.as_ref();
        by_name && by_prefix.is_none_or(|prefix| path.starts_with(prefix.as_str()))
    }

    /// Whether this record of a wanted domain is selected.
    pub fn wants_record(&self, host: &str, record: &Record) -> bool {
        let by_category = self.categories.is_empty()
            || self
                .categories
                .iter()
                .any(|category| record.has_category(category));
        let by_change = self
            .changed
            .as_ref()
            .is_none_or(|changed| changed.has(host, record));
        self.wants_path(host, &record.path) && by_category && by_change
    }

    /// Whether this record of a wanted domain has jobs. A record of category `deprecated` has none,
    /// unless it is named.
    pub(super) fn asks_for(&self, host: &str, record: &Record) -> bool {
        self.wants_record(host, record)
            && (!record.has_category("deprecated") || self.names(host, &record.path))
    }

    fn names(&self, host: &str, path: &str) -> bool {
        self.records
            .iter()
            .any(|named| named.domain == host && named.path == path)
    }

    /// Whether a run with this selection asks for the job of a record with these categories.
    pub fn wants_job(&self, key: &JobKey, categories: &[String]) -> bool {
        if categories.iter().any(|category| category == "deprecated") && !self.names_job(key) {
            return false;
        }
        let by_name = self.domains.is_empty() || self.domains.contains(&key.domain);
        let by_record = self.records.is_empty() || self.names_job(key);
        let by_category =
            self.categories.is_empty() || self.categories.iter().any(|it| categories.contains(it));
        let by_prefix = self
            .path_prefix
            .as_ref()
            .is_none_or(|prefix| key.path.starts_with(prefix.as_str()));
        by_name && by_record && by_category && by_prefix
    }

    /// Whether the selection names exactly this host and path.
    pub(super) fn names_job(&self, key: &JobKey) -> bool {
        self.records.iter().any(|named| {
            named.domain == key.domain && named.path == key.path && named.alias == key.alias
        })
    }

    /// Whether it selects all records of each domain that it selects any of.
    pub fn is_of_whole_domains(&self) -> bool {
        *self
            == Self {
                domains: self.domains.clone(),
                ..Self::default()
            }
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}
