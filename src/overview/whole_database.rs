//! The overview of the whole database.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use urldb_protocol::{
    Counts, DayCount, FileCounts, Finding, HostOverview, Incident, IncidentOverview, NoticeKind,
    Overview, RunCounts, UrlOverview,
};

use super::hosts::HostUrls;
use super::sources::{DAYS, Sources};
use super::{date_of, domain_of};
use crate::copies::{Content, find_copies};
use crate::database::held::HeldUris;
use crate::ledger::Ledger;

/// Hours after which an overview is out of date, if too few intervals of runs are known.
const STALE_AFTER: u64 = 72;

/// Number of last intervals whose median is the usual interval.
const INTERVALS: usize = 20;

impl Sources<'_> {
    /// The overview. `visit` sees the promises of each host, in the order of the hosts' names, with the
    /// URLs that `wants` keeps.
    ///
    /// # Errors
    /// When a file cannot be read, or a ledger file has another form than urldb writes. The error of
    /// `visit` ends the work.
    pub fn overview(
        &self,
        wants: impl Fn(&UrlOverview) -> bool,
        mut visit: impl FnMut(&HostUrls) -> anyhow::Result<()>,
    ) -> anyhow::Result<Overview> {
        let last_run = self.replay.last_run();
        let mut counts = Counts::default();
        let mut files = FileCounts::default();
        let (mut hosts, mut mistakes, mut warnings) = (vec![], vec![], vec![]);
        let mut deprecated = 0;
        let mut promised = vec![0; DAYS];
        let mut reasons = HashMap::new();
        let mut used = BTreeMap::new();
        for path in &self.files {
            let mut read = self.host(path, &wants)?;
            visit(&read)?;
            deprecated += read.deprecated;
            counts += read.host.counts;
            add_files(&mut files, &read.host.files);
            mistakes.append(&mut read.mistakes);
            warnings.append(&mut read.warnings);
            reasons.extend(read.reasons.drain());
            used.append(&mut read.used);
            for (sum, urls) in promised.iter_mut().zip(&read.promised) {
                *sum += urls;
            }
            hosts.push(read.host);
        }
        let held = self.held_uris();
        mistakes.extend(held.mistakes);
        let misnamed = self.misnamed.iter();
        mistakes.extend(misnamed.flat_map(|path| self.misnamed(path)));
        counts += self.affected_elsewhere(&hosts);
        let [open, notices, closed] = self.sorted_incidents(&reasons);
        counts.warnings += count_notices(&notices, &mut hosts);
        let notices_of_hosts = notices.iter();
        warnings.extend(notices_of_hosts.filter_map(|it| certificate_ends(&it.incident)));
        counts.mistakes = mistakes.len() as u64;
        Ok(Overview {
            project: self.project(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: self.now,
            last_complete: self.replay.last_complete(),
            impaired: self.replay.impaired_run(counts.urls),
            since_complete: self.replay.since_complete(),
            counts,
            files,
            deprecated,
            held: held.kinds,
            open,
            notices,
            closed,
            mistakes,
            warnings,
            hosts,
            days: self.days(&promised),
            runs: self.run_counts(),
            stale_after: self.stale_after(),
            last_run,
            future_run: self.replay.future_run(),
            used,
            waiting: vec![],
            archive_faults: self.archive_faults.clone(),
        })
    }

    /// Names the other URLs with the bytes of the only URL of each incident.
    fn find_copies(&self, open: &mut [IncidentOverview]) {
        let mut sought = vec![];
        for (index, it) in open.iter().enumerate() {
            let mut affected = it.incident.affected();
            let (url, others) = (affected.next(), affected.next());
            let Some(url) = url.filter(|_| others.is_none()) else {
                continue;
            };
            let evidence = &it.incident.evidence;
            if let Some(content) =
                Content::stated(&evidence.promised).filter(|_| evidence.is_about(url))
            {
                sought.push((index, url.url.clone(), content));
            }
        }
        let contents = sought
            .iter()
            .map(|(_, _, content)| content.clone())
            .collect();
        let found = find_copies(self.config, &mut Ledger::new(&self.ledger), contents);
        for ((index, url, _), copies) in sought.iter().zip(found) {
            open[*index].copies = Some(copies.kept_beside_url(url));
        }
    }

    fn held_uris(&self) -> HeldUris {
        self.held
            .as_ref()
            .map(|path| HeldUris::read(self.config, path, |_| true))
            .unwrap_or_default()
    }

    /// The open incidents, the notices that hold, and what is closed: the latest first.
    fn sorted_incidents(&self, reasons: &HashMap<String, String>) -> [Vec<IncidentOverview>; 3] {
        let mut incidents: Vec<&Incident> = self.incidents.values().collect();
        incidents.sort_by_key(|incident| incident.order());
        incidents.sort_by_key(|incident| match incident.closed {
            Some(closed) => Reverse((Some(closed), 0)),
            None => Reverse((incident.opened, incident.urls.len())),
        });
        let incidents = incidents.into_iter();
        let (open, closed): (Vec<_>, Vec<_>) = incidents
            .map(|incident| self.incident(incident, reasons))
            .partition(|it| it.incident.closed.is_none());
        let (notices, mut open): (Vec<_>, Vec<_>) =
            open.into_iter().partition(|it| it.incident.is_notice());
        self.find_copies(&mut open);
        [open, notices, closed]
    }

    /// Affected URLs of open incidents that are in no row of a host: those of aliases, and of records
    /// that are gone or cannot be read.
    fn affected_elsewhere(&self, hosts: &[HostOverview]) -> Counts {
        let counted: u64 = hosts.iter().map(|host| host.in_incidents).sum();
        let urls = (self.affected.len() as u64).saturating_sub(counted);
        Counts {
            urls,
            broken: urls,
            ..Counts::default()
        }
    }

    fn incident(&self, incident: &Incident, reasons: &HashMap<String, String>) -> IncidentOverview {
        let reason = || reasons.get(&incident.id).cloned();
        IncidentOverview {
            domain: domain_of(incident),
            reason: incident.reason.clone().or_else(reason),
            copies: None,
            delivered: self
                .delivered
                .get(&incident.id)
                .cloned()
                .unwrap_or_default(),
            incident: incident.clone(),
        }
    }

    fn days(&self, promised: &[u64]) -> Vec<DayCount> {
        let mut affected = vec![0; DAYS];
        for incident in self.days.values().flatten() {
            incident.add_to(&mut affected);
        }
        let mut has_run = vec![false; DAYS];
        for start in self.replay.starts() {
            if let Some(index) = self.calendar.index_of(date_of(start)) {
                has_run[index] = true;
            }
        }
        self.calendar
            .dates()
            .enumerate()
            .map(|(index, date)| DayCount {
                date,
                promised: promised[index],
                affected: affected[index],
                has_run: has_run[index],
            })
            .collect()
    }

    fn run_counts(&self) -> RunCounts {
        let within = |days: i64| {
            let from = self.now - SignedDuration::from_hours(24 * days);
            self.replay.starts().filter(|at| *at >= from).count() as u64
        };
        let first = self.calendar.first();
        let days: BTreeSet<Date> = self
            .replay
            .starts()
            .map(date_of)
            .filter(|day| *day >= first)
            .collect();
        let days: Vec<Date> = days.into_iter().collect();
        let gaps = days.windows(2).filter_map(|two| {
            let (from, to) = (two[0].tomorrow().ok()?, two[1].yesterday().ok()?);
            (from <= to).then_some((from, to))
        });
        RunCounts {
            month: within(30),
            year: within(365),
            longest_gap: gaps.max_by_key(|(from, to)| (to.duration_since(*from), Reverse(*from))),
        }
    }

    /// Three times the usual interval of runs, in whole days of hours, and at least two days. Whole days,
    /// since every page has the number: a page must not change because one run was late.
    fn stale_after(&self) -> u64 {
        let starts: Vec<Timestamp> = self.replay.starts().rev().take(INTERVALS + 1).collect();
        if starts.len() <= INTERVALS {
            return STALE_AFTER;
        }
        let mut intervals: Vec<i64> = starts
            .windows(2)
            .map(|two| two[0].duration_since(two[1]).as_hours())
            .collect();
        intervals.sort_unstable();
        let usual = u64::try_from(intervals[intervals.len() / 2]).unwrap_or_default();
        (3 * usual).next_multiple_of(24).max(48)
    }
}

/// Counts the notices that are warnings, all of them and those of each host.
fn count_notices(notices: &[IncidentOverview], hosts: &mut [HostOverview]) -> u64 {
    // The list of mistakes has those of notices.
    let is_mistake = |it: &&IncidentOverview| it.incident.notice_of(NoticeKind::Mistake).is_some();
    let mut warnings = 0;
    for notice in notices.iter().filter(|it| !is_mistake(it)) {
        warnings += 1;
        let mut hosts = hosts.iter_mut();
        if let Some(host) = hosts.find(|host| host.host == notice.domain) {
            host.counts.warnings += 1;
        }
    }
    warnings
}

/// The warning about a certificate that ends, or has ended.
fn certificate_ends(incident: &Incident) -> Option<Finding> {
    let notice = incident.notice.as_ref()?;
    let dates = notice.certificate.as_ref()?;
    let host = urldb_canon::authority(&incident.host);
    let verb = if notice.has_ended() { "ended" } else { "ends" };
    let message = format!("the certificate of {host} {verb} at {}", dates.not_after);
    let code = notice.kind.as_str();
    Some(Finding::warning(
        code,
        format!("https://{host}/"),
        (&notice.file, 1),
        message,
    ))
}

fn add_files(sum: &mut FileCounts, files: &FileCounts) {
    sum.all += files.all;
    sum.verified += files.verified;
    sum.archived += files.archived;
    for (sum, files) in sum.ages.iter_mut().zip(files.ages) {
        *sum += files;
    }
}
