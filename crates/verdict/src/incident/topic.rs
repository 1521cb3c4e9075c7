//! The topics of notices.

use urldb_protocol::{Notice, NoticeKind};

/// The topic of a notice: its kind, and the host or the file that it is about. A topic has one open notice.
pub(super) fn topic(host: &str, notice: &Notice) -> (NoticeKind, String) {
    let about = match notice.kind {
        NoticeKind::Mistake => &notice.file,
        _ => host,
    };
    (notice.kind, about.to_owned())
}
