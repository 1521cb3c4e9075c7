//! The bytes of files in the store: written, read, and compared.

use std::fs::File;
use std::io::{self, Write};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use urldb_files::{Limit, RootFile};

use crate::budgets::Budgets;
use crate::error::{StoreError, StoreErrorKind, unreadable};
use crate::listing::Listing;
use crate::manifest::{StoredFile, check_name};
use crate::objects::{PART, Session, hash};
use crate::store::Store;

impl Store {
    /// Writes the object of a file, whose bytes `local` has. The file counts once [`Store::publish`]
    /// has added it. Writing the same file again is no error.
    ///
    /// # Errors
    /// When the store has an object of this name with other bytes ([`StoreErrorKind::Conflict`]), or
    /// when the object cannot be written.
    pub fn upload(&self, name: &str, local: &RootFile) -> Result<StoredFile, StoreError> {
        check_name(name).map_err(|problem| {
            StoreError::new(
                StoreErrorKind::Local,
                format!("{name} cannot be stored: {problem}"),
            )
        })?;
        let length = local
            .open()
            .and_then(|file| file.metadata())
            .map_err(unreadable(local))?
            .len();
        if length <= PART {
            let bytes = local.read(Limit::bytes(PART)).map_err(unreadable(local))?;
            self.upload_small(name, &bytes.into())
        } else {
            self.upload_large(name, || local.open().map_err(unreadable(local)), length)
        }
    }

    fn upload_small(&self, name: &str, bytes: &Bytes) -> Result<StoredFile, StoreError> {
        let file = StoredFile {
            name: name.to_owned(),
            length: bytes.len() as u64,
            sha256: Sha256::digest(bytes).into(),
        };
        let created = self.attempt(self.budgets.upload(file.length), |session| {
            session.create(name, bytes.clone())
        });
        match created {
            Ok(_) => {}
            // A create whose answer was lost, or which a killed process made.
            Err(error) if error.kind() == StoreErrorKind::Conflict => self.compare_object(&file)?,
            Err(error) => return Err(error),
        }
        Ok(file)
    }

    fn upload_large(
        &self,
        name: &str,
        open: impl Fn() -> Result<File, StoreError>,
        length: u64,
    ) -> Result<StoredFile, StoreError> {
        let stored = |(length, sha256)| StoredFile {
            name: name.to_owned(),
            length,
            sha256,
        };
        let session = self.objects.converse(self.budgets.upload(length));
        let written = match session.length(name)? {
            None => Some(session.put_parts(name, open()?, length)),
            Some(_) => None,
        };
        drop(session);
        match written {
            Some(Ok(written)) => return Ok(stored(written)),
            // The answer to the last request may have been lost.
            Some(Err(error)) => {
                let is_local = error.kind() == StoreErrorKind::Local;
                if is_local || self.length(name).ok().flatten().is_none() {
                    return Err(error);
                }
            }
            None => {}
        }
        let file = stored(hash(open()?).map_err(unreadable(&name))?);
        self.compare_object(&file)?;
        Ok(file)
    }

    /// The length of an object; `None` if there is none.
    fn length(&self, name: &str) -> Result<Option<u64>, StoreError> {
        self.objects.converse(self.budgets.download(0)).length(name)
    }

    /// Whether the object of this name has the bytes of the file.
    fn compare_object(&self, file: &StoredFile) -> Result<(), StoreError> {
        let name = &file.name;
        let other = || {
            StoreError::new(
                StoreErrorKind::Conflict,
                format!(
                    "{} has another {name} than this machine: rename one of the two",
                    self.location
                ),
            )
        };
        if self.length(name)? != Some(file.length) {
            return Err(other());
        }
        match self.download(file, &mut io::sink()) {
            Err(error) if error.kind() == StoreErrorKind::Damaged => Err(other()),
            compared => compared,
        }
    }

    /// Reads a range of a file, at most 8 MiB. The bytes cannot be proven: only the whole file has a
    /// digest.
    ///
    /// # Errors
    /// When the object is gone or has another length, or cannot be read.
    pub fn range(&self, file: &StoredFile, from: u64, length: u64) -> Result<Bytes, StoreError> {
        let budget = self.budgets.download(length.min(PART));
        range(&*self.objects.converse(budget), file, from, length)
    }

    /// Copies a whole file, whose bytes are proven by the digest in the manifest.
    ///
    /// # Errors
    /// When the object is gone, has other bytes, or cannot be read; the output must then not be used.
    pub fn download(&self, file: &StoredFile, output: &mut impl Write) -> Result<(), StoreError> {
        if self.copy(file, output)? == file.sha256 {
            Ok(())
        } else {
            Err(self.damaged(
                &file.name,
                "its bytes have another SHA-256 than the manifest says",
            ))
        }
    }

    /// Copies an object of this length, and returns its SHA-256.
    fn copy(&self, file: &StoredFile, output: &mut impl Write) -> Result<[u8; 32], StoreError> {
        let session = self.objects.converse(self.budgets.download(file.length));
        let mut hasher = Sha256::new();
        let mut from = 0;
        // An empty object has no range; its length is checked all the same.
        if file.length == 0 && session.length(&file.name)? != Some(0) {
            return Err(self.damaged(&file.name, "it is not there, or not empty"));
        }
        while from < file.length {
            let bytes = range(&*session, file, from, PART)?;
            hasher.update(&bytes);
            output.write_all(&bytes).map_err(|error| {
                StoreError::new(
                    StoreErrorKind::Local,
                    format!("{} cannot be copied to this machine: {error}", file.name),
                )
            })?;
            from += bytes.len() as u64;
        }
        Ok(hasher.finalize().into())
    }

    /// All objects; the manifest names about `expected` of them.
    ///
    /// # Errors
    /// When they cannot be listed, or the store lists far more, or without end.
    pub fn list(&self, expected: usize) -> Result<Listing, StoreError> {
        self.objects
            .converse(self.budgets.list(expected))
            .list(Budgets::most_objects(expected))
    }

    /// Reads a whole object, whose digest nobody has told.
    ///
    /// # Errors
    /// When the object is gone or has another length, or cannot be read; or when its name is not that of a
    /// file.
    pub fn read_object(
        &self,
        name: &str,
        length: u64,
        output: &mut impl Write,
    ) -> Result<StoredFile, StoreError> {
        check_name(name).map_err(|problem| self.damaged(name, problem))?;
        let file = StoredFile {
            name: name.to_owned(),
            length,
            sha256: [0; 32],
        };
        let sha256 = self.copy(&file, output)?;
        Ok(StoredFile { sha256, ..file })
    }

    /// Replaces a damaged object by the bytes of the file, which `local` has. No other file ever has the name,
    /// so this needs no condition. The object is damaged until all bytes are there, and good then.
    ///
    /// # Errors
    /// When the local file has other bytes, or the object cannot be written.
    pub fn mend(&self, file: &StoredFile, local: &RootFile) -> Result<(), StoreError> {
        let open = || local.open().map_err(unreadable(local));
        let known = hash(open()?).map_err(unreadable(local))?;
        if known != (file.length, file.sha256) {
            let problem = format!("{local} is damaged");
            return Err(StoreError::new(StoreErrorKind::Local, problem));
        }
        let input = open()?;
        self.objects
            .converse(self.budgets.upload(file.length))
            .put_parts(&file.name, input, file.length)
            .map(drop)
    }
}

fn range(
    session: &dyn Session,
    file: &StoredFile,
    from: u64,
    length: u64,
) -> Result<Bytes, StoreError> {
    let end = from.saturating_add(length.min(PART)).min(file.length);
    session.range(&file.name, file.length, from.min(end)..end)
}
