//! Texts for people: the content of messages, and a renderer for each format.
//!
//! [`compose()`] makes a [`Message`] from an envelope: headline, blocks with evidence and commands, and
//! what was checked. Every output renders the same content, so that counts, units and sentences agree:
//!
//! | function | output |
//! |---|---|
//! | [`terminal()`] | a terminal, with colours |
//! | [`mail_body`], [`subject`] | a mail: text, HTML, subject |
//! | [`markdown()`] | the job summary of a workflow |
//! | [`issue`], [`shared_issue`], [`comment`], [`reminder_comment`] | issues of GitHub, GitLab, Forgejo |
//! | [`commit_message()`] | the message of a commit of the ledger |
//! | [`annotations()`] | workflow commands of GitHub Actions |
//! | [`WordsWriter`] | the words of the envelope, for webhooks and programs |
//!
//! [`status()`], [`log()`] and the site show an overview: the state of all promises, independent of a run.
//!
//! Every text from outside is sanitized where it enters a message, and quoted by the renderer.
//! [`Renderer`] renders minijinja templates, which users may override; [`template_data`] is the report as
//! their data.

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

mod annotations;
mod chapters;
mod commit_message;
mod compose;
mod contents;
mod digests;
mod filters;
mod history;
mod layout;
mod log;
mod mail;
mod markdown;
mod message;
pub mod numbers;
mod page;
mod parts;
mod renderer;
mod sentences;
mod shell;
mod site;
mod size_limit;
mod status;
mod stored;
mod terminal;
mod text;
mod uses;
mod words;

use serde_json::Value;
use urldb_protocol::Envelope;

pub use annotations::annotations;
pub use chapters::{EvidenceBox, evidence_box, url_path};
pub use commit_message::commit_message;
pub use compose::{
    Deliveries, LONGEST_SUBJECT, NextTry, Scope, StuckMessages, compose, kept_promises,
    project_file_link, stuck_blocks, subject,
};
pub use contents::contents_sentence;
pub use digests::{algorithm, digest_line};
pub use history::history_row;
pub use layout::wrap;
pub use log::{LogDocument, LogEntry, log, log_entries};
pub use mail::{LARGEST_PART, MailBody, mail_body};
pub use markdown::{
    Issue, LARGEST_BODY, LARGEST_SUMMARY, closing_body, code, comment, fenced, issue, markdown,
    reminder_comment, shared_issue,
};
pub use message::{
    Block, Class, Command, Fact, Headline, KeptPromise, Message, OpenIncidents, SiteLink,
    SourceLink, Tone, UrlList, UrlRow,
};
pub use page::TerminalOptions;
pub use parts::{
    Each, MOST_INCIDENTS, Part, due, goes_on, has_other_news, part, parts, planned, tells,
};
pub use renderer::{Error, Renderer};
pub use sentences::{copies_in_words, is_unsettled, status_text, url_sentence};
pub use shell::{AskedUrl, HEADER, HEADERS_ONLY, bytes_in_turn, command_line, curl_words};
pub use site::{
    Mark, day_in_words, held_uris, impaired_sentence, moment_in_words, open_incidents, short_day,
    site_headline,
};
pub use status::{
    StatusDocument, StatusIncident, StatusScope, Titles, remarks, status, status_document,
    wrong_clock,
};
pub use stored::{not_archived, stored_words};
pub use terminal::{
    terminal, terminal_facts, terminal_headline, terminal_notified, terminal_stuck,
};
pub use text::{Span, Text, capitalized, one_line, shorten, shown_host, without_addresses};
pub use uses::uses_text;
pub use words::{WordedReport, WordsWriter};

/// The JSON Schema of [`StatusDocument`], as published in docs/status.schema.json.
#[cfg(feature = "schemars")]
pub fn status_schema() -> serde_json::Value {
    schemars::schema_for!(StatusDocument).into()
}

/// The JSON Schema of [`LogDocument`], as published in docs/log.schema.json.
#[cfg(feature = "schemars")]
pub fn log_schema() -> serde_json::Value {
    schemars::schema_for!(LogDocument).into()
}

/// The envelope as JSON. Compiled once, for all notifiers that send it.
///
/// # Errors
/// When a map has keys that JSON forbids.
pub fn to_json(envelope: &Envelope) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(envelope)
}

/// The envelope with the names of its JSON, and every text as one sanitized line.
///
/// The words are sanitized already, and some have several lines.
pub fn template_data(envelope: &Envelope) -> Value {
    let mut data = serde_json::to_value(envelope).unwrap_or_default();
    let words = data.as_object_mut().and_then(|data| data.remove("message"));
    let mut data = harmless(data);
    if let (Some(words), Some(data)) = (words, data.as_object_mut()) {
        data.insert("message".to_owned(), words);
    }
    data
}

/// The same data with every text made harmless.
fn harmless(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(one_line(&text)),
        Value::Array(items) => items.into_iter().map(harmless).collect(),
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, field)| (name, harmless(field)))
            .collect(),
        other => other,
    }
}
