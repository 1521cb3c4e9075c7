//! The decompressed bytes of an archive file.

use std::io::{Read, Seek, SeekFrom};

use super::error::ReadErrorKind;
use super::gzip::{self, GzipMembers};
use super::head::Head;
use super::members::{Compression, MemberProbe, Members};
use super::read_head::read_head;
use super::window::{RawBytes, Window};
use super::zstd::{self, Frames};
use crate::finding::FindingCode;

/// A file, uncompressed or of members or zstd frames. In a compressed file the bytes end with each member, until
/// [`Source::next_member`] moves to the next.
pub(super) enum Source<R> {
    Plain(Window<RawBytes<R>>),
    Compressed(Box<Window<Members<R>>>),
}

#[derive(Clone, Copy)]
pub(super) struct RecordStart {
    /// In the file: the first byte of the record, or of its member.
    pub(super) offset: u64,
    /// In the decompressed content of the file.
    pub(super) inner: u64,
    /// The beginning of the member, in the decompressed content.
    member: u64,
}

impl RecordStart {
    pub(super) fn new(offset: u64) -> Self {
        Self {
            offset,
            inner: 0,
            member: 0,
        }
    }

    pub(super) fn within_member(self) -> u64 {
        self.inner - self.member
    }

    pub(super) fn is_within_member(self) -> bool {
        self.within_member() > 0
    }
}

impl<R: Read> Source<R> {
    /// A source from here on, `offset` bytes into its file.
    pub(super) fn new(input: R, offset: u64) -> Result<Self, ReadErrorKind> {
        let mut input = Window::new(RawBytes(input), offset);
        let bytes = input.peek(4)?;
        let members = if bytes.first() == gzip::MAGIC.first() {
            Members::Gzip(Box::new(GzipMembers::new(input)))
        } else if zstd::begins_file(bytes) {
            Members::Zstd(Frames::new(input))
        } else {
            return Ok(Self::Plain(input));
        };
        Ok(Self::Compressed(Box::new(Window::new(members, 0))))
    }

    pub(super) fn compression(&self) -> Compression {
        match self {
            Self::Plain(_) => Compression::None,
            Self::Compressed(input) => input.source().compression(),
        }
    }

    pub(super) fn is_compressed(&self) -> bool {
        matches!(self, Self::Compressed(_))
    }

    /// The position in the file. Within a member, the position of its compressed input.
    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Plain(input) => input.position(),
            Self::Compressed(input) => input.source().position(),
        }
    }

    /// The position of the next byte.
    pub(super) fn here(&self) -> RecordStart {
        match self {
            Self::Plain(input) => RecordStart::new(input.position()),
            Self::Compressed(input) => {
                let (offset, member) = input.source().start();
                RecordStart {
                    offset,
                    member,
                    inner: input.position(),
                }
            }
        }
    }

    /// The end of the consumed bytes in the file; within a member perhaps a later position.
    pub(super) fn consumed(&self) -> u64 {
        let here = self.here();
        if self.is_compressed() && here.is_within_member() {
            self.position()
        } else {
            here.offset
        }
    }

    /// Whether the `sl` of an earlier member has not been checked yet.
    pub(super) fn has_unchecked_length(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Compressed(input) => input.source().has_unchecked_length(),
        }
    }

    pub(super) fn read_head(&mut self) -> Result<Head, ReadErrorKind> {
        match self {
            Self::Plain(input) => read_head(input),
            Self::Compressed(input) => read_head(input),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Plain(input) => input.bytes(),
            Self::Compressed(input) => input.bytes(),
        }
    }

    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], ReadErrorKind> {
        match self {
            Self::Plain(input) => input.peek(wanted),
            Self::Compressed(input) => input.peek(wanted),
        }
    }

    pub(super) fn consume(&mut self, amount: usize) {
        match self {
            Self::Plain(input) => input.consume(amount),
            Self::Compressed(input) => input.consume(amount),
        }
    }

    /// Moves to the next member; false at the end of the file.
    pub(super) fn next_member(&mut self) -> Result<bool, ReadErrorKind> {
        let Self::Compressed(input) = self else {
            return Ok(false);
        };
        input.source_mut().begin()
    }

    pub(super) fn take_deviations(&mut self) -> Vec<FindingCode> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Compressed(input) => input.source_mut().take_deviations(),
        }
    }
}

impl<R: Read + Seek> Source<R> {
    /// A source from this offset of a file on. A zstd dictionary is read from the beginning of the file.
    pub(super) fn at(mut input: R, offset: u64) -> Result<Self, ReadErrorKind> {
        input.seek(SeekFrom::Start(offset))?;
        let mut source = Self::new(input, offset)?;
        if let Self::Compressed(input) = &mut source
            && let Members::Zstd(frames) = input.source_mut()
        {
            frames.read_dictionary()?;
        }
        Ok(source)
    }

    /// Moves to another position, and returns the raw bytes there and the probe that finds members in them; `None` for a
    /// file without members.
    pub(super) fn search_from(
        &mut self,
        position: u64,
    ) -> Result<(&mut Window<RawBytes<R>>, Option<MemberProbe>), ReadErrorKind> {
        self.seek(position)?;
        Ok(match self {
            Self::Plain(input) => (input, None),
            Self::Compressed(input) => {
                let probe = input.source().probe();
                (input.source_mut().input_mut(), Some(probe))
            }
        })
    }

    /// Moves to another position in the file and returns its raw bytes. Decompression restarts.
    pub(super) fn seek(
        &mut self,
        position: u64,
    ) -> Result<&mut Window<RawBytes<R>>, ReadErrorKind> {
        let input = match self {
            Self::Plain(input) => input,
            Self::Compressed(input) => {
                let left = input.bytes().len();
                input.consume(left);
                input.source_mut().abandon();
                input.source_mut().input_mut()
            }
        };
        input.seek(position)?;
        Ok(input)
    }
}
