//! Reads a stream in chunks of whole documents, so that memory does not grow with the stream.

use std::io::{self, Read};

use memchr::memmem;

use crate::limits;
use crate::split::LineKind;

pub(crate) const BYTE_ORDER_MARK: &str = "\u{FEFF}";

/// The number of bytes that are read at once: the most in a chunk, unless a document is longer. A run
/// reads many files at the same time.
pub(crate) const CHUNK_SIZE: usize = 32 * 1024;

/// Cuts the bytes of a stream between documents, where [`crate::split`] does.
#[derive(Debug)]
pub(crate) struct ChunkReader<R> {
    /// `None` after the end, so that a caller who still works on the last chunk has no open file.
    source: Option<R>,
    chunk_size: usize,
    /// The bytes after the last chunk that were read with it.
    rest: Vec<u8>,
    is_first: bool,
}

impl<R: Read> ChunkReader<R> {
    pub(crate) fn new(source: R, chunk_size: usize) -> Self {
        Self {
            source: Some(source),
            chunk_size,
            rest: Vec::new(),
            is_first: true,
        }
    }

    /// The bytes of the next chunk, which begins after `lines_before` lines; `None` at the end. The chunk is
    /// in the memory of `room`, whose content is lost.
    ///
    /// # Errors
    /// When the source cannot be read, or has a line or a document beyond the limits.
    pub(crate) fn next_chunk(
        &mut self,
        room: Vec<u8>,
        lines_before: usize,
    ) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = room;
        bytes.clear();
        bytes.append(&mut self.rest);
        let mut searched = 0;
        let end = loop {
            self.fill(&mut bytes)?;
            if self.source.is_none() {
                bytes.shrink_to_fit();
                break bytes.len();
            }
            if let Some(cut) = self.last_cut(&bytes, searched) {
                break cut;
            }
            // Within twice the length of a record, a record ends, or the comments above the next one do.
            if bytes.len() > 2 * limits::LONGEST_RECORD + self.chunk_size {
                limits::check(&bytes, lines_before)?;
            }
            // The end may be the start of a marker.
            searched = bytes.len().saturating_sub(b"\n---\r".len());
        };
        self.rest.extend_from_slice(&bytes[end..]);
        bytes.truncate(end);
        self.is_first = false;
        limits::check(&bytes, lines_before)?;
        Ok((!bytes.is_empty()).then_some(bytes))
    }

    /// Reads up to the size of a chunk, or as much again.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        let missing = self.chunk_size.saturating_sub(bytes.len());
        let room = if missing > 0 {
            missing
        } else {
            self.chunk_size
        };
        let Some(source) = &mut self.source else {
            return Ok(());
        };
        bytes.reserve(room);
        if source.take(room as u64).read_to_end(bytes)? < room {
            self.source = None;
        }
        Ok(())
    }

    /// The start of the last document whose marker is after the offset `searched`.
    fn last_cut(&self, bytes: &[u8], searched: usize) -> Option<usize> {
        memmem::rfind_iter(&bytes[searched..], b"\n---")
            .map(|at| searched + at + 1)
            .filter(|marker| is_marker(bytes, *marker))
            .find_map(|marker| self.cut_before(bytes, marker))
    }

    /// The start of the document whose marker is at this offset, comments included; `None` if no other
    /// document comes before.
    fn cut_before(&self, bytes: &[u8], marker: usize) -> Option<usize> {
        let mark = BYTE_ORDER_MARK.as_bytes();
        let has_mark = self.is_first && bytes.starts_with(mark);
        let text_start = if has_mark { mark.len() } else { 0 };
        let (mut cut, mut end) = (marker, marker);
        while end > text_start {
            let before = &bytes[text_start..end - 1];
            let start = memchr::memrchr(b'\n', before).map_or(text_start, |at| text_start + at + 1);
            match LineKind::of(&bytes[start..end]) {
                LineKind::Comment => cut = start,
                LineKind::Blank => {}
                LineKind::Marker | LineKind::Content => return Some(cut),
            }
            end = start;
        }
        None
    }
}

/// Whether the line at this offset, which begins with `---`, certainly starts a document.
fn is_marker(bytes: &[u8], at: usize) -> bool {
    matches!(
        bytes[at + "---".len()..],
        [b'\n' | b' ' | b'\t', ..] | [b'\r', b'\n', ..]
    )
}
