//! The parts of a URL on which rules work.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::error::UrlError;
use crate::identity::{Scheme, identify_with_port};

/// The parts of a URL, in the spelling of [`identify`](crate::identify()); displayed as a URL.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct UrlParts {
    /// The scheme.
    #[serde(serialize_with = "as_text")]
    pub scheme: Scheme,
    /// The host.
    pub host: String,
    /// The port; the default port of the scheme where the URL names none.
    pub port: u16,
    /// The path, without query; starts with `/`.
    pub path: String,
    /// The text after the `?`; never empty.
    pub query: Option<String>,
}

impl UrlParts {
    /// Parses `url`.
    ///
    /// # Errors
    /// Those of [`identify`](crate::identify()), except that any port is allowed.
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

impl fmt::Display for UrlParts {
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

urldb_text::named_enum! {
    /// The part of a URL that a variable matches.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum UrlPart {
        /// The host, without the registrable domain.
        Host = "host",
        /// The path.
        Path = "path",
        /// The value of the query parameter that has the name of the variable.
        Query = "query",
    }
}

impl UrlPart {
    /// The character that ends a label of a host or a segment of a path.
    pub(crate) fn separator(self) -> Option<char> {
        match self {
            Self::Host => Some('.'),
            Self::Path => Some('/'),
            Self::Query => None,
        }
    }
}

/// Serializes the name of an enum.
pub(super) fn as_text<T: fmt::Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(value)
}
