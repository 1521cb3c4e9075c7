//! Output for a terminal, a log or GitHub.

pub(crate) mod attempts;
pub(crate) mod github;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod standing;
pub(crate) mod style;
