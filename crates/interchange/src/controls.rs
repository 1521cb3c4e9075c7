//! Control characters, which no reader takes as a part of a text.

use std::io::{self, Read};

/// A control character that no text has: any of C0 but a tab and a line break, which is LF or CRLF, and DEL.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("line {line}: {}", self.message())]
pub(crate) struct ControlCharacter {
    /// The line in the file, from 1.
    pub(crate) line: u64,
    byte: u8,
}

impl ControlCharacter {
    /// The control character that made a reader fail.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }

    pub(crate) fn message(self) -> &'static str {
        match self.byte {
            0 => {
                "there is a NUL character: remove it; names that end with NUL, as `sha256sum -z` writes them, are not read"
            }
            b'\r' => {
                "there is a carriage return that is no part of a line break: save the file with LF or CRLF"
            }
            _ => "there is a control character (below U+0020, or U+007F): remove it",
        }
    }
}

/// Finds control characters in the pieces of a text.
#[derive(Debug)]
struct ControlFinder {
    /// The line after the pieces that were searched, from 1.
    line: u64,
    /// Whether the last byte was a CR.
    is_after_cr: bool,
}

impl ControlFinder {
    fn new() -> Self {
        Self {
            line: 1,
            is_after_cr: false,
        }
    }

    fn find(&mut self, piece: &[u8]) -> Option<ControlCharacter> {
        for byte in piece {
            let is_after_cr = std::mem::replace(&mut self.is_after_cr, *byte == b'\r');
            let found = match byte {
                b'\n' => {
                    self.line += 1;
                    continue;
                }
                _ if is_after_cr => b'\r',
                b'\t' | b'\r' | b' '..=b'~' | 0x80.. => continue,
                control => *control,
            };
            return Some(self.at(found));
        }
        None
    }

    /// The CR at the end of the text.
    fn finish(&self) -> Option<ControlCharacter> {
        self.is_after_cr.then(|| self.at(b'\r'))
    }

    fn at(&self, byte: u8) -> ControlCharacter {
        ControlCharacter {
            line: self.line,
            byte,
        }
    }
}

/// The first control character that no text has.
pub(crate) fn control_in(text: &[u8]) -> Option<ControlCharacter> {
    let mut finder = ControlFinder::new();
    finder.find(text).or_else(|| finder.finish())
}

/// A reader of text, which fails at a [`ControlCharacter`].
#[derive(Debug)]
pub(crate) struct TextReader<R> {
    inner: R,
    finder: ControlFinder,
}

impl<R> TextReader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            finder: ControlFinder::new(),
        }
    }
}

impl<R: Read> Read for TextReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let piece = buffer.get(..read).unwrap_or_default();
        let is_end = piece.is_empty() && !buffer.is_empty();
        let found = if is_end {
            self.finder.finish()
        } else {
            self.finder.find(piece)
        };
        found.map_or(Ok(read), |found| Err(io::Error::other(found)))
    }
}
