//! The outcome of the checks of one run.

use super::documents::PlaceCheck;
use super::round::ReadFiles;

/// The outcome of the check of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The place.
    pub place: String,
    /// The files that were read.
    pub read: ReadFiles,
    /// The state of the place; `None` if it could not be checked.
    pub check: Option<PlaceCheck>,
    /// Sentences about damaged files of an archive without places; those of a place are facts.
    pub faults: Vec<String>,
    /// Why the check ended before its share was read, or did not begin; the next run goes on.
    pub trouble: Option<String>,
}
