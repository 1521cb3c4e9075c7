//! When nobody at all answers.

use super::*;

#[expect(clippy::needless_pass_by_value, reason = "so that it reads as a list")]
fn at_host(host: &str, seen: Observation) -> JudgedJob {
    let mut job = job(&Promise::default(), "/a");
    host.clone_into(&mut job.key.domain);
    job.url = format!("http://{host}/a");
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
                &*job.url,
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
