//! The files of an archive, wherever they are: the only way to list them and to read one.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tempfile::TempDir;
use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, StoredFile};
use urldb_warc::Reader;
use urldb_warc::files::{
    ArchiveInput, FileSource, LOC_SUFFIX, hidden_files, is_archive_name, is_index_file,
    is_unread_name,
};
use urldb_warc::index::{CdxjIndex, LARGEST_LIST, files_of_segment};

pub use super::remote::OpenedFile;
use super::remote::{FileCache, RemoteStore};
use crate::config::Config;

const CANNOT_LIST: &str = "cannot list the files of the archive";

/// The finished files of the archive of a repository: those in its folder, and those in its object store.
#[derive(Debug, Clone)]
pub struct ArchiveFiles {
    root: Root,
    remote: Option<Arc<RemoteStore>>,
    /// The files of which a copy was damaged: from then on, only copies count that their digest proves.
    doubted: Arc<Mutex<BTreeSet<String>>>,
}

/// A file of the archive on the local disk, to be read from beginning to end.
#[derive(Debug)]
pub struct WholeFile {
    path: PathBuf,
    /// The folder of a copy that lasts as long as this value.
    _copy: Option<TempDir>,
}

impl ArchiveFiles {
    /// The archive of a repository.
    ///
    /// # Errors
    /// When there is none (the message says what makes one), or when no place says what it has.
    pub fn open(config: &Config) -> anyhow::Result<Self> {
        match RemoteStore::open(config)? {
            None => Self::on_this_machine(config),
            Some(remote) => Ok(Self {
                root: config.archive_root(),
                remote: Some(Arc::new(remote)),
                doubted: Arc::default(),
            }),
        }
    }

    /// As [`ArchiveFiles::open`]; `None` if the archive has no places, and this machine none of its files.
    pub(super) fn if_any(config: &Config) -> anyhow::Result<Option<Self>> {
        let has_some = !config.archive.stores.is_empty() || config.archive_root().is_folder();
        has_some.then(|| Self::open(config)).transpose()
    }

    /// The files in the folder alone, for commands that send no request.
    ///
    /// # Errors
    /// When there is no folder; the message says what makes one.
    pub fn on_this_machine(config: &Config) -> anyhow::Result<Self> {
        let root = config.archive_root();
        anyhow::ensure!(
            root.is_folder(),
            "there is no archive at {}; `urldb run` begins one with the first response that it archives, by default of a \
             URL with a promised length or digest",
            root.path().display()
        );
        Ok(Self {
            root,
            remote: None,
            doubted: Arc::default(),
        })
    }

    /// The folder with the files.
    pub fn folder(&self) -> &Path {
        self.root.path()
    }

    /// Why the first store does not count, and as who knows it the archive is, for people.
    pub fn offline(&self) -> Option<&str> {
        self.remote.as_ref()?.offline.as_deref()
    }

    fn manifest(&self) -> Option<&Manifest> {
        self.remote.as_ref().map(|remote| &remote.manifest)
    }

    /// Whether the archive has a file of this name, or had one whose records are in another file now.
    pub fn has_or_had(&self, name: &str) -> bool {
        let of_store = |manifest: &Manifest| manifest.contains(name) || manifest.was_removed(name);
        self.manifest().is_some_and(of_store) || self.root.file(name).is_file()
    }

    /// Whether the archive has an index.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn has_index(&self) -> anyhow::Result<bool> {
        CdxjIndex::exists(self).context(CANNOT_LIST)
    }

    /// An error if the archive has no index; the message says how to make one.
    ///
    /// # Errors
    /// As said, and when the files cannot be listed.
    pub fn require_index(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.has_index()?,
            "the archive at {} has no index; `urldb archive index` makes one of its files",
            self.folder().display()
        );
        Ok(())
    }

    /// Whether the lists of the index name all files with records. They name no file with damaged records.
    ///
    /// # Errors
    /// When the files cannot be listed, or a list cannot be read.
    pub fn is_indexed(&self) -> anyhow::Result<bool> {
        let mut left: BTreeSet<String> = self.with_records()?.into_iter().collect();
        for list in self.names_where(|name| is_index_file(name) && name.ends_with(LOC_SUFFIX))? {
            let cannot = || format!("cannot read {list}");
            let mut text = vec![];
            self.open_file(&list)
                .with_context(cannot)?
                .take(LARGEST_LIST.get())
                .read_to_end(&mut text)
                .with_context(cannot)?;
            for name in files_of_segment(&text).with_context(cannot)? {
                left.remove(&name);
            }
        }
        Ok(left.is_empty())
    }

    /// The names of the files with records, sorted.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn with_records(&self) -> anyhow::Result<Vec<String>> {
        self.names_where(is_archive_name)
    }

    /// The names of the files with records in a form that urldb does not read, sorted.
    ///
    /// # Errors
    /// When the files cannot be listed.
    pub fn unread(&self) -> anyhow::Result<Vec<String>> {
        self.names_where(is_unread_name)
    }

    fn names_where(&self, is_wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<String>> {
        let names = self.names().context(CANNOT_LIST)?;
        Ok(names.into_iter().filter(|name| is_wanted(name)).collect())
    }

    /// A file to be read from beginning to end by its path.
    ///
    /// # Errors
    /// When the file cannot be had.
    pub fn whole(&self, name: &str) -> io::Result<WholeFile> {
        let local = self.root.file(name);
        let known = local.metadata();
        if let Some((remote, file)) = self.stored_only(name, &known) {
            let (path, copy) = remote.whole(&file)?;
            return Ok(WholeFile { path, _copy: copy });
        }
        known?;
        let path = local.path();
        Ok(WholeFile { path, _copy: None })
    }

    /// A reader of the records from this offset of a file.
    ///
    /// # Errors
    /// When the file is not in the archive, or cannot be read.
    pub fn reader_at(&self, name: &str, offset: u64) -> anyhow::Result<Reader<OpenedFile>> {
        let path = self.path_of(name);
        let place = || format!("cannot use {}", path.display());
        let input = self.open_input(name).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                return anyhow::anyhow!(
                    "the index has a capture in {}, which is not there: put the file back, or let \
                     `urldb archive index` make the index of those that are",
                    path.display()
                );
            }
            anyhow::Error::new(error).context(place())
        })?;
        Reader::new_at(input, offset).with_context(place)
    }

    /// Notes that what was read of a file is damaged. Whether another copy may be good: then the file opens as a
    /// whole that its digest proves.
    pub(super) fn doubt(&self, name: &str) -> bool {
        self.proven(name).is_some() && self.doubted().insert(name.to_owned())
    }

    fn doubted(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.doubted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file in the store, whose digest is known.
    fn proven(&self, name: &str) -> Option<(&RemoteStore, StoredFile)> {
        let remote = self.remote.as_deref()?;
        Some((remote, remote.manifest.get(name)?))
    }

    fn open_input(&self, name: &str) -> io::Result<OpenedFile> {
        if self.doubted().contains(name)
            && let Some((remote, file)) = self.proven(name)
        {
            let (path, _copy) = remote.whole(&file)?;
            return urldb_files::open(&path).map(OpenedFile::Local);
        }
        let opened = self.root.file(name).open();
        let Some((remote, file)) = self.stored_only(name, &opened) else {
            return opened.map(OpenedFile::Local);
        };
        remote.open_file(file)
    }

    /// The file in the store, if this machine has none.
    fn stored_only<T>(
        &self,
        name: &str,
        local: &io::Result<T>,
    ) -> Option<(&RemoteStore, StoredFile)> {
        let error = local.as_ref().err()?;
        let remote = self.remote.as_ref()?;
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        let file = remote.manifest.get(name).filter(|_| is_missing)?;
        Some((remote, file))
    }

    /// The files that a replacement on this machine hides. A replacement counts from the moment on in which
    /// the store has the new file.
    fn hidden_by(&self, manifest: &Manifest) -> io::Result<BTreeSet<String>> {
        let mut names = match urldb_warc::files::names_in(self.folder()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            names => names?,
        };
        names.extend(manifest.names().map(str::to_owned));
        hidden_files(self.folder(), &names)
    }

    /// The archive files that the store had, and that were removed.
    pub(super) fn removed(&self) -> BTreeSet<String> {
        self.manifest()
            .into_iter()
            .flat_map(Manifest::removed_names)
            .filter(|name| is_archive_name(name))
            .map(str::to_owned)
            .collect()
    }

    /// Copies the segments of the index that only the store has to this machine.
    pub(super) fn bring_index(&self) -> anyhow::Result<()> {
        let Some(remote) = &self.remote else {
            return Ok(());
        };
        let is_missing =
            |name: &&str| is_index_file(name) && self.root.file(*name).kind().is_none();
        let missing: Vec<&str> = remote.manifest.names().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (_temporary, files) = remote
            .copy_to_folder(&missing)
            .context("cannot copy the index from the store")?;
        urldb_warc::index::add_segment_files(self.folder(), &files)
            .context("cannot copy the index from the store")?;
        Ok(())
    }
}

/// A good copy of a file on this machine: in the folder of the archive, or in the cache.
pub(super) fn copy_here(folder: &Root, cache: &FileCache, file: &StoredFile) -> Option<RootFile> {
    let local = folder.file(&file.name);
    if is_copy(&local, file).unwrap_or(false) {
        return Some(local);
    }
    cache.good_copy(file)
}

/// Whether a local file has the bytes that the manifest says. A file of another length is not read.
pub(super) fn is_copy(local: &RootFile, file: &StoredFile) -> io::Result<bool> {
    let opened = local.open()?;
    Ok(opened.metadata()?.len() == file.length
        && urldb_store::hash(opened)? == (file.length, file.sha256))
}

/// The names of the files in the folder of an archive, sorted; none if there is no folder.
pub(super) fn local_names(folder: &Path) -> io::Result<Vec<String>> {
    match folder.names() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        names => names,
    }
}

impl FileSource for ArchiveFiles {
    fn names(&self) -> io::Result<Vec<String>> {
        let Some(manifest) = self.manifest() else {
            return FileSource::names(&self.folder());
        };
        let mut names: BTreeSet<String> = local_names(self.folder())?.into_iter().collect();
        // Their records are in other files.
        names.retain(|name| !manifest.was_removed(name));
        names.extend(manifest.names().map(str::to_owned));
        let hidden = self.hidden_by(manifest)?;
        Ok(names.difference(&hidden).cloned().collect())
    }

    fn open_file(&self, name: &str) -> io::Result<Box<dyn ArchiveInput>> {
        Ok(Box::new(self.open_input(name)?))
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    fn hidden(&self) -> io::Result<BTreeSet<String>> {
        let Some(manifest) = self.manifest() else {
            return FileSource::hidden(&self.folder());
        };
        let mut hidden = self.hidden_by(manifest)?;
        // Their lines stay in older segments of the index until those are merged.
        let gone = manifest.removed_names().chain(manifest.lost_names());
        hidden.extend(gone.map(str::to_owned));
        Ok(hidden)
    }
}

impl AsRef<Path> for WholeFile {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}
