//! Reads and writes the files of the ledger. A link out of the folder of a file is refused: a commit of
//! somebody else may bring it.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;

/// Opens a file to read it.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    ensure_own(path)?;
    urldb_files::open(path)
}

/// Replaces a file in one step.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    ensure_own(path)?;
    urldb_files::write_atomically(path, bytes)
}

/// Replaces a file in one step, by what `content` writes piece by piece.
pub(crate) fn write_with(
    path: &Path,
    content: impl FnOnce(&mut File) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    ensure_own(path)?;
    urldb_files::write_atomically_with(path, content)
}

/// Opens a file, which need not exist, to read it and to append to it.
pub(crate) fn open_to_append(path: &Path) -> io::Result<File> {
    ensure_own(path)?;
    let mut options = OpenOptions::new();
    options.create(true).append(true).read(true).open(path)
}

fn ensure_own(path: &Path) -> io::Result<()> {
    urldb_files::ensure_inside(path.parent().unwrap_or(path), path)
}
