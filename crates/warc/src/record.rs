//! The records that urldb writes, as drafts: everything but the body.
//!
//! Their shape follows WARC/1.1 §6 and what replay tools need in practice. A revisit has an empty
//! block by default: replay then answers with the original's head and body, and the record stays
//! small. It names its original by URI and date, which is how replay tools find it; the record id
//! alone they ignore.

use std::io::{self, Read, Seek, SeekFrom};
use std::net::IpAddr;

use crate::date::WarcDate;
use crate::digest::Digest;
use crate::header::{Header, InvalidField, RecordType};
use crate::id::RecordId;

/// The profile of a revisit that found the very same payload (WARC/1.1 §6.7.2).
pub const IDENTICAL_PAYLOAD: &str =
    "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";

const HTTP_REQUEST: &str = "application/http;msgtype=request";
const HTTP_RESPONSE: &str = "application/http;msgtype=response";
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

    /// Adds `WARC-Block-Digest`, over head and body. It has to stand before the block, so the body
    /// is read once more, from its beginning, and then stands there again.
    pub fn add_block_digest(
        &mut self,
        body: &mut (impl Read + Seek),
    ) -> Result<(), BlockDigestError> {
        body.seek(SeekFrom::Start(0))?;
        let (digest, _) = Digest::sha256_of(self.head.as_slice().chain(&mut *body))?;
        body.seek(SeekFrom::Start(0))?;
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

    /// The same payload again (§6.7.2). With an empty `head`, the usual one, replay shows the
    /// original's head; any other is stored, and said to be without its body.
    pub fn revisit_identical(
        &self,
        id: &RecordId,
        original: &Original,
        head: Vec<u8>,
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Revisit, id)?;
        let header = &mut draft.header;
        header.push("WARC-Profile", IDENTICAL_PAYLOAD)?;
        header.push("WARC-Payload-Digest", original.payload_digest.to_string())?;
        header.push("WARC-Refers-To", original.record_id.bracketed())?;
        header.push("WARC-Refers-To-Target-URI", &original.target_uri)?;
        header.push("WARC-Refers-To-Date", original.date.as_str())?;
        if head.is_empty() {
            return Ok(draft);
        }
        header.push("WARC-Truncated", Truncated::Length.name())?;
        draft.with_block(HTTP_RESPONSE, head)
    }

    /// What we know about the record `about` (§6.6), as fields.
    pub fn metadata(
        &self,
        id: &RecordId,
        about: &RecordId,
        fields: &[(&str, &str)],
    ) -> Result<Draft, InvalidField> {
        let mut draft = self.draft(RecordType::Metadata, id)?;
        draft.header.push("WARC-Concurrent-To", about.bracketed())?;
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
