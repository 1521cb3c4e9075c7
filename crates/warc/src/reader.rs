//! Reads records from a stream, in order, without holding a block in memory.
//!
//! Hostile input ends in a [`ReadError`], never in a panic or a hang: headers are bounded by
//! [`MAX_HEADER`](crate::header::MAX_HEADER), blocks are streamed, and every step consumes input.
//! What an error's offset names is the record that is bad; all before it is good.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::bufread::GzDecoder;

use crate::header::{Header, HeaderFault};
use crate::writer::Extent;

/// What is wrong with a record, or with reading it.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file could not be read; the record may be good.
    #[error("cannot read it: {0}")]
    Input(#[source] io::Error),
    /// The compressed bytes are damaged: no gzip, or a wrong checksum.
    #[error("its compression is damaged ({0})")]
    Gzip(String),
    /// The file, or the record's gzip member, ends within the record.
    #[error("it ends too soon: the file was cut off, or its Content-Length is wrong")]
    Clipped,
    /// There is no header that we can read.
    #[error(transparent)]
    Header(#[from] HeaderFault),
    /// The header does not say how long the block is.
    #[error("its Content-Length is missing or not a number")]
    NoLength,
    /// After the block there are not the two line ends that close a record.
    #[error("it is not closed by two line ends; its Content-Length may be wrong")]
    NotClosed,
    /// A gzip member holds more than its record, so that the next one has no place of its own.
    #[error("its gzip member goes on after it; compress each record on its own")]
    SharedMember,
}

/// A record that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the record at byte {offset} cannot be read: {problem}")]
pub struct ReadError {
    /// Where the record begins in the file.
    pub offset: u64,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

impl ReadError {
    /// Whether the bytes are bad, rather than their storage: damage stays when tried again.
    pub fn is_damage(&self) -> bool {
        !matches!(self.problem, Problem::Input(_))
    }
}

/// Reads the records of a file, plain or with a gzip member for each.
pub struct Reader<R> {
    source: Source<R>,
    /// Of the record that is being read, or of the next.
    offset: u64,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// At a record or at the end.
    Between,
    /// In a block, with so many bytes left.
    Block(u64),
    /// After a fault, or at the end.
    Done,
}

impl Reader<BufReader<File>> {
    /// Reads the file from its beginning.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::open_at(path, 0)
    }

    /// Reads the file from the record at that offset, which an index has told.
    pub fn open_at(path: &Path, offset: u64) -> Result<Self, ReadError> {
        let failed = |error| ReadError {
            offset,
            problem: Problem::Input(error),
        };
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        Self::new_at(BufReader::new(file), offset)
    }
}

impl<R: BufRead> Reader<R> {
    /// Reads from the beginning of a file.
    pub fn new(input: R) -> Result<Self, ReadError> {
        Self::new_at(input, 0)
    }

    /// Reads from an input that stands at a record, `offset` bytes into its file.
    pub fn new_at(mut input: R, offset: u64) -> Result<Self, ReadError> {
        let failed = |error| ReadError {
            offset,
            problem: Problem::Input(error),
        };
        let gzip = input.fill_buf().map_err(failed)?.first() == Some(&0x1f);
        let input = Counted {
            inner: Some(input),
            position: offset,
        };
        let source = if gzip {
            Source::gzip(input)
        } else {
            Source::Plain(input)
        };
        Ok(Self {
            source,
            offset,
            state: State::Between,
        })
    }

    /// The next record; `None` at the end of the file and after an error. What was left unread of
    /// the record before is passed over, and checked.
    pub fn next_record(&mut self) -> Result<Option<Record<'_, R>>, ReadError> {
        self.pass_over()?;
        if self.state == State::Done || self.at_end()? {
            self.state = State::Done;
            return Ok(None);
        }
        let read = Header::read(&mut self.source).map_err(|error| self.failed(error))?;
        let header = match read {
            Ok(header) => header,
            Err(HeaderFault::Clipped) => return Err(self.fault(Problem::Clipped)),
            Err(fault) => return Err(self.fault(fault.into())),
        };
        let Some(length) = header.content_length() else {
            return Err(self.fault(Problem::NoLength));
        };
        self.state = State::Block(length);
        Ok(Some(Record {
            reader: self,
            header,
        }))
    }

    fn at_end(&mut self) -> Result<bool, ReadError> {
        self.source.is_at_end().map_err(|error| self.failed(error))
    }

    /// Reads the current record to its end, if there is one, and checks how it is closed.
    fn pass_over(&mut self) -> Result<Option<Extent>, ReadError> {
        let State::Block(left) = self.state else {
            return Ok(None);
        };
        let skipped = io::copy(&mut (&mut self.source).take(left), &mut io::sink());
        if skipped.map_err(|error| self.failed(error))? < left {
            return Err(self.fault(Problem::Clipped));
        }
        let mut close = Vec::with_capacity(4);
        let read = (&mut self.source).take(4).read_to_end(&mut close);
        read.map_err(|error| self.failed(error))?;
        if close != b"\r\n\r\n" {
            let clipped = b"\r\n\r\n".starts_with(&close);
            return Err(self.fault(if clipped {
                Problem::Clipped
            } else {
                Problem::NotClosed
            }));
        }
        if !self
            .source
            .end_member()
            .map_err(|error| self.failed(error))?
        {
            return Err(self.fault(Problem::SharedMember));
        }
        let extent = Extent {
            offset: self.offset,
            length: self.source.position() - self.offset,
        };
        self.offset = self.source.position();
        self.state = State::Between;
        Ok(Some(extent))
    }

    fn fault(&mut self, problem: Problem) -> ReadError {
        self.state = State::Done;
        ReadError {
            offset: self.offset,
            problem,
        }
    }

    fn failed(&mut self, error: io::Error) -> ReadError {
        self.fault(classify(error))
    }
}

/// The decompressor reports damage as an I/O error of its own; the system's have a number.
fn classify(error: io::Error) -> Problem {
    match error.kind() {
        _ if error.raw_os_error().is_some() => Problem::Input(error),
        io::ErrorKind::UnexpectedEof => Problem::Clipped,
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
            Problem::Gzip(error.to_string())
        }
        _ => Problem::Input(error),
    }
}

/// A record. Reading from it reads its block.
pub struct Record<'a, R> {
    reader: &'a mut Reader<R>,
    header: Header,
}

impl<R: BufRead> Record<'_, R> {
    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Where it begins in the file.
    pub fn offset(&self) -> u64 {
        self.reader.offset
    }

    /// What a failure to read the block was: the fault in the archive that it wraps, or another.
    pub fn fault(&self, error: io::Error) -> ReadError {
        let offset = self.offset();
        error.downcast().unwrap_or_else(|error| ReadError {
            offset,
            problem: Problem::Input(error),
        })
    }

    /// Passes over what is left of the block, checks how the record is closed (and with gzip its
    /// checksum), and says where it stood.
    pub fn finish(self) -> Result<Extent, ReadError> {
        let offset = self.reader.offset;
        let extent = self.reader.pass_over()?;
        extent.ok_or(ReadError {
            offset,
            problem: Problem::Clipped,
        })
    }
}

impl<R: BufRead> Read for Record<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let read = available.len().min(buffer.len());
        buffer[..read].copy_from_slice(&available[..read]);
        self.consume(read);
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Record<'_, R> {
    /// A fault is an I/O error that wraps the [`ReadError`].
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let State::Block(left @ 1..) = self.reader.state else {
            return Ok(&[]);
        };
        let problem = match self.reader.source.fill_buf() {
            Ok([]) => Some(Problem::Clipped),
            Ok(_) => None,
            Err(error) => Some(classify(error)),
        };
        if let Some(problem) = problem {
            return Err(io::Error::other(self.reader.fault(problem)));
        }
        let available = self.reader.source.fill_buf()?;
        let within =
            usize::try_from(left).map_or(available.len(), |left| left.min(available.len()));
        Ok(&available[..within])
    }

    fn consume(&mut self, amount: usize) {
        if let State::Block(left) = &mut self.reader.state {
            *left -= amount as u64;
            self.reader.source.consume(amount);
        }
    }
}

/// The bytes of the current record, decompressed. Of a gzip file the end of the member is the end
/// of the input until `end_member` goes on to the next.
enum Source<R> {
    Plain(Counted<R>),
    Gzip(Box<BufReader<GzDecoder<Counted<R>>>>),
}

impl<R: BufRead> Source<R> {
    fn gzip(input: Counted<R>) -> Self {
        // `new` would read at once, and keep a fault to itself; `reset` leaves it to the first read.
        let mut decoder = GzDecoder::new(Counted {
            inner: None,
            position: 0,
        });
        decoder.reset(input);
        Self::Gzip(Box::new(BufReader::new(decoder)))
    }

    /// In bytes of the file. Exact between records.
    fn position(&self) -> u64 {
        match self {
            Self::Plain(input) => input.position,
            Self::Gzip(input) => input.get_ref().get_ref().position,
        }
    }

    /// Between records: whether the file has nothing more.
    fn is_at_end(&mut self) -> io::Result<bool> {
        let input = match self {
            Self::Plain(input) => input,
            Self::Gzip(input) => input.get_mut().get_mut(),
        };
        Ok(input.fill_buf()?.is_empty())
    }

    /// Goes on to the next member; false if this one has more bytes.
    fn end_member(&mut self) -> io::Result<bool> {
        let Self::Gzip(input) = self else {
            return Ok(true);
        };
        if !input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        // `reset` wants a reader for the one it returns: the same one goes in again.
        let decoder = input.get_mut();
        let inner = decoder.reset(Counted {
            inner: None,
            position: 0,
        });
        decoder.reset(inner);
        Ok(true)
    }
}

impl<R: BufRead> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(input) => input.read(buffer),
            Self::Gzip(input) => input.read(buffer),
        }
    }
}

impl<R: BufRead> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self {
            Self::Plain(input) => input.fill_buf(),
            Self::Gzip(input) => input.fill_buf(),
        }
    }

    fn consume(&mut self, amount: usize) {
        match self {
            Self::Plain(input) => input.consume(amount),
            Self::Gzip(input) => input.consume(amount),
        }
    }
}

/// Counts what is consumed. Empty while its reader is being moved.
struct Counted<R> {
    inner: Option<R>,
    position: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self
            .inner
            .as_mut()
            .map_or(Ok(0), |inner| inner.read(buffer))?;
        self.position += read as u64;
        Ok(read)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.as_mut().map_or(Ok(&[]), R::fill_buf)
    }

    fn consume(&mut self, amount: usize) {
        self.position += amount as u64;
        if let Some(inner) = &mut self.inner {
            inner.consume(amount);
        }
    }
}
