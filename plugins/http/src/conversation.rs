//! A conversation with a server: requests and answers, until its budget is spent.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use tokio::time::timeout;
use urldb_text::sanitize;

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

/// Most characters of a server's text in a message.
const LONGEST_EXCERPT: usize = 200;

/// An answer, whose body may be cut where the budget of the conversation ended.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    pub(crate) body: Vec<u8>,
    /// Why the body is cut.
    pub(crate) end: Option<Ended>,
    pub(crate) headers: Vec<(String, String)>,
}

impl Answer {
    /// Whether the status says that the server did what was asked (2xx).
    pub const fn is_success(&self) -> bool {
        self.status >= 200 && self.status < 300
    }

    /// Whether the same request may work later: 408, 425, 429, 5xx.
    pub const fn is_temporary(&self) -> bool {
        matches!(self.status, 408 | 425 | 429 | 500..=599)
    }

    /// The whole body.
    ///
    /// # Errors
    /// When the conversation ended within the body.
    pub fn body(&self) -> Result<&[u8], Ended> {
        self.end.map_or(Ok(&self.body), Err)
    }

    /// The first value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, value) = self.headers.iter().find(|(known, _)| known == name)?;
        Some(value)
    }

    /// The wait that `Retry-After` asks for (RFC 9110, section 10.2.3). A date counts from the `Date`
    /// of the answer, so the result does not depend on a clock.
    pub fn retry_after(&self) -> Option<Duration> {
        let text = self.header("retry-after")?.trim();
        if let Ok(seconds) = text.parse() {
            return Some(Duration::from_secs(seconds));
        }
        let until = rfc2822::parse(text).ok()?.timestamp();
        self.time_until(until)
    }

    /// The time from the `Date` of the answer to `until`; zero if that is over.
    pub fn time_until(&self, until: Timestamp) -> Option<Duration> {
        let now = rfc2822::parse(self.header("date")?).ok()?.timestamp();
        Some(Duration::try_from(until.duration_since(now)).unwrap_or_default())
    }

    /// The begin of the body as one harmless line, for a message. Empty if the body is empty.
    pub fn excerpt(&self) -> String {
        let text = String::from_utf8_lossy(&self.body);
        let words: Vec<_> = text.split_whitespace().collect();
        let line = words.join(" ");
        sanitize(&line).chars().take(LONGEST_EXCERPT).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&str, &str)], body: &str) -> Answer {
        Answer {
            status: 429,
            body: body.into(),
            end: None,
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let date = ("date", "Sun, 22 Nov 2026 04:00:00 GMT");
        let wait = |value| answer(&[date, ("retry-after", value)], "").retry_after();
        assert_eq!(wait("120"), Some(Duration::from_mins(2)));
        let in_a_minute = "Sun, 22 Nov 2026 04:01:00 GMT";
        assert_eq!(wait(in_a_minute), Some(Duration::from_mins(1)));
        assert_eq!(wait("Sun, 22 Nov 2026 03:01:00 GMT"), Some(Duration::ZERO));
        assert_eq!(wait("soon"), None);
        assert_eq!(wait("-1"), None);
        let without_date = answer(&[("retry-after", in_a_minute)], "");
        assert_eq!(without_date.retry_after(), None);
    }

    #[test]
    fn an_excerpt_is_one_short_harmless_line() {
        let body = format!(" <h1>\u{1b}[2J\n no\tthanks {}", "x".repeat(1_000_000));
        let excerpt = answer(&[], &body).excerpt();
        assert!(
            excerpt.starts_with("<h1>\u{fffd}[2J no thanks x"),
            "{excerpt}"
        );
        assert_eq!(excerpt.chars().count(), LONGEST_EXCERPT);
    }
}
