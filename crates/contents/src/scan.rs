//! Reads a content to its end.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read, Seek, SeekFrom};

use crate::bounds::{BoundedReader, Bounds};
use crate::members::Content;
use crate::packing::{Packing, unpacked};
use crate::refusal::Refusal;
use crate::sink::{BUFFER, FileSink, Wanted};
use crate::{tar, zip};

/// The longest start of a content that says what it is, in bytes: a header of tar.
const START: usize = tar::BLOCK;

/// The bytes of files in an archive, by name; of a single compressed file, whose name is empty. Files that are longer than
/// `longest` bytes and names that are no files are left out.
///
/// # Errors
/// When the archive is refused, as in [`compare`](crate::compare).
pub fn texts<'a>(
    input: &mut (impl Read + Seek),
    bounds: Bounds,
    names: impl IntoIterator<Item = &'a [u8]>,
    longest: u64,
) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, Refusal> {
    let files = names.into_iter().map(|name| (name.into(), None)).collect();
    let mut wanted = Wanted { files, longest };
    scan(input, bounds, &mut wanted)?;
    let files = wanted.files.into_iter();
    Ok(files
        .filter_map(|(name, bytes)| Some((name.into_vec(), bytes?)))
        .collect())
}

/// Reads the members of an archive, or a single compressed file.
pub(crate) fn scan(
    input: &mut (impl Read + Seek),
    bounds: Bounds,
    wanted: &mut Wanted,
) -> Result<Content, Refusal> {
    let packed = input.seek(SeekFrom::End(0))?;
    input.seek(SeekFrom::Start(0))?;
    let start = start_of(input)?;
    input.seek(SeekFrom::Start(0))?;
    let most = bounds.most_unpacked(packed);
    let packing = Packing::of(&start);
    match packing {
        None if zip::begins(&start) => return zip::members(input, most, bounds, wanted),
        None if !tar::begins(&start) => return Err(Refusal::NoArchive),
        _ => {}
    }
    let input = BufReader::with_capacity(BUFFER, input);
    let input = BoundedReader::new(unpacked(input, packing), most);
    let mut input = BufReader::with_capacity(BUFFER, input);
    let start = start_of(&mut input)?;
    if tar::begins(&start) {
        return tar::members(&mut (start.as_slice().chain(input)), bounds, wanted);
    }
    let mut sink = FileSink::new(wanted, b"", None);
    sink.copy(&mut start.as_slice().chain(input))?;
    Ok(Content::File(sink.finish().1))
}

fn start_of(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::with_capacity(START);
    input.take(START as u64).read_to_end(&mut start)?;
    Ok(start)
}
