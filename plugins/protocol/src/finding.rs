//! Something wrong with a URL, or with the record of one, as people and programs are told of it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::State;

/// How much a finding matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// The promise is broken.
    Error,
    /// Worth knowing; the promise holds.
    Warning,
}

/// Something wrong with one URL now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable kebab-case code: the name of a state, or of a warning.
    pub code: String,
    /// How much it matters.
    pub severity: Severity,
    /// The URL it is about.
    pub url: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// One sentence for people.
    pub message: String,
    /// The state of the URL.
    pub state: State,
    /// Which kind of the state, kebab-case, such as `dns` or `digest`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was promised, for people, where that tells more than the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was seen instead; goes with `expected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<String>,
    /// How many times it was fetched.
    #[serde(default)]
    pub attempts: usize,
    /// When the URL entered this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Not yet confirmed by enough runs: nobody has been told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pending: bool,
}

/// Something wrong in a domain file, so that a record cannot be read, or not as it was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Mistake {
    /// Stable kebab-case code.
    pub code: String,
    /// The domain file, relative to the root of the repository, with `/`.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// The column in characters, counted from 1.
    pub column: usize,
    /// One sentence for people.
    pub message: String,
    /// What to do about it, where the message does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// What stands in the line, without the space around it; at most 100 characters.
    #[serde(default)]
    pub text: String,
    /// Whether no run before has seen it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
}

/// A [`Mistake`] that a run before has seen, and that is there no longer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixedMistake {
    /// Its code.
    pub code: String,
    /// The domain file, relative to the root of the repository, with `/`.
    pub file: String,
    /// What stood in its line.
    pub text: String,
}
