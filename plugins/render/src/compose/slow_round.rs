//! The notice that a host refuses so many requests that runs do not check all its URLs in time.

use urldb_protocol::{Incident, Notice, Phase};

use super::host_notice;
use crate::message::{Block, Fact};
use crate::numbers::{count, moment};
use crate::text::Text;

pub(super) fn block(incident: &Incident, notice: &Notice) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    let advice = notice.advice.as_deref().filter(|_| !is_closed);
    let advice = advice.map(|advice| Text::new().outside(advice).own("."));
    let facts = host_notice::seen(incident).into_iter().chain(since(notice));
    Block {
        short: Text::new().code(&incident.host).own(if is_closed {
            ": checked in time again"
        } else {
            ": refuses so many requests"
        }),
        facts: facts.filter(|_| !is_closed).collect(),
        brief: advice.clone().unwrap_or_default(),
        note: advice,
        ..host_notice::block(incident, notice, sentence(incident, notice))
    }
}

/// The first run that was too short.
fn since(notice: &Notice) -> Option<Fact> {
    Some(Fact::new("since", Text::from(moment(notice.since?))))
}

/// `refuses so many requests that 2 runs in a row did not check all its URLs (282 of 720 URLs)`
pub(super) fn sentence(incident: &Incident, notice: &Notice) -> Text {
    if incident.phase == Phase::Closed {
        return Text::from(end(incident));
    }
    host_notice::with_urls(Text::from(refuses(notice)), incident, notice)
}

/// The sentence about the host, without its URLs.
pub(super) fn refuses(notice: &Notice) -> String {
    let runs = match notice.runs.unwrap_or_default() {
        0 | 1 => "a run".to_owned(),
        runs => format!("{} in a row", count(runs, "run")),
    };
    format!("refuses so many requests that {runs} did not check all its URLs")
}

fn end(incident: &Incident) -> &'static str {
    if host_notice::is_without_url(incident) {
        "has no URL any more"
    } else {
        "was checked in time again"
    }
}
