//! One response: its head, its body, and the connection that it came over.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use hyper::body::{Body, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::HeaderMap;
use hyper::{StatusCode, Version};

use crate::connection::ConnectionFacts;

/// Most headers of a response.
pub(crate) const MAX_HEADERS: usize = 256;

/// A response whose head has come.
#[derive(Debug)]
pub(crate) struct Response(hyper::Response<Incoming>);

impl Response {
    pub(crate) fn new(response: hyper::Response<Incoming>) -> Self {
        Self(response)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.status()
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    pub(crate) fn version(&self) -> Version {
        self.0.version()
    }

    /// The connection that the response came over.
    pub(crate) fn connection(&self) -> Arc<ConnectionFacts> {
        self.0
            .extensions()
            .get::<Arc<ConnectionFacts>>()
            .map(Arc::clone)
            .unwrap_or_default()
    }

    /// The reason phrase that the server sent; the library keeps an unusual phrase only.
    pub(crate) fn reason_phrase(&self) -> String {
        if let Some(phrase) = self.0.extensions().get::<ReasonPhrase>() {
            return String::from_utf8_lossy(phrase.as_bytes()).into_owned();
        }
        self.status()
            .canonical_reason()
            .unwrap_or_default()
            .to_owned()
    }

    /// The length of the body, if the head says it.
    pub(crate) fn content_length(&self) -> Option<u64> {
        self.0.body().size_hint().exact()
    }

    /// The next bytes of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> hyper::Result<Option<Bytes>> {
        let body = self.0.body_mut();
        loop {
            let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await;
            let Some(frame) = frame.transpose()? else {
                return Ok(None);
            };
            // Other frames are trailers.
            if let Ok(bytes) = frame.into_data() {
                return Ok(Some(bytes));
            }
        }
    }
}
