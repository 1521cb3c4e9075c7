//! Gives records that share a gzip member one of their own each, byte for byte what they were.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::Part;
use crate::reader::{Inflated, ReadError, Reader};
use crate::writer::Extent;

/// Writes the good records of each part of the file up to the first damage in it, and returns how
/// many there were.
pub(super) fn write_apart(path: &Path, parts: &[Part], output: &mut impl Write) -> io::Result<u64> {
    let mut records = 0;
    for part in parts {
        let mut input = inflated(path, *part)?;
        let mut position = 0;
        for Extent { offset, length } in extents(path, *part)? {
            pass(&mut input, offset - position, &mut io::sink())?;
            let mut member = GzEncoder::new(&mut *output, Compression::new(6));
            pass(&mut input, length, &mut member)?;
            member.finish()?;
            position = offset + length;
            records += 1;
        }
    }
    Ok(records)
}

/// Where the good records are in what comes out of the part.
fn extents(path: &Path, part: Part) -> io::Result<Vec<Extent>> {
    let mut extents = Vec::new();
    let read = Reader::new(inflated(path, part)?).and_then(|mut reader| {
        while let Some(record) = reader.next_record()? {
            extents.push(record.finish()?);
        }
        Ok::<_, ReadError>(())
    });
    match read {
        Err(error) if !error.is_damage() => Err(io::Error::other(error)),
        _ => Ok(extents),
    }
}

fn inflated(path: &Path, (from, to): Part) -> io::Result<Inflated<io::Take<File>>> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    Inflated::new(file.take(to.saturating_sub(from))).map_err(io::Error::other)
}

fn pass(input: &mut impl Read, length: u64, output: &mut impl Write) -> io::Result<()> {
    let passed = io::copy(&mut input.take(length), output)?;
    if passed < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
