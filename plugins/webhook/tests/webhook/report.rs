//! Reports, settings and deliveries.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use urldb_http::Options;
use urldb_protocol::{Delivery, Envelope, Notifier};
use urldb_render::Each;
use urldb_webhook::{Settings, Template, WebhookNotifier};

use crate::support::Server;

/// A text that tries to leave its place in every format.
pub(crate) const HOSTILE: &str =
    "x\"}, {\"a\": \"<!channel> @all `code` [b](javascript:1) & {{ run.id }} \n\u{1b}[31m\u{202e}";

pub(crate) fn settings(url: impl Into<String>) -> Settings {
    Settings {
        name: "chat".to_owned(),
        url: url.into(),
        allow_http: false,
        headers: vec![],
        signing_key: None,
        template: None,
        html: include_str!("../../../../templates/email.html").to_owned(),
        each: Each::Run,
        http: Options {
            authorities: None,
            proxy: None,
            timeout: Duration::from_secs(20),
            user_agent: "urldb/test".to_owned(),
        },
    }
}

pub(crate) fn at(server: &Server) -> Settings {
    settings(format!(
        "http://{}/hooks/secret-of-the-url",
        server.address()
    ))
}

pub(crate) fn built_in(name: &str) -> Template {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../templates")
        .join(name);
    Template {
        name: name.to_owned(),
        source: fs::read_to_string(path).unwrap(),
        variables: [
            ("topic", "sky"),
            ("chat_id", "-100"),
            ("routing_key", "key"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into(),
    }
}

pub(crate) fn envelope(host: &str, incidents: usize) -> Envelope {
    let run = json!({
        "id": "20261122T041700Z-abc", "started": "2026-11-22T04:17:00Z",
        "finished": "2026-11-22T04:18:00Z", "version": "0.1.0", "repository": "sky-urls",
        "project": "sky-urls", "site_url": "https://sky.example.org/status",
    });
    let incident = |number: usize| {
        let host = format!("{host}{number}.example.org");
        json!({
            "id": format!("{number:08x}"), "key": format!("{number:016x}"), "phase": "opened",
            "host": host, "state": "gone", "since": "2026-11-22T04:17:10Z",
            "opened_by": "20261122T041700Z-abc", "host_urls": 10,
            "urls": [{ "url": format!("https://{host}/a"), "file": "urldb/x.yaml", "line": 1 }],
        })
    };
    let incidents: Vec<Value> = (0..incidents).map(incident).collect();
    let coverage = json!({
        "due": 10, "checked": 10, "static_due": 0, "static_verified": 0, "not_modified": 0, "deprecated": 0, "not_selected": 0, "bytes": 0, "milliseconds": 5,
    });
    serde_json::from_value(json!({
        "protocol": 2, "run": run, "incidents": incidents, "findings": [], "mistakes": [], "fixed": [], "archived": [],
        "summary": { "states": { "ok": 9, "gone": 1 }, "coverage": coverage, "counts": {"urls": 10, "ok": 9, "broken": 1, "flapping": 0, "unconfirmed": 0, "unknown": 0, "muted": 0, "new": 0, "recovered": 0, "warnings": 0, "mistakes": 0} },
    }))
    .unwrap()
}

pub(crate) fn deliver(settings: Settings, envelope: &Envelope) -> Delivery {
    let mut reported = deliver_all(settings, envelope);
    assert_eq!(reported.len(), 1);
    reported.remove(0)
}

/// The results of all deliveries of a report.
pub(crate) fn deliver_all(settings: Settings, envelope: &Envelope) -> Vec<Delivery> {
    let notifier = WebhookNotifier::new(settings).unwrap();
    let planned = notifier.deliveries(envelope);
    let pending: Vec<_> = planned.into_iter().map(|planned| planned.id).collect();
    let reported = Mutex::new(Vec::new());
    let report = |delivery: Delivery| reported.lock().unwrap().push(delivery);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(notifier.deliver(envelope, &pending, &report));
    reported.into_inner().unwrap()
}
