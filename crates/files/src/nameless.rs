//! A new file without a name until all its bytes are there: a killed process leaves nothing of it.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, OFlags, linkat};

/// A file without a name in `directory`, with these permissions, or those of any new file. `None` where the file system
/// has no such files.
pub(crate) fn create(directory: &Path, permissions: Option<&Permissions>) -> Option<File> {
    let mut options = OpenOptions::new();
    // The bits of rustix are those of the system.
    options.custom_flags(OFlags::TMPFILE.bits().cast_signed());
    let mode = permissions.map_or(0o666, Permissions::mode);
    options.read(true).write(true).mode(mode);
    options.open(directory).ok()
}

/// Gives the file a name, where nothing may be.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if something is there, and if the system does not show open files in `/proc`.
pub(crate) fn link(file: &File, path: &Path) -> io::Result<()> {
    let open = format!("/proc/self/fd/{}", file.as_raw_fd());
    Ok(linkat(CWD, open, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}
