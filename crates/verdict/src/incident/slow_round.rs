//! The notice `slow-round`: a host refuses so many requests that runs do not check all its URLs within `limit-patience`.

use urldb_protocol::NoticeKind;

use super::edit::RunEdit;
use super::host_notice::{close, open};

/// Opens the notices of slow hosts, and ends those of hosts that were checked in time.
pub(super) fn look(edit: &mut RunEdit<'_>) {
    let facts = edit.run.limits;
    for slow in facts.slow.iter().filter(|slow| !slow.is_muted) {
        if edit
            .open_notice(NoticeKind::SlowRound, &slow.host)
            .is_none()
        {
            open(edit, &slow.host, slow.notice.clone());
        }
    }
    for host in &facts.in_time {
        if let Some(index) = edit.open_notice(NoticeKind::SlowRound, host) {
            close(edit, index, None);
        }
    }
}
