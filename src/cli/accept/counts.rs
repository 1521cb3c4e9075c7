//! The numbers of an acceptance.

use crate::exit::ExitCode;
use crate::stop::Stop;

/// Numbers of URLs by their result.
#[derive(Debug, Default)]
pub(super) struct AcceptCounts {
    pub(super) accepted: u64,
    pub(super) refused: u64,
    pub(super) declined: u64,
    pub(super) kept: u64,
}

impl AcceptCounts {
    pub(super) fn exit_code(&self, stop: &Stop) -> ExitCode {
        if stop.is_set() {
            ExitCode::Interrupted
        } else if self.refused + self.declined > 0 {
            ExitCode::Findings
        } else {
            ExitCode::Success
        }
    }

    /// The numbers above zero: `accepted 2, refused 1, as promised 4`. The first is always there.
    pub(super) fn line(&self) -> String {
        let parts = [
            (true, "accepted", self.accepted),
            (self.refused > 0, "refused", self.refused),
            (self.declined > 0, "declined", self.declined),
            (self.kept > 0, "as promised", self.kept),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(is_shown, ..)| *is_shown)
            .map(|(_, what, number)| format!("{what} {number}"))
            .collect();
        parts.join(", ")
    }
}
