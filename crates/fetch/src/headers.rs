//! The headers of a request: what is sent, and what of it may be shown.

use std::collections::BTreeMap;

use anyhow::Context;
use reqwest::header::{self, HeaderMap, HeaderName, HeaderValue};
use url::{Position, Url};

use super::redirect::NextRequest;
use crate::HostOptions;
use urldb_verdict::{Failure, FailureKind};
use urldb_verdict::{Request, Validators};

/// What is shown in place of a secret.
const REDACTED: &[u8] = b"[redacted]";

/// Headers whose values are secrets wherever they come from.
const SECRET: [HeaderName; 3] = [
    header::AUTHORIZATION,
    header::COOKIE,
    header::PROXY_AUTHORIZATION,
];

/// Headers that are the connection's own business, and would break its framing.
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

/// Headers that ask for some versions or parts of a content only.
const CONDITIONS: [HeaderName; 6] = [
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
    header::IF_RANGE,
    header::RANGE,
];

/// The headers that the configuration adds to requests.
#[derive(Debug)]
pub(super) struct Headers {
    user_agent: HeaderValue,
    configured: Vec<(HeaderName, HeaderValue)>,
}

impl Headers {
    /// Reads them from the configuration.
    pub(super) fn new(options: &HostOptions) -> anyhow::Result<Self> {
        let user_agent = HeaderValue::from_str(&options.user_agent).with_context(|| {
            format!(
                "user-agent {:?} cannot be sent as a header",
                options.user_agent
            )
        })?;
        Ok(Self {
            user_agent,
            configured: configured(&options.headers)?,
        })
    }

    /// The headers of one request. `fresh` asks caches to stand aside.
    pub(super) fn of(
        &self,
        ask: &NextRequest,
        request: &Request,
        fresh: bool,
    ) -> Result<HeaderMap, Failure> {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host(&ask.url)?);
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
        if ask.at_home {
            for (name, value) in &self.configured {
                headers.insert(name.clone(), value.clone());
            }
            let own = own(request, ask.with_body)?;
            for (name, _) in &own {
                headers.remove(name);
            }
            for (name, value) in own {
                headers.append(name, value);
            }
        }
        if let Some(body) = request.body.as_ref().filter(|_| ask.with_body) {
            headers.insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        Ok(headers)
    }

    /// Headers as they may be shown and archived: in order, secrets redacted.
    pub(super) fn shown(&self, headers: &HeaderMap) -> Vec<(String, Vec<u8>)> {
        let secret = |name: &HeaderName| {
            SECRET.contains(name) || self.configured.iter().any(|(known, _)| known == name)
        };
        let show = |(name, value): (&HeaderName, &HeaderValue)| {
            let value = if secret(name) {
                REDACTED
            } else {
                value.as_bytes()
            };
            (name.as_str().to_owned(), value.to_owned())
        };
        headers.iter().map(show).collect()
    }
}

/// Asks to be answered 304 if the content is the one that is known; unless the request is about
/// versions or parts already. Returns whether it does.
pub(super) fn add_validators(headers: &mut HeaderMap, known: &Validators) -> bool {
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

fn configured(
    headers: &BTreeMap<String, String>,
) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let read = |(name, value): (&String, &String)| {
        let known = HeaderName::from_bytes(name.as_bytes())
            .with_context(|| format!("{name:?} under `headers` is not the name of a header"))?;
        anyhow::ensure!(
            !FRAMING.contains(&known),
            "the header {name:?} under `headers` is set by the connection itself: remove it"
        );
        // The value may be a secret: it is not shown.
        let value = HeaderValue::from_str(value).with_context(|| {
            format!("the value of the header {name:?} under `headers` cannot be sent")
        })?;
        Ok((known, value))
    };
    headers.iter().map(read).collect()
}

fn own(request: &Request, with_body: bool) -> Result<Vec<(HeaderName, HeaderValue)>, Failure> {
    let mut own = Vec::with_capacity(request.headers.len());
    for (name, value) in &request.headers {
        let refuse = || Failure {
            kind: FailureKind::Refused,
            detail: format!("the record's request header {name:?} cannot be sent"),
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| refuse())?;
        let value = HeaderValue::from_str(value).map_err(|_| refuse())?;
        if FRAMING.contains(&name) {
            return Err(refuse());
        }
        let about_body = name.as_str().starts_with("content-");
        if with_body || !about_body {
            own.push((name, value));
        }
    }
    Ok(own)
}

fn host(url: &Url) -> Result<HeaderValue, Failure> {
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    HeaderValue::from_str(authority).map_err(|_| Failure {
        kind: FailureKind::Refused,
        detail: format!("{authority:?} cannot be asked as a host"),
    })
}
