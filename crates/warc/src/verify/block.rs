//! Whether a block is what its record says: its digests, and what its HTTP head says of the body.

use std::fs::File;
use std::io::{self, BufRead};

use super::Remarks;
use crate::digest::{Digest, Hasher};
use crate::finding::Code;
use crate::header::{Header, RecordType};
use crate::http::{Dechunker, Framing, HeadText, StoredRequest};
use crate::reader::{ReadError, Record};

/// Reads the block, and reports what is wrong with it. Hands out what was asked, if that is in it.
pub(super) fn check(
    record: &mut Record<'_, File>,
    remarks: &mut Remarks<'_>,
) -> Result<Option<StoredRequest>, ReadError> {
    let about = About::of(record.header(), remarks);
    let seen = read(record, &about).map_err(|error| record.fault(error))?;
    about.compare(&seen, remarks);
    Ok(seen.request)
}

/// The same for a block that is put together of several, and the header of the whole.
pub(super) fn check_joined(
    header: &Header,
    blocks: &mut impl BufRead,
    remarks: &mut Remarks<'_>,
) -> io::Result<()> {
    let about = About::of(header, remarks);
    let seen = read(blocks, &about)?;
    about.compare(&seen, remarks);
    Ok(())
}

/// What the header says about the block.
struct About {
    block: Option<Digest>,
    payload: Option<Digest>,
    kind: Option<RecordType>,
    is_http: bool,
    /// Whether the body that is stored is not, or need not be, all of it.
    is_partial: bool,
}

impl About {
    fn of(header: &Header, remarks: &mut Remarks<'_>) -> Self {
        let kind = header.record_type();
        let is_segment = header.get("WARC-Segment-Number").is_some();
        let is_revisit = kind == Some(RecordType::Revisit);
        let mut digest = |name: &str| {
            let text = header.get(name)?;
            let digest = text.parse().ok();
            if digest.is_none() {
                remarks.add(Code::DigestUnknown, format!("{name} is {text:?}"));
            }
            digest
        };
        let block = digest("WARC-Block-Digest");
        // That of a revisit is of the payload elsewhere; that of a segment, of all segments together.
        let payload = digest("WARC-Payload-Digest").filter(|_| !is_revisit && !is_segment);
        Self {
            block,
            payload,
            kind,
            is_http: header.is_http() && kind.is_some_and(|it| it != RecordType::Continuation),
            is_partial: is_segment || is_revisit || header.get("WARC-Truncated").is_some(),
        }
    }

    /// What the head says that the block begins with; `None` if it is none.
    fn http(&self, head: HeadText<'_>) -> Option<Http> {
        let is_head = match self.kind {
            Some(RecordType::Request) => head.method().is_some(),
            _ => head.status().is_some(),
        };
        is_head.then(|| Http {
            chunked: head.is_chunked(),
            framing: Framing::Plain,
            length: head
                .get("Content-Length")
                .and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()),
            body: 0,
        })
    }

    fn compare(&self, seen: &Seen, remarks: &mut Remarks<'_>) {
        if let (Some(stated), Some(found)) = (&self.block, &seen.block)
            && stated != found
        {
            remarks.add(Code::BlockDigest, differs("the block", stated, found));
        }
        if let (Some(stated), Some(found)) = (&self.payload, &seen.payload)
            && stated != found
        {
            let raw = seen.raw.as_ref() == Some(stated);
            let code = if raw {
                Code::PayloadDigestRaw
            } else {
                Code::PayloadDigest
            };
            let message = if raw {
                format!(
                    "{stated} is the digest of the body with its chunks; without them it is {found}"
                )
            } else {
                differs("the payload", stated, found)
            };
            remarks.add(code, message);
        }
        if self.is_http && !self.is_partial {
            compare_http(seen, remarks);
        }
    }
}

fn compare_http(seen: &Seen, remarks: &mut Remarks<'_>) {
    let Some(http) = &seen.http else {
        remarks.add(Code::HttpHead, Code::HttpHead.meaning().to_owned());
        return;
    };
    if http.chunked && http.framing != Framing::Chunked {
        let found = match http.framing {
            Framing::Broken => "the body's chunks do not go to their end",
            _ => "the body has no chunks",
        };
        remarks.add(
            Code::HttpFraming,
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
        remarks.add(Code::HttpLength, message);
    }
}

fn differs(what: &str, stated: &Digest, found: &Digest) -> String {
    format!("{what} has the digest {found}, and the record says {stated}")
}

/// What was found in a block.
#[derive(Default)]
struct Seen {
    block: Option<Digest>,
    /// Of the body without its chunks; of the whole block if it is no HTTP.
    payload: Option<Digest>,
    /// Of the body with its chunks, if it has any.
    raw: Option<Digest>,
    http: Option<Http>,
    /// Of a record about one, and no GET.
    request: Option<StoredRequest>,
}

/// What an HTTP head says, and what came after it.
struct Http {
    chunked: bool,
    framing: Framing,
    length: Option<u64>,
    body: u64,
}

fn read(input: &mut impl BufRead, about: &About) -> io::Result<Seen> {
    let hasher = |digest: &Option<Digest>| digest.as_ref().map(|it| Hasher::new(it.algorithm()));
    let mut block = hasher(&about.block);
    let mut seen = Seen::default();
    let mut head = Vec::new();
    if about.is_http || about.kind == Some(RecordType::Request) {
        let text = HeadText::take(input, &mut head)?;
        seen.http = text.filter(|_| about.is_http).and_then(|it| about.http(it));
        seen.request = text.and_then(StoredRequest::of_head);
        seen.request = seen.request.filter(|request| !request.is_get());
    }
    update(&mut block, &head);
    let chunked = seen.http.as_ref().is_some_and(|http| http.chunked);
    let (mut payload, mut raw) = (hasher(&about.payload), None);
    if chunked {
        raw = hasher(&about.payload);
    }
    if seen.http.is_none() {
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
        if let Some(request) = &mut seen.request {
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
    if let Some(http) = &mut seen.http {
        (http.framing, http.body) = (framing, length);
    }
    seen.block = block.map(Hasher::finish);
    seen.payload = payload.map(Hasher::finish);
    seen.raw = raw.map(Hasher::finish);
    Ok(seen)
}

fn update(hasher: &mut Option<Hasher>, bytes: &[u8]) {
    if let Some(hasher) = hasher {
        hasher.update(bytes);
    }
}
