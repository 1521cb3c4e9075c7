//! The words of the envelope: one message for a run or for an incident, within limits.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;
use urldb_protocol::{
    AffectedUrl, Because, Envelope, Evidence, Incident, MessageAction, MessageSeverity,
    MessageWords, Observed, Phase, State,
};
use urldb_render::{Each, MOST_INCIDENTS, Part, WordsWriter, parts};

const HTML: &str = include_str!("../../../templates/email.html");

fn example_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/envelope.example.json")
}

fn example() -> Envelope {
    serde_json::from_str(&fs::read_to_string(example_path()).unwrap()).unwrap()
}

fn write(envelope: &Envelope, part: &Part) -> Envelope {
    let writer = WordsWriter::new("chat", HTML.to_owned()).unwrap();
    writer.write(envelope, part).unwrap().envelope
}

fn words(envelope: &Envelope, part: &Part) -> MessageWords {
    *write(envelope, part).message.unwrap()
}

#[test]
fn the_published_example_has_the_words_that_the_code_makes() {
    let envelope = Envelope {
        message: None,
        ..example()
    };
    let written = write(&envelope, &Part::Run);
    let text = serde_json::to_string_pretty(&written).unwrap() + "\n";
    if env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(example_path(), &text).unwrap();
    }
    let published: Value =
        serde_json::from_str(&fs::read_to_string(example_path()).unwrap()).unwrap();
    assert!(
        published == serde_json::to_value(&written).unwrap(),
        "docs/envelope.example.json has other words. If the change is meant, run: \
         UPDATE_SCHEMA=1 cargo test -p urldb-render --test words"
    );
}

/// The example without news.
fn quiet() -> Envelope {
    let mut envelope = example();
    envelope.message = None;
    envelope.incidents.clear();
    envelope.findings.clear();
    envelope.mistakes.clear();
    envelope.fixed.clear();
    envelope
}

fn incident(id: &str, phase: Phase) -> Incident {
    let host = format!("{id}.example.org");
    let url = format!("https://{host}/a");
    let mut affected = AffectedUrl::of(&url);
    affected.file = format!("urldb/{host}.yaml");
    affected.left = (phase == Phase::Closed).then_some(Because::Recovered);
    affected.seen = Some(State::Gone);
    let since = "2026-11-20T14:04:02Z".parse().unwrap();
    let evidence = Evidence {
        url,
        observed: Observed {
            status: Some(404),
            ..Observed::default()
        },
        ..Evidence::default()
    };
    Incident {
        id: id.to_owned(),
        host_urls: 4,
        urls: vec![affected],
        evidence,
        ..Incident::group(phase, host, State::Gone, since)
    }
}

fn report(incidents: &[(&str, Phase)]) -> Envelope {
    let mut envelope = quiet();
    let incidents = incidents.iter();
    envelope.incidents = incidents.map(|(id, phase)| incident(id, *phase)).collect();
    envelope
}

/// For each message: its thread, action and severity.
fn messages(envelope: &Envelope, each: Each) -> Vec<String> {
    let parts = parts(envelope, each).into_iter();
    let text = |part: Part| {
        let words = words(envelope, &part);
        let thread = words.thread.as_deref().unwrap_or("-");
        format!("{thread} {:?} {:?}", words.action, words.severity)
    };
    parts.map(text).collect()
}

#[test]
fn each_incident_has_a_message_that_says_its_effect() {
    use Phase as P;
    let all = [
        ("a", P::Opened),
        ("b", P::Opened),
        ("c", P::Changed),
        ("d", P::Closed),
        ("e", P::Unchanged),
    ];
    let mut envelope = report(&all);
    assert_eq!(messages(&envelope, Each::Run), ["- Open Error"]);
    assert_eq!(
        messages(&envelope, Each::Incident),
        [
            "a Open Error",
            "b Open Error",
            "c Update Error",
            "d Close Info"
        ]
    );
    // A reminder is a message only of its own thread.
    envelope.incidents[4].reminder = true;
    assert_eq!(messages(&envelope, Each::Incident)[4], "e Remind Error");
    // Mistakes belong to no incident; a sixth message joins all.
    envelope.mistakes = example().mistakes;
    envelope.mistakes[0].new = true;
    assert_eq!(messages(&envelope, Each::Incident), ["- Open Error"]);
    let every = messages(&envelope, Each::EveryIncident);
    assert_eq!((every.len(), every[5].as_str()), (6, "- Open Error"));
    assert_eq!(MOST_INCIDENTS, 5);

    for (incidents, run) in [
        (vec![("c", P::Changed), ("d", P::Closed)], "- Update Error"),
        (vec![("d", P::Closed)], "- Close Info"),
        (vec![("d", P::Closed), ("e", P::Unchanged)], "- Close Info"),
        (vec![("e", P::Unchanged)], "- Update Error"),
        (vec![], "- Update Info"),
    ] {
        let envelope = report(&incidents);
        assert_eq!(messages(&envelope, Each::Run), [run], "{incidents:?}");
        let quiet = incidents.iter().all(|(_, phase)| *phase == P::Unchanged);
        let each = messages(&envelope, Each::Incident);
        assert_eq!(each[0].starts_with('-'), quiet, "{each:?}");
    }
    let mut reminder = report(&[("e", P::Unchanged)]);
    reminder.incidents[0].reminder = true;
    assert_eq!(messages(&reminder, Each::Run), ["- Remind Error"]);

    let mut fixed = quiet();
    fixed.fixed = example().fixed;
    assert_eq!(messages(&fixed, Each::Incident), ["- Close Info"]);
    fixed.mistakes = example().mistakes;
    fixed.mistakes[0].new = false;
    assert_eq!(
        messages(&fixed, Each::Run)[0].split(' ').nth(1),
        Some("Update")
    );

    let mut test = quiet();
    test.run.test = true;
    assert_eq!(messages(&test, Each::Incident), ["- Test Info"]);
}

#[test]
fn a_message_about_an_incident_has_its_facts_only() {
    let mut envelope = report(&[("a", Phase::Opened), ("b", Phase::Opened)]);
    envelope.mistakes = example().mistakes;
    envelope.findings = example().findings;
    let of_b = write(&envelope, &Part::Incident("b".to_owned()));
    let ids: Vec<&str> = of_b.incidents.iter().map(|it| it.id.as_str()).collect();
    assert_eq!(ids, ["b"]);
    assert!(of_b.mistakes.is_empty() && of_b.findings.is_empty());
    let words = of_b.message.unwrap();
    assert_eq!(words.thread.as_deref(), Some("b"));
    for text in [&words.text, &words.markdown, &words.html] {
        assert!(text.contains("b.example.org"), "{text}");
        assert!(!text.contains("a.example.org"), "{text}");
    }
    // The ids of messages differ, and are the same in each try.
    let run = envelope.run.id.as_str();
    assert_eq!(words.id, format!("{run}.b.chat"));
    assert_eq!(id_of(&envelope, &Part::Run), format!("{run}.chat"));
    assert_eq!(
        id_of(&envelope, &Part::Others),
        format!("{run}.others.chat")
    );
}

fn id_of(envelope: &Envelope, part: &Part) -> String {
    words(envelope, part).id
}

#[test]
fn an_incident_that_another_one_took_over_ends() {
    let mut envelope = report(&[("a", Phase::Closed), ("b", Phase::Unchanged)]);
    envelope.incidents[0].merged_into = Some("b".to_owned());
    let words = words(&envelope, &Part::Incident("a".to_owned()));
    assert_eq!(words.action, MessageAction::Close);
    assert_eq!(
        words.headline,
        "closed: incident a of a.example.org continues in incident b"
    );
    assert!(words.text.contains("continues in incident b"));
}

#[test]
fn lines_name_hosts_and_count_what_they_leave_out() {
    let mut envelope = report(&[]);
    for number in 0..400 {
        envelope
            .incidents
            .push(incident(&format!("host{number:03}"), Phase::Opened));
    }
    for number in 0..6_u16 {
        let mut other = incident(&format!("other{number}"), Phase::Opened);
        other.evidence.observed.status = Some(410 + number);
        envelope.incidents.push(other);
    }
    let words = words(&envelope, &Part::Run);
    assert_eq!(words.severity, MessageSeverity::Error);
    assert_eq!(words.lines.len(), 6, "{:?}", words.lines);
    let first = "broken: https://host000.example.org/";
    assert!(words.lines[0].starts_with(first), "{}", words.lines[0]);
    assert_eq!(words.lines[5], "and 401 more");
    assert!(words.commands.len() <= 20 && !words.commands.is_empty());
    assert_eq!(words.links[0].url, "https://sky.example.org/status/");
}
