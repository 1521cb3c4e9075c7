//! A plugin in a folder of its own, and what it does with a report.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;
use urldb_command::{CommandNotifier, Settings};
use urldb_protocol::{Delivery, Envelope, Notifier};
use urldb_render::Each;

/// A report about one incident.
pub(crate) fn envelope() -> Envelope {
    let run = json!({
        "id": "20261122T041700Z-abc", "started": "2026-11-22T04:17:00Z",
        "finished": "2026-11-22T04:18:00Z", "version": "0.1.0", "repository": "sky-urls", "project": "sky-urls",
    });
    let incident = json!({
        "id": "52b63752", "key": "0123456789abcdef", "phase": "opened", "host": "docs.example.org",
        "state": "gone", "since": "2026-11-22T04:17:10Z", "opened_by": "20261122T041700Z-abc",
        "host_urls": 10,
        "urls": [{ "url": "https://docs.example.org/a", "file": "urldb/docs.example.org.yaml", "line": 1 }],
    });
    let coverage = json!({
        "due": 10, "checked": 10, "static_due": 0, "static_verified": 0, "not_modified": 0, "deprecated": 0, "not_selected": 0, "bytes": 0, "milliseconds": 5,
    });
    serde_json::from_value(json!({
        "protocol": 2, "run": run, "incidents": [incident], "findings": [], "mistakes": [], "fixed": [], "archived": [],
        "summary": { "states": { "ok": 9, "gone": 1 }, "coverage": coverage, "counts": {"urls": 10, "ok": 9, "broken": 1, "flapping": 0, "unconfirmed": 0, "unknown": 0, "muted": 0, "new": 1, "recovered": 0, "warnings": 0, "mistakes": 0} },
    }))
    .unwrap()
}

/// A report that fills every pipe.
pub(crate) fn large_envelope() -> Envelope {
    let mut envelope = envelope();
    envelope.run.repository = "x".repeat(4 << 20);
    envelope
}

pub(crate) struct Plugin {
    pub(crate) folder: TempDir,
    pub(crate) settings: Settings,
}

impl Plugin {
    /// A plugin in shell. The shell reads the script as a file, so that no other test's child holds it
    /// open while it is run.
    pub(crate) fn shell(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("plugin.sh"), script).unwrap();
        Self::new(folder, "/bin/sh", &["plugin.sh"])
    }

    pub(crate) fn new(folder: TempDir, program: impl Into<PathBuf>, arguments: &[&str]) -> Self {
        let settings = Settings {
            name: "plug".to_owned(),
            program: program.into(),
            arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
            directory: folder.path().to_owned(),
            variables: std::env::vars_os()
                .filter(|(name, _)| name == "PATH")
                .collect(),
            timeout: Duration::from_mins(1),
            html: "<h1>{{ title }}</h1>".to_owned(),
            each: Each::Run,
        };
        Self { folder, settings }
    }

    pub(crate) fn within(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// A file that the plugin wrote.
    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    pub(crate) fn deliver(&self, envelope: &Envelope) -> Delivery {
        deliver(
            &CommandNotifier::new(self.settings.clone()).unwrap(),
            envelope,
        )
    }
}

/// Delivers all deliveries of a report; there is one.
pub(crate) fn deliver(notifier: &dyn Notifier, envelope: &Envelope) -> Delivery {
    let pending: Vec<_> = notifier
        .deliveries(envelope)
        .into_iter()
        .map(|planned| planned.id)
        .collect();
    let reported = Mutex::new(Vec::new());
    let report = |delivery: Delivery| reported.lock().unwrap().push(delivery);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(notifier.deliver(envelope, &pending, &report));
    let mut reported = reported.into_inner().unwrap();
    assert_eq!(reported.len(), 1);
    reported.remove(0)
}

/// Whether the process of this id runs, that is, is neither gone nor a zombie.
fn runs(id: &str) -> bool {
    let Ok(stat) = fs::read_to_string(Path::new("/proc").join(id).join("stat")) else {
        return false;
    };
    let state = stat.rsplit(')').next().unwrap().trim();
    !state.starts_with('Z') && !state.starts_with('X')
}

/// Waits until none of these processes runs.
pub(crate) fn assert_gone(ids: &str) {
    if !Path::new("/proc/self").exists() {
        eprintln!("skipped: this system has no /proc");
        return;
    }
    assert!(!ids.trim().is_empty(), "the plugin named no process");
    let until = Instant::now() + Duration::from_secs(10);
    for id in ids.split_whitespace() {
        while runs(id) {
            assert!(Instant::now() < until, "process {id} still runs");
            sleep(Duration::from_millis(10));
        }
    }
}
