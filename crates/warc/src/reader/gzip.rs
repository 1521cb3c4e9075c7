//! Gzip members (RFC 1952), one after another, with the extra field of the WARC 0.9 draft.

use std::io::Read;

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::fault::{GzipFault, Problem};
use super::window::{CAPACITY, Fill, Raw, Window};
use crate::finding::Code;

/// What every member begins with: the magic number, and deflate.
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

const TRAILER: usize = 8;

/// The draft's extra field `sl` (section 9.2): how far it is to a following member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkipLengths {
    pub(super) compressed: u32,
    pub(super) uncompressed: u32,
}

/// The header of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberHeader {
    /// In bytes.
    pub(super) length: usize,
    pub(super) skip: Option<SkipLengths>,
    /// False if the header has a checksum, and another one than it should.
    pub(super) sound: bool,
}

/// Reads the header that `bytes` begin with; `None` if they end before it does.
pub(super) fn member_header(bytes: &[u8]) -> Result<Option<MemberHeader>, GzipFault> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(GzipFault::Header("no gzip member begins there"));
    }
    if bytes.get(3).is_some_and(|flags| flags & 0xe0 != 0) {
        return Err(GzipFault::Header("its header has flags that nobody knows"));
    }
    Ok(complete_header(bytes))
}

fn complete_header(bytes: &[u8]) -> Option<MemberHeader> {
    let flag = |bit: u8| bytes.get(3).map(|flags| flags & bit != 0);
    let mut length = 10;
    let mut skip = None;
    if flag(4)? {
        let size = usize::from(u16::from_le_bytes(
            bytes.get(length..)?.first_chunk().copied()?,
        ));
        skip = skip_lengths(bytes.get(length + 2..length + 2 + size)?);
        length += 2 + size;
    }
    for text in [flag(8)?, flag(16)?] {
        if text {
            length += memchr::memchr(0, bytes.get(length..)?)? + 1;
        }
    }
    let mut sound = true;
    if flag(2)? {
        let stated = u16::from_le_bytes(bytes.get(length..)?.first_chunk().copied()?);
        let mut crc = Crc::new();
        crc.update(bytes.get(..length)?);
        sound = crc.sum() & 0xffff == u32::from(stated);
        length += 2;
    }
    (bytes.len() >= length).then_some(MemberHeader {
        length,
        skip,
        sound,
    })
}

fn skip_lengths(mut extra: &[u8]) -> Option<SkipLengths> {
    while let Some(([first, second, low, high], rest)) = extra.split_first_chunk() {
        let (field, rest) =
            rest.split_at_checked(usize::from(u16::from_le_bytes([*low, *high])))?;
        if [*first, *second] == *b"sl" && field.len() == 8 {
            let number = |at: usize| {
                field
                    .get(at..)?
                    .first_chunk()
                    .copied()
                    .map(u32::from_le_bytes)
            };
            let (compressed, uncompressed) = (number(0)?, number(4)?);
            // Zero is for writers that could not fill it in.
            return (compressed > 0).then_some(SkipLengths {
                compressed,
                uncompressed,
            });
        }
        extra = rest;
    }
    None
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a member, or at the end.
    Between,
    Inside,
    /// Within a member, all of whose content came out.
    Closing,
    /// Within a member, of whose content nothing more can come out.
    Damaged,
}

/// Where a member's `sl` says that another begins.
struct Claim {
    /// Where that member begins.
    by: u64,
    compressed: u64,
    uncompressed: u64,
}

/// Decompresses member after member. Within [`Window`] the end of a member is an end, until
/// [`Members::begin`] goes on to the next.
pub(super) struct Members<R> {
    input: Window<Raw<R>>,
    inflate: Decompress,
    crc: Crc,
    state: State,
    /// Where the current member begins, in the file.
    start: u64,
    /// Bytes that came out of the members before.
    before: u64,
    /// Bytes that came out of the current member.
    produced: u64,
    skip: Option<SkipLengths>,
    claim: Option<Claim>,
    /// What deserves a note, until the reader takes it.
    pub(super) notes: Vec<Code>,
}

impl<R: Read> Members<R> {
    pub(super) fn new(input: Window<Raw<R>>) -> Self {
        Self {
            start: input.position(),
            input,
            inflate: Decompress::new(false),
            crc: Crc::new(),
            state: State::Between,
            before: 0,
            produced: 0,
            skip: None,
            claim: None,
            notes: Vec::new(),
        }
    }

    pub(super) fn input_mut(&mut self) -> &mut Window<Raw<R>> {
        &mut self.input
    }

    /// In the file: between members, where the next one begins.
    pub(super) fn position(&self) -> u64 {
        self.input.position()
    }

    /// Where the current member begins, in the file and in what came out.
    pub(super) fn start(&self) -> (u64, u64) {
        (self.start, self.before)
    }

    /// Whether the `sl` of a member before this one is still to be held against what comes.
    pub(super) fn has_earlier_claim(&self) -> bool {
        self.claim
            .as_ref()
            .is_some_and(|claim| claim.by < self.start)
    }

    /// Whether the file goes on with zero bytes where a member should begin.
    pub(super) fn are_zeros_next(&self) -> bool {
        self.state == State::Between && self.input.bytes().iter().all(|byte| *byte == 0)
    }

    /// Forgets the member that it is in, wherever the input is now.
    pub(super) fn abandon(&mut self) {
        self.state = State::Between;
        self.claim = None;
    }

    /// Goes on to the next member; false if there is none.
    pub(super) fn begin(&mut self) -> Result<bool, Problem> {
        self.check_claim();
        let header = loop {
            let bytes = self.input.bytes();
            if let Some(header) = member_header(bytes)? {
                break header;
            }
            let is_full = bytes.len() == CAPACITY;
            if !self.input.more()? {
                return match self.input.bytes() {
                    [] => {
                        self.notes
                            .extend(self.claim.take().map(|_| Code::SkipLength));
                        Ok(false)
                    }
                    _ if is_full => Err(GzipFault::Header("its header is too long").into()),
                    _ => Err(Problem::Clipped),
                };
            }
        };
        if !header.sound {
            self.notes.push(Code::GzipHeaderChecksum);
        }
        self.start = self.input.position();
        self.input.consume(header.length);
        self.inflate.reset(false);
        self.crc.reset();
        self.before += std::mem::take(&mut self.produced);
        self.skip = header.skip;
        self.state = State::Inside;
        if let (None, Some(skip)) = (&self.claim, header.skip) {
            self.claim = Some(Claim {
                by: self.start,
                compressed: self.start + u64::from(skip.compressed),
                uncompressed: self.before + u64::from(skip.uncompressed),
            });
        }
        Ok(true)
    }

    /// Between members: whether the `sl` of an earlier one was true. One may span several members.
    fn check_claim(&mut self) {
        let here = self.input.position();
        if let Some(claim) = self.claim.take_if(|claim| claim.compressed <= here)
            && (claim.compressed, claim.uncompressed) != (here, self.before + self.produced)
        {
            self.notes.push(Code::SkipLength);
        }
    }

    /// Passes over the member without decompressing it, if its `sl` says that it has `expected`
    /// bytes. False, and nothing done, if not.
    pub(super) fn skip_member(&mut self, expected: u64) -> Result<bool, Problem> {
        let Some(skip) = self.skip.filter(|_| self.state != State::Between) else {
            return Ok(false);
        };
        let target = self.start + u64::from(skip.compressed);
        let Some(distance) = target.checked_sub(self.input.position()) else {
            return Ok(false);
        };
        if u64::from(skip.uncompressed) != expected {
            return Ok(false);
        }
        if !self.input.skip(distance)? {
            return Err(Problem::Clipped);
        }
        self.abandon();
        Ok(true)
    }

    /// Reads the checksum and the length that close a member.
    fn end(&mut self) -> Result<(), Problem> {
        let Some((stated, _)) = self.input.peek(TRAILER)?.split_first_chunk::<TRAILER>() else {
            return Err(GzipFault::Trailer.into());
        };
        let [c0, c1, c2, c3, l0, l1, l2, l3] = *stated;
        if u32::from_le_bytes([c0, c1, c2, c3]) != self.crc.sum() {
            return Err(GzipFault::Checksum.into());
        }
        if u64::from(u32::from_le_bytes([l0, l1, l2, l3])) != self.produced & 0xffff_ffff {
            return Err(GzipFault::Length.into());
        }
        self.input.consume(TRAILER);
        self.state = State::Between;
        if self.produced == 0 {
            self.notes.push(Code::EmptyMember);
        }
        self.check_claim();
        Ok(())
    }
}

impl<R: Read> Fill for Members<R> {
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, Problem> {
        while self.state == State::Inside {
            let ended = self.input.bytes().is_empty() && !self.input.more()?;
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(self.input.bytes(), into, FlushDecompress::None);
            let difference = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(0);
            let taken = difference(self.inflate.total_in(), before_in);
            let given = difference(self.inflate.total_out(), before_out).min(into.len());
            self.input.consume(taken);
            self.crc.update(&into[..given]);
            self.produced += given as u64;
            match status {
                Ok(Status::StreamEnd) => self.state = State::Closing,
                Ok(_) => {}
                Err(_) => self.state = State::Damaged,
            }
            if given > 0 {
                return Ok(given);
            }
            if self.state == State::Inside && taken == 0 {
                // Without input there is nothing to wait for; with input it should have got on.
                let fault = if ended {
                    Problem::Clipped
                } else {
                    GzipFault::Data.into()
                };
                return Err(fault);
            }
        }
        match self.state {
            State::Closing => self.end()?,
            State::Damaged => return Err(GzipFault::Data.into()),
            State::Between | State::Inside => {}
        }
        Ok(0)
    }
}
