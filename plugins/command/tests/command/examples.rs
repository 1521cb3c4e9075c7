//! The plugins of docs/plugins.md, run as a run would call them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use urldb_protocol::DeliveryOutcome::{Delivered, Failed, Retry};

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
    let text = "Action needed: 1 new incident, 1 of 10 URLs is broken\n\
                broken: https://docs.example.org/a answers 404 Not Found";
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
