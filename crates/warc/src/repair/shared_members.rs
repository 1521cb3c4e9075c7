//! Moves records that share a gzip member into members of their own, byte for byte.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::extent::Extent;
use crate::fs::file;
use crate::reader::{InflatedMembers, ReadError, Reader};

/// Writes the readable records of each range of the file, up to the first damage in the range.
/// Returns their number.
pub(super) fn write_separately(
    path: &Path,
    ranges: &[Range<u64>],
    output: &mut impl Write,
) -> io::Result<u64> {
    let mut records = 0;
    for range in ranges {
        let mut input = inflated(path, range)?;
        let mut position = 0;
        for Extent { offset, length } in record_extents(path, range)? {
            copy_exactly(&mut input, offset - position, &mut io::sink())?;
            let mut member = GzEncoder::new(&mut *output, Compression::new(6));
            copy_exactly(&mut input, length, &mut member)?;
            member.finish()?;
            position = offset + length;
            records += 1;
        }
    }
    Ok(records)
}

/// The positions of the readable records in the decompressed range.
fn record_extents(path: &Path, range: &Range<u64>) -> io::Result<Vec<Extent>> {
    let mut extents = Vec::new();
    let read = Reader::new(inflated(path, range)?).and_then(|mut reader| {
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

fn inflated(path: &Path, range: &Range<u64>) -> io::Result<InflatedMembers<io::Take<File>>> {
    let mut file = file(path).open()?;
    file.seek(SeekFrom::Start(range.start))?;
    let length = range.end.saturating_sub(range.start);
    InflatedMembers::new(file.take(length)).map_err(io::Error::other)
}

fn copy_exactly(input: &mut impl Read, length: u64, output: &mut impl Write) -> io::Result<()> {
    let copied = io::copy(&mut input.take(length), output)?;
    if copied < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}
