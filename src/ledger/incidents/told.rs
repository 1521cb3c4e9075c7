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
    /// The last try that failed. Events after it were told in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_tried: Option<Timestamp>,
    /// The fault of that try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<Shown>,
    /// The events that it told: the id of the run and the kind of each.
    pub events: Vec<String>,
}

impl ToldMessage {
    /// The message that told this incident, as its reader sees it; `None` if it told no event.
    pub fn of(incident: &Incident, delay: Option<&Delay>, at: Timestamp) -> Option<Self> {
        let new = || incident.chapters.iter().filter(|chapter| chapter.new);
        let events: BTreeSet<String> = new().map(name).collect();
        let delay = delay.filter(|delay| new().any(|chapter| chapter.at <= delay.last_tried));
        let surplus = events.len().saturating_sub(MOST_EVENTS);
        let is_told = !incident.quiet && !events.is_empty();
        is_told.then(|| Self {
            at,
            first_tried: delay.map(|delay| delay.first_tried),
            last_tried: delay.map(|delay| delay.last_tried),
            fault: delay.map(|delay| delay.reason.clone()),
            events: events.into_iter().skip(surplus).collect(),
        })
    }

    /// The first try to tell an event that failed; absent if the message told it in time.
    pub fn late_since(&self, chapter: &Chapter) -> Option<Timestamp> {
        let (first, last) = self.first_tried.zip(self.last_tried)?;
        (chapter.at <= last).then(|| first.max(chapter.at))
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

#[cfg(test)]
mod tests {
    use urldb_protocol::{Phase, State};

    use super::*;

    fn at(day: u32) -> Timestamp {
        format!("2026-11-{day:02}T05:02:11Z").parse().unwrap()
    }

    /// An incident with an event on each of these days, of which its reader has heard none.
    fn incident(days: &[u32]) -> Incident {
        let chapters = days.iter().map(|day| Chapter {
            run: format!("202611{day:02}T050211Z-0123abcd"),
            at: at(*day),
            event: urldb_protocol::EventKind::Grown,
            state: None,
            reason: None,
            redirect: None,
            because: None,
            sure: false,
            again: false,
            new: true,
            ack: None,
            notice: None,
            urls: 1,
            affected: 1,
            evidence: None,
        });
        Incident {
            chapters: chapters.collect(),
            ..Incident::group(Phase::Grown, "a.example".to_owned(), State::Gone, at(1))
        }
    }

    #[test]
    fn an_event_is_late_if_a_try_to_tell_it_failed() {
        let incident = incident(&[14, 15]);
        let delay = Delay {
            first_tried: at(9),
            last_tried: at(14),
            now: at(15),
            reason: Shown::new("no answer", 20),
        };
        let told = ToldMessage::of(&incident, Some(&delay), at(15)).unwrap();
        let [first, second] = &incident.chapters[..] else {
            panic!()
        };
        // The tries before it were about others.
        assert_eq!(told.late_since(first), Some(at(14)));
        assert_eq!(told.late_since(second), None);
        assert!(told.tells(first) && told.tells(second));
        let later = Incident {
            chapters: vec![second.clone()],
            ..incident.clone()
        };
        let told = ToldMessage::of(&later, Some(&delay), at(15)).unwrap();
        assert_eq!((told.first_tried, told.fault.as_ref()), (None, None));
        assert!(!told.tells(first));
    }

    #[test]
    fn what_is_known_or_quiet_is_not_told() {
        let mut incident = incident(&[14]);
        incident.quiet = true;
        assert_eq!(ToldMessage::of(&incident, None, at(15)), None);
        incident.quiet = false;
        incident.chapters[0].new = false;
        assert_eq!(ToldMessage::of(&incident, None, at(15)), None);
    }

    #[test]
    fn the_first_message_and_the_last_ones_are_kept_once_each() {
        let mut known = vec![];
        for day in 0..40 {
            let message = ToldMessage {
                at: Timestamp::UNIX_EPOCH,
                events: vec![day.to_string()],
                ..ToldMessage::default()
            };
            // Two recipients.
            add(&mut known, message.clone());
            add(&mut known, message);
        }
        let days: Vec<&str> = known.iter().map(|it| it.events[0].as_str()).collect();
        assert_eq!(days.len(), MOST_MESSAGES);
        assert_eq!((days[0], days[1], days[29]), ("0", "11", "39"));
    }
}
