//! What the domain files of a database contain, so that a change can be told from a touch.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use urldb_format::is_domain_file;

/// The domain files of a folder, each with a digest of its bytes.
#[derive(Debug, Default)]
pub(super) struct Contents {
    files: BTreeMap<PathBuf, Seen>,
}

/// What was seen of one file.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Bytes([u8; 32]),
    Unreadable,
}

impl Contents {
    /// Looks at the folder again; gives the files that were changed, added or removed since the
    /// last look, sorted. A folder that is not there is an empty one.
    ///
    /// # Errors
    /// When the folder cannot be listed; what was seen before then still stands.
    pub(super) fn look_again(&mut self, directory: &Path) -> io::Result<Vec<PathBuf>> {
        let now = look(directory)?;
        let differs = |path: &&PathBuf| self.files.get(*path) != now.get(*path);
        let gone = self.files.keys().filter(|path| !now.contains_key(*path));
        let mut changed: Vec<PathBuf> = now.keys().chain(gone).filter(differs).cloned().collect();
        changed.sort();
        self.files = now;
        Ok(changed)
    }

    /// How many domain files there are.
    pub(super) fn len(&self) -> usize {
        self.files.len()
    }
}

fn look(directory: &Path) -> io::Result<BTreeMap<PathBuf, Seen>> {
    let entries = match std::fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut files = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        // Only what is a file, also through a link: opening a pipe would wait for ever.
        if is_domain_file(&path) && path.is_file() {
            match digest(&path) {
                Ok(digest) => files.insert(path, Seen::Bytes(digest)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(_) => files.insert(path, Seen::Unreadable),
            };
        }
    }
    Ok(files)
}

fn digest(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            length => hasher.update(&buffer[..length]),
        }
    }
}
