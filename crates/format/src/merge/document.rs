//! Merges the documents of three versions, each alone.

use std::borrow::Cow;

use super::comments::{merge_comments, merge_lines};
use super::matching::{RecordVersions, match_records, union_of_vary};
use super::values::{ValueMerge, merge_mappings};
use super::{ConflictKind, Side};
use crate::digest::Algorithm;
use crate::domain_file::DomainFile;
use crate::emit::KeyOrder;
use crate::entry::RecordEntry;
use crate::keys;
use crate::layout::Layout;
use crate::lint::lint_promise;
use crate::metadata::Metadata;
use crate::record::{ListOrder, Record, RecordIdentity};
use crate::split;
use crate::value::Mapping;

/// A merged file, not yet text.
pub(super) struct MergedFile<'a> {
    pub(super) head: MergedDocument<String>,
    /// The records with their positions in the sorted order, unsorted.
    pub(super) records: Vec<(RecordIdentity, MergedDocument<Cow<'a, RecordEntry>>)>,
    pub(super) footer: MergedDocument<String>,
}

/// A merged document, or its conflict.
pub(super) enum MergedDocument<T> {
    Clean(T),
    Conflict(Dispute),
}

/// The canonical texts of a document that was not merged. Each side has the other side's changes of
/// all keys that are no conflict, so that keeping one text loses no more than needed. If a key of the promise is
/// disputed, each text has the whole promise of its version.
pub(super) struct Dispute {
    pub(super) base: String,
    /// The base with the changes of both sides that are no conflict.
    pub(super) undisputed: String,
    pub(super) ours: String,
    pub(super) theirs: String,
    pub(super) kind: ConflictKind,
}

/// The keys that describe the same bytes.
const BYTES: [&str; 6] = [
    "content-length",
    "content-md5",
    "content-sha1",
    "content-sha256",
    "content-sha384",
    "content-sha512",
];

pub(super) fn merge_files(files: [&DomainFile; 3]) -> MergedFile<'_> {
    let [base, ours, theirs] = files.map(FileComments::of);
    let (head, metadata) = merge_heads(files, [&base.head, &ours.head, &theirs.head]);
    let fold = metadata.iter().any(Metadata::ignores_case);
    let merged_vary = union_of_vary(&metadata);
    let vary = union_of_vary(files.map(|file| &file.metadata));
    let records = match_records(files, fold, &vary)
        .into_iter()
        .filter_map(|versions| merge_record(versions, &merged_vary))
        .collect();
    let footer = match merge_lines([&base.footer, &ours.footer, &theirs.footer]) {
        Some(lines) => MergedDocument::Clean(text_of(&lines)),
        None => MergedDocument::Conflict(Dispute {
            base: text_of(&base.footer),
            undisputed: text_of(&base.footer),
            ours: text_of(&ours.footer),
            theirs: text_of(&theirs.footer),
            kind: ConflictKind::Keys(vec![]),
        }),
    };
    MergedFile {
        head,
        records,
        footer,
    }
}

/// The comments of a file that belong to no record.
struct FileComments<'a> {
    head: Cow<'a, Layout>,
    footer: Vec<String>,
}

impl<'a> FileComments<'a> {
    fn of(file: &'a DomainFile) -> Self {
        let footer: Vec<String> = split::comments(&file.footer)
            .into_iter()
            .map(str::to_owned)
            .collect();
        match &file.head {
            Some(head) => Self {
                head: Cow::Borrowed(head),
                footer,
            },
            // The canonical form has the comments of a file without documents above its metadata.
            None if file.segments.is_empty() => Self {
                head: Cow::Owned(Layout::of_comments(footer, vec![])),
                footer: vec![],
            },
            None => Self {
                head: Cow::Owned(Layout::default()),
                footer,
            },
        }
    }
}

fn text_of(lines: &[String]) -> String {
    lines.iter().flat_map(|line| [line, "\n"]).collect()
}

/// Merges the metadata documents. Also returns the merged metadata; both sides' metadata in a
/// conflict.
fn merge_heads(
    files: [&DomainFile; 3],
    layouts: [&Layout; 3],
) -> (MergedDocument<String>, Vec<Metadata>) {
    let mappings = files.map(|file| file.metadata.to_mapping());
    let text = |layout: &Layout, mapping: Mapping| {
        let metadata = Metadata::from_mapping(mapping);
        let text = layout.render(&metadata.fields(ListOrder::Sorted), KeyOrder::Sorted);
        (text, metadata)
    };
    let merged = merge_parts(mappings.each_ref(), layouts);
    match merged.conflict {
        None => {
            let (text, metadata) = text(&merged.ours.1, merged.ours.0);
            (MergedDocument::Clean(text), vec![metadata])
        }
        Some(kind) => {
            let [base, _, _] = mappings;
            let (base, _) = text(layouts[0], base);
            let (undisputed, _) = text(&merged.base.1, merged.base.0);
            let (ours, metadata) = text(&merged.ours.1, merged.ours.0);
            let (theirs, other) = text(&merged.theirs.1, merged.theirs.0);
            let dispute = Dispute {
                base,
                undisputed,
                ours,
                theirs,
                kind,
            };
            (MergedDocument::Conflict(dispute), vec![metadata, other])
        }
    }
}

/// Merges one record of a file with this `vary`; `None` if it is removed.
fn merge_record<'a>(
    [base, ours, theirs]: RecordVersions<'a>,
    vary: &[String],
) -> Option<(RecordIdentity, MergedDocument<Cow<'a, RecordEntry>>)> {
    let unchanged = |a: Option<&RecordEntry>, b: Option<&RecordEntry>| match (a, b) {
        (Some(a), Some(b)) => a.layout.source == b.layout.source || a.canonical() == b.canonical(),
        (None, None) => true,
        _ => false,
    };
    let clean = |entry: &'_ RecordEntry| entry.record.identity_with(false, vary);
    if unchanged(ours, theirs) || unchanged(base, theirs) {
        return ours.map(|it| (clean(it), MergedDocument::Clean(Cow::Borrowed(it))));
    }
    if unchanged(base, ours) {
        return theirs.map(|it| (clean(it), MergedDocument::Clean(Cow::Borrowed(it))));
    }
    let canonical =
        |entry: Option<&RecordEntry>| entry.map_or_else(String::new, RecordEntry::canonical);
    let (Some(our), Some(their)) = (ours, theirs) else {
        let left = ours.or(theirs)?;
        let dispute = Dispute {
            base: canonical(base),
            undisputed: canonical(base),
            ours: canonical(ours),
            theirs: canonical(theirs),
            kind: ConflictKind::RemovedAndChanged,
        };
        return Some((clean(left), MergedDocument::Conflict(dispute)));
    };
    let identity = clean(our).min(clean(their));
    let none = Layout::default();
    let mappings = [base, ours, theirs]
        .map(|entry| entry.map_or_else(Mapping::default, |it| it.record.to_mapping()));
    let layouts = [
        base.map_or(&none, |it| &it.layout),
        &our.layout,
        &their.layout,
    ];
    let mut merged = merge_parts(mappings.each_ref(), layouts);
    if merged.conflict.is_none() {
        let [base_mapping, our_mapping, their_mapping] = &mappings;
        match entry_of(merged.ours.0, merged.ours.1) {
            Some(entry) if !has_new_mistake(&entry, [our, their]) => {
                let identity = clean(&entry);
                return Some((identity, MergedDocument::Clean(Cow::Owned(entry))));
            }
            _ => {}
        }
        // The keys contradict each other only together: each version keeps its own.
        merged = MergedParts {
            base: (base_mapping.clone(), layouts[0].clone()),
            ours: (our_mapping.clone(), our.layout.clone()),
            theirs: (their_mapping.clone(), their.layout.clone()),
            conflict: Some(ConflictKind::Keys(changed_keys(our_mapping, their_mapping))),
        };
    }
    let text = |(mapping, layout): (Mapping, Layout)| canonical(entry_of(mapping, layout).as_ref());
    let dispute = Dispute {
        base: canonical(base),
        undisputed: text(merged.base),
        ours: text(merged.ours),
        theirs: text(merged.theirs),
        kind: merged.conflict.unwrap_or(ConflictKind::RemovedAndChanged),
    };
    Some((identity, MergedDocument::Conflict(dispute)))
}

fn entry_of(mapping: Mapping, layout: Layout) -> Option<RecordEntry> {
    let record = Record::from_mapping(mapping)?;
    Some(RecordEntry {
        record: Box::new(record),
        layout,
        intact: true,
        is_plain: false,
    })
}

/// Whether the merged record has a mistake that neither side has: a digest from one side, and
/// `method: HEAD` from the other.
fn has_new_mistake(merged: &RecordEntry, sides: [&RecordEntry; 2]) -> bool {
    let codes = |entry: &RecordEntry| {
        lint_promise(entry, &[])
            .into_iter()
            .map(|finding| finding.code)
            .collect::<Vec<_>>()
    };
    let known = sides.map(codes).concat();
    codes(merged).iter().any(|code| !known.contains(code))
}

fn changed_keys(ours: &Mapping, theirs: &Mapping) -> Vec<String> {
    let differs = |key: &&str| ours.get(key) != theirs.get(key);
    let keys: std::collections::BTreeSet<&str> = ours
        .iter()
        .chain(theirs.iter())
        .map(|(key, _)| key)
        .filter(differs)
        .collect();
    keys.into_iter().map(str::to_owned).collect()
}

/// The values and comments of a merged document. In a conflict, each version has its own values of the
/// disputed keys; else only `ours` has the result.
struct MergedParts {
    base: (Mapping, Layout),
    ours: (Mapping, Layout),
    theirs: (Mapping, Layout),
    conflict: Option<ConflictKind>,
}

fn rule(key: &str) -> ValueMerge {
    if keys::is_set(key) {
        ValueMerge::Set
    } else {
        ValueMerge::Keys
    }
}

fn merge_parts(mappings: [&Mapping; 3], layouts: [&Layout; 3]) -> MergedParts {
    let mut ours = merge_mappings(mappings, rule, Some(Side::Ours));
    let comments = merge_comments(layouts);
    let is_promise = |key: &String| keys::PROMISE.contains(&key.as_str());
    let mut disputes_promise = ours.conflicts.iter().any(is_promise);
    if !disputes_promise && mixes_bytes(mappings, &ours.mapping) {
        let is_promised = |key: &&str| mappings.iter().any(|side| side.get(key).is_some());
        let keys = BYTES.into_iter().filter(is_promised);
        ours.conflicts.extend(keys.map(str::to_owned));
        ours.conflicts.sort();
        disputes_promise = true;
    }
    if let (true, Some(comments)) = (ours.conflicts.is_empty(), &comments) {
        return MergedParts {
            base: (Mapping::new(), Layout::default()),
            ours: (ours.mapping, comments.clone()),
            theirs: (Mapping::new(), Layout::default()),
            conflict: None,
        };
    }
    let mut base = merge_mappings(mappings, rule, None);
    let mut theirs = merge_mappings(mappings, rule, Some(Side::Theirs));
    if disputes_promise {
        take_promise(&mut base.mapping, mappings[0]);
        take_promise(&mut ours.mapping, mappings[1]);
        take_promise(&mut theirs.mapping, mappings[2]);
    }
    let layout = |side: usize| comments.clone().unwrap_or_else(|| layouts[side].clone());
    MergedParts {
        base: (base.mapping, layout(0)),
        ours: (ours.mapping, layout(1)),
        theirs: (theirs.mapping, layout(2)),
        conflict: Some(ConflictKind::Keys(ours.conflicts)),
    }
}

/// Whether the merged record promises bytes that neither side has seen: one side replaced the length
/// or a digest, the other side gave another one of them. Two sides that add to a record agree on its bytes if
/// they share a digest.
fn mixes_bytes([base, ours, theirs]: [&Mapping; 3], merged: &Mapping) -> bool {
    let has = |side: &Mapping, key: &str| side.get(key).is_some();
    let replaces = |side: &Mapping| {
        let changes =
            |key: &&str| has(base, key) && has(side, key) && base.get(key) != side.get(key);
        let removes = |key: &&str| has(base, key) && !has(side, key);
        let adds = |key: &&str| !has(base, key) && has(side, key);
        BYTES.iter().any(changes) || BYTES.iter().any(removes) && BYTES.iter().any(adds)
    };
    let agrees = |side: &Mapping| {
        BYTES
            .iter()
            .filter_map(|key| Some((key, merged.get(key)?)))
            .all(|(key, value)| side.get(key) == Some(value))
    };
    let is_digest = |key: &&&str| Algorithm::of_key(key).is_some();
    let is_shared =
        |key: &&str| has(ours, key) && [base, theirs].map(|it| it.get(key)) == [ours.get(key); 2];
    let shares_digest = BYTES.iter().filter(is_digest).any(is_shared);
    (replaces(ours) || replaces(theirs) || !shares_digest) && !agrees(ours) && !agrees(theirs)
}

/// Gives `mapping` the promise of `side`: a promise of keys from both sides would be one that nobody made.
fn take_promise(mapping: &mut Mapping, side: &Mapping) {
    for key in keys::PROMISE {
        mapping.remove(key);
        if let Some(value) = side.get(key) {
            mapping.insert(*key, value.clone());
        }
    }
}
