//! Decompresses gzip members (RFC 1952), with the extra field of the WARC 0.9 draft.

use std::io::Read;

use flate2::{Crc, Decompress, FlushDecompress, Status};
use libdeflater::Decompressor;
use memchr::memmem;

use super::error::{GzipError, ReadErrorKind};
use super::window::{CAPACITY, RawBytes, Window, WindowInput};
use crate::finding::FindingCode;

/// The first bytes of every member: the magic number, and the deflate method.
pub(super) const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];

const TRAILER: usize = 8;

/// Longest member that is decompressed at once, in bytes of the file.
const SHORT: usize = 64 * 1024;

/// The draft's extra field `sl` (section 9.2): the distance to a following member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SkipLengths {
    pub(super) compressed: u32,
    pub(super) uncompressed: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberHeader {
    /// In bytes.
    pub(super) length: usize,
    pub(super) skip: Option<SkipLengths>,
    /// False if the header has a wrong checksum; true if it has none.
    pub(super) checksum_is_valid: bool,
}

/// Reads the header at the beginning of `bytes`; `None` if the header is incomplete.
pub(super) fn member_header(bytes: &[u8]) -> Result<Option<MemberHeader>, GzipError> {
    let known = bytes.len().min(MAGIC.len());
    if bytes[..known] != MAGIC[..known] {
        return Err(GzipError::Header("no gzip member begins there"));
    }
    if bytes.get(3).is_some_and(|flags| flags & 0xe0 != 0) {
        return Err(GzipError::Header(
            "its header has flags that are not defined",
        ));
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
    let mut checksum_is_valid = true;
    if flag(2)? {
        let stated = u16::from_le_bytes(bytes.get(length..)?.first_chunk().copied()?);
        let mut crc = Crc::new();
        crc.update(bytes.get(..length)?);
        checksum_is_valid = crc.sum() & 0xffff == u32::from(stated);
        length += 2;
    }
    (bytes.len() >= length).then_some(MemberHeader {
        length,
        skip,
        checksum_is_valid,
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
            // Zero means that the writer could not fill the length in.
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
enum MemberState {
    /// Before a member, or at the end.
    Between,
    Inside,
    /// Within a member, after all of its content.
    Closing,
    /// Within a member whose remaining content is damaged.
    Damaged,
}

/// The beginning of another member, as stated by a member's `sl`.
struct StatedStart {
    /// The offset of the member with the `sl`.
    by: u64,
    compressed: u64,
    uncompressed: u64,
}

/// Decompresses member after member. In a [`Window`] the bytes end with each member, until
/// [`GzipMembers::begin`] moves to the next.
pub(super) struct GzipMembers<R> {
    input: Window<RawBytes<R>>,
    inflate: Decompress,
    /// Decompresses short members.
    at_once: Option<Decompressor>,
    /// The length of the current member, if it is short; a guess.
    short: Option<usize>,
    crc: Crc,
    state: MemberState,
    /// The offset of the current member in the file.
    start: u64,
    /// Decompressed bytes of the members before.
    before: u64,
    /// Decompressed bytes of the current member.
    produced: u64,
    stated_start: Option<StatedStart>,
    /// Deviations, each once, until the reader takes them.
    pub(super) deviations: Vec<FindingCode>,
}

impl<R: Read> GzipMembers<R> {
    pub(super) fn new(input: Window<RawBytes<R>>) -> Self {
        Self {
            start: input.position(),
            input,
            inflate: Decompress::new(false),
            at_once: None,
            short: None,
            crc: Crc::new(),
            state: MemberState::Between,
            before: 0,
            produced: 0,
            stated_start: None,
            deviations: Vec::new(),
        }
    }

    pub(super) fn input_mut(&mut self) -> &mut Window<RawBytes<R>> {
        &mut self.input
    }

    /// The position in the file; between members, the beginning of the next.
    pub(super) fn position(&self) -> u64 {
        self.input.position()
    }

    /// The beginning of the current member, in the file and in the decompressed content.
    pub(super) fn start(&self) -> (u64, u64) {
        (self.start, self.before)
    }

    /// Whether the `sl` of an earlier member has not been checked yet.
    pub(super) fn has_unchecked_length(&self) -> bool {
        self.stated_start
            .as_ref()
            .is_some_and(|stated_start| stated_start.by < self.start)
    }

    /// Whether zero bytes stand where a member should begin.
    pub(super) fn are_zeros_next(&self) -> bool {
        self.state == MemberState::Between && self.input.bytes().iter().all(|byte| *byte == 0)
    }

    /// Drops the state of the current member, whatever the position of the input.
    pub(super) fn abandon(&mut self) {
        self.short = None;
        self.state = MemberState::Between;
        self.stated_start = None;
    }

    /// Moves to the next member; false if there is none.
    pub(super) fn begin(&mut self) -> Result<bool, ReadErrorKind> {
        self.check_stated_start();
        let header = loop {
            let bytes = self.input.bytes();
            if let Some(header) = member_header(bytes)? {
                break header;
            }
            let is_full = bytes.len() == CAPACITY;
            if !self.input.more()? {
                return match self.input.bytes() {
                    [] => {
                        if self.stated_start.take().is_some() {
                            self.add_deviation(FindingCode::SkipLength);
                        }
                        Ok(false)
                    }
                    _ if is_full => Err(GzipError::Header("its header is too long").into()),
                    _ => Err(ReadErrorKind::CutOff),
                };
            }
        };
        if !header.checksum_is_valid {
            self.add_deviation(FindingCode::GzipHeaderChecksum);
        }
        self.short = self.short_member(header.length)?;
        self.start = self.input.position();
        self.input.consume(header.length);
        self.inflate.reset(false);
        self.crc.reset();
        self.before += std::mem::take(&mut self.produced);
        self.state = MemberState::Inside;
        if let (None, Some(skip)) = (&self.stated_start, header.skip) {
            self.stated_start = Some(StatedStart {
                by: self.start,
                compressed: self.start + u64::from(skip.compressed),
                uncompressed: self.before + u64::from(skip.uncompressed),
            });
        }
        Ok(true)
    }

    fn add_deviation(&mut self, code: FindingCode) {
        if !self.deviations.contains(&code) {
            self.deviations.push(code);
        }
    }

    /// The length of the next member, if it is short: the distance to the next magic number, or to the end
    /// of the file. A guess: a magic number may also stand within a member.
    fn short_member(&mut self, header: usize) -> Result<Option<usize>, ReadErrorKind> {
        let mut from = header;
        loop {
            let bytes = self.input.bytes();
            if let Some(at) = memmem::find(bytes.get(from..).unwrap_or_default(), &MAGIC) {
                return Ok(Some(from + at));
            }
            let there = bytes.len();
            if there > SHORT {
                return Ok(None);
            }
            from = from.max(there.saturating_sub(MAGIC.len() - 1));
            if !self.input.more()? {
                return Ok(Some(there));
            }
        }
    }

    /// Decompresses all content of a short member at once, which takes less time than piece by piece.
    /// `None` if the member is not as it was guessed, or `into` has no room for its content; then nothing
    /// has happened.
    fn fill_at_once(&mut self, into: &mut [u8]) -> Option<usize> {
        let length = self.short.take()?;
        let consumed = usize::try_from(self.input.position() - self.start).ok()?;
        let member = self.input.bytes_since(self.start)?.get(..length)?;
        let (_, stated) = member.split_last_chunk::<4>()?;
        if u64::from(u32::from_le_bytes(*stated)) > into.len() as u64 {
            return None;
        }
        let given = self
            .at_once
            .get_or_insert_with(Decompressor::new)
            .gzip_decompress(member, into)
            .ok()?;
        let mut crc = Crc::new();
        crc.update(&into[..given]);
        // The library does not say at which offset it has found this trailer. If the member has the trailer
        // once, at its end, that is the end of the data.
        let size = u32::try_from(given).ok()?;
        let trailer = [crc.sum().to_le_bytes(), size.to_le_bytes()].concat();
        let data = member.get(consumed..)?;
        let end = data.len().checked_sub(TRAILER)?;
        if memmem::find(data, &trailer) != Some(end) {
            return None;
        }
        self.crc = crc;
        self.input.consume(end);
        self.produced = given as u64;
        self.state = MemberState::Closing;
        Some(given)
    }

    /// Checks the `sl` of an earlier member, which may span several members. Called between members.
    fn check_stated_start(&mut self) {
        let here = self.input.position();
        if let Some(stated_start) = self
            .stated_start
            .take_if(|stated_start| stated_start.compressed <= here)
            && (stated_start.compressed, stated_start.uncompressed)
                != (here, self.before + self.produced)
        {
            self.add_deviation(FindingCode::SkipLength);
        }
    }

    /// Reads and checks the trailer of a member: checksum and length.
    fn end(&mut self) -> Result<(), ReadErrorKind> {
        let Some((stated, _)) = self.input.peek(TRAILER)?.split_first_chunk::<TRAILER>() else {
            return Err(GzipError::Trailer.into());
        };
        let [c0, c1, c2, c3, l0, l1, l2, l3] = *stated;
        if u32::from_le_bytes([c0, c1, c2, c3]) != self.crc.sum() {
            return Err(GzipError::Checksum.into());
        }
        if u64::from(u32::from_le_bytes([l0, l1, l2, l3])) != self.produced & 0xffff_ffff {
            return Err(GzipError::Length.into());
        }
        self.input.consume(TRAILER);
        self.state = MemberState::Between;
        if self.produced == 0 {
            self.add_deviation(FindingCode::EmptyMember);
        }
        self.check_stated_start();
        Ok(())
    }
}

impl<R: Read> WindowInput for GzipMembers<R> {
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, ReadErrorKind> {
        if let Some(given) = self.fill_at_once(into).filter(|given| *given > 0) {
            return Ok(given);
        }
        while self.state == MemberState::Inside {
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
                Ok(Status::StreamEnd) => self.state = MemberState::Closing,
                Ok(_) => {}
                Err(_) => self.state = MemberState::Damaged,
            }
            if given > 0 {
                return Ok(given);
            }
            if self.state == MemberState::Inside && taken == 0 {
                // No progress: either the input has ended, or the data is damaged.
                let fault = if ended {
                    ReadErrorKind::CutOff
                } else {
                    GzipError::Data.into()
                };
                return Err(fault);
            }
        }
        match self.state {
            MemberState::Closing => self.end()?,
            MemberState::Damaged => return Err(GzipError::Data.into()),
            MemberState::Between | MemberState::Inside => {}
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use super::*;

    /// A room for content, as the reader of records gives.
    const ROOM: usize = 16 * 1024;

    fn member(content: &[u8], level: u32) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    /// The members of a file, and what else their reader has shown.
    #[derive(Debug, Default, PartialEq)]
    struct Seen {
        /// The start and the content of each member.
        members: Vec<(u64, Vec<u8>)>,
        error: Option<String>,
        deviations: Vec<FindingCode>,
        end: u64,
    }

    /// Reads all members; returns also how many of them were decompressed at once.
    fn read(file: &[u8], is_at_once: bool) -> (Seen, usize) {
        let mut members = GzipMembers::new(Window::new(RawBytes(file), 0));
        let mut seen = Seen::default();
        let mut at_once = 0;
        let mut room = vec![0; ROOM];
        let mut next = |seen: &mut Seen| -> Result<bool, ReadErrorKind> {
            let is_member = members.begin()?;
            if !is_at_once {
                members.short = None;
            }
            let mut content = Vec::new();
            let mut given = usize::from(is_member);
            while given > 0 {
                given = members.fill(&mut room)?;
                at_once += usize::from(given > 0 && members.inflate.total_in() == 0);
                content.extend_from_slice(&room[..given]);
            }
            if is_member {
                seen.members.push((members.start, content));
            }
            seen.deviations.append(&mut members.deviations);
            seen.end = members.position();
            Ok(is_member)
        };
        loop {
            match next(&mut seen) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    seen.error = Some(error.to_string());
                    break;
                }
            }
        }
        (seen, at_once)
    }

    fn assert_same(file: &[u8]) -> (Seen, usize) {
        let (seen, at_once) = read(file, true);
        assert_eq!(seen, read(file, false).0);
        (seen, at_once)
    }

    #[test]
    fn short_members_are_decompressed_at_once() {
        let long = vec![7; ROOM + 1];
        let contents: [&[u8]; 4] = [b"one", b"two, and two", &long, b"last"];
        let file = contents.map(|content| member(content, 6)).concat();
        let (seen, at_once) = assert_same(&file);
        assert!(
            seen.members
                .iter()
                .map(|(_, content)| &**content)
                .eq(contents)
        );
        assert_eq!((seen.error, at_once), (None, 3));
    }

    #[test]
    fn a_trailer_that_stands_twice_ends_the_member_where_it_stands_first() {
        let one = member(b"content", 6);
        let trailer = &one[one.len() - TRAILER..];
        let next = member(b"next", 6);
        let (seen, at_once) = assert_same(&[&one, &b"xy"[..], trailer, &next].concat());
        assert_eq!((seen.members.len(), at_once), (1, 0));
        assert!(seen.error.is_some());
        let data = &one[..one.len() - TRAILER];
        let (seen, at_once) = assert_same(&[data, &[0; TRAILER], trailer, &next].concat());
        assert_eq!((seen.members.len(), at_once), (0, 0));
        assert!(seen.error.is_some());
    }

    proptest! {
        #[test]
        fn members_at_once_are_as_members_piece_by_piece(
            contents in prop::collection::vec(("[ab]{0,300}", prop::collection::vec(any::<u8>(), 0..200), 0u32..10), 0..6),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
            cut in prop::option::of(any::<prop::sample::Index>()),
        ) {
            let members = contents.iter().map(|(text, bytes, level)| {
                member(&[text.as_bytes(), bytes, text.as_bytes()].concat(), *level)
            });
            let mut file = members.collect::<Vec<_>>().concat();
            for (at, byte) in changes {
                if !file.is_empty() {
                    let at = at.index(file.len());
                    file[at] = byte;
                }
            }
            if let Some(cut) = cut {
                file.truncate(cut.index(file.len() + 1));
            }
            assert_same(&file);
        }
    }
}
