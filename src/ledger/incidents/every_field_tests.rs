//! Whatever is written is read again: an incident with every field, and each of its values replaced in turn.

use serde_json::json;
use urldb_protocol::{
    Ack, Because, CertificateDates, Contents, EventKind, Explanation, ExplanationKind,
    FixedMistake, LostContent, MemberChange, MemberDifference, Mistake, Notice, NoticeKind,
    Observed, Promised, State, TextDifference,
};
use urldb_verdict::incident::{Cause, EventUrl, Joining, MemberKey};

use super::*;

/// Values that a field may have: those that a file could leave out, and those that YAML could take for something
/// else.
fn odd_values() -> Vec<Json> {
    let texts = [
        "",
        " ",
        "null",
        "true",
        "0123",
        "- a: b #",
        "'\"",
        "x\ny\n",
        "\u{85}\t\u{2028}",
        "\u{feff}",
    ];
    let texts = texts.map(Json::from).into_iter();
    let others = [json!([]), json!({}), json!(0), json!(false)];
    texts.chain(others).collect()
}

fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}

fn time() -> Timestamp {
    "2026-11-02T04:17:03Z".parse().unwrap()
}

fn text_difference() -> TextDifference {
    TextDifference {
        added: 1,
        removed: 2,
        appended_after: Some(7),
        lines: vec![shown("+5")],
    }
}

fn certificate() -> CertificateDates {
    CertificateDates {
        not_before: time(),
        not_after: time(),
        issuer: shown("CN=R11"),
        authority: Some(shown("The intermediate")),
    }
}

fn evidence() -> Evidence {
    let digests = BTreeMap::from([("md5".to_owned(), "1".repeat(32))]);
    Evidence {
        url: "http://a.example/1".to_owned(),
        variant: Some("accept: text/turtle".to_owned()),
        promised: Promised {
            length: Some(3),
            sha256: Some("1".repeat(64)),
            digests: digests.clone(),
            content_type: Some("text/csv".to_owned()),
            status: Some(200),
            redirects_to: Some("http://a.example/2".to_owned()),
        },
        observed: Observed {
            status: Some(200),
            final_url: Some(shown("http://a.example/3")),
            length: Some(4),
            sha256: Some("2".repeat(64)),
            digests,
            content_type: Some(shown("text/html")),
            redirect_status: Some(301),
            redirect: Some(shown("http://a.example/4")),
            address: Some("192.0.2.1".to_owned()),
        },
        detail: shown("404"),
        requests: 2,
        agreeing: 2,
        tried: 3,
        first_difference: Some(1),
        text: Some(text_difference()),
        contents: Some(Contents {
            files: 132,
            single: true,
            differing: 2,
            folders: 1,
            members: vec![MemberDifference {
                name: shown("configure"),
                change: MemberChange::Changed,
                text: Some(text_difference()),
            }],
        }),
        not_archived: Some(shown("too long")),
        last_modified: Some(shown("yesterday")),
        certificate: Some(certificate()),
        doubt: Some(shown("a page")),
        explanation: Some(Box::new(Explanation {
            kind: ExplanationKind::Moved,
            host: "a.example".to_owned(),
            urls: 2,
            of: 3,
            sentence: shown("redirects 2 URLs to 5"),
        })),
    }
}

fn notice() -> Notice {
    Notice {
        kind: NoticeKind::Mistake,
        file: "urldb/a.example.yaml".to_owned(),
        categories: vec!["core".to_owned()],
        endangered: Some(4),
        runs: Some(5),
        since: Some(time()),
        mistakes: vec![Mistake {
            code: "syntax".to_owned(),
            file: "urldb/a.example.yaml".to_owned(),
            line: 1,
            column: 2,
            message: shown("wrong"),
            help: Some(shown("do it")),
            text: shown("text"),
            new: true,
        }],
        count: Some(6),
        added: Some(7),
        fixed: vec![FixedMistake {
            code: "syntax".to_owned(),
            file: "urldb/a.example.yaml".to_owned(),
            text: shown("text"),
        }],
        reason: Some(shown("wait")),
        lost: vec![LostContent {
            url: "http://a.example/1".to_owned(),
            request: Some("__wb_method=POST".to_owned()),
            variant: Some("accept: text/turtle".to_owned()),
            digests: vec!["sha256:1".to_owned()],
            lost: time(),
            left: Some(Because::Removed),
        }],
        certificate: Some(certificate()),
        within_hours: Some(8),
        address: Some(shown("192.0.2.1")),
        renewed: Some(certificate()),
    }
}

fn event() -> Event {
    Event {
        id: "20261102T041703Z-5de248cc".to_owned(),
        event: EventKind::Opened,
        cause: Some(Cause {
            state: State::Changed,
            reason: Some("unstable".to_owned()),
            redirect: Some(shown("http://a.example/5")),
        }),
        because: Some(Because::Accepted),
        unconfirmed: true,
        host_urls: Some(9),
        urls: vec![EventUrl {
            key: MemberKey {
                url: "http://a.example/1".to_owned(),
                request: Some("__wb_method=POST".to_owned()),
                variant: Some("accept: text/turtle".to_owned()),
            },
            joining: Some(Joining {
                file: "urldb/a.example.yaml".to_owned(),
                line: 2,
                categories: vec!["core".to_owned()],
                owner: Some("gaia".to_owned()),
                promise: "sha256:1".to_owned(),
                since: time(),
                last_good: Some(time()),
            }),
        }],
        evidence: vec![evidence()],
        from: Some("0a1b2c3d".to_owned()),
        into: Some("1a1b2c3d".to_owned()),
        notice: Some(notice()),
        ack: Some(Ack {
            until: time(),
            because: "the disk is being replaced".to_owned(),
            by: "ada".to_owned(),
        }),
    }
}

fn card() -> NewestCard {
    NewestCard {
        at: Some(time()),
        through: Some("20261102T041703Z-5de248cc".to_owned()),
        digest: Some("0123456789abcdef".to_owned()),
        urls: 3,
        states: ["changed".to_owned(), "gone".to_owned()].into(),
        facts: BTreeMap::from([("message-id".to_owned(), shown("1@example.org"))]),
    }
}

fn file(event: Event, card: NewestCard) -> IncidentFile {
    IncidentFile {
        log: IncidentLog {
            id: "0a1b2c3d".to_owned(),
            key: "0123456789abcdef".to_owned(),
            host: "a.example".to_owned(),
            events: vec![event],
        },
        notified: BTreeMap::from([("mail".to_owned(), card)]),
    }
}

/// The value with each of its parts, at any depth, replaced by each odd value.
fn variants(value: &Json, odd: &[Json]) -> Vec<Json> {
    let mut all = odd.to_vec();
    match value {
        Json::Object(fields) => {
            for (key, inner) in fields {
                for inner in variants(inner, odd) {
                    let mut fields = fields.clone();
                    fields.insert(key.clone(), inner);
                    all.push(Json::Object(fields));
                }
            }
        }
        Json::Array(items) => {
            for inner in items.iter().flat_map(|item| variants(item, odd)) {
                all.push(json!([inner]));
            }
        }
        _ => {}
    }
    all
}

/// Checks that each variant of a value that its type can have comes back from the text of a file. Returns their
/// number.
fn come_back<T: Serialize + DeserializeOwned>(
    value: &T,
    to_file: impl Fn(T) -> IncidentFile,
) -> usize {
    let value = serde_json::to_value(value).unwrap();
    let possible = variants(&value, &odd_values());
    let possible = possible
        .into_iter()
        .filter_map(|it| serde_json::from_value(it).ok());
    let mut count = 0;
    for file in possible.map(to_file) {
        let is_joining = |event: &Event| event.urls.iter().all(|it| it.joining.is_some());
        if file
            .log
            .events
            .iter()
            .any(|event| event.event.joins() && !is_joining(event))
        {
            continue; // No run writes this, and the reader refuses it.
        }
        let text = to_text(&file).unwrap();
        let read = parse(&file.log.id, &text).map_err(|error| format!("{error:#}\n{text}"));
        assert!(read.as_ref() == Ok(&file), "{}", read.err().unwrap_or(text));
        count += 1;
    }
    count
}

#[test]
fn whatever_value_a_field_has_is_read_again() {
    let files = come_back(&event(), |event| file(event, NewestCard::default()));
    assert!(files > 500, "{files} variants of an event");
    let files = come_back(&card(), |card| file(Event::default(), card));
    assert!(files > 40, "{files} variants of a card");
}

#[test]
fn long_evidence_without_room_for_lines_is_read_again() {
    let mut event = event();
    event.evidence[0].promised.redirects_to = Some("x".repeat(5_000));
    let file = file(event, card());
    let read = parse("0a1b2c3d", &to_text(&file).unwrap()).unwrap();
    let cut = &read.log.events[0].evidence[0];
    assert_eq!(cut.text.as_ref().map(|text| text.lines.len()), Some(0));
}
