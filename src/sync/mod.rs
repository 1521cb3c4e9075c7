//! Lists stay masters: the database follows the lists that `[source.NAME]` names.
//!
//! `formats` reads a list, `files` finds the files of a source, `spool` holds items on disk, `follow` makes the
//! records of a domain follow them, `variants` tells those of one URL apart, and `plan` joins these for a whole database. `past` has
//! the lists of a commit, and `stated` their items.

mod aside;
mod change;
mod edits;
mod files;
mod first;
mod follow;
#[cfg(test)]
mod follow_tests;
pub mod formats;
mod groups;
mod known;
mod locations;
mod past;
mod plan;
mod selected;
pub(crate) mod spool;
mod stated;
mod variants;

pub(crate) use aside::with_empty_database;
pub(crate) use change::FileChange;
pub(crate) use edits::{
    AcceptedRecord, RecordEdits, ValueEdit, changed_lines, edits_of, write_edited,
};
pub(crate) use files::may_be_list;
pub(crate) use follow::FollowOptions;
pub use locations::ListLocations;
pub(crate) use past::at_revision;
pub(crate) use plan::{Plan, follow_changes, follow_sources, locations, past_items};
pub(crate) use stated::{NewRecords, StatedItems};
