//! The start page: the state of all promises.

use serde::Serialize;
use urldb_protocol::{Finding, IncidentOverview, NoticeKind, RunSummary};
use urldb_render::numbers::{counted, number, with_spaces};
use urldb_render::{
    day_in_words, held_uris, moment_in_words, one_line, open_incidents, remarks, short_day,
    shown_host, site_headline,
};

use super::events::EventRow;
use super::host_table::{HostTable, MOST_HOSTS};
use super::impaired::ImpairedFacts;
use super::incidents::{IncidentRow, latest_first};
use super::values::{Figure, Time, first_seen, last_verified, promise_figures};
use super::{Frame, Views};
use crate::file_names::host_page;
use crate::strip::{good_days, year};

/// Most incidents on the overview.
const MOST_INCIDENTS: usize = 12;

/// Most hosts on the overview beside the affected ones.
const MOST_OTHER_HOSTS: usize = 100;

#[derive(Debug, Serialize)]
pub(crate) struct OverviewPage {
    pub(crate) frame: Frame,
    headline: String,
    as_of: Option<Time>,
    /// The last run had a result for fewer than half of its URLs.
    impaired: Option<ImpairedFacts>,
    /// Sentences about urldb itself: a wrong clock, and messages that wait.
    remarks: Vec<String>,
    is_empty: bool,
    /// `Three incidents are open.`
    open: String,
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

/// A name with a text.
#[derive(Debug, Serialize)]
struct Fact {
    name: &'static str,
    text: String,
}

/// A kept promise with a remark.
#[derive(Debug, Serialize)]
struct WarningRow {
    folder: &'static str,
    page: String,
    title: String,
    detail: String,
}

/// A mistake in a domain file.
#[derive(Debug, Serialize)]
struct MistakeRow {
    place: String,
    link: Option<String>,
    message: String,
}

impl Views<'_> {
    /// The start page.
    pub(crate) fn overview_page(&self) -> OverviewPage {
        let overview = self.overview;
        let (mark, headline) = site_headline(overview);
        let files = &overview.files;
        let verified = last_verified(overview.hosts.iter(), overview.now);
        let impaired = overview.impaired.as_ref();
        let (good, without_run) = good_days(&overview.days);
        let known = overview.days.iter().filter(|day| day.promised > 0).count();
        let (events, more_events) = self.events();
        let affected = overview
            .hosts
            .iter()
            .filter(|host| host.counts.affected() > 0);
        let rows = (affected.count() + MOST_OTHER_HOSTS).min(MOST_HOSTS);
        let more_hosts = overview.hosts.len().saturating_sub(rows) as u64;
        let incidents = latest_first(overview.open.iter())
            .into_iter()
            .take(MOST_INCIDENTS);
        OverviewPage {
            frame: self.frame(headline.trim_end_matches('.'), mark, "", "overview"),
            headline,
            as_of: self.as_of().map(Time::moment),
            impaired: impaired.map(|impaired| self.impaired_facts(impaired)),
            remarks: remarks(overview)
                .map(|text| one_line(&with_spaces(&text)))
                .collect(),
            is_empty: overview.counts.urls == 0,
            open: open_incidents(overview.open.len() as u64),
            figures: promise_figures(
                &overview.counts,
                (files, verified),
                (good, known),
                impaired.is_some(),
            ),
            incidents: incidents.map(|it| self.incident_row(it)).collect(),
            more_incidents: overview.open.len().saturating_sub(MOST_INCIDENTS) as u64,
            warnings: self.warnings(),
            mistakes: self.mistakes(),
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

    /// The notices, each with its page, and the other warnings.
    fn warnings(&self) -> Vec<WarningRow> {
        let overview = self.overview;
        // The list of mistakes has those of notices.
        let is_mistake =
            |it: &&IncidentOverview| it.incident.notice_of(NoticeKind::Mistake).is_some();
        let notices = overview
            .notices
            .iter()
            .filter(|it| !is_mistake(it))
            .map(|it| WarningRow {
                folder: "incidents",
                page: format!("{}.html", it.incident.id),
                title: self.title(it),
                detail: format!("Open since {}.", day_in_words(first_seen(&it.incident))),
            });
        let is_notice = |finding: &&Finding| finding.code == NoticeKind::CertificateEnds.as_str();
        let others = overview
            .warnings
            .iter()
            .filter(|finding| !is_notice(finding));
        notices.chain(others.map(warning)).collect()
    }

    fn mistakes(&self) -> Vec<MistakeRow> {
        self.overview
            .mistakes
            .iter()
            .map(|mistake| MistakeRow {
                place: one_line(&format!("{}, line {}", mistake.file, mistake.line)),
                link: self.file_link(&mistake.file, Some(mistake.line)),
                message: one_line(&mistake.message),
            })
            .collect()
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
        if let Some(held) = held_uris(&overview.held) {
            add("Held", with_spaces(held.trim_end_matches('.')));
        }
        coverage
    }
}

/// `240 URLs were due, 238 as promised`
fn due(run: &RunSummary) -> String {
    let verb = if run.due == 1 { "was" } else { "were" };
    let (due, ok) = (counted(run.due, "URL"), number(run.ok));
    format!("{due} {verb} due, {ok} as promised")
}

fn warning(finding: &Finding) -> WarningRow {
    let file = std::path::Path::new(&finding.file)
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy();
    let (host, message) = (shown_host(&file), &finding.message);
    let (title, detail) = match finding.code.as_str() {
        "flapping" => (
            format!("{host}: one URL breaks often"),
            one_line(&format!("{} {message}", finding.url)),
        ),
        code => (format!("{host}: {code}"), one_line(message)),
    };
    WarningRow {
        folder: "hosts",
        page: host_page(&file, 1),
        title: one_line(&title),
        detail,
    }
}
