//! The notice `evidence-lost`: the archive lost its copy of promised bytes, and the server serves others by now.

use std::collections::BTreeMap;

use urldb_protocol::{Because, EventKind, LostContent, Notice, NoticeKind};

use super::edit::RunEdit;
use super::event::{Event, EventUrl, MemberKey};
use super::lost_contents::{LostEvidence, categories, is_same, key_of_content, lacking};
use super::notices::{add, close, open};
use super::state::IncidentState;

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
            Some(index) => add(edit, index, EventKind::Noticed, notice),
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
    let left: Vec<(MemberKey, Because)> = lacking(notice)
        .map(key_of_content)
        .filter_map(|key| {
            let is_gone = || (run.is_gone)(&key, &notice.file).then_some(Because::Removed);
            let because = run.evidence.ended.get(&key).copied().or_else(is_gone)?;
            Some((key, because))
        })
        .collect();
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
        add(edit, index, EventKind::Noticed, notice);
    }
}
