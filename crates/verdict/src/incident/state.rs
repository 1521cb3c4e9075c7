//! The state of an incident after its events.

use std::collections::BTreeMap;

use urldb_protocol::{Ack, Because, Counts, EventKind, Notice, NoticeKind};

use super::cause::Cause;
use super::event::{Event, IncidentLog, Joining, MemberKey};
use super::lost_contents::{self, lacking};

/// The state of an incident after some of its events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentState {
    /// The URLs that the incident affects.
    pub members: BTreeMap<MemberKey, Member>,
    /// The URLs that it no longer affects, as they were when they left last.
    pub left: BTreeMap<MemberKey, Departure>,
    /// The notice, as of its last event.
    pub notice: Option<Notice>,
    /// The notice holds.
    pub is_noticed: bool,
    /// The id of the event that closed it; absent while it has members, or its notice holds.
    pub closed: Option<String>,
    /// The incident that took over.
    pub merged_into: Option<String>,
    /// The acknowledgement that holds.
    pub ack: Option<Ack>,
}

/// A URL that an incident affects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The facts when it joined.
    pub joining: Joining,
    /// The id of the event with which it joined.
    pub joined: String,
    /// The present cause, or that of its last membership.
    pub cause: Option<Cause>,
    /// Since which event it flaps.
    pub flapping: Option<String>,
    /// The present cause is confirmed.
    pub believed: bool,
    /// Nobody is to be told of it.
    pub muted: bool,
    /// The URL was muted when it joined, and ever since: no message named it.
    pub is_undelivered: bool,
    /// Since which event the acknowledgement that holds is about it.
    pub acked: Option<String>,
}

/// A URL that left an incident.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Departure {
    /// The member as it was.
    pub member: Member,
    /// The reason.
    pub because: Because,
    /// The id of the event.
    pub at: String,
}

/// The state after all events of an incident.
pub fn fold(events: &[Event]) -> IncidentState {
    let mut state = IncidentState::default();
    for event in events {
        state.apply(event);
    }
    state
}

impl IncidentLog {
    /// The state after all events.
    pub fn state(&self) -> IncidentState {
        fold(&self.events)
    }
}

impl IncidentState {
    /// Whether the incident affects a URL, or its notice holds.
    pub fn is_open(&self) -> bool {
        !self.members.is_empty() || self.is_noticed
    }

    /// Counts the URLs that the incident affects after a run and those that recovered in it, if `takes` keeps them.
    pub fn count(
        &self,
        run: &str,
        counts: &mut Counts,
        takes: impl Fn(&MemberKey, &Member) -> bool,
    ) {
        for (_, it) in self.members.iter().filter(|(key, it)| takes(key, it)) {
            counts.add_affected(it.flapping.is_some(), it.muted, it.joined == run);
        }
        for (key, it) in self.left.iter().filter(|(_, it)| it.at == run) {
            let is_good = it.because == Because::Recovered;
            counts.recovered += u64::from(is_good && takes(key, &it.member));
        }
    }

    /// Adds the next event.
    pub fn apply(&mut self, event: &Event) {
        if let Some(notice) = &event.notice {
            self.is_noticed = event.event != EventKind::Renewed;
            self.notice = Some(match notice.kind {
                NoticeKind::EvidenceLost => {
                    let known = self.notice.take();
                    lost_contents::joined(known.as_ref(), notice, event.event.joins())
                }
                _ => notice.clone(),
            });
            // After branches were merged, one may tell of a notice beside its end.
            if self.is_noticed {
                self.closed = None;
                self.merged_into = None;
            }
        }
        match event.event {
            EventKind::Opened | EventKind::Reopened | EventKind::Grown => self.join(event),
            EventKind::Shrunk => self.leave(event, event.because.unwrap_or(Because::Recovered)),
            EventKind::Steady => self.each(event, |member| member.flapping = None),
            EventKind::Flapping => {
                self.each(event, |member| member.flapping = Some(event.id.clone()));
            }
            EventKind::Became => self.each(event, |member| {
                if event.cause.is_some() {
                    member.cause.clone_from(&event.cause);
                    member.believed = true;
                }
            }),
            EventKind::Muted => self.each(event, |member| {
                member.muted = true;
                member.is_undelivered = member.joined == event.id;
            }),
            EventKind::Unmuted => self.each(event, |member| {
                (member.muted, member.is_undelivered) = (false, false);
            }),
            EventKind::Acked => {
                self.ack.clone_from(&event.ack);
                // A later acknowledgement replaces the earlier one without an interval.
                self.each(event, |member| {
                    member.acked.get_or_insert_with(|| event.id.clone());
                });
            }
            EventKind::AckEnded => {
                self.ack = None;
                for member in self.members.values_mut() {
                    member.acked = None;
                }
            }
            EventKind::Merged => {
                self.members.clear();
                self.is_noticed = false;
                self.merged_into.clone_from(&event.into);
                self.closed = Some(event.id.clone());
            }
            // After branches were merged, a URL may have joined beside the end.
            EventKind::Closed if self.members.is_empty() && !self.lacks_evidence() => {
                self.is_noticed = false;
                self.closed = Some(event.id.clone());
                self.ack = None;
            }
            EventKind::Closed | EventKind::Noticed | EventKind::Renewed => {}
        }
    }

    fn join(&mut self, event: &Event) {
        self.closed = None;
        self.merged_into = None;
        for url in &event.urls {
            let key = &url.key;
            let Some(joining) = url.joining.clone() else {
                continue;
            };
            if self.members.contains_key(key) {
                continue;
            }
            let former = || self.left.get(key)?.member.cause.clone();
            let member = Member {
                joining,
                joined: event.id.clone(),
                cause: event.cause.clone().or_else(former),
                flapping: None,
                believed: event.cause.is_some() && !event.unconfirmed,
                muted: false,
                is_undelivered: false,
                acked: None,
            };
            self.members.insert(key.clone(), member);
        }
    }

    /// Whether the archive lacks promised bytes that the notice tells of.
    fn lacks_evidence(&self) -> bool {
        let notice = self.open_notice();
        notice.is_some_and(|notice| lacking(notice).next().is_some())
    }

    fn leave(&mut self, event: &Event, because: Because) {
        if let Some(notice) = self.notice.as_mut() {
            *notice = lost_contents::left(notice, &event.urls, because);
        }
        for url in &event.urls {
            let Some(member) = self.members.remove(&url.key) else {
                continue;
            };
            let departure = Departure {
                member,
                because,
                at: event.id.clone(),
            };
            self.left.insert(url.key.clone(), departure);
        }
    }

    fn each(&mut self, event: &Event, mut change: impl FnMut(&mut Member)) {
        for url in &event.urls {
            if let Some(member) = self.members.get_mut(&url.key) {
                change(member);
            }
        }
    }
}
