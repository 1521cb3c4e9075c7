//! The invented world of a scenario: its URLs, its runs and their incidents.

use std::sync::Arc;

use data_encoding::HEXLOWER;
use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use urldb_protocol::{
    Ack, CertificateDates, Delay, Delivery, Envelope, EventKind, Evidence, Incident, Observed,
    Promised, Reason, Remembered, Shown, State,
};
use urldb_verdict::incident::{
    Event, EventUrl, EvidenceFacts, FileFacts, ImpairedFacts, IncidentLog, MemberKey, RunFacts,
    RunResult, UrlOutcome, append, breaks_after, time_of, view_since,
};
use urldb_verdict::{CertificateFacts, HostCertificates, UrlStatus};

use super::scripts::{Extent, Scenario, SeenState, Step, StepEvent};
use crate::ledger::{IncidentFile, NewestCard, RunLine};
use crate::notify::week::week_before;

const HOST: &str = "data.example.org";
const FILE: &str = "urldb/data.example.org.yaml";

/// URLs of the invented database, and of its host.
const ALL_URLS: u64 = 1_247;
const HOST_URLS: u64 = 300;

/// Hours for which an invented certificate is valid.
const VALIDITY: i64 = 90 * 24;

/// The invented bytes: promised, and served instead.
const PROMISED: &str = "promised";
const SERVED: &str = "served";

pub(super) struct World {
    pub(super) files: Vec<IncidentFile>,
    steps: Vec<(&'static Step, bool)>,
    urls: Vec<UrlState>,
    /// The random part of ids, by which two tests differ.
    random: String,
    project: String,
    now: Timestamp,
    past: Vec<String>,
    /// The certificate of the host, in scenarios about it.
    certificate: Option<CertificateDates>,
    /// The first and the last run whose messages could not be sent, since the last one that could.
    down: Option<(Timestamp, Timestamp)>,
    /// Number of events that each incident had before the last run.
    before: Vec<(String, usize)>,
}

/// A URL between two runs.
struct UrlState {
    url: String,
    path: String,
    answer: SeenState,
    status: UrlStatus,
    breaks: Vec<String>,
    last_good: Option<Timestamp>,
}

impl World {
    /// The world before its first run. The last run is that of `base`.
    pub(super) fn new(scenario: &'static Scenario, extent: Extent, base: &Envelope) -> Self {
        let all: Vec<(&Step, bool)> = scenario
            .steps
            .iter()
            .flat_map(|step| (0..step.runs).map(move |run| (step, run == 0)))
            .collect();
        let steps = match extent {
            Extent::Whole => all,
            Extent::Opening => all.into_iter().take(2).collect(),
            Extent::Ends => {
                let last = all.last().copied();
                all.into_iter().take(2).chain(last).collect()
            }
        };
        let hours: i64 = steps.iter().map(|(step, _)| step.hours).sum();
        let now = base.run.started - SignedDuration::from_hours(hours);
        let (before, after) = scenario.paths;
        let path = |number: usize| match scenario.urls {
            1 => before.to_owned(),
            _ => format!("{before}{:02}{after}", number + 1),
        };
        let url = |number| UrlState {
            url: format!("https://{HOST}{}", path(number)),
            path: path(number),
            answer: SeenState::Kept,
            status: UrlStatus {
                state: State::Ok,
                since: now,
                reason: None,
                pending: None,
            },
            breaks: vec![],
            last_good: None,
        };
        let random = base.run.id.rsplit('-').next().unwrap_or_default();
        Self {
            files: vec![],
            urls: (0..scenario.urls).map(url).collect(),
            random: random.to_owned(),
            // Keys of incidents that no real incident has.
            project: format!("{} test {random}", base.run.project),
            steps,
            now,
            past: vec![],
            certificate: scenario.certificate.map(|ends| certificate(now, ends)),
            down: None,
            before: vec![],
        }
    }

    fn run_id(&self) -> String {
        format!("{}-{}", self.now.strftime("%Y%m%dT%H%M%SZ"), self.random)
    }

    /// Makes the next run, and returns its step. `None` after the last one.
    pub(super) fn run(&mut self) -> Option<&'static Step> {
        if self.steps.is_empty() {
            return None;
        }
        let (step, is_first) = self.steps.remove(0);
        self.now += SignedDuration::from_hours(step.hours);
        match step.event {
            Some(StepEvent::Ack { days }) => self.acknowledge(days),
            Some(StepEvent::Renewed) => self.certificate = Some(certificate(self.now, VALIDITY)),
            Some(StepEvent::ServiceIsDown) => {
                let first = self.down.map_or(self.now, |(first, _)| first);
                self.down = Some((first, self.now));
            }
            Some(StepEvent::WeekIsOver) | None => {}
        }
        let run = self.run_id();
        let was_good: Vec<bool> = self
            .urls
            .iter()
            .map(|url| url.status.state == State::Ok)
            .collect();
        if is_first {
            for (urls, answer) in step.changes {
                for url in &mut self.urls[urls.clone()] {
                    url.answer = *answer;
                }
            }
        }
        for url in &mut self.urls {
            url.see(&run, self.now);
        }
        let seen = self.urls.iter().enumerate().zip(was_good);
        let seen = seen.filter(|((_, url), _)| url.answer != SeenState::Removed);
        let outcomes: Vec<UrlOutcome> = seen
            .map(|((index, url), was_good)| url.outcome(index, was_good, self.now))
            .collect();
        self.append(&run, &outcomes);
        for url in &mut self.urls {
            if url.status.state == State::Ok {
                url.last_good = Some(self.now);
            }
        }
        self.past.push(run);
        Some(step)
    }

    fn append(&mut self, run: &str, outcomes: &[UrlOutcome]) {
        let last_good = |outcome: &UrlOutcome, _| {
            let mut urls = self.urls.iter();
            urls.find(|url| url.url == outcome.key.url)?.last_good
        };
        let facts = RunFacts {
            id: run,
            project: &self.project,
            started: self.now,
            is_gone: &|_, _| true,
            is_taken: &|_| false,
            last_good: &last_good,
            host_urls: &|_| HOST_URLS,
            has_answered: &|_| true,
            has_no_url: &|_, _| false,
            certificates: CertificateFacts {
                seen: &self.certificates(),
                warning: std::time::Duration::from_hours(14 * 24),
                is_complete: true,
            },
            impaired: &ImpairedFacts::default(),
            evidence: &EvidenceFacts::default(),
            files: FileFacts {
                read: &[],
                is_gone: &|_| false,
            },
        };
        let known: Vec<IncidentLog> = self.files.iter().map(|file| file.log.clone()).collect();
        let appended = append(known, outcomes, &facts);
        let old = std::mem::take(&mut self.files);
        self.before.clear();
        for (log, before) in appended.incidents {
            self.before.push((log.id.clone(), before));
            let known = old.iter().find(|file| file.log.id == log.id);
            let notified = known.map(|file| file.notified.clone()).unwrap_or_default();
            self.files.push(IncidentFile { log, notified });
        }
    }

    /// The certificate as the host shows it, to all its URLs.
    fn certificates(&self) -> Vec<HostCertificates> {
        self.certificate
            .iter()
            .map(|dates| {
                let has_ended = dates.not_after <= self.now;
                let address = Shown::new("192.0.2.20:443", Shown::LONGEST);
                let valid = (!has_ended).then(|| (dates.clone(), address));
                HostCertificates {
                    host: HOST.to_owned(),
                    file: FILE.to_owned(),
                    urls: self.urls.len() as u64,
                    valid: valid.into_iter().collect(),
                    ended: has_ended.then(|| dates.clone()).into_iter().collect(),
                    ..HostCertificates::default()
                }
            })
            .collect()
    }

    fn acknowledge(&mut self, days: i64) {
        let at = self.now - SignedDuration::from_hours(1);
        for file in &mut self.files {
            let members = file.log.state().members;
            file.log.events.push(Event {
                id: format!("{}-{}", at.strftime("%Y%m%dT%H%M%SZ"), self.random),
                event: EventKind::Acked,
                urls: members.keys().map(EventUrl::of).collect(),
                ack: Some(Ack {
                    until: at + SignedDuration::from_hours(24 * days),
                    because: "the disk is being replaced".to_owned(),
                    by: "ada".to_owned(),
                }),
                ..Event::default()
            });
        }
    }

    /// The report of the last run.
    pub(super) fn report(&self, base: &Envelope) -> Envelope {
        let mut envelope = base.clone();
        envelope.run.id = self.run_id();
        (envelope.run.started, envelope.run.finished) = (self.now, self.now);
        let known = |file: &IncidentFile| {
            let before = self.before.iter().find(|(id, _)| *id == file.log.id);
            before.map_or(0, |(_, before)| *before)
        };
        let incidents = self.files.iter();
        let incidents = incidents.filter_map(|file| view_since(&file.log, known(file)));
        envelope.incidents = incidents
            .map(|mut incident| {
                self.complete(&mut incident);
                incident
            })
            .collect();
        let mut counts = envelope.own_counts();
        for file in &self.files {
            file.log
                .state()
                .count(&envelope.run.id, &mut counts, |_, _| true);
        }
        envelope.summary.counts = counts.of_all(ALL_URLS);
        envelope.summary.coverage.due = ALL_URLS;
        envelope.summary.coverage.checked = ALL_URLS;
        envelope
    }

    /// The weekly report of the last run, without incidents.
    pub(super) fn weekly(&self, base: &Envelope) -> Envelope {
        let mut envelope = self.report(base);
        let past: Vec<RunLine> = self
            .past
            .iter()
            .filter(|run| **run != envelope.run.id)
            .filter_map(|run| past_run(run))
            .collect();
        envelope.week = Some(Box::new(week_before(&envelope, &past)));
        envelope
    }

    /// Adds what only a run knows.
    fn complete(&self, incident: &mut Incident) {
        incident.host_urls = HOST_URLS;
        let later = self
            .past
            .iter()
            .rev()
            .map_while(|run| time_of(run))
            .take_while(|at| *at >= incident.since)
            .count();
        incident.runs = u32::try_from(later).unwrap_or(u32::MAX);
        for url in &mut incident.urls {
            let mut urls = self.urls.iter();
            let Some(state) = urls.find(|it| it.url == url.url) else {
                continue;
            };
            url.seen = Some(state.status.state);
            if url.flapping {
                url.breaks = state.breaks.iter().filter_map(|run| time_of(run)).collect();
            }
        }
        incident.evidence.tried = incident.affected().count() as u64;
    }

    /// Notes the newest cards of the notifier.
    pub(super) fn deliver(&mut self, notifier: &str, cards: Vec<(String, NewestCard)>) {
        for (id, card) in cards {
            let mut files = self.files.iter_mut();
            if let Some(file) = files.find(|file| file.log.id == id) {
                file.deliver(notifier, card);
            }
        }
    }

    /// Notes incidents that the notifier could not tell.
    pub(super) fn expect(&mut self, notifier: &str, ids: impl Iterator<Item = String>) {
        for id in ids {
            let mut files = self.files.iter_mut();
            if let Some(file) = files.find(|file| file.log.id == id) {
                file.notified.entry(notifier.to_owned()).or_default();
            }
        }
    }

    /// Stores facts of the notifier about incidents.
    pub(super) fn remember(&mut self, notifier: &str, facts: Vec<Remembered>) {
        for fact in facts {
            let mut files = self.files.iter_mut();
            if let Some(file) = files.find(|file| file.log.id == fact.incident) {
                file.notified
                    .entry(notifier.to_owned())
                    .or_default()
                    .facts
                    .insert(fact.key, fact.value);
            }
        }
    }

    /// Why the next message is late.
    pub(super) fn take_delay(&mut self) -> Option<Delay> {
        let (first_tried, last_tried) = self.down.take()?;
        Some(Delay {
            first_tried,
            last_tried,
            now: self.now,
            reason: Delivery::text("the service cannot be reached"),
        })
    }
}

impl UrlState {
    /// The state that a run sees.
    fn seen(&self) -> State {
        match self.answer {
            SeenState::Kept | SeenState::Accepted | SeenState::Removed => State::Ok,
            SeenState::Grown => State::Changed,
            SeenState::Gone => State::Gone,
            SeenState::Expired => State::Unreachable,
        }
    }

    fn reason(&self) -> Option<String> {
        let is_expired = self.answer == SeenState::Expired;
        is_expired.then(|| Reason::TlsExpired.to_string())
    }

    fn result(&self) -> RunResult {
        if self.seen() == State::Ok {
            RunResult::Good
        } else {
            RunResult::Bad
        }
    }

    fn see(&mut self, run: &str, now: Timestamp) {
        let seen = self.seen();
        let was_good = self.status.state == State::Ok;
        let breaks = std::mem::take(&mut self.breaks);
        self.breaks = breaks_after(breaks, was_good, Some(self.result()), run);
        if self.status.state != seen {
            (self.status.state, self.status.since) = (seen, now);
            self.status.reason = self.reason();
        }
    }

    fn outcome(&self, index: usize, was_good: bool, now: Timestamp) -> UrlOutcome {
        let promise = if self.answer == SeenState::Accepted {
            SERVED
        } else {
            PROMISED
        };
        UrlOutcome {
            key: MemberKey {
                url: self.url.clone(),
                ..MemberKey::default()
            },
            record: (Arc::from(HOST), self.path.clone()),
            file: Arc::from(FILE),
            line: 1 + 9 * index,
            categories: Arc::from(vec![]),
            owner: None,
            host: HOST.to_owned(),
            muted: false,
            promise: promise.to_owned(),
            known_since: Some(now - SignedDuration::from_hours(24 * 365)),
            was_good,
            status: self.status.clone(),
            result: Some(self.result()),
            breaks: self.breaks.clone(),
            seen: self.seen(),
            seen_reason: self.reason(),
            redirect: None,
            evidence: (self.seen() != State::Ok).then(|| Box::new(self.evidence())),
        }
    }

    fn evidence(&self) -> Evidence {
        let (status, is_served) = match self.answer {
            SeenState::Gone => (Some(404), false),
            SeenState::Expired => (None, false),
            _ => (Some(200), true),
        };
        let served = is_served.then(|| digest(SERVED));
        Evidence {
            url: self.url.clone(),
            promised: Promised {
                length: Some(48_120),
                sha256: Some(digest(PROMISED)),
                ..Promised::default()
            },
            observed: Observed {
                status,
                length: served.is_some().then_some(48_319),
                sha256: served,
                ..Observed::default()
            },
            requests: 2,
            agreeing: 2,
            tried: 1,
            ..Evidence::default()
        }
    }
}

/// A complete run of the past.
fn past_run(id: &str) -> Option<RunLine> {
    Some(RunLine {
        run: id.to_owned(),
        at: time_of(id)?,
        due: ALL_URLS,
        verified: ALL_URLS,
        states: [(State::Ok, ALL_URLS)].into(),
        ..RunLine::default()
    })
}

/// A certificate of the authority R3 that ends so many hours after `now`.
fn certificate(now: Timestamp, ends: i64) -> CertificateDates {
    let not_after = now + SignedDuration::from_hours(ends);
    CertificateDates {
        not_before: not_after - SignedDuration::from_hours(VALIDITY),
        not_after,
        issuer: Shown::new("Example CA R3", Shown::LONGEST),
        authority: None,
    }
}

fn digest(text: &str) -> String {
    HEXLOWER.encode(&Sha256::digest(text))
}
