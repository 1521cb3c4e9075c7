//! The content of a block: its HTTP head, its body without chunks, and their digests.

use std::io::{self, BufRead};

use crate::digest::{BackgroundHasher, Digest, DigestAlgorithm};
use crate::header::{Header, RecordType};
use crate::http::{BodyFraming, Dechunker, HeadBytes, StoredRequest};

/// Reads the HTTP head at the beginning of a record's block into `bytes`, which is emptied first. `None`
/// if there is no head; then `bytes` are the beginning of the payload.
pub(crate) fn read_http_head<'a>(
    header: &Header,
    block: &mut impl BufRead,
    bytes: &'a mut Vec<u8>,
) -> io::Result<Option<HeadBytes<'a>>> {
    bytes.clear();
    let kind = header.record_type();
    let may_have_head = match kind {
        Some(RecordType::Response | RecordType::Revisit | RecordType::Request) => true,
        Some(RecordType::Continuation) => false,
        _ => header.is_http(),
    };
    if !may_have_head {
        return Ok(None);
    }
    let head = HeadBytes::read(block, bytes)?;
    Ok(head.filter(|head| {
        let is_head = match kind {
            Some(RecordType::Request) => head.method().is_some(),
            _ => head.status().is_some(),
        };
        is_head && (head.is_complete || head.has_only_fields())
    }))
}

#[derive(Clone, Copy, Default)]
pub(crate) struct WantedDigests {
    pub(crate) block: Option<DigestAlgorithm>,
    pub(crate) payload: Option<DigestAlgorithm>,
}

#[derive(Debug, Default)]
pub(crate) struct Content {
    pub(crate) block: Option<Digest>,
    /// Of the body without chunks; of the whole block if it is not HTTP.
    pub(crate) payload: Option<Digest>,
    /// Of the body with its chunks, if any.
    pub(crate) raw: Option<Digest>,
    /// The length of the payload, in bytes.
    pub(crate) payload_length: u64,
    pub(crate) http: Option<HttpMessage>,
    /// The request, if the record is one and its method is not GET.
    pub(crate) request: Option<StoredRequest>,
}

/// An HTTP message: the statements of its head, and its actual body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HttpMessage {
    pub(crate) status: Option<u16>,
    /// Whether the head has its blank line.
    pub(crate) has_whole_head: bool,
    /// Whether the body is only a range of the content.
    pub(crate) is_range: bool,
    pub(crate) chunked: bool,
    pub(crate) framing: BodyFraming,
    pub(crate) length: Option<u64>,
    /// The length of the body as stored, in bytes.
    pub(crate) body: u64,
}

impl HttpMessage {
    pub(crate) fn of_head(head: HeadBytes<'_>) -> Self {
        let text = |name| std::str::from_utf8(head.get(name)?).ok();
        let status = head.status();
        Self {
            status,
            has_whole_head: head.is_complete,
            is_range: status == Some(206) && !text("Content-Range").is_some_and(is_whole_range),
            chunked: head.is_chunked(),
            framing: BodyFraming::Plain,
            length: text("Content-Length").and_then(|text| text.parse().ok()),
            body: 0,
        }
    }

    /// Whether the body of a response to GET is not the whole content: fewer bytes than the head states, chunks
    /// without their end, a range of the content. More bytes than stated are no sign of it.
    pub(crate) fn is_cut(self) -> bool {
        // These responses have no body (RFC 9112, 6.3).
        if matches!(self.status, Some(100..=199 | 204 | 304)) {
            return false;
        }
        let is_as_long = self.length.is_none_or(|stated| self.body >= stated);
        let has_body_as_stated = match self.framing {
            BodyFraming::Chunked => true,
            BodyFraming::Broken => false,
            BodyFraming::Plain => is_as_long && (!self.chunked || self.body > 0),
        };
        !self.has_whole_head || self.is_range || !has_body_as_stated
    }
}

/// Whether a `Content-Range`, such as `bytes 0-41/42`, has all bytes of the content.
fn is_whole_range(text: &str) -> bool {
    let parts = || {
        let (range, total) = text.trim().strip_prefix("bytes ")?.split_once('/')?;
        let (first, last) = range.split_once('-')?;
        let number = |text: &str| text.parse::<u64>().ok();
        Some((number(first)?, number(last)?, number(total)?))
    };
    parts().is_some_and(|(first, last, total)| first == 0 && last.checked_add(1) == Some(total))
}

/// Why content was not read to its end.
#[derive(Debug)]
pub(crate) enum ContentError {
    /// The block could not be read.
    Block(io::Error),
    /// `output` failed.
    Output(io::Error),
}

/// Reads a block to its end and passes its payload to `output`. The digests of a long block are computed
/// on threads of their own.
pub(crate) fn read_content(
    header: &Header,
    block: &mut impl BufRead,
    wanted: WantedDigests,
    output: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<Content, ContentError> {
    read_content_with(header, block, wanted, BackgroundHasher::new, output)
}

/// As [`read_content`], with hashers that `hasher` begins.
fn read_content_with(
    header: &Header,
    block: &mut impl BufRead,
    wanted: WantedDigests,
    hasher: impl Fn(DigestAlgorithm) -> BackgroundHasher,
    output: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> Result<Content, ContentError> {
    let mut content = Content::default();
    let mut head_bytes = Vec::new();
    let head = read_http_head(header, block, &mut head_bytes).map_err(ContentError::Block)?;
    content.http = head.map(HttpMessage::of_head);
    if header.record_type() == Some(RecordType::Request) {
        let request = head.and_then(StoredRequest::of_head);
        content.request = request.filter(|request| !request.is_get());
    }
    let chunked = content.http.as_ref().is_some_and(|http| http.chunked);
    // Without a head, the payload is the block, and one digest is that of both.
    let has_one_digest = content.http.is_none() && wanted.block == wanted.payload;
    let mut block_hasher = wanted.block.map(&hasher);
    let mut raw = wanted.payload.filter(|_| chunked).map(&hasher);
    let mut payload = Payload {
        hasher: wanted.payload.filter(|_| !has_one_digest).map(&hasher),
        length: 0,
        output,
        failure: None,
    };
    update(&mut block_hasher, &head_bytes);
    if content.http.is_none() {
        payload.add(&head_bytes);
    }
    let mut chunks = Dechunker::new(chunked);
    let mut length = 0;
    loop {
        payload.take_failure()?;
        let bytes = match block.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other.map_err(ContentError::Block)?,
        };
        if bytes.is_empty() {
            break;
        }
        update(&mut block_hasher, bytes);
        chunks.push(bytes, |part| payload.add_body(part, &mut content.request));
        if !chunks.is_plain() {
            update(&mut raw, bytes);
        }
        let taken = bytes.len();
        length += taken as u64;
        block.consume(taken);
    }
    let framing = chunks.finish(|part| payload.add_body(part, &mut content.request));
    payload.take_failure()?;
    if let Some(http) = &mut content.http {
        (http.framing, http.body) = (framing, length);
    }
    content.payload_length = payload.length;
    content.block = block_hasher.map(BackgroundHasher::finish);
    content.payload = if has_one_digest {
        content.block.clone()
    } else {
        payload.hasher.map(BackgroundHasher::finish)
    };
    content.raw = if framing == BodyFraming::Plain {
        raw.and(content.payload.clone())
    } else {
        raw.map(BackgroundHasher::finish)
    };
    Ok(content)
}

/// A payload on its way to the output.
struct Payload<'a> {
    hasher: Option<BackgroundHasher>,
    length: u64,
    output: &'a mut dyn FnMut(&[u8]) -> io::Result<()>,
    /// The first error of the output.
    failure: Option<io::Error>,
}

impl Payload<'_> {
    fn add(&mut self, bytes: &[u8]) {
        update(&mut self.hasher, bytes);
        self.length += bytes.len() as u64;
        if self.failure.is_none() && !bytes.is_empty() {
            self.failure = (self.output)(bytes).err();
        }
    }

    fn add_body(&mut self, bytes: &[u8], request: &mut Option<StoredRequest>) {
        if let Some(request) = request {
            request.push(bytes);
        }
        self.add(bytes);
    }

    fn take_failure(&mut self) -> Result<(), ContentError> {
        self.failure
            .take()
            .map_or(Ok(()), |error| Err(ContentError::Output(error)))
    }
}

fn update(hasher: &mut Option<BackgroundHasher>, bytes: &[u8]) {
    if let Some(hasher) = hasher {
        hasher.update(bytes);
    }
}

#[cfg(test)]
mod tests;
