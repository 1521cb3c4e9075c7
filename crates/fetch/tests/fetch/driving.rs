//! Many jobs at once: concurrency, intervals, retries, and the end of a run.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use urldb_fetch::{FetchOptions, Fetcher, HostOptions, Stop};
use urldb_verdict::{
    BodyUse, Decision, FailureKind, Job, JudgedJob, Keep, Observation, VerdictOptions,
};

use crate::support::{Reply, Server};
use crate::{done, fetch_all, job, kind, network, quick, quick_with};

fn jobs(host: &str, count: usize) -> Vec<Job> {
    (0..count)
        .map(|number| job(&format!("http://{host}/{number}")))
        .collect()
}

#[test]
fn a_host_gets_no_more_requests_than_its_limit() {
    let server = Server::new(|_| {
        Reply::default()
            .pause(Duration::from_millis(10))
            .then("HTTP/1.1 204 None\r\n\r\n")
    });
    let options = quick_with(|options| options.host_concurrency = 3);
    let seen = fetch_all(
        &options,
        &network(&[("example.test", &server)]),
        jobs("example.test", 30),
    );
    assert_eq!(seen.len(), 30);
    assert_eq!(server.most_under_way(), 3);
}

#[test]
fn connections_are_used_again() {
    let server = Server::new(|_| Reply::ok("hello"));
    let options = quick_with(|options| options.host_concurrency = 1);
    let hosts = network(&[("example.test", &server)]);
    fetch_all(&options, &hosts, jobs("example.test", 100));
    assert_eq!(server.connections(), 1);
}

#[test]
fn all_hosts_together_get_no_more_than_the_whole() {
    let server = Server::new(|_| {
        Reply::default()
            .pause(Duration::from_millis(10))
            .then("HTTP/1.1 204 None\r\n\r\n")
    });
    let hosts = ["a.test", "b.test", "c.test", "d.test"];
    let mapped: Vec<(&str, &Server)> = hosts.iter().map(|host| (*host, &server)).collect();
    let options = FetchOptions {
        concurrency: Some(5),
        ..quick()
    };
    let all = hosts.iter().flat_map(|host| jobs(host, 6)).collect();
    assert_eq!(fetch_all(&options, &network(&mapped), all).len(), 24);
    assert_eq!(server.most_under_way(), 5);
}

#[test]
fn a_host_that_hangs_holds_up_nobody_else() {
    let hanging = Server::new(|_| Reply::default().hang());
    let lively = Server::new(|_| Reply::ok("hello"));
    let options = FetchOptions {
        concurrency: Some(3),
        ..quick_with(|options| options.host_concurrency = 2)
    };
    let hosts = network(&[("hanging.test", &hanging), ("lively.test", &lively)]);
    let fetcher = Fetcher::new(&options, &hosts).unwrap();
    let all = jobs("hanging.test", 4)
        .into_iter()
        .chain(jobs("lively.test", 20));
    let (stop, mut order) = (Stop::new(), Vec::new());
    fetcher.fetch_all(
        all,
        done,
        &VerdictOptions::default(),
        |JudgedJob { observations, .. }| {
            order.push(kind(&observations[0]));
            if order.len() == 20 {
                stop.set();
            }
        },
        &stop,
    );
    // Had the lively host had to wait, time would have run out for the other one.
    assert_eq!(order[..20], [None; 20]);
    assert_eq!(order[20..], [Some(FailureKind::RunEnded); 4]);
}

#[test]
fn requests_to_a_host_keep_their_distance_redirects_too() {
    let server = Server::new(|request| match request.target.as_str() {
        "/0" => Reply::redirect(302, "/elsewhere"),
        _ => Reply::ok(""),
    });
    let interval = Duration::from_millis(40);
    let options = quick_with(|options| options.host_interval = interval);
    let started = Instant::now();
    fetch_all(
        &options,
        &network(&[("example.test", &server)]),
        jobs("example.test", 3),
    );
    let requests = server.requests();
    assert_eq!(requests.len(), 4);
    for (number, request) in (0..).zip(&requests) {
        // A busy machine delays requests, but nothing may bring them forward.
        let since = request.at - started;
        assert!(since >= interval * number, "{number}: {since:?}");
    }
}

/// Runs jobs with a rule for fetching again.
fn run(
    options: &FetchOptions,
    server: &Server,
    all: Vec<Job>,
    decide: impl Fn(&Job, &[Observation], &VerdictOptions) -> Decision + Sync,
) -> Vec<Vec<Observation>> {
    let fetcher = Fetcher::new(options, &network(&[("example.test", server)])).unwrap();
    let mut seen = Vec::new();
    fetcher.fetch_all(
        all.into_iter(),
        decide,
        &VerdictOptions::default(),
        |JudgedJob { observations, .. }| seen.push(observations),
        &Stop::new(),
    );
    seen
}

#[test]
fn fetching_again_afresh_is_a_new_connection_past_caches_with_the_body_kept() {
    // A small body is always kept.
    let body = "hello".repeat(20_000);
    let server = Server::new(move |_| Reply::ok(&body));
    let mut one = job("http://example.test/");
    one.body = BodyUse::Hash {
        at_most: 100_000,
        keep: Keep::Changes,
        beyond: 0,
    };
    let again = |job: &Job, seen: &[Observation], options: &VerdictOptions| {
        let body = seen.last().unwrap().body.as_ref().unwrap();
        assert_eq!(body.bytes.is_some(), seen.len() > 2, "{}", seen.len());
        match seen.len() {
            1 => Decision::Retry {
                wait: Duration::ZERO,
                fresh: false,
            },
            2..5 => Decision::Retry {
                wait: Duration::ZERO,
                fresh: true,
            },
            _ => done(job, seen, options),
        }
    };
    let seen = run(&quick(), &server, vec![one], again);
    assert_eq!(seen[0].len(), 5);
    let requests = server.requests();
    let connections: Vec<usize> = requests.iter().map(|request| request.connection).collect();
    assert_eq!(connections, [0, 0, 1, 2, 3]);
    let uncached: Vec<Option<&str>> = requests
        .iter()
        .map(|request| request.header("cache-control"))
        .collect();
    assert_eq!(
        uncached,
        [
            None,
            None,
            Some("no-cache"),
            Some("no-cache"),
            Some("no-cache")
        ]
    );
    assert_eq!(requests[2].header("pragma"), Some("no-cache"));
}

/// A body of 100 MB may wait for a minute until its job is fetched again.
#[test]
fn only_the_last_body_is_kept_and_only_until_the_next_fetch() {
    let server = Server::new(|_| Reply::ok("hello"));
    let has_bytes = |one: &Observation| one.body.as_ref().unwrap().bytes.is_some();
    let again = |job: &Job, seen: &[Observation], options: &VerdictOptions| {
        let kept: Vec<bool> = seen.iter().map(has_bytes).collect();
        let (last, others) = kept.split_last().unwrap();
        assert!(*last && !others.contains(&true), "{kept:?}");
        match seen.len() {
            ..5 => Decision::Retry {
                wait: Duration::ZERO,
                fresh: false,
            },
            _ => done(job, seen, options),
        }
    };
    let seen = run(&quick(), &server, vec![job("http://example.test/")], again);
    let kept: Vec<bool> = seen[0].iter().map(has_bytes).collect();
    assert_eq!(kept, [false, false, false, false, true]);
}

#[test]
fn waiting_takes_no_slot() {
    let server = Server::new(|_| Reply::ok("hello"));
    let options = FetchOptions {
        concurrency: Some(1),
        ..quick_with(|options| options.host_concurrency = 1)
    };
    let wait = Duration::from_millis(150);
    let again = |job: &Job, seen: &[Observation], options: &VerdictOptions| match (
        job.url.as_str().ends_with("/0"),
        seen.len(),
    ) {
        (true, 1) => Decision::Retry { wait, fresh: false },
        _ => done(job, seen, options),
    };
    run(&options, &server, jobs("example.test", 5), again);
    let targets: Vec<String> = server
        .requests()
        .iter()
        .map(|request| request.target.clone())
        .collect();
    assert_eq!(targets, ["/0", "/1", "/2", "/3", "/4", "/0"]);
    let requests = server.requests();
    assert!(requests[5].at - requests[0].at >= wait);
}

#[test]
fn stopping_gives_up_what_is_left_at_once() {
    let server = Server::new(|request| match request.target.as_str() {
        "/0" => Reply::ok("hello"),
        _ => Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello").hang(),
    });
    let fetcher = Fetcher::new(&quick(), &network(&[("example.test", &server)])).unwrap();
    let stop = Stop::new();
    let mut seen = HashMap::new();
    let started = Instant::now();
    fetcher.fetch_all(
        jobs("example.test", 500).into_iter(),
        done,
        &VerdictOptions::default(),
        |JudgedJob {
             job, observations, ..
         }| {
            stop.set();
            seen.insert(job.url, observations.last().and_then(kind));
        },
        &stop,
    );
    assert!(started.elapsed() < Duration::from_secs(10));
    assert_eq!(seen.len(), 500);
    let done = seen.values().filter(|kind| kind.is_none()).count();
    let ended = seen
        .values()
        .filter(|kind| **kind == Some(FailureKind::RunEnded))
        .count();
    assert_eq!((done, ended), (1, 499));
}

#[test]
fn the_deadline_of_the_run_ends_retries_too() {
    let server = Server::new(|_| Reply::ok("hello"));
    let options = FetchOptions {
        deadline: Some(Duration::from_millis(600)),
        ..quick()
    };
    let again = |_: &Job, _: &[Observation], _: &VerdictOptions| Decision::Retry {
        wait: Duration::from_hours(1),
        fresh: false,
    };
    let seen = run(&options, &server, jobs("example.test", 2), again);
    for observations in seen {
        let kinds: Vec<_> = observations.iter().map(kind).collect();
        assert_eq!(kinds, [None, Some(FailureKind::RunEnded)]);
    }
}

#[test]
fn a_slow_consumer_slows_the_fetching_down() {
    let server = Server::new(|_| Reply::ok("hello"));
    let fetcher = Fetcher::new(&quick(), &network(&[("example.test", &server)])).unwrap();
    let mut ahead = None;
    fetcher.fetch_all(
        jobs("example.test", 400).into_iter(),
        done,
        &VerdictOptions::default(),
        |_| {
            if ahead.is_none() {
                std::thread::sleep(Duration::from_millis(300));
                ahead = Some(server.requests().len());
            }
        },
        &Stop::new(),
    );
    assert!(ahead.is_some_and(|ahead| ahead < 200), "{ahead:?}");
    assert_eq!(server.requests().len(), 400);
}

/// A source of jobs for one host that counts the jobs that are taken from it.
fn counted<'a>(
    host: &'a str,
    count: usize,
    taken: &'a AtomicUsize,
) -> impl Iterator<Item = Job> + use<'a> {
    (0..count).map(move |number| {
        taken.fetch_add(1, Ordering::Relaxed);
        job(&format!("http://{host}/{number}"))
    })
}

#[test]
fn jobs_are_taken_as_the_queue_of_their_host_gets_short() {
    let server = Server::new(|_| Reply::ok("hello"));
    let options = quick_with(|options| options.host_concurrency = 2);
    let hosts = network(&[("a.test", &server), ("b.test", &server)]);
    let fetcher = Fetcher::new(&options, &hosts).unwrap();
    let taken = [AtomicUsize::new(0), AtomicUsize::new(0)];
    let sources = [
        counted("a.test", 2_000, &taken[0]),
        counted("b.test", 300, &taken[1]),
    ];
    let (mut done, mut most_ahead) = (HashMap::<String, usize>::new(), 0);
    fetcher.fetch_sources(
        sources.into_iter(),
        crate::done,
        &VerdictOptions::default(),
        |JudgedJob { job, .. }| {
            let url = job.url.as_str();
            let host = usize::from(url.contains("//b."));
            let done = done.entry(url[..13].to_owned()).or_default();
            *done += 1;
            most_ahead = most_ahead.max(taken[host].load(Ordering::Relaxed) - *done);
        },
        &Stop::new(),
    );
    assert_eq!(done["http://a.test"], 2_000);
    assert_eq!(done["http://b.test"], 300);
    // 64 wait in the queue, 80 are finished and not handed out, and a few are under way.
    assert!(most_ahead < 200, "{most_ahead}");
}

#[test]
fn a_long_source_of_a_slow_host_holds_up_no_other_source() {
    let slow = Server::new(|_| Reply::default().hang());
    let fast = Server::new(|_| Reply::ok("hello"));
    let options = quick_with(|options| options.host_concurrency = 2);
    let hosts = network(&[("slow.test", &slow), ("fast.test", &fast)]);
    let fetcher = Fetcher::new(&options, &hosts).unwrap();
    let (taken, stop) = ([AtomicUsize::new(0), AtomicUsize::new(0)], Stop::new());
    let sources = [
        counted("slow.test", 100_000, &taken[0]),
        counted("fast.test", 1_000, &taken[1]),
    ];
    let (mut answered, mut slow_taken) = (0, 0);
    fetcher.fetch_sources(
        sources.into_iter(),
        done,
        &VerdictOptions::default(),
        |JudgedJob { observations, .. }| {
            answered += usize::from(observations[0].failure.is_none());
            if answered == 1_000 && !stop.is_set() {
                slow_taken = taken[0].load(Ordering::Relaxed);
                stop.set();
            }
        },
        &stop,
    );
    assert_eq!(answered, 1_000);
    assert!(slow_taken < 100, "{slow_taken}");
    // Every other job was given up, none was lost.
    assert_eq!(taken[0].load(Ordering::Relaxed), 100_000);
}

#[test]
fn a_fetcher_serves_more_than_one_run() {
    let server = Server::new(|_| Reply::ok("hello"));
    let fetcher = Fetcher::new(&quick(), &network(&[("example.test", &server)])).unwrap();
    for _ in 0..2 {
        let mut seen = 0;
        fetcher.fetch_all(
            jobs("example.test", 3).into_iter(),
            done,
            &VerdictOptions::default(),
            |JudgedJob { observations, .. }| {
                seen += usize::from(observations[0].failure.is_none());
            },
            &Stop::new(),
        );
        assert_eq!(seen, 3);
    }
}

/// `quick`, with other options for one host.
fn quick_with_host(host: &str, change: impl FnOnce(&mut HostOptions)) -> FetchOptions {
    let mut options = quick();
    let mut host_options = options.default_host.clone();
    change(&mut host_options);
    options.hosts.insert(host.to_owned(), host_options);
    options
}

#[test]
fn options_of_a_host_apply_after_a_redirect_too() {
    let slowly = |body: &str| {
        Reply::default()
            .pause(Duration::from_millis(20))
            .then(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            ))
    };
    let frail = Server::new(move |_| slowly("hello"));
    let front = Server::new(|request| {
        Reply::redirect(302, &format!("http://frail.test{}", request.target))
    });
    let options = quick_with_host("frail.test", |options| {
        options.host_concurrency = 1;
        options.user_agent = "gently".to_owned();
        options.timeout = Duration::from_millis(100);
    });
    let network = network(&[("frail.test", &frail), ("front.test", &front)]);
    let all = jobs("front.test", 12)
        .into_iter()
        .chain(jobs("frail.test", 6));
    let seen = fetch_all(&options, &network, all.collect());
    assert_eq!(seen.len(), 18);
    for (url, seen) in &seen {
        // Waiting for a turn is no fault of the server's.
        assert_eq!(seen.failure, None, "{url}");
        assert_eq!(seen.complete_body().unwrap().length, 5);
    }
    assert_eq!(frail.most_under_way(), 1);
    let agents = |server: &Server| {
        let requests = server.requests();
        let agents = requests
            .iter()
            .filter_map(|request| request.header("user-agent"));
        agents.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    assert_eq!(agents(&frail), BTreeSet::from(["gently".to_owned()]));
    assert!(!agents(&front).contains("gently"));
}

#[test]
fn a_host_that_keeps_redirects_waiting_holds_up_nobody_else() {
    let frail = Server::new(|_| Reply::default().hang());
    let front = Server::new(|request| match request.target.as_str() {
        "/9" => Reply::ok("hello"),
        _ => Reply::redirect(302, "http://frail.test/"),
    });
    let options = FetchOptions {
        concurrency: Some(2),
        ..quick_with_host("frail.test", |options| options.host_concurrency = 1)
    };
    let network = network(&[("frail.test", &frail), ("front.test", &front)]);
    let fetcher = Fetcher::new(&options, &network).unwrap();
    let (stop, mut order) = (Stop::new(), Vec::new());
    fetcher.fetch_all(
        jobs("front.test", 10).into_iter(),
        done,
        &VerdictOptions::default(),
        |JudgedJob { observations, .. }| {
            order.push((kind(&observations[0]), observations[0].hops.len()));
            stop.set();
        },
        &stop,
    );
    assert_eq!(order[0], (None, 1));
    // What was seen before the run ended is told.
    assert_eq!(order[1..], [(Some(FailureKind::RunEnded), 1); 9]);
}

#[test]
fn after_its_byte_budget_a_run_begins_nothing_more() {
    let server = Server::new(|_| Reply::ok("0123456789"));
    let options = FetchOptions {
        concurrency: Some(1),
        byte_budget: Some(25),
        ..quick()
    };
    let seen = fetch_all(
        &options,
        &network(&[("example.test", &server)]),
        jobs("example.test", 10),
    );
    let kinds: Vec<_> = seen.iter().map(|(_, seen)| kind(seen)).collect();
    assert_eq!(kinds[..3], [None; 3]);
    assert_eq!(kinds[3..], [Some(FailureKind::RunEnded); 7]);
    let detail = &seen[9].1.failure.as_ref().unwrap().detail;
    assert_eq!(detail, "the run's byte budget of 25 bytes is used up");
    assert_eq!(server.requests().len(), 3);
}
