//! Reads regular files only: a pipe that nobody writes to would wait for ever, a device would never end.

use std::fs::{self, File, FileType};
use std::io::{self, Read};
use std::path::Path;

/// Opens the file at `path`, through links.
///
/// # Errors
/// Also where it is no regular file: a folder, a pipe, a socket, a device.
pub fn open(path: &Path) -> io::Result<File> {
    // Looked at before: the opening alone of a pipe waits.
    ensure_regular(fs::metadata(path)?.file_type())?;
    File::open(path)
}

/// The bytes of the file at `path`, as [`open`] opens it.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of the file at `path`, as [`open`] opens it.
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
