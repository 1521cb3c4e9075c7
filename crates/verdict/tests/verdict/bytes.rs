//! Bytes that are promised: what settles that they have changed, and what says nothing.

use std::sync::Arc;

use super::*;

#[test]
fn ok_at_once() {
    assert_state(&bytes_promised(), &[good()], (State::Ok, None, true));
    assert_state(&Promise::default(), &[status(200)], (State::Ok, None, true));
    assert_state(&Promise::default(), &[status(204)], (State::Ok, None, true));
}

/// What a POST comes to, after these observations.
fn posted(seen: &[Observation]) -> Decision {
    let mut job = job(&bytes_promised(), "/a");
    Arc::make_mut(&mut job.request).method = "POST".into();
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
    // No fetch ends so, but a bundle may say so.
    assert_state(
        &promise,
        &[body(0, WRONG, BodyEnd::Cut)],
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
    let changed = (State::Changed, Some("length"), true);
    assert_state(&bytes_promised(), &[bomb(10), bomb(10)], changed);
}

/// A complete body with a coding that is damaged in this way.
fn damaged(length: u64, sha256: [u8; 32], damage: Damage) -> Observation {
    let mut seen = bad();
    seen.body.as_mut().unwrap().decoded = Some(Decoded::Damaged {
        length,
        sha256,
        damage,
    });
    seen
}

#[test]
fn a_damaged_coding_is_never_a_change() {
    let length_only = Promise {
        sha256: None,
        length: Some(9),
        ..Promise::default()
    };
    for damage in [Damage::Incomplete, Damage::Invalid] {
        let verdict = verdict_of(&bytes_promised(), &[damaged(10, RIGHT, damage)]);
        assert_eq!(
            (verdict.state(), verdict.classification.warning),
            (State::Ok, Some(Warning::ContentEncoded)),
            "a digest proves what was decoded"
        );
        let expected = match damage {
            Damage::Incomplete => (State::Truncated, None, true),
            Damage::Invalid => (State::Unreachable, Some("protocol"), false),
        };
        let other = || damaged(9, WRONG, damage);
        for promise in [&bytes_promised(), &length_only] {
            assert_state(promise, &[other(), other(), other()], expected);
        }
    }
}

#[test]
fn what_is_observed_of_a_coded_body_is_its_content() {
    let mut coded = bad();
    coded.body.as_mut().unwrap().decoded = Some(Decoded::Whole {
        length: 77,
        sha256: [7; 32],
    });
    let verdict = verdict_of(&bytes_promised(), &[clone_of(&coded), clone_of(&coded)]);
    let observed = &verdict.classification.observed;
    assert!(
        observed.starts_with(&format!("77 bytes with sha256 {}", "07".repeat(32))),
        "{observed}"
    );
    let bytes = observed_bytes(&bytes_promised(), &coded).unwrap();
    assert_eq!((bytes.length, bytes.sha256), (77, [7; 32]));
    // Some promise the bytes as sent, such as those of a .tar.gz.
    let as_sent = Promise {
        sha256: Some(WRONG),
        ..bytes_promised()
    };
    let bytes = observed_bytes(&as_sent, &coded).unwrap();
    assert_eq!((bytes.length, bytes.sha256), (10, WRONG));
    assert_eq!(observed_bytes(&bytes_promised(), &truncated()), None);
    let mut hidden = bad();
    hidden.hops[0]
        .headers
        .push(("content-encoding".into(), b"br".to_vec()));
    assert_eq!(observed_bytes(&bytes_promised(), &hidden), None);
}

/// The same observation again.
fn clone_of(seen: &Observation) -> Observation {
    let body = seen.body.as_ref().unwrap();
    Observation {
        hops: seen.hops.clone(),
        body: Some(Body {
            bytes: None,
            cut: body.cut.clone(),
            digests: body.digests.clone(),
            decoded_digests: body.decoded_digests.clone(),
            conversion: None,
            ..*body
        }),
        ..super::seen(vec![])
    }
}

#[test]
fn a_list_of_choices_is_judged_by_its_bytes_and_its_status() {
    let choices = |sha256| Observation {
        hops: vec![hop(300, &[("content-type", "text/html")])],
        ..body(10, sha256, BodyEnd::Complete)
    };
    assert_state(
        &bytes_promised(),
        &[choices(RIGHT)],
        (State::Ok, None, true),
    );
    let changed = (State::Changed, Some("digest"), true);
    assert_state(
        &bytes_promised(),
        &[choices(WRONG), choices(WRONG)],
        changed,
    );
    let good = Promise {
        status: Some(200),
        ..bytes_promised()
    };
    let changed = (State::Changed, Some("status"), true);
    assert_state(&good, &[choices(RIGHT), choices(RIGHT)], changed);
    let empty = Observation {
        hops: vec![hop(300, &[])],
        ..body(0, WRONG, BodyEnd::Complete)
    };
    let nowhere = (State::Unreachable, Some("redirect-invalid"), false);
    assert_state(&bytes_promised(), &[empty], nowhere);
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

/// The promised bytes, or others, as this type and from this URL.
fn typed(url: &str, content_type: &str, seen: Observation) -> Observation {
    let mut hop = hop(200, &[("content-type", content_type)]);
    url.clone_into(&mut hop.url);
    Observation {
        hops: vec![hop],
        ..seen
    }
}

#[test]
fn a_page_in_place_of_another_type_is_a_doubtful_change() {
    let csv = "http://example.org/a.csv";
    let plain = "http://example.org/a";
    let html = "text/html; charset=utf-8";
    let typed_promise = Promise {
        content_type: Some("text/csv".into()),
        ..bytes_promised()
    };
    let page_promise = Promise {
        content_type: Some("text/html".into()),
        ..bytes_promised()
    };
    let type_only = Promise {
        content_type: Some("text/csv".into()),
        ..Promise::default()
    };
    for (promise, url, content_type, seen, is_sure) in [
        (
            &bytes_promised(),
            csv,
            html,
            bad as fn() -> Observation,
            false,
        ),
        (&bytes_promised(), csv, "application/xhtml+xml", bad, false),
        (&bytes_promised(), csv, "text/csv", bad, true),
        (&bytes_promised(), plain, html, bad, true),
        (&page_promise, csv, html, bad, true),
        (&typed_promise, plain, html, bad, false),
        (&type_only, plain, html, bad, false),
        (&type_only, plain, "text/plain", bad, true),
        // The bytes are there; only their name is wrong.
        (&typed_promise, plain, html, good, true),
    ] {
        let seen = || typed(url, content_type, seen());
        let verdict = verdict_of(promise, &[seen(), seen()]);
        assert_eq!(
            (verdict.state(), verdict.sure),
            (State::Changed, is_sure),
            "{url} {content_type} {}",
            verdict.classification.observed
        );
        let is_told = verdict.classification.observed.contains("an HTML page");
        assert_eq!(is_told, !is_sure, "{}", verdict.classification.observed);
    }
    let later = || Observation {
        hops: vec![hop(202, &[])],
        ..bad()
    };
    let verdict = verdict_of(&bytes_promised(), &[later(), later()]);
    assert_eq!((verdict.state(), verdict.sure), (State::Changed, false));
}

/// The decision about a job without a promise whose bytes are to be promised.
fn probed(seen: &[Observation]) -> Decision {
    let mut job = job(&Promise::default(), "/a");
    job.body = BodyUse::Hash {
        at_most: 100,
        keep: urldb_verdict::Keep::Nothing,
        beyond: 0,
    };
    decide_promise(&job, seen, &policy())
}

#[test]
fn what_becomes_a_promise_is_seen_twice() {
    let again = |decision: &Decision| matches!(decision, Decision::Retry { fresh: true, .. });
    let state = |decision| match decision {
        Decision::Final(verdict) => verdict.state(),
        Decision::Retry { .. } => panic!("no verdict yet"),
    };
    assert!(again(&probed(&[good()])));
    assert_eq!(state(probed(&[good(), good()])), State::Ok);
    assert!(again(&probed(&[good(), status(503)])));
    assert_eq!(
        state(probed(&[good(), status(503), status(503)])),
        State::ServerError
    );
    assert_eq!(state(probed(&[good(), status(503), good()])), State::Ok);

    let promised = |promise: &Promise, seen: &[Observation]| {
        decide_promise(&job(promise, "/a"), seen, &policy())
    };
    assert_eq!(state(promised(&bytes_promised(), &[good()])), State::Ok);
    assert!(again(&promised(&bytes_promised(), &[bad()])));
    assert_eq!(
        state(promised(&bytes_promised(), &[bad(), bad()])),
        State::Changed
    );
    let moved = Promise {
        redirects_to: Some("http://example.org/b".into()),
        ..Promise::default()
    };
    let elsewhere = || seen(vec![redirect(302, "/maintenance"), hop(200, &[])]);
    assert!(again(&promised(&moved, &[elsewhere()])));
    assert_eq!(
        state(promised(&moved, &[elsewhere(), elsewhere()])),
        State::Redirected
    );
    // A request that may change something is sent once.
    let mut post = job(&Promise::default(), "/a");
    Arc::make_mut(&mut post.request).method = "POST".into();
    post.body = BodyUse::Hash {
        at_most: 100,
        keep: urldb_verdict::Keep::Nothing,
        beyond: 0,
    };
    assert_eq!(
        state(decide_promise(&post, &[good()], &policy())),
        State::Ok
    );
}

#[test]
fn what_stands_in_for_content_is_never_promised() {
    let decoded = |decoded| {
        let mut seen = good();
        seen.hops[0]
            .headers
            .push(("content-encoding".into(), b"gzip".to_vec()));
        seen.body.as_mut().unwrap().decoded = Some(decoded);
        seen
    };
    let bytes = promisable(
        &decoded(Decoded::Whole {
            length: 77,
            sha256: [7; 32],
        }),
        &[],
    )
    .unwrap();
    assert_eq!((bytes.length, bytes.sha256), (77, [7; 32]));
    let with_status = |code| Observation {
        hops: vec![hop(code, &[])],
        ..good()
    };
    let mut brotli = good();
    brotli.hops[0]
        .headers
        .push(("content-encoding".into(), b"br".to_vec()));
    let mut head = good();
    head.hops[0].sent.method = "HEAD".into();
    let damaged = |damage| {
        decoded(Decoded::Damaged {
            length: 5,
            sha256: WRONG,
            damage,
        })
    };
    for (seen, expected) in [
        (with_status(202), State::Inconclusive),
        (with_status(203), State::Inconclusive),
        (with_status(204), State::Inconclusive),
        (brotli, State::Unreachable),
        (head, State::Inconclusive),
        (damaged(Damage::Incomplete), State::Truncated),
        (damaged(Damage::Invalid), State::Unreachable),
        (decoded(Decoded::LongerThan(9)), State::Inconclusive),
        (
            typed("http://example.org/a.csv", "text/html", good()),
            State::Inconclusive,
        ),
    ] {
        let classification = promisable(&seen, &[]).unwrap_err();
        assert_eq!(classification.state, expected, "{seen:?}");
    }
    let page = typed("http://example.org/a.html", "text/html", good());
    assert_eq!(promisable(&page, &[]).unwrap().sha256, RIGHT);
}

/// A response to HEAD with these headers.
fn head_answer(headers: &[(&str, &str)]) -> Observation {
    let mut hop = hop(200, headers);
    hop.sent.method = "HEAD".into();
    Observation {
        hops: vec![hop],
        ..body(0, WRONG, BodyEnd::Complete)
    }
}

#[test]
fn a_length_promised_of_head_is_that_of_its_header() {
    let length = Promise {
        sha256: None,
        ..bytes_promised()
    };
    let ten = [("content-length", "10")];
    let eleven = [("content-length", "11")];
    let coded = [("content-length", "11"), ("content-encoding", "gzip")];
    assert_state(&length, &[head_answer(&ten)], (State::Ok, None, true));
    assert_state(
        &length,
        &[head_answer(&eleven), head_answer(&eleven)],
        (State::Changed, Some("length"), true),
    );
    let unknown = (State::Inconclusive, Some("not-read"), false);
    assert_state(&length, &[head_answer(&[])], unknown);
    assert_state(&length, &[head_answer(&coded)], unknown);
    assert_state(&bytes_promised(), &[head_answer(&ten)], unknown);
}

#[test]
fn a_conditional_answer_that_does_not_fit_leads_to_a_full_read() {
    let conditional = |code, etag: &str| {
        let mut hop = hop(code, &[("etag", etag)]);
        hop.sent.is_conditional = true;
        hop.sent.headers = vec![("if-none-match".into(), b"W/\"one\"".to_vec())];
        seen(vec![hop])
    };
    for same in ["\"one\"", "W/\"one\""] {
        let verdict = verdict_of(&bytes_promised(), &[conditional(304, same)]);
        assert_eq!(verdict.state(), State::Ok);
    }
    retry_wait(&bytes_promised(), &[conditional(304, "\"two\"")]);
    retry_wait(&bytes_promised(), &[conditional(412, "\"two\"")]);
    assert_state(
        &bytes_promised(),
        &[conditional(304, "\"two\""), good()],
        (State::Ok, None, true),
    );
    // Without a condition of ours, 412 is an answer like any other.
    let verdict = verdict_of(&bytes_promised(), &[status(412)]);
    assert_eq!(verdict.state(), State::ClientError);
}

#[test]
fn what_can_be_promised_stands_at_the_end_of_the_chain_and_is_whole() {
    let after = |first: Hop, mut end: Observation| {
        end.hops.insert(0, first);
        end
    };
    let moved = || redirect(302, "/b");
    // The coding of the redirect's own page does not matter.
    let coded = hop(302, &[("location", "/b"), ("content-encoding", "x-y")]);
    for seen in [good(), after(moved(), good()), after(coded, good())] {
        assert_eq!(promisable(&seen, &[]).unwrap().sha256, RIGHT);
    }
    let gone = Observation {
        hops: vec![moved(), hop(404, &[])],
        ..good()
    };
    let choices = Observation {
        hops: vec![moved(), hop(300, &[])],
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
        (choices, (State::Inconclusive, None)),
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

/// A record promises the first redirect of several.
#[test]
fn the_redirect_that_can_be_promised_is_that_of_the_url_itself() {
    let through = |hops: Vec<Hop>| {
        let hops = hops.into_iter().chain(good().hops).collect();
        promisable_redirect(&Observation { hops, ..good() }, &[])
    };
    assert_eq!(through(vec![]).unwrap(), None);
    let found = through(vec![redirect(301, "/b"), redirect(302, "/c")]).unwrap();
    let found = found.map(|it| (it.status, it.target));
    assert_eq!(found, Some((301, "http://example.org/b".to_owned())));
    assert!(through(vec![redirect(301, "http://user:word@example.org/b")]).is_err());
}

/// The fetcher follows no redirect that keeps the promise alone.
#[test]
fn a_redirect_keeps_a_promise_alone_if_nothing_is_promised_of_its_target() {
    let alone = Promise {
        redirects_to: Some("http://example.org/b".to_owned()),
        status: Some(302),
        ..Promise::default()
    };
    let first = redirect(302, "/b");
    assert!(alone.is_kept_by_redirect(&first));
    assert!(!Promise::default().is_kept_by_redirect(&first));
    assert!(!alone.is_kept_by_redirect(&redirect(301, "/b")));
    assert!(!alone.is_kept_by_redirect(&redirect(302, "/c")));
    for promise in [
        Promise {
            redirect_status: Some(301),
            ..alone.clone()
        },
        Promise {
            sha256: Some(RIGHT),
            ..alone.clone()
        },
        Promise {
            content_type: Some("text/csv".to_owned()),
            ..alone.clone()
        },
    ] {
        assert!(!promise.is_kept_by_redirect(&first), "{promise:?}");
    }
}
