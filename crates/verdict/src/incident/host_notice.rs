//! The common events of notices about a host.

use urldb_protocol::{Because, EventKind, Notice, NoticeKind};

use super::edit::RunEdit;
use super::event::Event;

/// Ends the notices about hosts that have no URL any more which a notice is about.
pub(super) fn remove(edit: &mut RunEdit<'_>) {
    for index in 0..edit.logs.len() {
        let known = &edit.logs[index];
        let is_over = known.state.open_notice().is_some_and(|notice| {
            // Each URL of lost evidence leaves by itself.
            let is_of_host = !matches!(
                notice.kind,
                NoticeKind::Blind | NoticeKind::Mistake | NoticeKind::EvidenceLost
            );
            is_of_host && (edit.run.has_no_url)(&known.log.host, notice)
        });
        if is_over && known.state.members.is_empty() {
            close(edit, index, Some(Because::Removed));
        }
    }
}

/// Opens a notice about a host: the closed one of its kind again, if there is one.
pub(super) fn open(edit: &mut RunEdit<'_>, host: &str, notice: Notice) {
    let (index, event) = edit.open_again(notice.kind, host, host);
    edit.logs[index].append(Event {
        id: edit.run.id.to_owned(),
        event,
        host_urls: Some((edit.run.host_urls)(host)),
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
