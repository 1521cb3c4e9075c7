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
    pub(super) fn line(&self, is_dry: bool) -> String {
        let done = if is_dry { "would accept" } else { "accepted" };
        let others = [
            ("refused", self.refused),
            ("declined", self.declined),
            ("as promised", self.kept),
        ];
        let others = others
            .iter()
            .filter(|(_, number)| *number > 0)
            .map(|(what, number)| format!(", {what} {number}"));
        format!("{done} {}{}", self.accepted, others.collect::<String>())
    }
}
