//! Reads regular files only: opening a pipe without a writer blocks, and a device may never end.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Opens the file at `path`, and follows links.
///
/// # Errors
/// If the file cannot be opened, or is a folder, a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    // The type is checked first, because opening a pipe blocks.
    ensure_regular(fs::metadata(path)?.file_type())?;
    File::open(path)
}

/// The bytes of the file at `path`.
///
/// # Errors
/// As [`open`], and if reading fails.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of the file at `path`.
///
/// # Errors
/// As [`open`], and if reading fails or the file is not UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    io::read_to_string(open(path)?)
}

pub(crate) fn ensure_regular(kind: FileType) -> io::Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    let message = format!("it is {}, not a regular file", name_of(kind));
    Err(io::Error::other(message))
}

#[cfg(unix)]
fn name_of(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_dir() {
        "a folder"
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn name_of(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else {
        "something else"
    }
}
