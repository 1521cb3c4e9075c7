//! The state of all promises, from the domain files, the ledger, the history and git: what `status`,
//! `log` and the site show.
//!
//! - `replay`: the history.
//! - [`site`]: the status site.
//! - `hosts`: the promises of one domain file.
//! - `days`: how good each day was.
//! - `commits`: the commits that changed records.
//! - `urls`: what the page of one URL shows.
//! - `timeline`: the events of a URL, a host or the whole database.
//!
//! Nothing here contacts a host, and only [`site`] writes files. One domain file and its ledger file are in memory at
//! a time; of the history, one line at a time and what `replay` keeps.

mod commits;
mod days;
mod hosts;
mod replay;
pub mod site;
#[cfg(test)]
mod tests;
mod timeline;
mod urls;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use urldb_files::Root;
use urldb_protocol::{
    DayCount, FileCounts, HostOverview, Incident, IncidentOverview, Overview, ProjectInfo,
    RunCounts, Totals, UrlOverview,
};

use crate::archive::{ArchiveFiles, Catalogue};
use crate::config::Config;
use crate::ledger::incidents;
use crate::project::project_info;
use days::{Calendar, IncidentDays};
use replay::Replay;

pub use commits::{Commits, UnknownCommits};
pub use hosts::HostUrls;
pub use timeline::{IsWaiting, Scope};

/// Days that the overview looks back.
const DAYS: usize = 365;

/// Files that were verified within these hours before the last run count as verified.
const VERIFIED_WITHIN: i64 = 7 * 24;

/// Hours after which an overview is out of date, if too few intervals of runs are known.
const STALE_AFTER: u64 = 72;

/// Number of last intervals whose median is the usual interval.
const INTERVALS: usize = 20;

/// A URL and its canonical request.
type UrlKey = (String, Option<String>);

/// What an overview is built from.
#[derive(Debug)]
pub struct Sources<'a> {
    config: &'a Config,
    now: Timestamp,
    ledger: Root,
    files: Vec<PathBuf>,
    misnamed: Vec<PathBuf>,
    replay: Replay,
    /// All incidents but merged ones, by id.
    incidents: BTreeMap<String, Incident>,
    /// Absent if this machine has no index.
    archive: Option<Catalogue>,
    /// The open incident of each affected URL.
    affected: HashMap<UrlKey, String>,
    /// The days of incidents, by the host of the domain file.
    days: BTreeMap<String, Vec<IncidentDays>>,
    calendar: Calendar,
}

impl<'a> Sources<'a> {
    /// Reads the incidents and the history, as of `now`. `wants` says of which URLs the changes are
    /// kept for a timeline.
    ///
    /// # Errors
    /// When a file cannot be read, or a file of the ledger has another form than urldb writes.
    pub fn read(
        config: &'a Config,
        now: Timestamp,
        wants: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Self> {
        let database = config.open_database()?;
        let ledger = config.ledger_root();
        let replay = Replay::read(&ledger, now, wants)?;
        let all = incidents::all(&ledger)?.into_iter();
        let all = all.filter(|incident| incident.merged_into.is_none());
        let incidents: BTreeMap<String, Incident> = all
            .map(|incident| (incident.id.clone(), incident))
            .collect();
        let open = incidents.values().filter(|it| it.closed.is_none());
        let affected = open.flat_map(|incident| {
            let urls = incident.affected();
            urls.map(|url| ((url.url.clone(), url.request.clone()), incident.id.clone()))
        });
        let calendar = Calendar::until(date_of(now), DAYS);
        let mut days: BTreeMap<String, Vec<IncidentDays>> = BTreeMap::new();
        for (domain, incident) in days::incident_days(&incidents, &replay, &calendar) {
            days.entry(domain).or_default().push(incident);
        }
        let files = ArchiveFiles::on_this_machine(config);
        Ok(Self {
            config,
            now,
            ledger,
            archive: files.and_then(Catalogue::open).ok(),
            files: database.files().to_vec(),
            misnamed: database.misnamed().to_vec(),
            affected: affected.collect(),
            replay,
            incidents,
            days,
            calendar,
        })
    }

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
        let mut totals = Totals::default();
        let mut files = FileCounts::default();
        let (mut hosts, mut mistakes, mut warnings) = (vec![], vec![], vec![]);
        let mut deprecated = 0;
        let mut promised = vec![0; DAYS];
        let mut reasons = HashMap::new();
        for path in &self.files {
            let mut read = self.host(path, &wants)?;
            visit(&read)?;
            deprecated += read.deprecated;
            add(&mut totals, &read.host);
            add_files(&mut files, &read.host.files);
            mistakes.append(&mut read.mistakes);
            warnings.append(&mut read.warnings);
            reasons.extend(read.reasons.drain());
            for (sum, urls) in promised.iter_mut().zip(&read.promised) {
                *sum += urls;
            }
            hosts.push(read.host);
        }
        for path in &self.misnamed {
            mistakes.extend(self.misnamed(path));
        }
        let elsewhere = self.affected_elsewhere(&hosts);
        totals.affected += elsewhere;
        totals.broken += elsewhere;
        let mut incidents: Vec<&Incident> = self.incidents.values().collect();
        incidents.sort_by_key(|incident| incident.order());
        incidents.sort_by_key(|incident| match incident.closed {
            Some(closed) => Reverse((Some(closed), 0)),
            None => Reverse((incident.opened, incident.urls.len())),
        });
        let incidents = incidents.into_iter();
        let (open, closed): (Vec<_>, Vec<_>) = incidents
            .map(|incident| self.incident(incident, &reasons))
            .partition(|it| it.incident.closed.is_none());
        Ok(Overview {
            project: self.project(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: self.now,
            last_complete: self.replay.last_complete(),
            since_complete: self.replay.since_complete(),
            totals,
            files,
            deprecated,
            open,
            closed,
            mistakes,
            warnings,
            hosts,
            days: self.days(&promised),
            runs: self.run_counts(),
            stale_after: self.stale_after(),
            last_run,
            future_run: self.replay.future_run(),
            waiting: vec![],
        })
    }

    /// The project, as reports name it.
    pub fn project(&self) -> ProjectInfo {
        project_info(self.config)
    }

    /// The time that ages are counted from: the start of the last run.
    fn as_of(&self) -> Timestamp {
        self.replay.starts().next_back().unwrap_or(self.now)
    }

    /// Affected URLs of open incidents that are in no row of a host: those of aliases, and of records
    /// that are gone or cannot be read.
    fn affected_elsewhere(&self, hosts: &[HostOverview]) -> u64 {
        let counted: u64 = hosts.iter().map(|host| host.in_incidents).sum();
        (self.affected.len() as u64).saturating_sub(counted)
    }

    fn incident(&self, incident: &Incident, reasons: &HashMap<String, String>) -> IncidentOverview {
        let reason = || reasons.get(&incident.id).cloned();
        IncidentOverview {
            domain: domain_of(incident),
            reason: incident.reason.clone().or_else(reason),
            steps: self
                .replay
                .incident(&incident.id)
                .iter()
                .map(replay::step)
                .collect(),
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
        let dates = self.calendar.dates().enumerate();
        dates
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
        let days = self.replay.starts().map(date_of);
        let days: BTreeSet<Date> = days.filter(|day| *day >= first).collect();
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
        let intervals = starts.windows(2);
        let intervals = intervals.map(|two| two[0].duration_since(two[1]).as_hours());
        let mut intervals: Vec<i64> = intervals.collect();
        intervals.sort_unstable();
        let usual = u64::try_from(intervals[intervals.len() / 2]).unwrap_or_default();
        (3 * usual).next_multiple_of(24).max(48)
    }
}

/// The day of a point in time, in UTC.
fn date_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

/// The host whose domain file has the URLs of an incident.
fn domain_of(incident: &Incident) -> String {
    let file = incident.urls.first().map(|url| Path::new(&url.file));
    file.map_or_else(|| incident.host.clone(), urldb_format::host_of)
}

fn add(totals: &mut Totals, host: &HostOverview) {
    totals.urls += host.urls;
    totals.broken += host.broken;
    totals.affected += host.affected;
    totals.muted += host.muted;
    totals.unconfirmed += host.unconfirmed;
    totals.unknown += host.unknown;
}

fn add_files(sum: &mut FileCounts, files: &FileCounts) {
    sum.all += files.all;
    sum.verified += files.verified;
    sum.archived += files.archived;
    for (sum, files) in sum.ages.iter_mut().zip(files.ages) {
        *sum += files;
    }
}
