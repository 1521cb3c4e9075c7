//! The URLs of an incident.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::event::Because;
use crate::state::State;

/// A URL of an incident.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts about a URL, each a field of the report"
)]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AffectedUrl {
    /// The URL.
    pub url: String,
    /// The domain file of its record, relative to the root of the repository, with `/`.
    pub file: String,
    /// The record's first line, counted from 1.
    pub line: usize,
    /// The canonical request, if it is not a plain GET.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The request headers that tell records of the URL apart, such as `accept: text/turtle`, one a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The categories of its record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The URL joined the incident in this run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// This run did not ask the URL, because its host was silent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_tried: bool,
    /// The record's `mute-until` is in the future: nobody is notified about the URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub muted: bool,
    /// The URL flaps.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub flapping: bool,
    /// The acknowledgement of the incident is about this URL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub acked: bool,
    /// Why the URL is affected no longer; absent while it is affected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Because>,
    /// The first run that saw it broken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The run after which it was affected no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// The last run before it that saw the URL as promised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_good: Option<Timestamp>,
    /// The state that this run saw; absent if it did not ask.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seen: Option<State>,
    /// Of a flapping URL, the runs in which it broke last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<Timestamp>,
    /// The state of this URL, if it is another than that of the incident.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
}

impl AffectedUrl {
    /// The variant for people, to follow the URL or its path: ` (accept: text/turtle)`, or nothing.
    pub fn variant_suffix(&self) -> String {
        urldb_text::variant_suffix(self.variant.as_deref())
    }

    /// A URL about which nothing else is known.
    pub fn of(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            ..Self::default()
        }
    }
}
