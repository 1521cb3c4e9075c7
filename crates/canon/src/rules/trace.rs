//! What the rules make of a URL, and how they came to it.

use std::collections::BTreeMap;
use std::fmt;

use super::failure::{Failure, Rejected};
use crate::error::UrlError;
use crate::identity::{Identity, Scheme, identify_with_port};

/// A URL taken apart, in the spelling of [`identify`](crate::identify()); displayed as a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The scheme.
    pub scheme: Scheme,
    /// The host.
    pub host: String,
    /// The port; the default one of the scheme where the URL names none.
    pub port: u16,
    /// The path, without query; starts with `/`.
    pub path: String,
    /// What follows the `?`; never empty.
    pub query: Option<String>,
}

impl Parts {
    /// Takes `url` apart.
    ///
    /// # Errors
    /// What [`identify`](crate::identify()) refuses, but ports.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (identity, port) = identify_with_port(url)?;
        let (path, query) = match identity.path.split_once('?') {
            Some((path, query)) => (path.to_owned(), Some(query.to_owned())),
            None => (identity.path, None),
        };
        Ok(Self {
            scheme: identity.scheme,
            host: identity.host,
            port,
            path,
            query,
        })
    }
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        if self.port != self.scheme.default_port() {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.path)?;
        match &self.query {
            Some(query) => write!(f, "?{query}"),
            None => Ok(()),
        }
    }
}

/// Where a variable looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The host, below the registrable domain.
    Host,
    /// The path.
    Path,
    /// The parameter of its name.
    Query,
}

impl Part {
    /// `host`, `path` or `query`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Path => "path",
            Self::Query => "query",
        }
    }

    /// What ends a piece of it.
    pub(crate) fn separator(self) -> Option<char> {
        match self {
            Self::Host => Some('.'),
            Self::Path => Some('/'),
            Self::Query => None,
        }
    }
}

/// What a variable is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// A plain string: its text stays in the name of the website or page.
    Group,
    /// `website()`: its replacement stays.
    Website,
    /// `flag()`: an option; nothing stays.
    Flag,
}

impl Role {
    /// `group`, `website` or `flag`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Website => "website",
            Self::Flag => "flag",
        }
    }
}

/// The namespace of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespace {
    /// `canonalize` itself: this is where the official URL has the option.
    Official,
    /// That of host variables.
    Domain,
    /// That of path and query variables.
    Site,
    /// One more, so that a name can be there twice.
    Options,
}

impl Namespace {
    /// The namespace in full.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "canonalize",
            Self::Domain => "canonalize::domain",
            Self::Site => "canonalize::site",
            Self::Options => "canonalize::options",
        }
    }

    /// That of `name` within `canonalize`.
    pub(crate) fn within(name: &str) -> Option<Self> {
        match name {
            "domain" => Some(Self::Domain),
            "site" => Some(Self::Site),
            "options" => Some(Self::Options),
            _ => None,
        }
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// The URL: the text that matched.
    Matched(String),
    /// The rule: the URL has no such part.
    Default,
    /// Nowhere: the URL has no such part, and the rule no default. There is no value.
    Unset,
}

/// A rule, for people.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RuleRef {
    /// Its name.
    pub name: String,
    /// The line of its name, from 1.
    pub line: usize,
}

/// A variable of a rule that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name.
    pub name: String,
    /// Where it looks.
    pub part: Part,
    /// What it is for.
    pub role: Role,
    /// Its value, without a separator at the end.
    pub value: Option<String>,
    /// Where the value came from.
    pub source: Source,
    /// The line of its name, from 1.
    pub line: usize,
}

/// How a rule took the URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// It matched.
    Matched,
    /// It matched once separators were added to its patterns.
    MatchedWithSeparators,
    /// The protocol is another.
    Protocol,
    /// The port is another.
    Port,
    /// A parameter of the query is missing, or has no value that the rule knows.
    Query,
    /// The path does not match.
    Path,
    /// The host does not match.
    Host,
}

/// A rule that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The rule.
    pub rule: RuleRef,
    /// Whether path and query were taken in lower case: the second try of a website script.
    pub lower_case: bool,
    /// How it went.
    pub verdict: Verdict,
}

/// Each step from a URL to its page. What comes after a step that failed is empty.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The URL taken apart.
    pub parts: Option<Parts>,
    /// The registrable domain, which names the script of the host.
    pub domain: Option<String>,
    /// The rules of the domain's script that were tried, in order; the last one matched, or none
    /// did. `None`: the domain has no script.
    pub domain_rules: Option<Vec<Tried>>,
    /// The website: it names the script of the rest, and the domain file.
    pub website: Option<String>,
    /// The rules of the website's script that were tried, as `domain_rules`.
    pub website_rules: Option<Vec<Tried>>,
    /// The variables of the rules that matched, in their order: host, query, path.
    pub variables: Vec<Variable>,
    /// What the URL is.
    pub outcome: Result<Resolution, Failure>,
}

/// What the rules make of a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    /// The host under which the page is kept: page canonicalization, first part.
    pub website: String,
    /// Path and query under which the page is kept: the second part.
    pub page: String,
    /// Options by name: what the URL or else a default says. The other variables are in it too.
    pub options: BTreeMap<String, String>,
    /// Website and page as a URL.
    pub page_url: String,
    /// URL canonicalization: the page's URL with the options that have an official position.
    pub official: Result<String, Rejected>,
    /// The record that the URL is: website and page. An error where the page cannot be a record:
    /// the port is not the default one, or rules make a URL of it that they would not take back.
    pub record: Result<Identity, Failure>,
}
