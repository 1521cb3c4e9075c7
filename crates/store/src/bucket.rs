//! The objects in a bucket: each request blocks, while a thread of its own sends it.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use bytes::Bytes;
use data_encoding::BASE64;
use http::{Method, StatusCode};
use quick_xml::escape::escape;
use sha2::{Digest, Sha256};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use url::Url;
use urldb_http::{Budget, Client, Conversation};
use urldb_text::sanitize;

use crate::answers::{ObjectPage, element};
use crate::credentials::Credentials;
use crate::error::{StoreError, StoreErrorKind, too_many, unreadable};
use crate::listing::{ListedObject, Listing};
use crate::location::BucketLocation;
use crate::objects::{Objects, PART, Session};
use crate::requests::{Call, Failure, Reply, Role, Sender, Signature};
use crate::signature::{AccessKey, address};

/// Most parts of an object.
const MOST_PARTS: u64 = 10_000;

/// Number of parts that are sent at the same time.
const PARTS_AT_ONCE: usize = 4;

/// The limit of a page of a list, in bytes: 1,000 objects, whose keys have up to 1,024 bytes each.
const LARGEST_PAGE: usize = 8 << 20;

/// The checksum of a body, which the store compares.
const CHECKSUM: &str = "x-amz-checksum-sha256";

pub(crate) struct BucketAccess<'a> {
    pub(crate) location: &'a BucketLocation,
    pub(crate) endpoint: Option<&'a str>,
    pub(crate) region: &'a str,
    pub(crate) credentials: &'a Credentials,
    pub(crate) http: &'a urldb_http::Options,
}

impl BucketAccess<'_> {
    /// The address of the bucket.
    fn url(&self) -> Result<Url, StoreError> {
        let bucket = self.location.bucket();
        match self.endpoint {
            Some(endpoint) => parse(&format!("{endpoint}/{bucket}")),
            None => parse(&format!(
                "https://s3.{}.amazonaws.com/{bucket}",
                self.region
            )),
        }
    }

    /// Registers the secrets.
    fn signature(&self) -> Result<Signature, StoreError> {
        Ok(match self.credentials.clone() {
            Credentials::Key { id, secret, token } => {
                Signature::Key(AccessKey::new(id, secret, token))
            }
            Credentials::WebIdentity {
                token_file,
                role,
                session,
            } => Signature::Role(Box::new(Role {
                token_file,
                arn: role,
                session: session.unwrap_or_else(|| "urldb".to_owned()),
                service: parse(&format!("https://sts.{}.amazonaws.com/", self.region))?,
                key: Mutex::default(),
            })),
            Credentials::None => Signature::None,
        })
    }
}

fn refused(text: impl fmt::Display) -> StoreError {
    let text = format!("the store cannot be set up: {text}");
    StoreError::new(StoreErrorKind::Refused, sanitize(&text))
}

fn parse(url: &str) -> Result<Url, StoreError> {
    Url::parse(url).map_err(refused)
}

/// The objects below a prefix of a bucket.
pub(crate) struct Bucket {
    location: BucketLocation,
    url: Url,
    sender: Arc<Sender>,
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
}

/// A conversation with the bucket.
struct BucketSession<'a> {
    bucket: &'a Bucket,
    conversation: Conversation,
}

/// An object that is written in parts.
struct Upload<'a> {
    session: &'a BucketSession<'a>,
    name: &'a str,
    id: String,
    /// The answers of parts that are being sent.
    sending: VecDeque<(String, Receiver<Result<Reply, Failure>>)>,
    /// The parts that the store has, as the request that completes the upload names them.
    parts: Vec<String>,
    number: u32,
}

impl Bucket {
    /// Sets up TLS and the signature. Sends no request.
    pub(crate) fn new(access: &BucketAccess<'_>) -> Result<Self, StoreError> {
        let client = Client::keeping_connections(access.http)
            .map_err(|error| StoreError::new(StoreErrorKind::Refused, error.to_string()))?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("store")
            .enable_all()
            .build()
            .map_err(|error| {
                StoreError::new(
                    StoreErrorKind::Local,
                    format!("the thread of the store cannot be started: {error}"),
                )
            })?;
        Ok(Self {
            location: access.location.clone(),
            url: access.url()?,
            sender: Arc::new(Sender {
                region: access.region.to_owned(),
                signature: access.signature()?,
            }),
            runtime: Some(runtime),
            client,
        })
    }
}

impl Objects for Bucket {
    fn converse(&self, budget: Budget) -> Box<dyn Session + '_> {
        Box::new(BucketSession {
            bucket: self,
            conversation: self.client.converse(budget),
        })
    }
}

impl Session for BucketSession<'_> {
    fn get(&self, name: &str) -> Result<(Bytes, Option<String>), StoreError> {
        let mut call = self.call(Method::GET, name, &[])?;
        // The budget of the conversation is the limit.
        call.most = usize::MAX;
        let reply = self.send(call, name, "reading")?;
        let tag = reply.header("etag").map(str::to_owned);
        Ok((reply.body.into(), tag))
    }

    fn range(&self, name: &str, length: u64, range: Range<u64>) -> Result<Bytes, StoreError> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let wanted = range.end - range.start;
        let bytes = format!("bytes={}-{}", range.start, range.end - 1);
        let mut call = self.call(Method::GET, name, &[])?.with("range", bytes);
        call.most = usize::try_from(wanted).unwrap_or(usize::MAX);
        let reply = self.send(call, name, "reading")?;
        let problem = match content_range(&reply) {
            Some((_, size)) if size != length => {
                format!("it has {size} bytes, and the manifest says {length}")
            }
            Some((found, _)) if found == range && reply.body.len() as u64 == wanted => {
                return Ok(reply.body.into());
            }
            Some(_) => "a range of it came incomplete".to_owned(),
            None => "the store sends it without the range that it was asked for".to_owned(),
        };
        Err(StoreError::damaged(name, &self.bucket.location, &problem))
    }

    fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        let call = self.call(Method::HEAD, name, &[])?;
        let doing = "looking for";
        match self.send(call, name, doing) {
            Err(error) if error.kind() == StoreErrorKind::Missing => Ok(None),
            found => found?
                .header("content-length")
                .map(str::parse)
                .and_then(Result::ok)
                .ok_or_else(|| self.failed(&Failure::unreadable(), name, doing))
                .map(Some),
        }
    }

    fn create(&self, name: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        self.put(name, bytes, ("if-none-match", "*"))
    }

    fn replace(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), StoreError> {
        match self.put(name, bytes, ("if-match", tag)) {
            // Somebody deleted the object.
            Err(error) if error.kind() == StoreErrorKind::Missing => {
                Err(StoreError::new(StoreErrorKind::Conflict, error.to_string()))
            }
            put => put.map(drop),
        }
    }

    fn put_parts(
        &self,
        name: &str,
        mut file: File,
        length: u64,
    ) -> Result<(u64, [u8; 32]), StoreError> {
        let part = PART.max(length / (MOST_PARTS - 1) + 1);
        let mut upload = Upload::begin(self, name)?;
        let written = upload.put(&mut file, part);
        match written.and_then(|written| upload.complete().map(|()| written)) {
            Err(error) => {
                upload.abort();
                Err(error)
            }
            written => written,
        }
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        let call = self.call(Method::DELETE, name, &[])?;
        match self.send(call, name, "deleting") {
            Err(error) if error.kind() == StoreErrorKind::Missing => Ok(()),
            deleted => deleted.map(drop),
        }
    }

    fn list(&self, most: usize) -> Result<Listing, StoreError> {
        let prefix = self.bucket.location.key("");
        let (name, doing) = ("its objects", "listing");
        let (mut objects, mut next) = (Vec::new(), None::<String>);
        loop {
            let mut parameters = vec![("list-type", "2"), ("prefix", &prefix)];
            parameters.extend(next.as_deref().map(|next| ("continuation-token", next)));
            let url =
                address(&self.bucket.url, "", &parameters).ok_or_else(|| self.bad_name(name))?;
            let mut call = Call::new(Method::GET, url);
            call.most = LARGEST_PAGE;
            let page = self
                .send(call, name, doing)?
                .text()
                .and_then(|text| ObjectPage::parse(text).map_err(|_| Failure::unreadable()))
                .map_err(|failure| self.failed(&failure, name, doing))?;
            objects.extend(page.objects.into_iter().filter_map(|object| {
                let name = object.name.strip_prefix(&prefix)?.to_owned();
                (!name.is_empty()).then_some(ListedObject { name, ..object })
            }));
            if objects.len() > most {
                return Err(too_many(most, &self.bucket.location));
            }
            match page.next {
                Some(token) => next = Some(token),
                None => return Ok(objects.into_iter().collect()),
            }
        }
    }
}

/// The range that an answer has, and the length of the object.
fn content_range(reply: &Reply) -> Option<(Range<u64>, u64)> {
    if reply.status != StatusCode::PARTIAL_CONTENT {
        return None;
    }
    let (range, size) = reply
        .header("content-range")?
        .strip_prefix("bytes ")?
        .split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let end = last.parse::<u64>().ok()?.checked_add(1)?;
    Some((first.parse().ok()?..end, size.parse().ok()?))
}

/// A call with a body, whose checksum the store compares.
fn with_body(mut call: Call, body: Bytes) -> (Call, String) {
    let checksum = BASE64.encode(&Sha256::digest(&body));
    call.body = body;
    (call.with(CHECKSUM, checksum.clone()), checksum)
}

impl<'a> Upload<'a> {
    fn begin(session: &'a BucketSession<'a>, name: &'a str) -> Result<Self, StoreError> {
        let call = session
            .call(Method::POST, name, &[("uploads", "")])?
            .with("x-amz-checksum-algorithm", "SHA256");
        let id = session
            .send(call, name, "writing")?
            .text()
            .ok()
            .and_then(|text| element(text, "UploadId"))
            .ok_or_else(|| session.failed(&Failure::unreadable(), name, "writing"))?;
        Ok(Self {
            session,
            name,
            id,
            sending: VecDeque::new(),
            parts: Vec::new(),
            number: 0,
        })
    }

    /// Sends the file, in parts of this length. An empty file is one part.
    fn put(&mut self, file: &mut File, part: u64) -> Result<(u64, [u8; 32]), StoreError> {
        let (mut hasher, mut total) = (Sha256::new(), 0);
        let name = self.name;
        loop {
            let mut chunk = Vec::new();
            // Reading a part from the disk is short beside sending it.
            let read = file
                .take(part)
                .read_to_end(&mut chunk)
                .map_err(unreadable(name))?;
            if read == 0 && self.number > 0 {
                break;
            }
            hasher.update(&chunk);
            total += read as u64;
            if self.sending.len() == PARTS_AT_ONCE {
                self.wait_for_part()?;
            }
            self.number += 1;
            let number = self.number.to_string();
            let parameters = [("partNumber", number.as_str()), ("uploadId", &self.id)];
            let call = self.session.call(Method::PUT, name, &parameters)?;
            let (call, checksum) = with_body(call, chunk.into());
            self.sending.push_back((checksum, self.session.begin(call)));
        }
        while !self.sending.is_empty() {
            self.wait_for_part()?;
        }
        Ok((total, hasher.finalize().into()))
    }

    /// Waits for the first part that is being sent.
    fn wait_for_part(&mut self) -> Result<(), StoreError> {
        let number = self.number + 1 - u32::try_from(self.sending.len()).unwrap_or_default();
        let Some((checksum, answer)) = self.sending.pop_front() else {
            return Ok(());
        };
        let reply = self.session.wait(&answer, self.name, "writing")?;
        // A store that compares no checksums knows none of them.
        let checksum = match reply.header(CHECKSUM) {
            Some(_) => format!("<ChecksumSHA256>{checksum}</ChecksumSHA256>"),
            None => String::new(),
        };
        let tag = escape(reply.header("etag").unwrap_or_default());
        self.parts.push(format!(
            "<Part><PartNumber>{number}</PartNumber><ETag>{tag}</ETag>{checksum}</Part>"
        ));
        Ok(())
    }

    fn complete(&self) -> Result<(), StoreError> {
        let mut call = self.call(Method::POST)?;
        let parts = self.parts.concat();
        call.body = format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>").into();
        let reply = self.session.send(call, self.name, "writing")?;
        match reply.text().ok().and_then(|text| element(text, "ETag")) {
            Some(_) => Ok(()),
            None => Err(self
                .session
                .failed(&Failure::unreadable(), self.name, "writing")),
        }
    }

    fn abort(&self) {
        // The error that led here matters. A store drops such uploads some day.
        let _ = self
            .call(Method::DELETE)
            .and_then(|call| self.session.send(call, self.name, "writing"));
    }

    fn call(&self, method: Method) -> Result<Call, StoreError> {
        let parameters = [("uploadId", self.id.as_str())];
        self.session.call(method, self.name, &parameters)
    }
}

impl BucketSession<'_> {
    fn call(
        &self,
        method: Method,
        name: &str,
        parameters: &[(&str, &str)],
    ) -> Result<Call, StoreError> {
        let key = self.bucket.location.key(name);
        let url = address(&self.bucket.url, &key, parameters);
        Ok(Call::new(method, url.ok_or_else(|| self.bad_name(name))?))
    }

    fn bad_name(&self, name: &str) -> StoreError {
        let location = &self.bucket.location;
        let text = format!("{name} cannot be the name of an object in {location}");
        StoreError::new(StoreErrorKind::Refused, sanitize(&text))
    }

    fn put(
        &self,
        name: &str,
        bytes: Bytes,
        (header, value): (&'static str, &str),
    ) -> Result<Option<String>, StoreError> {
        let call = self.call(Method::PUT, name, &[])?.with(header, value);
        let reply = self.send(with_body(call, bytes).0, name, "writing")?;
        let Some(tag) = reply.header("etag") else {
            // Another server may answer 200 to anything.
            let failure = Failure::Bad("the answer has no entity tag (ETag)".to_owned());
            return Err(self.failed(&failure, name, "writing"));
        };
        Ok(Some(tag.to_owned()))
    }

    /// Sends a request and waits for its answer.
    fn send(&self, call: Call, name: &str, doing: &str) -> Result<Reply, StoreError> {
        self.wait(&self.begin(call), name, doing)
    }

    /// Sends a request on the thread of the store.
    fn begin(&self, call: Call) -> Receiver<Result<Reply, Failure>> {
        let (send, receive) = sync_channel(1);
        let (sender, conversation) = (Arc::clone(&self.bucket.sender), self.conversation.clone());
        if let Some(runtime) = &self.bucket.runtime {
            runtime.spawn(async move {
                // The other end waits, or another part has failed.
                let _ = send.send(sender.send(&conversation, &call).await);
            });
        }
        receive
    }

    fn wait(
        &self,
        answer: &Receiver<Result<Reply, Failure>>,
        name: &str,
        doing: &str,
    ) -> Result<Reply, StoreError> {
        // Without an answer, the HTTP library panicked.
        answer
            .recv()
            .unwrap_or_else(|_| Err(Failure::unreadable()))
            .map_err(|failure| self.failed(&failure, name, doing))
    }

    fn failed(&self, failure: &Failure, name: &str, doing: &str) -> StoreError {
        let (location, cause) = (&self.bucket.location, failure.text());
        let message = format!("{doing} {name} in {location} failed: {cause}");
        StoreError::new(failure.kind(), sanitize(&message))
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        // A runtime must not wait for its end within another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bucket")
            .field("location", &self.location)
            .finish_non_exhaustive()
    }
}
