//! The notices that a host needs a protocol or an algorithm that urldb lacks: its URLs are not checked.

use urldb_protocol::{Incident, Notice, NoticeKind, Phase};

use super::host_notice;
use crate::message::Block;
use crate::text::Text;

/// The sentence about the host.
pub(super) fn need(notice: &Notice) -> Text {
    match &notice.limit {
        Some(limit) => Text::new().outside(limit),
        None => Text::from(general_need(notice)),
    }
}

/// The sentence without the name of an algorithm.
fn general_need(notice: &Notice) -> &'static str {
    match notice.kind {
        NoticeKind::NeedsHttp2 => "speaks only HTTP/2, which urldb does not check",
        _ => "needs TLS that urldb does not support",
    }
}

pub(super) fn block(incident: &Incident, notice: &Notice) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    let (begin, end, until) = match notice.kind {
        NoticeKind::NeedsHttp2 => (
            ": only HTTP/2",
            ": HTTP/1.1 again",
            "the host accepts HTTP/1.1",
        ),
        _ => (
            ": unsupported TLS",
            ": supported TLS again",
            "the host accepts other TLS",
        ),
    };
    let rest = Text::from(format!("Nothing new is known of its URLs until {until}."));
    let rest = Some(rest).filter(|_| !is_closed);
    Block {
        short: Text::new()
            .code(&incident.host)
            .own(if is_closed { end } else { begin }),
        facts: host_notice::seen(incident)
            .filter(|_| !is_closed)
            .into_iter()
            .collect(),
        brief: rest.clone().unwrap_or_default(),
        note: rest,
        ..host_notice::block(incident, notice, sentence(incident, notice))
    }
}

/// `speaks only HTTP/2, which urldb does not check (3 of 3 URLs)`
pub(super) fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return Text::from(end(incident, notice));
    }
    host_notice::with_urls(need(notice), incident, notice)
}

fn end(incident: &Incident, notice: &Notice) -> &'static str {
    if host_notice::is_without_url(incident) {
        "has no URL over https any more"
    } else if notice.kind == NoticeKind::NeedsHttp2 {
        "accepts HTTP/1.1 again"
    } else {
        "accepts TLS as urldb supports it again"
    }
}
