//! Requests in the terms of the HTTP library, and its errors in words for people.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;
use urldb_text::sanitize;
use urldb_tls::Fault;

use crate::budget::Ended;

/// Most bytes of an answer's head that are kept.
const LARGEST_HEAD: usize = 64 << 10;

/// A request method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the methods of RFC 9110 and RFC 5789")]
pub enum Method {
    Get,
    Post,
    Put,
    Patch,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The address.
    pub url: Url,
    /// The headers besides those that the client sets: names and values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
}

/// A request without a complete answer. The texts are for people, and hold no URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The request cannot be written: a header holds characters that HTTP forbids.
    #[error("{0}")]
    BadRequest(String),
    /// No connection: the server has not seen the request.
    #[error("{0}")]
    NotSent(String),
    /// The connection ended, or the time limit was over: the server may have done what was asked.
    #[error("{0}")]
    NoAnswer(String),
    /// The budget of the conversation is spent: the server may have done what was asked.
    #[error(transparent)]
    Ended(#[from] Ended),
}

/// A request that the HTTP library gave up.
pub(crate) fn failed(error: reqwest::Error) -> SendError {
    let is_not_sent = error.is_connect();
    let message = causes(&error.without_url());
    if is_not_sent {
        SendError::NotSent(message)
    } else {
        SendError::NoAnswer(message)
    }
}

pub(crate) fn build(request: Request) -> Result<reqwest::Request, SendError> {
    let method = match request.method {
        Method::Get => reqwest::Method::GET,
        Method::Post => reqwest::Method::POST,
        Method::Put => reqwest::Method::PUT,
        Method::Patch => reqwest::Method::PATCH,
    };
    let mut headers = HeaderMap::new();
    for (name, value) in request.headers {
        let bad = || {
            SendError::BadRequest(format!(
                "the header {name:?} holds characters that HTTP forbids"
            ))
        };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let mut built = reqwest::Request::new(method, request.url);
    *built.headers_mut() = headers;
    *built.body_mut() = request.body.map(Into::into);
    Ok(built)
}

/// The headers that are text, within the limit.
pub(crate) fn headers_of(headers: &HeaderMap) -> Vec<(String, String)> {
    let mut room = LARGEST_HEAD;
    headers
        .iter()
        .filter_map(|(name, value)| {
            let value = value.to_str().ok()?;
            room = room.checked_sub(name.as_str().len() + value.len())?;
            Some((name.as_str().to_owned(), value.to_owned()))
        })
        .collect()
}

/// The innermost causes of an error, which say what happened, as one harmless line.
pub(crate) fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    // A connector of the HTTP library hides the error of TLS in one of input and output.
    let inner = cause
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref);
    let tls = inner
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        .or_else(|| cause.downcast_ref::<rustls::Error>());
    let cause = match tls.and_then(Fault::within) {
        Some(fault) => fault.to_string(),
        None => cause.to_string(),
    };
    sanitize(&cause).into_owned()
}
