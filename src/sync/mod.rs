//! Lists stay masters: the database follows the lists that `[source.NAME]` names.
//!
//! `formats` reads a list, `files` finds the files of a source, `spool` holds items on disk, `domain` has a domain file
//! beside them, and `merge` merges them: by `follow` for `urldb sync`, by `fill` for `urldb import`. `variants` tells the
//! records of one URL apart. `plan` joins these for all sources, and `plan_result` has what comes of it. `past` has the lists of a commit, and `stated` their items.

mod aside;
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
mod past;
mod plan;
mod plan_result;
mod selected;
pub(crate) mod spool;
mod stated;
mod variants;

pub(crate) use aside::with_empty_database;
pub(crate) use change::FileChange;
pub(crate) use domain::{Domain, MergedDomain, domains};
pub(crate) use edits::{
    AcceptedRecord, RecordEdits, ValueEdit, changed_lines, edits_of, write_edited,
};
pub(crate) use files::{common_folder, may_be_list};
pub(crate) use follow::FollowOptions;
pub use locations::ListLocations;
pub(crate) use merge::MergePolicy;
pub(crate) use outcome::Outcome;
pub(crate) use past::at_revision;
pub(crate) use plan::{follow_changes, follow_sources, locations, past_items};
pub(crate) use plan_result::Plan;
pub(crate) use selected::{OtherPage, page_of};
pub(crate) use stated::{NewRecords, StatedItems};
