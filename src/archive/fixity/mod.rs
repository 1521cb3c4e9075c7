//! The reading of stored files, and its dates: each stored byte is read again in rounds.
//!
//! - `documents`: the file of the checks, a document for each place.

mod documents;

pub use documents::{MOST_NAMES, PlaceCheck, PlaceChecks};
