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
use urldb_render::{Each, Part, WordsWriter, due, goes_on, planned, to_json};

pub use program::{Error, find};

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
    /// The source of `email.html`, which makes the HTML of the message.
    pub html: String,
    /// The number of messages for a report.
    pub each: Each,
}

/// The command notifier.
#[derive(Debug)]
pub struct CommandNotifier {
    settings: Settings,
    words: WordsWriter,
}

impl CommandNotifier {
    /// A notifier that runs this program.
    ///
    /// # Errors
    /// The template of the HTML does not parse.
    pub fn new(settings: Settings) -> Result<Self, urldb_render::Error> {
        let words = WordsWriter::new(&settings.name, settings.html.clone())?;
        Ok(Self { settings, words })
    }

    /// Tells the plugin a part of the report.
    async fn tell(&self, envelope: &Envelope, part: &Part) -> Delivery {
        let id = part.delivery();
        let variables = [
            ("URLDB_PROTOCOL", PROTOCOL.to_string()),
            ("URLDB_NOTIFIER", self.settings.name.clone()),
            // The same whenever the same message is delivered, so that a plugin can ignore a repetition.
            (
                "URLDB_DELIVERY",
                part.message_id(envelope, &self.settings.name),
            ),
        ];
        let report = match self.words.write(envelope, part) {
            Ok(report) => report.envelope,
            Err(error) => return Delivery::failed(id, error.to_string()),
        };
        let input = match to_json(&report) {
            Ok(input) => input,
            Err(error) => return Delivery::failed(id, error.to_string()),
        };
        let ended = process::run(&self.settings, &variables, &input).await;
        let thread = answer::Thread {
            envelope: &report,
            name: &self.settings.name,
        };
        answer::delivery(id, &self.destination(), &thread, ended)
    }
}

impl Notifier for CommandNotifier {
    fn deliveries(&self, envelope: &Envelope) -> Vec<PlannedDelivery> {
        planned(envelope, self.settings.each, &self.destination())
    }

    fn deliver<'a>(
        &'a self,
        envelope: &'a Envelope,
        pending: &'a [String],
        report: ReportDelivery<'a>,
    ) -> DeliveryFuture<'a> {
        Box::pin(async move {
            for part in due(envelope, self.settings.each, pending) {
                if !goes_on(self.tell(envelope, &part).await, report) {
                    return;
                }
            }
        })
    }

    fn keeps_threads(&self) -> bool {
        self.settings.each != Each::Run
    }

    /// The file name of the program.
    fn destination(&self) -> String {
        let program = &self.settings.program;
        let name = program.file_name().unwrap_or(program.as_os_str());
        urldb_text::sanitize(&name.to_string_lossy()).into_owned()
    }
}
