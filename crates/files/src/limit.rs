//! The sizes up to which files are read.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};

/// Most bytes that are read of one file. It has no default: each reader states how much it can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Limit(u64);

impl Limit {
    /// A limit in bytes.
    pub const fn bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// A limit in units of 1,024 bytes.
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// A limit in units of 1,048,576 bytes.
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Refuses a length beyond the limit.
    ///
    /// # Errors
    /// [`TooLarge`] with both numbers, as [`io::ErrorKind::FileTooLarge`].
    pub fn check(self, length: u64) -> io::Result<()> {
        if length <= self.0 {
            return Ok(());
        }
        let limit = self;
        let too_large = TooLarge { length, limit };
        Err(io::Error::new(io::ErrorKind::FileTooLarge, too_large))
    }

    /// The bytes of a file. A file that is too large is not read; one that grows is read to the limit.
    pub(crate) fn read(self, file: File) -> io::Result<Vec<u8>> {
        self.check(file.metadata()?.len())?;
        let mut bytes = vec![];
        file.take(self.0 + 1).read_to_end(&mut bytes)?;
        self.check(bytes.len() as u64)?;
        Ok(bytes)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0;
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        let whole = |(shift, _): &(u32, _)| bytes >= 1 << shift && bytes.is_multiple_of(1 << shift);
        match units.iter().find(|unit| whole(unit)) {
            Some((shift, unit)) => write!(f, "{} {unit} ({bytes} bytes)", bytes >> shift),
            None => write!(f, "{bytes} bytes"),
        }
    }
}

/// A file beyond its limit.
#[derive(Debug)]
pub struct TooLarge {
    /// Bytes of the file.
    length: u64,
    limit: Limit,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (length, limit) = (self.length, self.limit);
        write!(f, "it has {length} bytes, and urldb reads at most {limit}")
    }
}

impl std::error::Error for TooLarge {}
