//! A database: the domain files of a directory.

use std::io;
use std::path::{Path, PathBuf};

use urldb_files::{Kind, Root};

use crate::domain_file::{DomainFile, ParsedFile, host_of};
use crate::error::Error;
use crate::names::{HELD_URIS, check_host, is_domain_file, is_misnamed};

/// A directory of domain files. Opening the directory reads none of the files.
#[derive(Debug, Clone)]
pub struct Database {
    directory: PathBuf,
    files: Vec<PathBuf>,
    held: Option<PathBuf>,
    misnamed: Vec<PathBuf>,
}

impl Database {
    /// Lists the domain files ([`is_domain_file`]) directly in `directory`, sorted by name.
    ///
    /// Folders are passed over. Pipes, sockets, devices and links that lead nowhere or out of the
    /// directory are listed, so that reading one is an error that names it.
    ///
    /// # Errors
    /// [`Error::Read`] if the directory cannot be listed.
    pub fn open(directory: impl AsRef<Path>) -> Result<Self, Error> {
        let root = Root::new(directory.as_ref(), "the database");
        let listed = match Kind::at(root.path()) {
            None => Err(io::ErrorKind::NotFound.into()),
            Some(_) => root.files(),
        };
        let listed = listed.map_err(|source| Error::Read {
            path: root.path().to_owned(),
            source,
        });
        let (mut files, mut held, mut misnamed) = (Vec::new(), None, Vec::new());
        for file in listed? {
            let is_domain_file = is_domain_file(file.name());
            let is_named = is_domain_file || is_misnamed(file.name());
            if !is_named || file.kind() == Some(Kind::Folder) {
                continue;
            }
            let path = file.path();
            if !is_domain_file {
                misnamed.push(path);
            } else if host_of(&path) == HELD_URIS {
                held = Some(path);
            } else {
                files.push(path);
            }
        }
        Ok(Self {
            directory: root.path().to_owned(),
            files,
            held,
            misnamed,
        })
    }

    /// The directory of the domain files.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The domain files of hosts, sorted by name.
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// The file of held URIs, if there is one.
    pub fn held(&self) -> Option<&Path> {
        self.held.as_deref()
    }

    /// The file of held URIs, and the domain files of hosts.
    pub fn all_files(&self) -> impl Iterator<Item = &Path> {
        self.held()
            .into_iter()
            .chain(self.files.iter().map(PathBuf::as_path))
    }

    /// The files that end in `.yml`, sorted by name: no domain files, but probably meant as such.
    pub fn misnamed(&self) -> &[PathBuf] {
        &self.misnamed
    }

    /// Reads the files, in the order of [`Self::files`].
    pub fn read(&self) -> impl Iterator<Item = Result<ParsedFile, Error>> {
        self.files.iter().map(DomainFile::read)
    }

    /// Reads the files of the hosts that are wanted. A file that cannot be read stops only commands
    /// that want its host.
    pub fn read_where(
        &self,
        wants: impl Fn(&str) -> bool,
    ) -> impl Iterator<Item = Result<ParsedFile, Error>> {
        self.files
            .iter()
            .filter(move |path| wants(&host_of(path)))
            .map(DomainFile::read)
    }

    /// The path of a host's domain file, or of the file of held URIs, which need not exist; `None` if `host` is
    /// not a valid host name.
    pub fn path_of(&self, host: &str) -> Option<PathBuf> {
        if host != HELD_URIS {
            check_host(host).ok()?;
        }
        Some(self.directory.join(format!("{host}.yaml")))
    }
}
