//! Three-way merge of an incident's file: the events that both sides have, then those of either side in the
//! order of their runs.

use std::collections::{BTreeMap, BTreeSet};

use urldb_format::{
    Mapping, Schema, UnreadableVersion, Value, Versions, read_documents, write_documents,
};

/// The values of a file that may be of a newer program: every scalar keeps its source text.
const SCHEMA: Schema = Schema {
    integers: &[],
    booleans: &[],
    is_known: |_| false,
};

/// The documents of a file.
#[derive(Default)]
struct Documents {
    metadata: Mapping,
    events: Vec<Mapping>,
}

/// Merges the versions of an incident's file. `None` if the file is gone.
///
/// Of the newest cards that both sides delivered, the later one counts: the next run sees that it differs from the
/// merged incident.
///
/// # Errors
/// If both sides changed the file, and a version is not YAML.
pub fn merge(versions: Versions) -> Result<Option<Vec<u8>>, UnreadableVersion> {
    if let Some(bytes) = versions.undisputed() {
        return Ok(bytes.map(<[u8]>::to_vec));
    }
    let (Some(ours), Some(theirs)) = (versions.ours, versions.theirs) else {
        // A side that removed the file did not know the new events.
        return Ok(versions.ours.or(versions.theirs).map(<[u8]>::to_vec));
    };
    let (ours, theirs) = (read(ours, "ours")?, read(theirs, "theirs")?);
    let shared = ours
        .events
        .iter()
        .zip(&theirs.events)
        .take_while(|(ours, theirs)| ours == theirs)
        .count();
    let prefix = &ours.events[..shared];
    let tails = [&ours.events[shared..], &theirs.events[shared..]].map(by_run);
    let runs: BTreeSet<&String> = tails.iter().flat_map(BTreeMap::keys).collect();
    let tail = runs.into_iter().flat_map(|run| {
        let events = tails.iter().filter_map(|tail| tail.get(run));
        // A run appends once: the side with fewer events has lost some.
        events
            .max_by_key(|events| (events.len(), write_documents(events.iter().copied())))
            .cloned()
            .unwrap_or_default()
    });
    let metadata = metadata(&ours.metadata, &theirs.metadata);
    let documents: Vec<Mapping> = [&metadata]
        .into_iter()
        .chain(prefix)
        .chain(tail)
        .cloned()
        .collect();
    Ok(Some(write_documents(&documents).into_bytes()))
}

fn read(bytes: &[u8], name: &'static str) -> Result<Documents, UnreadableVersion> {
    let unreadable = |line, message: &str| UnreadableVersion {
        name,
        line,
        message: message.to_owned(),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| unreadable(1, "the file is not UTF-8"))?;
    let (documents, findings) = read_documents(text, &SCHEMA);
    if let Some(finding) = findings.first() {
        return Err(unreadable(finding.line, &finding.message));
    }
    let mut documents = documents.into_iter().map(|document| document.mapping);
    Ok(Documents {
        metadata: documents.next().unwrap_or_default(),
        events: documents.collect(),
    })
}

/// The events by the ids of their runs, which begin with a time.
fn by_run(events: &[Mapping]) -> BTreeMap<String, Vec<&Mapping>> {
    let mut by_run: BTreeMap<String, Vec<&Mapping>> = BTreeMap::new();
    for event in events {
        by_run.entry(id_of(event)).or_default().push(event);
    }
    by_run
}

fn id_of(event: &Mapping) -> String {
    text_of(event, "id").unwrap_or_default()
}

/// The metadata. An incident is closed for sure only if both sides know so: otherwise the next run looks.
fn metadata(ours: &Mapping, theirs: &Mapping) -> Mapping {
    let mut merged = Mapping::new();
    for (key, value) in theirs.iter().chain(ours.iter()) {
        let greatest = greater(ours.get(key), theirs.get(key));
        merged.insert(key, greatest.unwrap_or(value).clone());
    }
    if ours.get("closed").is_none() || theirs.get("closed").is_none() {
        merged.remove("closed");
    }
    let empty = Mapping::new();
    let [ours, theirs] =
        [ours, theirs].map(|it| it.get("notified").and_then(Value::as_map).unwrap_or(&empty));
    let mut notified = Mapping::new();
    for (name, _) in theirs.iter().chain(ours.iter()) {
        let [ours, theirs] = [ours, theirs].map(|it| it.get(name).and_then(Value::as_map));
        notified.insert(name, newest(ours, theirs));
    }
    if notified.is_empty() {
        merged.remove("notified");
    } else {
        merged.insert("notified", notified);
    }
    merged
}

/// The later of two newest cards, with the facts of both sides.
fn newest(ours: Option<&Mapping>, theirs: Option<&Mapping>) -> Mapping {
    let empty = Mapping::new();
    let (ours, theirs) = (ours.unwrap_or(&empty), theirs.unwrap_or(&empty));
    let rank = |card: &&Mapping| (text_of(card, "at"), format!("{card:?}"));
    let mut merged = ours.clone();
    if rank(&theirs) > rank(&ours) {
        merged = theirs.clone();
    }
    let facts = |card: &Mapping| card.get("facts").and_then(Value::as_map).cloned();
    let (ours, theirs) = (
        facts(ours).unwrap_or_default(),
        facts(theirs).unwrap_or_default(),
    );
    let mut facts = Mapping::new();
    for (key, value) in theirs.iter().chain(ours.iter()) {
        let greatest = greater(ours.get(key), theirs.get(key));
        facts.insert(key, greatest.unwrap_or(value).clone());
    }
    if !facts.is_empty() {
        merged.insert("facts", facts);
    }
    merged
}

/// The greater of two values; the other one if one is missing.
fn greater<'a>(one: Option<&'a Value>, other: Option<&'a Value>) -> Option<&'a Value> {
    let key = |value: &Value| match value.as_scalar() {
        Some(text) => text.to_owned(),
        None => format!("{value:?}"),
    };
    match (one, other) {
        (Some(one), Some(other)) if key(one) < key(other) => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

fn text_of(mapping: &Mapping, key: &str) -> Option<String> {
    mapping.get(key)?.as_scalar().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    /// An incident of these runs, of which a notifier delivered a card in this second.
    fn file(runs: &[u8], second: usize, is_closed: bool) -> String {
        let id = |run: u8| format!("20261102T0417{run:02}Z-{run:08x}");
        let mut text = "---\n".to_owned();
        if is_closed {
            text += "closed: '2026-11-02T04:17:00Z'\n";
        }
        text += "format: 2\nhost: a.example\nkey: 0123456789abcdef\nnotified:\n  mail:\n";
        writeln!(text, "    at: '2026-11-02T04:17:{second:02}Z'").unwrap();
        writeln!(text, "    digest: '{second:016}'").unwrap();
        for run in runs {
            write!(text, "---\nevent: grown\nid: {}\n", id(*run)).unwrap();
        }
        text
    }

    fn merged(base: &str, ours: &str, theirs: &str) -> String {
        let versions = |ours: &str, theirs: &str| {
            let [base, ours, theirs] = [base, ours, theirs].map(str::as_bytes);
            let (base, ours, theirs) = (Some(base), Some(ours), Some(theirs));
            merge(Versions { base, ours, theirs }).unwrap().unwrap()
        };
        let there = versions(ours, theirs);
        assert_eq!(there, versions(theirs, ours));
        String::from_utf8(there).unwrap()
    }

    #[test]
    fn the_later_card_counts_with_the_facts_of_both_sides() {
        let base = file(&[1, 2], 1, false);
        let with = |file: String, fact: &str| {
            let facts = format!("  mail:\n    facts:\n      {fact}\n");
            file.replace("  mail:\n", &facts)
        };
        let ours = with(file(&[1, 2], 2, false), "issue: '7'");
        let theirs = with(file(&[1, 2, 3], 4, false), "message-id: 1@a.example");
        insta::assert_snapshot!(merged(&base, &ours, &theirs));
    }

    #[test]
    fn events_of_both_sides_come_in_the_order_of_their_runs() {
        let base = file(&[1, 2], 2, false);
        let merged = merged(
            &base,
            &file(&[1, 2, 5], 3, true),
            &file(&[1, 2, 4, 6], 2, false),
        );
        // The next run looks whether the card says so.
        assert_eq!(merged, file(&[1, 2, 4, 5, 6], 3, false));
    }

    proptest! {
        #[test]
        fn merges_commute_and_lose_no_event(
            shared in 0_u8..4,
            ours in prop::collection::btree_set(10_u8..60, 0..5),
            theirs in prop::collection::btree_set(10_u8..60, 0..5),
            at in 0_usize..9,
            other_at in 0_usize..9,
            closed in any::<(bool, bool)>(),
        ) {
            let runs = |own: &BTreeSet<u8>| -> Vec<u8> { (0..shared).chain(own.iter().copied()).collect() };
            let base = file(&runs(&BTreeSet::new()), 0, false);
            let [one, other] = [&ours, &theirs].map(runs);
            let first = file(&one, at, closed.0);
            let second = file(&other, other_at, closed.1);
            let text = merged(&base, &first, &second);
            for run in one.iter().chain(&other) {
                let id = format!("id: 20261102T0417{run:02}Z-{run:08x}\n");
                prop_assert_eq!(text.matches(&id).count(), 1);
            }
            if base != first && base != second && first != second {
                prop_assert_eq!(text.contains("closed:"), closed.0 && closed.1);
            }
        }
    }
}
