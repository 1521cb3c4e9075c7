//! The settings of the notifier.

use std::time::Duration;

use urldb_http::{Budget, Options};

/// The settings of the notifier.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The notifier's name.
    pub name: String,
    /// The service whose interface the server has.
    pub service: Service,
    /// The repository: `owner/name`; for GitLab also deeper groups, or the number of the project.
    pub repository: String,
    /// The root of the interface, such as `https://api.github.com`.
    pub api_url: String,
    /// Whether `api_url` may be plain http on another machine.
    pub allow_http: bool,
    /// The token.
    pub token: Token,
    /// The labels of new issues.
    pub labels: Vec<String>,
    /// The settings of requests.
    pub http: Options,
    /// The most that the conversation about one issue may take.
    pub budget: Budget,
    /// The least time between two requests that write: services count faster writing as abuse.
    pub write_interval: Duration,
    /// The longest wait for a rate limit in one run. A longer wait is left to the next run.
    pub patience: Duration,
    /// Time between a lost answer and the question whether the service did the work: lists lag behind.
    pub settling: Duration,
}

/// A token, which no debug output shows.
#[derive(Clone)]
pub struct Token {
    /// The environment variable that the token came from, for messages.
    pub variable: String,
    /// The token.
    pub value: String,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({})", self.variable)
    }
}

/// A service that keeps issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// GitHub, and GitHub Enterprise Server.
    GitHub,
    /// GitLab.
    GitLab,
    /// Forgejo, and Gitea.
    Forgejo,
}

impl Service {
    /// The name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Forgejo => "Forgejo",
        }
    }

    /// The root of the interface of the service's own server, if it has one.
    pub const fn default_api_url(self) -> Option<&'static str> {
        match self {
            Self::GitHub => Some("https://api.github.com"),
            Self::GitLab => Some("https://gitlab.com/api/v4"),
            Self::Forgejo => None,
        }
    }
}

/// The notifier cannot work with its settings.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL of the interface.
    #[error("`api-url`: {0}")]
    ApiUrl(String),
    /// The name of the repository.
    #[error("`repository` should be {expected}, not {found:?}")]
    Repository {
        /// The expected value.
        expected: &'static str,
        /// The value found.
        found: String,
    },
    /// TLS or a file of certificates.
    #[error(transparent)]
    Http(#[from] urldb_http::Error),
}
