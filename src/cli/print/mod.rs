//! Output for a terminal, a log or GitHub.

pub(crate) mod attempts;
pub(crate) mod deliveries;
pub(crate) mod facts;
pub(crate) mod findings;
pub(crate) mod fixity;
pub(crate) mod github;
mod junit;
pub(crate) mod lines;
pub(crate) mod outcome;
pub(crate) mod output;
pub(crate) mod progress;
mod sarif;
pub(crate) mod style;
pub(crate) mod upload;
