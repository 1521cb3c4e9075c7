//! The envelope as the world sees it: its published example, and the schema of it.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use urldb_protocol::{Envelope, Evidence, PROTOCOL, Severity, Shown};

fn docs(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

fn example() -> String {
    fs::read_to_string(docs("envelope.example.json")).unwrap()
}

#[test]
fn the_published_example_goes_in_and_out_unchanged() {
    let envelope: Envelope = serde_json::from_str(&example()).unwrap();
    assert_eq!(envelope.protocol, PROTOCOL);
    assert!(envelope.findings.iter().any(|finding| finding.pending));
    assert!(
        envelope
            .findings
            .iter()
            .any(|finding| finding.severity == Severity::Warning)
    );
    assert!(
        envelope
            .incidents
            .iter()
            .any(|incident| !incident.id.is_empty())
    );

    let written = serde_json::to_value(&envelope).unwrap();
    assert_eq!(written, serde_json::from_str::<Value>(&example()).unwrap());
    let again: Envelope = serde_json::from_value(written).unwrap();
    assert_eq!(again, envelope);
}

#[test]
fn the_example_has_nothing_that_the_schema_does_not_describe() {
    let schema: Value =
        serde_json::from_str(&fs::read_to_string(docs("envelope.schema.json")).unwrap()).unwrap();
    let described = |name: &str| schema["$defs"][name]["properties"].as_object().unwrap();
    let example: Value = serde_json::from_str(&example()).unwrap();
    for (list, name) in [
        ("findings", "Finding"),
        ("mistakes", "Mistake"),
        ("fixed", "FixedMistake"),
        ("incidents", "Incident"),
    ] {
        let required = schema["$defs"][name]["required"].as_array().unwrap();
        for item in example[list].as_array().unwrap() {
            let item = item.as_object().unwrap();
            assert!(
                item.keys().all(|key| described(name).contains_key(key)),
                "{item:?}"
            );
            assert!(
                required
                    .iter()
                    .all(|key| item.contains_key(key.as_str().unwrap())),
                "{item:?}"
            );
        }
    }
}

#[test]
fn a_reader_ignores_what_a_later_version_adds() {
    let mut later: Value = serde_json::from_str(&example()).unwrap();
    later["something-new"] = Value::Bool(true);
    later["findings"][0]["something-new"] = Value::Null;
    let known: Envelope = serde_json::from_str(&example()).unwrap();
    assert_eq!(serde_json::from_value::<Envelope>(later).unwrap(), known);
}

/// A file of the ledger may come from anybody.
#[test]
fn text_that_is_read_is_as_harmless_as_text_that_is_made() {
    let long = "x".repeat(2 * Shown::LONGEST);
    let evidence = serde_json::json!({ "detail": format!("a\u{1b}[2J\u{202e}{long}") });
    let evidence: Evidence = serde_json::from_value(evidence).unwrap();
    assert!(evidence.detail.starts_with("a\u{fffd}[2J\u{fffd}xxx"));
    assert_eq!(evidence.detail.chars().count(), Shown::LONGEST);
    let written = serde_json::to_value(&evidence).unwrap();
    assert_eq!(written["detail"], evidence.detail.as_str());
}
