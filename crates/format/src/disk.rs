//! Opens domain files, and says why one cannot be read.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use urldb_files::RootFile;
use urldb_text::{Code, Finding};

use crate::chunks::ChunkReader;
use crate::error::Error;
use crate::limits::{self, LARGEST_FILE, LONGEST_LINE, TooLarge};

/// The first bytes of every pointer of Git LFS, by its specification.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

const LFS_MESSAGE: &str = "it is a pointer of Git LFS in place of the file";

const LFS_HELP: &str = "`git lfs pull` fetches the file; `git lfs untrack` keeps domain files out of Git LFS, so that git can merge them";

/// A domain file, whose folder is the database: a link out of it is refused.
pub(crate) fn in_database(path: &Path) -> RootFile {
    RootFile::at(path, "the database")
}

/// Opens the domain file at `path`.
///
/// # Errors
/// [`Error::Read`] if `path` is not a regular file, cannot be read, or is a symbolic link that leads out of
/// its directory: a change of the database must not change a file elsewhere.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let opened = || {
        let file = in_database(path).open()?;
        limits::check_file(file.metadata()?.len())?;
        Ok(file)
    };
    opened().map_err(|source| read_error(path, source))
}

/// The bytes of the domain file at `path`. Lines and records of a large file are checked before all of it is
/// in memory.
///
/// # Errors
/// As [`open`], for lines and records beyond the limits, and for a pointer of Git LFS.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>, Error> {
    let read = |mut file: File| {
        if file.metadata()?.len() > LONGEST_LINE as u64 {
            let mut chunks = ChunkReader::new(&file, LONGEST_LINE);
            let (mut chunk, mut lines) = (vec![], 0);
            while let Some(next) = chunks.next_chunk(chunk, lines)? {
                lines += memchr::memchr_iter(b'\n', &next).count();
                chunk = next;
            }
            file.rewind()?;
        }
        let mut bytes = vec![];
        file.take(LARGEST_FILE.get() + 1).read_to_end(&mut bytes)?;
        refuse_lfs_pointer(&bytes)?;
        Ok(bytes)
    };
    read(open(path)?).map_err(|source| read_error(path, source))
}

/// Refuses a file that begins with `bytes`, if it is a pointer of Git LFS: an edit would damage it.
pub(crate) fn refuse_lfs_pointer(bytes: &[u8]) -> io::Result<()> {
    if bytes.starts_with(LFS_POINTER) {
        return Err(io::Error::other(LFS_MESSAGE));
    }
    Ok(())
}

pub(crate) fn read_error(path: &Path, source: io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

/// The finding about a file that cannot be read.
pub fn finding_of(error: &Error) -> Finding {
    let Error::Read { source, .. } = error else {
        return unreadable(&error.to_string());
    };
    let cause = source.to_string();
    match TooLarge::of(source) {
        Some(TooLarge::Line(line)) => Finding::new(Code::LineTooLong, *line, cause)
            .with_help("break the line, or remove it; urldb reads nothing of the file until then"),
        Some(TooLarge::Record(line)) => Finding::new(Code::RecordTooLong, *line, cause).with_help(
            "shorten the record, or remove it; urldb reads nothing of the file until then",
        ),
        _ => unreadable(&cause),
    }
}

fn unreadable(cause: &str) -> Finding {
    let message = format!("the file cannot be read: {cause}");
    let help = if cause.ends_with(LFS_MESSAGE) {
        LFS_HELP
    } else {
        "correct the file or remove it; urldb checks the other files meanwhile"
    };
    Finding::new(Code::UnreadableFile, 1, message).with_help(help)
}
