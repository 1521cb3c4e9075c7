use std::collections::{BTreeMap, BTreeSet};

use jiff::{Timestamp, ToSpan};
use proptest::prelude::*;
use urldb_protocol::{ClosedBecause, Evidence, Incident, Phase, Reason, Shown, State};

use super::*;
use crate::options::VerdictOptions;
use crate::status::UrlStatus;
use crate::verdict::{Classification, Verdict};

/// Runs over a database of a few hosts.
#[derive(Default)]
struct World {
    statuses: BTreeMap<String, UrlStatus>,
    open: Vec<Incident>,
    all_ids: BTreeSet<String>,
    runs: i64,
    last_complete: Option<Timestamp>,
}

/// The result of one URL in one run.
#[derive(Debug, Clone)]
struct Sight {
    path: String,
    state: State,
    reason: Option<Reason>,
    sure: bool,
    redirect: Option<String>,
    muted: bool,
}

fn sight(path: &str, state: State) -> Sight {
    Sight {
        path: path.to_owned(),
        state,
        reason: match state {
            State::Unreachable => Some(Reason::Timeout),
            State::Inconclusive => Some(Reason::HostSilent),
            State::Changed => Some(Reason::Digest),
            _ => None,
        },
        sure: state == State::Ok || state == State::Changed || state == State::Gone,
        redirect: None,
        muted: false,
    }
}

fn host_of(path: &str) -> String {
    path.split('/').next().unwrap().to_owned()
}

fn start(run: i64) -> Timestamp {
    Timestamp::from_second(1_000_000).unwrap() + (24 * run).hours()
}

impl World {
    /// The outcomes of a run, and the statuses after it.
    fn outcomes(&mut self, sights: &[Sight]) -> Vec<UrlOutcome> {
        let now = start(self.runs);
        let outcome = |sight: &Sight| {
            let classification = Classification {
                state: sight.state,
                reason: sight.reason,
                expected: None,
                observed: String::new(),
                warning: None,
            };
            let verdict = Verdict {
                classification,
                observation: 0,
                sure: sight.sure,
                attempts: vec![],
            };
            let url = format!("http://{}", sight.path);
            let previous = self.statuses.get(&url);
            let options = VerdictOptions::default();
            let (status, transition) = UrlStatus::after(previous, &verdict, now, &options);
            UrlOutcome {
                request: None,
                categories: [].into(),
                file: format!("urldb/{}.yaml", host_of(&sight.path)).into(),
                line: sight.path.len(),
                host: host_of(&sight.path),
                muted: sight.muted,
                status,
                is_news: transition.is_some(),
                seen: sight.state,
                seen_reason: sight.reason.map(|reason| reason.to_string()),
                redirect: sight
                    .redirect
                    .as_deref()
                    .map(|to| Shown::new(to, Shown::LONGEST)),
                is_accepted: false,
                evidence: (sight.state != State::Inconclusive).then(|| {
                    Box::new(Evidence {
                        url: url.clone(),
                        ..Evidence::default()
                    })
                }),
                url,
            }
        };
        let outcomes: Vec<UrlOutcome> = sights.iter().map(outcome).collect();
        for outcome in &outcomes {
            let status = outcome.status.clone();
            self.statuses.insert(outcome.url.clone(), status);
        }
        outcomes
    }

    fn after(&self, outcomes: &[UrlOutcome], gone: &BTreeSet<String>) -> Vec<Incident> {
        let id = format!("run-{}", self.runs);
        let run = RunFacts {
            id: &id,
            project: "sky-urls",
            started: start(self.runs),
            now: start(self.runs),
            last_complete: self.last_complete,
            is_gone: &|url| gone.contains(&url.url),
            is_taken: &|id| self.all_ids.contains(id),
        };
        incidents_after(self.open.clone(), outcomes, &run)
    }

    /// A run over everything that sees this.
    fn run(&mut self, sights: &[Sight]) -> Vec<Incident> {
        self.run_without(sights, &BTreeSet::new())
    }

    fn run_without(&mut self, sights: &[Sight], gone: &BTreeSet<String>) -> Vec<Incident> {
        let outcomes = self.outcomes(sights);
        let incidents = self.after(&outcomes, gone);
        self.last_complete = Some(start(self.runs));
        self.keep(&incidents, gone);
        incidents
    }

    fn keep(&mut self, incidents: &[Incident], gone: &BTreeSet<String>) {
        self.runs += 1;
        self.statuses.retain(|url, _| !gone.contains(url));
        let open = incidents.iter().filter(|incident| incident.is_open());
        self.open = open.cloned().collect();
        for incident in &mut self.open {
            incident.urls.retain(|url| !url.left);
        }
        let ids = self.open.iter().map(|incident| incident.id.clone());
        self.all_ids.extend(ids);
    }
}

/// Phase, host, state, number of affected URLs and number of those that were not tried.
fn shown(incidents: &[Incident]) -> Vec<String> {
    let line = |incident: &Incident| {
        let untried = incident.affected().filter(|url| url.not_tried).count();
        let redirect = incident.redirect.as_deref().unwrap_or("-");
        let (phase, host, state) = (incident.phase, &incident.host, incident.state);
        let affected = incident.affected().count();
        format!("{phase:?} {host} {state} {redirect} {affected} ({untried} untried)")
    };
    incidents.iter().map(line).collect()
}

#[test]
fn one_cause_at_one_host_is_one_incident() {
    let mut world = World::default();
    let sights: Vec<Sight> = ["a/1", "a/2", "b/1", "c/1"]
        .map(|path| sight(path, State::Gone))
        .into();
    let expected = [
        "Opened a gone - 2 (0 untried)",
        "Opened b gone - 1 (0 untried)",
        "Opened c gone - 1 (0 untried)",
    ];
    let incidents = world.run(&sights);
    assert_eq!(shown(&incidents), expected);
    let ids: BTreeSet<_> = incidents.iter().map(|incident| &incident.id).collect();
    assert_eq!(ids.len(), 3);
    assert!(ids.iter().all(|id| id.len() == 8));
    assert!(
        incidents
            .iter()
            .all(|incident| incident.key.len() == 16 && !incident.silent)
    );
    let again = shown(&world.run(&sights)).join("\n");
    assert_eq!(again, expected.join("\n").replace("Opened", "Unchanged"));
}

#[test]
fn all_urls_of_a_silent_host_are_named() {
    let mut world = World::default();
    let silent = |tried: std::ops::Range<usize>| -> Vec<Sight> {
        let one = |number: usize| {
            let state = if tried.contains(&number) {
                State::Unreachable
            } else {
                State::Inconclusive
            };
            sight(&format!("a/{number:03}"), state)
        };
        (0..100).map(one).collect()
    };
    let first = world.run(&silent(0..4));
    assert_eq!(
        shown(&first),
        ["Unconfirmed a unreachable - 100 (96 untried)"]
    );
    assert_eq!((first[0].evidence.tried, first[0].runs), (4, 1));
    let second = world.run(&silent(0..4));
    assert_eq!(shown(&second), ["Opened a unreachable - 100 (96 untried)"]);
    // Other URLs are tried: none of them is lost, and none is unconfirmed.
    let third = world.run(&silent(4..8));
    assert_eq!(
        shown(&third),
        ["Unchanged a unreachable - 100 (96 untried)"]
    );
    let fine: Vec<Sight> = (0..100)
        .map(|number| sight(&format!("a/{number:03}"), State::Ok))
        .collect();
    let closed = world.run(&fine);
    assert_eq!(shown(&closed), ["Closed a unreachable - 0 (0 untried)"]);
    assert_eq!(closed[0].urls.len(), 100);
    assert_eq!(closed[0].closed_because, Some(ClosedBecause::Recovered));
    assert!(world.open.is_empty());
}

#[test]
fn another_state_moves_a_url_to_another_incident() {
    let mut world = World::default();
    world.run(&[sight("a/1", State::Gone), sight("a/2", State::Gone)]);
    let moved = sight("a/2", State::ServerError);
    world.run(&[sight("a/1", State::Gone), moved.clone()]);
    let incidents = world.run(&[sight("a/1", State::Gone), moved]);
    let expected = [
        "Opened a server-error - 1 (0 untried)",
        "Shrunk a gone - 1 (0 untried)",
    ];
    assert_eq!(shown(&incidents), expected);
    assert_eq!(incidents[1].left, 1);
}

/// The present of a run has whole seconds, and the time when an incident opened has not.
#[test]
fn an_incident_grows_in_the_second_in_which_it_opened() {
    let mut world = World::default();
    let first = world.run(&[sight("a/0", State::Gone)]);
    let outcomes = world.outcomes(&["a/0", "a/1"].map(|path| sight(path, State::Gone)));
    let opened = first[0].opened.unwrap();
    let run = RunFacts {
        id: "again",
        project: "sky-urls",
        started: opened,
        now: opened - 600.milliseconds(),
        last_complete: world.last_complete,
        is_gone: &|_| false,
        is_taken: &|_| false,
    };
    let grown = incidents_after(world.open.clone(), &outcomes, &run);
    assert_eq!(shown(&grown), ["Grown a gone - 2 (0 untried)"]);
}

#[test]
fn a_later_url_joins_until_a_complete_run_has_passed() {
    let mut world = World::default();
    let gone = |count: usize| -> Vec<Sight> {
        let paths = (0..count).map(|number| format!("a/{number}"));
        paths.map(|path| sight(&path, State::Gone)).collect()
    };
    let opened = world.run(&gone(1));
    let grown = world.run(&gone(2));
    assert_eq!(shown(&grown), ["Grown a gone - 2 (0 untried)"]);
    assert_eq!((grown[0].added, &grown[0].id), (1, &opened[0].id));
    assert!(!grown[0].urls[0].new && grown[0].urls[1].new);
    let other = world.run(&gone(3));
    let expected = [
        "Opened a gone - 1 (0 untried)",
        "Unchanged a gone - 2 (0 untried)",
    ];
    assert_eq!(shown(&other), expected);
    assert_ne!(other[0].key, other[1].key, "each has an issue of its own");
}

#[test]
fn one_redirect_rule_accepts_later_urls_as_long_as_it_is_open() {
    let mut world = World::default();
    let home = |count: usize| -> Vec<Sight> {
        let one = |number: usize| Sight {
            redirect: Some("http://a/".to_owned()),
            reason: [Some(Reason::Digest), Some(Reason::Length)][number % 2],
            ..sight(&format!("a/{number}"), State::Changed)
        };
        (0..count).map(one).collect()
    };
    for count in 2..6 {
        let incidents = world.run(&home(count));
        let phase = if count == 2 { "Opened" } else { "Grown" };
        let expected = format!("{phase} a changed http://a/ {count} (0 untried)");
        assert_eq!(shown(&incidents), [expected]);
    }
}

#[test]
fn redirects_to_targets_of_their_own_are_one_incident() {
    let mut world = World::default();
    let moved = |path: &str, target: &str| Sight {
        redirect: Some(target.to_owned()),
        ..sight(path, State::Gone)
    };
    let sights = [
        moved("a/1", "http://a/new/1"),
        moved("a/2", "http://a/new/2"),
        moved("b/1", "https://b/1"),
        moved("b/2", "https://b/2"),
        moved("c/1", "http://c/home"),
    ];
    let expected = [
        "Opened a gone - 2 (0 untried)",
        "Opened b gone - 2 (0 untried)",
        "Opened c gone http://c/home 1 (0 untried)",
    ];
    assert_eq!(shown(&world.run(&sights)), expected);
}

#[test]
fn what_was_broken_before_there_were_incidents_opens_silently() {
    let mut world = World::default();
    world.outcomes(&[sight("a/1", State::Gone), sight("b/1", State::Gone)]);
    world.runs += 1;
    let incidents = world.run(&[
        sight("a/1", State::Gone),
        sight("b/1", State::Gone),
        sight("b/2", State::Gone),
    ]);
    let silent: Vec<_> = incidents
        .iter()
        .map(|incident| (incident.host.as_str(), incident.silent))
        .collect();
    assert_eq!(silent, [("b", false), ("a", true)]);
}

#[test]
fn a_url_that_is_no_longer_muted_is_news() {
    let mut world = World::default();
    let muted = Sight {
        muted: true,
        ..sight("a/1", State::Gone)
    };
    let first = world.run(std::slice::from_ref(&muted));
    assert!(first[0].urls[0].muted);
    let second = world.run(std::slice::from_ref(&muted));
    assert_eq!(second[0].phase, Phase::Unchanged);
    let third = world.run(&[sight("a/1", State::Gone)]);
    assert_eq!((third[0].phase, third[0].added), (Phase::Grown, 1));
}

#[test]
fn removed_records_close_an_incident_as_changed_promises() {
    let mut world = World::default();
    world.run(&[sight("a/1", State::Gone), sight("a/2", State::Gone)]);
    let gone = BTreeSet::from(["http://a/1".to_owned(), "http://a/2".to_owned()]);
    let closed = world.run_without(&[], &gone);
    assert_eq!(
        closed[0].closed_because,
        Some(ClosedBecause::PromisesChanged)
    );
    assert_eq!(closed[0].left, 2);
}

#[test]
fn of_two_incidents_with_one_key_the_smaller_id_stays() {
    let mut world = World::default();
    world.run(&[sight("a/1", State::Gone), sight("a/2", State::Gone)]);
    let mut other = world.open[0].clone();
    other.id = "ffffffff".to_owned();
    other.urls.remove(0);
    world.open[0].urls.remove(1);
    world.open.insert(0, other);
    let incidents = world.run(&[sight("a/1", State::Gone), sight("a/2", State::Gone)]);
    let expected = [
        "Closed a gone - 1 (0 untried)",
        "Unchanged a gone - 2 (0 untried)",
    ];
    let winner = &incidents
        .iter()
        .find(|incident| incident.is_open())
        .unwrap()
        .id;
    assert_eq!(shown(&incidents)[1], expected[1]);
    assert_eq!(incidents[0].merged_into.as_ref(), Some(winner));
    assert_eq!(world.open.len(), 1);
}

fn some_sight() -> impl Strategy<Value = Sight> {
    let states = prop_oneof![
        3 => Just(State::Ok),
        1 => Just(State::Gone),
        1 => Just(State::Changed),
        1 => Just(State::ServerError),
        2 => Just(State::Unreachable),
        2 => Just(State::Inconclusive),
        1 => Just(State::Blocked),
    ];
    let redirect = proptest::option::of(prop_oneof![
        Just("http://a/".to_owned()),
        Just("http://x/1".to_owned()),
        Just("http://x/2".to_owned()),
    ]);
    let reasons = prop_oneof![
        Just(Reason::Timeout),
        Just(Reason::Dns),
        Just(Reason::OwnNetwork)
    ];
    (
        0..3usize,
        0..4usize,
        states,
        redirect,
        reasons,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(host, path, state, redirect, reason, sure, muted)| {
            let known = sight(&format!("{}/{path}", ["a", "b", "c"][host]), state);
            let reason = match (state, reason) {
                (State::Unreachable, Reason::OwnNetwork) => Some(Reason::Connect),
                (State::Unreachable, other) => Some(other),
                (State::Inconclusive, Reason::OwnNetwork) => Some(Reason::OwnNetwork),
                _ => known.reason,
            };
            Sight {
                reason,
                redirect,
                sure: sure || state == State::Ok,
                muted,
                ..known
            }
        })
}

/// A run: what it sees, whether it is over everything, and the URLs whose records are gone.
fn some_run() -> impl Strategy<Value = (Vec<Sight>, bool, Vec<usize>)> {
    let sights = proptest::collection::vec(some_sight(), 0..12).prop_map(|sights| {
        let by_path: BTreeMap<String, Sight> = sights
            .into_iter()
            .map(|sight| (sight.path.clone(), sight))
            .collect();
        by_path.into_values().collect()
    });
    (
        sights,
        any::<bool>(),
        proptest::collection::vec(0..12usize, 0..2),
    )
}

#[test]
fn the_order_of_incidents_does_not_depend_on_their_ids() {
    let failing = |path, reason| Sight {
        reason: Some(reason),
        sure: true,
        ..sight(path, State::Unreachable)
    };
    for run in 0..16 {
        let mut world = World {
            runs: run,
            ..World::default()
        };
        let incidents = world.run(&[
            failing("a/2", Reason::Timeout),
            failing("a/1", Reason::Tls),
            failing("a/3", Reason::Dns),
        ]);
        let first = incidents.iter().map(|incident| &incident.urls[0].url);
        assert_eq!(
            first.collect::<Vec<_>>(),
            ["http://a/1", "http://a/2", "http://a/3"],
            "run {run}"
        );
    }
}

proptest! {
    #[test]
    fn every_broken_url_is_in_exactly_one_open_incident(
        runs in proptest::collection::vec(some_run(), 1..8),
        seed in any::<u64>(),
    ) {
        let mut world = World::default();
        for (sights, is_complete, gone) in runs {
            let gone: BTreeSet<String> = world
                .statuses
                .keys()
                .enumerate()
                .filter(|(index, _)| gone.contains(index))
                .map(|(_, url)| url.clone())
                .filter(|url| !sights.iter().any(|sight| format!("http://{}", sight.path) == *url))
                .collect();
            let before = world.open.clone();
            let outcomes = world.outcomes(&sights);
            let incidents = world.after(&outcomes, &gone);

            // The order of the outcomes and of the incidents does not matter.
            let mut shuffled = outcomes.clone();
            shuffled.sort_by_key(|outcome| (outcome.url.len() as u64 ^ seed, outcome.url.bytes().rev().collect::<Vec<_>>()));
            if seed % 2 == 0 {
                shuffled.reverse();
            }
            world.open.reverse();
            prop_assert_eq!(&world.after(&shuffled, &gone), &incidents);

            let mut affected: BTreeMap<&str, usize> = BTreeMap::new();
            for incident in incidents.iter().filter(|incident| incident.is_open()) {
                for url in incident.affected() {
                    *affected.entry(&url.url).or_default() += 1;
                }
            }
            prop_assert!(affected.values().all(|times| *times == 1), "{:?}", affected);

            // Each URL that is believed to be broken is affected.
            for (url, status) in &world.statuses {
                let is_broken = status.state != State::Ok && !gone.contains(url);
                prop_assert!(!is_broken || affected.contains_key(url.as_str()), "{} {:?}", url, status);
            }
            // Each URL that was affected still is, is as promised, or is gone.
            for url in before.iter().flat_map(Incident::affected) {
                let outcome = outcomes.iter().find(|outcome| outcome.url == url.url);
                let is_good = outcome.is_some_and(|outcome| outcome.seen == State::Ok);
                let is_gone = gone.contains(&url.url);
                prop_assert!(affected.contains_key(url.url.as_str()) != (is_good || is_gone));
            }
            // Each URL of a group is in no incident, and only in that group.
            let mut grouped = BTreeSet::new();
            for incident in &incidents {
                if matches!(incident.phase, Phase::Unconfirmed | Phase::Unknown) {
                    for url in &incident.urls {
                        prop_assert!(grouped.insert(&url.url) && !affected.contains_key(url.url.as_str()));
                    }
                }
            }
            for outcome in outcomes.iter().filter(|outcome| outcome.seen != State::Ok) {
                let url = outcome.url.as_str();
                prop_assert!(affected.contains_key(url) || grouped.contains(&outcome.url), "{}", url);
            }
            for incident in &incidents {
                let is_empty = incident.affected().next().is_none();
                let is_closed = incident.phase == Phase::Closed;
                prop_assert_eq!(is_closed, is_empty, "{:?}", incident);
                prop_assert_eq!(is_closed, incident.closed.is_some());
                prop_assert_eq!(incident.phase == Phase::Grown, incident.added > 0 && !is_closed);
                let new = incident.urls.iter().filter(|url| url.new).count() as u64;
                prop_assert!(incident.phase == Phase::Opened || new == incident.added);
            }
            let ids: BTreeSet<&str> = incidents.iter().map(|incident| incident.id.as_str()).collect();
            let groups = incidents.iter().filter(|incident| incident.id.is_empty()).count();
            prop_assert_eq!(ids.len(), incidents.len() - groups + usize::from(groups > 0));
            let open = || incidents.iter().filter(|incident| incident.is_open());
            let keys: BTreeSet<&str> = open().map(|incident| incident.key.as_str()).collect();
            prop_assert_eq!(keys.len(), open().count());

            if is_complete {
                world.last_complete = Some(start(world.runs));
            }
            world.keep(&incidents, &gone);
        }
    }
}
