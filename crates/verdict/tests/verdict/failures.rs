//! Answers that say little, and none at all.

use super::*;

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
    retry_wait(&Promise::default(), &[status(500)]);
    let seen = [status(500), status(502), status(503)];
    assert_state(
        &Promise::default(),
        &seen,
        (State::ServerError, None, false),
    );
}

/// Of a million requests a day, some fail: only another answer is a sign that a URL flaps.
#[test]
fn a_fault_that_a_retry_mends_is_no_break() {
    let result = |seen: &[Observation]| {
        let verdict = verdict_of(&bytes_promised(), seen);
        let known = UrlStatus {
            state: State::Ok,
            since: at(0),
            reason: None,
            pending: None,
        };
        RunResult::of(&verdict, &known)
    };
    for first in [
        failed(FailureKind::Disconnected),
        failed(FailureKind::Timeout),
        failed(FailureKind::TlsExpired),
        status(503),
        status(500),
    ] {
        assert_eq!(result(&[first, good()]), Some(RunResult::Good));
    }
    assert_eq!(result(&[bad(), good(), good()]), Some(RunResult::Mixed));
    assert_eq!(result(&[status(404), good()]), Some(RunResult::Mixed));
}

#[test]
fn unreachable_has_a_reason_for_each_cause() {
    let transient = [
        (FailureKind::Dns, "dns"),
        (FailureKind::Connect, "connect"),
        (FailureKind::Disconnected, "disconnected"),
        (FailureKind::Timeout, "timeout"),
        (FailureKind::Protocol, "protocol"),
        (FailureKind::Tls, "tls"),
        // One of several servers behind a name may show another certificate.
        (FailureKind::TlsExpired, "tls-expired"),
        (FailureKind::TlsNotYetValid, "tls-not-yet-valid"),
        (FailureKind::TlsUntrusted, "tls-untrusted"),
        (FailureKind::TlsWrongHost, "tls-wrong-host"),
    ];
    for (kind, reason) in transient {
        retry_wait(&Promise::default(), &[failed(kind)]);
        let seen = [failed(kind), failed(kind), failed(kind)];
        assert_state(
            &Promise::default(),
            &seen,
            (State::Unreachable, Some(reason), false),
        );
    }
    assert_state(
        &bytes_promised(),
        &[failed(FailureKind::TlsExpired), good()],
        (State::Ok, None, true),
    );
    let lasting = [
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
    for (after, seconds) in [("7", 7), ("Thu, 01 Jan 1970 00:00:30 GMT", 30)] {
        let wait = retry_wait(&Promise::default(), &[busy(after)]);
        assert_eq!(wait, Duration::from_secs(seconds));
    }
    assert!(retry_wait(&Promise::default(), &[busy("soon")]) < Duration::from_secs(3));
    let seen = [busy("1"), busy("1"), busy("1")];
    assert_state(
        &Promise::default(),
        &seen,
        (State::Blocked, Some("rate-limited"), false),
    );
}

#[test]
fn a_wait_too_long_for_a_run_is_told() {
    let message = |status, after: &str| {
        let busy = || seen(vec![hop(status, &[("retry-after", after)])]);
        let verdict = verdict_of(&Promise::default(), &[busy(), busy(), busy()]);
        verdict.classification.message()
    };
    for (status, after, expected) in [
        (429, "7200", "answers 429 and asks us to come back after 2h"),
        (
            503,
            "Thu, 01 Jan 1970 00:00:31 GMT",
            "answers 503 and asks us to come back after 31s",
        ),
        (429, "120", "answers 429"),
        (503, "30", "answers 503"),
        (500, "7200", "answers 500"),
    ] {
        assert_eq!(message(status, after), expected);
    }
}

#[test]
fn a_run_does_not_wait_for_a_server_that_asks_for_too_long() {
    let busy = |status, after: &str| [seen(vec![hop(status, &[("retry-after", after)])])];
    let limited = (State::Blocked, Some("rate-limited"), false);
    for (status, after, state) in [
        (503, "31", (State::ServerError, None, false)),
        (503, "7200", (State::ServerError, None, false)),
        (429, "121", limited),
        (429, "99999999999", limited),
        (403, "3600", limited),
    ] {
        assert_state(&Promise::default(), &busy(status, after), state);
    }
    for (status, seconds) in [(503, 30), (429, 120), (403, 60)] {
        let wait = retry_wait(&Promise::default(), &busy(status, &seconds.to_string()));
        assert_eq!(wait, Duration::from_secs(seconds));
    }
}

/// GitHub answers 403 with `Retry-After` beyond its secondary limit.
#[test]
fn a_403_that_names_a_limit_is_no_news() {
    let limited = (State::Blocked, Some("rate-limited"), false);
    for header in [
        ("retry-after", "60"),
        ("x-ratelimit-remaining", "0"),
        ("ratelimit-remaining", "0"),
    ] {
        let refused = || seen(vec![hop(403, &[header])]);
        let seen = [refused(), refused(), refused()];
        assert_state(&Promise::default(), &seen, limited);
    }
    for header in [("retry-after", "soon"), ("x-ratelimit-remaining", "7")] {
        let seen = [seen(vec![hop(403, &[header])])];
        assert_state(&Promise::default(), &seen, (State::Forbidden, None, false));
    }
}

#[test]
fn waits_double_and_differ_from_job_to_job_by_a_quarter() {
    let wait = |path: &str, attempts: usize| {
        let seen: Vec<_> = (0..attempts).map(|_| status(500)).collect();
        let patient = VerdictOptions {
            retries: 20,
            ..policy()
        };
        match decide(&job(&Promise::default(), path), &seen, &patient) {
            Decision::Retry { wait, .. } => wait,
            Decision::Final(verdict) => panic!("{verdict:?}"),
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
fn a_server_needs_http2_if_each_attempt_met_it() {
    let declined = || failed(FailureKind::NeedsHttp2);
    let lost = || failed(FailureKind::Timeout);
    let promise = bytes_promised();
    retry_wait(&promise, &[declined(), declined()]);
    let needs = (State::Inconclusive, Some("needs-http2"), false);
    assert_state(&promise, &[declined(), declined(), declined()], needs);
    let tls = (State::Unreachable, Some("tls"), false);
    assert_state(&promise, &[lost(), declined(), declined()], tls);
    assert_state(&promise, &[bad(), declined(), declined(), declined()], tls);
    let timeout = (State::Unreachable, Some("timeout"), false);
    assert_state(&promise, &[declined(), declined(), lost()], timeout);
    assert_state(&promise, &[declined(), good()], (State::Ok, None, true));
}

#[test]
fn inconclusive_is_settled_at_once_and_never_sure() {
    for (kind, reason) in [
        (FailureKind::Refused, "refused"),
        (FailureKind::RunEnded, "run-ended"),
        (FailureKind::UnsafeMethod, "unsafe-method"),
        (FailureKind::HostSilent, "host-silent"),
    ] {
        assert_state(
            &bytes_promised(),
            &[failed(kind)],
            (State::Inconclusive, Some(reason), false),
        );
    }
}

/// Other connections of this process end meanwhile.
#[test]
fn too_many_open_files_are_tried_again_and_inconclusive() {
    retry_wait(&bytes_promised(), &[failed(FailureKind::OwnLimit)]);
    let own_limit = || failed(FailureKind::OwnLimit);
    assert_state(
        &bytes_promised(),
        &[own_limit(), own_limit(), own_limit()],
        (State::Inconclusive, Some("own-limit"), false),
    );
}

#[test]
fn a_lost_body_does_not_matter_where_no_bytes_are_promised() {
    assert_state(&Promise::default(), &[truncated()], (State::Ok, None, true));
}
