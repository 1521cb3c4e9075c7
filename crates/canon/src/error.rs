//! Errors in a URL or a `_path`, with messages for people.
//!
//! Every error has a stable code in kebab case. No message shows a password: see [`redact`].

use thiserror::Error;

/// The reason why a URL cannot be added.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum UrlError {
    /// The input does not start with `http://` or `https://` and a host.
    #[error("`{input}` is not an absolute URL{}", suggest(.suggestion.as_deref()))]
    NotAbsolute {
        /// The input, redacted.
        input: String,
        /// The URL that was probably meant, which `urldb add` accepts.
        suggestion: Option<String>,
    },
    /// The scheme is neither `http` nor `https`.
    #[error("scheme `{scheme}` is not supported: only http and https URLs can be watched")]
    Scheme {
        /// The scheme as written.
        scheme: String,
    },
    /// The port is none, or the default port of the other scheme.
    #[error("port `{port}` cannot be watched: write a number from 1 to 65535, but not 80 or 443")]
    Port {
        /// The port as written, or `***` where it could be part of a password.
        port: String,
    },
    /// The host cannot be the name of a domain file.
    #[error("host `{host}` {problem}")]
    Host {
        /// The host as written, or `***` where it could be part of user information.
        host: String,
        /// The reason, worded so that it continues a sentence that starts with the host.
        problem: &'static str,
    },
    /// A user name or a password stands before the host.
    #[error(
        "`{input}` carries a user name or password: remove everything up to the `@`, the database is public"
    )]
    Userinfo {
        /// The input, redacted.
        input: String,
    },
    /// A backslash, which some programs read as a slash and others do not.
    #[error(
        "`{input}` has a backslash: write `/` for a separator, or `%5C` if a backslash is meant"
    )]
    Backslash {
        /// The input, redacted.
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

/// The reason why [`identify`](crate::identify) would write a `_path` in another way.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PathError {
    /// The path is valid, but spelled differently from the canonical form.
    #[error("path `{path}` {problem}: write `{suggestion}`")]
    NotCanonical {
        /// The path as written.
        path: String,
        /// The most obvious reason, worded so that it continues a sentence that starts with the path.
        problem: &'static str,
        /// The spelling to use instead.
        suggestion: String,
    },
    /// The path cannot be part of any URL, and no correction is obvious.
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

fn suggest(suggestion: Option<&str>) -> String {
    suggestion.map_or_else(
        || ": it must start with http:// or https:// and a host".to_owned(),
        |url| format!(": did you mean `{url}`?"),
    )
}

/// The replacement for text that could be a secret.
pub(crate) const REDACTED: &str = "***";

/// The byte range of `input` that may hold user information: from after `//` to the last `@`.
///
/// Deliberately too wide: an unescaped `/` in a password ends the authority for a parser, but no
/// message may show the rest of that password.
pub(crate) fn secret_span(input: &str) -> Option<std::ops::Range<usize>> {
    let start = input.find("//").map_or(0, |at| at + 2);
    let end = input.rfind('@')?;
    let authority = input.get(start..)?.split(['/', '?', '#', '\\']).next()?;
    (start <= end && authority.contains([':', '@'])).then_some(start..end)
}

/// `input` with possible user information replaced by [`REDACTED`].
pub(crate) fn redact(input: &str) -> String {
    match secret_span(input) {
        Some(span) => format!("{}{REDACTED}{}", &input[..span.start], &input[span.end..]),
        None => input.to_owned(),
    }
}

/// `part`, or [`REDACTED`] where `input` may hold a password.
pub(crate) fn redact_part(input: &str, part: &str) -> String {
    if secret_span(input).is_some() {
        REDACTED
    } else {
        part
    }
    .to_owned()
}
