//! A notice as a reader sees it, who knows an earlier version.

use urldb_protocol::{Notice, NoticeKind, Phase};

use super::lost_contents;
use super::mistakes::compared;
use super::state::IncidentState;

/// The notice that a reader knows, and the one that holds.
#[derive(Clone, Copy)]
pub(super) struct Notices<'s> {
    pub(super) told: Option<&'s Notice>,
    pub(super) now: Option<&'s Notice>,
}

/// The change of a notice that the reader knows: fewer mistakes are no news, and neither are fewer lost contents or
/// further runs without results.
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
            kind:
                NoticeKind::Blind
                | NoticeKind::NeedsHttp2
                | NoticeKind::UnsupportedTls
                | NoticeKind::SlowRound,
            ..
        }) => Phase::Unchanged,
        Some(now) if now.kind == NoticeKind::EvidenceLost => {
            let compared = lost_contents::compared(notices.told, now);
            let is_less = |told: &Notice| told.endangered > now.endangered;
            match compared.added {
                Some(1..) => Phase::Became,
                _ if notices.told.is_some_and(is_less) => Phase::Shrunk,
                _ => Phase::Unchanged,
            }
        }
        _ => Phase::Became,
    }
}

/// The notice as the reader sees it. The mistakes in a file are those of today, with what he does not know marked.
/// Lost contents of which he does not know come first.
pub(super) fn told_notice(
    now: &IncidentState,
    phase: Phase,
    notices: Notices<'_>,
) -> Option<Notice> {
    let notice = now.notice.as_ref()?;
    match notice.kind {
        NoticeKind::Mistake => {}
        NoticeKind::EvidenceLost => return Some(lost_contents::compared(notices.told, notice)),
        _ => return Some(notice.clone()),
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
