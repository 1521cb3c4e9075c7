//! A site with every kind of content, to find mistakes in templates.

use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::{Span, Timestamp};
use urldb_protocol::{
    Ack, AffectedUrl, Because, CaptureInfo, CertificateDates, Chapter, ChapterDetails, Counts, Day,
    DayCount, DayLevel, DeliveredIncident, EventKind, Evidence, FileCounts, Finding, HostOverview,
    ImpairedRun, Incident, IncidentEvents, IncidentOverview, Mistake, Observed, OriginInfo,
    Overview, Phase, ProjectInfo, Promised, RunCounts, RunSummary, Shown, State, TextDifference,
    UrlCondition, UrlDetails, UrlEvidence, UrlOverview, UrlUses,
};

use crate::source::{ListedUrl, SiteError, SiteSource};

const HOST: &str = "data.example.org";
const FILE: &str = "urldb/data.example.org.yaml";
const URL: &str = "https://data.example.org/series/flux.csv";
const OPEN: &str = "bd7dbe2e";
const CLOSED: &str = "2784fefc";
const DIGEST: &str = "45ce8765efcb90293cd11801b6ec1d8859384ba45aec0c76d66cde42076de64b";

/// Hours since the first run.
fn at(hours: i64) -> Timestamp {
    let first = Timestamp::UNIX_EPOCH + Span::new().hours(24 * 365 * 50);
    first + Span::new().hours(hours)
}

fn dates() -> impl Iterator<Item = Date> {
    at(-24 * 364)
        .to_zoned(jiff::tz::TimeZone::UTC)
        .date()
        .series(Span::new().days(1))
        .take(365)
}

fn promised() -> Promised {
    Promised {
        length: Some(35_674),
        sha256: Some(DIGEST.to_owned()),
        content_type: Some("text/csv".to_owned()),
        ..Promised::default()
    }
}

fn incident(id: &str, closed: Option<Timestamp>) -> IncidentOverview {
    let url = AffectedUrl {
        file: FILE.to_owned(),
        line: 2,
        left: closed.map(|_| Because::Recovered),
        ..AffectedUrl::of(URL)
    };
    let incident = Incident {
        id: id.to_owned(),
        opened: Some(at(6)),
        closed,
        last_good: Some(at(0)),
        host_urls: 240,
        // More than a page lists.
        urls: vec![url; 101],
        evidence: Evidence {
            url: URL.to_owned(),
            promised: promised(),
            observed: Observed {
                status: Some(200),
                length: Some(36_038),
                sha256: Some(DIGEST.to_owned()),
                ..Observed::default()
            },
            detail: shown("364 more bytes follow"),
            requests: 3,
            agreeing: 3,
            first_difference: Some(35_674),
            text: Some(TextDifference {
                added: 1,
                lines: [" a", "+b", "-c"].map(shown).to_vec(),
                ..TextDifference::default()
            }),
            ..Evidence::default()
        },
        threads: BTreeMap::new(),
        chapters: vec![chapter(EventKind::Opened)],
        ack: Some(Ack {
            until: at(72),
            because: "the tables move".to_owned(),
            by: "ada".to_owned(),
        }),
        ..Incident::group(Phase::Unchanged, HOST.to_owned(), State::Changed, at(12))
    };
    IncidentOverview {
        delivered: DeliveredIncident::Whole,
        copies: None,
        domain: HOST.to_owned(),
        reason: None,
        incident,
    }
}

fn counts(urls: u64, (broken, flapping): (u64, u64)) -> Counts {
    let some = Counts {
        broken,
        flapping,
        ..Counts::default()
    };
    some.of_all(urls)
}

fn host() -> HostOverview {
    let day = |date| Day {
        date,
        level: DayLevel::Kept,
        affected: 0,
    };
    HostOverview {
        host: HOST.to_owned(),
        file: FILE.to_owned(),
        counts: counts(240, (0, 1)),
        in_incidents: 1,
        files: files(),
        checked: Some(at(48)),
        all_checked: Some(at(24)),
        verified: Some(at(48)),
        verified_without: 1,
        all_verified: Some(at(24)),
        known_since: Some(at(0)),
        certificate: Some(CertificateDates {
            not_before: at(0),
            not_after: at(24 * 90),
            issuer: shown("Sky CA"),
            authority: None,
        }),
        incidents: vec![OPEN.to_owned()],
        days: dates().map(day).collect(),
    }
}

fn files() -> FileCounts {
    FileCounts {
        all: 240,
        verified: 239,
        archived: 240,
        ages: [239, 1, 0, 0, 0],
    }
}

fn run(selection: Option<&str>) -> RunSummary {
    RunSummary {
        id: "run".to_owned(),
        at: at(48),
        selection: selection.map(str::to_owned),
        due: 240,
        ok: 239,
        inconclusive: 0,
    }
}

/// The same after a run without results.
pub(crate) fn impaired() -> Overview {
    let run = ImpairedRun {
        at: at(49),
        due: 480,
        results: 0,
    };
    Overview {
        impaired: Some(run),
        ..overview()
    }
}

/// An overview with an open incident, a closed one, a mistake, a warning and two hosts.
pub(crate) fn overview() -> Overview {
    let day = |date| DayCount {
        date,
        promised: 240,
        affected: 1,
        has_run: true,
    };
    let kept = HostOverview {
        host: "www.example.org".to_owned(),
        checked: None,
        all_checked: None,
        counts: counts(240, (0, 0)),
        incidents: vec![],
        ..host()
    };
    Overview {
        project: ProjectInfo {
            name: "Northern Sky Survey".to_owned(),
            url: Some("https://github.com/example/sky".to_owned()),
            site_url: Some("https://sky.example.org".to_owned()),
            commit: Some("0b9f3aa".to_owned()),
        },
        version: env!("CARGO_PKG_VERSION").to_owned(),
        now: at(49),
        last_run: Some(run(None)),
        last_complete: Some(run(None)),
        impaired: None,
        since_complete: vec![run(Some("-c core"))],
        counts: counts(480, (1, 0)),
        files: files(),
        deprecated: 1,
        held: BTreeMap::new(),
        // More than the overview lists.
        open: vec![incident(OPEN, None); 13],
        notices: vec![],
        closed: vec![incident(CLOSED, Some(at(36))); 31],
        mistakes: vec![Mistake {
            code: "syntax".to_owned(),
            file: FILE.to_owned(),
            line: 9,
            column: 1,
            message: shown("the quotation has no end"),
            help: None,
            text: shown(""),
            new: false,
        }],
        warnings: vec![Finding::warning(
            "flapping",
            URL,
            (FILE, 2),
            "broke in 3 of its last 10 runs",
        )],
        // More than one page lists.
        hosts: [vec![host()], vec![kept; 250]].concat(),
        days: dates().map(day).collect(),
        runs: RunCounts::default(),
        stale_after: 72,
        future_run: None,
        used: BTreeMap::new(),
        waiting: vec![],
        archive_faults: vec![],
    }
}

/// A URL of an open incident.
pub(crate) fn listed_url() -> ListedUrl {
    ListedUrl {
        url: UrlOverview {
            url: URL.to_owned(),
            host: HOST.to_owned(),
            file: FILE.to_owned(),
            line: 2,
            uses: UrlUses::default(),
            path: "/series/flux.csv".to_owned(),
            request: None,
            variant: None,
            categories: vec!["core".to_owned()],
            promised: promised(),
            condition: UrlCondition::Kept,
            state: Some(State::Ok),
            reason: None,
            since: Some(at(36)),
            pending: None,
            pending_since: None,
            known_since: Some(at(0)),
            checked: Some(at(48)),
            verified: Some(at(48)),
            verified_since: Some(at(36)),
            capture: None,
            is_archived: true,
            lost: None,
            stored: None,
            incident: None,
            failures: None,
            flapping: true,
            muted: false,
        },
        had_incident: true,
    }
}

/// Facts on the page of that URL.
pub(crate) fn details() -> UrlDetails {
    UrlDetails {
        chapters: vec![chapter(EventKind::Opened)],
        incidents: vec![OPEN.to_owned(), CLOSED.to_owned()],
        captures: vec![CaptureInfo {
            date: "2026-11-21T05:09:18Z".to_owned(),
            record: Some("urn:uuid:40985528-c2bb-9747-89ad-50634b006db0".to_owned()),
            file: "urldb-20261121.warc.gz".to_owned(),
            offset: Some(4_118_306),
            digest: format!("sha256:{DIGEST}"),
            is_revisit: false,
            status: Some(200),
        }],
        more_captures: 1,
        origins: vec![OriginInfo {
            uri: Shown::new("dns:example.org", Shown::LONGEST),
            text: Shown::new("203.0.113.10", Shown::LONGEST),
            since: at(0),
        }],
        evidence: Some(Box::new(url_evidence())),
    }
}

/// The events of an incident of the sample: one of each kind.
pub(crate) fn incident_events(it: &IncidentOverview) -> IncidentEvents {
    let incident = &it.incident;
    let details = |event| ChapterDetails {
        chapter: Chapter {
            ack: incident.ack.clone(),
            ..chapter(event)
        },
        evidence: vec![incident.evidence.clone()],
    };
    let kinds = [
        EventKind::Opened,
        EventKind::Grown,
        EventKind::Acked,
        EventKind::Shrunk,
        EventKind::Closed,
    ];
    // More than a page has.
    let kinds = kinds.into_iter().cycle().take(70);
    IncidentEvents {
        chapters: kinds.map(details).collect(),
        left: vec![(Because::Recovered, 1)],
    }
}

fn chapter(event: EventKind) -> Chapter {
    Chapter {
        run: "20201230T000000Z-0123abcd".to_owned(),
        at: at(24),
        event,
        state: Some(State::Changed),
        reason: None,
        redirect: None,
        because: None,
        ack: None,
        notice: None,
        new: false,
        urls: 7,
        affected: 7,
        evidence: None,
    }
}

fn url_evidence() -> UrlEvidence {
    UrlEvidence {
        incident: OPEN.to_owned(),
        chapter: chapter(EventKind::Opened),
        evidence: incident(OPEN, None).incident.evidence,
    }
}

/// Facts that the sample shows beside its overview.
pub(crate) struct Sample;

impl SiteSource for Sample {
    type Error = SiteError;

    fn commit_of(&self, _: &str) -> Option<String> {
        Some("0b9f3aa5d1f0c27c19e4d41f9e0a8c07a5e29be4".to_owned())
    }

    fn urls(&self, _: &HostOverview) -> Result<Vec<ListedUrl>, SiteError> {
        Ok(vec![listed_url()])
    }

    fn urls_with_incident(&self) -> usize {
        1
    }

    fn incident_events(&self, it: &IncidentOverview) -> Result<IncidentEvents, SiteError> {
        Ok(incident_events(it))
    }

    fn details(&self, _: &UrlOverview) -> Result<UrlDetails, SiteError> {
        Ok(details())
    }
}

fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}
