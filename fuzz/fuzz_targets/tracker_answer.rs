//! Any answers of a tracker end a delivery after a bounded number of requests, with an outcome in plain words
//! that do not have the token.
#![no_main]

mod support;

use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use support::Server;
use tokio::runtime::Runtime;
use urldb_issues::{IssuesNotifier, Service, Settings, Token};
use urldb_protocol::{Delivery, Envelope, Notifier};

const TOKEN: &str = "token-of-urldb";

/// The budget of a delivery about one incident.
const MOST_REQUESTS: usize = 40;

static TRACKERS: LazyLock<(Server, Vec<IssuesNotifier>, Runtime)> = LazyLock::new(|| {
    let server = Server::start();
    let services = [Service::GitHub, Service::GitLab, Service::Forgejo];
    let notifiers = services.map(|service| {
        let settings = Settings {
            name: "tracker".to_owned(),
            service,
            repository: "example/sky-urls".to_owned(),
            api_url: format!("http://{}", server.address),
            allow_http: false,
            token: Token {
                variable: "TRACKER_TOKEN".to_owned(),
                value: TOKEN.to_owned(),
            },
            labels: vec!["urldb".to_owned()],
            http: urldb_http::Options {
                authorities: None,
                proxy: None,
                timeout: Duration::from_secs(5),
                user_agent: "urldb/fuzz".to_owned(),
            },
            budget: urldb_http::Budget {
                requests: MOST_REQUESTS as u64,
                bytes: 16 << 20,
                seconds: 120,
            },
            write_interval: Duration::ZERO,
            patience: Duration::ZERO,
            settling: Duration::ZERO,
        };
        IssuesNotifier::new(settings).expect("settings")
    });
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().expect("a runtime");
    (server, notifiers.into(), runtime)
});

/// The report of a run that opened, changed or closed one incident.
fn report(phase: &str) -> Envelope {
    let incident = json!({
        "id": "0a1b2c3d", "key": "0a1b2c3d0a1b2c3d", "phase": phase, "host": "data.example",
        "state": "gone", "since": "2026-11-22T04:17:10Z", "opened_by": "20261122T041700Z-a",
        "host_urls": 50, "added": 1,
        "urls": [{"url": "https://data.example/1", "file": "urldb/data.example.yaml", "line": 1}],
        "threads": {"tracker": {"issue": "1"}},
    });
    let report = json!({
        "protocol": 2, "findings": [], "mistakes": [], "fixed": [], "changes": [], "archived": [], "incidents": [incident],
        "run": {
            "id": "20261122T041700Z-a", "started": "2026-11-22T04:17:00Z",
            "finished": "2026-11-22T04:18:00Z", "version": "0.1.0", "repository": "sky-urls",
            "project": "sky-urls",
        },
        "summary": {"states": {"ok": 50}, "counts": {"urls": 50, "ok": 50, "broken": 0, "flapping": 0, "unconfirmed": 0, "unknown": 0, "muted": 0, "warnings": 0, "mistakes": 0}, "coverage": {
            "due": 50, "checked": 50, "static_due": 0, "static_verified": 0, "not_modified": 0, "deprecated": 0, "not_selected": 0, "bytes": 0,
            "milliseconds": 5,
        }},
    });
    serde_json::from_value(report).expect("an envelope")
}

/// An answer of the input: with a head of its own, or a body alone.
fn answer(part: &[u8]) -> Vec<u8> {
    if part.starts_with(b"HTTP/1.1 ") {
        return part.to_owned();
    }
    let length = part.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), part].concat()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((choice, rest)) = bytes.split_first() else {
        return;
    };
    let (server, notifiers, runtime) = &*TRACKERS;
    let notifier = &notifiers[usize::from(choice % 3)];
    let envelope = report(["opened", "grown", "closed"][usize::from(choice / 3 % 3)]);
    let parts: [&[u8]; 6] = support::parts(rest);
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    server.set(parts.map(answer).collect());
    let pending: Vec<String> = notifier
        .deliveries(&envelope)
        .into_iter()
        .map(|plan| plan.id)
        .collect();
    let reported = Mutex::new(vec![]);
    let report = |delivery: Delivery| reported.lock().expect("no panic").push(delivery);
    runtime.block_on(notifier.deliver(&envelope, &pending, &report));
    let requests = server.requests();
    assert!(requests <= MOST_REQUESTS, "{requests} requests");
    let reported = reported.into_inner().expect("no panic");
    assert!(
        pending
            .iter()
            .all(|id| reported.iter().any(|it| it.id == *id))
    );
    for delivery in reported {
        let texts = [&delivery.message].into_iter().chain(&delivery.replies);
        for text in texts.chain(&delivery.advice) {
            assert!(!text.contains(TOKEN), "{text:?}");
            assert!(!text.contains(|char: char| char.is_control()), "{text:?}");
        }
    }
});
