//! One record split over several, and put together again (WARC/1.1 §7): for a record that would make
//! a file longer than it should be.
//!
//! The first segment has the fields of the whole, and `WARC-Segment-Number: 1`. The others are
//! `continuation` records that name it; the last says how long all of them are. A digest of the whole
//! block belongs to none of the segments and is left out; that of the payload stays.

use std::io::Read;

use crate::header::{Header, InvalidField, RecordType};
use crate::id::{RecordId, strip_brackets};

const NUMBER: &str = "WARC-Segment-Number";
const ORIGIN: &str = "WARC-Segment-Origin-ID";
const TOTAL: &str = "WARC-Segment-Total-Length";
const TRUNCATED: &str = "WARC-Truncated";

/// Hands out a record in segments of at most `limit` bytes of block (at least one), one after another:
/// `write` gets the header of each, its block, and the length of that. A record that fits is handed
/// out as it is. `new_id` makes the ids of the continuations.
pub fn split<E: From<InvalidField>>(
    header: &Header,
    (mut block, block_length): (impl Read, u64),
    limit: u64,
    mut new_id: impl FnMut() -> RecordId,
    mut write: impl FnMut(&Header, &mut dyn Read, u64) -> Result<(), E>,
) -> Result<(), E> {
    let limit = limit.max(1);
    if block_length <= limit {
        return write(header, &mut block, block_length);
    }
    let mut left = block_length;
    for number in 1u64.. {
        let length = left.min(limit);
        left -= length;
        let mut segment = match number {
            1 => first(header),
            _ => continuation(header, &new_id())?,
        };
        segment.push(NUMBER, number.to_string())?;
        if left == 0 {
            segment.push(TOTAL, block_length.to_string())?;
            if let Some(reason) = header.get(TRUNCATED) {
                segment.push(TRUNCATED, reason)?;
            }
        }
        write(&segment, &mut (&mut block).take(length), length)?;
        if left == 0 {
            break;
        }
    }
    Ok(())
}

fn first(whole: &Header) -> Header {
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
pub enum SegmentFault {
    /// It belongs to another record, or to none.
    #[error("the record is no continuation of {origin}")]
    Stranger {
        /// The id of the first segment.
        origin: String,
    },
    /// Another segment has to come before it.
    #[error("segment {found} of {origin} comes where segment {expected} should")]
    Order {
        /// The id of the first segment.
        origin: String,
        /// The number that comes next.
        expected: u64,
        /// What the record says.
        found: String,
    },
    /// The segments are not as long as the last one says.
    #[error("the segments of {origin} have {length} bytes, and should have {stated}")]
    Length {
        /// The id of the first segment.
        origin: String,
        /// Of all blocks, in bytes.
        length: u64,
        /// What the last segment says.
        stated: String,
    },
}

/// Puts a record together from the headers of its segments; the blocks are simply read one after
/// another. Segments may be in files of their own: their order is the caller's matter.
#[derive(Clone, Debug)]
pub struct Join {
    whole: Header,
    origin: String,
    segments: u64,
    length: u64,
    is_complete: bool,
}

impl Join {
    /// Begins with a first segment, whose block has so many bytes. `None` if the record is not one.
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

    /// Takes the next segment, whose block has so many bytes.
    pub fn add(&mut self, segment: &Header, block_length: u64) -> Result<(), SegmentFault> {
        let origin = || self.origin.clone();
        let is_ours = segment.get(ORIGIN).map(strip_brackets) == Some(self.origin.as_str());
        if !is_ours || self.is_complete {
            return Err(SegmentFault::Stranger { origin: origin() });
        }
        let expected = self.segments.saturating_add(1);
        let number = segment.get(NUMBER).unwrap_or_default();
        if number.parse() != Ok(expected) {
            return Err(SegmentFault::Order {
                origin: origin(),
                expected,
                found: number.to_owned(),
            });
        }
        let length = self.length.saturating_add(block_length);
        if let Some(stated) = segment.get(TOTAL) {
            if stated.parse() != Ok(length) {
                return Err(SegmentFault::Length {
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

    /// The header of the whole, without `Content-Length`, and the length of the block so far.
    pub fn whole(&self) -> (&Header, u64) {
        (&self.whole, self.length)
    }

    /// Whether the last segment has been added.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

fn is_one_of(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(text))
}
