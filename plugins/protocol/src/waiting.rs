//! The messages that wait in the outbox.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_text::Shown;

/// The messages of one notifier that wait in the outbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct WaitingMessages {
    /// The name of the notifier in urldb.toml.
    pub notifier: String,
    /// Number of messages.
    pub messages: u64,
    /// When the run of the oldest one began; absent if none of them can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Number of tries of the message that was tried most often.
    #[serde(default)]
    pub tries: u32,
    /// The time of the last try; absent before the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_tried: Option<Timestamp>,
    /// The fault of the last try, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Shown>,
}
