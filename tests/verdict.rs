//! The verdict table of docs/verdicts.md, row by row, without a network.

use std::time::Duration;

use jiff::{Timestamp, ToSpan};
use urldb::fetch::{
    Beginning, Body, BodyEnd, Decoded, Failure, FailureKind, Hop, Observation, Sent,
};
use urldb::plan::{BodyUse, Job, JobKey, Promise, Request};
use urldb::verdict::{
    Assessment, Canary, Judgement, News, Policy, Settled, Standing, Warning, judge,
};
use urldb_canon::Scheme;
use urldb_protocol::State;

const RIGHT: [u8; 32] = [1; 32];
const WRONG: [u8; 32] = [2; 32];

fn policy() -> Policy {
    Policy {
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
        version: "HTTP/1.1",
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
        end,
        decoded: None,
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
        }),
        ..seen(vec![])
    }
}

fn truncated() -> Observation {
    let failure = Some(Failure {
        kind: FailureKind::Disconnected,
        detail: "connection closed".into(),
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
            alias: None,
            scheme: Scheme::Http,
        },
        url: format!("http://example.org{path}"),
        file: "urldb/example.org.yaml".into(),
        line: 2,
        promise: promise.clone(),
        request: Request {
            method: "GET".into(),
            headers: vec![],
            body: None,
        },
        body: BodyUse::Skip,
        known: None,
    }
}

fn settled(promise: &Promise, seen: &[Observation]) -> Assessment {
    match judge(&job(promise, "/a"), seen, &policy()) {
        Judgement::Settled(assessment) => assessment,
        Judgement::Again { .. } => panic!("not settled after {} observations", seen.len()),
    }
}

fn wants_more(promise: &Promise, seen: &[Observation]) -> Duration {
    match judge(&job(promise, "/a"), seen, &policy()) {
        Judgement::Again { wait, fresh } => {
            assert!(fresh, "a second look must not be answered by a cache");
            wait
        }
        Judgement::Settled(assessment) => panic!("settled too early: {assessment:?}"),
    }
}

/// Asserts that after the observations the state is reached, for a reason, surely or not.
fn assert_state(promise: &Promise, seen: &[Observation], expected: (State, Option<&str>, bool)) {
    let assessment = settled(promise, seen);
    assert_eq!(
        (assessment.state(), assessment.sight.reason, assessment.sure),
        expected
    );
}

#[test]
fn ok_at_once() {
    assert_state(&bytes_promised(), &[good()], (State::Ok, None, true));
    assert_state(&Promise::default(), &[status(200)], (State::Ok, None, true));
    assert_state(&Promise::default(), &[status(204)], (State::Ok, None, true));
}

#[test]
fn changed_is_the_best_of_three() {
    let promise = bytes_promised();
    // A server in the middle of a deployment has time to end it.
    let waits = [
        wants_more(&promise, &[bad()]),
        wants_more(&promise, &[bad(), good()]),
    ];
    for (wait, usual) in waits.into_iter().zip([2, 4]) {
        let usual = Duration::from_secs(usual);
        assert!(wait >= usual * 3 / 4 && wait <= usual * 5 / 4, "{wait:?}");
    }
    assert_state(
        &promise,
        &[bad(), bad()],
        (State::Changed, Some("digest"), true),
    );
    assert_state(
        &promise,
        &[bad(), good(), bad()],
        (State::Changed, Some("digest"), true),
    );

    let unstable = settled(&promise, &[bad(), good(), good()]);
    assert_eq!(
        (unstable.state(), unstable.sight.warning),
        (State::Ok, Some(Warning::ContentUnstable))
    );
    assert_eq!(unstable.observation, 2, "the archive gets the right bytes");
}

/// What a POST comes to, after these observations.
fn posted(seen: &[Observation]) -> Judgement {
    let mut job = job(&bytes_promised(), "/a");
    job.request.method = "POST".into();
    judge(&job, seen, &policy())
}

#[test]
fn what_may_change_something_is_looked_at_once() {
    let other = body(9, WRONG, BodyEnd::Complete);
    for (seen, expected) in [
        (good(), (State::Ok, true)),
        (other, (State::Changed, false)),
        (truncated(), (State::Truncated, false)),
        (status(404), (State::Gone, false)),
        (status(500), (State::ServerError, false)),
        (
            failed(FailureKind::Disconnected),
            (State::Unreachable, false),
        ),
        (failed(FailureKind::Timeout), (State::Unreachable, false)),
        (failed(FailureKind::Tls), (State::Unreachable, false)),
        (
            failed(FailureKind::UnsafeMethod),
            (State::Inconclusive, false),
        ),
    ] {
        let Judgement::Settled(assessment) = posted(&[seen]) else {
            panic!("looked at again: {expected:?}");
        };
        assert_eq!((assessment.state(), assessment.sure), expected);
        let is_said = assessment.sight.observed.contains("seen once");
        let is_weaker = !matches!(expected.0, State::Ok | State::Inconclusive);
        assert_eq!(is_said, is_weaker, "{}", assessment.sight.observed);
    }
}

#[test]
fn what_was_never_sent_may_be_sent_again() {
    let lost = || failed(FailureKind::Connect);
    let again = |seen: &[Observation]| matches!(posted(seen), Judgement::Again { .. });
    assert!(again(&[lost()]));
    assert!(again(&[failed(FailureKind::Dns), lost()]));
    assert!(!again(&[lost(), lost(), lost()]));
    assert!(!again(&[lost(), bad()]));
    // The redirect was an answer to it.
    let behind_a_redirect = Observation {
        hops: vec![redirect(303, "/b")],
        ..lost()
    };
    assert!(!again(&[behind_a_redirect]));
}

#[test]
fn one_odd_body_and_then_silence_is_not_believed() {
    let promise = bytes_promised();
    wants_more(&promise, &[bad(), failed(FailureKind::Timeout)]);
    let seen = [
        bad(),
        failed(FailureKind::Timeout),
        failed(FailureKind::Timeout),
        failed(FailureKind::Timeout),
    ];
    assert_state(
        &promise,
        &seen,
        (State::Unreachable, Some("timeout"), false),
    );
}

#[test]
fn length_and_digest_and_type_are_told_apart() {
    let promise = bytes_promised();
    let long = || body(11, WRONG, BodyEnd::Cut);
    assert_state(
        &promise,
        &[long(), long()],
        (State::Changed, Some("length"), true),
    );
    let short = || body(9, WRONG, BodyEnd::Complete);
    assert_state(
        &promise,
        &[short(), short()],
        (State::Changed, Some("length"), true),
    );
    let html = Promise {
        content_type: Some("text/html".into()),
        ..Promise::default()
    };
    assert_state(
        &html,
        &[status(200), status(200)],
        (State::Changed, Some("content-type"), true),
    );
    let any = Promise {
        content_type_change_ok: true,
        ..html
    };
    assert_state(&any, &[status(200)], (State::Ok, None, true));
    let not_found = Promise {
        status: Some(404),
        ..Promise::default()
    };
    assert_state(&not_found, &[status(404)], (State::Ok, None, true));
    assert_state(
        &not_found,
        &[status(200), status(200)],
        (State::Changed, Some("status"), true),
    );
}

#[test]
fn a_body_over_the_cap_says_nothing_when_only_a_digest_is_promised() {
    let promise = Promise {
        length: None,
        ..bytes_promised()
    };
    assert_state(
        &promise,
        &[body(99, WRONG, BodyEnd::Cut)],
        (State::Inconclusive, Some("too-large"), false),
    );
}

#[test]
fn unasked_content_coding_is_undone() {
    let mut gzipped = bad();
    gzipped.body.as_mut().unwrap().decoded = Some(Decoded::Whole {
        length: 10,
        sha256: RIGHT,
    });
    let assessment = settled(&bytes_promised(), &[gzipped]);
    assert_eq!(
        (assessment.state(), assessment.sight.warning),
        (State::Ok, Some(Warning::ContentEncoded))
    );
}

#[test]
fn what_is_too_long_to_be_decoded_is_no_change_unless_it_is_longer_than_promised() {
    let bomb = |cap| {
        let mut seen = bad();
        seen.body.as_mut().unwrap().decoded = Some(Decoded::LongerThan(cap));
        seen
    };
    let too_large = (State::Inconclusive, Some("too-large"), false);
    let digest_only = Promise {
        length: None,
        ..bytes_promised()
    };
    assert_state(&digest_only, &[bomb(99)], too_large);
    assert_state(&bytes_promised(), &[bomb(9)], too_large);
    let changed = (State::Changed, Some("digest"), true);
    assert_state(&bytes_promised(), &[bomb(10), bomb(10)], changed);
}

#[test]
fn truncated_needs_every_attempt() {
    let promise = bytes_promised();
    wants_more(&promise, &[truncated()]);
    wants_more(&promise, &[truncated(), truncated()]);
    assert_state(
        &promise,
        &[truncated(), truncated(), truncated()],
        (State::Truncated, None, true),
    );
    assert_state(&promise, &[truncated(), good()], (State::Ok, None, true));
}

#[test]
fn a_digest_proves_bytes_however_the_connection_ended() {
    let broken = |length, sha256, kind| Observation {
        failure: failed(kind).failure,
        ..body(length, sha256, BodyEnd::Broken)
    };
    let digest_only = Promise {
        length: None,
        ..bytes_promised()
    };
    for kind in [
        FailureKind::Disconnected,
        FailureKind::Timeout,
        FailureKind::Protocol,
        FailureKind::Tls,
        FailureKind::RunEnded,
    ] {
        for promise in [bytes_promised(), digest_only.clone()] {
            let assessment = settled(&promise, &[broken(10, RIGHT, kind)]);
            assert_eq!(
                (assessment.state(), assessment.sight.warning),
                (State::Ok, Some(Warning::FramingBroken)),
                "{kind}"
            );
        }
    }
    let mut coded = broken(7, WRONG, FailureKind::Disconnected);
    coded.body.as_mut().unwrap().decoded = Some(Decoded::Whole {
        length: 10,
        sha256: RIGHT,
    });
    let assessment = settled(&digest_only, &[coded]);
    assert_eq!(assessment.sight.warning, Some(Warning::FramingBroken));

    // As many bytes as promised may be others, and nothing is the start of everything.
    let length_only = Promise {
        sha256: None,
        ..bytes_promised()
    };
    let empty = Promise {
        length: Some(0),
        sha256: Some(RIGHT),
        ..Promise::default()
    };
    for (promise, length) in [(&length_only, 10), (&empty, 0)] {
        let lost = || broken(length, RIGHT, FailureKind::Disconnected);
        assert_state(
            promise,
            &[lost(), lost(), lost()],
            (State::Truncated, None, true),
        );
    }
}

#[test]
fn gone_needs_every_attempt() {
    for code in [404, 410] {
        wants_more(&Promise::default(), &[status(code), status(code)]);
        let assessment = settled(
            &Promise::default(),
            &[status(code), status(code), status(code)],
        );
        assert_eq!((assessment.state(), assessment.sure), (State::Gone, true));
    }
    let mixed = settled(
        &Promise::default(),
        &[status(500), status(404), status(404)],
    );
    assert_eq!((mixed.state(), mixed.sure), (State::Gone, false));
    assert_state(
        &Promise::default(),
        &[status(404), status(200)],
        (State::Ok, None, true),
    );
}

#[test]
fn redirected_only_where_promised_otherwise() {
    let to_b = || seen(vec![redirect(301, "/b"), hop(200, &[])]);
    assert_state(&Promise::default(), &[to_b()], (State::Ok, None, true));

    let pseudo = Promise {
        content_type: Some("X-301-Redirect".into()),
        redirect_status: Some(301),
        ..Promise::default()
    };
    assert_state(&pseudo, &[to_b()], (State::Ok, None, true));
    assert_state(
        &pseudo,
        &[status(200)],
        (State::Redirected, Some("no-redirect"), true),
    );
    let temporary = || seen(vec![redirect(302, "/b"), hop(200, &[])]);
    assert_state(
        &pseudo,
        &[temporary()],
        (State::Redirected, Some("other-redirect"), true),
    );
    assert_state(
        &Promise {
            redirect_ok: true,
            ..pseudo
        },
        &[temporary()],
        (State::Ok, None, true),
    );

    let named = Promise {
        redirects_to: Some("http://example.org/b".into()),
        ..Promise::default()
    };
    assert_state(&named, &[to_b()], (State::Ok, None, true));
    let to_c = seen(vec![redirect(301, "/c"), hop(200, &[])]);
    assert_state(
        &named,
        &[to_c],
        (State::Redirected, Some("other-redirect"), true),
    );
    let gone = settled(&named, &[status(404), status(404), status(404)]);
    assert_eq!(
        gone.state(),
        State::Gone,
        "an error is not a redirect elsewhere"
    );
}

#[test]
fn a_promised_redirect_does_not_hide_the_promised_bytes() {
    let promise = Promise {
        redirects_to: Some("http://example.org/b".into()),
        ..bytes_promised()
    };
    let with = |observation: Observation| Observation {
        hops: vec![redirect(301, "/b"), hop(200, &[])],
        ..observation
    };
    assert_state(&promise, &[with(good())], (State::Ok, None, true));
    assert_state(
        &promise,
        &[with(bad()), with(bad())],
        (State::Changed, Some("digest"), true),
    );
}

#[test]
fn a_content_type_is_compared_at_the_end_of_the_chain() {
    let chain = || {
        seen(vec![
            redirect(302, "/b"),
            hop(200, &[("content-type", "text/html")]),
        ])
    };
    let html = Promise {
        content_type: Some("text/html".into()),
        ..Promise::default()
    };
    assert_state(&html, &[chain()], (State::Ok, None, true));
    let plain = Promise {
        content_type: Some("text/plain".into()),
        ..Promise::default()
    };
    assert_state(
        &plain,
        &[chain(), chain()],
        (State::Changed, Some("content-type"), true),
    );
    assert_state(
        &Promise {
            redirect_ok: true,
            ..plain
        },
        &[chain()],
        (State::Ok, None, true),
    );
}

#[test]
fn a_redirect_to_an_error_is_a_warning_unless_bytes_are_promised() {
    let chain = || seen(vec![redirect(301, "/b"), hop(404, &[])]);
    let assessment = settled(&Promise::default(), &[chain()]);
    assert_eq!(
        (assessment.state(), assessment.sight.warning),
        (State::Ok, Some(Warning::RedirectToBroken))
    );
    let assessment = settled(&bytes_promised(), &[chain(), chain(), chain()]);
    assert_eq!((assessment.state(), assessment.sure), (State::Gone, true));

    let refused = Observation {
        hops: vec![redirect(301, "http://other.example/")],
        ..failed(FailureKind::Refused)
    };
    let assessment = settled(&Promise::default(), &[refused]);
    assert_eq!(assessment.sight.warning, Some(Warning::RedirectToBroken));
}

#[test]
fn forbidden_and_client_errors_wait_for_other_runs() {
    for code in [401, 403, 451] {
        assert_state(
            &Promise::default(),
            &[status(code)],
            (State::Forbidden, None, false),
        );
    }
    for code in [400, 405, 418] {
        assert_state(
            &Promise::default(),
            &[status(code)],
            (State::ClientError, None, false),
        );
    }
}

#[test]
fn server_errors_are_retried_and_then_wait_for_other_runs() {
    wants_more(&Promise::default(), &[status(500)]);
    let seen = [status(500), status(502), status(503)];
    assert_state(
        &Promise::default(),
        &seen,
        (State::ServerError, None, false),
    );
}

#[test]
fn unreachable_has_a_reason_for_each_cause() {
    let transient = [
        (FailureKind::Dns, "dns"),
        (FailureKind::Connect, "connect"),
        (FailureKind::Disconnected, "connect"),
        (FailureKind::Timeout, "timeout"),
        (FailureKind::Protocol, "protocol"),
        (FailureKind::Tls, "tls"),
    ];
    for (kind, reason) in transient {
        wants_more(&Promise::default(), &[failed(kind)]);
        let seen = [failed(kind), failed(kind), failed(kind)];
        assert_state(
            &Promise::default(),
            &seen,
            (State::Unreachable, Some(reason), false),
        );
    }
    let lasting = [
        (FailureKind::TlsExpired, "tls-expired"),
        (FailureKind::TlsNotYetValid, "tls-not-yet-valid"),
        (FailureKind::TlsUntrusted, "tls-untrusted"),
        (FailureKind::TlsWrongHost, "tls-wrong-host"),
        (FailureKind::RedirectLoop, "redirect-loop"),
        (FailureKind::RedirectLimit, "redirect-limit"),
        (FailureKind::RedirectInvalid, "redirect-invalid"),
    ];
    for (kind, reason) in lasting {
        assert_state(
            &Promise::default(),
            &[failed(kind)],
            (State::Unreachable, Some(reason), false),
        );
    }
    for code in [206, 304] {
        let seen = [status(code), status(code), status(code)];
        assert_state(
            &Promise::default(),
            &seen,
            (State::Unreachable, Some("protocol"), false),
        );
    }
}

#[test]
fn blocked_obeys_retry_after_within_bounds() {
    let busy = |after: &str| seen(vec![hop(429, &[("retry-after", after)])]);
    assert_eq!(
        wants_more(&Promise::default(), &[busy("7")]),
        Duration::from_secs(7)
    );
    assert_eq!(
        wants_more(&Promise::default(), &[busy("99999999999")]),
        Duration::from_mins(2)
    );
    assert_eq!(
        wants_more(
            &Promise::default(),
            &[busy("Thu, 01 Jan 1970 00:00:30 GMT")]
        ),
        Duration::from_secs(30)
    );
    assert!(wants_more(&Promise::default(), &[busy("soon")]) < Duration::from_secs(3));
    let seen = [busy("1"), busy("1"), busy("1")];
    assert_state(
        &Promise::default(),
        &seen,
        (State::Blocked, Some("too-many-requests"), false),
    );
}

#[test]
fn a_wait_too_long_for_a_run_is_told() {
    let message = |status, after: &str| {
        let busy = || seen(vec![hop(status, &[("retry-after", after)])]);
        let assessment = settled(&Promise::default(), &[busy(), busy(), busy()]);
        assessment.sight.message()
    };
    assert_eq!(
        message(429, "7200"),
        "answers 429 and asks us to come back after 2h"
    );
    assert_eq!(
        message(503, "Thu, 01 Jan 1970 00:02:01 GMT"),
        "answers 503 and asks us to come back after 2m 1s"
    );
    assert_eq!(message(429, "120"), "answers 429");
    assert_eq!(message(500, "7200"), "answers 500");
}

#[test]
fn waits_double_and_differ_from_job_to_job_by_a_quarter() {
    let wait = |path: &str, attempts: usize| {
        let seen: Vec<_> = (0..attempts).map(|_| status(500)).collect();
        let patient = Policy {
            retries: 20,
            ..policy()
        };
        match judge(&job(&Promise::default(), path), &seen, &patient) {
            Judgement::Again { wait, .. } => wait,
            Judgement::Settled(assessment) => panic!("{assessment:?}"),
        }
    };
    for (attempts, seconds) in [(1, 2), (2, 4), (3, 8), (20, 120)] {
        let waits: Vec<Duration> = (0..100)
            .map(|number| wait(&format!("/{number}"), attempts))
            .collect();
        let even = Duration::from_secs(seconds);
        let longest = (even * 5 / 4).min(Duration::from_mins(2));
        let (least, most) = (waits.iter().min().unwrap(), waits.iter().max().unwrap());
        assert!(
            *least >= even * 3 / 4 && *most <= longest,
            "{least:?} {most:?}"
        );
        assert!(
            *least < even * 4 / 5 && *most > longest * 19 / 20,
            "{least:?} {most:?}"
        );
        assert_eq!(wait("/0", attempts), waits[0], "no chance in it");
    }
}

#[test]
fn a_challenge_is_blocked_whatever_its_status() {
    for code in [200, 403, 503] {
        let challenge = seen(vec![hop(code, &[("cf-mitigated", "challenge")])]);
        assert_state(
            &bytes_promised(),
            &[challenge],
            (State::Blocked, Some("challenge"), false),
        );
    }
}

#[test]
fn a_challenge_never_stands_against_promised_bytes() {
    let marked = |observation: Observation| Observation {
        hops: vec![hop(200, &[("cf-mitigated", "challenge")])],
        ..observation
    };
    let challenge = (State::Blocked, Some("challenge"), false);
    assert_state(
        &bytes_promised(),
        &[marked(good())],
        (State::Ok, None, true),
    );
    assert_state(&bytes_promised(), &[marked(bad())], challenge);
    assert_state(&bytes_promised(), &[marked(truncated())], challenge);
    assert_state(&Promise::default(), &[marked(good())], challenge);
}

#[test]
fn a_challenge_is_no_missing_redirect() {
    let promise = Promise {
        redirects_to: Some("http://example.org/b".into()),
        ..Promise::default()
    };
    let challenge = || hop(202, &[("x-amzn-waf-action", "challenge")]);
    assert_state(
        &promise,
        &[seen(vec![challenge()])],
        (State::Blocked, Some("challenge"), false),
    );
    let elsewhere = seen(vec![redirect(301, "/c"), challenge()]);
    assert_state(
        &promise,
        &[elsewhere],
        (State::Redirected, Some("other-redirect"), true),
    );
}

#[test]
fn inconclusive_is_settled_at_once_and_never_sure() {
    for (kind, reason) in [
        (FailureKind::Refused, "refused"),
        (FailureKind::RunEnded, "run-ended"),
    ] {
        assert_state(
            &bytes_promised(),
            &[failed(kind)],
            (State::Inconclusive, Some(reason), false),
        );
    }
}

#[test]
fn a_lost_body_does_not_matter_where_no_bytes_are_promised() {
    assert_state(&Promise::default(), &[truncated()], (State::Ok, None, true));
}

mod canary {
    use super::*;

    #[expect(clippy::needless_pass_by_value, reason = "so that it reads as a list")]
    fn at_host(host: &str, seen: Observation) -> Settled {
        let mut job = job(&Promise::default(), "/a");
        host.clone_into(&mut job.key.domain);
        job.url = format!("http://{host}/a");
        let seen: Vec<_> = std::iter::repeat_with(|| clone(&seen)).take(3).collect();
        let Judgement::Settled(assessment) = judge(&job, &seen, &policy()) else {
            panic!("not settled");
        };
        (job, seen, assessment)
    }

    /// An observation without a body.
    fn clone(seen: &Observation) -> Observation {
        Observation {
            hops: seen.hops.clone(),
            failure: seen.failure.clone(),
            ..super::seen(vec![])
        }
    }

    fn states(settled: &[Settled]) -> Vec<(&str, State, Option<&str>)> {
        let states = settled.iter();
        states
            .map(|(job, _, assessment)| (&*job.url, assessment.state(), assessment.sight.reason))
            .collect()
    }

    #[test]
    fn when_nobody_answers_it_may_be_us() {
        let mut canary = Canary::default();
        let silent = [
            FailureKind::Dns,
            FailureKind::Connect,
            FailureKind::Disconnected,
            FailureKind::Timeout,
            FailureKind::Tls,
            FailureKind::TlsUntrusted,
            FailureKind::TlsWrongHost,
        ];
        for (number, kind) in silent.into_iter().enumerate() {
            let held = canary.pass(at_host(&format!("{number}.example"), failed(kind)));
            assert!(held.is_empty(), "{kind}");
        }
        let refused = at_host("refused.example", failed(FailureKind::Refused));
        assert_eq!(canary.pass(refused).len(), 1, "it was not asked");
        let end = canary.end();
        assert_eq!(end.len(), silent.len());
        for (_, _, assessment) in end {
            let Assessment { sight, sure, .. } = assessment;
            assert_eq!(sight.state, State::Inconclusive);
            assert_eq!(sight.reason, Some("own-network"));
            assert!(!sure && sight.observed.contains("because"), "{sight:?}");
        }
    }

    #[test]
    fn one_answer_lets_all_failures_through() {
        let answers = [
            status(500),
            failed(FailureKind::Protocol),
            failed(FailureKind::TlsExpired),
            failed(FailureKind::TlsNotYetValid),
        ];
        for answer in answers {
            let mut canary = Canary::default();
            for host in ["a.example", "b.example"] {
                assert!(
                    canary
                        .pass(at_host(host, failed(FailureKind::Dns)))
                        .is_empty()
                );
            }
            let free = canary.pass(at_host("c.example", answer));
            let dns = Some("dns");
            assert_eq!(
                states(&free)[..2],
                [
                    ("http://a.example/a", State::Unreachable, dns),
                    ("http://b.example/a", State::Unreachable, dns)
                ]
            );
            assert_eq!(free.len(), 3);
            let later = canary.pass(at_host("d.example", failed(FailureKind::Dns)));
            assert_eq!(
                states(&later),
                [("http://d.example/a", State::Unreachable, dns)]
            );
            assert!(canary.end().is_empty());
        }
    }

    #[test]
    fn of_a_single_host_nobody_can_tell() {
        let mut canary = Canary::default();
        for _ in 0..3 {
            let held = canary.pass(at_host("a.example", failed(FailureKind::Connect)));
            assert!(held.is_empty());
        }
        let end = canary.end();
        assert_eq!(end.len(), 3);
        assert!(
            end.iter()
                .all(|(_, _, seen)| seen.state() == State::Unreachable)
        );
    }
}

mod standings {
    use super::*;

    fn unsure(code: u16) -> Assessment {
        Assessment {
            sure: false,
            ..settled_as(code)
        }
    }

    fn settled_as(code: u16) -> Assessment {
        let seen: Vec<_> = (0..3).map(|_| status(code)).collect();
        let needed = if code == 200 { 1 } else { 3 };
        settled(&Promise::default(), &seen[..needed])
    }

    fn step(
        previous: Option<&Standing>,
        seen: &Assessment,
        now: Timestamp,
    ) -> (Standing, Option<News>) {
        Standing::after(previous, seen, now, &policy())
    }

    #[test]
    fn a_first_good_sight_is_no_news() {
        let (standing, news) = step(None, &settled_as(200), at(100));
        assert_eq!(
            (standing.state, standing.since, news),
            (State::Ok, at(100), None)
        );
    }

    #[test]
    fn a_sure_state_is_news_at_once_and_only_once() {
        let (standing, news) = step(None, &settled_as(404), at(100));
        assert_eq!(
            news,
            Some(News {
                from: State::Ok,
                from_since: None,
                to: State::Gone
            })
        );
        let (standing, news) = step(Some(&standing), &settled_as(404), at(200));
        assert_eq!((standing.since, news), (at(100), None));
        let (standing, news) = step(Some(&standing), &settled_as(200), at(300));
        assert_eq!((standing.state, standing.since), (State::Ok, at(300)));
        assert_eq!(
            news,
            Some(News {
                from: State::Gone,
                from_since: Some(at(100)),
                to: State::Ok
            })
        );
    }

    #[test]
    fn a_doubtful_state_is_news_when_confirmed_and_dates_from_its_first_sight() {
        let (standing, news) = step(None, &unsure(500), at(100));
        assert_eq!((standing.state, news), (State::Ok, None));
        let (standing, news) = step(Some(&standing), &unsure(403), at(200));
        assert_eq!(
            (standing.state, standing.since, standing.pending),
            (State::Forbidden, at(100), None)
        );
        assert_eq!(news.map(|news| news.to), Some(State::Forbidden));
    }

    #[test]
    fn a_good_run_between_ends_the_doubt() {
        let (standing, _) = step(None, &unsure(500), at(100));
        let (standing, news) = step(Some(&standing), &settled_as(200), at(200));
        assert_eq!((standing.pending.clone(), news), (None, None));
        let (_, news) = step(Some(&standing), &unsure(500), at(300));
        assert_eq!(news, None);
    }

    #[test]
    fn blocked_is_news_only_after_its_time() {
        let week = at(100) + (7 * 24).hours();
        let (standing, _) = step(None, &unsure(429), at(100));
        let (standing, news) = step(Some(&standing), &unsure(429), week - 1.second());
        assert_eq!((standing.state, news), (State::Ok, None));
        let (standing, news) = step(Some(&standing), &unsure(429), week);
        assert_eq!(
            (standing.state, news.map(|news| news.to)),
            (State::Blocked, Some(State::Blocked))
        );
    }

    #[test]
    fn inconclusive_changes_nothing() {
        let (before, _) = step(None, &unsure(500), at(100));
        let inconclusive = settled(&Promise::default(), &[failed(FailureKind::Refused)]);
        let (after, news) = step(Some(&before), &inconclusive, at(200));
        assert_eq!((after, news), (before, None));
    }
}
