//! Which files of a place were read, and when: each stored byte is read again in rounds.
//!
//! - `documents`: the file of the checks, a document for each place.

mod documents;

pub use documents::{MOST_NAMES, PlaceCheck, PlaceChecks};
