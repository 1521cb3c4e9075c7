//! The compressed parts of a file: gzip members, or zstd frames.

use std::io::Read;

use flate2::{Decompress, FlushDecompress};

use super::error::ReadErrorKind;
use super::gzip::{self, GzipMembers, member_header};
use super::read_head::MAX_LINE;
use super::window::{RawBytes, Window, WindowInput};
use super::zstd::{self, FrameProbe, Frames};
use crate::finding::FindingCode;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// The records are as they are.
    None,
    /// Gzip members.
    Gzip,
    /// Zstd frames.
    Zstd,
}

/// Decompresses member after member. In a [`Window`] the bytes end with each member, until [`Members::begin`] moves to
/// the next.
pub(super) enum Members<R> {
    Gzip(Box<GzipMembers<R>>),
    Zstd(Frames<R>),
}

impl<R: Read> Members<R> {
    pub(super) fn input_mut(&mut self) -> &mut Window<RawBytes<R>> {
        match self {
            Self::Gzip(members) => members.input_mut(),
            Self::Zstd(frames) => frames.input_mut(),
        }
    }

    pub(super) fn compression(&self) -> Compression {
        match self {
            Self::Gzip(_) => Compression::Gzip,
            Self::Zstd(_) => Compression::Zstd,
        }
    }

    /// The probe that examines bytes of this file.
    pub(super) fn probe(&self) -> MemberProbe {
        match self {
            Self::Gzip(_) => MemberProbe::Gzip(Decompress::new(false)),
            Self::Zstd(frames) => MemberProbe::Zstd(frames.probe()),
        }
    }

    /// The position in the file; between members, the beginning of the next.
    pub(super) fn position(&self) -> u64 {
        match self {
            Self::Gzip(members) => members.position(),
            Self::Zstd(frames) => frames.position(),
        }
    }

    /// The beginning of the current member, in the file and in the decompressed content.
    pub(super) fn start(&self) -> (u64, u64) {
        match self {
            Self::Gzip(members) => members.start(),
            Self::Zstd(frames) => frames.start(),
        }
    }

    /// Whether the `sl` of an earlier member has not been checked yet.
    pub(super) fn has_unchecked_length(&self) -> bool {
        match self {
            Self::Gzip(members) => members.has_unchecked_length(),
            Self::Zstd(_) => false,
        }
    }

    /// Drops the state of the current member, whatever the position of the input.
    pub(super) fn abandon(&mut self) {
        match self {
            Self::Gzip(members) => members.abandon(),
            Self::Zstd(frames) => frames.abandon(),
        }
    }

    /// Moves to the next member; false if there is none.
    pub(super) fn begin(&mut self) -> Result<bool, ReadErrorKind> {
        let begun = match self {
            Self::Gzip(members) => members.begin(),
            Self::Zstd(frames) => frames.begin(),
        };
        begun.map_err(|kind| match kind {
            ReadErrorKind::Gzip(_) | ReadErrorKind::Zstd(_) if self.are_zeros_next() => {
                ReadErrorKind::Zeros
            }
            other => other,
        })
    }

    fn are_zeros_next(&self) -> bool {
        match self {
            Self::Gzip(members) => members.are_zeros_next(),
            Self::Zstd(frames) => frames.are_zeros_next(),
        }
    }

    pub(super) fn take_deviations(&mut self) -> Vec<FindingCode> {
        match self {
            Self::Gzip(members) => std::mem::take(&mut members.deviations),
            Self::Zstd(_) => vec![],
        }
    }
}

impl<R: Read> WindowInput for Members<R> {
    fn fill(&mut self, into: &mut [u8]) -> Result<usize, ReadErrorKind> {
        match self {
            Self::Gzip(members) => members.fill(into),
            Self::Zstd(frames) => frames.fill(into),
        }
    }
}

/// Decompresses the beginning of bytes that may be a member.
pub(super) enum MemberProbe {
    Gzip(Decompress),
    Zstd(FrameProbe),
}

impl MemberProbe {
    /// The first bytes of every member.
    pub(super) fn magic(&self) -> &'static [u8] {
        match self {
            Self::Gzip(_) => &gzip::MAGIC,
            Self::Zstd(_) => &zstd::MAGIC,
        }
    }

    /// The first bytes of the content of a member, at most `wanted`; fewer if it is none, or damaged.
    pub(super) fn decompress(&mut self, member: &[u8], wanted: usize) -> Vec<u8> {
        let inflate = match self {
            Self::Gzip(inflate) => inflate,
            Self::Zstd(probe) => return probe.decompress(member, wanted),
        };
        let Ok(Some(header)) = member_header(member) else {
            return vec![];
        };
        let data = member.get(header.length..).unwrap_or_default();
        let data = &data[..data.len().min(MAX_LINE)];
        let mut content = vec![0; wanted];
        inflate.reset(false);
        // The reader reports damage after the first bytes.
        let _ = inflate.decompress(data, &mut content, FlushDecompress::None);
        content.truncate(usize::try_from(inflate.total_out()).unwrap_or(0));
        content
    }
}
