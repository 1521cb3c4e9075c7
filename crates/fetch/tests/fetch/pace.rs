//! Hosts that refuse requests: the pace that they get, and the verdicts on their URLs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use urldb_fetch::{FetchOptions, Fetcher, HostOptions, NetworkOptions, Stop};
use urldb_protocol::{Reason, State};
use urldb_verdict::{Job, JudgedJob, VerdictOptions, decide};

use crate::support::{Reply, Request, Server};
use crate::{job, network, quick_with};

const UNAVAILABLE: &str = "503 Service Unavailable";
const TOO_MANY: &str = "429 Too Many Requests";

fn jobs(host: &str, count: usize) -> Vec<Job> {
    (0..count)
        .map(|number| {
            let mut job = job(&format!("http://{host}/{number}"));
            host.clone_into(&mut job.key.domain);
            job
        })
        .collect()
}

/// The usual interval, and a time limit that only a hanging test reaches.
fn usual(change: impl FnOnce(&mut HostOptions)) -> FetchOptions {
    quick_with(|options| {
        options.host_interval = HostOptions::default().host_interval;
        change(options);
    })
}

/// Fetches and judges jobs as a run does, but for short waits before retries.
fn judged(
    options: &FetchOptions,
    network: &NetworkOptions,
    jobs: Vec<Job>,
    stop: &Stop,
    mut done: impl FnMut(&JudgedJob),
) -> Vec<JudgedJob> {
    let verdict = VerdictOptions {
        retry_wait: Duration::from_millis(5),
        ..VerdictOptions::default()
    };
    let fetcher = Fetcher::new(options, network).expect("a valid configuration");
    let (planned, mut all) = (jobs.len(), Vec::new());
    let take = |one| {
        done(&one);
        all.push(one);
    };
    fetcher.fetch_all(jobs.into_iter(), decide, &verdict, take, stop);
    let urls: BTreeSet<&str> = all.iter().map(|one| one.job.url.as_str()).collect();
    assert_eq!(
        (all.len(), urls.len()),
        (planned, planned),
        "one result each"
    );
    all
}

fn judge_all(options: &FetchOptions, network: &NetworkOptions, jobs: Vec<Job>) -> Vec<JudgedJob> {
    judged(options, network, jobs, &Stop::new(), |_| {})
}

/// The number of jobs with each state and reason.
fn states(judged: &[JudgedJob]) -> BTreeMap<(State, Option<Reason>), usize> {
    let mut states = BTreeMap::new();
    for one in judged {
        let reason = one.verdict.classification.reason;
        *states.entry((one.verdict.state(), reason)).or_default() += 1;
    }
    states
}

/// nginx's `limit_req` with `nodelay`: so many requests a second, and so many more in a burst.
fn limiter(rate: f64, burst: f64) -> impl Fn() -> bool + Send + Sync {
    let state = Mutex::new((0.0_f64, None::<Instant>));
    move || {
        let mut state = state.lock().expect("no panic under the lock");
        let now = Instant::now();
        let Some(last) = state.1 else {
            *state = (0.0, Some(now));
            return true;
        };
        let excess = (state.0 - rate * (now - last).as_secs_f64() + 1.0).max(0.0);
        if excess <= burst {
            *state = (excess, Some(now));
        }
        excess <= burst
    }
}

fn limiting(
    rate: f64,
    burst: f64,
    refusal: impl Fn(&Request) -> Reply + Send + Sync + 'static,
) -> Server {
    let has_room = limiter(rate, burst);
    Server::new(move |request| {
        if has_room() {
            Reply::ok(&request.target)
        } else {
            refusal(request)
        }
    })
}

#[test]
fn all_urls_of_a_host_that_limits_its_requests_are_fetched() {
    for status in [UNAVAILABLE, TOO_MANY] {
        let server = limiting(10.0, 5.0, move |_| Reply::new(status, &[], ""));
        let judged = judge_all(
            &usual(|_| {}),
            &network(&[("limited.test", &server)]),
            jobs("limited.test", 40),
        );
        assert_eq!(
            states(&judged),
            BTreeMap::from([((State::Ok, None), 40)]),
            "{status}"
        );
        // Neither verdict nor report knows that it was refused before.
        assert!(judged.iter().all(|one| one.observations.len() == 1));
        let requests = server.requests().len();
        assert!((41..80).contains(&requests), "{status}: {requests}");
    }
}

#[test]
fn a_limit_at_the_target_of_redirects_is_kept_too() {
    let limited = limiting(10.0, 3.0, |_| Reply::new(UNAVAILABLE, &[], ""));
    let front = Server::new(|request| {
        Reply::redirect(302, &format!("http://limited.test{}", request.target))
    });
    let judged = judge_all(
        &usual(|_| {}),
        &network(&[("front.test", &front), ("limited.test", &limited)]),
        jobs("front.test", 20),
    );
    assert_eq!(states(&judged), BTreeMap::from([((State::Ok, None), 20)]));
}

#[test]
fn dead_urls_of_a_live_host_are_found_and_no_others() {
    let server = Server::new(|request| match request.target.as_str() {
        "/5" | "/40" | "/77" => Reply::new(UNAVAILABLE, &["Retry-After: 60"], ""),
        _ => Reply::ok(""),
    });
    let began = Instant::now();
    let judged = judge_all(
        &usual(|_| {}),
        &network(&[("dead.test", &server)]),
        jobs("dead.test", 100),
    );
    let expected = [((State::Ok, None), 97), ((State::ServerError, None), 3)];
    assert_eq!(states(&judged), BTreeMap::from(expected));
    // Any server behind a proxy may send the header, so no host is paused for it.
    assert!(began.elapsed() < Duration::from_secs(40));
    for target in ["/5", "/40", "/77"] {
        let requests = server.requests();
        let asked = requests.iter().filter(|request| request.target == target);
        assert!((3..=5).contains(&asked.count()), "{target}");
    }
}

#[test]
fn a_host_that_refuses_everything_is_no_matter_of_pace() {
    for (status, state, reason) in [
        (UNAVAILABLE, State::ServerError, None),
        (TOO_MANY, State::Blocked, Some(Reason::RateLimited)),
    ] {
        let server = Server::new(move |_| Reply::new(status, &[], ""));
        let judged = judge_all(
            &usual(|_| {}),
            &network(&[("down.test", &server)]),
            jobs("down.test", 60),
        );
        assert_eq!(states(&judged), BTreeMap::from([((state, reason), 60)]));
        assert_eq!(server.requests().len(), 180);
    }
}

#[test]
fn urls_beyond_the_patience_are_blocked_or_inconclusive_and_name_the_pace() {
    let server = limiting(2.0, 0.0, |_| Reply::new(UNAVAILABLE, &[], ""));
    let options = usual(|options| options.limit_patience = Duration::from_secs(2));
    let began = Instant::now();
    let judged = judge_all(
        &options,
        &network(&[("limited.test", &server)]),
        jobs("limited.test", 200),
    );
    assert!(began.elapsed() < Duration::from_secs(20));
    let states = states(&judged);
    let count = |state| states.get(&(state, Some(Reason::RateLimited))).copied();
    let (blocked, unasked) = (count(State::Blocked), count(State::Inconclusive));
    let ok = states.get(&(State::Ok, None)).copied();
    let [Some(ok), Some(blocked), Some(unasked)] = [ok, blocked, unasked] else {
        panic!("{states:?}");
    };
    assert_eq!(ok + blocked + unasked, 200, "{states:?}");
    assert!(unasked > 150, "{states:?}");
    for one in judged.iter().filter(|one| one.verdict.state() != State::Ok) {
        assert!(!one.verdict.sure);
        let message = one.verdict.classification.message();
        let (before, after) = message
            .split_once("limited.test refuses more than about ")
            .unwrap();
        assert!(
            after.contains("limit-patience (2s) is over; set host-interval = \""),
            "{message}"
        );
        let is_blocked = one.verdict.state() == State::Blocked;
        assert_eq!(
            before == "answers 503 Service Unavailable: ",
            is_blocked,
            "{message}"
        );
        let again = urldb_verdict::judge(
            one.job.clone(),
            copies(&one.observations),
            decide,
            &VerdictOptions::default(),
        );
        assert_eq!(again.verdict, one.verdict, "a collecting run judges alike");
    }
}

/// The observations as a bundle hands them to the collecting run.
fn copies(observations: &[urldb_verdict::Observation]) -> Vec<urldb_verdict::Observation> {
    let text = serde_json::to_string(observations).expect("observations are serializable");
    serde_json::from_str(&text).expect("observations are read back")
}

#[test]
fn a_stopped_run_has_a_result_for_each_url_that_was_set_aside() {
    let server = limiting(0.5, 0.0, |_| Reply::new(TOO_MANY, &[], ""));
    let (stop, mut ended) = (Stop::new(), None);
    let options = usual(|_| {});
    let hosts = network(&[("limited.test", &server)]);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(Duration::from_secs(2));
            stop.set();
        });
        let judged = judged(&options, &hosts, jobs("limited.test", 300), &stop, |one| {
            if one.verdict.state() == State::Inconclusive {
                ended.get_or_insert_with(Instant::now);
            }
        });
        assert!(ended.unwrap().elapsed() < Duration::from_secs(1));
        let ended = (State::Inconclusive, Some(Reason::RunEnded));
        assert!(states(&judged)[&ended] > 290, "{:?}", states(&judged));
    });
}

#[test]
fn a_host_that_limits_its_requests_holds_up_no_other_host() {
    let limited = limiting(4.0, 0.0, |_| Reply::new(UNAVAILABLE, &[], ""));
    let lively = Server::new(|_| Reply::ok(""));
    let options = FetchOptions {
        concurrency: Some(1),
        ..usual(|_| {})
    };
    let all = jobs("limited.test", 8)
        .into_iter()
        .chain(jobs("lively.test", 40));
    let hosts = network(&[("limited.test", &limited), ("lively.test", &lively)]);
    let mut order = Vec::new();
    let judged = judged(&options, &hosts, all.collect(), &Stop::new(), |one| {
        order.push(one.job.key.domain.clone());
    });
    assert_eq!(states(&judged), BTreeMap::from([((State::Ok, None), 48)]));
    let last = order
        .iter()
        .rposition(|host| host == "lively.test")
        .unwrap();
    let before = order[..last].iter().filter(|host| *host == "limited.test");
    assert!(before.count() < 6, "{order:?}");
}

#[test]
fn the_pause_that_an_explicit_refusal_asks_for_is_kept_by_all_urls() {
    for header in ["Retry-After: 2", "X-RateLimit-Reset: 2"] {
        let refused_at = Mutex::new(None);
        let server = Server::new(move |request| {
            let mut refused_at = refused_at.lock().expect("no panic under the lock");
            if request.target == "/10" && refused_at.is_none() {
                *refused_at = Some(request.at);
                return Reply::new("403 Forbidden", &[header, "X-RateLimit-Remaining: 0"], "");
            }
            Reply::ok("")
        });
        let judged = judge_all(
            &usual(|options| options.host_concurrency = 1),
            &network(&[("limited.test", &server)]),
            jobs("limited.test", 20),
        );
        assert_eq!(states(&judged), BTreeMap::from([((State::Ok, None), 20)]));
        let requests = server.requests();
        let refused = requests.iter().position(|one| one.target == "/10").unwrap();
        let pause = requests[refused + 1].at - requests[refused].at;
        assert!(pause >= Duration::from_secs(2), "{header}: {pause:?}");
        assert_eq!(requests.last().unwrap().target, "/10");
    }
}

#[test]
fn requests_that_may_change_something_are_not_repeated() {
    let server = Server::new(|request| match request.method.as_str() {
        "GET" => Reply::ok(""),
        _ => Reply::new(UNAVAILABLE, &[], ""),
    });
    let options = usual(|options| {
        options.unsafe_methods = true;
        options.host_concurrency = 1;
    });
    let mut all = jobs("form.test", 4);
    std::sync::Arc::make_mut(&mut all[2].request).method = "POST".to_owned();
    let judged = judge_all(&options, &network(&[("form.test", &server)]), all);
    let expected = [((State::Ok, None), 3), ((State::ServerError, None), 1)];
    assert_eq!(states(&judged), BTreeMap::from(expected));
    assert_eq!(server.requests().len(), 4);
}
