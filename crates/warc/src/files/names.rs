//! The names of the files of an archive.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use urldb_files::Limit;

use crate::fs;
use crate::header::WarcDate;

/// The suffix of a finished file.
pub const ARCHIVE_SUFFIX: &str = ".warc.gz";

/// The suffix of an unfinished file, after [`ARCHIVE_SUFFIX`].
pub(crate) const OPEN_SUFFIX: &str = ".open";

/// Length limit of prefix and host in a file name, in bytes.
const MAX_NAME_PART: usize = 64;

/// The directory of the segments in the directory of an archive.
pub const INDEX_DIRECTORY: &str = "index";

/// The suffix of the lines of a segment, in compressed blocks.
pub(crate) const DATA_SUFFIX: &str = ".cdxj.gz";

/// The suffix of the list of the archive files of a segment.
pub const LOC_SUFFIX: &str = ".loc";

/// The suffix of the list of the blocks of a segment.
pub(crate) const IDX_SUFFIX: &str = ".idx";

/// The suffixes of the files of a segment, in the order in which the files appear.
pub(crate) const PUBLICATION: [&str; 3] = [DATA_SUFFIX, LOC_SUFFIX, IDX_SUFFIX];

/// The largest list of archive files that is read: a `.loc` file, or the list of files that a new one
/// replaces. 64 MiB have some 600,000 names.
pub const LARGEST_LIST: Limit = Limit::mib(64);

/// The name of an archive file, `PREFIX-TIMESTAMP-SERIAL-HOST.warc.gz`. For any prefix and host the
/// name is short, has only letters, digits, `.`, `_` and `-`, and names no other directory.
pub fn archive_file_name(prefix: &str, date: &WarcDate, serial: u32, host: &str) -> String {
    let (prefix, host) = (safe(prefix), safe(host));
    let timestamp = date.to_timestamp14();
    format!("{prefix}-{timestamp}-{serial:05}-{host}{ARCHIVE_SUFFIX}")
}

fn safe(text: &str) -> String {
    let safe: String = text
        .chars()
        .map(|c| if is_safe(c) { c } else { '_' })
        .take(MAX_NAME_PART)
        .collect();
    if safe.is_empty() {
        "unknown".to_owned()
    } else {
        safe
    }
}

/// Whether an archive file may have this character in its name.
pub(crate) fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

/// Whether a file of this name has records that this crate reads: WARC or ARC, compressed or not.
pub fn is_archive_name(name: &str) -> bool {
    READ_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

/// The suffixes of files that are read.
pub const READ_SUFFIXES: [&str; 5] = [ARCHIVE_SUFFIX, ".warc.zst", ".warc", ".arc.gz", ".arc"];

/// Suffixes of compressions that some programs use for archive files.
const UNREAD_COMPRESSIONS: [&str; 8] = ["zst", "zstd", "lz4", "bz2", "xz", "lzma", "br", "z"];

/// Whether a file of this name has records in a form that this crate does not read: compressed by another
/// program than gzip, packed in a WACZ, or with a suffix in capitals.
pub fn is_unread_name(name: &str) -> bool {
    if is_archive_name(name) {
        return false;
    }
    let name = name.to_ascii_lowercase();
    let stem = name
        .rsplit_once('.')
        .filter(|(_, suffix)| UNREAD_COMPRESSIONS.contains(suffix))
        .map_or(name.as_str(), |(stem, _)| stem);
    let suffixes = [".wacz", ".warc", ".arc"];
    is_archive_name(&name) || suffixes.iter().any(|suffix| stem.ends_with(suffix))
}

/// The last component of a path.
pub(crate) fn file_name_of(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The names of the files in a directory that are text.
///
/// # Errors
/// When the directory cannot be read.
pub fn names_in(dir: &Path) -> io::Result<BTreeSet<String>> {
    let root = fs::root(dir);
    let names = fs::names(&root)?;
    if names.is_empty() && !root.is_folder() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(names)
}

/// Whether a file of an archive with this name is in the directory of the index.
pub fn is_index_file(name: &str) -> bool {
    name.split_once('/')
        .is_some_and(|(folder, _)| folder == INDEX_DIRECTORY)
}

/// Whether a file of this name in the directory of the index belongs to a segment.
pub(crate) fn is_segment_name(name: &str) -> bool {
    PUBLICATION.iter().any(|suffix| name.ends_with(suffix))
}
