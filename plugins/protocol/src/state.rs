//! The states of a URL.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The state of one URL, as the verdict table in docs/verdicts.md lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The promise holds.
    Ok,
    /// The server answers, but with other bytes or another content type than promised.
    Changed,
    /// The body ended before the end that its framing announced.
    Truncated,
    /// Status 404 or 410.
    Gone,
    /// The URL redirects otherwise than promised, or does not redirect.
    Redirected,
    /// Status 401, 403 or 451.
    Forbidden,
    /// Another 4xx status.
    ClientError,
    /// A 5xx status.
    ServerError,
    /// No valid HTTP response arrived. The reason says why.
    Unreachable,
    /// The server refuses robots: throttling, challenges, parking pages.
    Blocked,
    /// The check reached no conclusion: refused by policy, out of time, or the local network is
    /// down.
    Inconclusive,
}

impl State {
    /// Every state, in the order of the verdict table.
    pub const ALL: [Self; 11] = [
        Self::Ok,
        Self::Changed,
        Self::Truncated,
        Self::Gone,
        Self::Redirected,
        Self::Forbidden,
        Self::ClientError,
        Self::ServerError,
        Self::Unreachable,
        Self::Blocked,
        Self::Inconclusive,
    ];

    /// The stable kebab-case name, which is also the code of the finding.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Changed => "changed",
            Self::Truncated => "truncated",
            Self::Gone => "gone",
            Self::Redirected => "redirected",
            Self::Forbidden => "forbidden",
            Self::ClientError => "client-error",
            Self::ServerError => "server-error",
            Self::Unreachable => "unreachable",
            Self::Blocked => "blocked",
            Self::Inconclusive => "inconclusive",
        }
    }

    /// Whether the state says that the promise is broken (exit code 1).
    pub const fn is_broken(self) -> bool {
        !matches!(self, Self::Ok | Self::Blocked | Self::Inconclusive)
    }

    /// Whether the check could not reach a conclusion (exit code 3).
    pub const fn is_unsure(self) -> bool {
        matches!(self, Self::Blocked | Self::Inconclusive)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that names no state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownState(pub String);

impl fmt::Display for UnknownState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown state {:?}", self.0)
    }
}

impl std::error::Error for UnknownState {}

impl FromStr for State {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownState(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_agree_with_serde_and_parse_back() {
        for state in State::ALL {
            let json = serde_json::to_string(&state).expect("a unit variant serializes");
            assert_eq!(json, format!("\"{state}\""));
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("fine".parse::<State>().is_err());
    }
}
