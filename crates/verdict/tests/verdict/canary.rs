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

/// A URL of this host without promised bytes, which answers with these bytes.
fn unpromised(host: &str, seen: impl Fn() -> Observation) -> JudgedJob {
    let mut job = job(&Promise::default(), "/any");
    host.clone_into(&mut job.key.domain);
    job.url = RequestUrl::new(Scheme::Http, host, "/any").unwrap();
    let observations = vec![seen()];
    let Decision::Final(verdict) = decide(&job, &observations, &policy()) else {
        panic!("no verdict yet");
    };
    assert_eq!(verdict.state(), State::Ok);
    JudgedJob {
        job,
        observations,
        verdict,
    }
}

/// The same page where no body was read.
fn portal_start() -> Observation {
    Observation {
        body: None,
        ..portal()
    }
}

#[test]
fn a_page_in_place_of_promised_bytes_is_no_good_answer_of_other_urls() {
    for is_static_first in [true, false] {
        let mut canary = Canary::new(true);
        let mut jobs = vec![
            answered("a.example", portal),
            unpromised("www.b.example", portal_start),
            unpromised("data.b.example", portal),
            unpromised("c.example", portal_start),
        ];
        if !is_static_first {
            jobs.reverse();
        }
        for judged in jobs {
            assert!(canary.pass(judged).is_empty());
        }
        // Another page is not doubted.
        let other = || Observation {
            start: b"<title>My own page</title>".to_vec(),
            ..portal_start()
        };
        assert!(canary.pass(unpromised("d.example", other)).is_empty());
        let end = canary.end();
        assert_eq!(end.len(), 5);
        for JudgedJob { job, verdict, .. } in end {
            if job.key.domain == "d.example" {
                assert_eq!(verdict.state(), State::Ok);
                continue;
            }
            assert_eq!(verdict.state(), State::Inconclusive);
            assert_eq!(reason_of(&verdict.classification), Some("own-network"));
            let observed = &verdict.classification.observed;
            assert!(observed.contains("hosts of 3 domains"), "{observed}");
            // What is believed of a URL without promised bytes stays; the change is a doubt.
            let believed = UrlStatus::after(None, &verdict, at(1), &policy()).0;
            assert_eq!(believed.state, State::Ok);
            assert_eq!(believed.pending.is_some(), job.promise.is_static());
        }
    }
}

/// Default pages, empty bodies and favicons are the same in many places.
#[test]
fn good_answers_are_not_doubted_without_a_page_in_place_of_promised_bytes() {
    let empty = || body(0, [7; 32], BodyEnd::Complete);
    let icon = || body(9, [8; 32], BodyEnd::Complete);
    let pages: [fn() -> Observation; 3] = [portal_start, empty, icon];
    let other = || Observation {
        start: b"<title>Another page</title>".to_vec(),
        ..bad()
    };
    let hosts = ["a.example", "b.example", "c.example", "d.example"];
    let released = |judged: Vec<JudgedJob>| {
        judged
            .iter()
            .filter(|one| one.verdict.state() == State::Ok)
            .count()
    };
    for page in pages {
        // Without any static URL, and with one that got another page.
        for with_static in [false, true] {
            let mut canary = Canary::new(true);
            let mut good = 0;
            for host in hosts {
                good += released(canary.pass(unpromised(host, page)));
            }
            if with_static {
                assert!(canary.pass(answered("e.example", other)).is_empty());
            }
            good += released(canary.end());
            assert_eq!(good, hosts.len());
        }
        // With a static URL of its promised bytes, although another one got this page.
        let mut canary = Canary::new(true);
        let mut good = 0;
        for host in hosts {
            good += released(canary.pass(unpromised(host, page)));
        }
        canary.pass(answered("e.example", page));
        good += released(canary.pass(answered("f.example", self::good)));
        assert_eq!(good, hosts.len() + 1);
        assert!(canary.end().is_empty());
    }
    // Two domains are no network.
    let mut canary = Canary::new(true);
    canary.pass(unpromised("a.example", portal_start));
    canary.pass(answered("b.example", portal));
    let states: Vec<State> = canary.end().iter().map(|one| one.verdict.state()).collect();
    assert_eq!(states, [State::Changed, State::Ok]);
}

#[test]
fn good_answers_are_held_in_bounds() {
    let mut canary = Canary::new(true);
    for number in 0..1000 {
        let host = format!("h{number}.example");
        assert!(canary.pass(unpromised(&host, portal_start)).is_empty());
    }
    assert_eq!(
        canary.pass(unpromised("last.example", portal_start)).len(),
        1
    );
    let large = || body(100_000, [9; 32], BodyEnd::Complete);
    assert_eq!(canary.end().len(), 1000);
    let mut canary = Canary::new(true);
    assert_eq!(canary.pass(unpromised("a.example", large)).len(), 1);
    // A run without static URLs waits for none.
    let mut canary = Canary::default();
    assert_eq!(canary.pass(unpromised("a.example", portal_start)).len(), 1);
}
