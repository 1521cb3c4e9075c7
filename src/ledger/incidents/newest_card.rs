//! The newest card of an incident that a section of urldb.toml has delivered.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::Shown;

/// The newest card of an incident that one section has delivered, and the facts that its notifier remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NewestCard {
    /// When the run began whose message had it; absent before the first message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The id of the last event of the incident by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// Digest of its URLs, their states and which of them flap; absent while the first card is still to be delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Number of its URLs.
    #[serde(default, skip_serializing_if = "is_zero", with = "number")]
    pub urls: u64,
    /// The states that its cards had since one had no URL.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub states: BTreeSet<String>,
    /// Facts that the notifier remembers, such as the number of an issue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Shown>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(urls: &u64) -> bool {
    *urls == 0
}

/// A number as text: below `notified`, no value of a file is known as a number.
mod number {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}
