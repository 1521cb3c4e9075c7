//! A small S3 server on loopback, for tests: a bucket in memory, conditions, checksums, parts, and faults
//! at chosen requests. Written with the standard library, so that other test crates can include it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

/// The way a request fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The server does not carry out the request, and answers with this status.
    Status(u16),
    /// The server carries out the request, and answers 500.
    LostAnswer,
    /// The server does not carry out the request, and closes the connection.
    Drop,
    /// The server carries out the request, and closes the connection without an answer.
    DropAfter,
    /// The answer takes this many milliseconds.
    Slow(u64),
}

/// A request, for tests that choose where a fault goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// From 0.
    pub(crate) number: usize,
    pub(crate) method: String,
    /// With the query.
    pub(crate) target: String,
}

type Faults = Box<dyn FnMut(&Seen) -> Option<Fault> + Send>;
type Answers = Box<dyn FnMut(&Seen) -> Option<Vec<u8>> + Send>;

#[derive(Clone, Debug)]
struct Object {
    bytes: Vec<u8>,
    tag: String,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    uploads: BTreeMap<String, (String, BTreeMap<u32, Vec<u8>>)>,
    seen: Vec<Seen>,
    tags: u64,
    faults: Option<Faults>,
    answers: Option<Answers>,
    ignores_conditions: bool,
}

/// The server; it ends with the test process.
#[derive(Clone)]
pub(crate) struct FakeS3 {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

pub(crate) const BUCKET: &str = "evidence";

/// Most objects in one answer of a list.
const PAGE: usize = 3;

impl FakeS3 {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let server = Self {
            address: listener.local_addr().expect("an address"),
            state: Arc::default(),
        };
        let accepting = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = accepting.clone();
                thread::spawn(move || server.serve(stream));
            }
        });
        server
    }

    pub(crate) fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses the fault of each request.
    pub(crate) fn fail(&self, faults: impl FnMut(&Seen) -> Option<Fault> + Send + 'static) {
        self.state().faults = Some(Box::new(faults));
    }

    /// Answers requests with these bytes, head included, instead of a proper answer.
    pub(crate) fn answer(&self, answers: impl FnMut(&Seen) -> Option<Vec<u8>> + Send + 'static) {
        self.state().answers = Some(Box::new(answers));
    }

    /// Makes the server work well, and forget its requests.
    pub(crate) fn recover(&self) {
        let mut state = self.state();
        state.faults = None;
        state.answers = None;
        state.seen.clear();
    }

    /// Makes the server as it was at its start, with an empty bucket.
    pub(crate) fn reset(&self) {
        *self.state() = State::default();
    }

    pub(crate) fn ignore_conditions(&self) {
        self.state().ignores_conditions = true;
    }

    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// The keys and lengths of all objects but former manifests.
    pub(crate) fn objects(&self) -> Vec<(String, usize)> {
        let state = self.state();
        let objects = state.objects.iter();
        let objects = objects.filter(|(key, _)| !key.contains("/manifests/"));
        objects
            .map(|(key, it)| (key.clone(), it.bytes.len()))
            .collect()
    }

    pub(crate) fn object(&self, key: &str) -> Option<Vec<u8>> {
        Some(self.state().objects.get(key)?.bytes.clone())
    }

    pub(crate) fn set(&self, key: &str, bytes: &[u8]) {
        self.state().put(key, bytes.to_vec());
    }

    pub(crate) fn remove(&self, key: &str) {
        self.state().objects.remove(key);
    }

    pub(crate) fn unfinished_uploads(&self) -> usize {
        self.state().uploads.len()
    }

    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
        let mut stream = stream;
        while let Some(request) = Request::read(&mut reader) {
            let (seen, fault, answer) = self.note(&request);
            if let Some(Fault::Drop) = fault {
                return;
            }
            if let Some(Fault::Slow(wait)) = fault {
                thread::sleep(Duration::from_millis(wait));
            }
            if let Some(answer) = answer {
                let _ = stream.write_all(&answer);
                return;
            }
            let answer = match fault {
                Some(Fault::Status(status)) => Answer::error(status, "Injected"),
                _ => self.state().work(&request, &seen),
            };
            let answer = match fault {
                Some(Fault::DropAfter) => return,
                Some(Fault::LostAnswer) => Answer::error(500, "InternalError"),
                _ => answer,
            };
            if answer.write(&mut stream, request.method == "HEAD").is_err() {
                return;
            }
        }
    }

    fn note(&self, request: &Request) -> (Seen, Option<Fault>, Option<Vec<u8>>) {
        let mut state = self.state();
        let seen = Seen {
            number: state.seen.len(),
            method: request.method.clone(),
            target: request.target.clone(),
        };
        state.seen.push(seen.clone());
        let fault = state.faults.as_mut().and_then(|faults| faults(&seen));
        let answer = state.answers.as_mut().and_then(|answers| answers(&seen));
        (seen, fault, answer)
    }
}

struct Request {
    method: String,
    target: String,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace();
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = BTreeMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers
            .get("content-length")
            .map_or(Some(0), |it| it.parse().ok())?;
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self {
            method,
            target,
            headers,
            body,
        })
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let (_, query) = self.target.split_once('?')?;
        let mut pairs = query
            .split('&')
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let (_, value) = pairs.find(|(known, _)| *known == name)?;
        Some(decoded(value))
    }

    /// The key below the bucket; `None` for the bucket itself.
    fn key(&self) -> Option<String> {
        let path = self.target.split('?').next()?;
        let key = path.strip_prefix(&format!("/{BUCKET}/"))?;
        (!key.is_empty()).then(|| decoded(key))
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| tail.get(..2))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = &tail[if escaped.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8(bytes).expect("text")
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: vec![("Last-Modified", "Sun, 22 Nov 2026 06:00:00 GMT".to_owned())],
            body: body.into(),
        }
    }

    fn error(status: u16, code: &str) -> Self {
        let code = match status {
            503 => "SlowDown",
            403 => "AccessDenied",
            _ => code,
        };
        Self::new(
            status,
            format!("<Error><Code>{code}</Code><Message>no</Message></Error>"),
        )
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn write(&self, stream: &mut TcpStream, is_head: bool) -> std::io::Result<()> {
        let mut head = vec![];
        write!(head, "HTTP/1.1 {} Status\r\n", self.status)?;
        if self.status != 204 {
            write!(head, "Content-Length: {}\r\n", self.body.len())?;
        }
        for (name, value) in &self.headers {
            write!(head, "{name}: {value}\r\n")?;
        }
        head.extend_from_slice(b"\r\n");
        stream.write_all(&head)?;
        if !is_head && self.status != 204 {
            stream.write_all(&self.body)?;
        }
        stream.flush()
    }
}

impl State {
    fn put(&mut self, key: &str, bytes: Vec<u8>) -> String {
        self.tags += 1;
        let tag = format!("\"tag-{}\"", self.tags);
        let object = Object {
            bytes,
            tag: tag.clone(),
        };
        self.objects.insert(key.to_owned(), object);
        tag
    }

    fn work(&mut self, request: &Request, seen: &Seen) -> Answer {
        let signature = request.header("authorization").unwrap_or_default();
        if !signature.starts_with("AWS4-HMAC-SHA256 Credential=id/") {
            return Answer::error(403, "AccessDenied");
        }
        if !request.target.starts_with(&format!("/{BUCKET}")) {
            return Answer::error(404, "NoSuchBucket");
        }
        if let Some(stated) = request.header("x-amz-checksum-sha256")
            && request.method == "PUT"
            && BASE64.encode(&Sha256::digest(&request.body)) != stated
        {
            return Answer::error(400, "BadDigest");
        }
        let Some(key) = request.key() else {
            return self.list(request);
        };
        let upload = request.parameter("uploadId");
        match (request.method.as_str(), upload) {
            ("GET" | "HEAD", _) => self.get(&key, request),
            ("PUT", Some(upload)) => self.put_part(&upload, request),
            ("PUT", None) => self.put_object(&key, request),
            ("POST", Some(upload)) => self.complete(&upload),
            ("POST", None) => {
                let upload = format!("upload-{}", seen.number);
                self.uploads.insert(upload.clone(), (key, BTreeMap::new()));
                let body = format!(
                    "<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>"
                );
                Answer::new(200, body)
            }
            ("DELETE", Some(upload)) => {
                self.uploads.remove(&upload);
                Answer::new(204, "")
            }
            ("DELETE", None) => {
                self.objects.remove(&key);
                Answer::new(204, "")
            }
            _ => Answer::error(405, "MethodNotAllowed"),
        }
    }

    fn get(&self, key: &str, request: &Request) -> Answer {
        let Some(object) = self.objects.get(key) else {
            return Answer::error(404, "NoSuchKey");
        };
        let length = object.bytes.len();
        let range = request.header("range").and_then(|range| {
            let (from, to) = range.strip_prefix("bytes=")?.split_once('-')?;
            let from: usize = from.parse().ok()?;
            let to = to
                .parse()
                .unwrap_or(usize::MAX)
                .min(length.saturating_sub(1));
            Some((from, to))
        });
        let answer = match range {
            None => Answer::new(200, object.bytes.clone()),
            Some((from, to)) if from <= to && from < length => {
                Answer::new(206, &object.bytes[from..=to])
                    .with("Content-Range", format!("bytes {from}-{to}/{length}"))
            }
            Some(_) => Answer::error(416, "InvalidRange"),
        };
        answer.with("ETag", object.tag.clone())
    }

    fn put_object(&mut self, key: &str, request: &Request) -> Answer {
        let known = self.objects.get(key).map(|known| known.tag.clone());
        if !self.ignores_conditions {
            if request.header("if-none-match") == Some("*") && known.is_some() {
                return Answer::error(412, "PreconditionFailed");
            }
            if let Some(wanted) = request.header("if-match")
                && known.as_deref() != Some(wanted)
            {
                return match known {
                    None => Answer::error(404, "NoSuchKey"),
                    Some(_) => Answer::error(412, "PreconditionFailed"),
                };
            }
        }
        let tag = self.put(key, request.body.clone());
        Answer::new(200, "").with("ETag", tag)
    }

    fn put_part(&mut self, upload: &str, request: &Request) -> Answer {
        let number = request
            .parameter("partNumber")
            .and_then(|number| number.parse().ok());
        let Some((_, parts)) = self.uploads.get_mut(upload) else {
            return Answer::error(404, "NoSuchUpload");
        };
        let number: u32 = number.expect("a number");
        parts.insert(number, request.body.clone());
        let checksum = request.header("x-amz-checksum-sha256").unwrap_or_default();
        Answer::new(200, "")
            .with("ETag", format!("\"part-{number}\""))
            .with("x-amz-checksum-sha256", checksum)
    }

    fn complete(&mut self, upload: &str) -> Answer {
        let Some((key, parts)) = self.uploads.remove(upload) else {
            return Answer::error(404, "NoSuchUpload");
        };
        let tag = self.put(&key, parts.into_values().flatten().collect());
        let body = format!(
            "<CompleteMultipartUploadResult><ETag>{}</ETag></CompleteMultipartUploadResult>",
            tag.replace('"', "&quot;")
        );
        Answer::new(200, body)
    }

    fn list(&self, request: &Request) -> Answer {
        let prefix = request.parameter("prefix").unwrap_or_default();
        let after = request.parameter("continuation-token").unwrap_or_default();
        let keys = self.objects.iter();
        let mut keys = keys.filter(|(key, _)| key.starts_with(&prefix) && **key > after);
        let page: Vec<_> = keys.by_ref().take(PAGE).collect();
        // Its clock is ahead: an object is never old.
        let contents = page.iter().map(|(key, object)| {
            format!(
                "<Contents><Key>{key}</Key><LastModified>2999-11-22T06:00:00.000Z</LastModified><ETag>{}</ETag><Size>{}</Size></Contents>",
                object.tag.replace('"', "&quot;"),
                object.bytes.len()
            )
        });
        let contents: String = contents.collect();
        let next = match (keys.next(), page.last()) {
            (Some(_), Some((last, _))) => {
                format!("<NextContinuationToken>{last}</NextContinuationToken>")
            }
            _ => String::new(),
        };
        let body = format!("<ListBucketResult>{contents}{next}</ListBucketResult>");
        Answer::new(200, body)
    }
}
