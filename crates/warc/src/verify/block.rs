//! Checks a block: the digests in its record's header, and the length and coding in its HTTP head.

use std::fs::File;
use std::io::{self, BufRead};

use super::report::RecordFindings;
use crate::digest::{Digest, DigestHasher};
use crate::finding::FindingCode;
use crate::header::{Header, RecordType};
use crate::http::{BodyFraming, Dechunker, HeadBytes, StoredRequest};
use crate::reader::{ReadError, Record};

/// Reads and checks the block of a record. Returns the request, if the block is one and its method is
/// not GET.
pub(super) fn check(
    record: &mut Record<'_, File>,
    findings: &mut RecordFindings<'_>,
) -> Result<Option<StoredRequest>, ReadError> {
    let stated = StatedContent::of(record.header(), findings);
    let actual = read(record, &stated).map_err(|error| record.fault(error))?;
    stated.compare(&actual, findings);
    Ok(actual.request)
}

/// Reads and checks the joined blocks of a segmented record, whose header is `header`.
pub(super) fn check_joined(
    header: &Header,
    blocks: &mut impl BufRead,
    findings: &mut RecordFindings<'_>,
) -> io::Result<()> {
    let stated = StatedContent::of(header, findings);
    let actual = read(blocks, &stated)?;
    stated.compare(&actual, findings);
    Ok(())
}

/// The content of a block, as stated in the record's header.
struct StatedContent {
    block: Option<Digest>,
    payload: Option<Digest>,
    kind: Option<RecordType>,
    is_http: bool,
    /// Whether the stored body is possibly incomplete.
    is_partial: bool,
}

impl StatedContent {
    fn of(header: &Header, findings: &mut RecordFindings<'_>) -> Self {
        let kind = header.record_type();
        let is_segment = header.get("WARC-Segment-Number").is_some();
        let is_revisit = kind == Some(RecordType::Revisit);
        let mut digest = |name: &str| {
            let text = header.get(name)?;
            let digest = text.parse().ok();
            if digest.is_none() {
                findings.add(FindingCode::DigestUnknown, format!("{name} is {text:?}"));
            }
            digest
        };
        let block = digest("WARC-Block-Digest");
        // The payload of a revisit is stored elsewhere; that of a segment is spread over all segments.
        let payload = digest("WARC-Payload-Digest").filter(|_| !is_revisit && !is_segment);
        Self {
            block,
            payload,
            kind,
            is_http: header.is_http() && kind.is_some_and(|it| it != RecordType::Continuation),
            is_partial: is_segment || is_revisit || header.get("WARC-Truncated").is_some(),
        }
    }

    /// The HTTP head at the beginning of the block; `None` if the bytes are not such a head.
    fn http(&self, head: HeadBytes<'_>) -> Option<HttpMessage> {
        let is_head = match self.kind {
            Some(RecordType::Request) => head.method().is_some(),
            _ => head.status().is_some(),
        };
        is_head.then(|| HttpMessage {
            chunked: head.is_chunked(),
            framing: BodyFraming::Plain,
            length: head
                .get("Content-Length")
                .and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()),
            body: 0,
        })
    }

    fn compare(&self, actual: &ActualContent, findings: &mut RecordFindings<'_>) {
        if let (Some(stated), Some(found)) = (&self.block, &actual.block)
            && stated != found
        {
            findings.add(
                FindingCode::BlockDigest,
                differs("the block", stated, found),
            );
        }
        if let (Some(stated), Some(found)) = (&self.payload, &actual.payload)
            && stated != found
        {
            let raw = actual.raw.as_ref() == Some(stated);
            let code = if raw {
                FindingCode::PayloadDigestRaw
            } else {
                FindingCode::PayloadDigest
            };
            let message = if raw {
                format!(
                    "{stated} is the digest of the body with its chunks; without them it is {found}"
                )
            } else {
                differs("the payload", stated, found)
            };
            findings.add(code, message);
        }
        if self.is_http && !self.is_partial {
            compare_http(actual, findings);
        }
    }
}

fn compare_http(actual: &ActualContent, findings: &mut RecordFindings<'_>) {
    let Some(http) = &actual.http else {
        findings.add(
            FindingCode::HttpHead,
            FindingCode::HttpHead.meaning().to_owned(),
        );
        return;
    };
    if http.chunked && http.framing != BodyFraming::Chunked {
        let found = match http.framing {
            BodyFraming::Broken => "the body's chunks do not go to their end",
            _ => "the body has no chunks",
        };
        findings.add(
            FindingCode::HttpFraming,
            format!("the HTTP head says chunked, and {found}"),
        );
    }
    // The answer to HEAD says how long the body would be.
    let length = http.length.filter(|_| !http.chunked && http.body > 0);
    if let Some(stated) = length.filter(|stated| *stated != http.body) {
        let message = format!(
            "the HTTP head says Content-Length: {stated}, and the body has {} bytes",
            http.body
        );
        findings.add(FindingCode::HttpLength, message);
    }
}

fn differs(what: &str, stated: &Digest, found: &Digest) -> String {
    format!("{what} has the digest {found}, and the record says {stated}")
}

/// The actual content of a block.
#[derive(Default)]
struct ActualContent {
    block: Option<Digest>,
    /// Of the body without chunks; of the whole block if it is not HTTP.
    payload: Option<Digest>,
    /// Of the body with its chunks, if any.
    raw: Option<Digest>,
    http: Option<HttpMessage>,
    /// The request, if the record is one and its method is not GET.
    request: Option<StoredRequest>,
}

/// An HTTP message: the statements of its head, and its actual body.
struct HttpMessage {
    chunked: bool,
    framing: BodyFraming,
    /// `Content-Length` in the head.
    length: Option<u64>,
    /// The actual length of the body, in bytes.
    body: u64,
}

fn read(input: &mut impl BufRead, stated: &StatedContent) -> io::Result<ActualContent> {
    let hasher =
        |digest: &Option<Digest>| digest.as_ref().map(|it| DigestHasher::new(it.algorithm()));
    let mut block = hasher(&stated.block);
    let mut actual = ActualContent::default();
    let mut head = Vec::new();
    if stated.is_http || stated.kind == Some(RecordType::Request) {
        let text = HeadBytes::read(input, &mut head)?;
        actual.http = text
            .filter(|_| stated.is_http)
            .and_then(|it| stated.http(it));
        actual.request = text.and_then(StoredRequest::of_head);
        actual.request = actual.request.filter(|request| !request.is_get());
    }
    update(&mut block, &head);
    let chunked = actual.http.as_ref().is_some_and(|http| http.chunked);
    let (mut payload, mut raw) = (hasher(&stated.payload), None);
    if chunked {
        raw = hasher(&stated.payload);
    }
    if actual.http.is_none() {
        update(&mut payload, &head);
    }
    let mut chunks = Dechunker::new(chunked);
    let mut length = 0;
    loop {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            break;
        }
        update(&mut block, bytes);
        update(&mut raw, bytes);
        if let Some(request) = &mut actual.request {
            request.push(bytes);
        }
        if chunked {
            chunks.push(bytes, |content| update(&mut payload, content));
        } else {
            update(&mut payload, bytes);
        }
        let taken = bytes.len();
        length += taken as u64;
        input.consume(taken);
    }
    let framing = chunks.finish(|content| update(&mut payload, content));
    if let Some(http) = &mut actual.http {
        (http.framing, http.body) = (framing, length);
    }
    actual.block = block.map(DigestHasher::finish);
    actual.payload = payload.map(DigestHasher::finish);
    actual.raw = raw.map(DigestHasher::finish);
    Ok(actual)
}

fn update(hasher: &mut Option<DigestHasher>, bytes: &[u8]) {
    if let Some(hasher) = hasher {
        hasher.update(bytes);
    }
}
