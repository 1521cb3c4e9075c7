//! The notice `mistake`: a domain file has mistakes, so that records are not checked.

use urldb_protocol::{Because, EventKind, Notice, NoticeKind};

use super::edit::RunEdit;
use super::event::Event;
use super::mistakes::{FileMistakes, are_same};

/// Opens the notices of files with mistakes, says which mistakes there are now, and ends those of the others.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    for file in edit.run.files.read {
        let open = edit.open_notice(NoticeKind::Mistake, &file.file);
        match (open, file.count) {
            (None, 0) => {}
            (Some(index), 0) => close(edit, index, None),
            (None, _) => {
                let (index, event) = edit.open_again(NoticeKind::Mistake, &file.file, &file.host);
                append(edit, index, event, notice(file));
            }
            (Some(index), _) => {
                let now = notice(file);
                let known = edit.logs[index].state.open_notice();
                if !known.is_some_and(|known| are_same(known, &now)) {
                    append(edit, index, EventKind::Noticed, now);
                }
            }
        }
    }
    let read = edit.run.files.read.iter().map(|file| file.file.as_str());
    let read: std::collections::HashSet<&str> = read.collect();
    for index in 0..edit.logs.len() {
        let notice = edit.logs[index].state.open_notice();
        let is_gone = notice.is_some_and(|notice| {
            let is_unread =
                notice.kind == NoticeKind::Mistake && !read.contains(notice.file.as_str());
            is_unread && (edit.run.files.is_gone)(&notice.file)
        });
        if is_gone {
            close(edit, index, Some(Because::Removed));
        }
    }
}

fn notice(file: &FileMistakes) -> Notice {
    Notice {
        kind: NoticeKind::Mistake,
        file: file.file.clone(),
        mistakes: file.first.clone(),
        count: Some(file.count),
        ..Notice::default()
    }
}

fn append(edit: &mut RunEdit<'_>, index: usize, kind: EventKind, notice: Notice) {
    edit.logs[index].append(Event {
        id: edit.run.id.to_owned(),
        event: kind,
        notice: Some(notice),
        ..Event::default()
    });
}

fn close(edit: &mut RunEdit<'_>, index: usize, because: Option<Because>) {
    edit.logs[index].append(Event {
        id: edit.run.id.to_owned(),
        event: EventKind::Closed,
        because,
        ..Event::default()
    });
}
