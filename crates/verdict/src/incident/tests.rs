//! Properties of incidents over random histories.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use urldb_protocol::{Because, EventKind, Evidence, Phase, Reason, State};

use super::*;
use crate::certificates::CertificateFacts;
use crate::options::VerdictOptions;
use crate::status::UrlStatus;
use crate::verdict::{Classification, Verdict};

/// What a run sees of one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sight {
    Good,
    Mixed,
    Sure(State),
    Unsure(State),
    /// The host does not answer, and the URL is tried or not.
    Silent(bool),
    NotAsked,
    NoResult,
}

#[derive(Debug, Clone)]
enum Step {
    /// The hours since the run before, which are negative when the clock steps back, and what it sees.
    Run(i64, Vec<Sight>),
    EditPromise(usize),
    Remove(usize),
    Add(usize),
    Mute(usize, bool),
}

const URLS: usize = 4;

fn sight() -> impl Strategy<Value = Sight> {
    prop_oneof![
        6 => Just(Sight::Good),
        1 => Just(Sight::Mixed),
        3 => prop_oneof![Just(State::Changed), Just(State::Gone)].prop_map(Sight::Sure),
        2 => prop_oneof![Just(State::ServerError), Just(State::ClientError)].prop_map(Sight::Unsure),
        1 => any::<bool>().prop_map(Sight::Silent),
        1 => Just(Sight::NotAsked),
        1 => Just(Sight::NoResult),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let hours = prop_oneof![10 => Just(24), 3 => Just(1), 1 => Just(-30), 1 => Just(24 * 25)];
    prop_oneof![
        12 => (hours, prop::collection::vec(sight(), URLS))
            .prop_map(|(hours, sights)| Step::Run(hours, sights)),
        1 => (0..URLS).prop_map(Step::EditPromise),
        1 => (0..URLS).prop_map(Step::Remove),
        1 => (0..URLS).prop_map(Step::Add),
        1 => ((0..URLS), any::<bool>()).prop_map(|(url, muted)| Step::Mute(url, muted)),
    ]
}

/// The memory of one URL between runs: its entry in the ledger, and its record.
#[derive(Debug, Clone, Default)]
struct Url {
    has_record: bool,
    promise: u32,
    muted: bool,
    status: Option<UrlStatus>,
    breaks: Vec<String>,
    last_good: Option<Timestamp>,
}

/// A world with two hosts of two URLs each.
struct World {
    now: Timestamp,
    number: u32,
    urls: Vec<Url>,
    logs: Vec<IncidentLog>,
    /// What each URL showed in the last run.
    seen: Vec<Sight>,
}

fn url_of(index: usize) -> String {
    format!("https://{}.example/{index}", host_of(index))
}

fn host_of(index: usize) -> &'static str {
    if index < URLS / 2 { "a" } else { "b" }
}

fn verdict(state: State, reason: Option<Reason>, sure: bool) -> Verdict {
    Verdict {
        classification: Classification {
            state,
            reason,
            expected: None,
            observed: String::new(),
            warning: None,
        },
        observation: 0,
        sure,
        attempts: vec![],
        explanation: None,
    }
}

impl World {
    fn new() -> Self {
        Self {
            now: "2026-11-02T04:17:03Z".parse().unwrap(),
            number: 0,
            urls: vec![
                Url {
                    has_record: true,
                    ..Url::default()
                };
                URLS
            ],
            logs: vec![],
            seen: vec![Sight::NotAsked; URLS],
        }
    }

    /// Takes one step; returns the incidents after it, with the number of events before, if it is a run.
    fn take(&mut self, step: &Step) -> Option<(String, Vec<(IncidentLog, usize)>)> {
        match step {
            Step::EditPromise(url) => self.urls[*url].promise += 1,
            Step::Remove(url) => self.urls[*url].has_record = false,
            Step::Add(url) => self.urls[*url].has_record = true,
            Step::Mute(url, muted) => self.urls[*url].muted = *muted,
            Step::Run(hours, sights) => return Some(self.run(*hours, sights)),
        }
        None
    }

    fn run(&mut self, hours: i64, sights: &[Sight]) -> (String, Vec<(IncidentLog, usize)>) {
        self.now += SignedDuration::from_hours(hours);
        self.number += 1;
        let id = format!(
            "{}-{:08x}",
            self.now.strftime("%Y%m%dT%H%M%SZ"),
            self.number
        );
        // One silent URL is a silent host.
        let is_silent = |index: usize| {
            let mut of_host = (0..URLS).filter(|other| host_of(*other) == host_of(index));
            of_host.any(|other| matches!(sights[other], Sight::Silent(_)))
        };
        self.seen = (0..URLS)
            .map(|index| match sights[index] {
                _ if !self.urls[index].has_record => Sight::NotAsked,
                sight if is_silent(index) => Sight::Silent(!matches!(sight, Sight::Silent(false))),
                sight => sight,
            })
            .collect();
        let mut outcomes = vec![];
        for index in 0..URLS {
            outcomes.extend(self.outcome(index, &id));
        }
        let is_gone = |key: &MemberKey, _: &str| {
            let index = (0..URLS).find(|index| url_of(*index) == key.url).unwrap();
            !self.urls[index].has_record
        };
        let last_good = |outcome: &UrlOutcome, _: Timestamp| {
            let index = (0..URLS)
                .find(|index| url_of(*index) == outcome.key.url)
                .unwrap();
            self.urls[index].last_good
        };
        let has_answered = |host: &str| {
            (0..URLS).any(|index| {
                host_of(index) == &host[..1]
                    && !matches!(self.seen[index], Sight::Silent(_) | Sight::NotAsked)
            })
        };
        let facts = RunFacts {
            id: &id,
            project: "sky-urls",
            started: self.now,
            is_gone: &is_gone,
            is_taken: &|_| false,
            last_good: &last_good,
            host_urls: &|_| URLS as u64 / 2,
            has_answered: &has_answered,
            has_no_url: &|_, _| false,
            certificates: CertificateFacts {
                seen: &[],
                warning: std::time::Duration::ZERO,
                is_complete: true,
            },
            impaired: &ImpairedFacts::default(),
            evidence: &EvidenceFacts::default(),
            files: FileFacts {
                read: &[],
                is_gone: &|_| false,
            },
        };
        let appended = append(std::mem::take(&mut self.logs), &outcomes, &facts);
        let new = appended
            .incidents
            .iter()
            .flat_map(|(log, known)| &log.events[*known..]);
        for event in new.filter(|event| event.because == Some(Because::Accepted)) {
            for url in &event.urls {
                self.urls[index_of(&url.key)].breaks.clear();
            }
        }
        for index in 0..URLS {
            if !self.urls[index].has_record {
                // The ledger forgets it.
                self.urls[index] = Url::default();
            }
            if self.seen[index] == Sight::Good {
                self.urls[index].last_good = Some(self.now);
            }
        }
        self.logs = appended
            .incidents
            .iter()
            .map(|(log, _)| log.clone())
            .collect();
        (id, appended.incidents)
    }

    fn outcome(&mut self, index: usize, run: &str) -> Option<UrlOutcome> {
        let silent = Some(Reason::Timeout);
        let (verdict, result) = match self.seen[index] {
            Sight::NotAsked => return None,
            Sight::Good => (verdict(State::Ok, None, true), Some(RunResult::Good)),
            Sight::Mixed => (verdict(State::Ok, None, true), Some(RunResult::Mixed)),
            Sight::Sure(state) => (verdict(state, None, true), Some(RunResult::Bad)),
            Sight::Unsure(state) => (verdict(state, None, false), Some(RunResult::Bad)),
            Sight::Silent(true) => (
                verdict(State::Unreachable, silent, false),
                Some(RunResult::Bad),
            ),
            Sight::Silent(false) => (
                verdict(State::Inconclusive, Some(Reason::HostSilent), false),
                None,
            ),
            Sight::NoResult => (verdict(State::Inconclusive, None, false), None),
        };
        let now = self.now;
        let url = &mut self.urls[index];
        let options = VerdictOptions {
            confirm: 2,
            ..VerdictOptions::default()
        };
        let was_good = url.status.as_ref().is_some_and(UrlStatus::is_untroubled);
        let status = UrlStatus::after(url.status.as_ref(), &verdict, now, &options);
        url.breaks = breaks_after(std::mem::take(&mut url.breaks), was_good, result, run);
        url.status = Some(status.clone());
        Some(UrlOutcome {
            key: MemberKey {
                url: url_of(index),
                ..MemberKey::default()
            },
            record: (Arc::from(host_of(index)), format!("/{index}")),
            file: Arc::from(format!("urldb/{}.example.yaml", host_of(index))),
            line: index + 1,
            categories: Arc::from([]),
            owner: None,
            host: format!("{}.example", host_of(index)),
            muted: url.muted,
            promise: url.promise.to_string(),
            known_since: None,
            was_good,
            status,
            result,
            breaks: url.breaks.clone(),
            seen: verdict.state(),
            seen_reason: verdict
                .classification
                .reason
                .map(|reason| reason.to_string()),
            redirect: None,
            // A run stores evidence of some URLs.
            evidence: index.is_multiple_of(2).then(|| {
                Box::new(Evidence {
                    url: url_of(index),
                    detail: urldb_protocol::Shown::new(run, 100),
                    ..Evidence::default()
                })
            }),
        })
    }

    fn open(&self) -> impl Iterator<Item = IncidentState> {
        let states = self.logs.iter().map(IncidentLog::state);
        states.filter(IncidentState::is_open)
    }
}

fn index_of(key: &MemberKey) -> usize {
    (0..URLS).find(|index| url_of(*index) == key.url).unwrap()
}

/// No event calls a URL good that its run did not see as promised.
fn says_nothing_untrue(world: &World, run: &str, log: &IncidentLog) {
    for event in log.events.iter().filter(|event| event.id == run) {
        for url in &event.urls {
            let seen = world.seen[index_of(&url.key)];
            match (event.event, event.because) {
                (_, Some(Because::Recovered | Because::Accepted)) => {
                    assert_eq!(seen, Sight::Good, "{event:?}");
                }
                (_, Some(Because::Removed)) => {
                    assert!(!world.urls[index_of(&url.key)].has_record, "{event:?}");
                }
                (EventKind::Became, _) => {
                    assert!(matches!(
                        seen,
                        Sight::Sure(_) | Sight::Unsure(_) | Sight::Silent(_)
                    ));
                }
                _ => {}
            }
        }
        for evidence in &event.evidence {
            assert_eq!(&*evidence.detail, run, "the evidence is of another run");
        }
    }
}

/// The URL broke three times within thirty days, and once within seven, since its promise was changed.
fn breaks_often(world: &World, index: usize) -> bool {
    let breaks = world.urls[index]
        .breaks
        .iter()
        .map(|run| time_of(run).unwrap());
    let ages: Vec<i64> = breaks
        .map(|at| world.now.duration_since(at).as_hours())
        .collect();
    let within = |days: i64| {
        ages.iter()
            .filter(|age| (0..24 * days).contains(*age))
            .count()
    };
    within(30) >= 3 && within(7) > 0
}

/// Whoever hears all events knows which URLs are broken, and each is in one incident.
fn knows_all(world: &World) {
    let mut members: BTreeMap<MemberKey, Member> = BTreeMap::new();
    for state in world.open() {
        let files = state.members.values().map(|member| &member.joining.file);
        assert!(files.collect::<BTreeSet<_>>().len() <= 1, "of two hosts");
        for (key, member) in state.members {
            assert!(members.insert(key, member).is_none(), "in two incidents");
        }
    }
    for (index, url) in world.urls.iter().enumerate() {
        let key = MemberKey {
            url: url_of(index),
            ..MemberKey::default()
        };
        let member = members.get(&key);
        let is_believed = url
            .status
            .as_ref()
            .is_some_and(|status| status.state != State::Ok);
        let seen = world.seen[index];
        let is_bad = matches!(seen, Sight::Sure(_) | Sight::Unsure(_));
        if url.has_record && is_believed && is_bad {
            let member = member.unwrap_or_else(|| panic!("{key:?} is broken and in no incident"));
            let state = url.status.as_ref().unwrap().state;
            assert_eq!(
                member.cause.as_ref().map(|cause| cause.state),
                Some(state),
                "{key:?}"
            );
        }
        if let Some(member) = member {
            let flaps = member.flapping.is_some();
            assert!(
                flaps || seen != Sight::Good,
                "{key:?} is good and in an incident"
            );
            if matches!(
                seen,
                Sight::Good | Sight::Mixed | Sight::Sure(_) | Sight::Unsure(_)
            ) {
                assert_eq!(flaps, breaks_often(world, index), "{key:?}");
            }
            let Joining {
                since, last_good, ..
            } = &member.joining;
            assert!(last_good.is_none_or(|good| good <= *since), "{key:?}");
        }
    }
}

/// A reader who knows some events sees what is affected, and each URL that left since it opened last: known = left +
/// still affected.
fn tells_the_difference(log: &IncidentLog, heard: usize) {
    let before: BTreeSet<MemberKey> = fold(&log.events[..heard]).members.into_keys().collect();
    let after: BTreeSet<MemberKey> = log.state().members.into_keys().collect();
    let Some(incident) = view_since(log, heard) else {
        assert!(
            before.is_empty() && after.is_empty(),
            "{before:?} {after:?}"
        );
        return;
    };
    let keys = |wanted: &dyn Fn(&urldb_protocol::AffectedUrl) -> bool| {
        let urls = incident.urls.iter().filter(|url| wanted(url));
        urls.map(|url| MemberKey {
            url: url.url.clone(),
            ..MemberKey::default()
        })
        .collect::<BTreeSet<_>>()
    };
    assert_eq!(keys(&|url| url.left.is_none()), after);
    let new = keys(&|url| url.new);
    assert!(after.difference(&before).all(|key| new.contains(key)));
    let left = keys(&|url| url.left.is_some());
    let new = &log.events[heard..];
    let opens = |event: &Event| matches!(event.event, EventKind::Opened | EventKind::Reopened);
    let is_other = incident.merged_into.is_some() || new.iter().any(opens);
    assert!(is_other || before.difference(&after).all(|key| left.contains(key)));
    let expected = match (before.is_empty(), after.is_empty()) {
        (_, true) => [Phase::Closed].as_slice(),
        (true, _) => &[Phase::Opened],
        _ => &[Phase::Changed, Phase::Unchanged],
    };
    assert!(expected.contains(&incident.phase), "{:?}", incident.phase);
}

proptest! {
    #[test]
    fn histories_are_told_as_they_were(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            let Some((run, incidents)) = world.take(step) else { continue };
            for (log, known) in &incidents {
                says_nothing_untrue(&world, &run, log);
                tells_the_difference(log, *known);
                tells_the_difference(log, known / 2);
            }
            knows_all(&world);
        }
    }

    #[test]
    fn a_url_is_news_at_most_eight_times_in_a_window(
        sights in prop::collection::vec(sight(), 1..60)
    ) {
        let mut world = World::new();
        let mut news: Vec<(Timestamp, String)> = vec![];
        for sight in sights {
            let mut all = vec![Sight::Good; URLS];
            all[0] = sight;
            let (run, incidents) = world.run(24, &all);
            for (log, known) in &incidents {
                let new = log.events[*known..].iter();
                let told = new.filter(|event| {
                    let is_own = event.urls.iter().any(|url| url.key.url == url_of(0));
                    is_own && event.event != EventKind::Became
                });
                if told.count() > 0 {
                    news.push((world.now, run.clone()));
                }
            }
            let week = world.now - SignedDuration::from_hours(24 * 10);
            let recent = news.iter().filter(|(at, _)| *at > week).count();
            prop_assert!(recent <= 8, "{recent} messages in a window");
        }
    }
}

/// The name of a value in files.
fn named(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value)
        .unwrap()
        .trim_matches('"')
        .to_owned()
}

/// The events of one URL over daily runs: `.` is good, `m` mixed, other letters are states.
fn story(days: &str) -> String {
    let mut world = World::new();
    let mut lines = vec![];
    for letter in days.chars() {
        let sight = match letter {
            '.' => Sight::Good,
            'm' => Sight::Mixed,
            'c' => Sight::Sure(State::Changed),
            'g' => Sight::Sure(State::Gone),
            '5' => Sight::Unsure(State::ServerError),
            's' => Sight::Silent(true),
            _ => Sight::NoResult,
        };
        let sights = if sight == Sight::Silent(true) {
            vec![sight; URLS]
        } else {
            let mut all = vec![Sight::Good; URLS];
            all[0] = sight;
            all
        };
        let (_, incidents) = world.run(24, &sights);
        let mut words: Vec<String> = vec![];
        for (log, known) in incidents {
            for event in &log.events[known..] {
                let mut parts = vec![named(&event.event)];
                parts.extend(event.cause.as_ref().map(|cause| cause.state.to_string()));
                parts.extend(event.because.as_ref().map(named));
                words.push(parts.join(" "));
            }
        }
        lines.push(format!("{letter} {}", words.join(", ")).trim().to_owned());
    }
    lines.join("\n")
}

#[test]
fn a_changed_url_that_is_gone_has_not_recovered() {
    assert_eq!(
        story(".cg.c"),
        ".\nc opened changed\ng became gone\n. shrunk recovered, closed\nc reopened changed"
    );
}

#[test]
fn an_unconfirmed_failure_changes_no_cause() {
    assert_eq!(
        story(".g5g55.."),
        ".\ng opened gone\n5\ng\n5\n5 became server-error\n. shrunk recovered, closed\n."
    );
}

/// One cause at one host is one incident, whichever of its URLs returns to a former one.
#[test]
fn others_join_the_incident_of_a_url_that_returns() {
    use Sight::{Good, Sure};
    let mut world = World::new();
    let gone = Sure(State::Gone);
    world.run(24, &[Good, gone, Good, Good]);
    world.run(24, &[Good; URLS]);
    world.run(24, &[gone, gone, Good, Good]);
    let members: Vec<usize> = world.open().map(|state| state.members.len()).collect();
    assert_eq!(members, [2]);
}

#[test]
fn the_third_break_is_told_once() {
    let told = story(".g.g.g.g.g.g..........");
    let lines: Vec<&str> = told.lines().filter(|line| line.len() > 1).collect();
    assert_eq!(
        lines,
        [
            "g opened gone",
            ". shrunk recovered, closed",
            "g reopened gone",
            ". shrunk recovered, closed",
            "g reopened gone, flapping",
            ". shrunk recovered, closed",
        ]
    );
    assert_eq!(
        told.lines().rev().position(|line| line.len() > 1),
        Some(3),
        "it recovers seven days after its last break"
    );
}

#[test]
fn a_url_that_stays_broken_no_longer_flaps() {
    let told = story(".g.g.ggggggg");
    assert!(told.ends_with("flapping\ng\ng\ng\ng\ng\ng"), "{told}");
    let told = story(".g.g.gggggggg");
    assert!(told.ends_with("\ng steady"), "{told}");
}
