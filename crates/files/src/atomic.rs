//! Replaces a file so that a crash leaves its old bytes or its new ones, nothing between.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::reading::ensure_regular;

/// The names of our temporary files start like this, so that strays can be told.
const PREFIX: &str = ".urldb-tmp-";

/// Writes `bytes` to `path` by way of a temporary file in the same directory.
///
/// An existing file keeps its mode; a new one gets that of any new file. Where `path` is a symbolic
/// link, the file that it leads to is replaced and the link stays; one that leads nowhere is an error.
/// So is what is no regular file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    PendingWrite::new(path, bytes)?.commit()
}

/// The same for what is too large to hold, or may turn out not to be worth keeping: when `write`
/// fails, `path` is as it was.
pub fn write_atomically_with<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    Ok(PendingWrite::with(path, write)?.commit()?)
}

/// The bytes of a file, on disk under another name until they take its place; removed if they
/// are dropped before. Several files are staged first and then committed, so that a full disk
/// changes none of them.
#[derive(Debug)]
pub struct PendingWrite {
    temporary: TempPath,
    target: PathBuf,
}

impl PendingWrite {
    /// Writes the bytes beside the file at `path`, as [`write_atomically`] would replace it.
    pub fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        Self::with(path, |file| file.write_all(bytes))
    }

    /// The same for bytes that are written one after the other.
    fn with<E: From<io::Error>>(
        path: &Path,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<Self, E> {
        let target = followed(path)?;
        let permissions = match fs::metadata(&target) {
            Ok(metadata) => {
                ensure_regular(metadata.file_type())?;
                Some(metadata.permissions())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        let mut temporary = temporary_file(permissions.clone(), directory_of(&target))?;
        write(temporary.as_file_mut())?;
        if let Some(permissions) = permissions {
            // The umask had a say in those that it was made with.
            temporary.as_file().set_permissions(permissions)?;
        }
        temporary.as_file().sync_all()?;
        let temporary = temporary.into_temp_path();
        Ok(Self { temporary, target })
    }

    /// Puts the bytes in the place of the file.
    pub fn commit(self) -> io::Result<()> {
        let persisted = self.temporary.persist(&self.target);
        persisted.map_err(|error| error.error)?;
        sync_directory(directory_of(&self.target))
    }
}

/// Removes what killed writes left in `directory`; returns the files removed.
///
/// Only for a time when nobody else writes there: a temporary file in use looks the same.
pub fn remove_stray_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
            removed.push(entry.path());
        }
    }
    removed.sort();
    Ok(removed)
}

/// What keeps us from making files in a directory; of the name that they would have had, nobody wants
/// to hear.
fn unwritable(directory: &Path, error: &io::Error) -> io::Error {
    let (kind, directory) = (error.kind(), directory.display());
    let problem = match kind {
        io::ErrorKind::NotFound => format!("there is no folder {directory}"),
        _ => format!("no file can be made in {directory}: {kind}"),
    };
    io::Error::new(kind, problem)
}

fn directory_of(path: &Path) -> &Path {
    path.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Where the bytes for `path` are to stand.
fn followed(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_symlink() => fs::canonicalize(path).map_err(|error| {
            let message = format!("it is a symbolic link that cannot be followed: {error}");
            io::Error::new(error.kind(), message)
        }),
        Ok(_) => Ok(path.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(path.to_owned()),
        Err(error) => Err(error),
    }
}

/// A file that nobody may read who may not read the one that it is to replace.
fn temporary_file(permissions: Option<Permissions>, directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    if let Some(permissions) = permissions.or_else(of_any_new_file) {
        builder.permissions(permissions);
    }
    builder
        .tempfile_in(directory)
        .map_err(|error| unwritable(directory, &error))
}

/// What a new file gets, before the umask.
#[cfg(unix)]
#[expect(
    clippy::unnecessary_wraps,
    reason = "other systems have no such permissions"
)]
fn of_any_new_file() -> Option<Permissions> {
    use std::os::unix::fs::PermissionsExt;
    Some(Permissions::from_mode(0o666))
}

#[cfg(not(unix))]
fn of_any_new_file() -> Option<Permissions> {
    None
}

/// Makes a rename durable.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}

/// Other systems cannot open a directory as a file.
#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
