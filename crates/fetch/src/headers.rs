//! Request headers: the ones to send, and their form for archives and messages, without secrets.

use std::collections::BTreeMap;
use std::env::VarError;

use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::{Position, Url};
use urldb_text::secret_variable;
use urldb_verdict::{Failure, FailureKind, Request, Validators};

use crate::options::{HeaderSource, HostOptions};
use crate::redirect::NextRequest;
use crate::setting::{SettingError, SettingSection};

/// The value of a secret header in [`Hop::sent`](urldb_verdict::Hop::sent).
pub const REDACTED: &[u8] = b"[redacted]";

/// Headers whose values are always secret.
const SECRET: [HeaderName; 3] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::PROXY_AUTHORIZATION,
];

/// Headers that only the connection may set: another value would break its framing.
const FRAMING: [HeaderName; 8] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    header::EXPECT,
];

/// Headers that make a request conditional or ask for a range.
const CONDITIONS: [HeaderName; 6] = [
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
    header::IF_RANGE,
    header::RANGE,
];

/// The request headers of one host, from its configuration.
#[derive(Debug)]
pub(crate) struct RequestHeaders {
    user_agent: HeaderValue,
    configured: Vec<(HeaderName, HeaderValue)>,
}

impl RequestHeaders {
    /// Reads the headers of a host from its options, which `section` has; fails on a header that cannot
    /// be sent.
    pub(crate) fn new(
        section: &SettingSection,
        options: &HostOptions,
    ) -> Result<Self, SettingError> {
        let wrong = |key, message| SettingError {
            section: section.clone(),
            key,
            message,
        };
        let user_agent = HeaderValue::from_str(&options.user_agent).map_err(|error| {
            let name = &options.user_agent;
            wrong(
                "user-agent",
                format!("{name:?} cannot be sent as a header: {error}"),
            )
        })?;
        Ok(Self {
            user_agent,
            configured: configured(&options.headers)
                .map_err(|(key, message)| wrong(key, message))?,
        })
    }

    /// The headers of one request; `fresh` makes caches ask the origin.
    pub(crate) fn of(
        &self,
        next: &NextRequest,
        request: &Request,
        fresh: bool,
    ) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host_header(&next.url)?);
        headers.insert(header::USER_AGENT, self.user_agent.clone());
        headers.insert(header::ACCEPT, HeaderValue::from_static("*/*"));
        headers.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
        if fresh {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            headers.insert(header::PRAGMA, HeaderValue::from_static("no-cache"));
        }
        if next.is_same_origin {
            for (name, value) in self.configured.iter().filter(|_| request.within.is_none()) {
                headers.insert(name.clone(), value.clone());
            }
            let record_headers = record_headers(request, next.with_body)?;
            for (name, _) in &record_headers {
                headers.remove(name);
            }
            for (name, value) in record_headers {
                headers.append(name, value);
            }
        }
        if let Some(body) = request.body.as_ref().filter(|_| next.with_body) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        Ok(headers)
    }

    /// The headers for messages and archives: in order, secret values redacted.
    pub(crate) fn redacted(&self, headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
        let is_secret = |name: &HeaderName| {
            SECRET.contains(name) || self.configured.iter().any(|(known, _)| known == name)
        };
        let redact = |(name, value): (&HeaderName, &HeaderValue)| {
            let value = if is_secret(name) {
                REDACTED
            } else {
                value.as_bytes()
            };
            (title_case(name.as_str()), value.to_owned())
        };
        headers.iter().map(redact).collect()
    }
}

/// The name of a header as it is sent: `user-agent` is `User-Agent`.
fn title_case(name: &str) -> String {
    let mut is_first = true;
    name.chars()
        .map(|letter| {
            let shown = if is_first {
                letter.to_ascii_uppercase()
            } else {
                letter
            };
            is_first = letter == '-';
            shown
        })
        .collect()
}

/// Makes a request conditional: the server answers 304 if the content has the known validators.
/// Returns whether the request is conditional by that; a request that is conditional already, or for
/// a range, stays as it is.
pub(crate) fn add_validators(headers: &mut HeaderMap, known: &Validators) -> bool {
    if CONDITIONS.iter().any(|name| headers.contains_key(name)) {
        return false;
    }
    let validators = [
        (header::IF_NONE_MATCH, &known.etag),
        (header::IF_MODIFIED_SINCE, &known.last_modified),
    ];
    let mut is_added = false;
    for (name, value) in validators {
        let value = value.as_deref().map(HeaderValue::from_str);
        if let Some(Ok(value)) = value {
            headers.insert(name, value);
            is_added = true;
        }
    }
    is_added
}

/// The `headers` of a host's configuration; an error has the key that is wrong.
fn configured(
    headers: &BTreeMap<String, HeaderSource>,
) -> Result<Vec<(HeaderName, HeaderValue)>, (&'static str, String)> {
    let read = |(name, source): (&String, &HeaderSource)| {
        let key = match source {
            HeaderSource::Text(_) => "headers",
            HeaderSource::Env(_) => "headers-env",
        };
        let wrong = |message: String| (key, message);
        let known = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong(format!("{name:?} is not the name of a header")))?;
        if FRAMING.contains(&known) {
            return Err(wrong(format!(
                "the header {name:?} is set by the connection itself: remove it"
            )));
        }
        // No value in the messages: it may be a secret.
        let (value, place) = match source {
            HeaderSource::Text(text) => (text.clone(), String::new()),
            HeaderSource::Env(variable) => {
                let value = secret_variable(variable).map_err(|error| {
                    let reason = match error {
                        VarError::NotPresent => "which is not set",
                        VarError::NotUnicode(_) => "which is not valid UTF-8",
                    };
                    wrong(format!(
                        "the header {name:?} should be in the environment variable {variable}, {reason}"
                    ))
                })?;
                (value, format!(" in the environment variable {variable}"))
            }
        };
        let mut value = HeaderValue::from_str(&value).map_err(|error| {
            wrong(format!(
                "the value of the header {name:?}{place} cannot be sent: {error}"
            ))
        })?;
        value.set_sensitive(matches!(source, HeaderSource::Env(_)));
        Ok((known, value))
    };
    headers.iter().map(read).collect()
}

/// The names and the values of configured headers, for [`Request::headers`].
///
/// # Errors
/// The key that is wrong, and a sentence about its mistake, without secrets.
pub fn header_values(
    headers: &BTreeMap<String, HeaderSource>,
) -> Result<Vec<(String, String)>, (&'static str, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Ok(configured(headers)?
        .into_iter()
        .map(|(name, value)| (name.to_string(), text(&value)))
        .collect())
}

fn record_headers(
    request: &Request,
    with_body: bool,
) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let mut headers = Vec::with_capacity(request.headers.len());
    for (name, value) in &request.headers {
        let refuse = || Failure {
            kind: FailureKind::Refused,
            detail: format!("the record's request header {name:?} cannot be sent"),
            certificate: None,
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
        let value = HeaderValue::from_str(value).map_err(|_| refuse())?;
        if FRAMING.contains(&name) {
            return Err(refuse());
        }
        let is_about_body = name.as_str().starts_with("content-");
        if with_body || !is_about_body {
            headers.push((name, value));
        }
    }
    Ok(headers)
}

fn host_header(url: &Url) -> Result<HeaderValue, Failure> {
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    HeaderValue::from_str(authority).map_err(|_| Failure {
        kind: FailureKind::Refused,
        detail: format!("{authority:?} cannot be sent as a Host header"),
        certificate: None,
    })
}
