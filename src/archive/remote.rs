//! The places of an archive as commands see them: what they have, and the local cache of its files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tempfile::TempDir;
use urldb_files::{Root, RootFile};
use urldb_store::{
    Budgets, Environment, Location, Manifest, ManifestState, Store, StoreError, StoreErrorKind,
    StoreOptions, StoredFile, StoredInput, first_that_has,
};

use super::health::Fact;
use crate::config::{ArchiveStore, Config};
use crate::{environment, limits};

/// The age of a temporary file in the cache that no process can be writing any more.
const UNUSED: Duration = Duration::from_hours(24);

/// The folder of the cache in the folder of the archive.
const CACHE_FOLDER: &str = ".cache";

/// The name of the last manifest in the cache.
const CACHED_MANIFEST: &str = ".manifest.json";

/// Files up to this many bytes are read as a whole and kept in the cache. Of larger files only the ranges
/// that are needed are read.
const SMALL: u64 = 4 << 20;

/// The time limit of silence within a request.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// Sets up the places of a repository's archive, as configured; the first one decides which files there
/// are. Sends no request.
///
/// # Errors
/// When there are no credentials, or the configuration cannot be used.
pub fn open_stores(config: &Config) -> anyhow::Result<Vec<Store>> {
    config
        .archive
        .stores
        .iter()
        .map(|place| open_store(place, config))
        .collect()
}

/// The places of a repository's archive for commands that only read. One that cannot be set up, such as a bucket without
/// credentials, fails when it is asked: another one may have what is read.
///
/// # Errors
/// When the configuration cannot be used.
pub(super) fn stores_to_read(config: &Config) -> anyhow::Result<Vec<Store>> {
    config
        .archive
        .stores
        .iter()
        .map(|place| {
            open_store(place, config).or_else(|error| {
                let why: StoreError = error.downcast()?;
                Ok(Store::unusable(place.location.clone(), why))
            })
        })
        .collect()
}

/// The bytes of all files in the last manifest on this machine; 0 without one.
pub fn stored_bytes(config: &Config) -> u64 {
    FileCache::of(config)
        .last_manifest()
        .ok()
        .flatten()
        .unwrap_or_default()
        .files()
        .map(|file| file.length)
        .sum()
}

/// Sets up one of the places.
///
/// # Errors
/// As [`open_stores`].
pub fn open_store(place: &ArchiveStore, config: &Config) -> anyhow::Result<Store> {
    let location = match &place.location {
        Location::Folder(path) => {
            ensure_apart(path, config.archive_root().path())?;
            return Ok(Store::in_folder(path));
        }
        Location::Bucket(location) => location,
    };
    let authorities = config.network.ca_file.as_ref().map(|path| {
        urldb_files::read(path, urldb_fetch::LARGEST_CA_FILE)
            .with_context(|| format!("cannot read {}", path.display()))
    });
    Ok(Store::open(&StoreOptions {
        location: location.clone(),
        endpoint: place.endpoint.clone(),
        region: place.region.clone(),
        environment: Environment::read(&place.env_prefix, environment::variable)?,
        http: urldb_http::Options {
            authorities: authorities.transpose()?,
            proxy: config.http_proxy()?,
            timeout: SILENCE_LIMIT,
            user_agent: concat!("urldb/", env!("CARGO_PKG_VERSION")).to_owned(),
        },
        budgets: Budgets::default(),
    })?)
}

/// Refuses a store that shares files with the folder of the archive, whose copies runs remove.
fn ensure_apart(store: &Path, archive: &Path) -> anyhow::Result<()> {
    let real = |path: &Path| urldb_files::real_path(path).unwrap_or_else(|_| path.to_owned());
    let (store, archive) = (real(store), real(archive));
    anyhow::ensure!(
        !store.starts_with(&archive) && !archive.starts_with(&store),
        "the store of the archive cannot be {}, since the archive is {}: choose another folder",
        store.display(),
        archive.display()
    );
    Ok(())
}

/// The places of the archive, and what the first one had when it was asked.
#[derive(Debug)]
pub(super) struct RemoteStore {
    pub(super) stores: Arc<[Store]>,
    pub(super) manifest: Manifest,
    cache: FileCache,
    /// Why the manifest is not that of the first store, and whose it is, for people.
    pub(super) offline: Option<String>,
}

/// An open file of the archive.
pub enum OpenedFile {
    /// A file on the local disk.
    Local(File),
    /// A small file in the store.
    Small(io::Cursor<Vec<u8>>),
    /// A file in the store, read by ranges.
    Stored(StoredInput),
}

impl Read for OpenedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Local(file) => file.read(buffer),
            Self::Small(bytes) => bytes.read(buffer),
            Self::Stored(input) => input.read(buffer),
        }
    }
}

impl Seek for OpenedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::Local(file) => file.seek(to),
            Self::Small(bytes) => bytes.seek(to),
            Self::Stored(input) => input.seek(to),
        }
    }
}

impl RemoteStore {
    /// Asks the first store what the archive has. If it cannot be reached, or refuses, the latest manifest of another
    /// place counts, or that which this machine has read last.
    ///
    /// # Errors
    /// When the first store cannot be reached, or refuses, and no other manifest is known.
    pub(super) fn open(config: &Config) -> anyhow::Result<Option<Self>> {
        let mut stores = stores_to_read(config)?;
        let Some(first) = stores.first() else {
            return Ok(None);
        };
        let cache = FileCache::of(config);
        let (place, seen) = (first.location().to_string(), cache.seen_serial());
        let mut is_away = false;
        let (fault, mut manifest) = match first.manifest_state() {
            Ok(ManifestState::Good(manifest)) if manifest.serial() >= seen => {
                cache.keep_manifest(&manifest);
                (None, Ok(manifest))
            }
            Ok(ManifestState::Good(manifest)) => {
                let whose = "this machine has seen";
                let fault = Fact::manifest_older(&place, manifest.serial(), whose, seen);
                (Some(fault), Ok(manifest))
            }
            Ok(ManifestState::Absent) => (
                Some(Fact::manifest_missing(&place)),
                Ok(Manifest::default()),
            ),
            Ok(ManifestState::Damaged(why)) => {
                let fault = Fact::manifest_damaged(&place, &why);
                (Some(fault.clone()), Err(anyhow::anyhow!(fault)))
            }
            Err(error) => {
                is_away = true;
                (Some(Fact::away(&place, &error)), Err(error.into()))
            }
        };
        let mut offline = None;
        if let Some(why) = fault {
            let serial = manifest.as_ref().map_or(0, Manifest::serial);
            let known = cache.latest_manifest(&stores[1..])?;
            if let Some((known, whose)) = known.filter(|(known, _)| known.serial() > serial) {
                if is_away && stores.len() > 1 {
                    // Each file would be waited for.
                    stores.remove(0);
                }
                manifest = Ok(known);
                offline = Some(format!("{why}; this is the archive as {whose}"));
            }
        }
        Ok(Some(Self {
            stores: stores.into(),
            manifest: manifest?,
            cache,
            offline,
        }))
    }

    pub(super) fn open_file(&self, file: StoredFile) -> io::Result<OpenedFile> {
        if let Some((_, copy)) = self.cache.find(&file) {
            return Ok(OpenedFile::Local(copy));
        }
        if file.length > SMALL {
            let input = StoredInput::new(Arc::clone(&self.stores), file);
            return Ok(OpenedFile::Stored(input));
        }
        let bytes = first_that_has(&self.stores, |store| {
            let mut bytes = vec![];
            store.download(&file, &mut bytes).map(|()| bytes)
        })?;
        self.cache.add(&file, &bytes);
        Ok(OpenedFile::Small(io::Cursor::new(bytes)))
    }

    /// A path with a whole file, proven by its digest, under its own name. Large files are not kept in
    /// the cache: reading the whole archive would only replace its contents.
    pub(super) fn whole(
        &self,
        file: &StoredFile,
    ) -> Result<(PathBuf, Option<TempDir>), StoreError> {
        if let Some(copy) = self.cache.good_copy(file) {
            return Ok((copy.path(), None));
        }
        let folder = self
            .cache
            .temporary_folder()
            .map_err(|error| no_room(file, &error))?;
        let copy = first_that_has(&self.stores, |store| copy_into(&folder, file, store))?;
        Ok((copy.path(), Some(folder)))
    }

    /// Copies whole files, proven by their digests, into a folder on the file system of the archive.
    pub(super) fn copy_to_folder(&self, names: &[&str]) -> io::Result<(TempDir, Vec<PathBuf>)> {
        let folder = self.cache.temporary_folder()?;
        let mut copies = vec![];
        for file in names.iter().filter_map(|name| self.manifest.get(name)) {
            let copy = first_that_has(&self.stores, |store| copy_into(&folder, &file, store))?;
            copies.push(copy.path());
        }
        Ok((folder, copies))
    }
}

/// Copies a whole file, proven by its digest, from a store into a temporary folder.
pub(super) fn copy_into(
    folder: &TempDir,
    file: &StoredFile,
    store: &Store,
) -> Result<RootFile, StoreError> {
    let base = file.name.rsplit('/').next().unwrap_or(&file.name);
    let copy = Root::new(folder.path(), "the cache").file(base);
    let mut output = copy
        .remove()
        .and_then(|_| copy.create_new())
        .map_err(|error| no_room(file, &error))?;
    store.download(file, &mut output)?;
    Ok(copy)
}

pub(super) fn no_room(file: &StoredFile, error: &io::Error) -> StoreError {
    let problem = format!("there is no room for a copy of {}: {error}", file.name);
    StoreError::new(StoreErrorKind::Local, problem)
}

/// Copies of files of the store, in a folder whose size is limited.
#[derive(Debug)]
pub(super) struct FileCache {
    folder: Root,
    pub(super) limit: u64,
}

impl FileCache {
    /// The cache in the folder of a repository's archive, of at most as many bytes as configured.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            folder: config.archive_root().folder(CACHE_FOLDER),
            limit: config.archive.cache_size,
        }
    }

    fn file_of(&self, name: &str) -> RootFile {
        // Names have letters, digits and a few signs, `/` between a folder and a name.
        self.folder.file(name.replace('/', "%2F"))
    }

    /// The copy of a file, if there is one of the right length, and its open file. Its use makes it young.
    fn find(&self, file: &StoredFile) -> Option<(RootFile, File)> {
        let known = self.file_of(&file.name);
        let copy = known.open_to_write().ok()?;
        if copy.metadata().ok()?.len() != file.length {
            return None;
        }
        // The age only decides which copies go first.
        let _ = copy.set_modified(SystemTime::now());
        Some((known, copy))
    }

    /// The copy of a file, if it has the right bytes; a copy with other ones is removed.
    pub(super) fn good_copy(&self, file: &StoredFile) -> Option<RootFile> {
        let (known, copy) = self.find(file)?;
        if urldb_store::hash(copy).is_ok_and(|digest| digest == (file.length, file.sha256)) {
            return Some(known);
        }
        let _ = known.remove();
        None
    }

    /// Whether there is a copy of the right length.
    pub(super) fn has(&self, file: &StoredFile) -> bool {
        self.find(file).is_some()
    }

    /// The serial of the manifest that this machine has read last; 0 if it has read none.
    pub(super) fn seen_serial(&self) -> u64 {
        self.last_manifest()
            .ok()
            .flatten()
            .map_or(0, |manifest| manifest.serial())
    }

    pub(super) fn temporary_folder(&self) -> io::Result<TempDir> {
        self.folder.make()?;
        urldb_files::temporary_folder_in(self.folder.path())
    }

    /// Keeps a copy. A cache that cannot be written, such as on a full disk, only costs time.
    fn add(&self, file: &StoredFile, bytes: &[u8]) {
        let _ = self.file_of(&file.name).replace_unsynced(bytes);
        self.trim(0);
    }

    /// Removes the oldest copies until they have at most the limit, less `other` bytes; and what killed
    /// processes left.
    pub(super) fn trim(&self, other: u64) {
        // A file that cannot be removed only takes room.
        let _ = self.folder.remove_old_stray_files(UNUSED);
        let mut copies = self.copies();
        copies.sort();
        let mut total: u64 = copies.iter().map(|(_, length, _)| length).sum();
        for (_, length, copy) in copies {
            if total <= self.limit.saturating_sub(other) {
                break;
            }
            if copy.remove().is_ok() {
                total -= length;
            }
        }
    }

    /// The copies: when each was last used, its length and itself.
    fn copies(&self) -> Vec<(SystemTime, u64, RootFile)> {
        self.folder
            .files()
            .unwrap_or_default()
            .into_iter()
            .filter_map(|file| {
                let known = file.metadata().ok()?;
                let is_copy = !file.name().to_str()?.starts_with('.');
                is_copy.then_some((known.modified().ok()?, known.len(), file))
            })
            .collect()
    }

    /// Keeps the manifest, for times without a connection.
    pub(super) fn keep_manifest(&self, manifest: &Manifest) {
        let copy = self.folder.file(CACHED_MANIFEST);
        // Without the copy, the archive cannot be read offline.
        let _ = copy.replace_unsynced(manifest.render().as_bytes());
    }

    /// The manifest with the highest serial that these places have, or that this machine has read last; and
    /// whose it is, for people.
    fn latest_manifest(&self, places: &[Store]) -> anyhow::Result<Option<(Manifest, String)>> {
        let last = self
            .last_manifest()?
            .map(|it| (it, "this machine has last seen it".to_owned()));
        let copies = places.iter().filter_map(|place| {
            let manifest = place.manifest().ok()?;
            Some((manifest, format!("{} has it", place.location())))
        });
        Ok(copies
            .chain(last)
            .max_by_key(|(manifest, _)| manifest.serial()))
    }

    pub(super) fn last_manifest(&self) -> anyhow::Result<Option<Manifest>> {
        let copy = self.folder.file(CACHED_MANIFEST);
        match copy.read(limits::STORE_MANIFEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => {
                let text = text.with_context(|| format!("cannot read {copy}"))?;
                Ok(Manifest::parse(&text).ok())
            }
        }
    }
}
