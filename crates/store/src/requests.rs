//! Requests to a bucket: signed, within the budget of their conversation, and repeated where that may help.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Mutex;
use tokio::time::sleep;
use url::Url;
use urldb_files::Limit;
use urldb_http::{Conversation, Ended, SendError};
use urldb_text::sanitize;

use crate::answers::element;
use crate::error::StoreErrorKind;
use crate::signature::{AccessKey, address};

/// Most repetitions of a request. A store that is unavailable must not hold up a run for long: the next run
/// makes up for it.
const MOST_REPETITIONS: u32 = 6;

/// The wait before the first repetition; each further one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// No repetition begins after this time.
const REPETITION_TIME: Duration = Duration::from_mins(1);

/// The limit of an answer that is no object and no list, in bytes.
pub(crate) const LARGEST_ANSWER: usize = 64 << 10;

/// The limit of the token in the file of a role, in bytes.
const LARGEST_TOKEN: u64 = 64 << 10;

/// The longest code of S3 that a message names, in bytes.
const LONGEST_CODE: usize = 100;

/// The time that a key of a role must be valid for.
const VALID_FOR: SignedDuration = SignedDuration::from_mins(5);

/// One request.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Bytes,
    /// The limit of the answer's body, in bytes.
    pub(crate) most: usize,
}

impl Call {
    /// A request without a body and with a short answer.
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            body: Bytes::new(),
            most: LARGEST_ANSWER,
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn has(&self, header: &str) -> bool {
        self.headers.iter().any(|(name, _)| *name == header)
    }

    /// Whether the same request may work now.
    fn may_be_repeated(&self, failure: &Failure) -> bool {
        match failure {
            // After a write that was made, its condition does not hold any more.
            Failure::NoAnswer(_) => !self.has("if-match") && !self.has("if-none-match"),
            // S3 answers 409 when it gets two conditional writes at once.
            Failure::Status(409, _) => self.has("if-match"),
            Failure::NotSent(_) | Failure::Status(408 | 429 | 500.. | 200..300, _) => true,
            _ => false,
        }
    }
}

/// A good answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The body as text.
    pub(crate) fn text(&self) -> Result<&str, Failure> {
        str::from_utf8(&self.body).map_err(|_| Failure::unreadable())
    }
}

/// A request that failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The status, and the code of S3, such as `NoSuchBucket`. A failure may have the status 200.
    Status(u16, Option<String>),
    /// No connection.
    NotSent(String),
    /// The connection ended: the store may have done what was asked.
    NoAnswer(String),
    /// The budget of the conversation is spent.
    Ended(Ended),
    /// The answer cannot be that of a store, or not be right.
    Bad(String),
    /// The request cannot be made.
    Refused(String),
    /// A file on this machine cannot be read.
    Local(String),
}

impl Failure {
    pub(crate) fn unreadable() -> Self {
        Self::Bad("the store's answer cannot be understood".to_owned())
    }

    pub(crate) fn kind(&self) -> StoreErrorKind {
        use StoreErrorKind::{Conflict, Damaged, Local, Missing, Refused, Unreachable};
        match self {
            Self::Status(404, code) if code.as_deref() != Some("NoSuchBucket") => Missing,
            // 409: another process works on the same object.
            Self::Status(304 | 409 | 412, _) => Conflict,
            Self::Status(408 | 425 | 429 | 500.. | 200..300, _)
            | Self::NotSent(_)
            | Self::NoAnswer(_)
            | Self::Ended(Ended::Seconds(_)) => Unreachable,
            Self::Status(..) | Self::Refused(_) => Refused,
            Self::Ended(_) | Self::Bad(_) => Damaged,
            Self::Local(_) => Local,
        }
    }

    /// The failure in a sentence for people, which may have text of the store.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Status(status, code) => {
                let phrase = StatusCode::from_u16(*status)
                    .ok()
                    .and_then(|status| status.canonical_reason());
                let shown = code.as_deref().or(phrase).unwrap_or_default();
                format!("the store answers {status} {shown}")
                    .trim_end()
                    .to_owned()
            }
            Self::NotSent(cause) => format!("the store cannot be reached: {cause}"),
            Self::NoAnswer(cause) => format!("the connection to the store failed: {cause}"),
            Self::Ended(ended) => ended.to_string(),
            Self::Bad(text) | Self::Refused(text) | Self::Local(text) => text.clone(),
        }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::BadRequest(cause) => Self::Refused(cause),
            SendError::NotSent(cause) => Self::NotSent(cause),
            SendError::NoAnswer(cause) => Self::NoAnswer(cause),
            SendError::Ended(ended) => Self::Ended(ended),
        }
    }
}

/// The key of requests, or the way to get one.
pub(crate) enum Signature {
    Key(AccessKey),
    Role(Box<Role>),
    None,
}

/// A role that the token in a file stands for.
pub(crate) struct Role {
    pub(crate) token_file: String,
    pub(crate) arn: String,
    pub(crate) session: String,
    /// The service that gives keys.
    pub(crate) service: Url,
    /// The last key, and its end.
    pub(crate) key: Mutex<Option<(AccessKey, Timestamp)>>,
}

/// Sends requests.
pub(crate) struct Sender {
    pub(crate) region: String,
    pub(crate) signature: Signature,
}

impl Sender {
    pub(crate) async fn send(
        &self,
        conversation: &Conversation,
        call: &Call,
    ) -> Result<Reply, Failure> {
        let key = match &self.signature {
            Signature::Key(key) => Some(key.clone()),
            Signature::Role(role) => Some(role.key(conversation).await?),
            Signature::None => None,
        };
        let key = key.as_ref().map(|key| (key, self.region.as_str()));
        repeat(conversation, call, key).await
    }
}

impl Role {
    async fn key(&self, conversation: &Conversation) -> Result<AccessKey, Failure> {
        let mut known = self.key.lock().await;
        if let Some((key, end)) = &*known
            && *end > Timestamp::now() + VALID_FOR
        {
            return Ok(key.clone());
        }
        let file = &self.token_file;
        let token = urldb_files::read_to_string(file.as_ref(), Limit::bytes(LARGEST_TOKEN))
            .map_err(|error| {
                Failure::Local(format!("the token in {file} cannot be read: {error}"))
            })?;
        let parameters = [
            ("Action", "AssumeRoleWithWebIdentity"),
            ("DurationSeconds", "3600"),
            ("RoleArn", &self.arn),
            ("RoleSessionName", &self.session),
            ("Version", "2011-06-15"),
            ("WebIdentityToken", token.trim()),
        ];
        let asked = address(&self.service, "", &parameters);
        let call = Call::new(Method::POST, asked.ok_or_else(Failure::unreadable)?);
        let reply = repeat(conversation, &call, None).await;
        let reply = reply.map_err(|failure| match failure.kind() {
            StoreErrorKind::Unreachable => failure,
            // A missing role is no missing object.
            _ => Failure::Refused(format!("a key for {}: {}", self.arn, failure.text())),
        })?;
        let text = reply.text()?;
        let of = |name| element(text, name).ok_or_else(Failure::unreadable);
        let end: Timestamp = of("Expiration")?
            .parse()
            .map_err(|_| Failure::unreadable())?;
        let (id, secret) = (of("AccessKeyId")?, of("SecretAccessKey")?);
        let key = AccessKey::new(id, secret, Some(of("SessionToken")?));
        *known = Some((key.clone(), end));
        Ok(key)
    }
}

/// Sends a request until it works, or until repeating it does not help. A key signs each attempt, for its region.
async fn repeat(
    conversation: &Conversation,
    call: &Call,
    key: Option<(&AccessKey, &str)>,
) -> Result<Reply, Failure> {
    let begun = Instant::now();
    let (mut last, mut repetitions) = (None, 0);
    loop {
        let reply = conversation.within(attempt(conversation, call, key)).await;
        let failure = match reply.unwrap_or_else(|ended| Err(Failure::Ended(ended))) {
            Ok(reply) => return Ok(reply),
            // The last failure says why the conversation was so long.
            Err(Failure::Ended(ended)) => return Err(last.unwrap_or(Failure::Ended(ended))),
            Err(failure) => failure,
        };
        let is_late = repetitions == MOST_REPETITIONS || begun.elapsed() > REPETITION_TIME;
        if is_late || !call.may_be_repeated(&failure) {
            return Err(failure);
        }
        let wait = FIRST_WAIT * 2_u32.pow(repetitions);
        if conversation.within(sleep(wait)).await.is_err() {
            return Err(failure);
        }
        (last, repetitions) = (Some(failure), repetitions + 1);
    }
}

async fn attempt(
    conversation: &Conversation,
    call: &Call,
    key: Option<(&AccessKey, &str)>,
) -> Result<Reply, Failure> {
    let refused = |error: http::Error| Failure::Refused(format!("no request can be made: {error}"));
    let mut request = http::Request::builder()
        .method(&call.method)
        .uri(call.url.as_str());
    for (name, value) in &call.headers {
        request = request.header(*name, value);
    }
    let mut request = request.body(call.body.clone()).map_err(refused)?;
    if let Some((key, region)) = key {
        key.sign(&mut request, region, Timestamp::now())
            .map_err(|error| refused(error.into()))?;
    }
    let mut answer = conversation.start(request).await?;
    let status = answer.status();
    let most = if status.is_success() {
        call.most
    } else {
        LARGEST_ANSWER
    };
    let mut body = Vec::new();
    // A failure has its status already: its text may end early.
    let is_over = loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Err(error) if status.is_success() => return Err(error.into()),
            Ok(None) | Err(_) => break false,
        }
        if body.len() > most {
            break true;
        }
    };
    let text = || String::from_utf8_lossy(&body);
    // S3 may find out that it failed when it has sent its status.
    if !status.is_success() || call.method == Method::POST && element(&text(), "Error").is_some() {
        let code = element(&text(), "Code").filter(|code| code.len() <= LONGEST_CODE);
        let code = code.map(|code| sanitize(&code).into_owned());
        return Err(Failure::Status(status.as_u16(), code));
    }
    if is_over {
        return Err(Failure::Bad(format!(
            "the answer is longer than {most} bytes"
        )));
    }
    Ok(Reply {
        status,
        headers: answer.headers().clone(),
        body,
    })
}
