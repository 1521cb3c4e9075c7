//! The result of following all sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use urldb_format::RecordIdentity;
use urldb_interchange::{Location, Notice};
use urldb_text::Finding;

use super::change::FileChange;
use super::domain::MergedDomain;
use super::first::First;
use super::locations::ListLocations;
use super::outcome::{Outcome, SourceCounts};
use super::stated::NewRecords;

/// Most changed records that are named.
const MOST_NAMED: usize = 20;

/// The changes that the lists make necessary, and the mistakes in them.
#[derive(Default)]
pub(crate) struct Plan {
    pub(crate) files: Vec<FileChange>,
    /// The first records that change, each in words and with the first line of a list that has it.
    pub(crate) changed: Vec<String>,
    pub(crate) mistakes: First<Finding>,
    /// Lines that a reader refused.
    pub(crate) refused: First<Notice>,
    /// The number of entries that were left out, for each kind.
    pub(crate) left_out: BTreeMap<String, u64>,
    /// The first of these entries, with the reasons.
    pub(crate) left_out_lines: First<Notice>,
    /// The paths of lists without a URL.
    pub(crate) without_urls: Vec<String>,
    /// Folders that are repositories of their own, which were not entered.
    pub(crate) submodules: BTreeSet<PathBuf>,
    pub(crate) unchanged: u64,
    pub(crate) agreeing: u64,
    pub(crate) with_own_promise: u64,
    /// The sources of which too many records are gone, with these and all of them.
    pub(crate) gone: Vec<(String, SourceCounts)>,
    /// The files of the lists, as absolute paths.
    pub(crate) lists: BTreeSet<PathBuf>,
    /// The records with new items, compared with the items of another time.
    pub(crate) changes: NewRecords,
    pub(crate) locations: ListLocations,
}

impl Plan {
    /// Names the first records that change; `place_of` is the first place of a record in a list.
    pub(super) fn name_changes<'a>(
        &mut self,
        merged: &MergedDomain,
        place_of: impl Fn(&RecordIdentity) -> Option<&'a Location>,
    ) {
        let records = merged.records().filter_map(|(record, outcome, url)| {
            let word = match outcome {
                Outcome::Added => "added",
                Outcome::Updated => "updated",
                Outcome::Unchanged => return None,
            };
            let place = place_of(&merged.metadata.identity_of(record))
                .map_or_else(String::new, |place| format!(" ({place})"));
            Some(format!("{word} {url}{place}"))
        });
        let removed = merged
            .changes
            .remove
            .iter()
            .map(|it| format!("removed {}{}", merged.host, it.path));
        self.changed.extend(records.chain(removed).take(MOST_NAMED));
        self.changed.truncate(MOST_NAMED);
    }

    /// Why nothing is written: a sentence for each source.
    pub(crate) fn refusals(&self) -> impl Iterator<Item = String> {
        self.gone.iter().map(|(name, counts)| counts.refusal(name))
    }

    /// `left out: 1 mailto, 2 relative without a base (--base or `base`)`; `None` without such entries.
    pub(crate) fn left_out_text(&self) -> Option<String> {
        let kinds = self
            .left_out
            .iter()
            .map(|(kind, number)| {
                let base = if kind == "relative" {
                    " without a base (--base or `base`)"
                } else {
                    ""
                };
                format!("{number} {kind}{base}")
            })
            .collect::<Vec<_>>()
            .join(", ");
        (!kinds.is_empty()).then(|| format!("left out: {kinds}"))
    }

    /// The places of the records in the lists.
    pub(crate) fn into_locations(mut self) -> ListLocations {
        self.locations.finish();
        self.locations
    }
}
