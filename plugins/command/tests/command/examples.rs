//! The plugins of docs/plugins.md, run as a run would call them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use urldb_protocol::DeliveryOutcome::{Delivered, Failed, Retry};
use urldb_protocol::{Because, Envelope, Phase};

use crate::plugin::{Plugin, envelope};
use crate::support::{Reply, Server};

fn example(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.join("examples/plugins")
        .join(name)
        .to_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_plugin_in_shell_spools_a_report_once() {
    let folder = tempfile::tempdir().unwrap();
    let spool = folder.path().join("spool");
    fs::create_dir(&spool).unwrap();
    let plugin = Plugin::new(
        folder,
        "/bin/sh",
        &[&example("urldb-notify-spool"), "spool"],
    );
    for _ in 0..2 {
        let delivery = plugin.deliver(&envelope());
        assert_eq!(
            (delivery.outcome, delivery.message.as_str()),
            (Delivered, "20261122T041700Z-abc.plug.json")
        );
    }
    let files: Vec<_> = fs::read_dir(&spool)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(files, [spool.join("20261122T041700Z-abc.plug.json")]);
    let mut spooled: Value = serde_json::from_str(&fs::read_to_string(&files[0]).unwrap()).unwrap();
    let words = spooled.as_object_mut().unwrap().remove("message").unwrap();
    assert_eq!(words["id"], "20261122T041700Z-abc.plug");
    assert_eq!(spooled, json!(envelope()));

    fs::remove_dir_all(&spool).unwrap();
    let delivery = plugin.deliver(&envelope());
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Failed, "name a folder in `arguments`")
    );
}

#[test]
fn the_plugin_in_python_writes_to_matrix() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: this system has no python3");
        return;
    }
    let server = Server::new(|request| {
        let busy = request.target.contains("busy");
        let status = if busy {
            "429 Too Many Requests"
        } else {
            "200 OK"
        };
        Reply::new(status, &[], "{}")
    });
    let address = format!("http://{}", server.address());
    let deliver = |room: &str, variables: &str| {
        let script = format!(
            "export {variables}\nexec python3 '{}' {address} '{room}'\n",
            example("urldb-notify-matrix")
        );
        Plugin::shell(&script).deliver(&envelope())
    };
    let delivery = deliver("!r/1:example.org", "MATRIX_TOKEN=secret");
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "!r/1:example.org")
    );
    let request = &server.requests()[0];
    assert_eq!(request.method, "PUT");
    assert_eq!(
        request.target,
        "/_matrix/client/v3/rooms/%21r%2F1%3Aexample.org/send/m.room.message/20261122T041700Z-abc.plug"
    );
    assert_eq!(request.header("authorization"), Some("Bearer secret"));
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let text = "URLs: 1 broken (1 new), 9 ok\n\
                broken: https://docs.example.org/a answers 404 or 410";
    assert_eq!(body, json!({ "msgtype": "m.notice", "body": text }));

    assert_eq!(
        deliver("!busy:example.org", "MATRIX_TOKEN=secret").outcome,
        Retry
    );
    let delivery = deliver("!r:example.org", "NOTHING=1");
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Failed, "the environment has no MATRIX_TOKEN")
    );
}

/// Whether the programs of a plugin are here.
fn has(programs: &[&str]) -> bool {
    let mut missing = programs
        .iter()
        .filter(|program| Command::new(program).arg("--version").output().is_err());
    let missing = missing.next();
    if let Some(program) = missing {
        eprintln!("skipped: this system has no {program}");
    }
    missing.is_none()
}

#[test]
fn the_plugin_for_apprise_sends_the_words() {
    if !has(&["jq"]) {
        return;
    }
    // A stand-in for apprise, which fails when its addresses say so.
    let stand_in = "#!/bin/sh\nprintf '%s\\n' \"$@\" >arguments\ncat >body\n[ \"$APPRISE_URLS\" != bad://x ]\n";
    let deliver = |urls: &str| {
        let script = format!(
            "{urls}\nmkdir -p bin\ncat >bin/apprise <<'EOF'\n{stand_in}EOF\nchmod +x bin/apprise\n\
             PATH=$PWD/bin:$PATH exec sh '{}'\n",
            example("urldb-notify-apprise")
        );
        let plugin = Plugin::shell(&script);
        (plugin.deliver(&envelope()), plugin)
    };
    let (delivery, plugin) = deliver("export APPRISE_URLS=json://localhost");
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "apprise")
    );
    assert_eq!(
        plugin.read("arguments"),
        "--input-format=text\n--notification-type=failure\n\
         --title=broken: docs.example.org/a answers 404 or 410 [sky-urls]\n"
    );
    let body = plugin.read("body");
    assert!(
        body.starts_with("URLs: 1 broken (1 new), 9 ok\n\nbroken: "),
        "{body}"
    );
    assert_eq!(deliver("export APPRISE_URLS=bad://x").0.outcome, Retry);
    let (delivery, _) = deliver("");
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Failed, "the environment has no APPRISE_URLS")
    );
}

#[test]
fn the_plugin_for_alertmanager_keeps_an_alert_for_each_open_incident() {
    if !has(&["jq", "curl"]) {
        return;
    }
    let server = Server::new(|request| {
        let status = if request.target.starts_with("/busy") {
            "503 Busy"
        } else if request.target.starts_with("/strict") {
            "400 Bad Request"
        } else {
            "200 OK"
        };
        Reply::new(status, &[], "")
    });
    let address = format!("http://{}", server.address());
    let deliver = |path: &str, envelope: &Envelope| {
        let folder = tempfile::tempdir().unwrap();
        let plugin = example("urldb-notify-alertmanager");
        let address = format!("{address}{path}");
        Plugin::new(folder, "/bin/sh", &[&plugin, &address, "2"]).deliver(envelope)
    };
    let mut report = envelope();
    report.run.site_url = Some("https://sky.example.org/status".to_owned());
    let mut closed = report.incidents[0].clone();
    closed.id = "00000001".to_owned();
    closed.phase = Phase::Closed;
    closed.urls[0].left = Some(Because::Recovered);
    let mut muted = report.incidents[0].clone();
    muted.id = "00000002".to_owned();
    muted.urls[0].muted = true;
    let mut group = report.incidents[0].clone();
    group.id = String::new();
    report.incidents.extend([closed, muted, group]);
    let delivery = deliver("/", &report);
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "Alertmanager")
    );
    let request = &server.requests()[0];
    assert_eq!(
        (request.method.as_str(), request.target.as_str()),
        ("POST", "/api/v2/alerts")
    );
    let alert = |id: &str, urls: u32, ends: &str| {
        json!({
            "labels": {
                "alertname": "BrokenPromise", "project": "sky-urls", "host": "docs.example.org",
                "incident": id,
            },
            "annotations": { "summary": format!("docs.example.org: gone, {urls} URLs") },
            "startsAt": "2026-11-22T04:17:10Z",
            "endsAt": ends,
            "generatorURL": format!("https://sky.example.org/status/incidents/{id}.html"),
        })
    };
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        body,
        json!([
            alert("52b63752", 1, "2026-11-22T06:18:00Z"),
            alert("00000001", 0, "2026-11-22T04:18:00Z")
        ])
    );
    assert_eq!(deliver("/busy", &report).outcome, Retry);
    assert_eq!(deliver("/strict", &report).outcome, Failed);
    report.incidents.clear();
    assert_eq!(
        deliver("/busy", &report).message.as_str(),
        "no incident is open"
    );
}

#[test]
fn the_plugin_in_rust_writes_metrics() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::new(folder, metrics_plugin(), &["urldb.prom"]);
    let delivery = plugin.deliver(&envelope());
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "urldb.prom")
    );
    let metrics = plugin.read("urldb.prom");
    for line in [
        "urldb_urls{state=\"ok\"} 9",
        "urldb_urls{state=\"gone\"} 1",
        "urldb_open_incidents 1",
        "urldb_last_run_seconds 1795321080",
    ] {
        assert!(metrics.lines().any(|own| own == line), "{line}: {metrics}");
    }

    let mut later = envelope();
    later.protocol = 3;
    let delivery = plugin.deliver(&later);
    assert_eq!(delivery.outcome, Failed);
    assert!(
        delivery.message.starts_with("this plugin knows protocol 2"),
        "{}",
        delivery.message
    );
}

/// The example that cargo builds with the tests. Cargo builds it not when it is asked for one test
/// target only; then this function asks for it.
fn metrics_plugin() -> PathBuf {
    let name = "urldb-notify-metrics";
    let test = env::current_exe().unwrap();
    let target = test.parent().and_then(Path::parent).unwrap();
    let path = target
        .join("examples")
        .join(name)
        .with_extension(env::consts::EXE_EXTENSION);
    if !path.exists() {
        let mut build = Command::new(env!("CARGO"));
        build.args([
            "build",
            "--offline",
            "--package",
            "urldb-command",
            "--example",
            name,
        ]);
        build.arg("--target-dir").arg(target.parent().unwrap());
        assert!(build.status().unwrap().success());
    }
    path
}
