//! The records that a check is about, where they are not those of the database as it is: URLs without a record, lists,
//! and lists that are not synced. They are written into a temporary folder, so that every check reads domain files.
//! `list_database` makes the folder, `records` hands out the records of the database, `past` has the lists of a commit.

mod aside;
mod list_database;
mod mistakes;
mod past;
mod records;

pub(crate) use aside::with_empty_database;
pub(crate) use list_database::ListDatabase;
pub(crate) use mistakes::lists_of_sources;
pub(crate) use records::add_records;
