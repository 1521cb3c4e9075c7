//! The judgement of captures: the request that a record answers, and whether its body is whole.
//!
//! All commands use it, whether the record says so itself or not. The URL of a capture is
//! [`CdxjLine::url_of`](crate::CdxjLine::url_of), its variant [`vary_of`].

mod related;
mod request_matcher;
mod revisit;

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Seek};

pub use self::related::{MAX_DISTANCE, RecordNames, RelatedRecords};
pub use self::request_matcher::RequestMatcher;
pub use self::revisit::RevisitReference;
pub(crate) use self::revisit::{UNMODIFIED_PROFILE_END, without_request};
use crate::CdxjLine;
pub use crate::cdxj::vary_of;
use crate::content::{HttpMessage, read_http_head};
use crate::header::{Header, RecordType};
use crate::http::{BodyFraming, Dechunker, HeadBytes, StoredHead, StoredRequest};
use crate::reader::{ReadError, Reader};

/// The reason in `WARC-Truncated` if nothing is known about it.
pub const UNSPECIFIED: &str = "unspecified";

/// The head of a record's block, with what it tells about the body.
#[derive(Debug)]
pub struct CaptureHead {
    /// The HTTP head, if the block begins with one that is complete but perhaps for its blank line.
    pub http: Option<StoredHead>,
    /// The beginning of the payload, if the block has no HTTP head.
    pub beginning: Vec<u8>,
    /// Why the body is not whole, as far as the header of the record and the head tell without the body.
    truncated: Option<String>,
    message: Option<HttpMessage>,
}

impl CaptureHead {
    /// Reads the head of a record, whose block has `length` bytes in all. The input is then at the body.
    ///
    /// # Errors
    /// Those of `block`.
    pub fn read(header: &Header, length: u64, block: &mut impl BufRead) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let head = read_http_head(header, block, &mut bytes)?;
        let http = head.and_then(HeadBytes::to_stored);
        let is_judged = header.record_type() == Some(RecordType::Response)
            && header.get("WARC-Segment-Number").is_none()
            && !has_range(header);
        let message = head.filter(|_| is_judged).map(|head| HttpMessage {
            body: length.saturating_sub(head.length),
            ..HttpMessage::of_head(head)
        });
        let truncated = header.get("WARC-Truncated").map(str::to_owned);
        if http.is_some() {
            bytes.clear();
        }
        Ok(Self {
            http,
            beginning: bytes,
            truncated,
            message,
        })
    }

    /// Whether the body is in chunks, so that only reading it tells whether it is whole.
    pub fn is_chunked(&self) -> bool {
        self.http.as_ref().is_some_and(StoredHead::is_chunked)
    }

    /// Why the body is not whole, in the words of `WARC-Truncated`. `framing` is that of the body, which was read to
    /// its end if it is in chunks.
    pub fn truncated(&self, framing: BodyFraming) -> Option<String> {
        let is_cut = self
            .message
            .map(|it| HttpMessage { framing, ..it })
            .is_some_and(HttpMessage::is_cut);
        self.truncated
            .clone()
            .or_else(|| is_cut.then(|| UNSPECIFIED.to_owned()))
    }
}

/// Whether the capture is of a variant that is a range.
fn has_range(header: &Header) -> bool {
    vary_of(header)
        .unwrap_or_default()
        .lines()
        .any(|line| line.starts_with("range:"))
}

/// Why the body of a record is not whole, in the words of `WARC-Truncated`. The block has `length` bytes, and is read to
/// its end if it is in chunks.
///
/// # Errors
/// Those of `block`.
pub fn truncation(
    header: &Header,
    length: u64,
    block: &mut impl BufRead,
) -> io::Result<Option<String>> {
    let head = CaptureHead::read(header, length, block)?;
    let mut framing = BodyFraming::Plain;
    if head.is_chunked() {
        let mut chunks = Dechunker::new(true);
        loop {
            let bytes = match block.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if bytes.is_empty() {
                break;
            }
            chunks.push(bytes, |_| ());
            let taken = bytes.len();
            block.consume(taken);
        }
        framing = chunks.finish(|_| ());
    }
    Ok(head.truncated(framing))
}

/// The methods other than GET whose responses are in an archive file, by the offset of the response. Damaged parts
/// of the file have none.
///
/// # Errors
/// When the file cannot be read.
pub fn other_methods<R: Read + Seek>(
    reader: &mut Reader<R>,
) -> Result<HashMap<u64, String>, ReadError> {
    let mut found = HashMap::new();
    each_capture(reader, u64::MAX, |offset, request| {
        found.extend(request.map(|request| (offset, request.method)));
    })?;
    Ok(found)
}

/// The request of the response at an offset of an archive file, if it is another than GET.
///
/// # Errors
/// When the file cannot be read.
pub fn other_request<R: Read + Seek>(
    reader: &mut Reader<R>,
    response: u64,
) -> Result<Option<StoredRequest>, ReadError> {
    let mut found = None;
    each_capture(reader, response, |offset, request| {
        if offset == response {
            found = request;
        }
    })?;
    Ok(found)
}

/// Calls `add` for each capture from the first one to that at the offset `last`, with its request if it is another
/// than GET.
fn each_capture<R: Read + Seek>(
    reader: &mut Reader<R>,
    last: u64,
    mut add: impl FnMut(u64, Option<StoredRequest>),
) -> Result<(), ReadError> {
    type Pending = (u64, Option<StoredRequest>);
    let mut matcher = RequestMatcher::default();
    let set = |pending: &mut Pending, request: &StoredRequest| pending.1 = Some(request.clone());
    loop {
        match next_request(reader) {
            Ok(None) => break,
            Ok(Some((header, offset, request))) => {
                // A record that shares its gzip member cannot be read from an offset.
                let offset = offset.filter(|_| CdxjLine::describes(&header));
                let capture = offset.map(|offset| (offset, None));
                if let Some((offset, request)) = matcher.add(&header, capture, request, set) {
                    add(offset, request);
                    if offset >= last {
                        return Ok(());
                    }
                }
            }
            Err(error) if error.is_damage() => {
                reader.skip_damage()?;
            }
            Err(error) => return Err(error),
        }
    }
    matcher
        .end_file()
        .for_each(|(offset, request)| add(offset, request));
    Ok(())
}

/// A header, the offset of the record if it has one of its own, and the request if the record is one.
type NextRequest = (Header, Option<u64>, Option<StoredRequest>);

fn next_request<R: Read + Seek>(reader: &mut Reader<R>) -> Result<Option<NextRequest>, ReadError> {
    let Some(mut record) = reader.next_record()? else {
        return Ok(None);
    };
    let mut request = None;
    if record.record_type() == Some(RecordType::Request) {
        request = StoredRequest::read(&mut record).map_err(|error| record.fault(error))?;
    }
    let offset = (record.within_member() == 0).then_some(record.offset());
    let (_, header) = record.finish_with_header()?;
    Ok(Some((header, offset, request)))
}
