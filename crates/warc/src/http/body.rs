//! Bodies of stored messages: as they are, or freed of the chunks they were sent in.
//!
//! Archives hold both: some programs store the chunks, others join them and leave the head saying
//! `chunked`. What is there decides. The content coding (`gzip`, say) is never undone.

use std::io::{self, BufRead, Read};

/// The most digits of a chunk's length.
const MAX_DIGITS: usize = 16;

/// How a body turned out to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// As it is, without chunks; whatever the head says.
    Plain,
    /// In chunks, with the last one.
    Chunked,
    /// In chunks that end before the last one, or where none is.
    Broken,
}

/// Takes chunks apart, however the input is cut into pieces.
#[derive(Clone, Debug)]
pub(crate) struct Dechunker {
    state: State,
    /// The digits of the first length, in case it is none.
    held: Vec<u8>,
    length: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In the digits of a length: so many were read; whether it is the first chunk's.
    Length(usize, bool),
    /// After the digits, in what may follow them on the line.
    Extension,
    Data(u64),
    /// After the data, before the end of their line.
    DataEnd,
    /// After the last chunk.
    Ended,
    Plain,
    Broken,
}

impl Dechunker {
    /// `false`: the head does not say that there are chunks.
    pub(crate) fn new(chunked: bool) -> Self {
        Self {
            state: if chunked {
                State::Length(0, true)
            } else {
                State::Plain
            },
            held: Vec::new(),
            length: 0,
        }
    }

    /// Takes bytes of the body, and hands out those that are content.
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
                State::Extension => self.pass_line(bytes),
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

    /// One byte of the line with a length; 0 if it has to be looked at again.
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
                self.held.push(byte);
            }
            self.state = State::Length(digits + 1, first);
            return 1;
        }
        if digits > 0 && matches!(byte, b'\r' | b'\n' | b';' | b' ' | b'\t') {
            self.held.clear();
            self.state = State::Extension;
        } else if first {
            content(&self.held);
            self.held.clear();
            self.state = State::Plain;
        } else {
            self.state = State::Broken;
        }
        0
    }

    /// The rest of the line with a length.
    fn pass_line(&mut self, bytes: &[u8]) -> usize {
        let Some(end) = memchr::memchr(b'\n', bytes) else {
            return bytes.len();
        };
        self.state = match std::mem::take(&mut self.length) {
            0 => State::Ended,
            length => State::Data(length),
        };
        end + 1
    }

    /// At the end of the body: how it was stored. Digits that are all there is are content.
    pub(crate) fn finish(&mut self, mut content: impl FnMut(&[u8])) -> Framing {
        match self.state {
            State::Plain | State::Length(_, true) => {
                content(&self.held);
                self.held.clear();
                self.state = State::Plain;
                Framing::Plain
            }
            State::Ended => Framing::Chunked,
            _ => Framing::Broken,
        }
    }
}

/// A body without its chunks. Reads from an input that stands after the head.
pub struct Body<R> {
    input: R,
    chunks: Dechunker,
    framing: Option<Framing>,
    ready: Vec<u8>,
    given: usize,
}

impl<R: BufRead> Body<R> {
    /// `chunked`: whether the head says that there are chunks
    /// ([`StoredHead::is_chunked`](super::StoredHead::is_chunked)).
    pub fn new(input: R, chunked: bool) -> Self {
        Self {
            input,
            chunks: Dechunker::new(chunked),
            framing: None,
            ready: Vec::new(),
            given: 0,
        }
    }

    /// How the body was stored; `None` before its end has been read.
    pub fn framing(&self) -> Option<Framing> {
        self.framing
    }

    fn more(&mut self) -> io::Result<()> {
        self.ready.clear();
        self.given = 0;
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
        Ok(())
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.ready.len() && !buffer.is_empty() {
            self.more()?;
        }
        let there = &self.ready[self.given..];
        let part = there.len().min(buffer.len());
        buffer[..part].copy_from_slice(&there[..part]);
        self.given += part;
        Ok(part)
    }
}
