//! A plugin for urldb in Rust: writes the state of all promises as metrics for Prometheus.
//!
//! The node exporter reads the file from the folder of its textfile collector. Use in urldb.toml:
//!
//! ```toml
//! [notify.metrics]
//! type = "metrics"
//! arguments = ["/var/lib/node_exporter/urldb.prom"]
//! on = ["every-run"]
//! ```
//!
//! To build it elsewhere, copy this file to `src/main.rs` of a new package, and
//! `cargo add urldb-protocol serde_json`.
#![allow(
    clippy::disallowed_methods,
    clippy::too_many_lines,
    reason = "a program of its own"
)]

use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

use serde_json::{Value, json};
use urldb_protocol::{Envelope, PROTOCOL, Phase};

fn main() {
    let answer = match write_metrics() {
        Ok(path) => json!({ "outcome": "delivered", "message": path }),
        Err(message) => json!({ "outcome": "failed", "message": message }),
    };
    println!("{answer}");
}

fn write_metrics() -> Result<String, String> {
    let path = env::args()
        .nth(1)
        .ok_or("name the file of metrics in `arguments`")?;
    // The protocol comes before everything else: another number may mean another document.
    let document: Value =
        serde_json::from_reader(io::stdin()).map_err(|error| error.to_string())?;
    let protocol = document.get("protocol").and_then(Value::as_u64);
    if protocol != Some(u64::from(PROTOCOL)) {
        return Err(format!(
            "this plugin knows protocol {PROTOCOL}, not {protocol:?}"
        ));
    }
    let envelope: Envelope = serde_json::from_value(document).map_err(|error| error.to_string())?;
    replace(Path::new(&path), &metrics(&envelope)).map_err(|error| format!("{path}: {error}"))?;
    Ok(path)
}

/// The metrics in the text format of Prometheus.
fn metrics(envelope: &Envelope) -> String {
    let mut text = String::new();
    text.push_str(
        "# HELP urldb_urls URLs by state, as of the last run.\n# TYPE urldb_urls gauge\n",
    );
    for (state, count) in &envelope.summary.states {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "urldb_urls{{state=\"{state}\"}} {count}");
    }
    let is_open = |phase| matches!(phase, Phase::Opened | Phase::Changed | Phase::Unchanged);
    let open = envelope
        .incidents
        .iter()
        .filter(|incident| is_open(incident.phase))
        .count();
    let finished = envelope.run.finished.as_second();
    let _ = write!(
        text,
        "# HELP urldb_open_incidents Open incidents.\n# TYPE urldb_open_incidents gauge\n\
         urldb_open_incidents {open}\n\
         # HELP urldb_last_run_seconds End of the last run.\n# TYPE urldb_last_run_seconds gauge\n\
         urldb_last_run_seconds {finished}\n"
    );
    text
}

/// Replaces a file in one step, so that nobody reads half of it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let temporary = path.with_extension("tmp");
    fs::write(&temporary, text)?;
    fs::rename(&temporary, path)
}
