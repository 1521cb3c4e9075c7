//! Hands the report of a run to a program of the user's own: a plugin.
//!
//! The plugin gets the envelope as JSON on standard input, and answers with one JSON object on
//! standard output: `{"outcome": "delivered", "message": "…"}`. docs/plugins.md has the contract.
//! `program` finds the plugin, `process` runs it within limits, `answer` reads what it wrote.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod answer;
mod process;
mod program;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use urldb_protocol::{
    Delivery, DeliveryFuture, Envelope, Notifier, PROTOCOL, PlannedDelivery, ReportDelivery,
};

pub use program::{Error, find};

/// The only delivery of a report.
const DELIVERY: &str = PlannedDelivery::REPORT;

/// Settings of the command notifier.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The notifier's name.
    pub name: String,
    /// The program, as [`find`] has found it.
    pub program: PathBuf,
    /// Its arguments. No shell looks at them.
    pub arguments: Vec<String>,
    /// The working directory of the plugin.
    pub directory: PathBuf,
    /// The environment of the plugin: names and values.
    pub variables: Vec<(OsString, OsString)>,
    /// The time limit of the plugin and of all processes that it starts.
    pub timeout: Duration,
}

/// The command notifier.
#[derive(Debug)]
pub struct CommandNotifier(Settings);

impl CommandNotifier {
    /// A notifier that runs this program.
    pub const fn new(settings: Settings) -> Self {
        Self(settings)
    }

    async fn run(&self, envelope: &Envelope) -> Delivery {
        let variables = [
            ("URLDB_PROTOCOL", PROTOCOL.to_string()),
            ("URLDB_NOTIFIER", self.0.name.clone()),
            // The same whenever the same report is delivered, so that a plugin can ignore a repetition.
            (
                "URLDB_DELIVERY",
                format!("{}.{}", envelope.tells(), self.0.name),
            ),
        ];
        let input = match serde_json::to_vec(envelope) {
            Ok(input) => input,
            Err(error) => return Delivery::failed(DELIVERY, error.to_string()),
        };
        let ended = process::run(&self.0, &variables, &input).await;
        let thread = answer::Thread {
            envelope,
            name: &self.0.name,
        };
        answer::delivery(DELIVERY, &self.destination(), &thread, ended)
    }
}

impl Notifier for CommandNotifier {
    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            if pending.iter().any(|id| id == DELIVERY) {
                report(self.run(envelope).await);
            }
        })
    }

    /// The file name of the program.
    fn destination(&self) -> String {
        let name = self
            .0
            .program
            .file_name()
            .unwrap_or(self.0.program.as_os_str());
        urldb_text::sanitize(&name.to_string_lossy()).into_owned()
    }
}
