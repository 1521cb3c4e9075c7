//! What can be wrong with a URL or a `_path`, in words for people.
//!
//! Every error has a stable kebab-case code. No message shows a password: see [`redact`].

use thiserror::Error;

/// Why a URL cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// There is no `http://` or `https://` with a host behind it.
    #[error("`{input}` is not an absolute URL{}", help(.suggestion.as_deref()))]
    NotAbsolute {
        /// What was given, redacted.
        input: String,
        /// A URL that was probably meant; it can be added.
        suggestion: Option<String>,
    },
    /// The scheme is neither `http` nor `https`.
    #[error("scheme `{scheme}` is not supported: only http and https URLs can be watched")]
    Scheme {
        /// The scheme as written.
        scheme: String,
    },
    /// The port is not the default port of the scheme.
    #[error(
        "port `{port}` is not the default port of {scheme}: leave it out, other ports cannot be watched"
    )]
    Port {
        /// The port as written, or `***` where it could be part of a password.
        port: String,
        /// `http` or `https`.
        scheme: &'static str,
    },
    /// The host cannot be the name of a domain file.
    #[error("host `{host}` {problem}")]
    Host {
        /// The host as written, or `***` where it could be part of user information.
        host: String,
        /// What is wrong with it; reads on from the host.
        problem: &'static str,
    },
    /// There is a user name or a password before the host.
    #[error(
        "`{input}` carries a user name or password: remove everything up to the `@`, the database is public"
    )]
    Userinfo {
        /// What was given, redacted.
        input: String,
    },
    /// A backslash, which some programs read as a slash and others do not.
    #[error(
        "`{input}` has a backslash: write `/` for a separator, or `%5C` if a backslash is meant"
    )]
    Backslash {
        /// What was given, redacted.
        input: String,
    },
    /// A control character, such as a tab or a line break.
    #[error("control character U+{:04X} at character {position}: remove it, or write it as a percent escape", *.character as u32)]
    ControlCharacter {
        /// The character.
        character: char,
        /// Its position, counted in characters from 1, after surrounding white space is trimmed.
        position: usize,
    },
    /// A `%` that two hexadecimal digits do not follow.
    #[error("`{escape}` is not a percent escape: write `%25` if a percent sign is meant")]
    BadPercentEncoding {
        /// The `%` and up to two characters after it, or `***` where it could be part of a password.
        escape: String,
    },
}

impl UrlError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotAbsolute { .. } => "not-absolute",
            Self::Scheme { .. } => "scheme",
            Self::Port { .. } => "port",
            Self::Host { .. } => "host",
            Self::Userinfo { .. } => "userinfo",
            Self::Backslash { .. } => "backslash",
            Self::ControlCharacter { .. } => "control-character",
            Self::BadPercentEncoding { .. } => "bad-percent-encoding",
        }
    }
}

/// Why a `_path` is not as [`identify`](crate::identify) would write it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path has a better spelling.
    #[error("path `{path}` {problem}: write `{suggestion}`")]
    NotCanonical {
        /// The path as written.
        path: String,
        /// The first thing that is wrong with it; reads on from the path.
        problem: &'static str,
        /// The spelling to use instead.
        suggestion: String,
    },
    /// The path cannot be part of any URL, and no single spelling is clearly meant.
    #[error(transparent)]
    Invalid(#[from] UrlError),
}

impl PathError {
    /// The stable code of this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotCanonical { .. } => "path-not-canonical",
            Self::Invalid(error) => error.code(),
        }
    }
}

fn help(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(
        || ": it must start with http:// or https:// and a host".to_owned(),
        |url| format!(": did you mean `{url}`?"),
    )
}

/// What stands in for anything that could be a secret.
pub(crate) const REDACTED: &str = "***";

/// Where in `input` user information may stand, if it may stand there at all: from after `//` to
/// the last `@`. Deliberately too wide: a password with an unescaped `/` ends the authority for a
/// parser, yet must not be shown.
pub(crate) fn secret_span(input: &str) -> Option<std::ops::Range<usize>> {
    let start = input.find("//").map_or(0, |at| at + 2);
    let end = input.rfind('@')?;
    let authority = input.get(start..)?.split(['/', '?', '#', '\\']).next()?;
    (start <= end && authority.contains([':', '@'])).then_some(start..end)
}

/// `input` without what may be user information.
pub(crate) fn redact(input: &str) -> String {
    match secret_span(input) {
        Some(span) => format!("{}{REDACTED}{}", &input[..span.start], &input[span.end..]),
        None => input.to_owned(),
    }
}

/// `part` of `input`, unless `input` may hold a password anywhere.
pub(crate) fn redact_part(input: &str, part: &str) -> String {
    if secret_span(input).is_some() {
        REDACTED
    } else {
        part
    }
    .to_owned()
}
