//! Splits a record into segments and joins segments again (WARC/1.1 §7), for records that would make a
//! file too long.
//!
//! The first segment has the fields of the whole record, and `WARC-Segment-Number: 1`. The others are
//! `continuation` records that name it; the last states the total length. The block digest of the whole
//! record fits no segment and is left out; the payload digest stays.

mod stored;

pub use self::stored::{SegmentBlocks, SegmentPosition, StoredSegments};
pub(crate) use self::stored::{is_segment, whole_header};

use crate::header::id::strip_brackets;
use crate::header::{Header, InvalidField, RecordId, RecordType};

const NUMBER: &str = "WARC-Segment-Number";
const ORIGIN: &str = "WARC-Segment-Origin-ID";
const TOTAL: &str = "WARC-Segment-Total-Length";
const TRUNCATED: &str = "WARC-Truncated";

/// The headers of the segments of a record.
#[derive(Clone, Debug)]
pub struct SegmentHeaders {
    whole: Header,
    block_length: u64,
    limit: u64,
    /// The number of the next segment.
    number: u64,
    /// Bytes of the block that are in no segment yet.
    left: u64,
    is_complete: bool,
}

impl SegmentHeaders {
    /// Segments with blocks of at most `limit` bytes (at least one), of a record whose block has
    /// `block_length` bytes.
    pub fn new(whole: Header, block_length: u64, limit: u64) -> Self {
        Self {
            whole,
            block_length,
            limit: limit.max(1),
            number: 1,
            left: block_length,
            is_complete: false,
        }
    }

    /// Whether all segments have been returned.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// The header of the next segment, and the length of its block in bytes; `None` after the last one. The
    /// only segment of a record that fits is the record itself. `new_id` makes the id of a continuation.
    ///
    /// # Errors
    /// A field that cannot be written.
    pub fn next_segment(
        &mut self,
        new_id: impl FnOnce() -> RecordId,
    ) -> Result<Option<(Header, u64)>, InvalidField> {
        if self.is_complete {
            return Ok(None);
        }
        let length = self.left.min(self.limit);
        self.left -= length;
        self.is_complete = self.left == 0;
        if length == self.block_length {
            return Ok(Some((self.whole.clone(), length)));
        }
        let mut segment = match self.number {
            1 => first_segment(&self.whole),
            _ => continuation(&self.whole, &new_id())?,
        };
        segment.push(NUMBER, self.number.to_string())?;
        self.number += 1;
        if self.is_complete {
            segment.push(TOTAL, self.block_length.to_string())?;
            if let Some(reason) = self.whole.get(TRUNCATED) {
                segment.push(TRUNCATED, reason)?;
            }
        }
        Ok(Some((segment, length)))
    }
}

fn first_segment(whole: &Header) -> Header {
    let mut first = whole.clone();
    first.retain(|name| !is_one_of(name, &["WARC-Block-Digest", "Content-Length", TRUNCATED]));
    first
}

fn continuation(whole: &Header, id: &RecordId) -> Result<Header, InvalidField> {
    let mut header = Header::new(RecordType::Continuation);
    header.push("WARC-Record-ID", id.bracketed())?;
    for name in ["WARC-Date", "WARC-Target-URI"] {
        if let Some(value) = whole.get(name) {
            header.push(name, value)?;
        }
    }
    header.push(ORIGIN, whole.get("WARC-Record-ID").unwrap_or_default())?;
    Ok(header)
}

/// Why a record is not the next segment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// The record belongs to another segmented record, or to none.
    #[error("the record is no continuation of {origin}")]
    Unrelated {
        /// The id of the first segment.
        origin: String,
    },
    /// The record is a segment with another number than the next.
    #[error("segment {found} of {origin} comes where segment {expected} should")]
    Order {
        /// The id of the first segment.
        origin: String,
        /// The number of the next segment.
        expected: u64,
        /// The number in the record.
        found: String,
    },
    /// The total length of the segments differs from the one that the last segment states.
    #[error("the segments of {origin} have {length} bytes, and should have {stated}")]
    Length {
        /// The id of the first segment.
        origin: String,
        /// Of all blocks, in bytes.
        length: u64,
        /// The length in the last segment.
        stated: String,
    },
}

/// Joins the headers of segments into the header of the whole record. The block of the whole is the
/// blocks of the segments, one after another. Segments may be in different files; the caller brings
/// them into order.
#[derive(Clone, Debug)]
pub struct SegmentJoiner {
    whole: Header,
    origin: String,
    segments: u64,
    length: u64,
    is_complete: bool,
}

impl SegmentJoiner {
    /// Begins with a first segment, whose block has `block_length` bytes. `None` if the record is not a
    /// first segment.
    pub fn begin(first: &Header, block_length: u64) -> Option<Self> {
        let is_first =
            first.get(NUMBER) == Some("1") && first.record_type() != Some(RecordType::Continuation);
        let origin = strip_brackets(first.get("WARC-Record-ID")?).to_owned();
        let mut whole = first.clone();
        whole.retain(|name| {
            !is_one_of(
                name,
                &[NUMBER, TOTAL, "WARC-Block-Digest", "Content-Length"],
            )
        });
        is_first.then_some(Self {
            whole,
            origin,
            segments: 1,
            length: block_length,
            is_complete: first.get(TOTAL).is_some(),
        })
    }

    /// Adds the next segment, whose block has `block_length` bytes.
    pub fn add(&mut self, segment: &Header, block_length: u64) -> Result<(), SegmentError> {
        let origin = || self.origin.clone();
        let is_ours = segment.get(ORIGIN).map(strip_brackets) == Some(self.origin.as_str());
        if !is_ours || self.is_complete {
            return Err(SegmentError::Unrelated { origin: origin() });
        }
        let expected = self.segments.saturating_add(1);
        let number = segment.get(NUMBER).unwrap_or_default();
        if number.parse() != Ok(expected) {
            return Err(SegmentError::Order {
                origin: origin(),
                expected,
                found: number.to_owned(),
            });
        }
        let length = self.length.saturating_add(block_length);
        if let Some(stated) = segment.get(TOTAL) {
            if stated.parse() != Ok(length) {
                return Err(SegmentError::Length {
                    origin: origin(),
                    length,
                    stated: stated.to_owned(),
                });
            }
            self.is_complete = true;
        }
        if let Some(reason) = segment.get(TRUNCATED) {
            self.whole.push_read(TRUNCATED, reason);
        }
        (self.segments, self.length) = (expected, length);
        Ok(())
    }

    /// The header of the whole record, without `Content-Length`, and the length of its block so far.
    pub fn whole(&self) -> (&Header, u64) {
        (&self.whole, self.length)
    }

    /// Whether the last segment has been added.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

/// `WARC-Segment-Number`; `None` if absent or not a number.
pub(crate) fn number(header: &Header) -> Option<u64> {
    header.get(NUMBER)?.parse().ok()
}

/// The id of the record that a segment belongs to, without brackets; `None` if the record is no segment.
pub(crate) fn origin(header: &Header) -> Option<&str> {
    number(header)?;
    let id = header
        .get(ORIGIN)
        .or_else(|| header.get("WARC-Record-ID"))?;
    Some(strip_brackets(id))
}

/// Whether the record is the last segment of another.
pub(crate) fn is_last(header: &Header) -> bool {
    header.get(TOTAL).is_some()
}

fn is_one_of(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(text))
}
