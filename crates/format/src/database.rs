//! A database: the domain files of a directory.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::domain_file::{DomainFile, ParsedFile};
use crate::error::Error;
use crate::names::{check_host, is_domain_file};

/// A directory of domain files. Opening the directory reads none of the files.
#[derive(Debug, Clone)]
pub struct Database {
    directory: PathBuf,
    files: Vec<PathBuf>,
}

impl Database {
    /// Lists the domain files ([`is_domain_file`]) directly in `directory`, sorted by name.
    ///
    /// Folders are passed over. Pipes, sockets and devices are listed, so that reading one is an
    /// error that names it.
    ///
    /// # Errors
    /// [`Error::Read`] if the directory cannot be listed, or has a symbolic link that leads out of
    /// it or nowhere: a change of the database must not change a file elsewhere.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let directory = directory.as_ref().to_owned();
        let read = |path: &Path, source| Error::Read {
            path: path.to_owned(),
            source,
        };
        let root = fs::canonicalize(&directory).map_err(|source| read(&directory, source))?;
        let mut files = Vec::new();
        for entry in fs::read_dir(&directory).map_err(|source| read(&directory, source))? {
            let path = entry.map_err(|source| read(&directory, source))?.path();
            if is_domain_file(&path)
                && !is_folder(&path, &root).map_err(|source| read(&path, source))?
            {
                files.push(path);
            }
        }
        files.sort();
        Ok(Self { directory, files })
    }

    /// The directory of the domain files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The domain files, sorted by name.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Reads the files, in the order of [`Self::files`].
    pub fn read(&self) -> impl Iterator<Item = Result<ParsedFile, Error>> {
        self.files.iter().map(DomainFile::read)
    }

    /// The path of a host's domain file, which need not exist; `None` if `host` is not a valid
    /// host name.
    pub fn path_of(&self, host: &str) -> Option<PathBuf> {
        check_host(host).ok()?;
        Some(self.directory.join(format!("{host}.yaml")))
    }
}

/// Whether `path` is a folder or a link to one; an error for a link that leads out of `root`.
fn is_folder(path: &Path, root: &Path) -> io::Result<bool> {
    if !path.symlink_metadata()?.is_symlink() {
        return Ok(path.metadata()?.is_dir());
    }
    let target = fs::canonicalize(path)?;
    if target.starts_with(root) {
        Ok(target.is_dir())
    } else {
        let message = format!(
            "it is a symbolic link to {}, outside of the database",
            target.display()
        );
        Err(io::Error::other(message))
    }
}
