//! Counts of the URLs of one section of urldb.toml.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use urldb_protocol::Coverage;

/// Counts of the URLs of one section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AudienceUrls {
    /// Number of URLs by host, those included that are not selected.
    pub by_host: BTreeMap<String, u64>,
    /// Number of URLs that are due.
    pub planned: u64,
    /// Counts of those that were due, and of those that were checked.
    pub coverage: Coverage,
}

impl AudienceUrls {
    /// Counts URLs of a host.
    pub fn add(&mut self, host: &str, urls: u64) {
        match self.by_host.get_mut(host) {
            Some(count) => *count += urls,
            None => {
                self.by_host.insert(host.to_owned(), urls);
            }
        }
    }

    /// Number of all URLs.
    pub fn total(&self) -> u64 {
        self.by_host.values().sum()
    }
}

/// Adds the counts of a file, before a URL is checked.
impl AddAssign for AudienceUrls {
    fn add_assign(&mut self, other: Self) {
        for (host, urls) in other.by_host {
            *self.by_host.entry(host).or_default() += urls;
        }
        self.planned += other.planned;
        self.coverage.deprecated += other.coverage.deprecated;
        self.coverage.not_selected += other.coverage.not_selected;
    }
}
