//! Digests of the domain files of a database, which tell a change from a touch.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use urldb_files::{Kind, Root, RootFile};
use urldb_format::{is_domain_file, is_misnamed};

/// The domain files of a folder, and those that end in `.yml`, each with a digest of its bytes.
#[derive(Debug, Default)]
pub(super) struct Contents {
    files: BTreeMap<PathBuf, FileContent>,
}

/// The content of one file at the last scan.
#[derive(Debug, PartialEq, Eq)]
enum FileContent {
    Digest([u8; 32]),
    Unreadable,
}

impl Contents {
    /// Scans the folder again; returns the files that were changed, added or removed since the
    /// last scan, sorted. A missing folder counts as empty.
    ///
    /// # Errors
    /// When the folder cannot be listed; the last scan then still counts.
    pub(super) fn rescan(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let now = scan(directory)?;
        let differs = |path: &&PathBuf| self.files.get(*path) != now.get(*path);
        let gone = self.files.keys().filter(|path| !now.contains_key(*path));
        let mut changed: Vec<PathBuf> = now.keys().chain(gone).filter(differs).cloned().collect();
        changed.sort();
        self.files = now;
        Ok(changed)
    }

    /// The number of domain files.
    pub(super) fn len(&self) -> usize {
        let files = self.files.keys();
        files.filter(|path| is_domain_file(path)).count()
    }
}

fn scan(directory: &Path) -> io::Result<BTreeMap<PathBuf, FileContent>> {
    let mut files = BTreeMap::new();
    for file in Root::new(directory, "the database").files()? {
        let path = file.path();
        if is_domain_file(&path) || is_misnamed(&path) {
            if file.kind() == Some(Kind::Folder) {
                continue;
            }
            match digest(&file) {
                Ok(digest) => files.insert(path, FileContent::Digest(digest)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => files.insert(path, FileContent::Unreadable),
            };
        }
    }
    Ok(files)
}

fn digest(file: &RootFile) -> io::Result<[u8; 32]> {
    let mut file = file.open()?;
    let mut hasher = Sha256::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            length => hasher.update(&buffer[..length]),
        }
    }
}
