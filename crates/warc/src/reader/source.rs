//! The bytes of records, decompressed or as they are.

use std::io::{Read, Seek};

use super::fault::Problem;
use super::gzip::{MAGIC, Members};
use super::head::{self, Head};
use super::window::{Raw, Window};
use crate::finding::Code;

/// A file, plain or of gzip members. Of a gzip file the end of a member is an end, until
/// [`Source::next_member`] goes on.
pub(super) enum Source<R> {
    Plain(Window<Raw<R>>),
    Gzip(Box<Window<Members<R>>>),
}

/// Where a record begins.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// In the file: its first byte, or that of its gzip member.
    pub(super) offset: u64,
    /// In what was decompressed of the file so far.
    pub(super) inner: u64,
    /// `inner`, of the beginning of the gzip member.
    member: u64,
}

impl Start {
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
    pub(super) fn new(input: R, offset: u64) -> Result<Self, Problem> {
        let mut input = Window::new(Raw(input), offset);
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

    /// In bytes of the file. Within a gzip member no more than where its input stands.
    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Plain(input) => input.position(),
            Self::Gzip(input) => input.source().position(),
        }
    }

    /// Where the next byte stands.
    pub(super) fn here(&self) -> Start {
        match self {
            Self::Plain(input) => Start::new(input.position()),
            Self::Gzip(input) => {
                let (offset, member) = input.source().start();
                Start {
                    offset,
                    member,
                    inner: input.position(),
                }
            }
        }
    }

    /// How much of the file was needed for what was consumed; in a gzip member perhaps more.
    pub(super) fn consumed(&self) -> u64 {
        let here = self.here();
        if self.is_gzip() && here.is_within_member() {
            self.position()
        } else {
            here.offset
        }
    }

    /// Whether the `sl` of an earlier member is still to be held against what comes.
    pub(super) fn has_earlier_claim(&self) -> bool {
        match self {
            Self::Plain(_) => false,
            Self::Gzip(input) => input.source().has_earlier_claim(),
        }
    }

    pub(super) fn read_head(&mut self) -> Result<Head, Problem> {
        match self {
            Self::Plain(input) => head::read(input),
            Self::Gzip(input) => head::read(input),
        }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Plain(input) => input.bytes(),
            Self::Gzip(input) => input.bytes(),
        }
    }

    pub(super) fn peek(&mut self, wanted: usize) -> Result<&[u8], Problem> {
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

    /// Goes on to the next gzip member; false at the end of the file.
    pub(super) fn next_member(&mut self) -> Result<bool, Problem> {
        let Self::Gzip(input) = self else {
            return Ok(false);
        };
        let members = input.source_mut();
        members.begin().map_err(|problem| match problem {
            Problem::Gzip(_) if members.are_zeros_next() => Problem::Zeros,
            other => other,
        })
    }

    pub(super) fn take_notes(&mut self) -> Vec<Code> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Gzip(input) => std::mem::take(&mut input.source_mut().notes),
        }
    }

    /// Passes over the rest of the member by its `sl`, if that says that it has `length` bytes.
    pub(super) fn skip_member(&mut self, length: u64) -> Result<bool, Problem> {
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
    /// The file itself, at another place. Decompression begins anew.
    pub(super) fn seek(&mut self, position: u64) -> Result<&mut Window<Raw<R>>, Problem> {
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
