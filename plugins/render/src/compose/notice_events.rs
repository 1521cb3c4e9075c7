//! The events of notices, in a row each.

use urldb_protocol::{Chapter, EventKind, Incident, Notice, NoticeKind, Reason};

use super::{lost_evidence, mistakes};
use crate::numbers::{count, day, hours};
use crate::text::Text;

/// The event of a notice in the history of an issue; absent for another event.
pub(crate) fn notice_event(incident: &Incident, chapter: &Chapter) -> Option<Text> {
    if incident.notice.is_some() && chapter.event.joins() && chapter.urls > 0 {
        let is_first = chapter.affected == chapter.urls && is_expired(chapter);
        let urls = count(chapter.urls, "URL");
        if is_first {
            return Some(Text::from(format!("expired, {urls} broken")));
        }
    }
    let notice = chapter.notice.as_ref()?;
    let left = notice.within_hours.map(hours);
    Some(match notice.kind {
        NoticeKind::Impaired | NoticeKind::UnsupportedTls => reason(notice),
        NoticeKind::EvidenceLost => lost_evidence::event(chapter, notice),
        NoticeKind::Mistake => mistakes::number(notice),
        NoticeKind::CertificateEnds if chapter.event == EventKind::Renewed => Text::from("renewed"),
        NoticeKind::CertificateEnds => match left.filter(|_| !notice.has_ended()) {
            Some(left) => Text::from(format!("less than {left} left")),
            None => Text::from(ending(notice)),
        },
    })
}

fn is_expired(chapter: &Chapter) -> bool {
    chapter.reason.as_deref() == Some(Reason::TlsExpired.as_str())
}

/// The reason why URLs are not checked.
pub(super) fn reason(notice: &Notice) -> Text {
    Text::new().outside(notice.reason.as_deref().unwrap_or_default())
}

/// `ends 2026-11-20`
pub(super) fn ending(notice: &Notice) -> String {
    let verb = if notice.has_ended() { "ended" } else { "ends" };
    match &notice.certificate {
        Some(dates) => format!("{verb} {}", day(dates.not_after)),
        None => format!("{verb} soon"),
    }
}
