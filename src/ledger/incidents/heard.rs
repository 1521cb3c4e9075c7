//! The part of an incident that a notifier has heard, and the URLs that its section took by then.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_protocol::Shown;

/// The part of an incident that one notifier has heard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Heard {
    /// When the run began whose message told it last; absent if it is still to be told for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Timestamp>,
    /// The same of a later reminder, which told no further event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reminded: Option<Timestamp>,
    /// The same of the last message that told another cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub became: Option<Timestamp>,
    /// The id of the last event that it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub through: Option<String>,
    /// The filter of its section when it was told that; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
    /// Earlier positions, under filters that took URLs which are still affected, and which the present one does
    /// not take.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<FormerPosition>,
    /// Facts that the notifier remembers, such as the number of an issue.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, Shown>,
}

impl Heard {
    /// When the run began of the last message about it, be it a reminder.
    pub fn told_at(&self) -> Option<Timestamp> {
        self.reminded.max(self.run_at)
    }
}

/// The URLs that a section takes: all keys apply, and one without values takes all.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Filter {
    /// The hosts, as urldb.toml has them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// The categories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// The owners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<String>,
    /// For how many seconds a URL had to be broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The filters of the sections that got their URLs in place of one with `else`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<Self>,
}

/// The position of a notifier under a filter that its section had before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct FormerPosition {
    /// The filter.
    pub filter: Filter,
    /// When the run began whose message told it last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Timestamp>,
    /// The id of the last event that it was told.
    pub through: String,
}
