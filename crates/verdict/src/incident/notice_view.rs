//! A notice as a reader sees it, who knows an earlier version.

use urldb_protocol::{Notice, NoticeKind, Phase};

use super::mistakes::compared;
use super::state::IncidentState;

/// The notice that a reader knows, and the one that holds.
#[derive(Clone, Copy)]
pub(super) struct Notices<'s> {
    pub(super) told: Option<&'s Notice>,
    pub(super) now: Option<&'s Notice>,
}

/// The change of a notice that the reader knows: fewer mistakes are no news, and neither are further runs without
/// results.
pub(super) fn notice_phase(notices: Notices<'_>) -> Phase {
    match notices.now {
        Some(now) if now.kind == NoticeKind::Mistake => {
            let compared = compared(notices.told, now);
            if compared.added > Some(0) {
                Phase::Became
            } else {
                Phase::Shrunk
            }
        }
        // Runs saw something in between, of which the reader has not heard.
        Some(Notice {
            kind: NoticeKind::Blind | NoticeKind::NeedsHttp2 | NoticeKind::SlowRound,
            ..
        }) => Phase::Unchanged,
        _ => Phase::Became,
    }
}

/// The notice as the reader sees it. The mistakes in a file are those of today, with what he does not know marked.
pub(super) fn told_notice(
    now: &IncidentState,
    phase: Phase,
    notices: Notices<'_>,
) -> Option<Notice> {
    let notice = now.notice.as_ref()?;
    if notice.kind != NoticeKind::Mistake {
        return Some(notice.clone());
    }
    let none = Notice {
        mistakes: vec![],
        count: Some(0),
        ..notice.clone()
    };
    Some(match phase {
        Phase::Closed => compared(notices.told.or(Some(notice)), &none),
        _ => compared(notices.told, notice),
    })
}
