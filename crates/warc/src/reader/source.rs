//! The decompressed bytes of an archive file.

use std::io::{Read, Seek};

use super::error::ReadErrorKind;
use super::gzip::{MAGIC, Members};
use super::head::Head;
use super::read_head::read_head;
use super::window::{RawBytes, Window};
use crate::finding::FindingCode;

/// A file, uncompressed or of gzip members. In a gzip file the bytes end with each member, until
/// [`Source::next_member`] moves to the next.
pub(super) enum Source<R> {
    Plain(Window<RawBytes<R>>),
    Gzip(Box<Window<Members<R>>>),
}

#[derive(Clone, Copy)]
pub(super) struct RecordStart {
    /// In the file: the first byte of the record, or of its gzip member.
    pub(super) offset: u64,
    /// In the decompressed content of the file.
    pub(super) inner: u64,
    /// The beginning of the gzip member, in the decompressed content.
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
    pub(super) fn new(input: R, offset: u64) -> Result<Self, ReadErrorKind> {
        let mut input = Window::new(RawBytes(input), offset);
        let gzip = input.peek(1)?.first() == MAGIC.first();
        Ok(if gzip {
            Self::Gzip(Box::new(Window::new(Members::new(input), 0)))
        } else {
            Self::Plain(input)
        })
    }

    pub(super) fn is_gzip(&self) -> bool {
        matches!(self, Self::Gzip(_))
    }

    /// The position in the file. Within a gzip member, the position of its compressed input.
    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Plain(input) => input.position(),
            Self::Gzip(input) => input.source().position(),
        }
    }

    /// The position of the next byte.
    pub(super) fn here(&self) -> RecordStart {
        match self {
            Self::Plain(input) => RecordStart::new(input.position()),
            Self::Gzip(input) => {
                let (offset, member) = input.source().start();
                RecordStart {
                    offset,
                    member,
                    inner: input.position(),
                }
            }
        }
    }

    /// The end of the consumed bytes in the file; within a gzip member perhaps a later position.
    pub(super) fn consumed(&self) -> u64 {
        let here = self.here();
        if self.is_gzip() && here.is_within_member() {
            self.position()
        } else {
            here.offset
        }
    }

    /// Whether the `sl` of an earlier member has not been checked yet.
    pub(super) fn has_unchecked_length(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Gzip(input) => input.source().has_unchecked_length(),
        }
    }

    pub(super) fn read_head(&mut self) -> Result<Head, ReadErrorKind> {
        match self {
            Self::Plain(input) => read_head(input),
            Self::Gzip(input) => read_head(input),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Plain(input) => input.bytes(),
            Self::Gzip(input) => input.bytes(),
        }
    }

    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], ReadErrorKind> {
        match self {
            Self::Plain(input) => input.peek(wanted),
            Self::Gzip(input) => input.peek(wanted),
        }
    }

    pub(super) fn consume(&mut self, amount: usize) {
        match self {
            Self::Plain(input) => input.consume(amount),
            Self::Gzip(input) => input.consume(amount),
        }
    }

    /// Moves to the next gzip member; false at the end of the file.
    pub(super) fn next_member(&mut self) -> Result<bool, ReadErrorKind> {
        let Self::Gzip(input) = self else {
            return Ok(false);
        };
        let members = input.source_mut();
        members.begin().map_err(|kind| match kind {
            ReadErrorKind::Gzip(_) if members.are_zeros_next() => ReadErrorKind::Zeros,
            other => other,
        })
    }

    pub(super) fn take_deviations(&mut self) -> Vec<FindingCode> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Gzip(input) => std::mem::take(&mut input.source_mut().deviations),
        }
    }

    /// Skips the rest of the member by its `sl`, if the `sl` states `length` decompressed bytes.
    pub(super) fn skip_member(&mut self, length: u64) -> Result<bool, ReadErrorKind> {
        let Self::Gzip(input) = self else {
            return Ok(false);
        };
        if !input.source_mut().skip_member(length)? {
            return Ok(false);
        }
        let left = input.bytes().len();
        input.consume(left);
        Ok(true)
    }
}

impl<R: Read + Seek> Source<R> {
    /// Moves to another position in the file and returns its raw bytes. Decompression restarts.
    pub(super) fn seek(
        &mut self,
        position: u64,
    ) -> Result<&mut Window<RawBytes<R>>, ReadErrorKind> {
        let input = match self {
            Self::Plain(input) => input,
            Self::Gzip(input) => {
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
