//! The HTTP client that `object_store` sends its requests with: that of urldb's services, so that
//! certificates and proxies are configured in one place, and each request counts in the budget of the
//! running conversation.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::{TryStreamExt, stream};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use urldb_http::{Conversation, Incoming, SendError};
use urldb_text::sanitize;

/// The largest part of a failure's text that is read, in bytes.
const LARGEST_FAILURE: usize = 64 << 10;

#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentConversation(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// `None` between conversations.
    conversation: Option<Conversation>,
    /// The last failure since a request worked, which the errors of `object_store` do not have in full.
    failure: Option<Failure>,
}

/// A request that failed.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The HTTP status, if there was an answer.
    pub(crate) status: Option<u16>,
    /// The code of S3, such as `NoSuchBucket`.
    pub(crate) code: Option<String>,
    /// The failure in a sentence for people.
    pub(crate) text: String,
}

impl CurrentConversation {
    /// Replaces the conversation, and forgets the last failure.
    pub(crate) fn set(&self, conversation: Option<Conversation>) {
        self.work(|state| {
            *state = State {
                conversation,
                failure: None,
            };
        });
    }

    /// Takes the last failure.
    pub(crate) fn take_failure(&self) -> Option<Failure> {
        self.work(|state| state.failure.take())
    }

    fn work<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl HttpConnector for CurrentConversation {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

impl CurrentConversation {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let conversation = self.work(|state| state.conversation.clone());
        let conversation = conversation.ok_or_else(|| {
            let late = io::Error::other("the conversation is over");
            HttpError::new(HttpErrorKind::Decode, late)
        })?;
        let (parts, body) = request.into_parts();
        let request = http::Request::from_parts(parts, body.collect().await?.to_bytes());
        let answer = conversation.start(request).await;
        let answer = answer.map_err(|error| self.failed(error))?;
        let mut response = http::Response::new(());
        *response.status_mut() = answer.status();
        response.headers_mut().clone_from(answer.headers());
        let (parts, ()) = response.into_parts();
        if parts.status.is_success() {
            self.work(|state| state.failure = None);
            let body = stream::try_unfold(answer, |mut answer| async {
                Ok(answer.chunk().await?.map(|chunk| (chunk, answer)))
            });
            let body = StreamBody::new(body.map_ok(Frame::data).map_err(http_error));
            return Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)));
        }
        let text = beginning(answer).await;
        self.answered(parts.status, &text);
        let body = Full::new(text).map_err(|never| match never {});
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }

    fn answered(&self, status: http::StatusCode, text: &Bytes) {
        let text = String::from_utf8_lossy(text);
        let code = element(&text, "Code").map(|code| sanitize(code).into_owned());
        let phrase = status.canonical_reason().unwrap_or_default();
        let shown = match &code {
            Some(code) => format!("{} {code}", status.as_u16()),
            None => format!("{} {phrase}", status.as_u16()),
        };
        self.note(Failure {
            status: Some(status.as_u16()),
            code,
            text: format!("the store answers {}", shown.trim_end()),
        });
    }

    fn failed(&self, error: SendError) -> HttpError {
        let text = match &error {
            SendError::NotSent(cause) => Some(format!("the store cannot be reached: {cause}")),
            SendError::NoAnswer(cause) => {
                Some(format!("the connection to the store failed: {cause}"))
            }
            // An earlier failure says why the conversation was so long.
            SendError::BadRequest(_) | SendError::Ended(_) => None,
        };
        if let Some(text) = text {
            self.note(Failure {
                status: None,
                code: None,
                text,
            });
        }
        http_error(error)
    }

    fn note(&self, failure: Failure) {
        self.work(|state| state.failure = Some(failure));
    }
}

impl HttpService for CurrentConversation {
    fn call<'s, 'f>(
        &'s self,
        request: HttpRequest,
    ) -> Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        Box::pin(self.send(request))
    }
}

/// The kind decides whether `object_store` repeats the request.
fn http_error(error: SendError) -> HttpError {
    let kind = match &error {
        SendError::NotSent(_) => HttpErrorKind::Connect,
        // The server may have done what was asked.
        SendError::NoAnswer(_) => HttpErrorKind::Interrupted,
        SendError::BadRequest(_) | SendError::Ended(_) => HttpErrorKind::Decode,
    };
    HttpError::new(kind, error)
}

/// The beginning of an answer. A failure is told by its status, so a part of its text will do.
async fn beginning(mut answer: Incoming) -> Bytes {
    let mut text = Vec::new();
    while let Ok(Some(chunk)) = answer.chunk().await {
        let room = LARGEST_FAILURE - text.len();
        text.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() >= room {
            break;
        }
    }
    text.into()
}

/// The text of the first element of this name, if it is short.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once('<')?;
    (content.len() <= 100).then_some(content)
}
