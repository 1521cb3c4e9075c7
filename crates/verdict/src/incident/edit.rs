//! The incidents while a run appends to them.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::Timestamp;
use urldb_protocol::{Because, CertificateDates, EventKind, Notice, NoticeKind, State};

use super::cause::{Cause, incident_id, incident_key};
use super::event::{Event, EventUrl, IncidentLog, MemberKey};
use super::flapping::{MOST_DAYS, RunResult, is_within};
use super::impaired::ImpairedFacts;
use super::log_edit::LogEdit;
use super::lost_contents::EvidenceFacts;
use super::mistakes::FileFacts;
use super::outcome::UrlOutcome;
use super::state::Departure;
use super::topic::topic;
use crate::certificates::CertificateFacts;

/// The facts about the run that incidents need.
#[derive(Clone, Copy)]
pub struct RunFacts<'a> {
    /// The id of the run.
    pub id: &'a str,
    /// The name of the project, from which keys are derived.
    pub project: &'a str,
    /// When the run began.
    pub started: Timestamp,
    /// Whether the record of a URL without outcome, which was in this domain file, is gone, as far as this run knows.
    pub is_gone: &'a dyn Fn(&MemberKey, &str) -> bool,
    /// Whether another incident has this id, open or closed.
    pub is_taken: &'a dyn Fn(&str) -> bool,
    /// When the last run before `since` began that saw the URL as promised.
    pub last_good: &'a dyn Fn(&UrlOutcome, Timestamp) -> Option<Timestamp>,
    /// Number of URLs of the host in the database; of all hosts, if the name is empty.
    pub host_urls: &'a dyn Fn(&str) -> u64,
    /// Whether the host answered any request of the run.
    pub has_answered: &'a dyn Fn(&str) -> bool,
    /// Whether the host has no URL any more that its notice is about, as far as this run knows.
    pub has_no_url: &'a dyn Fn(&str, &Notice) -> bool,
    /// The certificates of hosts.
    pub certificates: CertificateFacts<'a>,
    /// The hosts that impair the run.
    pub impaired: &'a ImpairedFacts,
    /// The promised bytes that the archive lost.
    pub evidence: &'a EvidenceFacts,
    /// The domain files.
    pub files: FileFacts<'a>,
}

/// The incidents after a run.
#[derive(Debug, Default)]
pub struct Appended {
    /// All incidents, with the number of events that they had before the run.
    pub incidents: Vec<(IncidentLog, usize)>,
}

/// The incidents while a run appends to them.
pub(super) struct RunEdit<'a> {
    pub(super) run: &'a RunFacts<'a>,
    pub(super) logs: Vec<LogEdit>,
    /// The incident of each member.
    pub(super) members: HashMap<MemberKey, usize>,
    /// The incident that each URL left last.
    pub(super) departures: HashMap<MemberKey, usize>,
    /// The open notice of each host whose certificate has ended, and that certificate.
    pub(super) ended: BTreeMap<String, (usize, CertificateDates)>,
    by_url: HashMap<MemberKey, &'a UrlOutcome>,
}

impl<'a> RunEdit<'a> {
    pub(super) fn new(
        mut known: Vec<IncidentLog>,
        outcomes: &[&'a UrlOutcome],
        run: &'a RunFacts<'a>,
    ) -> Self {
        let opened = |log: &IncidentLog| log.events.first().map(|event| event.id.clone());
        known.sort_by_key(|log| (opened(log), log.id.clone()));
        Self {
            run,
            logs: known.into_iter().map(LogEdit::new).collect(),
            members: HashMap::new(),
            departures: HashMap::new(),
            ended: BTreeMap::new(),
            by_url: outcomes
                .iter()
                .map(|outcome| (outcome.key.clone(), *outcome))
                .collect(),
        }
    }

    /// The incident whose notice of this kind holds: about a host, or about a domain file.
    pub(super) fn open_notice(&self, kind: NoticeKind, about: &str) -> Option<usize> {
        let is_about = |known: &LogEdit| {
            let notice = known.state.open_notice();
            notice.is_some_and(|notice| topic(&known.log.host, notice) == (kind, about.to_owned()))
        };
        self.logs.iter().position(is_about)
    }

    /// The closed incident that had such a notice last, or a new one of the host, and the event that opens it.
    pub(super) fn open_again(&mut self, host: &str, notice: &Notice) -> (usize, EventKind) {
        let sought = topic(host, notice);
        let was_about = |known: &LogEdit| {
            let is_closed = known.state.closed.is_some() && known.state.merged_into.is_none();
            let notice = known.state.notice.as_ref().filter(|_| is_closed);
            notice.is_some_and(|notice| topic(&known.log.host, notice) == sought)
        };
        if let Some(index) = self.logs.iter().rposition(was_about) {
            return (index, EventKind::Reopened);
        }
        let cause = Cause::new(State::Ok, Some(notice.kind.as_str()));
        (self.open(host, &cause), EventKind::Opened)
    }

    /// Members without a record leave.
    pub(super) fn remove(&mut self) {
        for index in 0..self.logs.len() {
            let members = &self.logs[index].state.members;
            let gone: Vec<MemberKey> = members
                .iter()
                .filter(|(key, member)| {
                    !self.by_url.contains_key(key) && (self.run.is_gone)(key, &member.joining.file)
                })
                .map(|(key, _)| key.clone())
                .collect();
            for key in gone {
                self.leave(index, &key, Because::Removed);
            }
        }
    }

    /// Decides what happened to each member with a result.
    pub(super) fn members(&mut self, silent: &HashSet<&str>) {
        for index in 0..self.logs.len() {
            let keys: Vec<MemberKey> = self.logs[index].state.members.keys().cloned().collect();
            for key in keys {
                let Some(outcome) = self.by_url.get(&key).copied() else {
                    continue;
                };
                let is_silent = silent.contains(outcome.host.as_str()) && outcome.is_silent();
                if let Some(result) = outcome.result.filter(|_| !is_silent) {
                    self.member(index, outcome, result);
                }
            }
        }
    }

    fn member(&mut self, index: usize, outcome: &UrlOutcome, result: RunResult) {
        let key = &outcome.key;
        let Some(member) = self.logs[index].state.members.get(key) else {
            return;
        };
        let is_good = result == RunResult::Good;
        let (flaps, flapped) = (outcome.flaps(self.run.started), member.flapping.is_some());
        if is_good && member.joining.promise != outcome.promise {
            return self.leave(index, key, Because::Accepted);
        }
        if is_good && !flaps {
            return self.leave(index, key, Because::Recovered);
        }
        self.become_other(index, outcome);
        if flaps != flapped {
            let kind = if flaps {
                EventKind::Flapping
            } else {
                EventKind::Steady
            };
            self.logs[index].tell(self.run.id, kind, key);
        }
    }

    /// Notes the confirmed cause of a member, if it is another than before. An unconfirmed failure is not
    /// confirmed.
    fn become_other(&mut self, index: usize, outcome: &UrlOutcome) {
        if outcome.is_believed() && outcome.result == Some(RunResult::Bad) {
            self.give(index, outcome, outcome.cause());
        }
    }

    /// Notes the cause of a member, if it is another than before.
    fn give(&mut self, index: usize, outcome: &UrlOutcome, cause: Cause) {
        let Some(member) = self.logs[index].state.members.get(&outcome.key) else {
            return;
        };
        // The target of a redirect may have a random part.
        let is_same = member
            .cause
            .as_ref()
            .is_some_and(|known| known.is_like(&cause));
        if is_same && member.believed {
            return;
        }
        let event = Event {
            id: self.run.id.to_owned(),
            event: EventKind::Became,
            cause: Some(cause),
            ..Event::default()
        };
        self.logs[index].add(
            event,
            EventUrl::of(&outcome.key),
            outcome.evidence.as_deref(),
        );
    }

    /// Lets the members of an incident whose host is silent be silent.
    pub(super) fn become_silent(&mut self, index: usize) {
        let outcomes: Vec<&UrlOutcome> = self.logs[index]
            .state
            .members
            .keys()
            .filter_map(|key| self.by_url.get(key).copied())
            .collect();
        let cause = outcomes
            .iter()
            .filter(|outcome| outcome.is_believed())
            .find_map(|outcome| {
                let cause = outcome.cause();
                cause.is_silence().then_some(cause)
            });
        for outcome in outcomes {
            if let Some(cause) = &cause {
                self.give(index, outcome, cause.clone());
            }
        }
    }

    fn leave(&mut self, index: usize, key: &MemberKey, because: Because) {
        let outcome = self.by_url.get(key).copied();
        let evidence = outcome.and_then(|outcome| outcome.evidence.as_deref());
        self.logs[index].leave(self.run.id, key, because, evidence);
        self.members.remove(key);
        self.departures.insert(key.clone(), index);
    }

    /// Lets a URL join an incident. Its trouble began at `since`. Without a cause, or with one that no second
    /// run has confirmed, it is not confirmed.
    pub(super) fn join(
        &mut self,
        index: usize,
        outcome: &UrlOutcome,
        (cause, unconfirmed): (Option<&Cause>, bool),
        since: Timestamp,
    ) {
        let key = &outcome.key;
        let last_good = (self.run.last_good)(outcome, since);
        let joining = outcome.joining(since, last_good);
        let event = Event {
            id: self.run.id.to_owned(),
            cause: cause.cloned(),
            unconfirmed,
            host_urls: Some((self.run.host_urls)(&outcome.host)),
            ..Event::default()
        };
        self.logs[index].join(event, key, joining, outcome.evidence.as_deref());
        self.members.insert(key.clone(), index);
    }

    /// Adds an incident without URLs, and returns its index.
    pub(super) fn open(&mut self, host: &str, cause: &Cause) -> usize {
        let RunFacts {
            id: run,
            project,
            is_taken,
            ..
        } = *self.run;
        let is_free =
            |id: &String| !self.logs.iter().any(|known| known.log.id == *id) && !is_taken(id);
        let id = (0..=u32::MAX)
            .map(|salt| incident_id(run, host, cause, salt))
            .into_iter()
            .find(is_free)
            .unwrap_or_default();
        // A closed one may open again.
        let has_key = |key: &String| self.logs.iter().any(|known| known.log.key == *key);
        let key = (0..=u32::MAX)
            .map(|salt| incident_key(project, host, cause, salt))
            .into_iter()
            .find(|key| !has_key(key))
            .unwrap_or_default();
        self.logs.push(LogEdit::new(IncidentLog {
            id,
            key,
            host: host.to_owned(),
            events: vec![],
        }));
        self.logs.len() - 1
    }

    /// The incident that the URL left within [`MOST_DAYS`], and its departure.
    pub(super) fn departure(&self, outcome: &UrlOutcome) -> Option<(usize, &Departure)> {
        let index = *self.departures.get(&outcome.key)?;
        let departure = self.logs[index].state.left.get(&outcome.key)?;
        let is_recent = is_within(&departure.at, self.run.started, MOST_DAYS);
        // Another incident took over since.
        let into = self.logs[index].state.merged_into.as_deref();
        let index = match into {
            Some(into) => self.logs.iter().position(|known| known.log.id == into)?,
            None => index,
        };
        is_recent.then_some((index, departure))
    }

    /// Notes the members that are muted from now on, or no longer.
    pub(super) fn mute(&mut self) {
        for index in 0..self.logs.len() {
            let changed: Vec<(MemberKey, bool)> = self.logs[index]
                .state
                .members
                .iter()
                .filter_map(|(key, member)| {
                    let outcome = self.by_url.get(key)?;
                    (outcome.muted != member.muted).then(|| (key.clone(), outcome.muted))
                })
                .collect();
            for (key, muted) in changed {
                let kind = if muted {
                    EventKind::Muted
                } else {
                    EventKind::Unmuted
                };
                self.logs[index].tell(self.run.id, kind, &key);
            }
        }
    }

    pub(super) fn end_acks(&mut self) {
        let (run, started) = (self.run.id, self.run.started);
        for edit in &mut self.logs {
            let ack = edit.state.ack.clone().filter(|ack| ack.until <= started);
            if let Some(ack) = ack.filter(|_| edit.state.is_open()) {
                edit.append(Event {
                    id: run.to_owned(),
                    event: EventKind::AckEnded,
                    ack: Some(ack),
                    ..Event::default()
                });
            }
        }
    }

    pub(super) fn finish(mut self) -> Appended {
        for edit in &mut self.logs {
            edit.close(self.run.id);
        }
        let logs = self
            .logs
            .into_iter()
            .filter(|edit| !edit.log.events.is_empty());
        Appended {
            incidents: logs.map(|edit| (edit.log, edit.known)).collect(),
        }
    }
}
