//! The notices about hosts and files: when they open, say more, and end.

use urldb_protocol::{Because, EventKind, Notice, NoticeKind};

use super::edit::RunEdit;
use super::event::Event;
use super::mistakes::are_same;

/// Ends the notices about hosts that have no URL any more which a notice is about, and about files that are gone.
pub(super) fn remove(edit: &mut RunEdit<'_>) {
    for index in 0..edit.logs.len() {
        let known = &edit.logs[index];
        let is_over = |notice: &Notice| match notice.kind {
            // Each URL of lost evidence leaves by itself.
            NoticeKind::EvidenceLost => false,
            NoticeKind::Mistake => (edit.run.files.is_gone)(&notice.file),
            _ => (edit.run.has_no_url)(&known.log.host, notice),
        };
        if known.state.open_notice().is_some_and(is_over) && known.state.members.is_empty() {
            close(edit, index, Some(Because::Removed));
        }
    }
}

/// Opens the notices of files with mistakes, says which mistakes there are now, and ends those of the others.
pub(super) fn mistakes(edit: &mut RunEdit<'_>) {
    for file in edit.run.files.read {
        let notice = || Notice {
            kind: NoticeKind::Mistake,
            file: file.file.clone(),
            mistakes: file.first.clone(),
            count: Some(file.count),
            ..Notice::default()
        };
        match (
            edit.open_notice(NoticeKind::Mistake, &file.file),
            file.count,
        ) {
            (None, 0) => {}
            (None, _) => open(edit, &file.host, notice()),
            (Some(index), 0) => close(edit, index, None),
            (Some(index), _) => {
                let now = notice();
                let known = edit.logs[index].state.open_notice();
                if !known.is_some_and(|known| are_same(known, &now)) {
                    add(edit, index, EventKind::Noticed, now);
                }
            }
        }
    }
}

/// Opens and ends the notices of impaired runs.
pub(super) fn impaired(edit: &mut RunEdit<'_>) {
    let facts = edit.run.impaired;
    for (host, notice) in &facts.notices {
        if edit.open_notice(notice.kind, host).is_none() {
            open(edit, host, notice.clone());
        }
    }
    for host in &facts.ended {
        if let Some(index) = edit.open_notice(NoticeKind::Impaired, host) {
            close(edit, index, None);
        }
    }
}

/// Opens the notices of hosts that need an algorithm of TLS which urldb lacks, and of which no URL over https answered.
/// Ends those of hosts that answered.
pub(super) fn unsupported(edit: &mut RunEdit<'_>) {
    let facts = edit.run.certificates;
    for seen in facts.seen {
        let has_answered = !seen.valid.is_empty();
        let is_limit = seen.unsupported_tls > 0 && !has_answered && !seen.is_muted();
        match edit.open_notice(NoticeKind::UnsupportedTls, &seen.host) {
            None if is_limit => {
                let notice = Notice {
                    kind: NoticeKind::UnsupportedTls,
                    file: seen.file.clone(),
                    categories: seen.categories.iter().cloned().collect(),
                    endangered: facts.is_complete.then_some(seen.unsupported_tls),
                    reason: seen.tls_limit.clone(),
                    ..Notice::default()
                };
                open(edit, &seen.host, notice);
            }
            Some(index) if has_answered => close(edit, index, None),
            _ => {}
        }
    }
}

/// Opens a notice about a host or a file: the closed one of its topic again, if there is one.
pub(super) fn open(edit: &mut RunEdit<'_>, host: &str, notice: Notice) {
    let (index, event) = edit.open_again(host, &notice);
    add(edit, index, event, notice);
}

/// Appends an event with the notice as it is now.
pub(super) fn add(edit: &mut RunEdit<'_>, index: usize, event: EventKind, notice: Notice) {
    let host_urls = (edit.run.host_urls)(&edit.logs[index].log.host);
    edit.logs[index].append(Event {
        id: edit.run.id.to_owned(),
        event,
        host_urls: Some(host_urls),
        notice: Some(notice),
        ..Event::default()
    });
}

/// Ends a notice.
pub(super) fn close(edit: &mut RunEdit<'_>, index: usize, because: Option<Because>) {
    edit.logs[index].append(Event {
        id: edit.run.id.to_owned(),
        event: EventKind::Closed,
        because,
        ..Event::default()
    });
}
