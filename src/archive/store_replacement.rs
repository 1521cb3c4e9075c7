//! Replaces files in the object store of the archive.

use std::io::{self, Write};

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_store::{ManifestChange, Store, StoreErrorKind};
use urldb_warc::index::INDEX_DIRECTORY;
use urldb_warc::join::PreparedFile;

use super::remote::{FileCache, open_stores};
use crate::config::Config;
use crate::limits;

/// The file with the names of objects that do not count yet.
const UNPUBLISHED: &str = ".unpublished";

/// Replaces files in the archive's first store by a new one, as a whole or not at all, and deletes the objects
/// of the old ones; the next upload does the same in the other places. The lines of the new file come with
/// it. `old` may have names of files that were never stored. Without a store this does nothing.
///
/// The caller commits the new file afterwards. Wherever the process is killed, the store has either the old
/// files or the new one, and a later run removes local copies of the old ones.
///
/// # Errors
/// When the store cannot be used, or another process has replaced one of the old files meanwhile. The
/// store then has the old files, unless only its last answer was lost.
pub(super) fn replace_in_store(
    config: &Config,
    old: &[String],
    name: &str,
    new: &PreparedFile<'_>,
) -> anyhow::Result<()> {
    let stores = open_stores(config)?;
    let Some(store) = stores.first() else {
        return Ok(());
    };
    let mut files = vec![(name.to_owned(), new.path())];
    for path in new.segments() {
        let base = path.file_name().unwrap_or_default().to_string_lossy();
        files.push((format!("{INDEX_DIRECTORY}/{base}"), path));
    }
    let manifest = store.manifest()?;
    let replaced = old.iter().filter(|name| manifest.contains(name));
    let mut change = ManifestChange {
        add: vec![],
        remove: replaced
            .map(|old| (old.clone(), Some(name.to_owned())))
            .collect(),
        ..ManifestChange::default()
    };
    let unpublished = UnpublishedObjects::of(&config.archive_root());
    store.prepare()?;
    unpublished.announce(files.iter().map(|(name, _)| name.as_str()))?;
    for (name, path) in files {
        change
            .add
            .push(store.upload(&name, &RootFile::at(path, "the archive"))?);
    }
    match store.publish(&change) {
        Ok(published) => {
            FileCache::of(config).keep_manifest(&published.manifest);
            unpublished.forget()
        }
        Err(error) => {
            if error.kind() == StoreErrorKind::Conflict {
                unpublished.discard(store)?;
            }
            Err(error.into())
        }
    }
}

/// The names of objects that are uploaded and count only with the next change of the manifest. They are in a
/// file, so that a later run deletes the objects of a killed process.
pub(super) struct UnpublishedObjects(RootFile);

impl UnpublishedObjects {
    pub(super) fn of(folder: &Root) -> Self {
        Self(folder.file(UNPUBLISHED))
    }

    pub(super) fn announce<'n>(&self, names: impl Iterator<Item = &'n str>) -> anyhow::Result<()> {
        let names: Vec<&str> = names.collect();
        // A list that a kill cuts names no object yet.
        let write = || {
            self.0.remove()?;
            let mut file = self.0.create_new()?;
            file.write_all(names.join("\n").as_bytes())?;
            file.sync_all()
        };
        write().with_context(|| format!("cannot write {}", self.0))
    }

    pub(super) fn forget(&self) -> anyhow::Result<()> {
        self.0
            .remove()
            .map(drop)
            .with_context(|| format!("cannot remove {}", self.0))
    }

    /// Deletes the objects that were never published.
    pub(super) fn discard(&self, store: &Store) -> anyhow::Result<()> {
        let names = match self.0.read_to_string(limits::STORE_MANIFEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            names => names.with_context(|| format!("cannot read {}", self.0))?,
        };
        store.discard(names.lines())?;
        self.forget()
    }
}
