//! Reads regular files only: opening a pipe without a writer blocks, and a device may never end.

use std::fs::{self, File, FileType, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use crate::limit::Limit;

/// The kind of a file or folder, behind links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A pipe, a socket, a device, or a link to nothing.
    Other,
}

impl Kind {
    /// The kind of the file at `path`; `None` if there is none. The path is trusted: for a file of a
    /// folder that others fill, [`crate::RootFile::kind`].
    pub fn at(path: &Path) -> Option<Self> {
        let kind = match fs::metadata(path) {
            Ok(metadata) => metadata.file_type(),
            Err(_) => fs::symlink_metadata(path).ok()?.file_type(),
        };
        Some(if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else {
            Self::Other
        })
    }
}

/// Whether a file, a folder or anything else is at `path`, a link to nothing included.
pub fn is_there(path: &Path) -> bool {
    Kind::at(path).is_some()
}

/// Whether a regular file is at `path`.
pub fn is_file(path: &Path) -> bool {
    Kind::at(path) == Some(Kind::File)
}

/// Whether `path` itself is a regular file, and no link to one.
pub fn is_file_itself(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|known| known.is_file())
}

/// The path that a symbolic link names, as it stands in the link.
///
/// # Errors
/// When the path is no link, or cannot be read.
pub fn link_target(path: &Path) -> io::Result<PathBuf> {
    fs::read_link(path)
}

/// Whether a symbolic link is at `path`.
pub fn is_link(path: &Path) -> bool {
    path.is_symlink()
}

/// Whether a folder is at `path`.
pub fn is_folder(path: &Path) -> bool {
    Kind::at(path) == Some(Kind::Folder)
}

/// The absolute path without links, `.` and `..`.
///
/// # Errors
/// If nothing is there.
pub fn real_path(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path)
}

/// Opens the file at `path`, and follows links. The path is trusted: for a file of a folder that others
/// fill, [`crate::RootFile::open`].
///
/// # Errors
/// If the file cannot be opened, or is a folder, a pipe, a socket or a device.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens a file to lock it and to write to it; makes it if need be.
///
/// # Errors
/// As [`open`].
pub fn open_to_lock(path: &Path) -> io::Result<File> {
    open_with(
        OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false),
        path,
    )
}

/// Opens a folder to lock it. Not every system can.
///
/// # Errors
/// If there is no folder, or it cannot be opened.
pub fn open_folder(path: &Path) -> io::Result<File> {
    if !is_folder(path) {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    File::open(path)
}

/// Opens an input that the user names, which may be a pipe.
///
/// # Errors
/// If the file cannot be opened.
pub fn open_input(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a regular file. Never waits for a pipe.
pub(crate) fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The bits of rustix are those of the system.
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = match options.open(path) {
        Ok(file) => file,
        // The system's sentence about a socket or a folder names neither.
        Err(error) => {
            let known = fs::metadata(path);
            return Err(known
                .and_then(|it| ensure_regular(it.file_type()))
                .err()
                .filter(|it| it.kind() == io::ErrorKind::Other)
                .unwrap_or(error));
        }
    };
    ensure_regular(file.metadata()?.file_type())?;
    Ok(file)
}

/// The bytes of the file at `path`.
///
/// # Errors
/// As [`open`], if the file has more bytes than the limit, and if reading fails.
pub fn read(path: &Path, limit: Limit) -> io::Result<Vec<u8>> {
    limit.read(open(path)?)
}

/// The text of the file at `path`.
///
/// # Errors
/// As [`read`], and if the file is not UTF-8.
pub fn read_to_string(path: &Path, limit: Limit) -> io::Result<String> {
    text_of(read(path, limit)?)
}

pub(crate) fn text_of(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
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
