//! The events that one run appends to an incident.

use std::collections::HashMap;

use urldb_protocol::{Because, EventKind, Evidence};

use super::event::{Event, EventUrl, IncidentLog, Joining, MemberKey};
use super::state::IncidentState;

/// An incident to which a run appends.
#[derive(Debug)]
pub(super) struct LogEdit {
    pub(super) log: IncidentLog,
    /// The state after all events so far.
    pub(super) state: IncidentState,
    /// Number of events before the run.
    pub(super) known: usize,
    /// The position of the last event of the run about each URL.
    last: HashMap<MemberKey, usize>,
}

impl LogEdit {
    pub(super) fn new(log: IncidentLog) -> Self {
        Self {
            state: log.state(),
            known: log.events.len(),
            last: HashMap::new(),
            log,
        }
    }

    pub(super) fn has_changed(&self) -> bool {
        self.log.events.len() > self.known
    }

    /// Appends an event without URLs.
    pub(super) fn append(&mut self, event: Event) {
        self.state.apply(&event);
        self.log.events.push(event);
    }

    /// Adds a URL to the event of this run that has the same kind, cause and reason, or to a new one.
    pub(super) fn add(&mut self, event: Event, url: EventUrl, evidence: Option<&Evidence>) {
        let of_url = Event {
            urls: vec![url.clone()],
            ..event.clone()
        };
        self.state.apply(&of_url);
        // The events of one URL stay in their order.
        let after = self.last.get(&url.key).map_or(self.known, |last| last + 1);
        let index = (after..self.log.events.len())
            .rev()
            .find(|index| is_alike(&self.log.events[*index], &event))
            .unwrap_or(self.log.events.len());
        if index == self.log.events.len() {
            self.log.events.push(event);
        }
        self.last.insert(url.key.clone(), index);
        let known = &mut self.log.events[index];
        known.urls.push(url);
        known.evidence.extend(evidence.cloned());
    }

    /// Lets a URL join: it opens the incident, opens it again, or lets it grow. The event has no kind yet.
    pub(super) fn join(
        &mut self,
        event: Event,
        key: &MemberKey,
        joining: Joining,
        evidence: Option<&Evidence>,
    ) {
        let new = &self.log.events[self.known..];
        let began = |event: &&Event| matches!(event.event, EventKind::Opened | EventKind::Reopened);
        let cause = |event: &Event| (event.cause.clone(), event.unconfirmed);
        // One event opens the incident, also if its URLs have several causes.
        let kind = match new.iter().find(began) {
            Some(opening) if cause(opening) == cause(&event) => opening.event,
            None if self.log.events.is_empty() => EventKind::Opened,
            None if self.state.closed.is_some() => EventKind::Reopened,
            _ => EventKind::Grown,
        };
        let event = Event {
            event: kind,
            ..event
        };
        let url = EventUrl {
            joining: Some(joining),
            ..EventUrl::of(key)
        };
        self.add(event, url, evidence);
    }

    /// Lets a URL leave.
    pub(super) fn leave(
        &mut self,
        run: &str,
        key: &MemberKey,
        because: Because,
        evidence: Option<&Evidence>,
    ) {
        let event = Event {
            id: run.to_owned(),
            event: EventKind::Shrunk,
            because: Some(because),
            ..Event::default()
        };
        self.add(event, EventUrl::of(key), evidence);
    }

    /// Appends something about a member.
    pub(super) fn tell(&mut self, run: &str, kind: EventKind, key: &MemberKey) {
        let event = Event {
            id: run.to_owned(),
            event: kind,
            ..Event::default()
        };
        self.add(event, EventUrl::of(key), None);
    }

    /// Closes the incident if its last URL has left in this run.
    pub(super) fn close(&mut self, run: &str) {
        if self.has_changed() && !self.state.is_open() && self.state.closed.is_none() {
            self.append(Event {
                id: run.to_owned(),
                event: EventKind::Closed,
                ..Event::default()
            });
        }
    }
}

fn is_alike(one: &Event, other: &Event) -> bool {
    (one.event, &one.cause, one.because, one.unconfirmed)
        == (other.event, &other.cause, other.because, other.unconfirmed)
}
