//! What the templates of the site get: texts, numbers and links. No date is relative to the clock, so
//! that a page changes only when its content does.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use jiff::Timestamp;
use minijinja::HtmlEscape;
use serde::Serialize;
use urldb_protocol::{
    CommitInfo, Finding, HostOverview, Incident, IncidentOverview, LogEntry, LogEvent, Overview,
    Phase, Promised, RunSummary, Shown, Standing, State, UrlOverview,
};
use urldb_render::numbers::{count, digest, number, with_spaces};
use urldb_render::{
    Mark, PromiseCounts, SiteHeadline, Titles, command_line, commit_counts, day_in_words,
    event_sentence, moment_in_words, one_line, project_commit_link, project_file_link, remarks,
    short_day, status_text,
};

use crate::site::url_page;
use crate::source::{ListedUrl, SiteSource};
use crate::strip::{chart, good_days, strip, year};

/// Days of a strip.
const STRIP_DAYS: usize = 90;

/// Most incidents on the overview.
const MOST_INCIDENTS: usize = 12;

/// Most URLs on the page of an incident.
const MOST_URLS: usize = 100;

/// Most hosts on one page.
pub(crate) const MOST_HOSTS: usize = 250;

/// Most hosts on the overview beside the affected ones.
const MOST_OTHER_HOSTS: usize = 100;

/// Most closed incidents on the page of a host.
const MOST_CLOSED: usize = 12;

/// Most events on the overview.
const MOST_EVENTS: usize = 30;

/// Digits of the id of a commit.
const COMMIT_DIGITS: usize = 7;

/// What each page has.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// The title, for the browser.
    pub(crate) title: String,
    /// The relative address of the top folder: empty, or `../`.
    pub(crate) root: &'static str,
    /// Name of the icon: `kept`, `broken` or `none`.
    pub(crate) icon: &'static str,
    /// Class of the mark: `k`, `b` or `o`.
    pub(crate) mark: &'static str,
    /// The start of the last run. Absent on a page that does not change with each run: `run.js` has it.
    pub(crate) run: Option<String>,
    pub(crate) stale_after: u64,
    pub(crate) project: String,
    pub(crate) repository: Option<String>,
    /// The section of the site that the page belongs to: `overview` or `incidents`.
    pub(crate) section: &'static str,
    pub(crate) version: String,
}

/// `240 URLs were due, 238 as promised`
fn due(run: &RunSummary) -> String {
    let verb = if run.due == 1 { "was" } else { "were" };
    let (due, ok) = (counted(run.due, "URL"), number(run.ok));
    format!("{due} {verb} due, {ok} as promised")
}

/// `of 1,247 promises`; what follows comes after the noun.
fn of(all: u64, noun: &str, rest: &str) -> String {
    format!("of {}{rest}", counted(all, noun))
}

/// `1 URL`, `1,247 URLs`.
fn counted(number: u64, noun: &str) -> String {
    with_spaces(&count(number, noun))
}

/// `1 byte`, `364 bytes`.
pub(crate) fn bytes(number: u64) -> String {
    counted(number, "byte")
}

/// A point in time: for programs, and in words.
#[derive(Debug, Serialize)]
pub(crate) struct Time {
    iso: String,
    words: String,
}

impl Time {
    pub(crate) fn moment(time: Timestamp) -> Self {
        Self {
            iso: time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            words: moment_in_words(time),
        }
    }

    pub(crate) fn day(time: Timestamp) -> Self {
        Self {
            iso: time.strftime("%Y-%m-%d").to_string(),
            words: day_in_words(time),
        }
    }
}

/// A name with a number.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    name: &'static str,
    value: String,
    rest: String,
}

impl Figure {
    /// A number of bytes.
    pub(crate) fn bytes(name: &'static str, bytes: u64) -> Self {
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        Self::new(name, number(bytes), unit)
    }

    pub(crate) fn new(
        name: &'static str,
        value: impl Into<String>,
        rest: impl Into<String>,
    ) -> Self {
        Self {
            name,
            value: value.into(),
            rest: rest.into(),
        }
    }
}

/// A name with a text.
#[derive(Debug, Serialize)]
struct Fact {
    name: &'static str,
    text: String,
}

/// The overview.
#[derive(Debug, Serialize)]
pub(crate) struct OverviewPage {
    pub(crate) frame: Frame,
    headline: String,
    past: String,
    as_of: Option<Time>,
    /// Sentences about urldb itself: a wrong clock, and messages that wait.
    remarks: Vec<String>,
    is_empty: bool,
    figures: Vec<Figure>,
    incidents: Vec<IncidentRow>,
    more_incidents: u64,
    warnings: Vec<WarningRow>,
    mistakes: Vec<MistakeRow>,
    hosts: HostTable,
    more_hosts: u64,
    good_days: usize,
    days_without_run: usize,
    known_days: usize,
    year: String,
    events: Vec<EventRow>,
    more_events: u64,
    ages: [String; 5],
    coverage: Vec<Fact>,
}

/// An incident in a list.
#[derive(Debug, Serialize)]
pub(crate) struct IncidentRow {
    id: String,
    title: String,
    /// The observed fault; empty if the title has the same words.
    detail: String,
    urls: String,
    noun: &'static str,
    since: Time,
    closed: Option<Time>,
    class: &'static str,
}

#[derive(Debug, Serialize)]
struct WarningRow {
    page: String,
    title: String,
    detail: String,
}

#[derive(Debug, Serialize)]
struct MistakeRow {
    place: String,
    link: Option<String>,
    message: String,
}

/// What happened on one day.
#[derive(Debug, Serialize)]
struct EventRow {
    at: Time,
    day: String,
    /// The id of the incident whose page has more.
    incident: Option<String>,
    text: String,
    detail: String,
    commit: Option<CommitLink>,
}

/// A commit, and its page on the website of the repository.
#[derive(Debug, Serialize)]
pub(crate) struct CommitLink {
    id: String,
    link: Option<String>,
}

/// A commit that changed a record.
#[derive(Debug, Serialize)]
pub(crate) struct CommitRow {
    at: Time,
    subject: String,
    commit: CommitLink,
}

/// A page of all hosts.
#[derive(Debug, Serialize)]
pub(crate) struct HostsPage {
    pub(crate) frame: Frame,
    headline: String,
    past: String,
    as_of: Option<Time>,
    hosts: HostTable,
    pages: Vec<PageLink>,
}

/// The table of hosts.
#[derive(Debug, Serialize)]
struct HostTable {
    rows: Vec<HostRow>,
    sums: HostSums,
    first_day: String,
    last_day: String,
}

/// A host in a table.
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

#[derive(Debug, Serialize)]
struct HostSums {
    hosts: String,
    urls: String,
    kept: String,
    files: String,
    verified: String,
}

/// A page of the URLs of one host.
#[derive(Debug, Serialize)]
pub(crate) struct HostPage {
    pub(crate) frame: Frame,
    host: String,
    headline: String,
    past: String,
    checked: Option<Time>,
    all_checked: Option<Time>,
    figures: Vec<Figure>,
    incidents: Vec<IncidentRow>,
    closed: Vec<IncidentRow>,
    /// The end of the certificate that the host showed last.
    certificate: Option<Time>,
    chart: String,
    urls: Vec<UrlRow>,
    has_commits: bool,
    total: String,
    pages: Vec<PageLink>,
    file: String,
    file_link: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct PageLink {
    number: usize,
    page: String,
    is_current: bool,
}

/// A row of the table of URLs.
#[derive(Debug, Serialize)]
struct UrlRow {
    class: &'static str,
    /// Escaped for HTML, and so is `name`.
    folder: String,
    name: String,
    state: String,
    since: String,
    bytes: String,
    sha256: String,
    verified: String,
    changed: String,
    /// The page of the URL, relative to that of the host.
    page: Option<String>,
}

/// The page of one incident.
#[derive(Debug, Serialize)]
pub(crate) struct IncidentPage {
    pub(crate) frame: Frame,
    host: String,
    host_page: String,
    title: String,
    is_open: bool,
    since: Time,
    closed: Option<Time>,
    settled: bool,
    figures: Vec<Figure>,
    detail: String,
    face: Vec<FaceRow>,
    difference: Vec<String>,
    difference_note: String,
    steps: Vec<StepRow>,
    urls: Vec<AffectedRow>,
    more_urls: u64,
    commands: Vec<CommandRow>,
}

/// Promised and observed side by side.
#[derive(Debug, Serialize)]
struct FaceRow {
    name: &'static str,
    promised: String,
    observed: String,
    differs: bool,
    is_digest: bool,
}

#[derive(Debug, Serialize)]
struct StepRow {
    at: Time,
    /// `21 Nov 2026 05:08`
    moment: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct AffectedRow {
    url: String,
    /// The page of the URL, relative to that of the incident.
    page: Option<String>,
    place: String,
    link: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct CommandRow {
    pub(crate) purpose: &'static str,
    pub(crate) line: String,
}

/// The list of all incidents.
#[derive(Debug, Serialize)]
pub(crate) struct IncidentsPage {
    pub(crate) frame: Frame,
    headline: String,
    as_of: Option<Time>,
    year: String,
    incidents: Vec<IncidentRow>,
    pages: Vec<PageLink>,
}

/// The file name of the page of a host, without folder; `page` counts from 1.
pub(crate) fn host_page(host: &str, page: usize) -> String {
    numbered(&host_name(host), page)
}

/// The name of a host in file names, without extension: of each host another.
pub(crate) fn host_name(host: &str) -> String {
    // A host has no tilde.
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-._".contains(&byte);
    let is_name = host.len() <= 200 && !host.starts_with('.') && host.bytes().all(is_plain);
    if is_name && !host.is_empty() {
        host.to_owned()
    } else {
        use sha2::{Digest, Sha256};
        format!("~{}", data_encoding::HEXLOWER.encode(&Sha256::digest(host)))
    }
}

/// The file name of a page of several, which counts from 1.
pub(crate) fn numbered(name: &str, page: usize) -> String {
    match page {
        1 => format!("{name}.html"),
        page => format!("{name}~{page}.html"),
    }
}

/// The site of one overview.
pub(crate) struct Views<'a> {
    pub(crate) overview: &'a Overview,
    titles: Titles,
    /// All incidents, by id.
    incidents: HashMap<&'a str, &'a IncidentOverview>,
    events: Vec<LogEntry>,
    /// The commits that last changed domain files, by the name of the file.
    commits: HashMap<&'a str, String>,
}

impl<'a> Views<'a> {
    pub(crate) fn new(overview: &'a Overview, source: &impl SiteSource) -> Self {
        let all = overview.open.iter().chain(&overview.closed);
        let commits = overview.hosts.iter().filter_map(|host| {
            let commit = source.commit_of(&host.host)?;
            Some((host.file.as_str(), commit))
        });
        Self {
            titles: Titles::new(overview),
            incidents: all.map(|it| (it.incident.id.as_str(), it)).collect(),
            events: source.events(),
            commits: commits.collect(),
            overview,
        }
    }

    pub(crate) fn frame(
        &self,
        title: &str,
        mark: Mark,
        root: &'static str,
        section: &'static str,
    ) -> Frame {
        let overview = self.overview;
        let (icon, mark) = match mark {
            Mark::Kept => ("kept", "k"),
            Mark::Broken => ("broken", "b"),
            Mark::Unknown => ("none", "o"),
        };
        Frame {
            title: one_line(&format!("{title} – {}", overview.project.name)),
            root,
            icon,
            mark,
            run: overview
                .last_run
                .as_ref()
                .map(|run| Time::moment(run.at).iso),
            stale_after: overview.stale_after,
            project: one_line(&overview.project.name),
            repository: overview.project.url.clone().filter(|url| is_web(url)),
            section,
            version: overview.version.clone(),
        }
    }

    /// The page of a line of a domain file: at the commit that last changed the file, so that the link stays
    /// as it is, or else at the commit that is checked out.
    pub(crate) fn file_link(&self, file: &str, line: Option<usize>) -> Option<String> {
        let project = &self.overview.project;
        let commit = self.commits.get(file).or(project.commit.as_ref());
        project_file_link(project, commit.map(String::as_str), file, line)
    }

    /// The page of a commit.
    fn commit_link(&self, id: &str) -> CommitLink {
        CommitLink {
            id: id.chars().take(COMMIT_DIGITS).collect(),
            link: project_commit_link(&self.overview.project, id),
        }
    }

    pub(crate) fn commit_row(&self, at: Timestamp, commit: &CommitInfo) -> CommitRow {
        CommitRow {
            at: Time::day(at),
            subject: one_line(&commit.subject),
            commit: self.commit_link(&commit.id),
        }
    }

    pub(crate) fn incident(&self, id: &str) -> Option<&'a IncidentOverview> {
        self.incidents.get(id).copied()
    }

    #[expect(clippy::too_many_lines)]
    pub(crate) fn overview_page(&self) -> OverviewPage {
        let overview = self.overview;
        let SiteHeadline { mark, now, past } = PromiseCounts::of(overview).headline();
        let files = &overview.files;
        let kept: u64 = overview.hosts.iter().map(|host| host.kept).sum();
        let (good, without_run) = good_days(&overview.days);
        let known = overview.days.iter().filter(|day| day.promised > 0).count();

        let figures = vec![
            Figure::new(
                "Kept",
                number(kept),
                of(overview.totals.urls, "promise", ""),
            ),
            Figure::new(
                "Verified byte for byte",
                number(files.verified),
                of(files.all, "file", ", within 7 days"),
            ),
            Figure::new(
                "In the archive",
                number(files.archived),
                of(files.all, "file", ""),
            ),
            Figure::new(
                "Days without incident",
                good.to_string(),
                format!("of the last {known}"),
            ),
        ];
        let (events, more_events) = self.events();
        let affected = overview.hosts.iter().filter(|host| host.affected > 0);
        let rows = (affected.count() + MOST_OTHER_HOSTS).min(MOST_HOSTS);
        let more_hosts = overview.hosts.len().saturating_sub(rows) as u64;
        OverviewPage {
            frame: self.frame(now.trim_end_matches('.'), mark, "", "overview"),
            headline: now,
            past,
            as_of: overview.last_run.as_ref().map(|run| Time::moment(run.at)),
            remarks: remarks(overview)
                .map(|text| one_line(&with_spaces(&text)))
                .collect(),
            is_empty: overview.totals.urls == 0,
            figures,
            incidents: overview
                .open
                .iter()
                .take(MOST_INCIDENTS)
                .map(|it| self.row(it))
                .collect(),
            more_incidents: overview.open.len().saturating_sub(MOST_INCIDENTS) as u64,
            warnings: overview.warnings.iter().map(warning).collect(),
            mistakes: overview
                .mistakes
                .iter()
                .map(|mistake| MistakeRow {
                    place: one_line(&format!("{}, line {}", mistake.file, mistake.line)),
                    link: self.file_link(&mistake.file, Some(mistake.line)),
                    message: one_line(&mistake.message),
                })
                .collect(),
            hosts: self.host_table(0..rows),
            more_hosts,
            good_days: good,
            days_without_run: without_run,
            known_days: known,
            year: year(&overview.days),
            events,
            more_events,
            ages: files.ages.map(number),
            coverage: self.coverage(),
        }
    }

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
    fn host_table(&self, range: Range<usize>) -> HostTable {
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

    /// What happened in the last days, and the number of events that are left out. A commit is one event,
    /// however many domain files it changed.
    fn events(&self) -> (Vec<EventRow>, u64) {
        let mut commits: HashMap<&str, (&LogEntry, CommitInfo, u64)> = HashMap::new();
        for entry in &self.events {
            if let Some(commit) = &entry.commit {
                let known = commits.entry(&commit.id);
                let (_, sum, hosts) = known.or_insert_with(|| {
                    let (added, changed, removed) = (0, 0, 0);
                    let none = CommitInfo {
                        added,
                        changed,
                        removed,
                        ..commit.clone()
                    };
                    (entry, none, 0)
                });
                sum.added += commit.added;
                sum.changed += commit.changed;
                sum.removed += commit.removed;
                *hosts += 1;
            }
        }
        let rows = self.events.iter().filter_map(|entry| {
            let Some(commit) = &entry.commit else {
                return self.event_row(entry);
            };
            let (entry, commit, hosts) = commits.remove(commit.id.as_str())?;
            let counts = commit_counts(&commit);
            let place = match hosts {
                1 => one_line(&entry.host),
                hosts => format!("{} hosts", number(hosts)),
            };
            (!counts.is_empty()).then(|| EventRow {
                at: Time::day(entry.at),
                day: short_day(date(entry.at), self.overview.now),
                incident: None,
                text: one_line(&commit.subject),
                detail: format!("{counts}; {place}"),
                commit: Some(self.commit_link(&commit.id)),
            })
        });
        let mut rows: Vec<EventRow> = rows.collect();
        let more = rows.len().saturating_sub(MOST_EVENTS);
        rows.truncate(MOST_EVENTS);
        (rows, more as u64)
    }

    /// An event that people should hear of: an incident that opened, grew or closed.
    fn event_row(&self, entry: &LogEntry) -> Option<EventRow> {
        let it = entry.incident.as_deref().and_then(|id| self.incident(id));
        let host = one_line(&entry.host);
        let text = match (entry.event, it) {
            (LogEvent::Broken, Some(it)) => self.title(it),
            (
                LogEvent::Broken
                | LogEvent::Grown
                | LogEvent::Recovered
                | LogEvent::PromisesChanged,
                it,
            ) => {
                let sentence = event_sentence(entry, it.map(|it| &it.incident)).plain();
                format!("{host}: {sentence}")
            }
            _ => return None,
        };
        Some(EventRow {
            at: Time::day(entry.at),
            day: short_day(date(entry.at), self.overview.now),
            incident: it.map(|it| it.incident.id.clone()),
            text,
            detail: String::new(),
            commit: None,
        })
    }

    /// The first and the last day of a strip.
    fn strip_days(&self, host: Option<&HostOverview>) -> (String, String) {
        let days = host.map_or(&[][..], |host| last_days(&host.days));
        let name = |day: Option<&urldb_protocol::Day>| {
            day.map_or_else(String::new, |day| short_day(day.date, self.overview.now))
        };
        (name(days.first()), name(days.last()))
    }

    fn coverage(&self) -> Vec<Fact> {
        let overview = self.overview;
        let mut coverage = vec![];
        let mut add = |name, text| coverage.push(Fact { name, text });
        if let Some(run) = &overview.last_complete {
            let text = format!("{}; {}", moment_in_words(run.at), due(run));
            add("Last run over everything", text);
        }
        for run in &overview.since_complete {
            let what = run.selection.clone().unwrap_or_default();
            let text = format!("{}; {what}: {}", moment_in_words(run.at), due(run));
            add("Since then", text);
        }
        let runs = &overview.runs;
        let (month, year) = (number(runs.month), number(runs.year));
        let mut text = format!("{month} in the last 30 days, {year} in the last 365");
        if let Some((from, to)) = runs.longest_gap {
            let (from, to) = (short_day(from, overview.now), short_day(to, overview.now));
            text = format!("{text}; the longest gap was from {from} to {to}");
        }
        add("Runs", text);
        if overview.deprecated > 0 {
            let records = counted(overview.deprecated, "deprecated record");
            add("Set aside", format!("{records}, not checked"));
        }
        coverage
    }

    pub(crate) fn row(&self, it: &IncidentOverview) -> IncidentRow {
        let incident = &it.incident;
        let urls = incident.urls.len() as u64;
        let (title, mut detail) = (self.titles.of(it).plain(), detail(incident));
        if title.contains(&detail) {
            detail.clear();
        }
        IncidentRow {
            id: incident.id.clone(),
            title,
            detail,
            urls: number(urls),
            noun: if urls == 1 { "URL" } else { "URLs" },
            since: Time::day(incident.since),
            closed: incident.closed.map(Time::day),
            class: if incident.closed.is_some() { "k" } else { "b" },
        }
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

    /// One page of a host: `urls` are its rows, and whether each has a page; `page` counts from 1.
    #[expect(clippy::too_many_lines)]
    pub(crate) fn host_page(
        &self,
        host: &HostOverview,
        urls: &[(ListedUrl, bool)],
        (page, pages): (usize, usize),
    ) -> HostPage {
        let SiteHeadline { mark, now, past } = PromiseCounts::of_host(host).headline();

        let days = last_days(&host.days);
        let good = days.iter().filter(|day| {
            matches!(
                day.level,
                urldb_protocol::DayLevel::Kept | urldb_protocol::DayLevel::Doubt
            )
        });
        let known = days
            .iter()
            .filter(|day| day.level != urldb_protocol::DayLevel::Blank);
        let figures = vec![
            Figure::new("Kept", number(host.kept), of(host.urls, "promise", "")),
            Figure::new(
                "Verified byte for byte",
                number(host.files.verified),
                of(host.files.all, "file", ", within 7 days"),
            ),
            Figure::new(
                "In the archive",
                number(host.files.archived),
                of(host.files.all, "file", ""),
            ),
            Figure::new(
                "Days without incident",
                good.count().to_string(),
                format!("of the last {}", known.count()),
            ),
        ];
        let open = self.overview.open.iter();
        let open = open.filter(|it| host.incidents.contains(&it.incident.id));
        let closed = self.overview.closed.iter();
        let closed = closed.filter(|it| it.domain == host.host);
        let title = format!("{}: {}", host.host, now.trim_end_matches('.'));
        let mut frame = self.frame(&title, mark, "../", "overview");
        // A run that does not check the host leaves its page as it is.
        frame.run = host.checked.map(|checked| Time::moment(checked).iso);
        HostPage {
            frame,
            host: one_line(&host.host),
            headline: now,
            past,
            checked: host.checked.map(Time::moment),
            all_checked: host
                .all_checked
                .filter(|all| Some(*all) != host.checked)
                .map(Time::moment),
            figures,
            incidents: open.map(|it| self.row(it)).collect(),
            closed: closed.take(MOST_CLOSED).map(|it| self.row(it)).collect(),
            certificate: host
                .certificate
                .as_ref()
                .map(|dates| Time::day(dates.not_after)),
            chart: chart(days),
            urls: urls
                .iter()
                .map(|(listed, has_page)| url_row(listed, *has_page))
                .collect(),
            has_commits: self.commits.contains_key(host.file.as_str()),
            total: number(host.urls),
            pages: page_links(pages, page, |number| host_page(&host.host, number)),
            file_link: self.file_link(&host.file, None),
            file: one_line(&host.file),
        }
    }

    /// A page of all incidents, the open ones first; `page` counts from 1.
    pub(crate) fn incidents_page(&self, page: usize, pages: usize, rows: usize) -> IncidentsPage {
        let overview = self.overview;
        let (open, closed) = (overview.open.len() as u64, overview.closed.len() as u64);
        let is = if open == 1 {
            "incident is"
        } else {
            "incidents are"
        };
        let headline = format!("{} {is} open, {} closed.", number(open), number(closed));
        let mark = if open > 0 { Mark::Broken } else { Mark::Kept };
        IncidentsPage {
            frame: self.frame("Incidents", mark, "../", "incidents"),
            headline,
            as_of: overview.last_run.as_ref().map(|run| Time::moment(run.at)),
            year: year(&overview.days),
            incidents: overview
                .open
                .iter()
                .chain(&overview.closed)
                .skip((page - 1) * rows)
                .take(rows)
                .map(|it| self.row(it))
                .collect(),
            pages: page_links(pages, page, |number| numbered("index", number)),
        }
    }

    /// The page of an incident; `url_pages` are the pages of URLs.
    #[expect(clippy::too_many_lines)]
    pub(crate) fn incident_page(
        &self,
        it: &IncidentOverview,
        url_pages: &HashSet<String>,
    ) -> IncidentPage {
        let incident = &it.incident;
        let is_open = incident.closed.is_none();
        let title = self.titles.of(it).plain();
        let mark = if is_open { Mark::Broken } else { Mark::Kept };
        let urls = incident.urls.len() as u64;
        let evidence = &incident.evidence;
        let mut figures = vec![Figure::new(
            "Affected",
            number(urls),
            of(incident.host_urls.max(urls), "URL", ""),
        )];
        if evidence.requests > 0 {
            let requests = counted(evidence.requests.into(), "request");
            let rest = format!("of {requests} agree");
            figures.push(Figure::new("Seen", evidence.agreeing.to_string(), rest));
        }
        let length = |name, length: Option<u64>| Some(Figure::bytes(name, length?));
        figures.extend(length("Promised", evidence.promised.length));
        figures.extend(length("Observed", evidence.observed.length));
        // The body of an error page is no other version of the file.
        let has_bytes = matches!(incident.state, State::Changed | State::Truncated);
        let difference = evidence.text.as_ref().filter(|_| has_bytes);
        let first = evidence.first_difference.filter(|_| has_bytes);
        let mut frame = self.frame(&title, mark, "../", "incidents");
        // The page does not change with each run.
        frame.run = None;
        IncidentPage {
            frame,
            host: one_line(&it.domain),
            host_page: host_page(&it.domain, 1),
            title,
            is_open,
            since: Time::moment(incident.since),
            closed: incident.closed.map(Time::moment),
            settled: incident.closed_because
                == Some(urldb_protocol::ClosedBecause::PromisesChanged),
            figures,
            detail: detail(incident),
            face: face(it),
            difference: difference.map_or_else(Vec::new, |text| one_liners(&text.lines)),
            difference_note: first.map_or_else(String::new, |first| {
                format!(
                    "The first difference is at byte {}, counted from 0.",
                    number(first)
                )
            }),
            steps: steps(it),
            urls: incident
                .urls
                .iter()
                .take(MOST_URLS)
                .map(|url| {
                    let page = url_page(&url.url, url.request.as_deref());
                    AffectedRow {
                        url: one_line(&url.url),
                        page: url_pages.contains(&page).then_some(page),
                        place: one_line(&format!("{}, line {}", url.file, url.line)),
                        // The file has other lines since the incident closed.
                        link: self
                            .file_link(&url.file, Some(url.line))
                            .filter(|_| is_open),
                    }
                })
                .collect(),
            more_urls: incident.urls.len().saturating_sub(MOST_URLS) as u64,
            commands: if is_open { commands(incident) } else { vec![] },
        }
    }

    /// Tells the pages that do not change with each run when the last one was.
    pub(crate) fn last_run_script(&self) -> String {
        let Some(run) = &self.overview.last_run else {
            return "\"use strict\";\n".to_owned();
        };
        format!(
            "\"use strict\";\nObject.assign(document.documentElement.dataset, {{run: \"{}\", staleAfter: {}}});\n",
            Time::moment(run.at).iso,
            self.overview.stale_after
        )
    }

    /// The title of an incident.
    pub(crate) fn title(&self, it: &IncidentOverview) -> String {
        self.titles.of(it).plain()
    }
}

/// One sentence about the failure: how the bytes differ, or else what the run has noted.
fn detail(incident: &Incident) -> String {
    let evidence = &incident.evidence;
    let lengths = evidence.promised.length.zip(evidence.observed.length);
    let (State::Changed, Some((promised, observed))) = (incident.state, lengths) else {
        return one_line(&evidence.detail);
    };
    let more = observed.saturating_sub(promised);
    match evidence.first_difference {
        Some(first) if first >= promised && more > 0 => format!(
            "The promised {} are served unchanged, and {} more follow.",
            bytes(promised),
            bytes(more)
        ),
        Some(0) => "The first byte differs from the promised one.".to_owned(),
        Some(first) => format!("The first {} are as promised.", bytes(first)),
        None if promised == observed => {
            format!("Other bytes of the promised length, {}.", bytes(promised))
        }
        None => format!("{} instead of {}.", bytes(observed), bytes(promised)),
    }
}

/// What people can do about an open incident: see it, get the promised bytes, accept the new ones.
fn commands(incident: &Incident) -> Vec<CommandRow> {
    let evidence = &incident.evidence;
    let url = evidence.url.as_str();
    let has_request = incident
        .urls
        .iter()
        .any(|affected| affected.url == url && affected.request.is_some());
    let is_changed = incident.state == State::Changed && incident.redirect.is_none();
    let mut rows = vec![];
    if url.is_empty() {
        return rows;
    }
    if !has_request && is_changed && evidence.promised.sha256.is_some() {
        rows.extend(digest_command("See the bytes yourself", url));
        rows.extend(evidence.first_difference.and_then(|first| {
            let bytes = format!("+{}", first.saturating_add(1));
            let curl = command_line(&["curl", "-sSL", url])?;
            Some(CommandRow {
                purpose: "See them from the first difference on",
                line: format!("{curl} | tail -c {bytes} | head -c 400"),
            })
        }));
    } else if !has_request {
        rows.extend(command("See the answer yourself", &["curl", "-sSIL", url]));
    }
    rows.extend(promised_bytes(url, &evidence.promised));
    rows.extend(command("Check it again", &["urldb", "check", url]));
    if is_changed {
        rows.extend(command(
            "Make the new bytes the promise, if they are meant",
            &["urldb", "accept", url],
        ));
    }
    rows
}

/// Takes the promised bytes out of the archive: by their digest, whatever was captured later.
pub(crate) fn promised_bytes(url: &str, promised: &Promised) -> Option<CommandRow> {
    let sha256 = digest(promised.sha256.as_deref()?);
    let words = [
        "urldb", "archive", "get", url, "--sha256", &sha256, "-o", "promised",
    ];
    command("Take the promised bytes out of the archive", &words)
}

/// A command; absent if a terminal must not get one of the words.
pub(crate) fn command(purpose: &'static str, words: &[&str]) -> Option<CommandRow> {
    let line = command_line(words)?;
    Some(CommandRow { purpose, line })
}

/// Prints the SHA-256 of what a URL serves.
pub(crate) fn digest_command(purpose: &'static str, url: &str) -> Option<CommandRow> {
    let curl = command_line(&["curl", "-sSL", url])?;
    let line = format!("{curl} | sha256sum");
    Some(CommandRow { purpose, line })
}

fn page_links(pages: usize, current: usize, page: impl Fn(usize) -> String) -> Vec<PageLink> {
    let link = |number| PageLink {
        number,
        page: page(number),
        is_current: number == current,
    };
    (1..=pages).map(link).collect()
}

/// Promised and observed side by side; empty if nothing was observed.
#[expect(clippy::too_many_lines)]
fn face(it: &IncidentOverview) -> Vec<FaceRow> {
    let evidence = &it.incident.evidence;
    let (promised, observed) = (&evidence.promised, &evidence.observed);
    let text = |text: Option<&str>| text.map_or_else(String::new, one_line);
    let bytes = |length: Option<u64>| {
        length.map_or_else(String::new, |length| format!("{} bytes", number(length)))
    };
    let status = |status: Option<u16>| status.map_or_else(String::new, status_text);
    let rows = [
        (
            "Length",
            bytes(promised.length),
            bytes(observed.length),
            false,
        ),
        (
            "SHA-256",
            text(promised.sha256.as_deref()),
            text(observed.sha256.as_deref()),
            true,
        ),
        (
            "Type",
            text(promised.content_type.as_deref()),
            text(observed.content_type.as_deref()),
            false,
        ),
        (
            "Status",
            status(promised.status),
            status(observed.status),
            false,
        ),
        (
            "Redirect",
            text(promised.redirects_to.as_deref()),
            text(observed.redirect.as_deref()),
            false,
        ),
        (
            "Last-Modified",
            String::new(),
            text(evidence.last_modified.as_deref()),
            false,
        ),
        (
            "Server",
            String::new(),
            text(observed.address.as_deref()),
            false,
        ),
    ];
    rows.into_iter()
        .filter(|(_, promised, observed, _)| !promised.is_empty() || !observed.is_empty())
        .map(|(name, promised, observed, is_digest)| FaceRow {
            name,
            differs: !promised.is_empty() && !observed.is_empty() && promised != observed,
            is_digest,
            promised,
            observed,
        })
        .collect()
}

/// Lines of a difference, without control characters.
fn one_liners(lines: &[Shown]) -> Vec<String> {
    lines.iter().map(|line| one_line(line)).collect()
}

/// What happened to an incident, oldest first.
fn steps(it: &IncidentOverview) -> Vec<StepRow> {
    let incident = &it.incident;
    let mut steps = vec![];
    if let Some(last_good) = incident.last_good {
        steps.push((
            last_good,
            "A run saw the URL as promised for the last time.".to_owned(),
        ));
    }
    let opened = incident.opened.unwrap_or(incident.since);
    if opened.duration_since(incident.since).as_secs() >= 60 {
        steps.push((
            incident.since,
            "A run saw the cause first; not confirmed yet.".to_owned(),
        ));
    }
    for step in &it.steps {
        let urls = match step.urls {
            1 => "1 URL".to_owned(),
            urls => format!("{} URLs", number(urls)),
        };
        let text = match step.phase {
            Phase::Opened => format!("The incident opened, with {urls}."),
            Phase::Grown => format!("The incident grew to {urls}."),
            Phase::Shrunk => format!("Some URLs recovered; {urls} stayed affected."),
            Phase::Closed => "The incident closed.".to_owned(),
            _ => continue,
        };
        steps.push((step.at, text));
    }
    if it.steps.is_empty() {
        steps.push((opened, "The incident opened.".to_owned()));
        steps.extend(
            incident
                .closed
                .map(|closed| (closed, "The incident closed.".to_owned())),
        );
    }
    let row = |(at, text): (Timestamp, String)| StepRow {
        at: Time::moment(at),
        moment: at.strftime("%-d %b %Y %H:%M").to_string(),
        text,
    };
    steps.into_iter().map(row).collect()
}

/// The folder and the name of a URL's path, for people.
pub(crate) fn path_parts(url: &UrlOverview) -> (String, String) {
    let split = url.path.rfind('/').filter(|_| url.request.is_none());
    let (folder, name) = url.path.split_at(split.map_or(0, |at| at + 1));
    let (folder, name) = match (folder, name) {
        (folder, "") => (String::new(), one_line(folder)),
        (folder, name) => (one_line(folder), one_line(name)),
    };
    let name = match &url.request {
        Some(_) => format!("{name} (another request than GET)"),
        None => name,
    };
    (folder, name)
}

/// Class and words of a URL's state.
pub(crate) fn state_of(url: &UrlOverview) -> (&'static str, String) {
    match (url.standing, url.state) {
        (Standing::Affected, Some(State::Ok) | None) => ("b", "not tried".to_owned()),
        (Standing::Affected, Some(state)) => ("b", state_in_words(state)),
        (Standing::Unconfirmed, _) => ("w", "in doubt".to_owned()),
        (Standing::Unknown, None) => ("o", "not checked".to_owned()),
        (Standing::Unknown, Some(state)) => ("o", state_in_words(state)),
        (Standing::Kept, _) => ("k", "kept".to_owned()),
    }
}

/// `server error`
pub(crate) fn state_in_words(state: State) -> String {
    match state {
        State::Ok => "kept".to_owned(),
        state => state.as_str().replace('-', " "),
    }
}

/// A path as HTML. A slash in plain sight is as safe as its escape, and five bytes shorter.
fn escaped(path: &str) -> String {
    HtmlEscape(path).to_string().replace("&#x2f;", "/")
}

/// About the number of bytes of a URL in the table of its host.
pub(crate) fn row_size(url: &UrlOverview) -> usize {
    const ALL_BUT_PATH: usize = 248;
    let (folder, name) = path_parts(url);
    ALL_BUT_PATH + escaped(&folder).len() + escaped(&name).len()
}

fn url_row(listed: &ListedUrl, has_page: bool) -> UrlRow {
    let url = &listed.url;
    let (class, state) = state_of(url);
    let (folder, name) = path_parts(url);
    let day = |time: Option<Timestamp>| {
        time.map_or_else(String::new, |time| time.strftime("%Y-%m-%d").to_string())
    };
    UrlRow {
        class,
        folder: escaped(&folder),
        name: escaped(&name),
        state,
        since: day(url.since),
        bytes: url.promised.length.map_or_else(String::new, number),
        sha256: url.promised.sha256.clone().unwrap_or_default(),
        verified: day(url.verified),
        changed: day(listed.changed),
        page: has_page.then(|| url_page(&url.url, url.request.as_deref())),
    }
}

fn warning(finding: &Finding) -> WarningRow {
    let host = std::path::Path::new(&finding.file);
    let host = host
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let title = match finding.code.as_str() {
        "intermittent" => format!("{host}: one URL is intermittent"),
        "certificate-expires-soon" => format!("{host}: the certificate expires soon"),
        code => format!("{host}: {code}"),
    };
    let detail = match finding.code.as_str() {
        "intermittent" => one_line(&format!("{} {}", finding.url, finding.message)),
        _ => one_line(&finding.message),
    };
    WarningRow {
        page: host_page(&host, 1),
        title: one_line(&title),
        detail,
    }
}

fn last_days(days: &[urldb_protocol::Day]) -> &[urldb_protocol::Day] {
    &days[days.len().saturating_sub(STRIP_DAYS)..]
}

fn date(time: Timestamp) -> jiff::civil::Date {
    time.to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}
