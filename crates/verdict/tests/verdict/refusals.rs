//! Responses by which a host refuses a request for now, and what remains of a job that waits for another.

use proptest::prelude::*;
use urldb_verdict::{Refusal, Validators, judge, refusal};

use super::*;

fn answer(status: u16, headers: &[(&str, &str)]) -> Observation {
    seen(vec![hop(status, headers)])
}

fn refusal_of(promise: &Promise, seen: &Observation) -> Option<Refusal> {
    refusal(&job(promise, "/a"), seen, &policy())
}

#[test]
fn a_refusal_is_explicit_or_bare() {
    let used_up = ("x-ratelimit-remaining", "0");
    for (status, headers, is_explicit) in [
        (429, vec![], Some(true)),
        (503, vec![], Some(false)),
        (503, vec![used_up], Some(false)),
        (403, vec![used_up], Some(true)),
        (403, vec![("x-ratelimit-remaining", "1")], None),
        (403, vec![], None),
        (500, vec![used_up], None),
        (200, vec![used_up], None),
    ] {
        let refusal = refusal_of(&Promise::default(), &answer(status, &headers));
        let found = refusal.map(|refusal| refusal.is_explicit);
        assert_eq!(found, is_explicit, "{status} {headers:?}");
    }
    let seen = [answer(403, &[used_up])];
    let verdict = judge(
        job(&Promise::default(), "/a"),
        seen.into(),
        decide,
        &policy(),
    )
    .verdict;
    assert_eq!(verdict.state(), State::Blocked);
    assert_eq!(verdict.classification.reason, Some(Reason::RateLimited));
}

#[test]
fn a_promised_status_and_a_challenge_are_no_refusal() {
    let promise = Promise {
        status: Some(503),
        ..Promise::default()
    };
    assert_eq!(refusal_of(&promise, &answer(503, &[])), None);
    assert!(refusal_of(&promise, &answer(429, &[])).is_some());
    let challenge = answer(503, &[("cf-mitigated", "challenge")]);
    assert_eq!(refusal_of(&Promise::default(), &challenge), None);
}

#[test]
fn only_an_explicit_refusal_asks_for_a_pause() {
    let pause = |status, headers: &[(&str, &str)]| {
        let seen = answer(status, headers);
        let pause = refusal_of(&Promise::default(), &seen).unwrap().pause;
        pause.map(|pause| pause.as_secs())
    };
    assert_eq!(pause(429, &[("retry-after", "7")]), Some(7));
    assert_eq!(pause(429, &[("retry-after", "7200")]), Some(120));
    assert_eq!(pause(429, &[("x-ratelimit-reset", "9")]), Some(9));
    assert_eq!(pause(429, &[("x-ratelimit-reset", "soon")]), None);
    assert_eq!(pause(503, &[("retry-after", "7")]), None);
    assert_eq!(pause(429, &[]), None);
    // As GitHub does: the seconds since 1970.
    let mut last = hop(
        403,
        &[
            ("x-ratelimit-remaining", "0"),
            ("x-ratelimit-reset", "1700000033"),
        ],
    );
    for (now, expected) in [
        (1_700_000_000, 33),
        (1_700_000_100, 0),
        (1_600_000_000, 120),
    ] {
        last.at = at(now);
        let seen = seen(vec![last.clone()]);
        let pause = refusal_of(&Promise::default(), &seen).unwrap().pause;
        assert_eq!(pause, Some(Duration::from_secs(expected)));
    }
}

#[test]
fn the_last_refusal_of_a_job_without_further_attempts_counts() {
    let state = |seen: Vec<Observation>| {
        let judged = judge(job(&Promise::default(), "/a"), seen, decide, &policy());
        assert!(!judged.verdict.sure);
        let reason = judged.verdict.classification.reason;
        (judged.verdict.state(), reason.map(Reason::as_str))
    };
    assert_eq!(state(vec![status(503)]), (State::ServerError, None));
    let limited = Some("rate-limited");
    assert_eq!(state(vec![status(429)]), (State::Blocked, limited));
    assert_eq!(
        state(vec![failed(FailureKind::RateLimited)]),
        (State::Inconclusive, limited)
    );
    for refused in [503, 429] {
        let given_up = Observation {
            failure: failed(FailureKind::RateLimited).failure,
            ..status(refused)
        };
        assert_eq!(
            state(vec![given_up]),
            (State::Blocked, limited),
            "{refused}"
        );
    }
    // A redirect to a host that was not asked any more is no refusal.
    let redirected = Observation {
        failure: failed(FailureKind::RateLimited).failure,
        ..status(302)
    };
    assert_eq!(state(vec![redirected]), (State::Inconclusive, limited));
    // Every other first attempt leaves the decision open.
    let run_ended = (State::Inconclusive, Some("run-ended"));
    assert_eq!(state(vec![status(500)]), run_ended);
}

proptest! {
    #[test]
    fn a_stored_job_is_the_same(path in "/[ -~é]{0,40}", port: Option<u16>, line: usize, digest: [u8; 32]) {
        let port = port.map_or_else(String::new, |port| format!("+{}", port | 1024));
        let url = RequestUrl::new(Scheme::Https, &format!("a.example.org{port}"), &path).unwrap();
        let job = Job {
            url,
            line,
            categories: ["one".to_owned(), path.clone()].into(),
            promise: Promise {
                sha256: Some(digest),
                content_type: Some(path.clone()),
                canonical: Some(path.clone().into()),
                ..Promise::default()
            },
            validators: Some(Box::new(Validators {
                url: path.clone(),
                etag: Some(path.clone()),
                last_modified: None,
            })),
            ..job(&Promise::default(), "/a")
        };
        let text = serde_json::to_string(&job).unwrap();
        let stored: Job = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(format!("{stored:?}"), format!("{job:?}"));
    }
}
