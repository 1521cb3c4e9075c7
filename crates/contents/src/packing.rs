//! Compression of a whole content.

use std::io::{BufRead, Read};

use bzip2::bufread::MultiBzDecoder;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;

use crate::zstd::ZstdReader;

/// The limit of the memory that xz takes, in KiB: `xz -9` needs 64 MiB for what it may repeat, and little more.
const MOST_XZ_MEMORY: u32 = 65 << 10;

/// A compression, by the first bytes of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Xz,
    Bzip2,
    Zstd,
}

impl Packing {
    pub(crate) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Self::Xz),
            // The digit, then the mark of a block or of the end.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31 | 0x17, ..] => Some(Self::Bzip2),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }
}

/// The unpacked bytes. Reading fails where the compressed data is cut or damaged, or other bytes follow it.
pub(crate) fn unpacked<'a>(
    input: impl BufRead + 'a,
    packing: Option<Packing>,
) -> Box<dyn Read + 'a> {
    match packing {
        None => Box::new(input),
        Some(Packing::Gzip) => Box::new(MultiGzDecoder::new(input)),
        Some(Packing::Xz) => Box::new(XzReader::new_mem_limit(input, true, MOST_XZ_MEMORY)),
        Some(Packing::Bzip2) => Box::new(MultiBzDecoder::new(input)),
        Some(Packing::Zstd) => Box::new(ZstdReader::new(input)),
    }
}
