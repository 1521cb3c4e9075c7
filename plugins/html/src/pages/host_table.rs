//! The table of hosts on the start page.

use std::ops::Range;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{Counts, Day, HostOverview};
use urldb_render::numbers::{counted, number};
use urldb_render::{one_line, short_day, shown_host};

use super::values::{date, last_verified};
use super::{Views, last_days};
use crate::file_names::host_page;
use crate::strip::strip;

/// Most hosts in a table.
pub(crate) const MOST_HOSTS: usize = 250;

#[derive(Debug, Serialize)]
pub(super) struct HostTable {
    rows: Vec<HostRow>,
    sums: HostSums,
    first_day: String,
    last_day: String,
}

#[derive(Debug, Serialize)]
struct HostRow {
    class: &'static str,
    name: String,
    page: String,
    state: &'static str,
    note: String,
    urls: String,
    kept: String,
    broken: String,
    is_broken: bool,
    /// Words on the URLs that are neither kept nor broken.
    others: String,
    verified: String,
    /// The date of the newest verification, if it is another.
    newest: String,
    strip: String,
    /// The last run had results.
    is_known: bool,
}

/// The last row of the table of hosts.
#[derive(Debug, Serialize)]
struct HostSums {
    hosts: String,
    urls: String,
    kept: String,
    broken: String,
    others: String,
    verified: String,
    /// The last run had results.
    is_known: bool,
}

impl Views<'_> {
    /// Class and words of the state of a host.
    pub(super) fn host_state(&self, host: &HostOverview) -> (&'static str, &'static str) {
        let has_warning = self
            .overview
            .warnings
            .iter()
            .any(|finding| finding.file == host.file);
        let counts = &host.counts;
        match (counts.broken + counts.muted, counts.flapping, has_warning) {
            _ if self.is_impaired(host) => ("o", "not known"),
            (1.., ..) => ("b", "broken"),
            (0, 1.., _) => ("w", "flapping"),
            (0, 0, true) => ("w", "kept, with a warning"),
            (0, 0, false) if counts.unknown == counts.urls && counts.urls > 0 => ("o", "not known"),
            (0, 0, false) => ("k", "kept"),
        }
    }

    /// The hosts in this range, the affected ones first.
    pub(super) fn host_table(&self, range: Range<usize>) -> HostTable {
        let overview = self.overview;
        let mut hosts: Vec<&HostOverview> = overview.hosts.iter().collect();
        let rank = |host: &HostOverview| {
            let is_kept = host.counts.affected() == 0;
            (is_kept, host.counts.affected() == host.counts.flapping)
        };
        hosts.sort_by_key(|host| (rank(host), &host.host));
        let counts = &overview.counts;
        let verified = last_verified(overview.hosts.iter(), overview.now);
        let (first_day, last_day) = self.strip_days(overview.hosts.first());
        let rows = hosts.iter().take(range.end).skip(range.start);
        HostTable {
            rows: rows.map(|host| self.host_row(host)).collect(),
            sums: HostSums {
                hosts: counted(hosts.len() as u64, "host"),
                urls: number(counts.urls),
                kept: number(counts.ok),
                broken: number(counts.broken + counts.muted),
                others: others(counts),
                verified: verified.unwrap_or_else(|| "no files".to_owned()),
                is_known: overview.impaired.is_none(),
            },
            first_day,
            last_day,
        }
    }

    /// The first and the last day of a strip.
    fn strip_days(&self, host: Option<&HostOverview>) -> (String, String) {
        let days = host.map_or(&[][..], |host| last_days(&host.days));
        let name = |day: Option<&Day>| {
            day.map_or_else(String::new, |day| short_day(day.date, self.overview.now))
        };
        (name(days.first()), name(days.last()))
    }

    fn host_row(&self, host: &HostOverview) -> HostRow {
        let warning = self
            .overview
            .warnings
            .iter()
            .find(|finding| finding.file == host.file);
        let incident = self
            .overview
            .open
            .iter()
            .find(|it| host.incidents.contains(&it.incident.id));
        let (class, state) = self.host_state(host);
        let note = match (incident, warning) {
            (Some(it), _) => format!(
                "since {}",
                short_day(date(it.incident.since), self.overview.now)
            ),
            (None, Some(finding)) => one_line(&finding.message),
            (None, None) => String::new(),
        };
        let last = self.overview.last_run.as_ref().map(|run| run.at);
        let day = |time: Timestamp| short_day(date(time), self.overview.now);
        let note = match (note.as_str(), host.checked) {
            ("", Some(checked)) if Some(checked) != last => format!("checked on {}", day(checked)),
            _ => note,
        };
        let counts = &host.counts;
        let broken = counts.broken + counts.muted;
        let verified = last_verified(std::iter::once(host), self.overview.now);
        let is_oldest = |day: &String| verified.as_ref().is_none_or(|oldest| oldest == day);
        let newest = host.verified.map(day).filter(|newest| !is_oldest(newest));
        HostRow {
            class,
            name: shown_host(&host.host),
            page: host_page(&host.host, 1),
            state,
            note,
            urls: number(counts.urls),
            kept: number(counts.ok),
            broken: number(broken),
            is_broken: broken > 0,
            others: others(counts),
            verified: verified.unwrap_or_else(|| "no files".to_owned()),
            newest: newest.unwrap_or_default(),
            strip: strip(last_days(&host.days)),
            is_known: !self.is_impaired(host),
        }
    }
}

/// `1 flapping, 2 not checked`: the terms that are not zero.
fn others(counts: &Counts) -> String {
    [
        (counts.flapping, "flapping"),
        (counts.unconfirmed, "unconfirmed"),
        (counts.unknown, "not checked"),
    ]
    .iter()
    .filter(|(urls, _)| *urls > 0)
    .map(|(urls, words)| format!("{} {words}", number(*urls)))
    .collect::<Vec<_>>()
    .join(", ")
}
