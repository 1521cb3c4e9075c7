//! The events of incidents, as files and reports have them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The kinds of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// The first URLs joined.
    #[default]
    Opened,
    /// URLs joined after the incident was closed.
    Reopened,
    /// URLs joined.
    Grown,
    /// URLs have another cause than before.
    Became,
    /// URLs left.
    Shrunk,
    /// URLs flap from now on.
    Flapping,
    /// URLs no longer flap, and are broken.
    Steady,
    /// Nobody is to be told of the URLs.
    Muted,
    /// The URLs are no longer muted.
    Unmuted,
    /// A notice says more: less time is left, or another certificate ends.
    Noticed,
    /// Another certificate has taken the place of the one that a notice is about.
    Renewed,
    /// A person knows of the incident.
    Acked,
    /// The time of an acknowledgement is over.
    AckEnded,
    /// Another incident has taken over all URLs.
    Merged,
    /// The last URL has left.
    Closed,
}

impl EventKind {
    /// Whether URLs join an incident with the event.
    pub fn joins(self) -> bool {
        matches!(self, Self::Opened | Self::Reopened | Self::Grown)
    }

    /// Whether an incident is another after the event: its URLs, their state, or its notice.
    pub fn is_change(self) -> bool {
        !matches!(self, Self::Acked | Self::AckEnded)
    }
}

/// Why a URL left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Because {
    /// The run saw it as promised.
    Recovered,
    /// The run saw it as promised, by another promise than that which was broken.
    Accepted,
    /// Its record is gone.
    Removed,
}

/// An acknowledgement: until then nobody is reminded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Ack {
    /// Its end.
    pub until: Timestamp,
    /// The reason, in the words of the person.
    pub because: String,
    /// The person; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}
