//! The messages that a notifier has delivered about an incident, with the time of acceptance.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::{Chapter, Delay, Incident, Shown};

/// Most messages of one notifier about one incident that are kept: the first one and the last ones.
const MOST_MESSAGES: usize = 30;

/// Most events of one message that are kept: the last ones.
const MOST_EVENTS: usize = 50;

/// A message about an incident that the service of a notifier has accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ToldMessage {
    /// When the service accepted it.
    pub at: Timestamp,
    /// The first try, if that one failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_tried: Option<Timestamp>,
    /// The fault of the last try that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Shown>,
    /// The events that it told: the id of the run and the kind of each.
    pub events: Vec<String>,
}

impl ToldMessage {
    /// The message that told this incident, as its reader sees it; `None` if it told no event.
    pub fn of(incident: &Incident, delay: Option<&Delay>, at: Timestamp) -> Option<Self> {
        let new = incident.chapters.iter().filter(|chapter| chapter.new);
        let events: BTreeSet<String> = new.map(name).collect();
        let surplus = events.len().saturating_sub(MOST_EVENTS);
        let is_told = !incident.quiet && !events.is_empty();
        is_told.then(|| Self {
            at,
            first_tried: delay.map(|delay| delay.first_tried),
            fault: delay.map(|delay| delay.reason.clone()),
            events: events.into_iter().skip(surplus).collect(),
        })
    }

    /// Whether the message told an event.
    pub fn tells(&self, chapter: &Chapter) -> bool {
        self.events.contains(&name(chapter))
    }
}

/// Adds a message, unless another recipient got it before.
pub(super) fn add(known: &mut Vec<ToldMessage>, message: ToldMessage) {
    if known
        .last()
        .is_some_and(|last| last.events == message.events)
    {
        return;
    }
    known.push(message);
    if known.len() > MOST_MESSAGES {
        known.remove(1);
    }
}

/// The run and the kind of an event.
fn name(chapter: &Chapter) -> String {
    let kind = serde_json::to_value(chapter.event).unwrap_or_default();
    format!("{} {}", chapter.run, kind.as_str().unwrap_or_default())
}
