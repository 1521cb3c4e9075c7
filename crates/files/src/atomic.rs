//! Replaces a file in one step: temporary file, fsync, rename, fsync of the directory.

use std::fs::{self, File, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use tempfile::{NamedTempFile, TempDir, TempPath};

#[cfg(target_os = "linux")]
use crate::nameless::{self, link};
use crate::reading::ensure_regular;

/// The prefix of the names of temporary files, by which [`remove_stray_files`] finds them.
const PREFIX: &str = ".urldb-tmp-";

/// Writes `bytes` to `path`, through a temporary file in the same directory.
///
/// An existing file keeps its permissions; a new file gets those of any new file. If `path` is a
/// symbolic link, the link stays and its target is replaced.
///
/// # Errors
/// If the directory is missing or not writable, the link leads nowhere, or `path` exists and is not a
/// regular file. The file at `path` is unchanged then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    PendingWrite::new(path, bytes)?.commit()
}

/// Writes like [`write_atomically`], without waiting for the disk. For a file whose content is checked and
/// made again: after a power failure it may be empty, or the old one.
///
/// # Errors
/// As [`write_atomically`].
pub fn replace_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (temporary, target) = written(path, |file| file.write_all(bytes))?;
    temporary
        .into_temp_path()
        .persist(target)
        .map_err(|error| error.error)
}

/// Writes to `path` like [`write_atomically`], with content that `write` produces piece by piece. Meanwhile the file has
/// no name, where the file system has such files.
///
/// # Errors
/// As [`write_atomically`], and the errors of `write`. The file at `path` is unchanged then.
pub fn write_atomically_with<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    let target = followed(path)?;
    let permissions = permissions_of(&target)?;
    let Some(mut file) = nameless_file(directory_of(&target), permissions.as_ref()) else {
        return Ok(PendingWrite::with(path, write)?.commit()?);
    };
    write(&mut file)?;
    Ok(publish(file, &target, permissions)?)
}

/// Writes a new file like [`write_atomically_with`]. Never replaces a file.
///
/// # Errors
/// As [`write_atomically_with`], and if `path` exists ([`io::ErrorKind::AlreadyExists`]), before `write`
/// is called or after.
pub fn write_new_atomically_with<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(), E> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(io::Error::from(io::ErrorKind::AlreadyExists).into());
    }
    if let Some(mut file) = nameless_file(directory_of(path), None) {
        write(&mut file)?;
        return Ok(publish_new(file, path)?);
    }
    let PendingWrite { temporary, target } = PendingWrite::with(path, write)?;
    temporary
        .persist_noclobber(&target)
        .map_err(|error| error.error)?;
    Ok(sync_directory(directory_of(&target))?)
}

/// New content for a file, on disk under a temporary name until [`Self::commit`]. Dropping the value
/// removes the temporary file. A caller that changes several files creates all values first and then
/// commits them, so that a full disk changes none of the files.
#[derive(Debug)]
pub struct PendingWrite {
    temporary: TempPath,
    target: PathBuf,
}

impl PendingWrite {
    /// Writes `bytes` to a temporary file beside `path`.
    ///
    /// # Errors
    /// As [`write_atomically`].
    pub fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        Self::with(path, |file| file.write_all(bytes))
    }

    /// Like [`Self::new`], with content that `write` produces piece by piece.
    ///
    /// # Errors
    /// As [`write_atomically`], and the errors of `write`.
    pub fn with<E: From<io::Error>>(
        path: &Path,
        write: impl FnOnce(&mut File) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (temporary, target) = written(path, write)?;
        temporary.as_file().sync_all()?;
        let temporary = temporary.into_temp_path();
        Ok(Self { temporary, target })
    }

    /// The file that is replaced: where `path` leads, if it is a symbolic link.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Replaces the file by the new content.
    ///
    /// # Errors
    /// If the rename or the fsync of the directory fails.
    pub fn commit(self) -> io::Result<()> {
        self.temporary
            .persist(&self.target)
            .map_err(|error| error.error)?;
        sync_directory(directory_of(&self.target))
    }
}

/// A temporary file with the new content, which may not be on disk yet, and the file that it is for.
fn written<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut File) -> Result<(), E>,
) -> Result<(NamedTempFile, PathBuf), E> {
    let target = followed(path)?;
    let permissions = permissions_of(&target)?;
    let mut temporary = temporary_file(permissions.clone(), directory_of(&target))?;
    write(temporary.as_file_mut())?;
    if let Some(permissions) = permissions {
        // The umask has reduced the permissions with which the file was created.
        temporary.as_file().set_permissions(permissions)?;
    }
    Ok((temporary, target))
}

/// The permissions of the file to replace, if there is one.
fn permissions_of(target: &Path) -> io::Result<Option<Permissions>> {
    match fs::metadata(target) {
        Ok(metadata) => {
            ensure_regular(metadata.file_type())?;
            Ok(Some(metadata.permissions()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file that gets its name when it is complete, in the folder of that name.
#[cfg(target_os = "linux")]
fn nameless_file(directory: &Path, permissions: Option<&Permissions>) -> Option<File> {
    nameless::create(directory, permissions)
}

#[cfg(not(target_os = "linux"))]
fn nameless_file(_: &Path, _: Option<&Permissions>) -> Option<File> {
    None
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Puts a complete file without a name in the place of the file at `target`, which has these permissions if it is there.
fn publish(file: File, target: &Path, permissions: Option<Permissions>) -> io::Result<()> {
    if let Some(permissions) = permissions.clone() {
        file.set_permissions(permissions)?;
    }
    file.sync_all()?;
    let directory = directory_of(target);
    // Once it has its name, no other way is tried: a rename to a name of the same file leaves both.
    if permissions.is_none() && link(&file, target).is_ok() {
        return sync_directory(directory);
    }
    let linked = tempfile::Builder::new()
        .prefix(PREFIX)
        .make_in(directory, |path| link(&file, path));
    let persisted = match linked {
        Ok(named) => named.into_temp_path().persist(target),
        Err(_) => copy_of(file, permissions, directory)?.persist(target),
    };
    persisted.map_err(|error| error.error)?;
    sync_directory(directory)
}

/// Gives a complete file without a name this one, where nothing may be.
fn publish_new(file: File, target: &Path) -> io::Result<()> {
    match link_synced(&file, target) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            copy_of(file, None, directory_of(target))?
                .persist_noclobber(target)
                .map_err(|error| error.error)?;
            sync_directory(directory_of(target))
        }
        linked => linked,
    }
}

fn link_synced(file: &File, target: &Path) -> io::Result<()> {
    file.sync_all()?;
    link(file, target)?;
    sync_directory(directory_of(target))
}

/// A copy with a name, for systems that give none to a file without.
fn copy_of(
    mut file: File,
    permissions: Option<Permissions>,
    directory: &Path,
) -> io::Result<TempPath> {
    let mut copy = temporary_file(permissions, directory)?;
    file.seek(SeekFrom::Start(0))?;
    io::copy(&mut file, copy.as_file_mut())?;
    copy.as_file().sync_all()?;
    Ok(copy.into_temp_path())
}

/// Makes a folder, and those above it.
///
/// # Errors
/// If a folder cannot be made.
pub fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Removes a file or a link, and tells whether it was there.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// A temporary file without a name, which ends with the process.
///
/// # Errors
/// If the system's folder of temporary files cannot be written to.
pub fn unnamed_file() -> io::Result<File> {
    tempfile::tempfile()
}

/// A folder among the system's temporary files, which is removed when the value is dropped.
///
/// # Errors
/// If the system's folder of temporary files cannot be written to.
pub fn temporary_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("urldb-").tempdir()
}

/// A folder in `directory` that is removed when the value is dropped. Its permissions are those of any new
/// folder, so that it can become one.
///
/// # Errors
/// If the folder cannot be made.
pub fn temporary_folder_in(directory: &Path) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o777));
    }
    builder
        .tempdir_in(directory)
        .map_err(|error| unwritable(directory, &error))
}

/// Removes the temporary files that killed processes left in `directory`, and returns their paths,
/// sorted.
///
/// The caller must be the only writer in `directory`, because temporary files in use look the same.
///
/// # Errors
/// If the directory cannot be listed or a file cannot be removed.
pub fn remove_stray_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if is_temporary(&entry.path()) && entry.file_type()?.is_file() {
            fs::remove_file(entry.path())?;
            removed.push(entry.path());
        }
    }
    removed.sort();
    Ok(removed)
}

/// Removes the temporary files and folders in `directory` that have not changed for so long: killed
/// processes left them, and younger ones may belong to a process at work. A file that cannot be removed stays.
///
/// # Errors
/// If the directory cannot be listed.
pub fn remove_old_stray_files(directory: &Path, age: Duration) -> io::Result<()> {
    for entry in fs::read_dir(directory)?.flatten() {
        let path = entry.path();
        let known = entry.metadata().ok().filter(|_| is_temporary(&path));
        let Some(known) = known else { continue };
        let unused = known
            .modified()
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        if unused.is_some_and(|unused| unused >= age) {
            let _ = if known.is_dir() {
                fs::remove_dir_all(&path)
            } else {
                fs::remove_file(&path)
            };
        }
    }
    Ok(())
}

/// Whether a file has the name of a temporary file of this crate.
pub fn is_temporary(path: &Path) -> bool {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .starts_with(PREFIX)
}

/// The error for a file that cannot be created in `directory`, without the name of the temporary
/// file.
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

/// The file to replace: `path`, or the target of the link at `path`.
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

/// A temporary file with the permissions of the file to replace, so that no other user can read it.
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

/// The permissions of any new file, before the umask.
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

/// The first folder that could not be synced because its file system has no such operation.
static UNSYNCED: OnceLock<UnsyncedFolder> = OnceLock::new();

/// A folder whose file system cannot make names durable: after a power failure, its last changes may be gone.
#[derive(Debug)]
pub struct UnsyncedFolder {
    /// The folder.
    pub path: PathBuf,
    /// The error of the fsync.
    pub error: io::Error,
}

/// The first folder of this process that [`sync_directory`] passed over.
pub fn unsynced_folder() -> Option<&'static UnsyncedFolder> {
    UNSYNCED.get()
}

/// Makes new, renamed and removed names in `directory` durable, where the file system can. Network and shared
/// folders (CIFS, vboxsf, some FUSE) refuse the fsync of a folder, though the names are there:
/// [`unsynced_folder`] has the first such folder.
///
/// # Errors
/// If the directory is missing, or the disk fails.
#[cfg(unix)]
pub fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|open| open.sync_all()) {
        Err(error) if is_refusal(&error) => {
            let path = directory.to_owned();
            UNSYNCED.get_or_init(|| UnsyncedFolder { path, error });
            Ok(())
        }
        done => done,
    }
}

/// Whether a folder cannot be opened for an fsync, or has none: EINVAL, ENOSYS, EOPNOTSUPP, EACCES, EPERM, EISDIR,
/// and the errors of a file descriptor that takes no such call.
#[cfg(unix)]
fn is_refusal(error: &io::Error) -> bool {
    const EBADF: i32 = 9;
    const ENOTTY: i32 = 25;
    [
        io::ErrorKind::InvalidInput,
        io::ErrorKind::Unsupported,
        io::ErrorKind::PermissionDenied,
        io::ErrorKind::IsADirectory,
    ]
    .contains(&error.kind())
        || matches!(error.raw_os_error(), Some(EBADF | ENOTTY))
}

/// Does nothing: other systems cannot open a directory as a file.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}
