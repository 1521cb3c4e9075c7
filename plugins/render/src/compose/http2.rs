//! The notice that a host speaks only HTTP/2: its URLs are not checked.

use urldb_protocol::{Incident, Notice, Phase};

use super::host_notice;
use crate::message::Block;
use crate::text::Text;

/// The sentence about the host.
pub(super) const NEEDS: &str = "speaks only HTTP/2, which urldb does not check";

pub(super) fn block(incident: &Incident, notice: &Notice) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    let rest = Text::from("Nothing new is known of its URLs until the host accepts HTTP/1.1.");
    let rest = Some(rest).filter(|_| !is_closed);
    Block {
        short: Text::new().code(&incident.host).own(if is_closed {
            ": HTTP/1.1 again"
        } else {
            ": only HTTP/2"
        }),
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
        return Text::from(end(incident));
    }
    host_notice::with_urls(Text::from(NEEDS), incident, notice)
}

fn end(incident: &Incident) -> &'static str {
    if host_notice::is_without_url(incident) {
        "has no URL over https any more"
    } else {
        "accepts HTTP/1.1 again"
    }
}

/// The comment on a change; `since` is `since the run of DATE`.
pub(super) fn comment(incident: &Incident, since: &str) -> Option<String> {
    host_notice::comment(incident, since, NEEDS, end(incident))
}
