//! The object store of an archive as commands see it: what it has, and the local cache of its files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tempfile::{NamedTempFile, TempDir};
use urldb_store::{
    Budgets, Environment, Manifest, Store, StoreError, StoreErrorKind, StoreOptions, StoredFile,
    StoredInput,
};

use crate::config::{ArchiveStore, Config};
use crate::environment;

/// The folder of the cache in the folder of the archive.
const CACHE_FOLDER: &str = ".cache";

/// The name of the last manifest in the cache.
const CACHED_MANIFEST: &str = ".manifest.json";

/// Files up to this many bytes are read as a whole and kept in the cache. Of larger files only the ranges
/// that are needed are read.
const SMALL: u64 = 4 << 20;

/// The time limit of silence within a request.
const SILENCE_LIMIT: Duration = Duration::from_secs(30);

/// Sets up the store of a repository's archive, if one is configured. Sends no request.
///
/// # Errors
/// When there are no credentials, or the configuration cannot be used.
pub fn open_store(config: &Config) -> anyhow::Result<Option<Store>> {
    let Some(archive_store) = &config.archive.store else {
        return Ok(None);
    };
    let ArchiveStore {
        location,
        endpoint,
        region,
        ..
    } = archive_store;
    let ca_file = config.network.ca_file.as_ref();
    let authorities = ca_file.map(|path| {
        urldb_files::read(path, urldb_fetch::LARGEST_CA_FILE)
            .with_context(|| format!("cannot read {}", path.display()))
    });
    let store = Store::open(&StoreOptions {
        location: location.clone(),
        endpoint: endpoint.clone(),
        region: region.clone(),
        environment: Environment::read(environment::variable)?,
        http: urldb_http::Options {
            authorities: authorities.transpose()?,
            proxy: config.http_proxy()?,
            timeout: SILENCE_LIMIT,
            user_agent: concat!("urldb/", env!("CARGO_PKG_VERSION")).to_owned(),
        },
        budgets: Budgets::default(),
    })?;
    Ok(Some(store))
}

/// The store, and what it had when it was asked.
#[derive(Debug)]
pub(super) struct Remote {
    store: Arc<Store>,
    pub(super) manifest: Manifest,
    cache: FileCache,
    /// Why the manifest is the last one that this machine has read.
    pub(super) offline: Option<StoreError>,
}

/// A file of the store that can be read at once.
pub(super) enum RemoteInput {
    /// A copy in the cache.
    Cached(File),
    /// All bytes of a small file.
    Small(io::Cursor<Vec<u8>>),
    /// Read by ranges.
    Ranges(StoredInput),
}

impl Remote {
    /// Asks the store what it has. Without a connection, the last manifest that this machine has read
    /// counts.
    ///
    /// # Errors
    /// When there are no credentials, when the store refuses them, or when it cannot be reached and was
    /// never read on this machine.
    pub(super) fn open(config: &Config, folder: &Path) -> anyhow::Result<Option<Self>> {
        let Some(store) = open_store(config)? else {
            return Ok(None);
        };
        let limit = config.archive.store.as_ref().map_or(0, |it| it.cache_size);
        let cache = FileCache::new(folder, limit);
        let (manifest, offline) = match store.manifest() {
            Ok(manifest) => {
                cache.keep_manifest(&manifest);
                (manifest, None)
            }
            Err(error) if error.is_transient() => match cache.last_manifest() {
                Some(manifest) => (manifest, Some(error)),
                None => return Err(error.into()),
            },
            Err(error) => return Err(error.into()),
        };
        Ok(Some(Self {
            store: Arc::new(store),
            manifest,
            cache,
            offline,
        }))
    }

    /// Opens a file of the manifest.
    pub(super) fn open_file(&self, file: StoredFile) -> io::Result<RemoteInput> {
        if let Some(path) = self.cache.find(&file) {
            return Ok(RemoteInput::Cached(File::open(path)?));
        }
        if file.length > SMALL {
            let input = StoredInput::new(Arc::clone(&self.store), file);
            return Ok(RemoteInput::Ranges(input));
        }
        let mut bytes = vec![];
        self.store.download(&file, &mut bytes)?;
        self.cache.add(&file, &bytes);
        Ok(RemoteInput::Small(io::Cursor::new(bytes)))
    }

    /// A path with a whole file, proven by its digest, under its own name. Large files are not kept in
    /// the cache: reading the whole archive would only replace its contents.
    pub(super) fn whole(
        &self,
        file: &StoredFile,
    ) -> Result<(PathBuf, Option<TempDir>), StoreError> {
        let local = |error: io::Error| {
            StoreError::new(
                StoreErrorKind::Local,
                format!("there is no room for a copy of {}: {error}", file.name),
            )
        };
        if let Some(path) = self.cache.find(file) {
            let is_good = File::open(&path).and_then(digest_of);
            if is_good.is_ok_and(|known| known == (file.length, file.sha256)) {
                return Ok((path, None));
            }
            self.cache.drop_file(file);
        }
        let folder = self.cache.temporary_folder().map_err(local)?;
        let base = file.name.rsplit('/').next().unwrap_or(&file.name);
        let path = folder.path().join(base);
        let mut copy = File::create_new(&path).map_err(local)?;
        self.store.download(file, &mut copy)?;
        copy.flush().map_err(local)?;
        Ok((path, Some(folder)))
    }

    /// Copies whole files, proven by their digests, into a folder on the file system of the archive.
    pub(super) fn copy_to_folder(&self, names: &[&str]) -> io::Result<(TempDir, Vec<PathBuf>)> {
        let folder = self.cache.temporary_folder()?;
        let mut copies = vec![];
        for file in names.iter().filter_map(|name| self.manifest.get(name)) {
            let base = file.name.rsplit('/').next().unwrap_or(&file.name);
            let path = folder.path().join(base);
            let mut copy = File::create_new(&path)?;
            self.store.download(&file, &mut copy)?;
            copies.push(path);
        }
        Ok((folder, copies))
    }

    /// The lengths of all objects in the store, by name.
    pub(super) fn list(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.store.list(self.manifest.names().count())
    }
}

/// The length and the SHA-256 of a file.
pub(super) fn digest_of(file: File) -> io::Result<(u64, [u8; 32])> {
    urldb_store::hash(file)
}

/// Copies of files of the store, in a folder whose size is limited.
#[derive(Debug)]
pub(super) struct FileCache {
    folder: PathBuf,
    limit: u64,
}

impl FileCache {
    /// The cache in the folder of an archive, of at most `limit` bytes.
    pub(super) fn new(archive: &Path, limit: u64) -> Self {
        Self {
            folder: archive.join(CACHE_FOLDER),
            limit,
        }
    }

    fn path_of(&self, name: &str) -> PathBuf {
        // Names have letters, digits and a few signs, `/` between a folder and a name.
        self.folder.join(name.replace('/', "%2F"))
    }

    /// The copy of a file, if there is one of the right length. Its use makes it young.
    fn find(&self, file: &StoredFile) -> Option<PathBuf> {
        let path = self.path_of(&file.name);
        let copy = File::options().append(true).open(&path).ok()?;
        if copy.metadata().ok()?.len() != file.length {
            return None;
        }
        // The age only decides which copies go first.
        let _ = copy.set_modified(SystemTime::now());
        Some(path)
    }

    fn temporary(&self) -> io::Result<NamedTempFile> {
        fs::create_dir_all(&self.folder)?;
        tempfile::Builder::new()
            .prefix(".new-")
            .tempfile_in(&self.folder)
    }

    fn temporary_folder(&self) -> io::Result<TempDir> {
        fs::create_dir_all(&self.folder)?;
        tempfile::Builder::new()
            .prefix(".new-")
            .tempdir_in(&self.folder)
    }

    /// Keeps a copy. A cache that cannot be written, such as on a full disk, only costs time.
    fn add(&self, file: &StoredFile, bytes: &[u8]) {
        let kept = self.temporary().and_then(|mut copy| {
            copy.write_all(bytes)?;
            Ok(copy.persist(self.path_of(&file.name))?)
        });
        drop(kept);
        self.trim(0);
    }

    fn drop_file(&self, file: &StoredFile) {
        let _ = fs::remove_file(self.path_of(&file.name));
    }

    /// Removes the oldest copies until they have at most the limit, less `other` bytes.
    pub(super) fn trim(&self, other: u64) {
        let mut copies = self.copies();
        copies.sort();
        let mut total: u64 = copies.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in copies {
            if total <= self.limit.saturating_sub(other) {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= length;
            }
        }
    }

    /// The copies: when each was last used, its length and its path.
    fn copies(&self) -> Vec<(SystemTime, u64, PathBuf)> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return vec![];
        };
        let is_copy = |path: &Path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| !name.starts_with('.'))
        };
        let copies = entries.flatten().filter_map(|entry| {
            let known = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            let path = Some(entry.path()).filter(|path| is_copy(path))?;
            Some((known.modified().ok()?, known.len(), path))
        });
        copies.collect()
    }

    /// Keeps the manifest, for times without a connection.
    pub(super) fn keep_manifest(&self, manifest: &Manifest) {
        let kept = self.temporary().and_then(|mut copy| {
            copy.write_all(manifest.render().as_bytes())?;
            Ok(copy.persist(self.folder.join(CACHED_MANIFEST))?)
        });
        // Without the copy, the archive cannot be read offline.
        drop(kept);
    }

    fn last_manifest(&self) -> Option<Manifest> {
        let text = fs::read(self.folder.join(CACHED_MANIFEST)).ok()?;
        Manifest::parse(&text).ok()
    }
}
