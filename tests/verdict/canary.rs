//! When nobody at all answers.

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "so that it reads as a list")]
fn at_host(host: &str, seen: Observation) -> JudgedJob {
    let mut job = job(&Promise::default(), "/a");
    host.clone_into(&mut job.key.domain);
    job.url = RequestUrl::new(Scheme::Http, host, "/a").unwrap();
    let seen: Vec<_> = std::iter::repeat_with(|| clone(&seen)).take(3).collect();
    let Decision::Final(verdict) = decide(&job, &seen, &policy()) else {
        panic!("no verdict yet");
    };
    JudgedJob {
        job,
        observations: seen,
        verdict,
    }
}

/// An observation without a body.
fn clone(seen: &Observation) -> Observation {
    Observation {
        hops: seen.hops.clone(),
        failure: seen.failure.clone(),
        ..super::seen(vec![])
    }
}

fn states(judged: &[JudgedJob]) -> Vec<(&str, State, Option<&str>)> {
    let states = judged.iter();
    states
        .map(|JudgedJob { job, verdict, .. }| {
            (
                job.url.as_str(),
                verdict.state(),
                reason_of(&verdict.classification),
            )
        })
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
    for JudgedJob { verdict, .. } in end {
        let Verdict {
            classification,
            sure,
            ..
        } = verdict;
        assert_eq!(classification.state, State::Inconclusive);
        assert_eq!(reason_of(&classification), Some("own-network"));
        assert!(
            !sure && classification.observed.contains("because"),
            "{classification:?}"
        );
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
            .all(|judged| judged.verdict.state() == State::Unreachable)
    );
}

/// A static URL of this host, which answers with these bytes.
fn answered(host: &str, seen: impl Fn() -> Observation) -> JudgedJob {
    let mut job = job(&bytes_promised(), "/a");
    host.clone_into(&mut job.key.domain);
    job.url = RequestUrl::new(Scheme::Http, host, "/a").unwrap();
    let mut observations = vec![];
    loop {
        observations.push(seen());
        if let Decision::Final(verdict) = decide(&job, &observations, &policy()) {
            return JudgedJob {
                job,
                observations,
                verdict,
            };
        }
    }
}

/// The same wrong page of any host.
fn portal() -> Observation {
    Observation {
        start: b"<title>Please log in</title>".to_vec(),
        ..bad()
    }
}

#[test]
fn the_same_wrong_page_of_many_domains_may_be_ours() {
    let mut canary = Canary::default();
    let hosts = ["a.example", "www.b.example", "data.c.example", "c.example"];
    for host in hosts {
        assert!(canary.pass(answered(host, portal)).is_empty(), "{host}");
    }
    // Longer than promised, and so not read to its end.
    let cut = || Observation {
        start: portal().start,
        ..body(11, [9; 32], BodyEnd::Cut)
    };
    assert!(canary.pass(answered("d.example", cut)).is_empty());
    // Errors pass, and prove nothing.
    assert_eq!(canary.pass(answered("e.example", || status(500))).len(), 1);
    let end = canary.end();
    assert_eq!(end.len(), 5);
    for JudgedJob { verdict, .. } in end {
        assert_eq!(verdict.state(), State::Inconclusive);
        assert_eq!(reason_of(&verdict.classification), Some("own-network"));
        let observed = &verdict.classification.observed;
        assert!(observed.contains("hosts of 4 domains"), "{observed}");
        assert_eq!(verdict.masked().unwrap().state, State::Changed);
    }
}

#[test]
fn one_url_as_promised_shows_that_our_network_works() {
    let mut canary = Canary::default();
    for host in ["a.example", "b.example", "c.example"] {
        assert!(canary.pass(answered(host, portal)).is_empty());
    }
    let released = canary.pass(answered("d.example", good));
    assert_eq!(released.len(), 4);
    let changed = released.iter();
    let changed = changed.filter(|one| one.verdict.state() == State::Changed && one.verdict.sure);
    assert_eq!(changed.count(), 3);
    assert_eq!(canary.pass(answered("e.example", portal)).len(), 1);
    assert!(canary.end().is_empty());
}

#[test]
fn a_wrong_page_of_two_domains_is_theirs_and_so_are_different_pages() {
    let other = || Observation {
        start: b"<title>Another page</title>".to_vec(),
        ..bad()
    };
    let mut canary = Canary::default();
    for host in ["a.example", "www.a.example", "b.example"] {
        assert!(canary.pass(answered(host, portal)).is_empty());
    }
    assert!(canary.pass(answered("c.example", other)).is_empty());
    let end = canary.end();
    assert_eq!(end.len(), 4);
    assert!(end.iter().all(|one| one.verdict.state() == State::Changed));
    assert!(end.iter().all(|one| one.verdict.sure));
}

#[test]
fn wrong_answers_are_held_in_bounds() {
    let mut canary = Canary::default();
    for number in 0..1000 {
        assert!(
            canary.pass(answered("a.example", portal)).is_empty(),
            "{number}"
        );
    }
    let passed = canary.pass(answered("b.example", portal));
    let states: Vec<_> = passed
        .iter()
        .map(|one| (one.verdict.state(), one.verdict.sure))
        .collect();
    assert_eq!(states, [(State::Changed, false)], "later runs confirm it");
    assert_eq!(canary.end().len(), 1000);
}

#[test]
fn a_page_that_stays_is_news_when_confirmed() {
    let masked = || {
        let mut canary = Canary::default();
        for host in ["a.example", "b.example", "c.example"] {
            assert!(canary.pass(answered(host, portal)).is_empty());
        }
        canary.end().remove(0).verdict
    };
    let (first, transition) = UrlStatus::after(None, &masked(), at(100), &policy());
    assert_eq!((first.state, transition), (State::Ok, None));
    assert_eq!(first.pending.as_ref().unwrap().state, State::Changed);
    let (second, transition) = UrlStatus::after(Some(&first), &masked(), at(200), &policy());
    assert_eq!(second.state, State::Changed);
    assert_eq!(second.since, at(100));
    assert_eq!(second.reason.as_deref(), Some("digest"));
    assert_eq!(transition.unwrap().to, State::Changed);
    let (third, transition) = UrlStatus::after(Some(&second), &masked(), at(300), &policy());
    assert_eq!((third, transition), (second, None));
}
