//! The rolling check: each stored byte is read again in rounds, a share of each place a day.
//!
//! - `documents`: the file of the checks, a document for each place.
//! - `folder`: checks an archive without places.
//! - `places`: checks the places of an archive.
//! - `report`: the outcome of the checks of one run.
//! - `round`: which files are read next, and the dates of what was read.

mod documents;
mod folder;
mod places;
mod report;
mod round;
#[cfg(test)]
mod round_tests;

pub(crate) use documents::IN_ARCHIVE;
pub use documents::{MOST_NAMES, PlaceCheck, PlaceChecks};
pub use places::{check_places, note_fixed};
pub use report::CheckReport;
pub use round::{FileReader, Limits, Listing, ReadFiles, Reading};
