//! The states of a URL.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

urldb_text::named_enum! {
    /// The state of one URL, as the verdict table in docs/verdicts.md lists them.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
    #[serde(rename_all = "kebab-case")]
    pub enum State {
        /// The promise holds.
        Ok = "ok",
        /// The server answers, but with other bytes or another content type than promised.
        Changed = "changed",
        /// The body ended before the end that its framing announced.
        Truncated = "truncated",
        /// Status 404 or 410.
        Gone = "gone",
        /// The URL redirects otherwise than promised, or does not redirect.
        Redirected = "redirected",
        /// Status 401, 403 or 451.
        Forbidden = "forbidden",
        /// Another 4xx status.
        ClientError = "client-error",
        /// A 5xx status.
        ServerError = "server-error",
        /// No valid HTTP response arrived. The reason says why.
        Unreachable = "unreachable",
        /// The server refuses robots: throttling, challenges.
        Blocked = "blocked",
        /// The check reached no conclusion: refused by policy, out of time, or the local network is
        /// down.
        Inconclusive = "inconclusive",
    }
}

impl State {
    /// Whether the state says that the promise is broken (exit code 1).
    pub const fn is_broken(self) -> bool {
        !matches!(self, Self::Ok | Self::Blocked | Self::Inconclusive)
    }

    /// Whether the check could not reach a conclusion (exit code 3).
    pub const fn is_unsure(self) -> bool {
        matches!(self, Self::Blocked | Self::Inconclusive)
    }
}

/// A text that names no state or no reason of this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownName {
    /// `state` or `reason`.
    pub kind: &'static str,
    /// The text.
    pub name: String,
}

impl fmt::Display for UnknownName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown {} {:?}", self.kind, self.name)
    }
}

impl std::error::Error for UnknownName {}

impl FromStr for State {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == name)
            .ok_or_else(|| UnknownName {
                kind: "state",
                name: name.to_owned(),
            })
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
