//! The pages of all hosts, and their table on the start page.

use std::ops::Range;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{Day, HostOverview};
use urldb_render::numbers::{counted, number};
use urldb_render::{PromiseCounts, SiteHeadline, one_line, short_day};

use super::values::{Time, date};
use super::{Frame, PageLink, Views, last_days, page_links};
use crate::file_names::{host_page, numbered};
use crate::strip::strip;

/// Most hosts on one page.
pub(crate) const MOST_HOSTS: usize = 250;

#[derive(Debug, Serialize)]
pub(crate) struct HostsPage {
    pub(crate) frame: Frame,
    headline: String,
    past: String,
    as_of: Option<Time>,
    hosts: HostTable,
    pages: Vec<PageLink>,
}

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
    files: String,
    verified: String,
    is_low: bool,
    is_less_verified: bool,
    strip: String,
}

/// The last row of the table of hosts.
#[derive(Debug, Serialize)]
struct HostSums {
    hosts: String,
    urls: String,
    kept: String,
    files: String,
    verified: String,
}

impl Views<'_> {
    /// A page of all hosts, the affected ones first; `page` counts from 1.
    pub(crate) fn hosts_page(&self, page: usize, pages: usize) -> HostsPage {
        let overview = self.overview;
        let SiteHeadline { mark, now, past } = PromiseCounts::of(overview).headline();
        HostsPage {
            frame: self.frame("Hosts", mark, "", "overview"),
            headline: now,
            past,
            as_of: overview.last_run.as_ref().map(|run| Time::moment(run.at)),
            hosts: self.host_table((page - 1) * MOST_HOSTS..page * MOST_HOSTS),
            pages: page_links(pages, page, |number| numbered("hosts", number)),
        }
    }

    /// The hosts in this range, the affected ones first.
    pub(super) fn host_table(&self, range: Range<usize>) -> HostTable {
        let overview = self.overview;
        let mut hosts: Vec<&HostOverview> = overview.hosts.iter().collect();
        hosts.sort_by_key(|host| (host.affected == 0, &host.host));
        let kept: u64 = hosts.iter().map(|host| host.kept).sum();
        let (first_day, last_day) = self.strip_days(overview.hosts.first());
        let rows = hosts.iter().take(range.end).skip(range.start);
        HostTable {
            rows: rows.map(|host| self.host_row(host)).collect(),
            sums: HostSums {
                hosts: counted(hosts.len() as u64, "host"),
                urls: number(overview.totals.urls),
                kept: number(kept),
                files: number(overview.files.all),
                verified: number(overview.files.verified),
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
        let open = self.overview.open.iter();
        let incident = open
            .clone()
            .find(|it| host.incidents.contains(&it.incident.id));
        let (class, state) = match (host.affected, warning) {
            (1.., _) => ("b", "broken"),
            (0, Some(_)) => ("w", "kept, with a warning"),
            (0, None) if host.unknown == host.urls && host.urls > 0 => ("o", "not known"),
            (0, None) => ("k", "kept"),
        };
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
        let note = match (note.as_str(), host.checked, host.verified) {
            ("", Some(checked), _) if Some(checked) != last => {
                format!("checked on {}", day(checked))
            }
            ("", Some(checked), Some(verified)) if date(verified) != date(checked) => {
                format!("verified on {}", day(verified))
            }
            _ => note,
        };
        let or_dash = |count: u64| match host.files.all {
            0 => "–".to_owned(),
            _ => number(count),
        };
        HostRow {
            class,
            name: one_line(&host.host),
            page: host_page(&host.host, 1),
            state,
            note,
            urls: number(host.urls),
            kept: number(host.kept),
            files: or_dash(host.files.all),
            verified: or_dash(host.files.verified),
            is_low: host.kept < host.urls,
            is_less_verified: host.files.verified < host.files.all,
            strip: strip(last_days(&host.days)),
        }
    }
}
