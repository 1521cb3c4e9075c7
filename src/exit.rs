//! The exit codes of the program: one code for all results of a command.

/// The exit code of a command. The variants are in the order of severity: the greatest of several exit
/// codes stands for all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitCode {
    /// 0: all is as promised.
    #[default]
    Success,
    /// 3: nothing is worse than blocked, inconclusive or not confirmed yet.
    Unsure,
    /// 1: there are findings.
    Findings,
    /// 2: the program could not do its work.
    Failure,
    /// 130: the command was interrupted.
    Interrupted,
}

impl ExitCode {
    /// The number that the process returns.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Failure => 2,
            Self::Unsure => 3,
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(exit: ExitCode) -> Self {
        Self::from(exit.code())
    }
}
