//! Bodies of stored messages, with the chunked transfer coding removed (RFC 9112 §7.1).
//!
//! Some programs store the chunks; others join the chunks and leave `chunked` in the head. The stored
//! bytes decide which. The content coding, such as `gzip`, is never removed.

use std::io::{self, BufRead, Read};

/// Limit of the number of digits in a chunk's length.
const MAX_DIGITS: usize = 16;

/// The transfer coding in which a body is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFraming {
    /// Without chunks, whatever the head says.
    Plain,
    /// In chunks, through the last one.
    Chunked,
    /// In chunks that are damaged or end before the last one.
    Broken,
}

/// Removes the chunked transfer coding from input in pieces of any size.
#[derive(Clone, Debug)]
pub(crate) struct Dechunker {
    state: State,
    /// The digits of the first length, which are content if no chunk follows.
    first_digits: Vec<u8>,
    length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a length: the number of digits read, and whether the chunk is the first.
    Length(usize, bool),
    /// In the rest of the line with a length.
    Extension,
    Data(u64),
    /// After the data of a chunk, before the line end.
    DataEnd,
    /// After the last chunk.
    Ended,
    Plain,
    Broken,
}

impl Dechunker {
    /// `chunked`: whether the head says `chunked`. If not, all bytes are content.
    pub(crate) fn new(chunked: bool) -> Self {
        Self {
            state: if chunked {
                State::Length(0, true)
            } else {
                State::Plain
            },
            first_digits: Vec::new(),
            length: 0,
        }
    }

    /// Whether all bytes are content, those before included.
    pub(crate) fn is_plain(&self) -> bool {
        self.state == State::Plain
    }

    /// Reads bytes of the body and passes the content among them to `content`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], mut content: impl FnMut(&[u8])) {
        while let Some(byte) = bytes.first().copied() {
            let taken = match self.state {
                State::Plain => {
                    content(bytes);
                    bytes.len()
                }
                State::Data(left) => {
                    let part = usize::try_from(left).map_or(bytes.len(), |it| it.min(bytes.len()));
                    content(&bytes[..part]);
                    self.state = match left - part as u64 {
                        0 => State::DataEnd,
                        left => State::Data(left),
                    };
                    part
                }
                State::Extension => self.skip_line(bytes),
                State::DataEnd => {
                    self.state = match byte {
                        b'\r' => State::DataEnd,
                        b'\n' => State::Length(0, false),
                        _ => State::Broken,
                    };
                    1
                }
                State::Length(digits, first) => self.take_digit(byte, digits, first, &mut content),
                State::Ended | State::Broken => bytes.len(),
            };
            bytes = &bytes[taken..];
        }
    }

    /// Reads one byte of the line with a length. Returns the number of bytes used: 0 if the next state
    /// has to read the byte.
    fn take_digit(
        &mut self,
        byte: u8,
        digits: usize,
        first: bool,
        content: &mut impl FnMut(&[u8]),
    ) -> usize {
        let digit = char::from(byte)
            .to_digit(16)
            .filter(|_| digits < MAX_DIGITS);
        if let Some(digit) = digit {
            self.length = self.length << 4 | u64::from(digit);
            if first {
                self.first_digits.push(byte);
            }
            self.state = State::Length(digits + 1, first);
            return 1;
        }
        if digits > 0 && matches!(byte, b'\r' | b'\n' | b';' | b' ' | b'\t') {
            self.first_digits.clear();
            self.state = State::Extension;
        } else if first {
            content(&self.first_digits);
            self.first_digits.clear();
            self.state = State::Plain;
        } else {
            self.state = State::Broken;
        }
        0
    }

    /// Skips the rest of the line with a length.
    fn skip_line(&mut self, bytes: &[u8]) -> usize {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return bytes.len();
        };
        self.state = match std::mem::take(&mut self.length) {
            0 => State::Ended,
            length => State::Data(length),
        };
        end + 1
    }

    /// Ends the body and returns how it is stored. A body of nothing but digits is content.
    pub(crate) fn finish(&mut self, mut content: impl FnMut(&[u8])) -> BodyFraming {
        match self.state {
            State::Plain | State::Length(_, true) => {
                content(&self.first_digits);
                self.first_digits.clear();
                self.state = State::Plain;
                BodyFraming::Plain
            }
            State::Ended => BodyFraming::Chunked,
            _ => BodyFraming::Broken,
        }
    }
}

/// A body with the chunked transfer coding removed, read from an input positioned after the head.
pub struct StoredBody<R> {
    input: R,
    rejects_broken_chunks: bool,
    chunks: Dechunker,
    framing: Option<BodyFraming>,
    ready: Vec<u8>,
    consumed: usize,
}

impl<R: BufRead> StoredBody<R> {
    /// `chunked`: whether the head says `chunked`
    /// ([`StoredHead::is_chunked`](super::StoredHead::is_chunked)).
    pub fn new(input: R, chunked: bool) -> Self {
        Self {
            input,
            rejects_broken_chunks: false,
            chunks: Dechunker::new(chunked),
            framing: None,
            ready: Vec::new(),
            consumed: 0,
        }
    }

    /// Makes reading fail where chunks are [`BodyFraming::Broken`]: the error is
    /// [`io::ErrorKind::InvalidData`]. By default the body ends there.
    #[must_use]
    pub fn rejecting_broken_chunks(mut self) -> Self {
        self.rejects_broken_chunks = true;
        self
    }

    /// The coding in which the body is stored; `None` before its end has been read.
    pub fn framing(&self) -> Option<BodyFraming> {
        self.framing
    }

    fn fill(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.consumed = 0;
        while self.ready.is_empty() && self.framing.is_none() {
            let bytes = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let ready = &mut self.ready;
            let length = bytes.len();
            if length == 0 {
                self.framing = Some(self.chunks.finish(|content| ready.extend(content)));
            }
            self.chunks.push(bytes, |content| ready.extend(content));
            self.input.consume(length);
        }
        if self.rejects_broken_chunks
            && self.ready.is_empty()
            && self.framing == Some(BodyFraming::Broken)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "its chunks are broken",
            ));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for StoredBody<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.consumed == self.ready.len() && !buffer.is_empty() {
            self.fill()?;
        }
        let there = &self.ready[self.consumed..];
        let part = there.len().min(buffer.len());
        buffer[..part].copy_from_slice(&there[..part]);
        self.consumed += part;
        Ok(part)
    }
}
