//! The outcome of the checks of one run.

use super::round::ReadFiles;
use crate::archive::health::Fact;

/// The outcome of the check of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// The place.
    pub place: String,
    /// The files that were read.
    pub read: ReadFiles,
    /// Whether the place has damaged files.
    pub has_damage: bool,
    /// The damaged files of an archive without places; of a place, why its check ended before its share was read.
    pub facts: Vec<Fact>,
}
