//! A month of daily runs in which servers fail in many ways, each of them twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::site::{network, promise};
use crate::support::{Reply, Request, Server};

/// A way to fail.
struct Fault {
    host: &'static str,
    /// The first days of both times.
    from: [usize; 2],
    /// Number of days.
    days: usize,
    /// The wrong answer to a request for this file: the first of a day has the number 0.
    answer: fn(path: &str, number: usize) -> Reply,
    /// The kind of the explanation on the first day; empty without one.
    explained: &'static str,
    /// Number of news on both times together.
    most_news: usize,
    /// Whether some requests get the right bytes on these days.
    is_mixed: bool,
}

const FILES: [&str; 4] = ["/d/a.csv", "/d/b.csv", "/d/c.csv", "/d/e.csv"];

fn body(path: &str) -> String {
    format!("{path}, as promised\n").repeat(3)
}

fn json_error(_: &str, _: usize) -> Reply {
    Reply::new(
        "200 OK",
        &["Content-Type: application/json"],
        "{\"error\":\"internal\"}",
    )
}

fn replica(path: &str, number: usize) -> Reply {
    if number % 2 == 1 {
        Reply::ok(body(path))
    } else {
        Reply::ok(format!("an older {path}"))
    }
}

fn upload(path: &str, number: usize) -> Reply {
    let all = body(path);
    // Each request of a day gets more.
    Reply::ok(&all[..(1 + number).min(all.len() - 1)])
}

fn login(_: &str, _: usize) -> Reply {
    Reply::redirect(302, "/login")
}

fn no_bucket(_: &str, _: usize) -> Reply {
    let error = "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code></Error>";
    Reply::new("404 Not Found", &["Content-Type: application/xml"], error)
}

fn busy(_: &str, _: usize) -> Reply {
    Reply::new("500 Internal Server Error", &[], "busy")
}

fn parked(_: &str, _: usize) -> Reply {
    Reply::new(
        "200 OK",
        &["Content-Type: text/html"],
        "<html data-adblockkey=\"x\">buy it",
    )
}

const FAULTS: [Fault; 7] = [
    Fault {
        host: "error.test",
        from: [3, 16],
        days: 3,
        answer: json_error,
        explained: "same-content",
        most_news: 4,
        is_mixed: false,
    },
    Fault {
        host: "replica.test",
        from: [5, 20],
        days: 4,
        answer: replica,
        explained: "two-versions",
        most_news: 4,
        is_mixed: true,
    },
    Fault {
        host: "upload.test",
        from: [4, 18],
        days: 1,
        answer: upload,
        explained: "",
        most_news: 0,
        is_mixed: false,
    },
    Fault {
        host: "login.test",
        from: [6, 21],
        days: 2,
        answer: login,
        explained: "moved",
        most_news: 4,
        is_mixed: false,
    },
    Fault {
        host: "bucket.test",
        from: [8, 23],
        days: 3,
        answer: no_bucket,
        explained: "bucket",
        most_news: 4,
        is_mixed: false,
    },
    Fault {
        host: "busy.test",
        from: [9, 24],
        days: 1,
        answer: busy,
        explained: "",
        most_news: 0,
        is_mixed: false,
    },
    Fault {
        host: "parked.test",
        from: [10, 22],
        days: 3,
        answer: parked,
        explained: "",
        most_news: 4,
        is_mixed: false,
    },
];

impl Fault {
    fn is_on(&self, day: usize) -> bool {
        let mut spans = self.from.iter();
        spans.any(|from| (*from..*from + self.days).contains(&day))
    }
}

fn answer(request: &Request, day: usize, number: usize) -> Reply {
    let host = request.header("host").unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let path = request.target.as_str();
    let fault = FAULTS
        .iter()
        .find(|fault| fault.host == host && fault.is_on(day));
    match fault {
        Some(fault) if FILES.contains(&path) => (fault.answer)(path, number),
        // An API that fails answers so for any path.
        Some(fault) if fault.host == "error.test" => json_error(path, number),
        _ if FILES.contains(&path) => Reply::ok(body(path)),
        _ => Reply::new("404 Not Found", &[], "nothing"),
    }
}

#[test]
fn each_fault_of_a_month_is_told_by_its_cause_and_nothing_else_is() {
    let day = Arc::new(AtomicUsize::new(0));
    // The number of requests to each URL on a day.
    let asked = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
    let (today, counts) = (Arc::clone(&day), Arc::clone(&asked));
    let server = Server::new(move |request| {
        let url = format!("{:?} {}", request.header("host"), request.target);
        let mut counts = counts.lock().unwrap();
        let count = counts.entry(url).or_default();
        *count += 1;
        answer(request, today.load(Ordering::SeqCst), *count - 1)
    });
    let hosts = FAULTS.map(|fault| fault.host);
    let sandbox = Sandbox::new(&format!(
        "{}[notify.mail]\ntype = \"email\"\n\
         from = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\n",
        network(server.address(), &hosts)
    ));
    let promises = FILES.map(|path| promise(path, &body(path))).concat();
    for host in hosts {
        sandbox.write(&format!("urldb/{host}.yaml"), format!("---\n{promises}"));
    }
    let mut news: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut mails = 0;
    for number in 1..=30 {
        day.store(number, Ordering::SeqCst);
        asked.lock().unwrap().clear();
        let at = format!("2026-11-{number:02}T04:17:03Z");
        let report = sandbox.urldb_at(&at, &["run", "--format", "json"]).json();
        let of = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        for fault in &FAULTS {
            let is_of = |value: &Value| value["url"].as_str().unwrap().contains(fault.host);
            let states = of("results").into_iter().filter(is_of);
            let seen: Vec<String> = states
                .clone()
                .map(|it| format!("{} {} {}", it["state"], it["reason"], it["message"]))
                .chain(of("explanations").iter().map(Value::to_string))
                .collect();
            let good = states.filter(|result| result["state"] == "ok").count();
            match (fault.is_on(number), fault.is_mixed) {
                (false, _) => assert_eq!(good, FILES.len(), "day {number}: {seen:?}"),
                (true, false) => assert_eq!(good, 0, "day {number}: {seen:?}"),
                (true, true) => {}
            }
            let kinds = of("explanations").into_iter();
            let mut kinds = kinds.filter(|it| it["host"] == fault.host);
            let is_first = fault.from.contains(&number) && !fault.explained.is_empty();
            let is_known = kinds.any(|it| it["kind"] == fault.explained);
            assert!(
                !is_first || is_known,
                "day {number} {}: {seen:?}",
                fault.host
            );
        }
        for incident in of("incidents") {
            let phase = incident["phase"].as_str().unwrap();
            let host = incident["host"].as_str().unwrap();
            if ["opened", "reopened", "grown", "closed"].contains(&phase) {
                news.entry(host.to_owned())
                    .or_default()
                    .push(format!("{number} {phase}"));
            }
        }
        mails += sandbox.take_mails().len();
    }
    for fault in &FAULTS {
        let told = news.get(fault.host).map_or(0, Vec::len);
        assert!(told <= fault.most_news, "{}: {news:?}", fault.host);
        // A fault that lasts is told.
        let is_told = told >= 2 || fault.most_news == 0;
        assert!(is_told, "{}: {news:?}", fault.host);
    }
    let told: usize = news.values().map(Vec::len).sum();
    assert!(mails <= told, "{mails} mails: {news:?}");
}
