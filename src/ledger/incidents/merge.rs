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
/// A notifier's position goes back to the last event that both sides have: it may hear an event twice,
/// and misses none.
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
    let both = ours.events.iter().zip(&theirs.events);
    let shared = both.take_while(|(ours, theirs)| ours == theirs).count();
    let prefix = &ours.events[..shared];
    let tails = [&ours.events[shared..], &theirs.events[shared..]].map(by_run);
    let runs: BTreeSet<&String> = tails.iter().flat_map(BTreeMap::keys).collect();
    let tail = runs.into_iter().flat_map(|run| {
        let events = tails.iter().filter_map(|tail| tail.get(run));
        // A run appends once: the side with fewer events has lost some.
        let longest =
            events.max_by_key(|events| (events.len(), write_documents(events.iter().copied())));
        longest.cloned().unwrap_or_default()
    });
    let metadata = metadata(&ours.metadata, &theirs.metadata, prefix);
    let documents = [&metadata].into_iter().chain(prefix).chain(tail);
    let documents: Vec<Mapping> = documents.cloned().collect();
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
fn metadata(ours: &Mapping, theirs: &Mapping, prefix: &[Mapping]) -> Mapping {
    let mut merged = Mapping::new();
    for (key, value) in theirs.iter().chain(ours.iter()) {
        let greatest = greater(ours.get(key), theirs.get(key));
        merged.insert(key, greatest.unwrap_or(value).clone());
    }
    if ours.get("closed").is_none() || theirs.get("closed").is_none() {
        merged.remove("closed");
    }
    let empty = Mapping::new();
    let [ours, theirs] = [ours, theirs].map(|it| {
        let notified = it.get("notified").and_then(Value::as_map);
        notified.unwrap_or(&empty)
    });
    let mut notified = Mapping::new();
    for (name, _) in theirs.iter().chain(ours.iter()) {
        let [ours, theirs] = [ours, theirs].map(|it| it.get(name).and_then(Value::as_map));
        notified.insert(name, heard(ours, theirs, prefix));
    }
    if notified.is_empty() {
        merged.remove("notified");
    } else {
        merged.insert("notified", notified);
    }
    merged
}

/// The position of a notifier, with the later times and the facts of both sides.
fn heard(ours: Option<&Mapping>, theirs: Option<&Mapping>, prefix: &[Mapping]) -> Mapping {
    let empty = Mapping::new();
    let (ours, theirs) = (ours.unwrap_or(&empty), theirs.unwrap_or(&empty));
    let mut merged = Mapping::new();
    let is_filter = |key: &str| matches!(key, "filter" | "former");
    let others = theirs.iter().chain(ours.iter());
    for (key, value) in others.filter(|(key, _)| !is_filter(key)) {
        let both = (ours.get(key), theirs.get(key));
        let value = match both {
            (Some(Value::Map(ours)), Some(Value::Map(theirs))) => {
                let mut facts = Mapping::new();
                for (key, value) in theirs.iter().chain(ours.iter()) {
                    let greatest = greater(ours.get(key), theirs.get(key));
                    facts.insert(key, greatest.unwrap_or(value).clone());
                }
                Value::Map(facts)
            }
            (ours, theirs) => greater(ours, theirs).unwrap_or(value).clone(),
        };
        merged.insert(key, value);
    }
    let through = position(ours, prefix).max(position(theirs, prefix));
    match through.map(|position| id_of(&prefix[position])) {
        Some(through) => merged.insert("through", through),
        None => merged.remove("through"),
    };
    let (filter, former) = filters([ours, theirs], prefix);
    if let Some(filter) = filter {
        merged.insert("filter", filter);
    }
    if !former.is_empty() {
        merged.insert("former", Value::List(former));
    }
    merged
}

/// The last event of both sides that a notifier has heard.
fn position(heard: &Mapping, prefix: &[Mapping]) -> Option<usize> {
    let through = text_of(heard, "through")?;
    let known = prefix.iter().rposition(|event| id_of(event) == through);
    known.or(prefix.len().checked_sub(1))
}

/// The filter of the side that has heard more, and the former positions of both sides, to which that of the
/// other side belongs then.
fn filters(sides: [&Mapping; 2], prefix: &[Mapping]) -> (Option<Value>, Vec<Value>) {
    let text = |value: &Value| format!("{value:?}");
    let rank = |side: &&Mapping| (position(side, prefix), side.get("filter").map(text));
    let mut known = sides.map(|side| (side, side.get("filter")));
    known.sort_by_key(|(side, _)| rank(side));
    let [(less, other), (_, filter)] = known;
    let filter = filter.or(other);
    let lists = sides.into_iter().flat_map(|side| match side.get("former") {
        Some(Value::List(former)) => former.clone(),
        _ => vec![],
    });
    let mut former: Vec<Mapping> = lists
        .filter_map(|position| match position {
            Value::Map(position) => Some(position),
            _ => None,
        })
        .collect();
    if other.is_some() && other != filter {
        let keys = ["filter", "run-at", "through"];
        let values = keys.map(|key| Some((key, less.get(key)?.clone())));
        let mut moved = Mapping::new();
        for (key, value) in values.into_iter().flatten() {
            moved.insert(key, value);
        }
        former.push(moved);
    }
    let moved = former.into_iter().filter_map(|mut former| {
        let through = position(&former, prefix)?;
        former.insert("through", id_of(&prefix[through]));
        Some(Value::Map(former))
    });
    let mut former: Vec<Value> = moved.collect();
    former.sort_by_key(text);
    former.dedup();
    (filter.cloned(), former)
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

    /// An incident of these runs, of which a notifier has heard those up to the number.
    fn file(runs: &[u8], heard: usize, is_closed: bool) -> String {
        let id = |run: u8| format!("20261102T0417{run:02}Z-{run:08x}");
        let mut text = "---\n".to_owned();
        if is_closed {
            text += "closed: '2026-11-02T04:17:00Z'\n";
        }
        text += "format: 2\nhost: a.example\nkey: 0123456789abcdef\nnotified:\n  mail:\n";
        writeln!(text, "    run-at: '2026-11-02T04:17:{heard:02}Z'").unwrap();
        if let Some(last) = heard.checked_sub(1) {
            writeln!(text, "    through: {}", id(runs[last])).unwrap();
        }
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

    /// The same file, which the notifier heard under the filter of an owner.
    fn with_owner(file: &str, owner: &str) -> String {
        let filter = format!("  mail:\n    filter:\n      owners:\n      - {owner}\n");
        file.replace("  mail:\n", &filter)
    }

    #[test]
    fn a_filter_of_the_other_side_becomes_a_former_one() {
        let base = file(&[1, 2], 1, false);
        let ours = with_owner(&file(&[1, 2], 2, false), "gaia");
        let theirs = with_owner(&file(&[1, 2, 3], 1, false), "tess");
        let both = merged(&base, &ours, &theirs);
        insta::assert_snapshot!(both);
        // A side that did not change the filter adds nothing.
        let same = merged(
            &base,
            &ours,
            &with_owner(&file(&[1, 2, 3], 1, false), "gaia"),
        );
        assert!(!same.contains("former"), "{same}");
    }

    #[test]
    fn events_of_both_sides_come_in_the_order_of_their_runs() {
        let base = file(&[1, 2], 2, false);
        let merged = merged(
            &base,
            &file(&[1, 2, 5], 3, true),
            &file(&[1, 2, 4, 6], 2, false),
        );
        // The events after the second one may not have been heard, and the next run looks.
        let expected = file(&[1, 2, 4, 5, 6], 2, false);
        assert_eq!(
            merged,
            expected.replace("at: '2026-11-02T04:17:02Z'", "at: '2026-11-02T04:17:03Z'")
        );
    }

    proptest! {
        #[test]
        fn merges_commute_and_lose_no_event(
            shared in 0_u8..4,
            ours in prop::collection::btree_set(10_u8..60, 0..5),
            theirs in prop::collection::btree_set(10_u8..60, 0..5),
            heard in 0_usize..9,
            hears in 0_usize..9,
            closed in any::<(bool, bool)>(),
        ) {
            let runs = |own: &BTreeSet<u8>| -> Vec<u8> { (0..shared).chain(own.iter().copied()).collect() };
            let base = file(&runs(&BTreeSet::new()), 0, false);
            let [one, other] = [&ours, &theirs].map(runs);
            let first = file(&one, heard.min(one.len()), closed.0);
            let second = file(&other, hears.min(other.len()), closed.1);
            let text = merged(&base, &first, &second);
            for run in one.iter().chain(&other) {
                let id = format!("id: 20261102T0417{run:02}Z-{run:08x}\n");
                prop_assert_eq!(text.matches(&id).count(), 1);
            }
            if base != first && base != second && first != second {
                prop_assert_eq!(text.contains("closed:"), closed.0 && closed.1);
                // Equal new events are shared too.
                let equal = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
                let through = text.split("through: ").nth(1).map(|rest| &rest[..25]);
                let known = one[..equal].iter().map(|run| format!("20261102T0417{run:02}Z-{run:08x}"));
                let known: Vec<String> = known.collect();
                prop_assert!(through.is_none_or(|through| known.iter().any(|it| it == through)));
            }
        }
    }
}
