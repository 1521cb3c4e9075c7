//! Lists stay masters: the database follows the lists that `[source.NAME]` names.
//!
//! `formats` reads a list, `files` finds the files of a source, `spool` holds items on disk, `domain` has a domain file
//! beside them, and `merge` merges them: by `follow` for `urldb sync`, by `fill` for `urldb import`. `variants` tells the
//! records of one URL apart. `plan` joins these for all sources, and `plan_result` has what comes of it. `stated` has
//! the items of lists at another time.

mod change;
mod claim;
mod domain;
mod edits;
mod files;
mod fill;
#[cfg(test)]
mod fill_tests;
mod first;
mod follow;
#[cfg(test)]
mod follow_tests;
pub mod formats;
mod groups;
mod known;
mod locations;
mod merge;
mod outcome;
mod plan;
mod plan_result;
mod read_item;
mod selected;
pub(crate) mod spool;
mod stated;
mod variants;

pub(crate) use change::FileChange;
pub(crate) use domain::{Domain, MergedDomain, domains};
pub(crate) use edits::{
    AcceptedRecord, RecordEdits, ValueEdit, changed_lines, edits_of, write_edited,
};
pub(crate) use files::{common_folder, fixed_part, may_be_list};
pub(crate) use follow::FollowOptions;
pub use locations::{COMMAND_LINE, ListLocations};
pub(crate) use merge::MergePolicy;
pub(crate) use outcome::Outcome;
pub(crate) use plan::{follow_checked, follow_sources, past_items};
pub(crate) use plan_result::Plan;
pub(crate) use selected::{OtherPage, page_of};
pub(crate) use stated::{NewRecords, StatedItems};

use crate::config::Config;
use crate::stop::Stop;

/// The places of the records in the lists of all sources.
///
/// # Errors
/// As [`follow_sources`].
pub(crate) fn locations(config: &Config) -> anyhow::Result<ListLocations> {
    let plan = follow_sources(config, FollowOptions::default(), None, &Stop::new())?;
    Ok(plan.into_locations())
}
