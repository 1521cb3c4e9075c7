//! Failures of our own network.

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

/// The jobs of a run after its end. Says for each whether it was settled at once.
fn settled(mut facts: NetworkFacts, jobs: Vec<JudgedJob>) -> Vec<(bool, JudgedJob)> {
    let noted: Vec<(bool, JudgedJob)> = jobs
        .into_iter()
        .map(|judged| (facts.note(&judged), judged))
        .collect();
    let end = noted.into_iter().map(|(at_once, mut judged)| {
        if !at_once {
            let before = (judged.verdict.state(), judged.verdict.sure);
            let is_ours = facts.settle(&mut judged);
            let reason = judged.verdict.classification.reason;
            assert_eq!(is_ours, reason == Some(Reason::OwnNetwork));
            assert!(before.1 || !judged.verdict.sure, "never more certain");
            assert!(before.0 == State::Ok || judged.verdict.state() != State::Ok);
        }
        (at_once, judged)
    });
    end.collect()
}

/// The end of a run in which static URLs are fetched over http.
fn verdicts(jobs: Vec<JudgedJob>) -> Vec<Verdict> {
    let settled = settled(NetworkFacts::new(true, false), jobs);
    settled
        .into_iter()
        .map(|(_, judged)| judged.verdict)
        .collect()
}

fn is_ours(verdict: &Verdict) -> bool {
    verdict.classification.reason == Some(Reason::OwnNetwork)
}

#[test]
fn when_nobody_answers_it_may_be_us() {
    let silent = [
        FailureKind::Dns,
        FailureKind::Connect,
        FailureKind::Disconnected,
        FailureKind::Timeout,
        FailureKind::Tls,
        FailureKind::TlsUntrusted,
        FailureKind::TlsWrongHost,
    ];
    let jobs = silent.into_iter().enumerate();
    let mut jobs: Vec<_> = jobs
        .map(|(number, kind)| at_host(&format!("{number}.example"), failed(kind)))
        .collect();
    jobs.push(at_host("refused.example", failed(FailureKind::Refused)));
    let mut end = verdicts(jobs);
    assert!(!is_ours(&end.pop().unwrap()), "it was not asked");
    for verdict in end {
        assert_eq!(verdict.state(), State::Inconclusive);
        let observed = &verdict.classification.observed;
        assert!(is_ours(&verdict) && !verdict.sure && observed.contains("because"));
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
        let silent = |host| at_host(host, failed(FailureKind::Dns));
        let jobs = vec![
            silent("a.example"),
            silent("b.example"),
            at_host("c.example", answer),
            silent("d.example"),
        ];
        for verdict in verdicts(jobs) {
            assert!(!is_ours(&verdict), "{verdict:?}");
        }
    }
}

/// 511 is the demand of a network for a login (RFC 6585, 6), and no answer of a host.
#[test]
fn a_network_that_demands_a_login_is_ours() {
    let demands = |host: &str| at_host(host, status(511));
    let demanded = verdicts(vec![demands("a.test"), demands("b.test")]);
    assert!(demanded.iter().all(is_ours));
    // Hosts over https do not answer then.
    let silent = at_host("c.test", failed(FailureKind::Timeout));
    let all = verdicts(vec![demands("a.test"), demands("b.test"), silent]);
    assert!(all.iter().all(is_ours));
    // A single host, and an answer of another one.
    for (others, status) in [(vec![], 511), (vec![at_host("b.test", status(200))], 511)] {
        let mut jobs = vec![at_host("a.test", self::status(status))];
        jobs.extend(others);
        let verdicts = verdicts(jobs);
        assert_eq!(verdicts[0].state(), State::ServerError);
    }
    // Over https it is an answer of the host.
    let mut secure = demands("d.test");
    secure.observations[0].hops[0].url = "https://d.test/a".into();
    let verdicts = verdicts(vec![demands("a.test"), demands("b.test"), secure]);
    assert!(!verdicts.iter().any(is_ours));
}

#[test]
fn of_a_single_host_nobody_can_tell() {
    let silent = || at_host("a.example", failed(FailureKind::Connect));
    for verdict in verdicts(vec![silent(), silent(), silent()]) {
        assert_eq!(verdict.state(), State::Unreachable);
    }
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

/// Longer than promised, and so not read to its end.
fn cut_portal() -> Observation {
    Observation {
        start: portal().start,
        ..body(11, [9; 32], BodyEnd::Cut)
    }
}

#[test]
fn the_same_wrong_page_of_many_domains_may_be_ours() {
    let jobs = vec![
        answered("a.example", portal),
        answered("www.b.example", portal),
        answered("data.c.example", portal),
        answered("c.example", portal),
        answered("d.example", cut_portal),
        // Errors prove nothing.
        answered("e.example", || status(500)),
    ];
    let mut end = verdicts(jobs);
    assert_eq!(end.pop().unwrap().state(), State::ServerError);
    for verdict in end {
        assert_eq!(verdict.state(), State::Inconclusive);
        assert!(is_ours(&verdict));
        let observed = &verdict.classification.observed;
        assert!(observed.contains("hosts of 4 domains"), "{observed}");
        assert_eq!(verdict.masked().unwrap().state, State::Changed);
    }
}

#[test]
fn one_url_as_promised_shows_that_our_network_works() {
    let jobs = vec![
        answered("a.example", portal),
        answered("b.example", portal),
        answered("c.example", portal),
        answered("d.example", good),
        answered("e.example", portal),
    ];
    let end = verdicts(jobs);
    let changed = end
        .iter()
        .filter(|one| one.state() == State::Changed && one.sure);
    assert_eq!(changed.count(), 4);
}

/// Only a device whose certificates this machine trusts answers for an https URL.
#[test]
fn an_answer_over_https_is_of_the_host() {
    for (trusts_more, expected) in [(false, State::Changed), (true, State::Inconclusive)] {
        let hosts = ["a.example", "b.example", "c.example"];
        let jobs = hosts.map(|host| {
            let mut judged = answered(host, portal);
            judged.job.key.scheme = Scheme::Https;
            judged
        });
        let end = settled(NetworkFacts::new(true, trusts_more), jobs.into());
        for (_, judged) in end {
            assert_eq!(judged.verdict.state(), expected);
        }
    }
}

#[test]
fn a_wrong_page_of_two_domains_is_theirs_and_so_are_different_pages() {
    let other = || Observation {
        start: b"<title>Another page</title>".to_vec(),
        ..bad()
    };
    let jobs = vec![
        answered("a.example", portal),
        answered("www.a.example", portal),
        answered("b.example", portal),
        answered("c.example", other),
    ];
    for verdict in verdicts(jobs) {
        assert!(verdict.state() == State::Changed && verdict.sure);
    }
}

#[test]
fn wrong_pages_are_counted_in_bounds() {
    let page = |number: u32| {
        move || Observation {
            start: format!("page {number}").into_bytes(),
            ..bad()
        }
    };
    let mut facts = NetworkFacts::new(true, false);
    for number in 0..20_000 {
        assert!(!facts.note(&answered("a.example", page(number))));
    }
    let mut last = answered("b.example", page(20_000));
    facts.note(&last);
    assert!(!facts.settle(&mut last));
    assert_eq!(
        (last.verdict.state(), last.verdict.sure),
        (State::Changed, false)
    );
}

#[test]
fn a_page_that_stays_is_news_when_confirmed() {
    let masked = || {
        let hosts = ["a.example", "b.example", "c.example"];
        verdicts(hosts.map(|host| answered(host, portal)).into()).remove(0)
    };
    let (first, transition) = step(None, &masked(), at(100));
    assert_eq!((first.state, transition), (State::Ok, None));
    assert_eq!(first.pending.as_ref().unwrap().state, State::Changed);
    let (second, transition) = step(Some(&first), &masked(), at(200));
    assert_eq!(second.state, State::Changed);
    assert_eq!(second.since, at(100));
    assert_eq!(second.reason.as_deref(), Some("digest"));
    assert_eq!(transition, Some(State::Changed));
    let (third, transition) = step(Some(&second), &masked(), at(300));
    assert_eq!((third, transition), (second, None));
}

/// A resolver that invents an address for names that do not exist leads to one page for all hosts.
#[test]
fn a_parking_page_of_many_domains_may_be_ours() {
    let parked = || Observation {
        hops: vec![hop(200, &[("content-type", "text/html")])],
        start: b"<html data-adblockkey=\"x\">".to_vec(),
        ..bad()
    };
    let judged = |domains: &[&str]| {
        let jobs = domains.iter().map(|host| answered(host, parked));
        verdicts(jobs.collect()).remove(0)
    };
    let few = judged(&["a.example", "b.example"]);
    assert_eq!((few.state(), few.sure), (State::Gone, false));
    let many = judged(&["a.example", "b.example", "c.example"]);
    assert_eq!(reason_of(&many.classification), Some("own-network"));
    let (first, transition) = step(None, &many, at(100));
    assert_eq!((first.state, transition), (State::Ok, None));
    let (second, _) = step(Some(&first), &many, at(200));
    assert_eq!(
        (second.state, second.reason.as_deref()),
        (State::Gone, Some("parked"))
    );
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
    let other = || Observation {
        start: b"<title>My own page</title>".to_vec(),
        ..portal_start()
    };
    for is_static_first in [true, false] {
        let mut jobs = vec![
            answered("a.example", portal),
            unpromised("www.b.example", portal_start),
            unpromised("data.b.example", portal),
            unpromised("c.example", portal_start),
        ];
        if !is_static_first {
            jobs.reverse();
        }
        // Another page is not doubted.
        jobs.push(unpromised("d.example", other));
        let mut end = settled(NetworkFacts::new(true, false), jobs);
        assert!(end.iter().all(|(at_once, _)| !at_once));
        assert_eq!(end.pop().unwrap().1.verdict.state(), State::Ok);
        for (_, JudgedJob { job, verdict, .. }) in end {
            assert!(is_ours(&verdict));
            let observed = &verdict.classification.observed;
            assert!(observed.contains("hosts of 3 domains"), "{observed}");
            // The state of a URL without promised bytes stays; the change is a doubt.
            let believed = step(None, &verdict, at(1)).0;
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
    for page in pages {
        let jobs = || -> Vec<JudgedJob> { hosts.map(|host| unpromised(host, page)).into() };
        // Without any static URL, with one that got another page, and with one of its promised bytes, although
        // another one got this page.
        let with = |more: Vec<JudgedJob>| [jobs(), more].into_iter().flatten().collect();
        for jobs in [
            jobs(),
            with(vec![answered("e.example", other)]),
            with(vec![
                answered("e.example", page),
                answered("f.example", good),
            ]),
        ] {
            let end = verdicts(jobs);
            assert!(end[..4].iter().all(|one| one.state() == State::Ok));
        }
    }
    // Two domains are no network.
    let two = vec![
        unpromised("a.example", portal_start),
        answered("b.example", portal),
    ];
    let states: Vec<State> = verdicts(two).iter().map(Verdict::state).collect();
    assert_eq!(states, [State::Ok, State::Changed]);
}

#[test]
fn good_answers_wait_in_bounds() {
    let mut facts = NetworkFacts::new(true, false);
    for number in 0..1000 {
        assert!(!facts.note(&unpromised(&format!("h{number}.example"), portal_start)));
    }
    assert!(facts.note(&unpromised("last.example", portal_start)));
    let large = || body(100_000, [9; 32], BodyEnd::Complete);
    let mut facts = NetworkFacts::new(true, false);
    assert!(facts.note(&unpromised("a.example", large)));
    // A run without static URLs waits for none.
    let mut facts = NetworkFacts::new(false, false);
    assert!(facts.note(&unpromised("a.example", portal_start)));
}
