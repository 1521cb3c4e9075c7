//! The verdict table of docs/verdicts.md, row by row, without a network.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod answers;
mod bytes;
mod canonical;
mod challenges;
mod diagnosis;
mod digests;
mod failures;
mod network;
mod refusals;
mod statuses;
mod stored;
mod votes;

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use urldb_canon::{RequestUrl, Scheme};
use urldb_protocol::{Reason, State};
use urldb_verdict::diagnosis::NetworkFacts;
use urldb_verdict::incident::RunResult;
use urldb_verdict::{
    Beginning, Body, BodyEnd, BodyUse, Classification, Damage, Decision, Decoded, Failure,
    FailureKind, Hop, Job, JobKey, JudgedJob, Keep, Observation, Promise, Request, Sent, UrlStatus,
    Verdict, VerdictOptions, Warning, decide, decide_promise, observed_bytes, promisable,
    promisable_redirect, undecided,
};

const RIGHT: [u8; 32] = [1; 32];
const WRONG: [u8; 32] = [2; 32];

fn policy() -> VerdictOptions {
    VerdictOptions {
        retries: 2,
        retry_wait: Duration::from_secs(2),
        confirm: 2,
        blocked_after: Duration::from_hours(7 * 24),
        challenges: vec![],
    }
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn hop(status: u16, headers: &[(&str, &str)]) -> Hop {
    Hop {
        certificate: None,
        url: "http://example.org/a".into(),
        at: at(0),
        address: None,
        sent: Sent::default(),
        beginning: Beginning::default(),
        version: "HTTP/1.1".into(),
        protocols: vec![],
        authority: None,
        origin: urldb_verdict::Origin::default(),
        status,
        reason_phrase: String::new(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
            .collect(),
    }
}

fn seen(hops: Vec<Hop>) -> Observation {
    Observation {
        started: at(0),
        elapsed: Duration::ZERO,
        hops,
        body: None,
        start: vec![],
        page: None,
        failure: None,
    }
}

fn status(status: u16) -> Observation {
    seen(vec![hop(status, &[("content-type", "text/plain")])])
}

fn body(length: u64, sha256: [u8; 32], end: BodyEnd) -> Observation {
    let body = Body {
        length,
        sha256,
        compared: None,
        end,
        cut: None,
        decoded: None,
        digests: Box::default(),
        decoded_digests: Box::default(),
        conversion: None,
        bytes: None,
    };
    Observation {
        body: Some(body),
        ..status(200)
    }
}

fn good() -> Observation {
    body(10, RIGHT, BodyEnd::Complete)
}

fn bad() -> Observation {
    body(10, WRONG, BodyEnd::Complete)
}

fn failed(kind: FailureKind) -> Observation {
    Observation {
        failure: Some(Failure {
            kind,
            detail: "because".into(),
            certificate: None,
        }),
        ..seen(vec![])
    }
}

fn truncated() -> Observation {
    let failure = Some(Failure {
        kind: FailureKind::Disconnected,
        detail: "connection closed".into(),
        certificate: None,
    });
    Observation {
        failure,
        ..body(4, WRONG, BodyEnd::Broken)
    }
}

fn redirect(status: u16, location: &str) -> Hop {
    hop(status, &[("location", location)])
}

fn bytes_promised() -> Promise {
    Promise {
        length: Some(10),
        sha256: Some(RIGHT),
        ..Promise::default()
    }
}

fn job(promise: &Promise, path: &str) -> Job {
    Job {
        key: JobKey {
            domain: "example.org".into(),
            path: path.into(),
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Http,
        },
        url: RequestUrl::new(Scheme::Http, "example.org", path).unwrap(),
        file: "urldb/example.org.yaml".into(),
        line: 2,
        uses: None,
        categories: [].into(),
        promise: promise.clone(),
        request: Arc::new(Request {
            method: "GET".into(),
            headers: vec![],
            body: None,
            within: None,
        }),
        body: BodyUse::Skip,
        muted: false,
        validators: None,
    }
}

fn verdict_of(promise: &Promise, seen: &[Observation]) -> Verdict {
    match decide(&job(promise, "/a"), seen, &policy()) {
        Decision::Final(verdict) => verdict,
        Decision::Retry { .. } => panic!("no verdict after {} observations", seen.len()),
    }
}

fn retry_wait(promise: &Promise, seen: &[Observation]) -> Duration {
    match decide(&job(promise, "/a"), seen, &policy()) {
        Decision::Retry { wait, fresh } => {
            assert!(fresh, "a second look must not be answered by a cache");
            wait
        }
        Decision::Final(verdict) => panic!("a verdict too early: {verdict:?}"),
    }
}

/// The text of a reason, as the ledger and the envelope have it.
fn reason_of(classification: &Classification) -> Option<&'static str> {
    classification.reason.map(Reason::as_str)
}

/// Asserts that after the observations the state is reached, for a reason, surely or not.
fn assert_state(promise: &Promise, seen: &[Observation], expected: (State, Option<&str>, bool)) {
    let verdict = verdict_of(promise, seen);
    assert_eq!(
        (
            verdict.state(),
            reason_of(&verdict.classification),
            verdict.sure
        ),
        expected
    );
}

/// The fetcher keeps the body of the last observation alone. Content that one request got wrong, and the last
/// one right, is shown by the wrong answer; its body is not archived.
#[test]
fn every_verdict_rests_on_the_last_observation() {
    let kinds: [fn() -> Observation; 9] = [
        good,
        bad,
        || body(9, [3; 32], BodyEnd::Complete),
        truncated,
        || status(404),
        || status(500),
        || seen(vec![redirect(302, "/b")]),
        || failed(FailureKind::Connect),
        || failed(FailureKind::RunEnded),
    ];
    let redirected = Promise {
        redirects_to: Some("http://example.org/c".into()),
        ..Promise::default()
    };
    for promise in [bytes_promised(), redirected, Promise::default()] {
        let job = Job {
            body: BodyUse::Hash {
                at_most: 10,
                keep: Keep::Everything,
                beyond: 0,
            },
            ..job(&promise, "/a")
        };
        for number in 0..9usize.pow(4) {
            for decide in [decide, decide_promise] {
                let mut all = vec![];
                for place in 0..4 {
                    all.push(kinds[number / 9usize.pow(place) % 9]());
                    let decision = decide(&job, &all, &policy());
                    let is_final = matches!(decision, Decision::Final(_));
                    let verdict = match decision {
                        Decision::Final(verdict) => verdict,
                        Decision::Retry { .. } => undecided(&job, &all, &policy()),
                    };
                    let is_right_at_last = verdict.classification.reason == Some(Reason::Unstable)
                        && verdict.attempts.last().map(|it| it.state) == Some(State::Ok);
                    if is_right_at_last {
                        let decisive = &verdict.attempts[verdict.observation];
                        assert_eq!(decisive.state, State::Changed, "{verdict:?}");
                    } else {
                        assert_eq!(verdict.observation + 1, all.len(), "{verdict:?}");
                    }
                    if is_final {
                        break;
                    }
                }
            }
        }
    }
}

/// The status after a verdict, and its state if that is another. A URL without a status is as promised.
fn step(
    previous: Option<&UrlStatus>,
    seen: &Verdict,
    now: Timestamp,
) -> (UrlStatus, Option<State>) {
    let status = UrlStatus::after(previous, seen, now, &policy());
    let before = previous.map_or(State::Ok, |it| it.state);
    let news = Some(status.state).filter(|state| *state != before);
    (status, news)
}
