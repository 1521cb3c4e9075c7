//! Facts on the page of one URL beside those of the overview: transitions, captures, commits.

use std::collections::HashMap;

use urldb_protocol::{CaptureInfo, UrlDetails, UrlOverview};
use urldb_warc::{CdxjLine, WarcDate};

use super::{Commits, Scope, Sources};
use crate::archive::{Capture, Catalogue, date};

/// Most captures of one URL.
const MOST_CAPTURES: usize = 10;

/// Looks up the facts on the pages of URLs.
pub(super) struct UrlHistory<'a> {
    sources: &'a Sources<'a>,
    commits: Option<&'a Commits>,
    /// The ids of the incidents that affected a URL last, by the URL.
    incidents: HashMap<&'a str, Vec<&'a str>>,
}

impl<'a> UrlHistory<'a> {
    /// `sources` have the changes of all URLs; without `commits`, the commits are unknown.
    pub(super) fn new(sources: &'a Sources<'a>, commits: Option<&'a Commits>) -> Self {
        let mut incidents: HashMap<&str, Vec<&str>> = HashMap::new();
        for incident in sources.incidents.values() {
            for url in &incident.urls {
                let known = incidents.entry(&url.url).or_default();
                if known.last() != Some(&incident.id.as_str()) {
                    known.push(&incident.id);
                }
            }
        }
        Self {
            sources,
            commits,
            incidents,
        }
    }

    /// Whether an incident has ever affected the URL.
    pub(super) fn had_incident(&self, url: &str) -> bool {
        let mut changes = self.sources.replay.changes_of(url).iter();
        self.incidents.contains_key(url) || changes.any(|change| change.to.is_broken())
    }

    /// Number of URLs, with a record or without, that an incident has ever affected.
    pub(super) fn with_incident(&self) -> usize {
        let broken = self.sources.replay.changes().iter();
        let broken = broken.filter(|change| change.to.is_broken());
        let mut others: Vec<&str> = broken
            .map(|change| change.url.as_str())
            .filter(|url| !self.incidents.contains_key(url))
            .collect();
        others.dedup();
        self.incidents.len() + others.len()
    }

    /// # Errors
    /// When the index of the archive is damaged.
    pub(super) fn of(&self, url: &UrlOverview) -> anyhow::Result<UrlDetails> {
        let scope = Scope::Record {
            host: &url.host,
            path: &url.path,
            urls: std::slice::from_ref(&url.url),
        };
        let mut transitions = self.sources.timeline(scope, None, &|_, _| true);
        transitions.reverse();
        let of_files = self.incidents.get(url.url.as_str());
        let mut incidents: Vec<String> = of_files
            .into_iter()
            .flatten()
            .copied()
            .chain(transitions.iter().filter_map(|it| it.incident.as_deref()))
            .map(str::to_owned)
            .collect();
        incidents.sort_unstable();
        incidents.dedup();
        let (captures, more_captures) = self.captures(url)?;
        let commits = self.commits.map(|commits| {
            let mut commits: Vec<_> = commits.of_record(&url.host, &url.path).collect();
            commits.reverse();
            commits
        });
        Ok(UrlDetails {
            transitions,
            incidents,
            captures,
            more_captures,
            commits,
        })
    }

    /// The full captures, the latest first, and the number of those that are left out. Without an index,
    /// and for other requests than GET, the one that the ledger knows.
    fn captures(&self, url: &UrlOverview) -> anyhow::Result<(Vec<CaptureInfo>, u64)> {
        let of_ledger = || (url.capture.iter().cloned().collect(), 0);
        let Some(archive) = self
            .sources
            .archive
            .as_ref()
            .filter(|_| url.request.is_none())
        else {
            return Ok(of_ledger());
        };
        let mut found = archive.find(&url.url, None)?;
        found.retain(|capture| !capture.is_revisit());
        if found.is_empty() {
            return Ok(of_ledger());
        }
        let more = found.len().saturating_sub(MOST_CAPTURES);
        // The first capture is always among them.
        found.drain(1..=more);
        let captures = found.iter().rev();
        let captures = captures.map(|capture| info(archive, capture, url.capture.as_ref()));
        Ok((captures.collect(), more as u64))
    }
}

/// The capture of an index line. `known` is the capture of the ledger, whose record id needs no reading.
fn info(archive: &Catalogue, capture: &Capture, known: Option<&CaptureInfo>) -> CaptureInfo {
    let line = &capture.line;
    let known = known.filter(|known| is_same(line, known));
    let record = match known {
        Some(known) => known.record.clone(),
        // A file in the object store, or a damaged one, is no reason to have no page.
        None => archive.record_id(line).ok().flatten(),
    };
    CaptureInfo {
        date: date::shown(&line.timestamp),
        record,
        file: line.filename.clone(),
        offset: Some(line.extent.offset),
        digest: line.digest.clone(),
        is_revisit: false,
        status: capture.status,
    }
}

fn is_same(line: &CdxjLine, known: &CaptureInfo) -> bool {
    let date = known.date.parse::<WarcDate>();
    date.is_ok_and(|date| date.to_timestamp14() == line.timestamp) && known.digest == line.digest
}
