//! Brings finished files into the object store of the archive, and replaces files in it.
//!
//! A file is uploaded if it is finished on this machine and neither is nor was in the store. So a run
//! makes up for every run before it that was killed, or had no connection.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use urldb_store::{Manifest, ManifestChange, Store, StoreError, StoreErrorKind, StoredFile};
use urldb_warc::{INDEX_DIRECTORY, files_of_segment, is_archive_name};

use super::files::local_names;
use super::remote::{FileCache, open_store};
use crate::config::Config;

/// Bytes of files after which the manifest is written, so that a later fault does not undo them.
const BATCH: u64 = 256 << 20;

/// The suffix of the list of archive files in a segment of the index.
const LOC_SUFFIX: &str = ".loc";

/// The largest such list that is read, in bytes.
const LARGEST_LOC: u64 = 16 << 20;

/// Files that wait longer than this need a person.
const PATIENCE: Duration = Duration::from_hours(72);

/// What an upload has done, and what is left to do.
#[derive(Debug, Default)]
pub struct UploadReport {
    /// The bucket and the prefix.
    pub location: String,
    /// Number of files that are in the store now, and were not before.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of finished files that are not in the store.
    pub waiting: u64,
    /// Why files wait: the store cannot be reached, and the next run tries again.
    pub delay: Option<String>,
    /// What a person has to mend.
    pub faults: Vec<String>,
}

/// Uploads the finished files of the archive, if it has a store. `None` without a store.
///
/// # Errors
/// When there are no credentials, or when the folder of the archive cannot be read.
pub fn upload(config: &Config) -> anyhow::Result<Option<UploadReport>> {
    let Some(store) = open_store(config)? else {
        return Ok(None);
    };
    let folder = config.root.join(&config.archive.path);
    let limit = config.archive.store.as_ref().map_or(0, |it| it.cache_size);
    let upload = Upload {
        folder: &folder,
        store: &store,
    };
    upload.run(limit).map(Some)
}

/// Replaces files in the archive's store by new ones, as a whole or not at all, and deletes the objects of
/// the old ones. `new` has names and the local files with their bytes, which need not have their final
/// names yet: files that have them are uploaded by every run. `old` may have names of files that were
/// never stored. Without a store this does nothing.
///
/// The caller replaces the local files afterwards. Wherever the process is killed, the store has either
/// the old files or the new ones, and a later run removes local copies of the old ones.
///
/// # Errors
/// When the store cannot be used, or another process has replaced one of the old files meanwhile. The
/// store then has the old files.
pub fn replace_in_store(
    config: &Config,
    old: &[String],
    new: &[(String, PathBuf)],
) -> anyhow::Result<()> {
    let Some(store) = open_store(config)? else {
        return Ok(());
    };
    let manifest = store.manifest()?;
    let is_stored = |name: &&String| manifest.contains(name);
    let mut change = ManifestChange {
        add: vec![],
        remove: old.iter().filter(is_stored).cloned().collect(),
    };
    for (name, path) in new {
        change.add.push(store.upload(name, path)?);
    }
    if let Err(error) = store.publish(&change) {
        if error.kind() == StoreErrorKind::Conflict {
            store.discard(&change.add)?;
        }
        return Err(error.into());
    }
    Ok(())
}

struct Upload<'a> {
    folder: &'a Path,
    store: &'a Store,
}

impl Upload<'_> {
    fn run(&self, cache_size: u64) -> anyhow::Result<UploadReport> {
        let mut report = UploadReport {
            location: self.store.location().to_string(),
            ..UploadReport::default()
        };
        let finished = self.finished()?;
        let mut manifest = match self.store.manifest() {
            Ok(manifest) => manifest,
            Err(error) => {
                // Which files are stored already is not known: those that are new surely wait.
                report.waiting = finished.len() as u64;
                self.add_error(&mut report, &finished, &error);
                return Ok(report);
            }
        };
        let is_new = |manifest: &Manifest, name: &str| {
            !manifest.contains(name) && !manifest.was_removed(name)
        };
        let new: Vec<&String> = finished
            .iter()
            .filter(|name| is_new(&manifest, name))
            .collect();
        let (segments, archives): (Vec<&String>, Vec<&String>) =
            new.into_iter().partition(|name| is_segment(name));
        let added = self.add(&archives, vec![], &mut manifest, &mut report);
        let done = added.and_then(|()| {
            // The index must name no file that the store lacks.
            if !report.faults.is_empty() {
                return Ok(());
            }
            let superseded = self.superseded(&segments, &manifest).map_err(|error| {
                StoreError::new(
                    StoreErrorKind::Local,
                    format!("the index cannot be read: {error}"),
                )
            })?;
            self.add(&segments, superseded, &mut manifest, &mut report)
        });
        let waiting: Vec<String> = finished
            .into_iter()
            .filter(|name| is_new(&manifest, name))
            .collect();
        report.waiting = waiting.len() as u64;
        if let Err(error) = done {
            self.add_error(&mut report, &waiting, &error);
        }
        if waiting.is_empty() {
            self.make_room(&manifest, cache_size)?;
        }
        Ok(report)
    }

    /// The names of the finished files in the folder, sorted.
    fn finished(&self) -> anyhow::Result<Vec<String>> {
        let names = local_names(self.folder).context("cannot list the files of the archive")?;
        let is_ours = |name: &String| is_segment(name) || is_archive_name(name);
        Ok(names.into_iter().filter(is_ours).collect())
    }

    /// Uploads files and adds them to the manifest, from which `remove` goes. A file that cannot be
    /// stored is a fault of the report, and holds up no other file.
    fn add(
        &self,
        names: &[&String],
        remove: Vec<String>,
        manifest: &mut Manifest,
        report: &mut UploadReport,
    ) -> Result<(), StoreError> {
        let mut change = ManifestChange::default();
        for name in names {
            match self.store.upload(name, &self.folder.join(name)) {
                Ok(file) => change.add.push(file),
                Err(error)
                    if matches!(
                        error.kind(),
                        StoreErrorKind::Local | StoreErrorKind::Conflict
                    ) =>
                {
                    report.faults.push(error.to_string());
                }
                Err(error) => {
                    // What was uploaded before counts.
                    self.publish(&std::mem::take(&mut change), manifest, report)?;
                    return Err(error);
                }
            }
            if bytes_of(&change.add) >= BATCH {
                self.publish(&std::mem::take(&mut change), manifest, report)?;
            }
        }
        if report.faults.is_empty() {
            change.remove = remove;
        }
        self.publish(&change, manifest, report)
    }

    fn publish(
        &self,
        change: &ManifestChange,
        manifest: &mut Manifest,
        report: &mut UploadReport,
    ) -> Result<(), StoreError> {
        let has_leftovers = manifest.has_leftovers();
        if change.add.is_empty() && change.remove.is_empty() && !has_leftovers {
            return Ok(());
        }
        let published = match self.store.publish(change) {
            // Another machine has merged the same segments of the index: they are gone already.
            Err(error) if error.kind() == StoreErrorKind::Conflict && !change.remove.is_empty() => {
                let change = ManifestChange {
                    remove: vec![],
                    ..change.clone()
                };
                self.store.publish(&change)?
            }
            published => published?,
        };
        report.files += change.add.len() as u64;
        report.bytes += bytes_of(&change.add);
        *manifest = published.manifest;
        match published.undeleted {
            Some(error) if !error.is_transient() => Err(error),
            _ => Ok(()),
        }
    }

    /// The segments in the store that new segments of this machine replace: this machine has merged
    /// them, so it no longer has them, and has the lines of all their files elsewhere.
    fn superseded(&self, new: &[&String], manifest: &Manifest) -> std::io::Result<Vec<String>> {
        let mut covered = BTreeSet::new();
        for name in new.iter().filter(|name| name.ends_with(LOC_SUFFIX)) {
            covered.append(&mut files_of_segment(&fs::read(self.folder.join(name))?)?);
        }
        // A segment of new files alone merges nothing.
        let is_merged = covered.iter().any(|name| manifest.contains(name));
        if !is_merged {
            return Ok(vec![]);
        }
        let mut superseded = vec![];
        for file in manifest.files().filter(|file| is_segment(&file.name)) {
            let Some(stem) = file.name.strip_suffix(LOC_SUFFIX) else {
                continue;
            };
            if file.length > LARGEST_LOC || self.folder.join(&file.name).exists() {
                continue;
            }
            let mut text = vec![];
            self.store.download(&file, &mut text)?;
            if files_of_segment(&text)?.is_subset(&covered) {
                let is_of_segment = |name: &&str| {
                    let rest = name.strip_prefix(stem);
                    rest.is_some_and(|rest| rest.starts_with('.'))
                };
                let of_segment = manifest.names().filter(is_of_segment);
                superseded.extend(of_segment.map(str::to_owned));
            }
        }
        Ok(superseded)
    }

    fn add_error(&self, report: &mut UploadReport, waiting: &[String], error: &StoreError) {
        let oldest = waiting.iter().filter_map(|name| {
            let known = fs::metadata(self.folder.join(name)).ok()?;
            known.modified().ok()
        });
        let waited = oldest
            .min()
            .and_then(|oldest| SystemTime::now().duration_since(oldest).ok());
        if !error.is_transient() {
            report.faults.push(error.to_string());
        } else if waited.is_some_and(|waited| waited > PATIENCE) {
            report.faults.push(format!(
                "{error}; files have waited for the store for more than {} days",
                PATIENCE.as_secs() / 86_400
            ));
        } else {
            report.delay = Some(error.to_string());
        }
    }

    /// Removes local copies: of files that another machine has replaced, and the oldest of stored files
    /// beyond the size of the cache. The index stays.
    fn make_room(&self, manifest: &Manifest, cache_size: u64) -> anyhow::Result<()> {
        let mut copies: Vec<(SystemTime, u64, PathBuf)> = vec![];
        for name in self.finished()? {
            let path = self.folder.join(&name);
            if manifest.was_removed(&name) {
                self.remove_replaced(&name, manifest)?;
                continue;
            }
            if !path.exists() {
                continue;
            }
            let known = fs::metadata(&path);
            let known = known.with_context(|| format!("cannot read {}", path.display()))?;
            // Another length is damage, which `verify` shows.
            let is_stored = manifest
                .get(&name)
                .is_some_and(|file| file.length == known.len());
            if is_stored && !is_segment(&name) {
                copies.push((
                    known.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    known.len(),
                    path,
                ));
            }
        }
        copies.sort();
        let mut total: u64 = copies.iter().map(|(_, length, _)| length).sum();
        for (_, length, path) in copies {
            if total <= cache_size {
                break;
            }
            remove(&path)?;
            total -= length;
        }
        FileCache::new(self.folder, cache_size).trim(total);
        Ok(())
    }

    /// Removes the local copy of a file that another machine has replaced. With a segment of the index go
    /// the local copies of its archive files: they would be indexed again.
    fn remove_replaced(&self, name: &str, manifest: &Manifest) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        if is_segment(name) && name.ends_with(LOC_SUFFIX) {
            let files = fs::read(&path).and_then(|text| files_of_segment(&text));
            for file in files.unwrap_or_default() {
                if manifest.contains(&file) {
                    remove(&self.folder.join(file))?;
                }
            }
        }
        remove(&path)
    }
}

fn remove(path: &Path) -> anyhow::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.with_context(|| format!("cannot remove {}", path.display())),
    }
}

fn is_segment(name: &str) -> bool {
    let rest = name.strip_prefix(INDEX_DIRECTORY);
    rest.is_some_and(|rest| rest.starts_with('/'))
}

fn bytes_of(files: &[StoredFile]) -> u64 {
    files.iter().map(|file| file.length).sum()
}
