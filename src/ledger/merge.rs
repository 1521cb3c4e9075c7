//! Three-way merge of the files of the ledger. A merge leaves no conflict, and gives the same result
//! from both sides.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use jiff::Timestamp;
use urldb_format::{
    Mapping, Schema, Side, UnreadableVersion, Value, ValueMerge, Versions, merge_mappings,
    read_documents, write_documents,
};

/// The values of a file that may be of a newer program: every scalar keeps its source text.
const SCHEMA: Schema = Schema {
    integers: &[],
    booleans: &[],
    is_known: |_| false,
};

/// The keys that identify an entry, in the order in which entries are sorted: those of a URL in a ledger file,
/// `url` for an incident's file and for records about hosts, and `place` for the checks of the archive's places.
const IDENTITY: [&str; 7] = [
    "_path", "url", "place", "request", "variant", "alias", "scheme",
];

/// The keys that identify a document.
type Identity = [Option<String>; IDENTITY.len()];

/// The documents of a file by identity, numbered if it repeats. The metadata has none, and comes first.
type Documents = BTreeMap<(Identity, usize), Mapping>;

/// Merges the versions of a ledger file or of an incident's file: document by document. `None` if the
/// file is gone.
///
/// A document that one side changed or removed is that side's. Of an entry that both changed, the
/// version with the later `updated` counts, and two versions of one state have the earlier `since`. An
/// capture that one side found lost is in the result only if the other side made it since. An
/// entry that one side removed and the other changed stays, and so does such a file: the next run over
/// the whole database removes both if their records are gone. The metadata of a file merges key by key;
/// of two new values of a key, that of the later version counts.
///
/// # Errors
/// If both sides changed the file, and a version is not YAML.
pub fn merge(versions: Versions) -> Result<Option<Vec<u8>>, UnreadableVersion> {
    if let Some(bytes) = versions.undisputed() {
        return Ok(bytes.map(<[u8]>::to_vec));
    }
    let base = read(versions.base, "the common ancestor")?;
    let (ours, theirs) = (
        read(versions.ours, "ours")?,
        read(versions.theirs, "theirs")?,
    );
    if versions.ours.is_none() || versions.theirs.is_none() {
        let (changed, bytes) = match versions.ours {
            Some(_) => (ours, versions.ours),
            None => (theirs, versions.theirs),
        };
        return Ok(bytes.filter(|_| changed != base).map(<[u8]>::to_vec));
    }
    let keys: std::collections::BTreeSet<_> = base
        .keys()
        .chain(ours.keys())
        .chain(theirs.keys())
        .collect();
    let merged: Vec<Mapping> = keys
        .into_iter()
        .filter_map(|key| {
            let is_entry = key.0.iter().any(Option::is_some);
            merge_document([base.get(key), ours.get(key), theirs.get(key)], is_entry)
        })
        .collect();
    Ok(Some(write_documents(&merged).into_bytes()))
}

/// Merges the versions of the history: the lines of both sides, each once. `None` if the file is gone.
pub fn merge_history(versions: Versions) -> Option<Vec<u8>> {
    if let Some(bytes) = versions.undisputed() {
        return bytes.map(<[u8]>::to_vec);
    }
    let lines = |bytes: Option<&[u8]>| -> Vec<Vec<u8>> {
        bytes
            .unwrap_or_default()
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(<[u8]>::to_vec)
            .collect()
    };
    let base = lines(versions.base);
    let mut added = [versions.ours, versions.theirs].map(|side| without(lines(side), &base));
    added.sort();
    let [first, second] = added;
    let second = without(second, &first);
    Some(
        base.into_iter()
            .chain(first)
            .chain(second)
            .flat_map(|line| [line, vec![b'\n']].concat())
            .collect(),
    )
}

/// The lines that are not among `others`; a line that occurs more often stays as often as that.
fn without(lines: Vec<Vec<u8>>, others: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut counts: BTreeMap<&[u8], usize> = BTreeMap::new();
    for line in others {
        *counts.entry(line).or_default() += 1;
    }
    let is_new = |line: &Vec<u8>| match counts.get_mut(line.as_slice()) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    lines.into_iter().filter(is_new).collect()
}

fn read(bytes: Option<&[u8]>, name: &'static str) -> Result<Documents, UnreadableVersion> {
    let unreadable = |line, message: &str| UnreadableVersion {
        name,
        line,
        message: message.to_owned(),
    };
    let text = std::str::from_utf8(bytes.unwrap_or_default())
        .map_err(|_| unreadable(1, "the file is not UTF-8"))?;
    let (documents, findings) = read_documents(text, &SCHEMA);
    if let Some(finding) = findings.first() {
        return Err(unreadable(finding.line, &finding.message));
    }
    let mut repeats: BTreeMap<Identity, usize> = BTreeMap::new();
    Ok(documents
        .into_iter()
        .map(|document| {
            let identity = IDENTITY.map(|key| text_of(&document.mapping, key));
            let repeat = repeats.entry(identity.clone()).or_default();
            *repeat += 1;
            ((identity, *repeat), document.mapping)
        })
        .collect())
}

fn merge_document([base, ours, theirs]: [Option<&Mapping>; 3], is_entry: bool) -> Option<Mapping> {
    if ours == theirs || base == theirs {
        return ours.cloned();
    }
    if base == ours {
        return theirs.cloned();
    }
    let (Some(ours), Some(theirs)) = (ours, theirs) else {
        return ours.or(theirs).cloned();
    };
    let later = match compare(ours, theirs) {
        Ordering::Less => Side::Theirs,
        _ => Side::Ours,
    };
    if is_entry {
        let prefer = side_of_lost_capture(base, ours, theirs).unwrap_or(later);
        return Some(match prefer {
            Side::Ours => with_earlier_times(ours, theirs),
            Side::Theirs => with_earlier_times(theirs, ours),
        });
    }
    let empty = Mapping::new();
    let versions = [base.unwrap_or(&empty), ours, theirs];
    let rule = |key: &str| match key {
        "threads" => ValueMerge::Keys,
        // The evidence of one run, or the dates of one certificate.
        _ => ValueMerge::Whole,
    };
    Some(merge_mappings(versions, rule, Some(later)).mapping)
}

/// Compares two versions of a document by when a run last changed them. Versions without `updated`
/// compare by their latest other time, then by the runs of their doubt, and at last by their bytes.
fn compare(a: &Mapping, b: &Mapping) -> Ordering {
    let last = |mapping: &Mapping| {
        let times = ["since", "pending-since", "opened", "closed", "lost"];
        let captured = mapping
            .get("capture")
            .and_then(Value::as_map)
            .and_then(|capture| moment(capture, "date"));
        times
            .iter()
            .map(|key| moment(mapping, key))
            .chain([captured])
            .max()
    };
    let updated = (moment(a, "updated"), moment(b, "updated"));
    let by_update = if let (Some(a), Some(b)) = updated {
        a.cmp(&b)
    } else {
        last(a).cmp(&last(b))
    };
    let count = |mapping: &Mapping| {
        let count = text_of(mapping, "pending-count");
        count.and_then(|count| count.parse::<u64>().ok())
    };
    by_update
        .then_with(|| count(a).cmp(&count(b)))
        .then_with(|| write_documents([a]).cmp(&write_documents([b])))
}

/// The version of an entry that counts where one side found its capture lost: the other one if that has captured the
/// same content again, else the one without capture, so that the next run asks without condition.
fn side_of_lost_capture(base: Option<&Mapping>, ours: &Mapping, theirs: &Mapping) -> Option<Side> {
    let is_lost = |mapping: &Mapping| mapping.get("lost").is_some();
    let (lost, other, [own_side, other_side]) = match (is_lost(ours), is_lost(theirs)) {
        (true, false) => (ours, theirs, [Side::Ours, Side::Theirs]),
        (false, true) => (theirs, ours, [Side::Theirs, Side::Ours]),
        _ => return None,
    };
    let capture = other.get("capture");
    let is_new = capture.is_some() && capture != base.and_then(|base| base.get("capture"));
    let is_same_content = lost.get("digest") == other.get("digest");
    Some(if is_new && is_same_content {
        other_side
    } else {
        own_side
    })
}

/// The entry `chosen`, with the `since` of `other` if that is earlier and the state is the same, and likewise with its
/// `lost` if the content is the same.
fn with_earlier_times(chosen: &Mapping, other: &Mapping) -> Mapping {
    let mut merged = chosen.clone();
    for (key, of_what) in [("since", "state"), ("lost", "digest")] {
        let is_same = chosen.get(of_what).is_some() && chosen.get(of_what) == other.get(of_what);
        if let (true, Some(time)) = (is_same, other.get(key))
            && moment(other, key) < moment(chosen, key)
        {
            merged.insert(key, time.clone());
        }
    }
    merged
}

fn moment(mapping: &Mapping, key: &str) -> Option<Timestamp> {
    text_of(mapping, key)?.parse().ok()
}

fn text_of(mapping: &Mapping, key: &str) -> Option<String> {
    mapping.get(key)?.as_scalar().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn versions<'a>(base: &'a str, ours: &'a str, theirs: &'a str) -> Versions<'a> {
        let [base, ours, theirs] = [base, ours, theirs].map(|text| Some(text.as_bytes()));
        Versions { base, ours, theirs }
    }

    /// The merged text, the same from both sides.
    #[track_caller]
    fn merged(base: &str, ours: &str, theirs: &str) -> String {
        let there = merge(versions(base, ours, theirs)).unwrap().unwrap();
        let back = merge(versions(base, theirs, ours)).unwrap().unwrap();
        assert_eq!(there, back);
        String::from_utf8(there).unwrap()
    }

    fn entry(path: &str, state: &str, since: u8, more: &str) -> String {
        format!("---\n_path: {path}\n{more}since: '2026-11-{since:02}T00:00:00Z'\nstate: {state}\n")
    }

    fn file(entries: &[String]) -> String {
        format!("---\n{}", entries.concat())
    }

    #[test]
    fn the_later_update_counts_and_equal_states_have_the_earlier_since() {
        let updated = |day: u8| format!("updated: '2026-11-{day:02}T00:00:00Z'\n");
        let of = |state, since, day| {
            file(&[format!("{}{}", entry("/a", state, since, ""), updated(day))])
        };
        let base = of("ok", 1, 1);
        assert_eq!(
            merged(&base, &of("gone", 2, 5), &of("gone", 3, 4)),
            of("gone", 2, 5)
        );
        assert_eq!(
            merged(&base, &of("gone", 3, 4), &of("gone", 2, 3)),
            of("gone", 2, 4)
        );
        assert_eq!(
            merged(&base, &of("changed", 2, 5), &of("gone", 3, 4)),
            of("changed", 2, 5)
        );
        let half = of("gone", 4, 4).replace("T00:00:00Z'\nstate", "T00:00:00.5Z'\nstate");
        assert_eq!(merged(&base, &half, &of("gone", 4, 3)), of("gone", 4, 4));
    }

    #[test]
    fn without_an_update_the_later_time_counts() {
        let pending = "pending: gone\npending-count: 2\npending-since: '2026-11-05T00:00:00Z'\n";
        let base = file(&[entry("/a", "ok", 1, "digest: sha256:1\n")]);
        let doubt = file(&[entry("/a", "ok", 1, pending)]);
        let news = file(&[entry("/a", "changed", 4, "digest: sha256:2\n")]);
        assert_eq!(merged(&base, &doubt, &news), doubt);
        let more = doubt.replace("count: 2", "count: 10");
        assert_eq!(merged(&base, &doubt, &more), more);
        let (one, two) = (base.replace(":1", ":3"), base.replace(":1", ":4"));
        assert_eq!(merged(&base, &one, &two), two);
    }

    #[test]
    fn of_two_captures_the_later_one_counts() {
        let captured = |digest, day: u8| {
            let date = format!("capture:\n  date: '2026-11-{day:02}T00:00:00Z'\n");
            file(&[format!("---\n_path: /a\n{date}digest: sha256:{digest}\n")])
        };
        let base = captured(5, 1);
        let (ours, theirs) = (captured(1, 3), captured(9, 2));
        assert_eq!(merged(&base, &ours, &theirs), ours);
    }

    #[test]
    fn a_lost_capture_comes_back_only_with_a_new_capture() {
        let content = |digest, file: Option<&str>, lost: Option<u8>| {
            let file = file
                .map(|file| format!("capture:\n  date: '2026-11-04T00:00:00Z'\n  file: {file}\n"));
            let lost = lost.map(|day| format!("lost: '2026-11-{day:02}T00:00:00Z'\n"));
            let [file, lost] = [file, lost].map(Option::unwrap_or_default);
            format!("---\n---\n_path: /a\n{file}digest: sha256:{digest}\n{lost}")
        };
        let base = content(1, Some("a"), None);
        let early = content(1, None, Some(3));
        let late = content(1, None, Some(5));
        // The first run that missed it counts.
        assert_eq!(merged(&base, &early, &late), early);
        // The same bytes were captured again, before or after the loss; or other bytes, or only their ETag is new.
        let again = content(1, Some("b"), None);
        let other = content(2, Some("c"), None);
        let touched = base.clone() + "etag: e\n";
        for lost in [&early, &late] {
            assert_eq!(merged(&base, lost, &again), again);
            assert_eq!(merged(&base, lost, &other), *lost);
            assert_eq!(merged(&base, lost, &touched), *lost);
        }
        let both = [(1, 3), (2, 5)].map(|(digest, day)| content(digest, None, Some(day)));
        assert_eq!(merged(&base, &both[0], &both[1]), both[1]);
    }

    #[test]
    fn entries_are_added_and_removed_by_either_side() {
        let [a, b, c] = ["/a", "/b", "/c"].map(|path| entry(path, "ok", 1, ""));
        let https = entry("/a", "ok", 1, "").replace("since", "scheme: https\nsince");
        let base = file(&[a.clone(), b.clone()]);
        let (ours, theirs) = (
            file(&[a.clone(), b.clone(), c.clone()]),
            file(&[a.clone(), https.clone()]),
        );
        assert_eq!(merged(&base, &ours, &theirs), file(&[a.clone(), https, c]));
        let changed = entry("/b", "gone", 2, "");
        let (ours, theirs) = (
            file(&[a.clone(), changed.clone()]),
            file(std::slice::from_ref(&a)),
        );
        assert_eq!(merged(&base, &ours, &theirs), file(&[a, changed]));
    }

    #[test]
    fn documents_without_a_path_merge_by_key() {
        // The URLs of an incident are entries, and its evidence is that of one run.
        let base = "---\nevidence:\n  length: 1\nthreads:\n  ops:\n    message-id: m\n";
        let url =
            |number: u8, line: u8| format!("---\nline: {line}\nurl: http://a.example/{number}\n");
        let ours = base.replace("length: 1", "length: 2") + &url(1, 1);
        let theirs = base.replace("threads:\n", "threads:\n  issues:\n    issue: 7\n") + &url(2, 2);
        let both = "---\nevidence:\n  length: 2\nthreads:\n  issues:\n    issue: 7\n  ops:\n    message-id: m\n";
        assert_eq!(
            merged(base, &ours, &theirs),
            both.to_owned() + &url(1, 1) + &url(2, 2)
        );
        let more = theirs.replace("length: 1", "length: 1\n  tried: 3");
        let either = merged(base, &ours, &more);
        assert!(
            either.contains("length: 2\nthreads") || either.contains("length: 1\n  tried: 3\n"),
            "{either}"
        );
        let close =
            |day| format!("---\nclosed: day {day}\nid: 1f\nupdated: '2026-11-{day}T00:00:00Z'\n");
        assert_eq!(
            merged("---\nid: 1f\n", &close("04"), &close("05")),
            close("05")
        );
    }

    #[test]
    fn a_file_that_one_side_removed_stays_if_the_other_changed_it() {
        let base = file(&[entry("/a", "ok", 1, "")]);
        let changed = file(&[entry("/a", "gone", 2, "")]);
        let of = |theirs| Versions {
            base: Some(base.as_bytes()),
            ours: None,
            theirs,
        };
        assert_eq!(merge(of(Some(base.as_bytes()))), Ok(None));
        let quoted = base.replace("_path: /a", "_path: '/a'");
        assert_eq!(merge(of(Some(quoted.as_bytes()))), Ok(None));
        assert_eq!(
            merge(of(Some(changed.as_bytes()))),
            Ok(Some(changed.clone().into_bytes()))
        );
        let broken = merge(of(Some(b"---\n_path: [\n"))).unwrap_err();
        assert_eq!((broken.name, broken.line), ("theirs", 2));
    }

    #[test]
    fn the_history_has_the_lines_of_both_sides() {
        let history = |base, ours, theirs| {
            String::from_utf8(merge_history(versions(base, ours, theirs)).unwrap()).unwrap()
        };
        assert_eq!(history("1\n", "1\n2\n2\n", "1\n3\n2\n"), "1\n2\n2\n3\n");
        assert_eq!(history("1\n", "1\n3\n2", "1\n2\n2\n"), "1\n2\n2\n3\n");
        assert_eq!(history("", "2\n", "1\n"), "1\n2\n");
    }

    /// Files of few paths, states and times, so that sides often meet.
    fn any_file() -> impl Strategy<Value = Option<String>> {
        let state = prop::sample::select(vec!["ok", "gone", "changed"]);
        let updated = prop::option::of(1..4_u8);
        let lost = prop::option::of(1..4_u8);
        let entry = (state, 1..4_u8, updated, 0..3_u8, lost).prop_map(
            |(state, since, updated, digest, lost)| {
                let date = |key, day: Option<u8>| {
                    let line = day.map(|day| format!("{key}: '2026-11-0{day}T00:00:00Z'\n"));
                    line.unwrap_or_default()
                };
                let capture = format!("capture:\n  file: {since}\n");
                let capture = Some(capture).filter(|_| lost.is_none());
                let digest = format!("digest: sha256:{digest}\n");
                let more = capture.unwrap_or_default() + &digest + &date("lost", lost);
                entry("PATH", state, since, &more) + &date("updated", updated)
            },
        );
        let entries = prop::collection::btree_map("/[a-c]", entry, 0..3);
        let certificate = prop::option::of(1..4_u8);
        prop::option::weighted(
            0.9,
            (entries, certificate).prop_map(|(entries, certificate)| {
                let end = |day| format!("certificate:\n  not-after: '2026-11-0{day}T00:00:00Z'\n");
                let head = certificate.map(end).unwrap_or_default();
                let entries = entries
                    .iter()
                    .map(|(path, text)| text.replace("PATH", path));
                format!("---\n{head}{}", entries.collect::<String>())
            }),
        )
    }

    proptest! {
        #[test]
        fn both_sides_get_one_result(base in any_file(), ours in any_file(), theirs in any_file()) {
            let bytes = |text: &Option<String>| text.clone().map(String::into_bytes);
            let [b, o, t] = [&base, &ours, &theirs].map(bytes);
            let of = |base: &Option<Vec<u8>>, ours: &Option<Vec<u8>>, theirs: &Option<Vec<u8>>| {
                let [base, ours, theirs] = [base, ours, theirs].map(|it| it.as_deref());
                merge(Versions { base, ours, theirs }).unwrap()
            };
            let result = of(&b, &o, &t);
            prop_assert_eq!(&result, &of(&b, &t, &o));
            prop_assert_eq!(of(&b, &o, &b), o.clone());
            prop_assert_eq!(of(&b, &o, &o), o.clone());
            if let Some(result) = &result {
                let text = String::from_utf8(result.clone()).unwrap();
                let (_, findings) = read_documents(&text, &SCHEMA);
                prop_assert!(findings.is_empty());
            }
            let paths = |text: &Option<Vec<u8>>| -> Vec<String> {
                let text = String::from_utf8(text.clone().unwrap_or_default()).unwrap();
                text.lines().filter_map(|line| line.strip_prefix("_path: ")).map(str::to_owned).collect()
            };
            for path in ["/a", "/b", "/c"] {
                let has = |text| paths(text).iter().any(|it| it == path);
                let kept = has(&result);
                prop_assert!(!kept || has(&o) || has(&t), "{} is revived", path);
                prop_assert!(kept || !(has(&o) && has(&t)), "{} is lost", path);
                prop_assert!(kept || has(&b) || !(has(&o) || has(&t)), "{} is lost", path);
            }
        }
    }
}
