//! The request of a job.

use std::sync::{Arc, LazyLock};

use urldb_format::Record;

/// The request of most records.
static PLAIN_GET: LazyLock<Arc<Request>> = LazyLock::new(|| {
    Arc::new(Request {
        method: "GET".to_owned(),
        headers: vec![],
        body: None,
    })
});

/// Method, headers and body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, upper case.
    pub method: String,
    /// The record's own headers.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<String>,
}

impl Request {
    /// The request that a record describes. Records that ask for nothing but a plain GET share theirs.
    pub fn of(record: &Record) -> Arc<Self> {
        let is_plain = record.method.is_none()
            && record.request_headers.is_empty()
            && record.request_content_type.is_none()
            && record.request_body.is_none();
        if is_plain {
            return Arc::clone(&PLAIN_GET);
        }
        let own = record.request_headers.iter();
        let mut headers: Vec<(String, String)> = own
            .filter_map(|(name, value)| Some((name.to_owned(), value.as_text()?.to_owned())))
            .collect();
        if let Some(content_type) = &record.request_content_type {
            headers.push(("content-type".to_owned(), content_type.clone()));
        }
        Arc::new(Self {
            method: record.method.clone().unwrap_or_else(|| "GET".to_owned()),
            headers,
            body: record.request_body.clone(),
        })
    }

    /// Whether the request may be sent without `unsafe-methods`, and repeated.
    pub fn is_safe(&self) -> bool {
        is_safe_method(&self.method)
    }
}

/// Whether a request with this method changes nothing on the server (RFC 9110, 9.2.1). TRACE does
/// not count as safe: its response repeats the request, secrets included.
pub fn is_safe_method(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}
