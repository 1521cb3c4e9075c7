//! Promised bytes that the archive lost, in a notice: which are added, which have left, and which a reader does not know.

use std::collections::{BTreeSet, HashMap};

use urldb_protocol::{Because, LostContent, Notice};

use super::event::{EventUrl, MemberKey};

/// The facts of a run about promised bytes that the archive lost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EvidenceFacts {
    /// The URLs whose promised bytes are in no place of the archive, and that served others in this run.
    pub lost: Vec<LostEvidence>,
    /// The URLs of open notices whose promised bytes the archive has again, or whose promise has changed.
    pub ended: HashMap<MemberKey, Because>,
}

/// A URL whose promised bytes the archive lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostEvidence {
    /// The host that was asked.
    pub host: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The categories of its record.
    pub categories: Vec<String>,
    /// The URL and its bytes.
    pub content: LostContent,
}

/// The key of the URL of a lost content.
pub fn key_of_content(content: &LostContent) -> MemberKey {
    MemberKey {
        url: content.url.clone(),
        request: content.request.clone(),
        variant: content.variant.clone(),
    }
}

/// The contents that the archive still lacks.
pub fn lacking(notice: &Notice) -> impl Iterator<Item = &LostContent> {
    notice.lost.iter().filter(|content| content.left.is_none())
}

/// The notice after an event that adds contents to it: branches may add some each. An event that `opens` the notice
/// forgets the contents of its earlier time.
pub(super) fn joined(known: Option<&Notice>, added: &Notice, opens: bool) -> Notice {
    let known = known.filter(|known| known.kind == added.kind);
    let is_added = |content: &LostContent| {
        added
            .lost
            .iter()
            .any(|it| key_of_content(it) == key_of_content(content))
    };
    let lost: Vec<LostContent> = known
        .into_iter()
        .flat_map(|known| &known.lost)
        .filter(|content| !(is_added(content) || opens && content.left.is_some()))
        .chain(&added.lost)
        .cloned()
        .collect();
    let of_known = known.into_iter().flat_map(|known| &known.categories);
    counted(Notice {
        categories: categories(of_known.chain(&added.categories)),
        lost,
        ..added.clone()
    })
}

/// The notice after an event with which these URLs left it.
pub(super) fn left(known: &Notice, urls: &[EventUrl], because: Because) -> Notice {
    let mut notice = known.clone();
    for content in &mut notice.lost {
        let key = key_of_content(content);
        if urls.iter().any(|url| url.key == key) {
            content.left.get_or_insert(because);
        }
    }
    counted(notice)
}

fn counted(notice: Notice) -> Notice {
    Notice {
        endangered: Some(lacking(&notice).count() as u64),
        ..notice
    }
}

/// The notice as a reader sees it who knows `told`: the contents of which he does not know come first.
pub(super) fn compared(delivered: Option<&Notice>, now: &Notice) -> Notice {
    let is_known = |content: &LostContent| {
        let mut delivered = delivered.into_iter().flat_map(lacking);
        content.left.is_some() || delivered.any(|known| is_same(known, content))
    };
    let (known, mut lost): (Vec<_>, Vec<_>) = now.lost.iter().cloned().partition(is_known);
    let added = lost.len() as u64;
    lost.extend(known);
    Notice {
        lost,
        added: Some(added),
        ..now.clone()
    }
}

/// Whether both are the same bytes of one URL.
pub(super) fn is_same(one: &LostContent, other: &LostContent) -> bool {
    key_of_content(one) == key_of_content(other) && one.is_promised_by(&other.digests)
}

/// Sorted, each once.
pub(super) fn categories<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let all: BTreeSet<&String> = all.collect();
    all.into_iter().cloned().collect()
}
