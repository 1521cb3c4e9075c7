//! The objects in a folder, such as on a backup disk.
//!
//! A file system knows no conditional write, so each write takes the lock `.lock`. An object is a temporary
//! file until all its bytes are on the disk, and then gets its name. No link leads out of the folder.

use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use urldb_files::{Kind, Limit, Root, RootFile};
use urldb_http::Budget;
use urldb_text::sanitize;

use crate::error::{StoreError, StoreErrorKind, too_many};
use crate::listing::{ListedObject, Listing};
use crate::location::Location;
use crate::manifest::LARGEST_MANIFEST;
use crate::objects::{Objects, Session, copy_hashed};

/// The file whose lock a writer has.
const LOCK: &str = ".lock";

/// The time within which the lock must be free: a writer has it while it writes one part of a file.
const PATIENCE: Duration = Duration::from_mins(1);

/// The time between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(10);

/// The age of a temporary file that no process can be writing any more.
const UNUSED: Duration = Duration::from_hours(24);

/// A folder with objects. It must be there: else a disk that is not mounted would look like a new place.
#[derive(Debug)]
pub(crate) struct Folder {
    root: Root,
}

impl Folder {
    pub(crate) fn new(path: &Path) -> Self {
        Self {
            root: Root::new(path, "the archive's store"),
        }
    }

    fn file(&self, name: &str) -> Result<RootFile, StoreError> {
        if self.root.is_folder() {
            return Ok(self.root.file(name));
        }
        Err(StoreError::new(
            StoreErrorKind::Unreachable,
            format!(
                "{} is not there: make the folder if its disk is there, and the archive shall be stored in it",
                self.shown()
            ),
        ))
    }

    /// Waits for the lock of the folder, which ends with the value.
    fn lock(&self) -> Result<File, StoreError> {
        let failed = |error: &io::Error| self.failed(error, LOCK, "locking");
        let lock = self
            .file(LOCK)?
            .open_to_append()
            .map_err(|error| failed(&error))?;
        let start = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(lock),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => sleep(PAUSE),
                Err(TryLockError::WouldBlock) => {
                    let busy = io::Error::from(io::ErrorKind::WouldBlock);
                    return Err(failed(&busy));
                }
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
    }

    fn read(&self, name: &str) -> Result<(Bytes, String), StoreError> {
        let bytes = self
            .file(name)?
            .read(Limit::bytes(LARGEST_MANIFEST))
            .map_err(|error| self.failed(&error, name, "reading"))?;
        let tag = tag_of(&bytes);
        Ok((bytes.into(), tag))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        self.file(name)?
            .replace(bytes)
            .map_err(|error| self.failed(&error, name, "writing"))
    }

    fn shown(&self) -> String {
        Location::Folder(self.root.path().to_owned()).to_string()
    }

    fn failed(&self, error: &io::Error, name: &str, doing: &str) -> StoreError {
        use io::ErrorKind as Io;
        let kind = match error.kind() {
            Io::NotFound => StoreErrorKind::Missing,
            Io::AlreadyExists => StoreErrorKind::Conflict,
            Io::PermissionDenied
            | Io::ReadOnlyFilesystem
            | Io::StorageFull
            | Io::QuotaExceeded
            | Io::Unsupported
            | Io::NotADirectory
            | Io::Other => StoreErrorKind::Refused,
            Io::FileTooLarge | Io::UnexpectedEof => StoreErrorKind::Damaged,
            _ => StoreErrorKind::Unreachable,
        };
        let message = format!("{doing} {name} in {} failed: {error}", self.shown());
        StoreError::new(kind, sanitize(&message))
    }

    fn conflict(&self, name: &str, problem: &str) -> StoreError {
        StoreError::new(
            StoreErrorKind::Conflict,
            format!("{name} in {} {problem}", self.shown()),
        )
    }
}

impl Objects for Folder {
    fn converse(&self, _: Budget) -> Box<dyn Session + '_> {
        Box::new(FolderSession(self))
    }
}

struct FolderSession<'a>(&'a Folder);

impl Session for FolderSession<'_> {
    fn get(&self, name: &str) -> Result<(Bytes, Option<String>), StoreError> {
        let (bytes, tag) = self.0.read(name)?;
        Ok((bytes, Some(tag)))
    }

    fn range(&self, name: &str, length: u64, range: Range<u64>) -> Result<Bytes, StoreError> {
        let file = self.0.file(name)?;
        let read = || {
            let mut input = file.open()?;
            let size = input.metadata()?.len();
            if size != length {
                return Ok(Err(size));
            }
            input.seek(SeekFrom::Start(range.start))?;
            let wanted = range.end - range.start;
            let mut bytes = vec![];
            input.take(wanted).read_to_end(&mut bytes)?;
            if bytes.len() as u64 == wanted {
                Ok(Ok(Bytes::from(bytes)))
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
        };
        read()
            .map_err(|error| self.0.failed(&error, name, "reading"))?
            .map_err(|size| {
                let problem = format!("it has {size} bytes, and the manifest says {length}");
                StoreError::damaged(name, &self.0.shown(), &problem)
            })
    }

    fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        match self.0.file(name)?.metadata() {
            Ok(known) => Ok(Some(known.len())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.0.failed(&error, name, "looking for")),
        }
    }

    fn create(&self, name: &str, bytes: Bytes) -> Result<Option<String>, StoreError> {
        let _lock = self.0.lock()?;
        if self.length(name)?.is_some() {
            return Err(self.0.conflict(name, "is there already"));
        }
        self.0.write(name, &bytes)?;
        Ok(Some(tag_of(&bytes)))
    }

    fn replace(&self, name: &str, bytes: Bytes, tag: &str) -> Result<(), StoreError> {
        let _lock = self.0.lock()?;
        // Files that killed processes left only take room.
        let _ = self.0.root.remove_old_stray_files(UNUSED);
        match self.0.read(name) {
            Ok((_, now)) if now == tag => self.0.write(name, &bytes),
            Err(error) if error.kind() != StoreErrorKind::Missing => Err(error),
            _ => Err(self.0.conflict(name, "has changed meanwhile")),
        }
    }

    fn put_parts(&self, name: &str, mut file: File, _: u64) -> Result<(u64, [u8; 32]), StoreError> {
        let object = self.0.file(name)?;
        let mut copied = (0, [0; 32]);
        object
            .replace_with(|output| {
                copied = copy_hashed(&mut file, output)?;
                Ok::<_, io::Error>(())
            })
            .map_err(|error| self.0.failed(&error, name, "writing"))?;
        Ok(copied)
    }

    fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0
            .file(name)?
            .remove()
            .map(drop)
            .map_err(|error| self.0.failed(&error, name, "deleting"))
    }

    fn list(&self, most: usize) -> Result<Listing, StoreError> {
        let failed = |error: io::Error| self.0.failed(&error, "its objects", "listing");
        self.0.file(LOCK)?;
        let mut objects = vec![];
        let mut folders = vec![(String::new(), self.0.root.clone())];
        while let Some((prefix, folder)) = folders.pop() {
            for file in folder.files().map_err(failed)? {
                let Some(base) = file.name().to_str() else {
                    continue;
                };
                if base.starts_with('.') {
                    continue;
                }
                match file.kind() {
                    Some(Kind::File) => {
                        let known = file.metadata().map_err(failed)?;
                        objects.push(ListedObject {
                            name: format!("{prefix}{base}"),
                            length: known.len(),
                            modified: known.modified().map_err(failed)?,
                        });
                        if objects.len() > most {
                            return Err(too_many(most, &self.0.shown()));
                        }
                    }
                    // Names have one folder at most.
                    Some(Kind::Folder) if prefix.is_empty() => {
                        folders.push((format!("{base}/"), self.0.root.folder(base)));
                    }
                    _ => {}
                }
            }
        }
        Ok(objects.into_iter().collect())
    }
}

/// The entity tag of an object.
fn tag_of(bytes: &[u8]) -> String {
    HEXLOWER.encode(&Sha256::digest(bytes))
}
