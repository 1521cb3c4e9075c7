//! Drafts of records: header and HTTP head, without the body, for the record types of WARC/1.1 §6 that a run writes.
//! [`SegmentHeaders`](crate::segment::SegmentHeaders) makes those of `continuation`.
//!
//! The drafts follow WARC/1.1 §6 and what replay tools need in practice. A revisit has an empty block by
//! default: replay then answers with the original's head and body, and the record stays small. A
//! revisit names its original by URI and date, because replay tools look the original up by these and
//! ignore the record id.

use std::io::{self, Read};
use std::net::IpAddr;

use crate::digest::{Digest, DigestAlgorithm};
use crate::header::{Header, InvalidField, RecordId, RecordType, WarcDate};

/// The profile of a revisit with an identical payload (WARC/1.1 §6.7.2). A writer of WARC/1.0 uses the
/// URI of that version instead.
pub const IDENTICAL_PAYLOAD_PROFILE: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The profile of a revisit after a 304 response (WARC/1.1 §6.7.3). The example in that section lacks
/// `/revisit`; its text has it.
pub const NOT_MODIFIED_PROFILE: &str =
    "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

pub(crate) const HTTP_REQUEST: &str = "application/http;msgtype=request";
pub(crate) const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const WARC_FIELDS: &str = "application/warc-fields";
const DNS_ANSWER: &str = "text/dns";

/// A record without its body, which is streamed when the record is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordDraft {
    /// The header, without the `Content-Length` that the writer adds.
    pub header: Header,
    /// The beginning of the block: an HTTP head, or the whole block if no body follows.
    pub head: Vec<u8>,
}

impl RecordDraft {
    fn new(kind: RecordType, id: &RecordId, date: &WarcDate) -> Result<Self, InvalidField> {
        let mut header = Header::new(kind);
        header.push("WARC-Record-ID", id.bracketed())?;
        header.push("WARC-Date", date.as_str())?;
        Ok(Self {
            header,
            head: Vec::new(),
        })
    }

    fn with_block(mut self, content_type: &str, head: Vec<u8>) -> Result<Self, InvalidField> {
        self.header.push("Content-Type", content_type)?;
        self.head = head;
        Ok(self)
    }

    /// Says that a record of this id was written for the same exchange.
    pub fn add_concurrent(&mut self, id: &RecordId) -> Result<(), InvalidField> {
        self.header.push("WARC-Concurrent-To", id.bracketed())
    }

    /// Adds `WARC-Block-Digest` over head and body. The field precedes the block, so the body is read
    /// here and once more when the record is written.
    pub fn add_block_digest(
        &mut self,
        algorithm: DigestAlgorithm,
        body: impl Read,
    ) -> Result<(), BlockDigestError> {
        let (digest, _) = Digest::of(algorithm, self.head.as_slice().chain(body))?;
        self.header.push("WARC-Block-Digest", digest.to_string())?;
        Ok(())
    }
}

/// Why a block digest was not added.
#[derive(Debug, thiserror::Error)]
pub enum BlockDigestError {
    /// The body could not be read.
    #[error("cannot read the body to compute its digest: {0}")]
    Body(#[from] io::Error),
    /// The field could not be added.
    #[error(transparent)]
    Field(#[from] InvalidField),
}

/// Why a stored payload is incomplete (WARC/1.1 §5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TruncationReason {
    /// The archiving program limits the length.
    Length,
    /// The archiving program limits the time.
    Time,
    /// The connection was lost.
    Disconnect,
    /// Another reason.
    Unspecified,
}

impl TruncationReason {
    /// The value of the field: `length`, `time`, `disconnect` or `unspecified`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// The full capture that a revisit refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginalCapture {
    /// The record id.
    pub record_id: RecordId,
    /// The target URI.
    pub target_uri: String,
    /// The date, character for character.
    pub date: WarcDate,
    /// The digest of the payload, which the revisit has too.
    pub payload_digest: Digest,
}

/// One request and its response. All records about them share URI, date, IP address and protocols.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The requested URI.
    pub target_uri: &'a str,
    /// The date of the request.
    pub date: &'a WarcDate,
    /// The address of the server.
    pub ip_address: Option<IpAddr>,
    /// The protocols of the connection, as the proposed field `WARC-Protocol` has them: `http/1.1`,
    /// `tls/1.3`.
    pub protocols: &'a [&'a str],
}

impl Exchange<'_> {
    fn draft(&self, kind: RecordType, id: &RecordId) -> Result<RecordDraft, InvalidField> {
        let mut draft = RecordDraft::new(kind, id, self.date)?;
        draft.header.push("WARC-Target-URI", self.target_uri)?;
        if let Some(ip_address) = self.ip_address {
            draft
                .header
                .push("WARC-IP-Address", ip_address.to_string())?;
        }
        for protocol in self.protocols {
            draft.header.push("WARC-Protocol", *protocol)?;
        }
        Ok(draft)
    }

    /// Drafts a full capture (§6.3). `payload` is the digest of the body as stored, including its content
    /// coding.
    pub fn response(
        &self,
        id: &RecordId,
        head: Vec<u8>,
        payload: &Digest,
        truncated: Option<TruncationReason>,
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.draft(RecordType::Response, id)?;
        draft
            .header
            .push("WARC-Payload-Digest", payload.to_string())?;
        if let Some(reason) = truncated {
            draft.header.push("WARC-Truncated", reason.name())?;
        }
        draft.with_block(HTTP_RESPONSE, head)
    }

    /// Drafts the request (§6.5) that belongs to the response or revisit `response`.
    pub fn request(
        &self,
        id: &RecordId,
        response: &RecordId,
        head: Vec<u8>,
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.draft(RecordType::Request, id)?;
        draft
            .header
            .push("WARC-Concurrent-To", response.bracketed())?;
        draft.with_block(HTTP_REQUEST, head)
    }

    /// Drafts what a resolver said about a name, as a master file (RFC 4027; section 8.2 of WARC 0.9). The target
    /// is `dns:NAME`.
    pub fn dns_answer(
        &self,
        id: &RecordId,
        digest: &Digest,
        block: Vec<u8>,
    ) -> Result<RecordDraft, InvalidField> {
        self.whole(RecordType::Response, id, DNS_ANSWER, digest, block)
    }

    /// Drafts metadata with a URI of its own, such as the certificates of a server (section 8.1 of WARC 0.9):
    /// `block` has this type and digest.
    pub fn metadata_of(
        &self,
        id: &RecordId,
        content_type: &str,
        digest: &Digest,
        block: Vec<u8>,
    ) -> Result<RecordDraft, InvalidField> {
        self.whole(RecordType::Metadata, id, content_type, digest, block)
    }

    /// Drafts a record whose block is the payload itself, and whole.
    fn whole(
        &self,
        kind: RecordType,
        id: &RecordId,
        content_type: &str,
        digest: &Digest,
        block: Vec<u8>,
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.draft(kind, id)?;
        for name in ["WARC-Payload-Digest", "WARC-Block-Digest"] {
            draft.header.push(name, digest.to_string())?;
        }
        draft.with_block(content_type, block)
    }

    /// Drafts a revisit with an identical payload (§6.7.2). With an empty `head`, the usual case, replay
    /// shows the original's head. Any other head is stored, and the record is marked as truncated.
    pub fn revisit_identical(
        &self,
        id: &RecordId,
        original: &OriginalCapture,
        head: Vec<u8>,
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.revisit(id, original, IDENTICAL_PAYLOAD_PROFILE)?;
        if head.is_empty() {
            return Ok(draft);
        }
        draft
            .header
            .push("WARC-Truncated", TruncationReason::Length.name())?;
        draft.with_block(HTTP_RESPONSE, head)
    }

    /// Drafts a revisit after a 304 response (§6.7.3). The block is empty, because replay would show a
    /// stored 304 head without any content. [`Exchange::not_modified_head`] keeps that head.
    pub fn revisit_not_modified(
        &self,
        id: &RecordId,
        original: &OriginalCapture,
    ) -> Result<RecordDraft, InvalidField> {
        self.revisit(id, original, NOT_MODIFIED_PROFILE)
    }

    /// Drafts metadata with the head of a 304 response, which belongs to the revisit `about`. The head is
    /// stored as fields, its start line as `status-line`: indexers take metadata of any other content
    /// type for a capture of the URI.
    pub fn not_modified_head(
        &self,
        id: &RecordId,
        about: &RecordId,
        head: &[u8],
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.draft(RecordType::Metadata, id)?;
        draft.header.push("WARC-Concurrent-To", about.bracketed())?;
        let head = head.strip_suffix(b"\r\n").unwrap_or(head);
        draft.with_block(WARC_FIELDS, [b"status-line: ", head].concat())
    }

    fn revisit(
        &self,
        id: &RecordId,
        original: &OriginalCapture,
        profile: &str,
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.draft(RecordType::Revisit, id)?;
        let header = &mut draft.header;
        header.push("WARC-Profile", profile)?;
        header.push("WARC-Payload-Digest", original.payload_digest.to_string())?;
        header.push("WARC-Refers-To", original.record_id.bracketed())?;
        header.push("WARC-Refers-To-Target-URI", &original.target_uri)?;
        header.push("WARC-Refers-To-Date", original.date.as_str())?;
        Ok(draft)
    }

    /// Drafts metadata about the record `about`, or about the URI (§6.6), as fields.
    pub fn metadata(
        &self,
        id: &RecordId,
        about: Option<&RecordId>,
        fields: &[(&str, &str)],
    ) -> Result<RecordDraft, InvalidField> {
        let mut draft = self.draft(RecordType::Metadata, id)?;
        if let Some(about) = about {
            draft.header.push("WARC-Concurrent-To", about.bracketed())?;
        }
        draft.with_block(WARC_FIELDS, warc_fields(fields)?)
    }
}

/// Drafts the first record of a file (§6.2), which describes how the file was made.
pub fn warcinfo(
    id: &RecordId,
    date: &WarcDate,
    filename: &str,
    fields: &[(&str, &str)],
) -> Result<RecordDraft, InvalidField> {
    let mut draft = RecordDraft::new(RecordType::Warcinfo, id, date)?;
    draft.header.push("WARC-Filename", filename)?;
    draft.with_block(WARC_FIELDS, warc_fields(fields)?)
}

/// A block of `application/warc-fields`, with the same rules as a header.
fn warc_fields(fields: &[(&str, &str)]) -> Result<Vec<u8>, InvalidField> {
    let mut checked = Header::default();
    for (name, value) in fields {
        checked.push(name, value)?;
    }
    Ok(checked.render_fields().into_bytes())
}
