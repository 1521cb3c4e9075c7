//! The rules in virtual time.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

const ROUND_TRIP: f64 = 0.02;

/// The result of one URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Ok,
    ServerError,
    RateLimited,
    NotAsked,
}

/// A server: whether it refuses a request at this time, in seconds, for this URL.
type Server<'a> = dyn FnMut(f64, u64) -> bool + 'a;

struct Run {
    outcomes: BTreeMap<u64, Outcome>,
    seconds: f64,
    refused: usize,
}

impl Run {
    fn count(&self, outcome: Outcome) -> usize {
        self.outcomes.values().filter(|it| **it == outcome).count()
    }

    fn summary(&self) -> (u64, usize, usize, usize, usize, usize) {
        (
            self.seconds.round_ties_even() as u64,
            self.refused,
            self.count(Outcome::Ok),
            self.count(Outcome::ServerError),
            self.count(Outcome::RateLimited),
            self.count(Outcome::NotAsked),
        )
    }
}

/// The digest by which URLs are ordered.
fn digest(url: u64) -> u64 {
    url * 2_654_435_761 % (1 << 32)
}

fn place(url: u64) -> Place {
    Place::at(url)
}

/// Asks all URLs as the queue does: one after the other once the host has refused anything, before that
/// four in one round trip.
fn run(urls: u64, is_explicit: bool, server: &mut Server<'_>) -> Run {
    run_with_patience(urls, is_explicit, Duration::from_mins(10), server)
}

fn run_with_patience(
    urls: u64,
    is_explicit: bool,
    patience: Duration,
    server: &mut Server<'_>,
) -> Run {
    let mut pace = Pace::new(RateLimit {
        concurrency: 4,
        interval: Duration::from_millis(20),
        patience,
    });
    let refusal = Refusal {
        is_explicit,
        pause: None,
    };
    let failure = if is_explicit {
        Outcome::RateLimited
    } else {
        Outcome::ServerError
    };
    let start = Instant::now();
    let at = |time: f64| start + Duration::from_secs_f64(time);
    let wait = |pace: &Pace| (pace.next_start(start) - start).as_secs_f64();
    let control = |url: u64| move || Some(url.to_string().into());
    let (mut time, mut refused, mut is_slow) = (0.0, 0, false);
    let (mut waiting, mut outcomes) = ((0..urls).collect::<VecDeque<_>>(), BTreeMap::new());
    loop {
        if pace.is_over(at(time)) {
            outcomes.extend(waiting.drain(..).map(|url| (url, Outcome::NotAsked)));
            if !pace.is_down() {
                while let Some(place) = pace.take_aside() {
                    outcomes.insert(place.number(), Outcome::RateLimited);
                }
            }
        }
        if let Some(turn) = pace.next_turn(at(time), waiting.is_empty()) {
            time += wait(&pace);
            // The refusals of last attempts are not counted.
            let counts = !pace.is_down();
            let url = match &turn {
                PassRequest::Url(at) => at.number(),
                PassRequest::Control(url) => url.parse().unwrap(),
            };
            let is_refused = server(time, url);
            refused += usize::from(is_refused && counts);
            let end = if is_refused {
                PassEnd::Refused(refusal)
            } else {
                PassEnd::Answered
            };
            match (pace.turn_ended(end, at(time), control(url)), turn) {
                (_, PassRequest::Control(_)) | (PassResult::Aside, _) => {}
                (PassResult::Own, PassRequest::Url(_)) => {
                    outcomes.insert(url, failure);
                }
                (PassResult::Returned, PassRequest::Url(_)) => {
                    outcomes.insert(url, Outcome::Ok);
                }
            }
            continue;
        }
        if waiting.is_empty() {
            break;
        }
        for _ in 0..if is_slow { 1 } else { 4 } {
            let Some(url) = waiting.pop_front() else {
                break;
            };
            if !server(time, url) {
                pace.answered(control(url));
                outcomes.insert(url, Outcome::Ok);
                continue;
            }
            refused += 1;
            if pace.refused(refusal, at(time), control(url)) {
                is_slow = true;
                assert_eq!(pace.concurrency(), 1);
                pace.set_aside(Aside {
                    digest: digest(url),
                    place: place(url),
                    tests: 0,
                });
            } else {
                outcomes.insert(url, failure);
            }
        }
        time += wait(&pace).max(ROUND_TRIP);
    }
    assert_eq!(outcomes.len() as u64, urls);
    Run {
        outcomes,
        seconds: time,
        refused,
    }
}

/// nginx's `limit_req` with `nodelay`.
fn bucket(rate: f64, burst: f64) -> impl FnMut(f64, u64) -> bool {
    let (mut excess, mut last) = (0.0_f64, None);
    move |time, _| {
        let Some(before) = last else {
            last = Some(time);
            return false;
        };
        let next = (excess - rate * (time - before) + 1.0).max(0.0);
        if next > burst {
            return true;
        }
        (excess, last) = (next, Some(time));
        false
    }
}

/// A limit of answers in each window of time.
fn window(limit: usize, seconds: f64) -> impl FnMut(f64, u64) -> bool {
    let mut seen = BTreeMap::<u64, usize>::new();
    move |time, _| {
        let count = seen.entry((time / seconds) as u64).or_default();
        *count += 1;
        *count > limit
    }
}

fn dead(
    urls: BTreeSet<u64>,
    mut others: impl FnMut(f64, u64) -> bool,
) -> impl FnMut(f64, u64) -> bool {
    move |time, url| urls.contains(&url) || others(time, url)
}

fn outage(length: f64) -> impl FnMut(f64, u64) -> bool {
    move |time, _| (1.0..1.0 + length).contains(&time)
}

fn never(_: f64, _: u64) -> bool {
    false
}

/// Refuses a share of all requests, in the order of a simple generator.
fn flaky(share: f64) -> impl FnMut(f64, u64) -> bool {
    let mut state = 1_u64;
    move |_, _| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        ((state >> 33) as f64 / f64::from(1_u32 << 31)) < share
    }
}

#[test]
fn the_rules_have_known_results() {
    // Seconds, refusals, and the URLs that are ok, server-error, rate-limited and not asked.
    type Row = (
        &'static str,
        u64,
        bool,
        Box<Server<'static>>,
        (u64, usize, usize, usize, usize, usize),
    );
    // The first URL is live: a host that has answered nothing has no limit.
    let every_33rd = (1..1000).step_by(33).collect();
    let rows: Vec<Row> = vec![
        (
            "5/s burst 5",
            60,
            false,
            Box::new(bucket(5.0, 5.0)),
            (13, 16, 60, 0, 0, 0),
        ),
        (
            "5/s burst 5, many",
            1000,
            false,
            Box::new(bucket(5.0, 5.0)),
            (235, 144, 1000, 0, 0, 0),
        ),
        (
            "5/s burst 5, 429",
            60,
            true,
            Box::new(bucket(5.0, 5.0)),
            (14, 6, 60, 0, 0, 0),
        ),
        (
            "1/s",
            60,
            false,
            Box::new(bucket(1.0, 0.0)),
            (141, 100, 60, 0, 0, 0),
        ),
        (
            "1/s, many",
            720,
            false,
            Box::new(bucket(1.0, 0.0)),
            (600, 269, 438, 0, 269, 13),
        ),
        (
            "12/min",
            60,
            false,
            Box::new(bucket(0.2, 0.0)),
            (603, 103, 39, 0, 21, 0),
        ),
        (
            "50/s burst 50",
            10_000,
            false,
            Box::new(bucket(50.0, 50.0)),
            (200, 2, 10_000, 0, 0, 0),
        ),
        (
            "60 a minute, 429",
            200,
            true,
            Box::new(window(60, 60.0)),
            (375, 33, 200, 0, 0, 0),
        ),
        (
            "3 dead",
            100,
            false,
            Box::new(dead([5, 40, 77].into(), never)),
            (9, 15, 97, 3, 0, 0),
        ),
        (
            "59 dead",
            60,
            false,
            Box::new(dead((1..60).collect(), never)),
            (166, 79, 1, 59, 0, 0),
        ),
        (
            "dead and 5/s",
            1000,
            false,
            Box::new(dead(every_33rd, bucket(5.0, 5.0))),
            (248, 267, 969, 31, 0, 0),
        ),
        (
            "outage of 1 s",
            10_000,
            false,
            Box::new(outage(1.0)),
            (202, 15, 10_000, 0, 0, 0),
        ),
        (
            "outage of 2 s",
            10_000,
            false,
            Box::new(outage(2.0)),
            (208, 18, 10_000, 0, 0, 0),
        ),
        (
            "outage of 5 s",
            10_000,
            false,
            Box::new(outage(5.0)),
            (224, 24, 10_000, 0, 0, 0),
        ),
        (
            "outage of 20 s",
            10_000,
            false,
            Box::new(outage(20.0)),
            (238, 32, 10_000, 0, 0, 0),
        ),
        (
            "outage of 60 s",
            10_000,
            false,
            Box::new(outage(60.0)),
            (280, 50, 10_000, 0, 0, 0),
        ),
    ];
    for (name, urls, is_explicit, mut server, expected) in rows {
        let run = run(urls, is_explicit, &mut *server);
        assert_eq!(run.summary(), expected, "{name}");
    }
}

#[test]
fn a_host_that_has_answered_nothing_has_no_limit() {
    let run = run(60, false, &mut dead((0..60).collect(), never));
    assert_eq!(run.count(Outcome::ServerError), 60);
    // Only its interval counts, with four requests in each.
    assert!(run.seconds < 1.0, "{}", run.seconds);
}

#[test]
fn refusals_at_random_are_no_fault_of_a_url() {
    for share in [0.01, 0.1, 0.3] {
        let run = run(1_000, false, &mut flaky(share));
        assert_eq!(run.count(Outcome::ServerError), 0, "{share}");
        assert!(run.count(Outcome::Ok) > 300, "{share}");
    }
}

#[test]
fn patience_counts_anew_once_the_host_has_recovered() {
    // Half an hour with refusals from time to time.
    let run = run(100_000, false, &mut flaky(0.01));
    assert!(run.seconds > 2_000.0);
    assert_eq!(run.count(Outcome::NotAsked), 0);
    assert_eq!(run.count(Outcome::ServerError), 0);
    assert!(run.count(Outcome::Ok) > 99_500);
}

#[test]
fn a_host_that_is_down_but_for_one_url_is_no_matter_of_pace() {
    let run = run(2_000, false, &mut dead((1..2_000).collect(), never));
    let broken = run.count(Outcome::ServerError);
    assert!(broken > 50, "{broken}");
    assert_eq!(run.count(Outcome::RateLimited), 0);
    assert_eq!(run.count(Outcome::Ok), 1);
}

#[test]
fn a_host_that_goes_down_holds_a_run_for_a_minute_at_most() {
    for (urls, answers) in [(2, 1), (6, 1), (20, 1), (20, 10), (6, 5)] {
        let mut asked = 0;
        let run = run(urls, false, &mut |_, _| {
            asked += 1;
            asked > answers
        });
        assert_eq!(run.count(Outcome::ServerError) as u64, urls - answers);
        assert!(run.seconds < 60.0, "{urls} {answers}: {}", run.seconds);
    }
    let mut asked = 0;
    let run = run(2_000, false, &mut |_, _| {
        asked += 1;
        asked > 100
    });
    assert_eq!(run.count(Outcome::ServerError), 1_900);
    assert!(run.seconds < 240.0, "{}", run.seconds);
}

#[test]
fn no_url_is_its_own_control() {
    let now = Instant::now();
    let limit = RateLimit {
        concurrency: 1,
        interval: Duration::from_millis(20),
        patience: Duration::from_mins(10),
    };
    let url = |name: &'static str| move || Some(name.into());
    for is_explicit in [true, false] {
        let refusal = Refusal {
            is_explicit,
            pause: None,
        };
        let mut pace = Pace::new(limit);
        pace.answered(url("http://a.test/1"));
        pace.answered(url("http://a.test/1"));
        assert!(!pace.refused(refusal, now, url("http://a.test/1")));
        pace.answered(url("http://a.test/2"));
        assert!(pace.refused(refusal, now, url("http://a.test/1")));
        pace.set_aside(Aside {
            digest: 1,
            place: place(1),
            tests: 0,
        });
        assert_eq!(pace.next_turn(now, true), Some(PassRequest::Url(place(1))));
        let end = PassEnd::Refused(refusal);
        assert_eq!(pace.turn_ended(end, now, || None), PassResult::Aside);
        let control = PassRequest::Control("http://a.test/2".into());
        assert_eq!(pace.next_turn(now, true), Some(control));
    }
}

#[test]
fn an_explicit_pause_is_kept_and_a_bare_one_has_no_effect() {
    let configured = RateLimit {
        concurrency: 4,
        interval: Duration::from_millis(20),
        patience: Duration::from_mins(10),
    };
    let (now, pause) = (Instant::now(), Duration::from_secs(90));
    let mut pace = Pace::new(configured);
    let explicit = Refusal {
        is_explicit: true,
        pause: Some(pause),
    };
    assert!(
        !pace.refused(explicit, now, || None),
        "nothing was answered yet"
    );
    assert_eq!(pace.next_start(now), now + configured.interval);
    pace.answered(|| Some("http://a.test/".into()));
    assert_eq!(pace.concurrency(), 4);
    assert!(pace.refused(explicit, now, || None));
    assert_eq!(pace.concurrency(), 1);
    assert_eq!(pace.next_start(now), now + pause);
    // A later refusal does not shorten the pause.
    let shorter = Refusal {
        pause: Some(pause / 2),
        ..explicit
    };
    assert!(pace.refused(shorter, now, || None));
    assert_eq!(pace.next_start(now), now + pause);
    let later = now + pause;
    assert_eq!(pace.next_start(later), later + configured.interval * 4);
}

#[test]
fn a_configured_interval_is_never_shortened() {
    let interval = Duration::from_secs(3);
    let mut pace = Pace::new(RateLimit {
        concurrency: 1,
        interval,
        patience: Duration::from_mins(10),
    });
    let now = Instant::now();
    let bare = Refusal {
        is_explicit: false,
        pause: None,
    };
    for _ in 0..100 {
        pace.answered(|| Some("http://a.test/".into()));
        pace.refused(bare, now, || None);
        assert_eq!(pace.next_start(now), now + interval);
    }
    pace.refused(
        Refusal {
            is_explicit: true,
            ..bare
        },
        now,
        || None,
    );
    assert_eq!(pace.next_start(now), now + interval * 2);
    for _ in 0..4 {
        pace.answered(|| None);
    }
    assert_eq!(pace.next_start(now), now + interval);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_live_url_is_broken_and_no_dead_one_ok(
        urls in 20..600_u64,
        rate in -0.7..1.7_f64,
        burst in 0..50_u32,
        is_explicit: bool,
        gone in prop::option::of(prop::collection::btree_set(0..600_u64, 0..30)),
    ) {
        let gone = gone.unwrap_or_default();
        let server = bucket(10_f64.powf(rate), burst.into());
        let run = run(urls, is_explicit, &mut dead(gone.clone(), server));
        for (url, outcome) in &run.outcomes {
            let is_gone = gone.contains(url);
            prop_assert!(is_gone || *outcome != Outcome::ServerError, "{url} is live");
            prop_assert!(!is_gone || *outcome != Outcome::Ok, "{url} is dead");
        }
    }

    /// Without an outage the run takes 50 seconds. One that begins with its last URLs is over after five controls.
    #[test]
    fn an_outage_of_a_minute_leaves_no_url_unasked(begin in 1.0..45.0_f64, length in 1.0..60.0_f64) {
        let run = run(10_000, false, &mut |time, _| (begin..begin + length).contains(&time));
        prop_assert_eq!(run.count(Outcome::Ok), 10_000);
    }
}
