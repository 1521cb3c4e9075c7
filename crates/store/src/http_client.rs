//! The HTTP client that `object_store` sends its requests with: that of urldb's services, so that
//! certificates and proxies are configured in one place. It follows no redirect and bounds each answer.

use std::error::Error;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use urldb_text::sanitize;

/// The time limit of one request with its answer: for the largest part, 70 kB/s are enough.
const REQUEST_LIMIT: Duration = Duration::from_mins(2);

/// The time limit of a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// The largest answer to a request that worked, in bytes: a little more than the largest manifest.
const LARGEST_ANSWER: usize = 17 << 20;

/// The largest page of a list, in bytes.
const LARGEST_PAGE: usize = 1 << 20;

/// The largest answer to a request that failed, in bytes.
const LARGEST_FAILURE: usize = 64 << 10;

/// The last failure of a request, which the errors of `object_store` do not have in full.
pub(crate) type LastFailure = Arc<Mutex<Option<Failure>>>;

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

/// Makes clients that share their connections.
#[derive(Debug)]
pub(crate) struct Connector {
    client: reqwest::Client,
    last_failure: LastFailure,
}

impl Connector {
    pub(crate) fn new(
        options: &urldb_http::Options,
        last_failure: LastFailure,
    ) -> Result<Self, urldb_http::Error> {
        let client = options
            .client_builder()?
            .pool_max_idle_per_host(4)
            .timeout(REQUEST_LIMIT)
            .read_timeout(options.timeout)
            .connect_timeout(CONNECT_LIMIT)
            .build();
        Ok(Self {
            client: client
                .map_err(|error| urldb_http::Error::Client(innermost(&error.without_url())))?,
            last_failure,
        })
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Service {
            client: self.client.clone(),
            last_failure: Arc::clone(&self.last_failure),
        }))
    }
}

#[derive(Debug)]
struct Service {
    client: reqwest::Client,
    last_failure: LastFailure,
}

impl Service {
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let decode = |error: String| HttpError::new(HttpErrorKind::Decode, io::Error::other(error));
        let url = parts.uri.to_string().parse();
        let url = url.map_err(|_| decode("the URL of the request cannot be written".to_owned()))?;
        let is_list = parts
            .uri
            .query()
            .is_some_and(|it| it.contains("list-type=2"));
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        let body = body.collect().await?.to_bytes();
        *request.body_mut() = Some(body.into());
        let response = self
            .client
            .execute(request)
            .await
            .map_err(|error| self.failed(error))?;
        let response: http::Response<reqwest::Body> = response.into();
        let (parts, body) = response.into_parts();
        if parts.status.is_success() {
            let body = Limited::new(
                body,
                if is_list {
                    LARGEST_PAGE
                } else {
                    LARGEST_ANSWER
                },
            )
            .map_err(answer_error);
            return Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)));
        }
        // A failure is told by its status; a part of its text will do.
        let text = Limited::new(body, LARGEST_FAILURE).collect().await;
        let text = text
            .map(http_body_util::Collected::to_bytes)
            .unwrap_or_default();
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

    fn failed(&self, error: reqwest::Error) -> HttpError {
        let kind = kind_of(&error);
        let error = error.without_url();
        let text = match kind {
            HttpErrorKind::Timeout => "the store does not answer in time".to_owned(),
            HttpErrorKind::Connect => {
                format!("the store cannot be reached: {}", innermost(&error))
            }
            _ => format!("the connection to the store failed: {}", innermost(&error)),
        };
        self.note(Failure {
            status: None,
            code: None,
            text,
        });
        HttpError::new(kind, error)
    }

    fn note(&self, failure: Failure) {
        let mut last = self
            .last_failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *last = Some(failure);
    }
}

impl HttpService for Service {
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

/// Whether a failed request may be repeated depends on its kind.
fn kind_of(error: &reqwest::Error) -> HttpErrorKind {
    if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_builder() || error.is_decode() {
        HttpErrorKind::Decode
    } else {
        // The connection ended: the server may have done what was asked.
        HttpErrorKind::Interrupted
    }
}

fn answer_error(error: Box<dyn Error + Send + Sync>) -> HttpError {
    match error.downcast::<reqwest::Error>() {
        Ok(error) => {
            let kind = kind_of(&error);
            HttpError::new(kind, error.without_url())
        }
        Err(error) => HttpError::new(HttpErrorKind::Decode, io::Error::other(error.to_string())),
    }
}

/// The innermost cause of an error, which says what happened, as one harmless line.
fn innermost(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    sanitize(&cause.to_string()).into_owned()
}

/// The text of the first element of this name, if it is short.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = rest.split_once('<')?;
    (content.len() <= 100).then_some(content)
}
