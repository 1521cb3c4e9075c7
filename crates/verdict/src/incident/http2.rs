//! The notice `needs-http2`: a host accepts no version of HTTP that urldb speaks, so its URLs are not checked.

use urldb_protocol::{Notice, NoticeKind};

use super::edit::RunEdit;
use super::host_notice::{close, open};

/// Opens the notices of hosts of which no URL over https answered, and ends those of hosts that answered.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    let facts = edit.run.certificates;
    for seen in facts.seen {
        let has_answered = !seen.valid.is_empty();
        let needs_http2 = seen.needs_http2 > 0 && !has_answered && !seen.is_muted();
        match edit.open_notice(NoticeKind::NeedsHttp2, &seen.host) {
            None if needs_http2 => {
                let notice = Notice {
                    kind: NoticeKind::NeedsHttp2,
                    file: seen.file.clone(),
                    categories: seen.categories.iter().cloned().collect(),
                    endangered: facts.is_complete.then_some(seen.needs_http2),
                    ..Notice::default()
                };
                open(edit, &seen.host, notice);
            }
            Some(index) if has_answered => close(edit, index, None),
            _ => {}
        }
    }
}
