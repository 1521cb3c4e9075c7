//! The cause of an incident, and the names that are derived from it.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::{Position, Url};
use urldb_protocol::{Reason, Shown, State};

/// Why URLs are not as promised, as far as URLs share it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cause {
    /// The state.
    pub state: State,
    /// The text of the reason; absent where the reasons of `changed` are different views of one cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The target of the redirect, if the URLs redirect to one target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect: Option<Shown>,
}

impl Cause {
    /// The cause of a state without a redirect.
    pub fn new(state: State, reason: Option<&str>) -> Self {
        Self {
            state,
            reason: reason
                .filter(|reason| state != State::Changed || is_cause(reason))
                .map(str::to_owned),
            redirect: None,
        }
    }

    /// The same cause with a redirect to this target.
    #[must_use]
    pub fn with_redirect(self, redirect: Option<Shown>) -> Self {
        Self { redirect, ..self }
    }

    /// Whether both are one cause for one URL, wherever it redirects.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.state, &self.reason) == (other.state, &other.reason)
    }

    /// Whether the host cannot be reached. A redirect that cannot be followed is about single URLs.
    pub fn is_silence(&self) -> bool {
        let reason = self.reason.as_deref().unwrap_or_default();
        self.state == State::Unreachable && !reason.starts_with("redirect-")
    }

    fn parts(&self) -> [&str; 3] {
        [
            self.state.as_str(),
            self.reason.as_deref().unwrap_or_default(),
            self.redirect.as_deref().unwrap_or_default(),
        ]
    }
}

/// Whether a reason of `changed` is a cause of its own: the content has no new state yet.
fn is_cause(reason: &str) -> bool {
    [Reason::Unstable, Reason::Uploading, Reason::SameContent]
        .iter()
        .any(|own| own.as_str() == reason)
}

/// The id of an incident: 8 hexadecimal digits from the opening run, the host and the cause. `salt` is
/// 0 unless another incident has that id.
pub fn incident_id(run: &str, host: &str, cause: &Cause, salt: u32) -> String {
    digits(&[run, host], cause, salt, 4)
}

/// The key of an incident: 16 hexadecimal digits from the name of the project, the host and the cause.
/// `salt` is 0 unless another open incident has that key.
pub fn incident_key(project: &str, host: &str, cause: &Cause, salt: u32) -> String {
    digits(&[project, host], cause, salt, 8)
}

fn digits(parts: &[&str], cause: &Cause, salt: u32, bytes: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts.iter().copied().chain(cause.parts()) {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hasher.update(salt.to_le_bytes());
    HEXLOWER.encode(&hasher.finalize()[..bytes])
}

/// The target, unless it has the same path and query as the URL: a redirect to another scheme or name
/// says nothing about the cause.
pub(super) fn telling_redirect(url: &str, target: &Shown) -> Option<Shown> {
    let is_same = Url::parse(url)
        .ok()
        .zip(Url::parse(target).ok())
        .is_some_and(|(url, target)| {
            let path = |url: &Url| url[Position::BeforePath..Position::AfterQuery].to_owned();
            path(&url) == path(&target)
        });
    (!is_same).then(|| target.clone())
}
