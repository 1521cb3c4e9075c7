//! Properties of notices over random histories of the certificates of one host.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use urldb_protocol::{CertificateDates, EventKind, Notice, Phase, Reason, Shown, State};

use super::*;
use crate::certificates::{CertificateFacts, HostCertificates};
use crate::status::UrlStatus;

const HOST: &str = "a.example";
const WARNING: Duration = Duration::from_hours(14 * 24);
const URLS: usize = 2;

/// Events between two runs, and the sights of a run.
#[derive(Debug, Clone)]
enum Step {
    /// The hours since the run before, which are negative when the clock steps back.
    Run(i64, Sight),
    /// Two branches with a run each are merged.
    Branches((i64, Sight), (i64, Sight)),
    /// The host has URLs over https, or none.
    Https(bool),
    Mute(bool),
}

#[derive(Debug, Clone)]
enum Sight {
    /// The servers of the host show these certificates, by their numbers.
    Shown(Vec<usize>),
    /// The host is silent, or not selected.
    Nothing,
}

fn sight() -> impl Strategy<Value = Sight> {
    prop_oneof![
        6 => prop::collection::vec(0_usize..5, 1..3).prop_map(Sight::Shown),
        1 => Just(Sight::Nothing),
    ]
}

fn hours() -> impl Strategy<Value = i64> {
    prop_oneof![6 => 1_i64..60, 1 => -400_i64..200]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (hours(), sight()).prop_map(|(hours, sight)| Step::Run(hours, sight)),
        1 => ((hours(), sight()), (hours(), sight())).prop_map(|(one, other)| Step::Branches(one, other)),
        1 => any::<bool>().prop_map(Step::Https),
        1 => any::<bool>().prop_map(Step::Mute),
    ]
}

/// The host with its certificates, of which each is valid for 90 or 20 days.
#[derive(Debug, Clone)]
struct World {
    now: Timestamp,
    number: u32,
    certificates: Vec<CertificateDates>,
    https: bool,
    muted: bool,
    logs: Vec<IncidentLog>,
}

/// A run, and the incidents after it with the number of events before.
struct Run {
    seen: Option<HostCertificates>,
    incidents: Vec<(IncidentLog, usize)>,
}

impl World {
    fn new() -> Self {
        let now: Timestamp = "2026-11-01T04:17:03Z".parse().unwrap();
        let days = |days: i64| SignedDuration::from_hours(24 * days);
        let certificate = |number: i64| {
            let not_after = now + days(10 + 12 * number);
            let validity = if number == 3 { days(20) } else { days(90) };
            CertificateDates {
                not_before: not_after - validity,
                not_after,
                issuer: Shown::new(&number.to_string(), 9),
                authority: None,
            }
        };
        Self {
            now,
            number: 0,
            certificates: (0..5).map(certificate).collect(),
            https: true,
            muted: false,
            logs: vec![],
        }
    }

    fn take(&mut self, step: &Step) -> Option<Run> {
        match step {
            Step::Https(https) => self.https = *https,
            Step::Mute(muted) => self.muted = *muted,
            Step::Run(hours, sight) => return Some(self.run(*hours, sight)),
            Step::Branches(one, other) => {
                let shared = self.logs.clone();
                let mut branch = self.clone();
                branch.number += 1000;
                branch.run(other.0, &other.1);
                self.run(one.0, &one.1);
                self.merge(&shared, &branch.logs);
                self.now = self.now.max(branch.now);
            }
        }
        None
    }

    /// As the merge of files: the shared events, then both tails by their runs.
    fn merge(&mut self, shared: &[IncidentLog], other: &[IncidentLog]) {
        for log in other {
            let of_id = |logs: &[IncidentLog]| logs.iter().find(|it| it.id == log.id).cloned();
            let prefix = of_id(shared).map_or(0, |it| it.events.len());
            match self.logs.iter_mut().find(|it| it.id == log.id) {
                Some(own) => {
                    let mut tail = own.events.split_off(prefix);
                    tail.extend_from_slice(&log.events[prefix..]);
                    tail.sort_by(|one, other| one.id.cmp(&other.id));
                    own.events.extend(tail);
                }
                None => self.logs.push(log.clone()),
            }
        }
    }

    fn seen(&self, sight: &Sight) -> Option<HostCertificates> {
        let Sight::Shown(numbers) = sight else {
            return None;
        };
        let mut seen = HostCertificates {
            host: HOST.to_owned(),
            file: "urldb/a.example.yaml".to_owned(),
            urls: URLS as u64,
            muted: if self.muted { URLS as u64 } else { 0 },
            ..HostCertificates::default()
        };
        for number in numbers {
            let dates = self.certificates[*number].clone();
            if self.now > dates.not_after {
                seen.ended.insert(dates);
            } else if self.now >= dates.not_before {
                seen.valid.insert(dates, Shown::default());
            }
        }
        self.https.then_some(seen)
    }

    fn run(&mut self, hours: i64, sight: &Sight) -> Run {
        self.now += SignedDuration::from_hours(hours);
        self.number += 1;
        let id = format!(
            "{}-{:08x}",
            self.now.strftime("%Y%m%dT%H%M%SZ"),
            self.number
        );
        let seen = self.seen(sight);
        let is_silent = seen.as_ref().is_some_and(|seen| seen.valid.is_empty());
        let told: BTreeSet<CertificateDates> = self
            .logs
            .iter()
            .filter(|log| log.state().is_noticed)
            .flat_map(|log| sent_hours(log).into_keys().cloned().collect::<Vec<_>>())
            .collect();
        let is_known = seen
            .as_ref()
            .is_some_and(|seen| seen.ended.iter().any(|it| told.contains(it)));
        let outcomes: Vec<UrlOutcome> = match &seen {
            Some(_) => (0..URLS)
                .map(|url| self.outcome(url, is_silent, is_known))
                .collect(),
            None => vec![],
        };
        let certificates: Vec<HostCertificates> = seen.clone().into_iter().collect();
        let facts = RunFacts {
            files: FileFacts {
                read: &[],
                is_gone: &|_| false,
            },
            id: &id,
            project: "sky-urls",
            started: self.now,
            is_gone: &|_, _| !self.https,
            is_taken: &|_| false,
            last_good: &|_, _| None,
            host_urls: &|_| URLS as u64,
            has_answered: &|_| !is_silent,
            has_no_url: &|_, _| !self.https,
            certificates: CertificateFacts {
                seen: &certificates,
                warning: WARNING,
                is_complete: true,
            },
            impaired: &ImpairedFacts::default(),
            evidence: &EvidenceFacts::default(),
        };
        let appended = append(std::mem::take(&mut self.logs), &outcomes, &facts);
        self.logs = appended
            .incidents
            .iter()
            .map(|(log, _)| log.clone())
            .collect();
        Run {
            seen,
            incidents: appended.incidents,
        }
    }

    /// The URL is broken by an ended certificate, which is believed at once if it was told, or is as promised.
    fn outcome(&self, index: usize, is_broken: bool, is_known: bool) -> UrlOutcome {
        let reason = Some(Reason::TlsExpired.to_string());
        let believed = is_broken && is_known;
        UrlOutcome {
            key: MemberKey {
                url: format!("https://{HOST}/{index}"),
                ..MemberKey::default()
            },
            record: (Arc::from(HOST), format!("/{index}")),
            file: Arc::from("urldb/a.example.yaml"),
            line: index + 1,
            categories: Arc::from([]),
            owner: None,
            host: HOST.to_owned(),
            muted: self.muted,
            promise: String::new(),
            known_since: None,
            was_good: true,
            status: UrlStatus {
                state: if believed {
                    State::Unreachable
                } else {
                    State::Ok
                },
                since: self.now,
                reason: reason.clone().filter(|_| believed),
                pending: None,
            },
            result: Some(if is_broken {
                RunResult::Bad
            } else {
                RunResult::Good
            }),
            breaks: vec![],
            seen: if is_broken {
                State::Unreachable
            } else {
                State::Ok
            },
            seen_reason: reason.filter(|_| is_broken),
            redirect: None,
            evidence: None,
        }
    }

    fn open_notices(&self) -> Vec<&IncidentLog> {
        self.logs
            .iter()
            .filter(|log| log.state().is_noticed)
            .collect()
    }
}

/// Each event about a certificate is about one that this run saw, and is true of it.
fn claims_only_what_it_saw(world: &World, run: &Run) {
    for (log, known) in &run.incidents {
        for event in &log.events[*known..] {
            let Some(Notice {
                certificate,
                within_hours,
                renewed,
                ..
            }) = &event.notice
            else {
                continue;
            };
            let seen = run.seen.as_ref().expect("nothing was seen");
            if event.event == EventKind::Renewed {
                let renewed = renewed.as_ref().unwrap();
                assert!(seen.valid.contains_key(renewed), "{event:?}");
                assert_ne!(Some(renewed), certificate.as_ref());
                continue;
            }
            assert!(!world.muted, "a muted host is told: {event:?}");
            let dates = certificate.as_ref().unwrap();
            let left = dates.not_after.duration_since(world.now);
            match within_hours.unwrap() {
                0 => assert!(seen.ended.contains(dates), "{event:?}"),
                hours => {
                    assert!(seen.valid.contains_key(dates), "{event:?}");
                    assert!(left < SignedDuration::from_hours(i64::try_from(hours).unwrap()));
                }
            }
        }
    }
}

/// The hours that people are told about a certificate only go down, unless it was replaced and came back.
fn hours_go_down(run: &Run) {
    for (log, known) in &run.incidents {
        let before = IncidentLog {
            events: log.events[..*known].to_vec(),
            ..log.clone()
        };
        let told: BTreeMap<_, _> = sent_hours(&before);
        for event in &log.events[*known..] {
            let Some(notice) = event
                .notice
                .as_ref()
                .filter(|_| event.event == EventKind::Noticed)
            else {
                continue;
            };
            let former = told.get(notice.certificate.as_ref().unwrap());
            assert!(
                former.is_none_or(|former| notice.within_hours < Some(*former)),
                "{event:?}"
            );
        }
    }
}

/// A notice holds no longer than its reason, as far as the run saw.
fn ends_with_its_reason(world: &World, run: &Run) {
    let open = world.open_notices();
    if !world.https {
        assert!(
            open.iter()
                .all(|log| log.state().is_open() && !log.state().members.is_empty())
        );
        return;
    }
    let Some(seen) = &run.seen else { return };
    let is_good = !seen.valid.is_empty()
        && seen.ended.is_empty()
        && seen.ending(world.now, WARNING).is_none();
    for log in open.iter().filter(|_| is_good) {
        let told = sent_hours(log);
        let is_same = seen.valid.keys().any(|dates| told.contains_key(dates));
        let came_back = log
            .events
            .iter()
            .any(|event| event.event == EventKind::Reopened);
        assert!(is_same || came_back, "{log:?}");
    }
    if seen.ending(world.now, WARNING).is_some() && !world.muted {
        assert_eq!(
            world.open_notices().len(),
            1,
            "a certificate ends, and nobody hears of it"
        );
    }
}

/// The URLs of a host whose certificate has ended as people were told are in the incident of the notice.
fn urls_join_the_notice(world: &World, run: &Run) {
    let Some(seen) = run.seen.as_ref().filter(|seen| seen.valid.is_empty()) else {
        return;
    };
    for (log, known) in &run.incidents {
        let before = fold(&log.events[..*known]);
        let told = sent_hours(log);
        if log.state().merged_into.is_some() {
            // Its URLs are in the other one, since branches had one each.
            continue;
        }
        if before.is_noticed && seen.ended.iter().any(|dates| told.contains_key(dates)) {
            assert_eq!(log.state().members.len(), URLS, "{log:?}");
            assert_eq!(sent_hours(log).values().min(), Some(&0));
        }
    }
    let affected = world
        .logs
        .iter()
        .filter(|log| !log.state().members.is_empty());
    assert!(affected.count() <= 1);
}

/// A reader who knew some events has a phase that leads from what he knows to what is so.
fn tells_the_difference(log: &IncidentLog, known: usize) {
    let (before, after) = (fold(&log.events[..known]), log.state());
    let phase = view_since(log, known).map(|incident| incident.phase);
    match (before.is_open(), after.is_open()) {
        (false, false) => assert!(matches!(phase, None | Some(Phase::Closed))),
        (false, true) => assert_eq!(phase, Some(Phase::Opened)),
        (true, false) => assert_eq!(phase, Some(Phase::Closed)),
        (true, true) => assert!(matches!(phase, Some(Phase::Changed | Phase::Unchanged))),
    }
    if before.is_open() && before.members.is_empty() && !after.members.is_empty() {
        assert_eq!(phase, Some(Phase::Changed));
    }
}

proptest! {
    #[test]
    fn notices_are_true_and_few(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            let Some(run) = world.take(step) else { continue };
            prop_assert!(world.open_notices().len() <= 1, "two open notices");
            claims_only_what_it_saw(&world, &run);
            hours_go_down(&run);
            ends_with_its_reason(&world, &run);
            urls_join_the_notice(&world, &run);
            for (log, known) in &run.incidents {
                tells_the_difference(log, *known);
                tells_the_difference(log, known / 2);
            }
        }
    }
}
