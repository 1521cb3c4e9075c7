//! Why a URL has no page.

use thiserror::Error;

use crate::error::UrlError;

/// Why the rules do not admit a URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// It is no URL, or one that cannot be watched.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// It is longer than rules are asked about.
    #[error("the URL is {length} bytes long: rules are not asked about more than {limit}")]
    TooLong {
        /// Its length in bytes.
        length: usize,
        /// The longest that is allowed.
        limit: usize,
    },
    /// No rule of the domain's script matches the host.
    #[error("no rule of `{domain}` matches the host `{host}`")]
    UnknownDomain {
        /// The host.
        host: String,
        /// Its registrable domain, which names the script.
        domain: String,
    },
    /// The rule that matched makes something of the host that is no host name.
    #[error("the website `{website}` {problem}")]
    BadWebsite {
        /// What the rule made.
        website: String,
        /// What is wrong with it; reads on from the website.
        problem: &'static str,
    },
    /// No rule of the website's script matches protocol, port, path and query.
    #[error("no rule of the website `{website}` matches the URL")]
    UnknownWebsite {
        /// The website, which names the script.
        website: String,
    },
    /// A parameter of the query that the rule knows is there more than once.
    #[error("the query has `{name}` more than once: which is meant cannot be known")]
    DuplicateParameter {
        /// Its name.
        name: String,
    },
    /// The URL gives an option two values.
    #[error("the URL says `{name}` is `{first}` and `{second}`: which is meant cannot be known")]
    ContradictoryOption {
        /// The option.
        name: String,
        /// One value.
        first: String,
        /// The other.
        second: String,
    },
    /// The rules make a URL of the page that they would not take back to that page.
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

impl Failure {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Url(error) => error.code(),
            Self::TooLong { .. } => "url-too-long",
            Self::UnknownDomain { .. } => "unknown-domain",
            Self::BadWebsite { .. } => "bad-website",
            Self::UnknownWebsite { .. } => "unknown-website",
            Self::DuplicateParameter { .. } => "duplicate-parameter",
            Self::ContradictoryOption { .. } => "contradictory-option",
            Self::Rejected(_) => "rule-rejected",
        }
    }
}

/// A URL that the rules make of a page, and that is not the page's URL to the same rules.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the rules make `{url}` of it, {because}: they have to be changed")]
pub struct Rejected {
    /// The official URL, or that of the page.
    pub url: String,
    /// What the rules say of that URL; reads on from it.
    pub because: String,
}
