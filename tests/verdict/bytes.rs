//! Bytes that are promised: what settles that they have changed, and what says nothing.

use super::*;

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
        retry_wait(&promise, &[bad()]),
        retry_wait(&promise, &[bad(), good()]),
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

    let unstable = verdict_of(&promise, &[bad(), good(), good()]);
    assert_eq!(
        (unstable.state(), unstable.classification.warning),
        (State::Ok, Some(Warning::ContentUnstable))
    );
    assert_eq!(unstable.observation, 2, "the archive gets the right bytes");
}

/// What a POST comes to, after these observations.
fn posted(seen: &[Observation]) -> Decision {
    let mut job = job(&bytes_promised(), "/a");
    job.request.method = "POST".into();
    decide(&job, seen, &policy())
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
        let Decision::Final(verdict) = posted(&[seen]) else {
            panic!("looked at again: {expected:?}");
        };
        assert_eq!((verdict.state(), verdict.sure), expected);
        let is_said = verdict.classification.observed.contains("seen once");
        let is_weaker = !matches!(expected.0, State::Ok | State::Inconclusive);
        assert_eq!(is_said, is_weaker, "{}", verdict.classification.observed);
    }
}

#[test]
fn what_was_never_sent_may_be_sent_again() {
    let lost = || failed(FailureKind::Connect);
    let again = |seen: &[Observation]| matches!(posted(seen), Decision::Retry { .. });
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
    retry_wait(&promise, &[bad(), failed(FailureKind::Timeout)]);
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
    let verdict = verdict_of(&bytes_promised(), &[gzipped]);
    assert_eq!(
        (verdict.state(), verdict.classification.warning),
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
    retry_wait(&promise, &[truncated()]);
    retry_wait(&promise, &[truncated(), truncated()]);
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
            let verdict = verdict_of(&promise, &[broken(10, RIGHT, kind)]);
            assert_eq!(
                (verdict.state(), verdict.classification.warning),
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
    let verdict = verdict_of(&digest_only, &[coded]);
    assert_eq!(verdict.classification.warning, Some(Warning::FramingBroken));

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
fn what_can_be_promised_stands_at_the_end_of_the_chain_and_is_whole() {
    let after = |first: Hop, mut end: Observation| {
        end.hops.insert(0, first);
        end
    };
    let moved = || redirect(302, "/b");
    for seen in [good(), after(moved(), good())] {
        assert_eq!(promisable(&seen, &[]).unwrap().sha256, RIGHT);
    }
    let gone = Observation {
        hops: vec![moved(), hop(404, &[])],
        ..good()
    };
    let choices = Observation {
        hops: vec![hop(300, &[])],
        ..good()
    };
    let challenge = Observation {
        hops: vec![moved(), hop(200, &[("cf-mitigated", "challenge")])],
        ..good()
    };
    for (seen, expected) in [
        (truncated(), (State::Truncated, None)),
        (
            body(4, WRONG, BodyEnd::Cut),
            (State::Inconclusive, Some("too-large")),
        ),
        (gone, (State::Gone, None)),
        (choices, (State::Unreachable, Some("redirect-invalid"))),
        (challenge, (State::Blocked, Some("challenge"))),
        (
            after(moved(), failed(FailureKind::RedirectLoop)),
            (State::Unreachable, Some("redirect-loop")),
        ),
        (
            after(moved(), failed(FailureKind::Refused)),
            (State::Inconclusive, Some("refused")),
        ),
    ] {
        let classification = promisable(&seen, &[]).unwrap_err();
        assert_eq!(
            (classification.state, reason_of(&classification)),
            expected,
            "{seen:?}"
        );
    }
}
