//! `status` and `log` of the scenarios.

use std::collections::BTreeMap;

use insta::assert_snapshot;
use jiff::Timestamp;
use urldb_protocol::{
    Because, Chapter, Counts, DeliveredIncident, EventKind, Evidence, FileCounts, Finding,
    HostOverview, Incident, IncidentOverview, Mistake, Observed, Overview, Phase, ProjectInfo,
    Promised, RunCounts, RunSummary, State,
};
use urldb_render::{StatusScope, TerminalOptions, log, log_entries, status, status_document};

use crate::data::{at, close, incident, shown, url};

fn options(width: usize) -> TerminalOptions {
    TerminalOptions {
        width,
        ..TerminalOptions::default()
    }
}

fn counts(urls: u64, broken: u64) -> Counts {
    let counts = Counts {
        broken,
        ..Counts::default()
    };
    counts.of_all(urls)
}

fn host(name: &str, urls: u64, files: u64, verified: &str) -> HostOverview {
    HostOverview {
        host: name.to_owned(),
        file: format!("urldb/{name}.yaml"),
        counts: counts(urls, 0),
        in_incidents: 0,
        files: FileCounts {
            all: files,
            verified: files,
            archived: files,
            ages: [files, 0, 0, 0, 0],
        },
        checked: Some(at(verified)),
        all_checked: Some(at(verified)),
        verified: (files > 0).then(|| at(verified)),
        verified_without: 0,
        all_verified: None,
        known_since: Some(at("2026-10-02 11:20")),
        certificate: None,
        incidents: vec![],
        days: vec![],
    }
}

fn run(at_text: &str, selection: Option<&str>, due: u64) -> RunSummary {
    RunSummary {
        id: "20261116T041702Z-00000000".to_owned(),
        at: at(at_text),
        selection: selection.map(str::to_owned),
        due,
        ok: due,
        inconclusive: 0,
    }
}

/// The database with 1,247 URLs in six hosts, in which nothing is wrong.
fn all_good(last: &str, now: &str) -> Overview {
    let hosts = [
        ("archive.example.com", 412, 412),
        ("data.example.org", 300, 300),
        ("docs.example.org", 120, 120),
        ("mirror.example.net", 100, 100),
        ("tiles.example.org", 275, 275),
        ("www.example.edu", 40, 0),
    ];
    let hosts = hosts.map(|(name, urls, files)| host(name, urls, files, last));
    Overview {
        project: ProjectInfo {
            name: "sky-urls".to_owned(),
            ..ProjectInfo::default()
        },
        version: "0.1.0".to_owned(),
        now: at(now),
        last_run: Some(run(last, None, 1_247)),
        impaired: None,
        last_complete: Some(run(last, None, 1_247)),
        since_complete: vec![],
        counts: counts(1_247, 0),
        files: FileCounts::default(),
        deprecated: 0,
        held: BTreeMap::new(),
        open: vec![],
        notices: vec![],
        closed: vec![],
        mistakes: vec![],
        warnings: vec![],
        hosts: hosts.to_vec(),
        days: vec![],
        runs: RunCounts::default(),
        stale_after: 72,
        future_run: None,
        used: BTreeMap::new(),
        waiting: vec![],
        archive_faults: vec![],
    }
}

fn opened(incident: Incident) -> IncidentOverview {
    IncidentOverview {
        domain: incident.host.clone(),
        reason: incident.reason.clone(),
        delivered: DeliveredIncident::Whole,
        copies: None,
        incident,
    }
}

fn silent_mirror() -> Incident {
    let file = "mirror.example.net.yaml";
    let urls = (0..100).map(|n| url(&format!("https://mirror.example.net/{n:02}"), file, n));
    let mut incident = incident(
        "c2992e2a",
        Phase::Unchanged,
        "mirror.example.net",
        State::Unreachable,
        "2026-11-18 04:17",
    );
    incident.reason = Some("timeout".to_owned());
    incident.opened = Some(at("2026-11-19 04:17"));
    incident.host_urls = 100;
    incident.urls = urls.collect();
    incident
}

fn silent_host() -> Overview {
    let mut overview = all_good("2026-11-22 04:17", "2026-11-22 09:20");
    overview.counts = counts(1_247, 100);
    overview.open = vec![opened(silent_mirror())];
    let mirror = &mut overview.hosts[3];
    mirror.counts = counts(100, 100);
    mirror.verified = Some(at("2026-11-17 04:17"));
    mirror.incidents = vec!["c2992e2a".to_owned()];
    overview
}

fn mixed() -> Overview {
    let mut overview = all_good("2026-11-24 04:17", "2026-11-24 06:20");
    overview.counts = counts(1_247, 4);
    overview.counts.mistakes = 1;
    let pages = (0..3).map(|n| {
        let page = format!("https://docs.example.org/old/{n}.html");
        url(&page, "docs.example.org.yaml", 10 * n + 2)
    });
    let mut gone = incident(
        "00000001",
        Phase::Unchanged,
        "docs.example.org",
        State::Gone,
        "2026-11-24 04:17",
    );
    gone.host_urls = 120;
    gone.urls = pages.collect();
    gone.evidence.observed.status = Some(404);
    let paper = "https://archive.example.com/papers/42.pdf";
    let mut changed = incident(
        "00000002",
        Phase::Unchanged,
        "archive.example.com",
        State::Changed,
        "2026-11-24 04:17",
    );
    changed.host_urls = 412;
    changed.urls = vec![url(paper, "archive.example.com.yaml", 120)];
    changed.evidence = Evidence {
        url: paper.to_owned(),
        promised: Promised {
            length: Some(48_120),
            ..Promised::default()
        },
        observed: Observed {
            length: Some(48_120),
            sha256: Some("59b4".to_owned()),
            ..Observed::default()
        },
        ..Evidence::default()
    };
    overview.open = vec![opened(gone), opened(changed)];
    overview.hosts[0].counts.broken = 1;
    overview.hosts[0].verified_without = 2;
    overview.hosts[2].counts.broken = 3;
    overview.hosts[2].verified_without = 3;
    overview.mistakes = vec![Mistake {
        code: "bad-sha256".to_owned(),
        file: "urldb/archive.example.com.yaml".to_owned(),
        line: 14,
        column: 17,
        message: shown("content-sha256 has 63 hexadecimal digits instead of 64"),
        help: None,
        text: shown(""),
        new: false,
    }];
    overview.warnings = vec![Finding::warning(
        "flapping",
        "https://tiles.example.org/0/0/0.png",
        ("urldb/tiles.example.org.yaml", 3),
        "failed in 3 of its last 10 runs",
    )];
    overview
}

/// The silent host with these events, each with the number of URLs that are broken then.
fn history(events: &[(&str, EventKind, u64)]) -> Incident {
    let chapter = |(at_text, event, affected): &(&str, EventKind, u64)| Chapter {
        run: String::new(),
        at: at(at_text),
        event: *event,
        state: (*event == EventKind::Opened).then_some(State::Unreachable),
        reason: Some("timeout".to_owned()),
        redirect: None,
        because: (*event == EventKind::Shrunk).then_some(Because::Recovered),
        new: false,
        ack: None,
        notice: None,
        urls: 100,
        affected: *affected,
        evidence: None,
    };
    Incident {
        chapters: events.iter().map(chapter).collect(),
        ..silent_mirror()
    }
}

/// The events of the silent host, from its opening to its end.
const EVENTS: [(&str, EventKind, u64); 3] = [
    ("2026-11-19 04:17", EventKind::Opened, 100),
    ("2026-11-24 04:17", EventKind::Shrunk, 0),
    ("2026-11-24 04:17", EventKind::Closed, 0),
];

fn logged(about: &str, incident: &Incident, width: usize) -> String {
    let entries = log_entries(&[(incident.host.clone(), incident.clone())]);
    plain(&log(about, &entries, options(width)))
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

fn statuses(overview: &Overview, scope: StatusScope<'_>) -> String {
    let at = |width| plain(&status(overview, scope, &[], options(width)));
    let texts = [at(80), at(120)];
    for (text, width) in texts.iter().zip([80, 120]) {
        let widest = text.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{text}");
    }
    texts.join("\n=== 120\n")
}

#[test]
fn status_of_the_scenarios() {
    let mut good = all_good("2026-11-16 04:17", "2026-11-16 07:20");
    let mut past = silent_mirror();
    past.since = at("2026-10-02 04:17");
    close(&mut past, Because::Recovered, at("2026-10-03 04:17"));
    good.closed = vec![opened(past)];
    assert_snapshot!("01-all-good-status", statuses(&good, StatusScope::All));
    let silent = silent_host();
    assert_snapshot!(
        "03c-silent-host-status",
        statuses(&silent, StatusScope::All)
    );
    assert_snapshot!(
        "03c-silent-host-status-of-host",
        statuses(&silent, StatusScope::Host(&silent.hosts[3]))
    );
    assert_snapshot!("07-mixed-status", statuses(&mixed(), StatusScope::All));
    let mut partial = silent_host();
    partial.now = at("2026-11-22 09:42");
    partial.since_complete = vec![run("2026-11-22 09:41", Some("-c core"), 180)];
    assert_snapshot!(
        "09-partial-run-status",
        statuses(&partial, StatusScope::All)
    );
}

#[test]
fn held_uris_are_counted_by_kind() {
    let mut overview = all_good("2026-11-16 04:17", "2026-11-16 07:20");
    let mut last_line = |held: &[(&str, u64)]| {
        let held = held.iter().map(|(kind, uris)| ((*kind).to_owned(), *uris));
        overview.held = held.collect();
        let text = status(&overview, StatusScope::All, &[], TerminalOptions::default());
        text.lines().last().unwrap().to_owned()
    };
    assert!(!last_line(&[]).contains("held"));
    assert_eq!(
        last_line(&[("urn", 1)]),
        "1 URI is held, not checked (urn 1)."
    );
    assert_eq!(
        last_line(&[("ftp", 1_234), ("urn", 3)]),
        "1,237 URIs are held, not checked (ftp 1,234, urn 3)."
    );
}

#[test]
fn long_lists_are_cut_unless_all_is_wanted() {
    let mut overview = silent_host();
    let mirror = overview.hosts[3].clone();
    overview.hosts = (0..100)
        .map(|n| host(&format!("h{n:03}.example"), 1, 1, "2026-11-22 04:17"))
        .collect();
    overview.hosts.push(mirror);
    let text = plain(&status(&overview, StatusScope::All, &[], options(80)));
    assert!(
        text.contains("\nmirror.example.net    100     100  "),
        "{text}"
    );
    assert!(
        text.contains("\nand 71 more hosts without broken URLs; --verbose shows all\n"),
        "{text}"
    );
    let all = TerminalOptions {
        all_urls: true,
        ..options(80)
    };
    let text = plain(&status(&overview, StatusScope::All, &[], all));
    assert!(text.contains("\nh099.example"), "{text}");
}

#[test]
fn log_of_a_host() {
    let texts = |events: &[_]| {
        let incident = history(events);
        let text = |width| logged("mirror.example.net", &incident, width);
        [text(80), text(120)].join("\n=== 120\n")
    };
    assert_snapshot!("03c-silent-host-log", texts(&EVENTS[..1]));
    assert_snapshot!("03d-silent-host-log", texts(&EVENTS));
}

#[test]
fn hostile_text_controls_nothing() {
    let evil = "\u{1b}[2J\n::error::\u{202e}";
    let mut overview = mixed();
    overview.hosts[0].host = evil.to_owned();
    overview.mistakes[0].message = shown(evil);
    overview.mistakes[0].file = evil.to_owned();
    overview.warnings[0].url = format!("https://{evil}/");
    overview.open[0].incident.host = evil.to_owned();
    overview.open[0].incident.urls.truncate(2);
    let mut history = history(&EVENTS);
    history.host = evil.to_owned();
    history.urls.truncate(1);
    history.urls[0].url = evil.to_owned();
    history.chapters[0].reason = Some(evil.to_owned());
    let texts = [
        plain(&status(&overview, StatusScope::All, &[], options(80))),
        logged(evil, &history, 80),
    ];
    for text in texts {
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        assert!(
            !text.lines().any(|line| line.trim_start().starts_with("::")),
            "{text}"
        );
    }
}

#[test]
fn the_document_of_status_goes_in_and_out_unchanged() {
    let document = status_document(&mixed(), vec![]);
    let written = serde_json::to_value(&document).unwrap();
    assert_eq!(
        written["incidents"][0]["title"],
        "docs.example.org answers 404 Not Found (3 of 120 URLs)"
    );
    let read: urldb_render::StatusDocument = serde_json::from_value(written).unwrap();
    assert_eq!(read, document);
}

#[test]
fn ages_of_another_clock_do_not_fail() {
    let mut overview = silent_host();
    overview.now = Timestamp::UNIX_EPOCH;
    overview.open[0].incident.threads = BTreeMap::new();
    let text = plain(&status(&overview, StatusScope::All, &[], options(80)));
    assert!(text.starts_with("URLs: 100 broken, 1,147 ok; as of "));
}
