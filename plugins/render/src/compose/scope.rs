//! The readers of a message.

/// The readers of a message, and so the part of a report that it tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Everything that `urldb run` knows.
    Run,
    /// Everything that `urldb check` found: one run without a memory.
    Check,
    /// Everything that `urldb check` found in the records that a pull request adds or changes.
    PullRequest {
        /// The pull request changes none of the records that were there before.
        only_adds: bool,
        /// The files are those of strangers: the check ran with `--untrusted`.
        untrusted: bool,
    },
    /// The news, for the opening message of a thread: incidents that have opened, changed or closed,
    /// mistakes, and warnings.
    News,
    /// Changes of the incidents with these ids in this run.
    Changes(&'a [&'a str]),
    /// A reminder that the incidents with these ids are still open.
    Reminder(&'a [&'a str]),
    /// The week before the run, whatever happened.
    Week,
    /// All facts of the incidents with these ids, for an issue that is open while they are.
    Issue(&'a [&'a str]),
}

impl Scope<'_> {
    /// Whether the message is about one run without a memory.
    pub(crate) const fn is_check(self) -> bool {
        matches!(self, Self::Check | Self::PullRequest { .. })
    }
}
