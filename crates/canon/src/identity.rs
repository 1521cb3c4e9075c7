//! The record that a URL names when no site rules apply.
//!
//! The host names the domain file, the path (with its query) names the record. The scheme is
//! reported, but it is not part of a record.
//!
//! The raw input is checked before anything is rewritten, so that nothing is repaired silently
//! except white space around the URL. The rules for host and path stand in the modules `host` and
//! `path`. The result is a fixpoint of [`identify`], and of the `url` crate, which sends the
//! requests.

use std::fmt;
use std::ops::Range;

use crate::error::{PathError, UrlError, redact, redact_part, secret_span};
use crate::host::canonical_host;
use crate::path::{canonical_path, check_characters, without_fragment};

urldb_text::named_enum! {
    /// The scheme of a URL that can be watched.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
    pub enum Scheme {
        /// `http`, port 80.
        Http = "http",
        /// `https`, port 443.
        Https = "https",
    }
}

impl Scheme {
    /// The port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }

    fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|s| s.as_str().eq_ignore_ascii_case(name))
    }
}

/// A URL in the spelling of the database; displayed as a URL. Only [`identify`] and [`rules`] make one.
///
/// [`rules`]: crate::rules
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Identity {
    /// The scheme of the input.
    pub scheme: Scheme,
    /// The name of the domain file: the lower-case host, in Punycode, without a trailing dot, and with `+8080` for a
    /// port that is not the default one. Where a domain file lists this name among its `cnames`, the caller replaces
    /// it with the name of that file.
    pub host: String,
    /// Path and query; starts with `/`.
    pub path: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = authority(&self.host);
        write!(f, "{}://{authority}{}", self.scheme, self.path)
    }
}

/// Host and port of a URL, from the name of its domain file.
///
/// ```
/// assert_eq!(urldb_canon::authority("a.test+8080"), "a.test:8080");
/// ```
pub fn authority(domain: &str) -> String {
    domain.replacen('+', ":", 1)
}

/// The host of a domain file, from its name.
///
/// ```
/// assert_eq!(urldb_canon::host_of("a.test+8080"), "a.test");
/// ```
pub fn host_of(domain: &str) -> &str {
    domain.split('+').next().unwrap_or(domain)
}

/// Whether the text is a port in the spelling of domain files: a number without zeros before it. The default ports of
/// `http` and `https` are none.
pub fn is_port(text: &str) -> bool {
    let is_free = |port: u16| !matches!(port, 80 | 443);
    text.parse().is_ok_and(is_free) && !text.starts_with(['0', '+'])
}

/// The URL of a request: a scheme, a host in the spelling of domain files, and a path that begins
/// with a slash, so that no part of the path can become part of the host.
///
/// ```
/// use urldb_canon::{RequestUrl, Scheme};
///
/// let url = RequestUrl::new(Scheme::Http, "a.test", "/x").unwrap();
/// assert_eq!(url.as_str(), "http://a.test/x");
/// assert_eq!(url.host(), "a.test");
/// let url = RequestUrl::new(Scheme::Http, "a.test+8080", "/x").unwrap();
/// assert_eq!(url.as_str(), "http://a.test:8080/x");
/// assert_eq!((url.host(), &*url.domain()), ("a.test", "a.test+8080"));
/// assert_eq!(RequestUrl::from_text(url.as_str()).as_ref(), Some(&url));
/// assert!(RequestUrl::from_text("http://a.test:443/x").is_some());
/// assert_eq!(RequestUrl::from_text("http://a.test:+81/x"), None);
/// assert_eq!(RequestUrl::from_text("ftp://a.test/x"), None);
/// assert_eq!(url.at_path("/y").unwrap().as_str(), "http://a.test:8080/y");
/// assert!(url.at_path("1/y").is_none());
/// assert!(RequestUrl::new(Scheme::Http, "a.test", ".other.test/x").is_none());
/// assert!(RequestUrl::new(Scheme::Http, "a.test@other.test", "/x").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestUrl(String);

impl RequestUrl {
    /// The URL of `path` at the host, and perhaps port, of a domain file; `None` if one of them is not valid.
    pub fn new(scheme: Scheme, domain: &str, path: &str) -> Option<Self> {
        let host = host_of(domain);
        let is_valid = canonical_host(host).is_ok_and(|canonical| canonical == host)
            && domain.split_once('+').is_none_or(|(_, port)| is_port(port))
            && path.starts_with('/');
        is_valid.then(|| Self([scheme.as_str(), "://", &authority(domain), path].concat()))
    }

    /// The URL that [`Self::as_str`] wrote; `None` for other texts.
    pub fn from_text(text: &str) -> Option<Self> {
        let (scheme, rest) = match text.strip_prefix("http://") {
            Some(rest) => (Scheme::Http, rest),
            None => (Scheme::Https, text.strip_prefix("https://")?),
        };
        let (authority, path) = rest.split_at(rest.find('/')?);
        // A place of a configuration may be at any port.
        let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
        Self::new(scheme, host, path)?;
        (is_port(port) || matches!(port, "80" | "443")).then(|| Self(text.to_owned()))
    }

    /// The URL of another path at the same host and port; `None` if the path is not valid.
    pub fn at_path(&self, path: &str) -> Option<Self> {
        let origin = &self.0[..self.path_start()];
        path.starts_with('/').then(|| Self([origin, path].concat()))
    }

    /// The host, as in the text of the URL.
    pub fn host(&self) -> &str {
        &self.0[self.host_range()]
    }

    /// Host and port in the spelling of domain files.
    pub fn domain(&self) -> String {
        self.0[self.host_range().start..self.path_start()].replace(':', "+")
    }

    fn host_range(&self) -> Range<usize> {
        let start = match self.0.strip_prefix("http://") {
            Some(_) => "http://".len(),
            None => "https://".len(),
        };
        start..self.position(start, |byte| matches!(byte, b'/' | b':'))
    }

    fn path_start(&self) -> usize {
        self.position(self.host_range().end, |byte| byte == b'/')
    }

    /// The first such byte after `start`; every URL has a slash after its host.
    fn position(&self, start: usize, is_wanted: impl Fn(u8) -> bool) -> usize {
        let at = self.0.bytes().skip(start).position(is_wanted);
        at.map_or(self.0.len(), |at| start + at)
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for RequestUrl {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<RequestUrl> for String {
    fn from(url: RequestUrl) -> Self {
        url.0
    }
}

/// The identity of the URL `input`.
///
/// # Errors
/// [`UrlError`] when the URL cannot be watched, or when programs could read the URL differently.
pub fn identify(input: &str) -> Result<Identity, UrlError> {
    let (mut identity, port) = identify_with_port(input)?;
    if port != identity.scheme.default_port() {
        let port = port.to_string();
        if !is_port(&port) {
            return Err(port_error(input, &port));
        }
        identity.host = [&identity.host, "+", &port].concat();
    }
    Ok(identity)
}

/// The identity of `input` and its port, which site rules may allow.
pub(crate) fn identify_with_port(input: &str) -> Result<(Identity, u16), UrlError> {
    let input = input.trim_ascii();
    check_characters(input)?;
    let (scheme, rest) = split_scheme(input)?;
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err(UrlError::Userinfo {
            input: redact(input),
        });
    }
    let (host, port) = split_port(authority, scheme).map_err(|port| port_error(input, port))?;
    let host = canonical_host(host)
        .map_err(|problem| UrlError::Host {
            host: redact_part(input, host),
            problem,
        })?
        .into_owned();
    let path = canonical_path(path).map_err(|error| match error {
        UrlError::BadPercentEncoding { escape } => UrlError::BadPercentEncoding {
            escape: redact_part(input, &escape),
        },
        other => other,
    })?;
    Ok((Identity { scheme, host, path }, port))
}

/// Checks that [`identify`] would write `path` in the same way.
///
/// # Errors
/// [`PathError::NotCanonical`] with the spelling to use, or [`PathError::Invalid`] where none can
/// be suggested.
pub fn check_path(path: &str) -> Result<(), PathError> {
    let trimmed = path.trim_ascii();
    check_characters(trimmed)?;
    let suggestion = if trimmed.starts_with('/') {
        canonical_path(trimmed)?
    } else if let Ok(identity) = identify(trimmed) {
        identity.path
    } else {
        canonical_path(&format!("/{trimmed}"))?
    };
    if suggestion == path {
        return Ok(());
    }
    Err(PathError::NotCanonical {
        path: redact(path),
        problem: first_problem(path),
        suggestion,
    })
}

/// The most obvious reason why a path is not canonical; reads on from the path.
fn first_problem(path: &str) -> &'static str {
    if path.trim_ascii() != path {
        "has white space around it"
    } else if !path.starts_with('/') {
        "does not start with a slash"
    } else if path.contains('#') {
        "has a fragment, which is never sent"
    } else {
        "is spelled differently in a canonical URL"
    }
}

fn port_error(input: &str, port: &str) -> UrlError {
    UrlError::Port {
        port: redact_part(input, port),
    }
}

/// The scheme, and the text after its `://`.
fn split_scheme(input: &str) -> Result<(Scheme, &str), UrlError> {
    let not_absolute = || UrlError::NotAbsolute {
        input: redact(input),
        suggestion: suggestion(input),
    };
    let (name, rest) = input.split_once(':').ok_or_else(not_absolute)?;
    if !is_scheme(name) {
        return Err(not_absolute());
    }
    match (Scheme::parse(name), rest.strip_prefix("//")) {
        (Some(scheme), Some(rest)) => Ok((scheme, rest)),
        (Some(_), None) => Err(not_absolute()),
        // `example.com:80/x` and `localhost:8080` are hosts with ports, although the grammar allows schemes
        // with dots.
        (None, None) if name.contains('.') || starts_with_port(rest) => Err(not_absolute()),
        (None, _) => Err(UrlError::Scheme {
            scheme: name.to_owned(),
        }),
    }
}

/// Whether the text begins with a number that can be a port: unlike `doi:10.1000/182` and `tel:5551234`.
fn starts_with_port(text: &str) -> bool {
    let end = text.find(['/', '?', '#']).unwrap_or(text.len());
    let digits = &text[..end];
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.parse::<u16>().is_ok()
}

fn is_scheme(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

/// The URL that an input without scheme or slashes probably means, if `urldb add` accepts that URL.
fn suggestion(input: &str) -> Option<String> {
    if secret_span(input).is_some() {
        return None;
    }
    let (scheme, rest) = input
        .split_once(':')
        .and_then(|(name, rest)| Some((Scheme::parse(name)?, rest)))
        .unwrap_or((Scheme::Http, input));
    // One slash alone is a path on some host, and a host cannot be guessed.
    if rest.len() == input.len() && rest.starts_with('/') && !rest.starts_with("//") {
        return None;
    }
    let url = format!(
        "{scheme}://{}",
        without_fragment(rest).trim_start_matches('/')
    );
    identify(&url).ok().map(|_| url)
}

/// Host and port of `authority`. The error is the port as written, which is not a port number.
fn split_port(authority: &str, scheme: Scheme) -> Result<(&str, u16), &str> {
    let default = scheme.default_port();
    // The colons of an IPv6 literal start no port. The host check refuses the literal.
    if authority.starts_with('[') {
        return Ok((authority, default));
    }
    match authority.rsplit_once(':') {
        None => Ok((authority, default)),
        Some((host, "")) => Ok((host, default)),
        Some((host, port)) => {
            // The standard library would accept a number with a sign.
            Some(port)
                .filter(|port| !port.starts_with('+'))
                .and_then(|port| port.parse().ok())
                .map(|number| (host, number))
                .ok_or(port)
        }
    }
}
