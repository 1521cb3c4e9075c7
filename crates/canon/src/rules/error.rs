//! The reasons why a URL resolves to no page.

use thiserror::Error;

use crate::error::UrlError;

/// The reason why the rules do not admit a URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// The input is no URL, or a URL that cannot be watched.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The URL is too long for website rules.
    #[error("the URL is {length} bytes long: rules do not match URLs of more than {limit}")]
    TooLong {
        /// The length of the URL in bytes.
        length: usize,
        /// The most bytes allowed.
        limit: usize,
    },
    /// No rule of the domain's script matches the host.
    #[error(
        "no rule of `{domain}` matches the host `{host}`{}",
        suggestion(.default.as_deref())
    )]
    UnknownDomain {
        /// The host.
        host: String,
        /// The registrable domain, which selects the script.
        domain: String,
        /// The default website of the domain, a suggestion for people.
        default: Option<Box<DefaultWebsite>>,
    },
    /// The rule that matched turns the host into an invalid host name.
    #[error("the website `{website}` {problem}")]
    BadWebsite {
        /// The result of the rule.
        website: String,
        /// The reason, worded so that it continues a sentence that starts with the website.
        problem: &'static str,
    },
    /// No rule of the website's script matches protocol, port, path and query.
    #[error(
        "no rule of the website `{website}` matches the URL{}",
        suggestion(.default.as_deref())
    )]
    UnknownWebsite {
        /// The website, which selects the script.
        website: String,
        /// The default website of the domain, if that is another one: a suggestion for people.
        default: Option<Box<DefaultWebsite>>,
    },
    /// The URL has a parameter for which the rule has no variable, and the rule is strict.
    #[error(
        "the website `{website}` has no parameter `{name}`{}",
        .nearest.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
    )]
    UnknownParameter {
        /// The website.
        website: String,
        /// The name of the parameter.
        name: String,
        /// The most similar name of a parameter of the rule.
        nearest: Option<String>,
    },
    /// The parameter that has the path has a value that is no path.
    #[error(
        "`{name}` has the path of the page, and `{value}` has segments that no path keeps: `.` or `..`"
    )]
    BadPathParameter {
        /// The name of the parameter.
        name: String,
        /// The value as written.
        value: String,
    },
    /// The query has a parameter twice for which the rule has a variable.
    #[error("the query has `{name}` more than once, and rules cannot tell which value is meant")]
    DuplicateParameter {
        /// The name of the parameter.
        name: String,
    },
    /// The URL gives an option two values.
    #[error(
        "the URL gives `{name}` two values, `{first}` and `{second}`, and rules cannot tell which is meant"
    )]
    ContradictoryOption {
        /// The name of the option.
        name: String,
        /// One value.
        first: String,
        /// The other value.
        second: String,
    },
    /// The rules make a URL for the page, but do not resolve that URL to the same page.
    #[error(transparent)]
    Rejected(#[from] RejectedUrl),
}

impl ResolveError {
    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Url(error) => error.code(),
            Self::TooLong { .. } => "url-too-long",
            Self::UnknownDomain { .. } => "unknown-domain",
            Self::BadWebsite { .. } => "bad-website",
            Self::UnknownWebsite { .. } => "unknown-website",
            Self::UnknownParameter { .. } => "unknown-parameter",
            Self::BadPathParameter { .. } => "bad-path-parameter",
            Self::DuplicateParameter { .. } => "duplicate-parameter",
            Self::ContradictoryOption { .. } => "contradictory-option",
            Self::Rejected(_) => "rule-rejected",
        }
    }
}

/// The website to which the rules of a domain take its bare name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultWebsite {
    /// The host of the website.
    pub website: String,
    /// The refused URL at this website, if the rules admit that.
    pub url: Option<String>,
}

/// The default website, worded so that it continues a message.
fn suggestion(default: Option<&DefaultWebsite>) -> String {
    match default {
        None => String::new(),
        Some(DefaultWebsite { url: Some(url), .. }) => format!("; did you mean {url}?"),
        Some(DefaultWebsite { website, .. }) => {
            format!("; the default website of the domain is `{website}`")
        }
    }
}

/// A URL that the rules make for a page, and do not resolve to the same page.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the rules rewrite the URL as `{url}`, {reason}: change the rules")]
pub struct RejectedUrl {
    /// The official URL, or the URL of the page.
    pub url: String,
    /// The reason, worded so that it continues a sentence that ends with the URL.
    pub reason: String,
}
