//! The notice `evidence-lost`: the archive lost its copy of promised bytes, and the server serves others by now.

use std::collections::{BTreeMap, HashMap};

use urldb_protocol::{Because, EventKind, LostContent, Notice, NoticeKind};

use super::edit::RunEdit;
use super::event::{Event, EventUrl, MemberKey};
use super::host_notice::{close, open};
use super::state::IncidentState;

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

/// Opens the notices of hosts, says which further contents are lost, and ends notices without one.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    let facts = edit.run.evidence;
    for index in 0..edit.logs.len() {
        leave(edit, index);
    }
    let mut by_host: BTreeMap<&str, Vec<&LostEvidence>> = BTreeMap::new();
    for lost in &facts.lost {
        by_host.entry(&lost.host).or_default().push(lost);
    }
    for (host, lost) in by_host {
        let index = edit.open_notice(NoticeKind::EvidenceLost, host);
        let known = index.and_then(|index| edit.logs[index].state.open_notice());
        let is_known = |lost: &&LostEvidence| {
            known.is_some_and(|known| lacking(known).any(|it| is_same(it, &lost.content)))
        };
        let new: Vec<&LostEvidence> = lost.into_iter().filter(|lost| !is_known(lost)).collect();
        let Some(first) = new.first() else {
            continue;
        };
        let notice = Notice {
            kind: NoticeKind::EvidenceLost,
            file: first.file.clone(),
            categories: categories(new.iter().flat_map(|lost| &lost.categories)),
            lost: new.iter().map(|lost| lost.content.clone()).collect(),
            ..Notice::default()
        };
        match index {
            Some(index) => add(edit, index, notice),
            None => open(edit, host, notice),
        }
    }
    for index in 0..edit.logs.len() {
        let notice = of_state(&edit.logs[index].state);
        if notice.is_some_and(|notice| lacking(notice).next().is_none()) {
            close(edit, index, None);
        }
    }
}

/// The notice of an incident, if it is of this kind and holds.
fn of_state(state: &IncidentState) -> Option<&Notice> {
    let notice = state.open_notice();
    notice.filter(|notice| notice.kind == NoticeKind::EvidenceLost)
}

/// Lets the URLs of a notice leave whose reason is gone.
fn leave(edit: &mut RunEdit<'_>, index: usize) {
    let Some(notice) = of_state(&edit.logs[index].state) else {
        return;
    };
    let run = edit.run;
    let left = lacking(notice).map(key_of_content).filter_map(|key| {
        let is_gone = || (run.is_gone)(&key, &notice.file).then_some(Because::Removed);
        let because = run.evidence.ended.get(&key).copied().or_else(is_gone)?;
        Some((key, because))
    });
    let left: Vec<(MemberKey, Because)> = left.collect();
    for (key, because) in left {
        let event = Event {
            id: run.id.to_owned(),
            event: EventKind::Shrunk,
            because: Some(because),
            ..Event::default()
        };
        edit.logs[index].add(event, EventUrl::of(&key), None);
    }
}

fn add(edit: &mut RunEdit<'_>, index: usize, notice: Notice) {
    let host_urls = (edit.run.host_urls)(&edit.logs[index].log.host);
    edit.logs[index].append(Event {
        id: edit.run.id.to_owned(),
        event: EventKind::Noticed,
        host_urls: Some(host_urls),
        notice: Some(notice),
        ..Event::default()
    });
}

/// Gives the contents of another open notice about the host to this one, after a merge of branches that both opened
/// one.
pub(super) fn take_over(edit: &mut RunEdit<'_>, index: usize, other: &Notice) {
    let Some(known) = of_state(&edit.logs[index].state) else {
        return;
    };
    let is_known = |content: &LostContent| lacking(known).any(|it| is_same(it, content));
    let new = lacking(other).filter(|content| !is_known(content));
    let notice = Notice {
        lost: new.cloned().collect(),
        ..other.clone()
    };
    if !notice.lost.is_empty() {
        add(edit, index, notice);
    }
}

/// The notice after an event that adds contents to it: branches may add some each. An event that `opens` the notice
/// forgets the contents of its earlier time.
pub(super) fn joined(known: Option<&Notice>, added: &Notice, opens: bool) -> Notice {
    let known = known.filter(|known| known.kind == added.kind);
    let is_added = |content: &LostContent| {
        let mut added = added.lost.iter();
        added.any(|it| key_of_content(it) == key_of_content(content))
    };
    let before = known.into_iter().flat_map(|known| &known.lost);
    let before = before.filter(|content| !(is_added(content) || opens && content.left.is_some()));
    let lost: Vec<LostContent> = before.chain(&added.lost).cloned().collect();
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
        if urls.iter().any(|url| url.key() == key) {
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
pub(super) fn compared(told: Option<&Notice>, now: &Notice) -> Notice {
    let is_known = |content: &LostContent| {
        let mut told = told.into_iter().flat_map(lacking);
        content.left.is_some() || told.any(|known| is_same(known, content))
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
fn is_same(one: &LostContent, other: &LostContent) -> bool {
    key_of_content(one) == key_of_content(other) && one.is_promised_by(&other.digests)
}

/// Sorted, each once.
fn categories<'a>(all: impl Iterator<Item = &'a String>) -> Vec<String> {
    let all: std::collections::BTreeSet<&String> = all.collect();
    all.into_iter().cloned().collect()
}
