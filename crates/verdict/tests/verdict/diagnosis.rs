//! Facts behind the failures of one host.

use proptest::prelude::*;
use urldb_protocol::ExplanationKind;
use urldb_verdict::diagnosis::{
    Explained, HostFacts, HostProbes, HostVotes, ProbePlan, decide_probe,
};

use super::*;

/// A URL with promised bytes of its own, judged by the answers to its requests, of which the last one is repeated.
fn url(path: &str, answers: &[&dyn Fn() -> Observation]) -> JudgedJob {
    let mut digest = [0; 32];
    for (byte, known) in digest.iter_mut().zip(path.bytes().rev()) {
        *byte = known;
    }
    let promise = Promise {
        length: Some(10),
        sha256: Some(digest),
        ..Promise::default()
    };
    let job = job(&promise, path);
    let mut observations = vec![];
    loop {
        let answer = answers.get(observations.len()).or(answers.last()).unwrap();
        let mut seen = answer();
        if let Some(body) = seen.body.as_mut().filter(|body| body.sha256 == RIGHT) {
            body.sha256 = digest;
        }
        observations.push(seen);
        if let Decision::Final(verdict) = decide(&job, &observations, &policy()) {
            return JudgedJob {
                job,
                observations,
                verdict,
            };
        }
    }
}

fn json(text: &'static str) -> impl Fn() -> Observation {
    move || Observation {
        hops: vec![hop(200, &[("content-type", "application/json")])],
        start: text.into(),
        ..body(text.len() as u64, WRONG, BodyEnd::Complete)
    }
}

fn dated(number: u8, date: &'static str) -> impl Fn() -> Observation {
    move || Observation {
        hops: vec![hop(
            200,
            &[("content-type", "text/csv"), ("last-modified", date)],
        )],
        ..body(12, [number; 32], BodyEnd::Complete)
    }
}

fn explain(jobs: &[JudgedJob], probes: &HostProbes, last_run: Option<Timestamp>) -> Explained {
    let mut votes = HostVotes::default();
    for judged in jobs {
        votes.note(judged);
    }
    let mut facts = HostFacts::new(votes);
    for judged in jobs {
        facts.note(judged);
    }
    facts.explain("example.org", probes, last_run)
}

/// The explanations of these jobs, and after a semicolon the reason and the certainty of each.
fn shown(mut jobs: Vec<JudgedJob>, probes: &HostProbes, last_run: Option<Timestamp>) -> String {
    let explained = explain(&jobs, probes, last_run);
    for judged in &mut jobs {
        explained.settle(judged);
    }
    let kinds = explained.all().map(|found| {
        let (kind, sentence) = (found.kind.as_str(), found.sentence.as_str());
        format!("{kind} {} of {}: {sentence}", found.urls, found.of)
    });
    let kinds: Vec<String> = kinds.collect();
    let verdicts = jobs.iter().map(|JudgedJob { verdict, .. }| {
        let reason = reason_of(&verdict.classification).unwrap_or("-");
        let sure = if verdict.sure { "" } else { "?" };
        let kind = verdict.explanation.as_ref().map(|it| it.kind.as_str());
        format!("{reason}{sure} {}", kind.unwrap_or("-"))
    });
    let mut verdicts: Vec<String> = verdicts.collect();
    verdicts.dedup();
    format!("{}; {}", kinds.join(", "), verdicts.join(", "))
}

const PATHS: [&str; 4] = ["/d/a.csv", "/d/b.csv", "/d/c.csv", "/e.csv"];

fn all(answer: &dyn Fn() -> Observation) -> Vec<JudgedJob> {
    PATHS.iter().map(|path| url(path, &[answer])).collect()
}

#[test]
fn one_content_under_many_urls_is_no_edit() {
    let none = HostProbes::default();
    let error = json(r#"{"error":"internal","at":"1732"}"#);
    assert_eq!(
        shown(all(&error), &none, None),
        "same-content 4 of 4: 4 URLs answer with one content; same-content? same-content"
    );
    // Two of them are too few, unless a path that does not exist answers so too.
    let two = || vec![url("/a.csv", &[&error]), url("/b.csv", &[&error])];
    assert_eq!(shown(two(), &none, None), "; length -");
    let sibling = beside(&error);
    let mut probes = HostProbes::default();
    probes.add(&sibling);
    assert_eq!(
        shown(two(), &probes, None),
        "same-content 2 of 2: 2 URLs answer with one content, and so does a path that does not exist; \
         same-content? same-content"
    );
    // A host that serves the promised bytes to some requests has not lost them.
    probes.add(&url("/a.csv", &[&good]));
    assert_eq!(
        shown(two(), &probes, None),
        "two-versions 2 of 2: serves two versions in turn: 1 of 5 requests got the promised bytes; \
         unstable? two-versions"
    );
    // A 404 for it proves nothing, and the home page may have changed.
    let mut probes = HostProbes::default();
    probes.add(&beside(&|| status(404)));
    assert_eq!(shown(two(), &probes, None), "; length -");
    let mut probes = HostProbes::default();
    probes.add(&sibling);
    let home = || vec![url("/index.html", &[&error])];
    assert_eq!(shown(home(), &probes, None), "; length -");
    // Empty bodies are no content that URLs share.
    let empty = || body(0, WRONG, BodyEnd::Complete);
    assert_eq!(shown(all(&empty), &none, None), "; length -");
}

#[test]
fn a_host_that_serves_two_versions_has_no_certain_change() {
    let none = HostProbes::default();
    let old = || body(10, [9; 32], BodyEnd::Complete);
    let old2 = || body(10, [8; 32], BodyEnd::Complete);
    let jobs = || {
        vec![
            url("/a.csv", &[&old]),
            url("/b.csv", &[&old2, &good, &good]),
            url("/c.csv", &[&good]),
        ]
    };
    assert_eq!(
        shown(jobs(), &none, None),
        "two-versions 1 of 3: serves two versions in turn: 2 of 5 requests got the promised bytes; \
         unstable? two-versions, - -"
    );
    // At the second look.
    let mut probes = HostProbes::default();
    probes.add(&url("/a.csv", &[&good]));
    assert_eq!(
        shown(vec![url("/a.csv", &[&old])], &probes, None),
        "two-versions 1 of 1: serves two versions in turn: 1 of 3 requests got the promised bytes; \
         unstable? two-versions"
    );
    let mut probes = HostProbes::default();
    probes.add(&url("/a.csv", &[&old]));
    assert_eq!(
        shown(vec![url("/a.csv", &[&old])], &probes, None),
        "; digest -"
    );
    // One URL of ten with both contents is too few.
    let mut many: Vec<JudgedJob> = (0..9).map(|_| url("/a.csv", &[&old])).collect();
    many.push(url("/b.csv", &[&old2, &good, &good]));
    assert_eq!(shown(many, &none, None), "; digest -, - -");
}

#[test]
fn files_of_one_hour_after_the_last_run_were_replaced() {
    let none = HostProbes::default();
    let jobs = |dates: [&'static str; 3]| -> Vec<JudgedJob> {
        let numbered = (1..).zip(PATHS).zip(dates);
        let jobs = numbered.map(|((number, path), date)| url(path, &[&dated(number, date)]));
        jobs.collect()
    };
    let day = |time: &str| Some(time.parse().unwrap());
    let one = [
        "Fri, 20 Nov 2026 14:02:10 GMT",
        "Fri, 20 Nov 2026 14:30:10 GMT",
        "Fri, 20 Nov 2026 14:05:00 GMT",
    ];
    let last_run = day("2026-11-20T04:17:00Z");
    assert_eq!(
        shown(jobs(one), &none, last_run),
        "replaced 3 of 3: 3 of 3 files were replaced between 2026-11-20 14:02 and 2026-11-20 14:31 UTC; \
         length replaced"
    );
    for last_run in [None, day("2026-11-20T14:03:00Z")] {
        assert_eq!(shown(jobs(one), &none, last_run), "; length -");
    }
    let apart = [one[0], one[1], "Fri, 20 Nov 2026 15:03:00 GMT"];
    assert_eq!(shown(jobs(apart), &none, last_run), "; length -");
    // Each file has content of its own, and they are most of what fails.
    let same = PATHS[..3].iter().zip(one);
    let same = same.map(|(path, date)| url(path, &[&dated(u8::from(*path == PATHS[2]), date)]));
    assert_eq!(shown(same.collect(), &none, last_run), "; length -");
    let gone = ["/1", "/2", "/3", "/4"].map(|path| url(path, &[&|| status(404)]));
    let few = jobs(one).into_iter().chain(gone);
    assert_eq!(shown(few.collect(), &none, last_run), "; length -, - -");
}

#[test]
fn redirects_to_one_place_are_one_move() {
    let none = HostProbes::default();
    let to = |target: String, status: u16| {
        move || {
            let mut last = hop(status, &[]);
            last.url.clone_from(&target);
            seen(vec![redirect(302, &target), last])
        }
    };
    let login = |path: &str| to(format!("http://example.org/login?next={path}"), 404);
    let jobs = || -> Vec<JudgedJob> {
        let jobs = PATHS.iter().map(|path| url(path, &[&login(path)]));
        jobs.collect()
    };
    assert_eq!(
        shown(jobs(), &none, None),
        "moved 4 of 4: redirects 4 URLs to http://example.org/login, which answers 404; - moved"
    );
    let moved = ["/d/a.csv", "/d/b.csv", "/d/c.csv"].map(|path| {
        let target = path.replace("/d/", "http://example.org/new/");
        url(path, &[&to(target, 404)])
    });
    assert_eq!(
        shown(moved.into(), &none, None),
        "moved 3 of 3: redirects /d/… to /new/…, where all 3 answer 404; - moved"
    );
    // The first fact about a URL is the one that it gets: two versions leave a doubt, a move does not.
    let other = || body(10, [8; 32], BodyEnd::Complete);
    let mut moved = vec![url("/e.csv", &[&other, &good, &good])];
    for path in &PATHS[..3] {
        let target = path.replace("/d/", "http://example.org/new/");
        let other = || Observation {
            hops: to(target.clone(), 200)().hops,
            ..body(10, [9; 32], BodyEnd::Complete)
        };
        moved.push(url(path, &[&other]));
    }
    assert_eq!(
        shown(moved, &none, None),
        "two-versions 3 of 4: serves two versions in turn: 2 of 9 requests got the promised bytes, \
         moved 3 of 4: redirects /d/… to /new/…, where all 3 answer 200; - -, unstable? two-versions"
    );
}

#[test]
fn a_bucket_is_gone_or_private() {
    let answer = |status: u16, code: &str| {
        let start = format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code></Error>");
        move || Observation {
            start: start.clone().into_bytes(),
            ..self::status(status)
        }
    };
    let none = HostProbes::default();
    let gone = answer(404, "NoSuchBucket");
    assert_eq!(
        shown(all(&gone), &none, None),
        "bucket 4 of 4: the bucket is gone; - bucket"
    );
    let private = answer(403, "AccessDenied");
    let mut probes = HostProbes::default();
    probes.add(&beside(&private));
    assert_eq!(
        shown(all(&private), &probes, None),
        "bucket 4 of 4: the bucket is no longer public; -? bucket"
    );
    assert_eq!(planned(&all(&private)), ["/d/urldb-probe-1.csv"]);
    assert_eq!(planned(&all(&gone)), [""; 0]);
    let mut changed = all(&private);
    changed.push(url("/f.csv", &[&json("{}")]));
    changed.last_mut().unwrap().job.body = BodyUse::Hash {
        at_most: 10,
        keep: Keep::Nothing,
        beyond: 0,
    };
    assert_eq!(planned(&changed), ["/f.csv", "/urldb-probe-1.csv"]);
    // Without a probe the doubt stays, and so it does if another URL is public.
    assert_eq!(shown(all(&private), &none, None), "; -? -");
    let mut some = all(&private);
    some.push(url("/f.csv", &[&good]));
    assert_eq!(shown(some, &probes, None), "; -? -, - -");
}

#[test]
fn a_host_that_refuses_requests_is_not_probed() {
    let old = || body(10, [9; 32], BodyEnd::Complete);
    let mut jobs = vec![url("/a.csv", &[&old])];
    jobs[0].job.body = BodyUse::Hash {
        at_most: 10,
        keep: Keep::Nothing,
        beyond: 0,
    };
    assert_eq!(planned(&jobs).len(), 2);
    jobs.push(url("/b.csv", &[&|| status(429)]));
    assert_eq!(planned(&jobs), [""; 0]);
    // Nor is any host after the end of the run.
    jobs[1] = url("/b.csv", &[&|| failed(FailureKind::RunEnded)]);
    assert_eq!(planned(&jobs), [""; 0]);
}

/// The answer for a path beside a file.
fn beside(answer: &dyn Fn() -> Observation) -> JudgedJob {
    let job = job(&Promise::default(), "/urldb-probe-1.csv");
    let observations = vec![answer()];
    let Decision::Final(verdict) = decide_probe(&job, &observations, &policy()) else {
        panic!("a probe is one request");
    };
    JudgedJob {
        job,
        observations,
        verdict,
    }
}

/// The paths of the probes of a host with these URLs, whatever their order.
fn planned(jobs: &[JudgedJob]) -> Vec<String> {
    let mut plans = [ProbePlan::default(), ProbePlan::default()];
    for judged in jobs {
        plans[0].note(judged);
    }
    for judged in jobs.iter().rev() {
        plans[1].note(judged);
    }
    let [one, other] = plans.map(|plan| {
        let probes = plan.probes("1").into_iter().flatten();
        probes.map(|job| job.key.path).collect::<Vec<_>>()
    });
    assert_eq!(one, other);
    one
}

/// An answer by its number.
fn answer(number: usize) -> Observation {
    match number {
        0 | 1 => good(),
        2 => json(r#"{"error":1}"#)(),
        3 => body(10, [9; 32], BodyEnd::Complete),
        4 => dated(5, "Fri, 20 Nov 2026 14:02:10 GMT")(),
        5 => status(404),
        6 => seen(vec![redirect(302, "/login"), hop(404, &[])]),
        7 => failed(FailureKind::Timeout),
        _ => truncated(),
    }
}

proptest! {
    /// Explanations make no verdict good, and none more certain; they do not depend on the order of the URLs.
    #[test]
    fn a_settled_verdict_says_no_more_than_its_own_observations(
        urls in prop::collection::vec([0..9usize, 0..9, 0..9], 1..12),
        again in prop::option::of(any::<bool>()),
        turn in 0..12usize,
    ) {
        let jobs = || -> Vec<JudgedJob> {
            let jobs = urls.iter().enumerate().map(|(index, [a, b, c])| {
                let path = format!("/d/{index}.csv");
                url(&path, &[&|| answer(*a), &|| answer(*b), &|| answer(*c)])
            });
            jobs.collect()
        };
        let probes = HostProbes { is_promised: again, ..HostProbes::default() };
        let last_run = Some(at(0));
        let explained = explain(&jobs(), &probes, last_run);
        let mut turned = jobs();
        let length = turned.len();
        turned.rotate_left(turn % length);
        let other = explain(&turned, &probes, last_run);
        prop_assert!(explained.all().eq(other.all()));
        let mut covered = 0;
        for mut judged in jobs() {
            let before = judged.verdict.clone();
            explained.settle(&mut judged);
            let after = &judged.verdict;
            prop_assert_eq!(before.state(), after.state());
            prop_assert!(before.sure || !after.sure);
            prop_assert!(after.explanation.is_none() || after.state() != State::Ok);
            covered += u64::from(after.explanation.is_some());
            let kind = after.explanation.as_ref().map(|it| it.kind);
            let is_doubt = matches!(kind, Some(ExplanationKind::SameContent | ExplanationKind::TwoVersions));
            prop_assert_eq!(after.sure, before.sure && !is_doubt);
        }
        let delivered: u64 = explained.all().map(|it| it.urls).sum();
        prop_assert!(covered <= delivered);
    }
}
