//! Incidents over several runs: another cause, open again, flaps, in steps, closed.

use insta::assert_snapshot;
use jiff::Timestamp;
use urldb_protocol::{
    AffectedUrl, Because, Chapter, Envelope, EventKind, Evidence, Incident, Observed, Phase,
    Promised, State,
};
use urldb_render::{Deliveries, Scope, annotations, comment, compose};

use crate::Scenario;
use crate::data::{add, at, close, incident, report, shown};

const STARS: &str = "https://data.example.org/tables/stars.csv";
const CATALOG: &str = "https://api.example.org/v1/catalog.json";
const DATA: &str = "https://files.example.org/p/07.dat";

fn day(day: u8) -> Timestamp {
    at(&format!("2026-11-{day:02} 04:17"))
}

/// The report of a run with one incident; `broken` and `unsteady` are totals of the database.
fn run(started: Timestamp, incident: Incident, (broken, unsteady): (u64, u64)) -> Envelope {
    let mut envelope = report("20261104T041702Z-0b7733de", "2026-11-04 04:17", 50);
    envelope.run.started = started;
    envelope.summary.counts.broken = broken;
    envelope.summary.counts.flapping = unsteady;
    envelope.summary.coverage.static_verified -= broken + unsteady;
    add(&mut envelope, incident, None);
    envelope
}

/// A URL that has been broken since that run.
fn broken(
    url: &str,
    file: &str,
    line: usize,
    since: Timestamp,
    last_good: Timestamp,
) -> AffectedUrl {
    AffectedUrl {
        file: format!("urldb/{file}"),
        line,
        since: Some(since),
        last_good: Some(last_good),
        ..AffectedUrl::of(url)
    }
}

fn chapter(event: EventKind, at: Timestamp, evidence: &Evidence, state: State) -> Chapter {
    Chapter {
        run: String::new(),
        at,
        event,
        state: Some(state),
        reason: None,
        redirect: None,
        because: None,
        ack: None,
        notice: None,
        new: false,
        urls: 1,
        affected: 1,
        evidence: Some(evidence.clone()),
    }
}

fn not_found(url: &str) -> Evidence {
    Evidence {
        url: url.to_owned(),
        observed: Observed {
            status: Some(404),
            ..Observed::default()
        },
        requests: 3,
        agreeing: 3,
        tried: 1,
        ..Evidence::default()
    }
}

fn grew() -> Evidence {
    Evidence {
        url: STARS.to_owned(),
        promised: Promised {
            length: Some(48_120),
            sha256: Some("59b49341821f0000".to_owned()),
            ..Promised::default()
        },
        observed: Observed {
            status: Some(200),
            length: Some(48_319),
            sha256: Some("c3d9459627460000".to_owned()),
            content_type: Some(shown("text/csv")),
            ..Observed::default()
        },
        requests: 2,
        agreeing: 2,
        tried: 1,
        ..Evidence::default()
    }
}

/// Scenario 01, the second message: the file grew, and is gone.
pub(crate) fn became() -> Envelope {
    let mut gone = incident(
        "a986cfd9",
        Phase::Changed,
        "data.example.org",
        State::Gone,
        "2026-11-02 04:17",
    );
    let evidence = Evidence {
        promised: grew().promised,
        ..not_found(STARS)
    };
    gone.host_urls = 300;
    gone.runs = 3;
    gone.last_good = Some(day(1));
    gone.urls = vec![broken(STARS, "data.example.org.yaml", 118, day(2), day(1))];
    gone.chapters = vec![
        chapter(EventKind::Opened, day(2), &grew(), State::Changed),
        Chapter {
            new: true,
            ..chapter(EventKind::Became, day(4), &evidence, State::Gone)
        },
    ];
    gone.evidence = evidence;
    run(day(4), gone, (1, 0))
}

/// Scenario 01, the last message.
fn became_and_recovered() -> Envelope {
    let mut envelope = became();
    envelope.run.started = day(7);
    envelope.findings.clear();
    envelope.summary.counts.broken = 0;
    envelope.summary.coverage.static_verified = 1_180;
    close(&mut envelope.incidents[0], Because::Recovered, day(7));
    envelope
}

/// Scenario 05: broken for an hour, as promised for an hour, and broken again.
pub(crate) fn reopened() -> Envelope {
    let (first, good) = (at("2026-11-02 10:17"), at("2026-11-02 11:17"));
    let again = at("2026-11-02 12:17");
    let mut gone = incident(
        "d1a7b003",
        Phase::Opened,
        "api.example.org",
        State::Gone,
        "2026-11-02 12:17",
    );
    let evidence = not_found(CATALOG);
    gone.host_urls = 30;
    gone.runs = 1;
    gone.last_good = Some(good);
    gone.urls = vec![AffectedUrl {
        new: true,
        ..broken(CATALOG, "api.example.org.yaml", 12, again, good)
    }];
    gone.chapters = vec![
        chapter(EventKind::Opened, first, &evidence, State::Gone),
        Chapter {
            new: true,
            ..chapter(EventKind::Reopened, again, &evidence, State::Gone)
        },
    ];
    gone.evidence = evidence;
    run(again, gone, (1, 0))
}

/// Scenario 03: the third break; `seen` is the state in this run.
pub(crate) fn flapping(phase: Phase, seen: State) -> Envelope {
    let mut unsteady = incident(
        "c7e0a1f2",
        phase,
        "files.example.org",
        State::Gone,
        "2026-11-06 04:17",
    );
    unsteady.host_urls = 30;
    unsteady.last_good = Some(day(5));
    unsteady.urls = vec![AffectedUrl {
        flapping: true,
        seen: Some(seen),
        breaks: vec![day(2), day(4), day(6)],
        ..broken(DATA, "files.example.org.yaml", 31, day(6), day(5))
    }];
    unsteady.evidence = not_found(DATA);
    let now = if seen == State::Ok { day(7) } else { day(6) };
    let mut envelope = run(now, unsteady, (0, 1));
    if seen == State::Ok {
        envelope.summary.coverage.static_verified = 1_180;
    }
    envelope
}

/// Scenario 04: 40 URLs, of which 20 leave after two days.
fn half(phase: Phase) -> Incident {
    let mut half = incident(
        "52b63752",
        phase,
        "docs.example.org",
        State::Gone,
        "2026-11-02 04:17",
    );
    half.host_urls = 120;
    half.runs = 3;
    half.last_good = Some(day(1));
    half.urls = (0..40)
        .map(|number: u8| {
            let page = format!("https://docs.example.org/manual/v1/{number:02}.html");
            let line = 11 + 4 * usize::from(number);
            let has_left = number < 20;
            AffectedUrl {
                left: has_left.then_some(Because::Recovered),
                until: has_left.then(|| day(4)),
                ..broken(&page, "docs.example.org.yaml", line, day(2), day(1))
            }
        })
        .collect();
    half.evidence = Evidence {
        promised: grew().promised,
        tried: 20,
        ..not_found(&half.urls[20].url)
    };
    half
}

pub(crate) fn shrunk() -> Envelope {
    run(day(4), half(Phase::Changed), (20, 0))
}

pub(crate) fn closed_in_two_steps() -> Envelope {
    let mut half = half(Phase::Closed);
    half.closed = Some(day(6));
    for url in &mut half.urls[20..] {
        url.left = Some(Because::Recovered);
        url.until = Some(day(6));
    }
    run(day(6), half, (0, 0))
}

/// Scenarios 09 and 10: nothing recovered.
pub(crate) fn closed(because: Because) -> Envelope {
    let mut incident = became().incidents.remove(0);
    incident.chapters.clear();
    if because == Because::Accepted {
        incident.state = State::Changed;
        incident.evidence = grew();
        let evidence = Evidence {
            promised: Promised {
                length: grew().observed.length,
                sha256: grew().observed.sha256,
                ..Promised::default()
            },
            ..grew()
        };
        incident.chapters = vec![Chapter {
            state: None,
            because: Some(because),
            ..chapter(EventKind::Shrunk, day(4), &evidence, State::Ok)
        }];
    }
    close(&mut incident, because, day(4));
    let mut envelope = run(day(4), incident, (0, 0));
    if because == Because::Removed {
        let summary = &mut envelope.summary;
        summary.counts.urls = 1_246;
        (summary.coverage.due, summary.coverage.checked) = (1_246, 1_246);
        (
            summary.coverage.static_due,
            summary.coverage.static_verified,
        ) = (1_179, 1_179);
    }
    envelope
}

/// What a terminal shows of the run, and what a mail in the thread of the incident does.
fn texts(envelope: Envelope) -> String {
    let id = envelope.incidents[0].id.clone();
    let scenario = Scenario::new("", envelope, &[]);
    let terminal = scenario.plain_terminal(Scope::Run, 80);
    let (mail, _) = scenario.mail(Scope::Changes(&[&id]));
    let (mail, _) = mail.split_once("\n-- \n").unwrap();
    let comment = comment(&scenario.envelope, &scenario.envelope.incidents[0]);
    let comment = comment.unwrap_or_else(|| "none\n".to_owned());
    format!("{terminal}\n=== mail\n{mail}\n=== comment\n{comment}")
}

#[test]
fn another_cause_is_no_recovery() {
    assert_snapshot!("event-became", texts(became()));
    assert_snapshot!("event-became-recovered", texts(became_and_recovered()));
}

#[test]
fn broken_again() {
    assert_snapshot!("event-reopened", texts(reopened()));
}

#[test]
fn a_flapping_url() {
    let news = flapping(Phase::Changed, State::Gone);
    assert_snapshot!("event-flapping", texts(news));
    let after_a_recovery = flapping(Phase::Opened, State::ServerError);
    assert_snapshot!("event-flapping-unconfirmed", texts(after_a_recovery));
    let good_today = flapping(Phase::Unchanged, State::Ok);
    assert_snapshot!("event-flapping-good", texts(good_today));
}

#[test]
fn half_recovers_and_then_the_rest() {
    assert_snapshot!("event-shrunk", texts(shrunk()));
    assert_snapshot!("event-closed-in-two-steps", texts(closed_in_two_steps()));
}

#[test]
fn a_closed_incident_has_not_always_recovered() {
    assert_snapshot!("event-removed", texts(closed(Because::Removed)));
    assert_snapshot!("event-accepted", texts(closed(Because::Accepted)));
    let mut mixed = closed_in_two_steps();
    mixed.incidents[0].urls[39].left = Some(Because::Removed);
    assert_snapshot!("event-closed-for-two-reasons", texts(mixed));
}

/// An annotation marks a line that needs a person.
#[test]
fn what_is_over_marks_no_line() {
    let marks =
        |envelope: Envelope| annotations(&compose(&envelope, Scope::Run, &Deliveries::default()));
    for because in [Because::Recovered, Because::Accepted, Because::Removed] {
        assert_eq!(marks(closed(because)), "");
    }
    assert_ne!(marks(became()), "");
}
