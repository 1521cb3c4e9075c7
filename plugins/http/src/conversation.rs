//! A conversation with a server: requests and answers, until its budget is spent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use tokio::time::timeout;

use crate::answer::Answer;
use crate::budget::{Budget, Ended, Usage};
use crate::request::{Request, SendError, build, failed, headers_of};

/// The slowest connection that large bodies are sent and read with, in bytes per second.
pub const SLOWEST: u64 = 70_000;

/// A client with a budget, which all clones share.
#[derive(Debug, Clone)]
pub struct Conversation {
    client: reqwest::Client,
    timeout: Duration,
    usage: Arc<Usage>,
}

/// The head of an answer, and its body, which counts while it is read.
#[derive(Debug)]
pub struct Incoming {
    response: reqwest::Response,
    conversation: Conversation,
}

impl Conversation {
    pub(crate) fn new(client: reqwest::Client, timeout: Duration, budget: Budget) -> Self {
        Self {
            client,
            timeout,
            usage: Arc::new(Usage::new(budget)),
        }
    }

    /// Sends one request and reads the answer, whatever its status, within the time limit of a request.
    /// Follows no redirect. An answer that is longer than the budget is cut.
    ///
    /// # Errors
    /// When there is no answer, or the budget is spent.
    pub async fn send(&self, request: Request) -> Result<Answer, SendError> {
        let request = build(request)?;
        let rest = self.usage.rest()?;
        match timeout(self.timeout.min(rest), self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) if self.timeout <= rest => Err(self.silent()),
            Err(_) => Err(self.usage.late().into()),
        }
    }

    /// Sends one request and reads the head of the answer. The time limit of a request is that of the
    /// server's silence.
    ///
    /// # Errors
    /// When there is no answer, or the budget is spent.
    pub async fn start(&self, request: http::Request<Bytes>) -> Result<Incoming, SendError> {
        let request = reqwest::Request::try_from(request);
        self.execute(request.map_err(failed)?).await
    }

    /// Does work that belongs to the conversation, until its time is over.
    ///
    /// # Errors
    /// When the time is over before the work is done.
    pub async fn within<T>(&self, work: impl Future<Output = T>) -> Result<T, Ended> {
        let done = timeout(self.usage.rest()?, work).await;
        done.map_err(|_| self.usage.late())
    }

    async fn execute(&self, request: reqwest::Request) -> Result<Incoming, SendError> {
        self.usage.begin_request()?;
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let sending = Duration::from_secs(body.unwrap_or_default().len() as u64 / SLOWEST);
        let answer = timeout(self.timeout + sending, self.client.execute(request)).await;
        Ok(Incoming {
            response: answer.map_err(|_| self.silent())?.map_err(failed)?,
            conversation: self.clone(),
        })
    }

    async fn exchange(&self, request: reqwest::Request) -> Result<Answer, SendError> {
        let mut incoming = self.execute(request).await?;
        let (mut body, mut end) = (Vec::new(), None);
        loop {
            match incoming.chunk().await {
                Ok(Some(chunk)) => body.extend_from_slice(&chunk),
                Ok(None) => break,
                Err(SendError::Ended(ended)) => {
                    end = Some(ended);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Answer {
            status: incoming.status().as_u16(),
            headers: headers_of(incoming.headers()),
            body,
            end,
        })
    }

    fn silent(&self) -> SendError {
        SendError::NoAnswer(format!(
            "no answer within {} seconds",
            self.timeout.as_secs()
        ))
    }
}

impl Incoming {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The headers.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// The next bytes of the body; `None` at its end.
    ///
    /// # Errors
    /// When the connection ends or falls silent before the end of the body, or the budget is spent.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, SendError> {
        let Self {
            response,
            conversation,
        } = self;
        conversation.usage.ensure_bytes()?;
        let chunk = timeout(conversation.timeout, response.chunk()).await;
        let chunk = chunk.map_err(|_| conversation.silent())?;
        let chunk = chunk.map_err(failed)?.map(|mut chunk| {
            chunk.truncate(conversation.usage.take_bytes(chunk.len()));
            chunk
        });
        Ok(chunk)
    }
}
