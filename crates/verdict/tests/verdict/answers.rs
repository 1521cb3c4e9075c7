//! Answers at the end of a chain: gone, redirected, of another type.

use super::*;

#[test]
fn gone_needs_every_attempt() {
    for code in [404, 410] {
        retry_wait(&Promise::default(), &[status(code), status(code)]);
        let verdict = verdict_of(
            &Promise::default(),
            &[status(code), status(code), status(code)],
        );
        assert_eq!((verdict.state(), verdict.sure), (State::Gone, true));
    }
    let mixed = verdict_of(
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
    // The first of several targets counts.
    let first = || hop(301, &[("location", "/b"), ("location", "/c")]);
    let to_b = || seen(vec![first(), hop(200, &[])]);
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
    let gone = verdict_of(&named, &[status(404), status(404), status(404)]);
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
    // An HTML page in place of another type may be a login page.
    assert_state(
        &plain,
        &[chain(), chain()],
        (State::Changed, Some("content-type"), false),
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
fn a_content_type_that_a_proxy_joined_is_that_of_each_line() {
    let served = |lines: &[&str]| {
        let lines: Vec<_> = lines.iter().map(|line| ("content-type", *line)).collect();
        seen(vec![hop(200, &lines)])
    };
    let promise = |content_type: &str| Promise {
        content_type: Some(content_type.into()),
        ..Promise::default()
    };
    let quoted = "text/csv; profile=\"a,b; \\\"c, text/html\"";
    for (promised, lines) in [
        ("text/csv", &["text/csv, text/csv"] as &[&str]),
        ("text/csv", &["text/csv", "text/csv,text/csv"]),
        ("text/csv", &["text/csv, TEXT/CSV; charset=utf-8,"]),
        ("text/csv", &[quoted]),
        (quoted, &[quoted, quoted]),
    ] {
        let wanted = (State::Ok, None, true);
        assert_state(&promise(promised), &[served(lines)], wanted);
    }
    for lines in [
        &["text/csv, text/plain"] as &[&str],
        &["text/csv", "text/csv, text/plain"],
        &["text/csv text/csv"],
    ] {
        let twice = [served(lines), served(lines)];
        let wanted = (State::Changed, Some("content-type"), true);
        assert_state(&promise("text/csv"), &twice, wanted);
    }
    // An HTML page in place of another type is doubtful, joined or not.
    let twice = || served(&["text/html, text/html"]);
    let wanted = (State::Changed, Some("content-type"), false);
    assert_state(&promise("text/csv"), &[twice(), twice()], wanted);
}

#[test]
fn a_redirect_to_an_error_is_a_warning_unless_bytes_are_promised() {
    let chain = || seen(vec![redirect(301, "/b"), hop(404, &[])]);
    let verdict = verdict_of(&Promise::default(), &[chain()]);
    assert_eq!(
        (verdict.state(), verdict.classification.warning),
        (State::Ok, Some(Warning::RedirectToBroken))
    );
    let verdict = verdict_of(&bytes_promised(), &[chain(), chain(), chain()]);
    assert_eq!((verdict.state(), verdict.sure), (State::Gone, true));

    let refused = Observation {
        hops: vec![redirect(301, "http://other.example/")],
        ..failed(FailureKind::Refused)
    };
    let verdict = verdict_of(&Promise::default(), &[refused]);
    assert_eq!(
        verdict.classification.warning,
        Some(Warning::RedirectToBroken)
    );
}
