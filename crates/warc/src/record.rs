//! Records to be written, as drafts: everything but the body. Of the eight types of WARC/1.1 §6 all but
//! `continuation` are drafted here, and that one by [`segment`](crate::segment).
//!
//! Their shape follows WARC/1.1 §6 and what replay tools need in practice. A revisit has an empty
//! block by default: replay then answers with the original's head and body, and the record stays
//! small. It names its original by URI and date, which is how replay tools find it; the record id
//! alone they ignore.

use std::io::{self, Read};
use std::net::IpAddr;

use crate::date::WarcDate;
use crate::digest::{Algorithm, Digest};
use crate::header::{Header, InvalidField, RecordType};
use crate::id::RecordId;

/// The profile of a revisit that found the very same payload (WARC/1.1 §6.7.2). A writer of WARC/1.0
/// puts the URI of that version in its place.
pub const IDENTICAL_PAYLOAD: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

/// The profile of a revisit for which the server said 304 (WARC/1.1 §6.7.3), which names it so; the
/// example there is without `/revisit`.
pub const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";

pub(crate) const HTTP_REQUEST: &str = "application/http;msgtype=request";
pub(crate) const HTTP_RESPONSE: &str = "application/http;msgtype=response";
const WARC_FIELDS: &str = "application/warc-fields";

/// A record ready to be written, save for a body that is streamed when it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    /// The header, without the `Content-Length` that the writer adds.
    pub header: Header,
    /// The beginning of the block: an HTTP head, or all of it where no body follows.
    pub head: Vec<u8>,
}

impl Draft {
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

    /// Adds `WARC-Block-Digest`, over head and body. It has to stand before the block, so the body is
    /// read here, and once more when the record is written.
    pub fn add_block_digest(
        &mut self,
        algorithm: Algorithm,
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

/// Why a stored payload is not whole (WARC/1.1 §5.13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// A limit of ours on the length.
    Length,
    /// A limit of ours on the time.
    Time,
    /// The connection was lost.
    Disconnect,
    /// Anything else.
    Unspecified,
}

impl Truncated {
    fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
            Self::Unspecified => "unspecified",
        }
    }
}

/// The full capture that a revisit refers to: what the ledger keeps of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    /// Its record id.
    pub record_id: RecordId,
    /// Its target URI.
    pub target_uri: String,
    /// Its date, to the letter.
    pub date: WarcDate,
    /// The digest of its payload, which is that of the revisit too.
    pub payload_digest: Digest,
}

/// One request and its answer. All records about it share the URI, the date and the address.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The URI that was asked for.
    pub target_uri: &'a str,
    /// When.
    pub date: &'a WarcDate,
    /// The address that answered.
    pub ip_address: Option<IpAddr>,
}

impl Exchange<'_> {
    fn draft(&self, kind: RecordType, id: &RecordId) -> Result<Draft, InvalidField> {
        let mut draft = Draft::new(kind, id, self.date)?;
        draft.header.push("WARC-Target-URI", self.target_uri)?;
        if let Some(ip_address) = self.ip_address {
            draft
                .header
                .push("WARC-IP-Address", ip_address.to_string())?;
        }
        Ok(draft)
    }

    /// A full capture (§6.3). `payload` is the digest of the body as stored, content coding and all.
    pub fn response(
        &self,
        id: &RecordId,
        head: Vec<u8>,
        payload: &Digest,
        truncated: Option<Truncated>,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Response, id)?;
        draft
            .header
            .push("WARC-Payload-Digest", payload.to_string())?;
        if let Some(reason) = truncated {
            draft.header.push("WARC-Truncated", reason.name())?;
        }
        draft.with_block(HTTP_RESPONSE, head)
    }

    /// What was asked (§6.5), beside the response or revisit `answer`.
    pub fn request(
        &self,
        id: &RecordId,
        answer: &RecordId,
        head: Vec<u8>,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Request, id)?;
        draft
            .header
            .push("WARC-Concurrent-To", answer.bracketed())?;
        draft.with_block(HTTP_REQUEST, head)
    }

    /// A file or the like, whose block is the payload itself (§6.4).
    pub fn resource(
        &self,
        id: &RecordId,
        content_type: &str,
        payload: &Digest,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Resource, id)?;
        draft
            .header
            .push("WARC-Payload-Digest", payload.to_string())?;
        draft.with_block(content_type, Vec::new())
    }

    /// The content of the record `of` in another format, so that it can still be read (§6.8).
    pub fn conversion(
        &self,
        id: &RecordId,
        of: &RecordId,
        content_type: &str,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Conversion, id)?;
        draft.header.push("WARC-Refers-To", of.bracketed())?;
        draft.with_block(content_type, Vec::new())
    }

    /// The same payload again (§6.7.2). With an empty `head`, the usual one, replay shows the
    /// original's head; any other is stored, and said to be without its body.
    pub fn revisit_identical(
        &self,
        id: &RecordId,
        original: &Original,
        head: Vec<u8>,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.revisit(id, original, IDENTICAL_PAYLOAD)?;
        if head.is_empty() {
            return Ok(draft);
        }
        draft
            .header
            .push("WARC-Truncated", Truncated::Length.name())?;
        draft.with_block(HTTP_RESPONSE, head)
    }

    /// The server said 304 (§6.7.3). The block is empty: replay would show a head in it as the bare
    /// 304 that it is, and no content. The head goes beside it, into [`Exchange::not_modified_head`].
    pub fn revisit_not_modified(
        &self,
        id: &RecordId,
        original: &Original,
    ) -> Result<Draft, InvalidField> {
        self.revisit(id, original, NOT_MODIFIED)
    }

    /// The head of the 304 for which there is the revisit `about`. It is kept as fields, the start line
    /// as `status-line`: programs that make an index take metadata of any other content type for a
    /// capture of the URI.
    pub fn not_modified_head(
        &self,
        id: &RecordId,
        about: &RecordId,
        head: &[u8],
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Metadata, id)?;
        draft.header.push("WARC-Concurrent-To", about.bracketed())?;
        let head = head.strip_suffix(b"\r\n").unwrap_or(head);
        draft.with_block(WARC_FIELDS, [b"status-line: ", head].concat())
    }

    fn revisit(
        &self,
        id: &RecordId,
        original: &Original,
        profile: &str,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Revisit, id)?;
        let header = &mut draft.header;
        header.push("WARC-Profile", profile)?;
        header.push("WARC-Payload-Digest", original.payload_digest.to_string())?;
        header.push("WARC-Refers-To", original.record_id.bracketed())?;
        header.push("WARC-Refers-To-Target-URI", &original.target_uri)?;
        header.push("WARC-Refers-To-Date", original.date.as_str())?;
        Ok(draft)
    }

    /// What we know about the record `about`, or about the URI (§6.6), as fields.
    pub fn metadata(
        &self,
        id: &RecordId,
        about: Option<&RecordId>,
        fields: &[(&str, &str)],
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Metadata, id)?;
        if let Some(about) = about {
            draft.header.push("WARC-Concurrent-To", about.bracketed())?;
        }
        draft.with_block(WARC_FIELDS, warc_fields(fields)?)
    }
}

/// The first record of a file (§6.2): who made it, and how.
pub fn warcinfo(
    id: &RecordId,
    date: &WarcDate,
    filename: &str,
    fields: &[(&str, &str)],
) -> Result<Draft, InvalidField> {
    let mut draft = Draft::new(RecordType::Warcinfo, id, date)?;
    draft.header.push("WARC-Filename", filename)?;
    draft.with_block(WARC_FIELDS, warc_fields(fields)?)
}

/// A block of `application/warc-fields`: held to the same rules as a header.
fn warc_fields(fields: &[(&str, &str)]) -> Result<Vec<u8>, InvalidField> {
    let mut checked = Header::default();
    for (name, value) in fields {
        checked.push(name, value)?;
    }
    Ok(checked.render_fields().into_bytes())
}
