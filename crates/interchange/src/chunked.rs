//! Undoes the chunks of a transfer (RFC 9112, 7.1), as archives keep them.
//!
//! A body that does not begin with one is taken as it stands: some programs undo the chunks and
//! leave the header.

use std::io::{self, BufRead, Read};

/// A body without its chunks.
pub(crate) struct Chunked<R> {
    inner: R,
    state: Chunk,
}

enum Chunk {
    First,
    Next,
    Within(u64),
    Plain,
    Done,
}

impl<R: BufRead> Chunked<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            state: Chunk::First,
        }
    }

    /// Reads the line with a chunk's size.
    fn size(&mut self) -> io::Result<Option<u64>> {
        let mut line = Vec::new();
        let read = (&mut self.inner).take(256).read_until(b'\n', &mut line)?;
        let text = String::from_utf8_lossy(&line);
        let digits = text
            .split([';', '\r', '\n'])
            .next()
            .unwrap_or_default()
            .trim();
        Ok(u64::from_str_radix(digits, 16)
            .ok()
            .filter(|_| read > 0 && line.ends_with(b"\n")))
    }

    /// Whether the block begins with the size of a chunk, as far as it can be seen.
    fn begins(&mut self) -> io::Result<bool> {
        let start = self.inner.fill_buf()?;
        let line = start
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let digits = line
            .iter()
            .take_while(|byte| byte.is_ascii_hexdigit())
            .count();
        let after = line.get(digits).copied();
        Ok((1..=16).contains(&digits)
            && matches!(after, Some(b'\r' | b';' | b' ') | None)
            && line.len() < start.len())
    }

    fn advance(&mut self) -> io::Result<()> {
        if matches!(self.state, Chunk::First) && !self.begins()? {
            self.state = Chunk::Plain;
            return Ok(());
        }
        self.state = match self.size()? {
            Some(0) => Chunk::Done,
            Some(size) => Chunk::Within(size),
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "its chunks are broken",
                ));
            }
        };
        Ok(())
    }
}

impl<R: BufRead> Read for Chunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.state {
                Chunk::First | Chunk::Next => self.advance()?,
                Chunk::Plain => return self.inner.read(buffer),
                Chunk::Done => return Ok(0),
                Chunk::Within(0) => {
                    let mut end = Vec::new();
                    (&mut self.inner).take(2).read_until(b'\n', &mut end)?;
                    self.state = Chunk::Next;
                }
                Chunk::Within(left) => {
                    let read = (&mut self.inner).take(left).read(buffer)?;
                    if read == 0 && !buffer.is_empty() {
                        return Err(io::Error::new(
                            io::ErrorKind::InvalidData,
                            "it ends within a chunk",
                        ));
                    }
                    self.state = Chunk::Within(left - read as u64);
                    return Ok(read);
                }
            }
        }
    }
}
