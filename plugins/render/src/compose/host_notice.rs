//! The common parts of notices about a host.

use urldb_protocol::{Because, Chapter, Incident, Notice, Phase};
use urldb_text::sanitize;

use super::urls::domain_of;
use crate::message::{Block, Class, Command, Fact};
use crate::numbers::{moment, share};
use crate::text::Text;

/// A block with this sentence about the host, and the command that checks the host again while the notice holds.
pub(super) fn block(incident: &Incident, notice: &Notice, sentence: Text) -> Block {
    let is_closed = incident.phase == Phase::Closed;
    let class = if is_closed {
        Class::Solved
    } else {
        Class::Warning
    };
    let domain = domain_of(&notice.file).unwrap_or(&incident.host);
    let check = Command::new("to check it again", &["urldb", "check", "-d", domain]);
    let check = check.filter(|_| !is_closed && !incident.id.is_empty());
    Block {
        code: (!is_closed).then(|| notice.kind.as_str().to_owned()),
        known: incident.phase == Phase::Unchanged,
        host: sanitize(&incident.host).into_owned(),
        ids: Some(incident.id.clone())
            .filter(|id| !id.is_empty())
            .into_iter()
            .collect(),
        urls_total: notice.endangered.unwrap_or_default(),
        brief_command: check.is_some().then_some(0),
        commands: check.into_iter().collect(),
        ..Block::new(class, Text::new().code(&incident.host), sentence)
    }
}

/// The text with the endangered URLs, if their number is known: ` (3 of 3 URLs)`.
pub(super) fn with_urls(text: Text, incident: &Incident, notice: &Notice) -> Text {
    match notice.endangered {
        Some(urls) => {
            let urls = share(urls, incident.host_urls.max(urls), "URL");
            text.own(format!(" ({})", urls.replace('\u{a0}', " ")))
        }
        None => text,
    }
}

/// The run that saw it.
pub(super) fn seen(incident: &Incident) -> Option<Fact> {
    let mut chapters = incident.chapters.iter().rev();
    let last: &Chapter = chapters.find(|it| it.notice.is_some())?;
    let text = format!("in the run of {}", moment(last.at));
    Some(Fact::new("seen", Text::from(text)))
}

/// Whether the notice ended because the host has no URL any more that it is about.
pub(super) fn is_without_url(incident: &Incident) -> bool {
    let mut chapters = incident.chapters.iter();
    chapters.any(|it| it.because == Some(Because::Removed))
}
