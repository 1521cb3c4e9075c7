//! Brings finished files into the object store of the archive.
//!
//! A file is uploaded if it is finished on this machine and neither is nor was in the store. So a run
//! makes up for every run before it that was killed, or had no connection.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, ManifestChange, Store, StoreError, StoreErrorKind, StoredFile};
use urldb_warc::files::{is_archive_name, is_index_file};
use urldb_warc::index::{LARGEST_LIST, files_of_segment};

use super::copies::{Copied, Copies, CopyReport, older_than};
use super::files::local_names;
use super::keys::Keys;
use super::remote::{FileCache, open_stores};
use super::store_replacement::UnpublishedObjects;
use crate::config::Config;

/// Bytes of files after which the manifest is written, so that a later fault does not undo them.
const BATCH: u64 = 256 << 20;

/// The suffix of the list of archive files in a segment of the index.
const LOC_SUFFIX: &str = ".loc";

/// Files that wait longer than this need a person.
const PATIENCE: Duration = Duration::from_hours(72);

/// The outcome of an upload, and the work that is left.
#[derive(Debug, Default)]
pub struct UploadReport {
    /// The first store.
    pub location: String,
    /// Number of files that are in the store now, and were not before.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of finished files that are not in the store.
    pub waiting: u64,
    /// Why files wait: the store cannot be reached, and the next run tries again.
    pub delay: Option<String>,
    /// Whether the manifest has no room for the files that wait.
    pub is_full: bool,
    /// The faults that a person has to mend.
    pub faults: Vec<String>,
    /// The outcome in each other place.
    pub copies: Vec<CopyReport>,
}

/// Uploads the finished files of the archive, if it has a store. `None` without a store.
///
/// # Errors
/// When there are no credentials, or when the folder of the archive cannot be read.
pub fn upload(config: &Config) -> anyhow::Result<Option<UploadReport>> {
    upload_finished(config, false)
}

/// Uploads the finished files after the index was merged or made anew, and removes the segments from the
/// store that the index of this machine replaces.
///
/// # Errors
/// As [`upload`].
pub fn upload_new_index(config: &Config) -> anyhow::Result<Option<UploadReport>> {
    upload_finished(config, true)
}

fn upload_finished(config: &Config, is_index_new: bool) -> anyhow::Result<Option<UploadReport>> {
    let stores = open_stores(config)?;
    let Some(store) = stores.first() else {
        return Ok(None);
    };
    let upload = Upload {
        folder: &config.archive_root(),
        store,
        stores: &stores,
        cache: FileCache::of(config),
        is_index_new,
    };
    upload.run().map(Some)
}

/// Brings the finished files of this machine into the store, before files are rewritten. Does nothing without
/// a store.
///
/// # Errors
/// When a file cannot be stored.
pub fn upload_before_rewrite(config: &Config) -> anyhow::Result<()> {
    if config.archive.stores.is_empty() {
        return Ok(());
    }
    let root = config.archive_root();
    let folder = root.path();
    root.make()
        .with_context(|| format!("cannot make {}", folder.display()))?;
    // Also completes or undoes what a killed process was rewriting.
    urldb_warc::index::complete_index(folder, &Keys).context("cannot complete the index")?;
    let report = upload(config)?.unwrap_or_default();
    // Joining files makes room, also of those that are not stored.
    if report.is_full {
        return Ok(());
    }
    match report.faults.into_iter().next().or(report.delay) {
        Some(cause) => {
            anyhow::bail!("the archive cannot be rewritten while files are not stored: {cause}")
        }
        None => Ok(()),
    }
}

/// The index of this machine, as an upload sees it.
struct NewIndex<'a> {
    /// The segments that the store does not have.
    segments: &'a [&'a String],
    /// The segments that may replace others in the store.
    replacing: &'a [&'a String],
}

struct Upload<'a> {
    folder: &'a Root,
    /// The first store, which decides which files there are.
    store: &'a Store,
    /// All places, the first one included.
    stores: &'a [Store],
    cache: FileCache,
    /// Whether segments that are in the store already may replace others there.
    is_index_new: bool,
}

impl Upload<'_> {
    fn run(&self) -> anyhow::Result<UploadReport> {
        let mut report = UploadReport {
            location: self.store.location().to_string(),
            ..UploadReport::default()
        };
        let finished = self.finished()?;
        let copies = Copies {
            folder: self.folder,
            cache: &self.cache,
            stores: self.stores,
        };
        let others = &self.stores[1..];
        // The first store comes last: another process may change it meanwhile.
        let known = others.iter().map(|place| (place, place.manifest().ok()));
        let known: Vec<_> = known.collect();
        let mut manifest = match self.store.manifest() {
            Ok(manifest) => manifest,
            Err(error) => {
                // Without the manifest, all finished files may be new.
                report.waiting = finished.len() as u64;
                self.add_error(&mut report, &finished, &error);
                if error.is_transient() {
                    let given = others.iter().map(|place| copies.give_new(place, &finished));
                    report.copies = given.collect();
                }
                return Ok(report);
            }
        };
        if let Some(fault) = older_than(self.store, &manifest, &known) {
            report.waiting = finished.len() as u64;
            report.faults.push(fault);
            return Ok(report);
        }
        let waiting = self.bring_finished(finished, &mut manifest, &mut report);
        self.cache.keep_manifest(&manifest);
        let mut held = vec![];
        for place in others {
            let Copied {
                report: copy,
                names,
            } = copies.complete(place, &manifest);
            report.copies.push(copy);
            held.extend(names);
        }
        if waiting.is_empty() {
            self.make_room(&manifest, &held)?;
        }
        Ok(report)
    }

    /// Brings what is new of this machine into the first store, and returns the names of the files that wait.
    fn bring_finished(
        &self,
        finished: Vec<String>,
        manifest: &mut Manifest,
        report: &mut UploadReport,
    ) -> Vec<String> {
        if let Err(error) = self.tidy(manifest) {
            match error.downcast_ref::<StoreError>() {
                // The needless objects only take room until the next run.
                Some(error) if error.is_transient() => {}
                _ => report.faults.push(format!("{error:#}")),
            }
        }
        let is_new = |manifest: &Manifest, name: &str| {
            !manifest.contains(name) && !manifest.was_removed(name)
        };
        let new: Vec<&String> = finished
            .iter()
            .filter(|name| is_new(manifest, name))
            .collect();
        let (segments, archives): (Vec<&String>, Vec<&String>) =
            new.into_iter().partition(|name| is_index_file(name));
        let is_replacing = |name: &&String| is_index_file(name) && !manifest.was_removed(name);
        let replacing: Vec<&String> = if self.is_index_new {
            finished.iter().filter(is_replacing).collect()
        } else {
            segments.clone()
        };
        let index = NewIndex {
            segments: &segments,
            replacing: &replacing,
        };
        let is_idle = archives.is_empty() && segments.is_empty();
        let prepared = if is_idle {
            Ok(())
        } else {
            self.store.prepare()
        };
        let done = prepared.and_then(|()| self.bring(&archives, &index, manifest, report));
        let waiting: Vec<String> = finished
            .into_iter()
            .filter(|name| is_new(manifest, name))
            .collect();
        report.waiting = waiting.len() as u64;
        if let Err(error) = done {
            self.add_error(report, &waiting, &error);
        }
        waiting
    }

    /// Deletes from the first store what killed processes left there.
    fn tidy(&self, manifest: &Manifest) -> anyhow::Result<()> {
        UnpublishedObjects::of(self.folder).discard(self.store)?;
        let objects = self.store.list(manifest.names().count())?;
        Ok(self.store.tidy(manifest, &objects)?)
    }

    /// The names of the finished files in the folder, sorted.
    fn finished(&self) -> anyhow::Result<Vec<String>> {
        let names =
            local_names(self.folder.path()).context("cannot list the files of the archive")?;
        let is_ours = |name: &String| is_index_file(name) || is_archive_name(name);
        Ok(names.into_iter().filter(is_ours).collect())
    }

    /// Uploads files and adds them to the manifest: the archive files, and with the last of them the
    /// segments of the index. So another machine finds the index complete, unless the archive files are
    /// too many for one change.
    fn bring(
        &self,
        archives: &[&String],
        index: &NewIndex<'_>,
        manifest: &mut Manifest,
        report: &mut UploadReport,
    ) -> Result<(), StoreError> {
        let mut change = ManifestChange::default();
        for name in archives {
            if let Err(error) = self.add(name, &mut change, report) {
                // The manifest must name the files that were uploaded before the error.
                self.publish(&change, manifest, report)?;
                return Err(error);
            }
            if bytes_of(&change.add) >= BATCH {
                self.publish(&std::mem::take(&mut change), manifest, report)?;
            }
        }
        // The index must name no file that the store lacks.
        if report.faults.is_empty() {
            match self.index_change(index, manifest, report) {
                Ok(of_index) => {
                    change.add.extend(of_index.add);
                    change.remove = of_index.remove;
                }
                Err(error) => {
                    self.publish(&change, manifest, report)?;
                    return Err(error);
                }
            }
        }
        self.publish(&change, manifest, report)
    }

    /// Uploads the segments of an index, and names those in the store that they replace.
    fn index_change(
        &self,
        index: &NewIndex<'_>,
        manifest: &Manifest,
        report: &mut UploadReport,
    ) -> Result<ManifestChange, StoreError> {
        let superseded = self.superseded(index.replacing, manifest)?;
        let mut change = ManifestChange::default();
        for name in index.segments {
            self.add(name, &mut change, report)?;
        }
        if report.faults.is_empty() {
            // Their lines are in several segments, which `urldb archive index` can make anew.
            change.remove = superseded.into_iter().map(|name| (name, None)).collect();
        }
        Ok(change)
    }

    /// Uploads a file. A file that cannot be stored is a fault of the report, and holds up no other file.
    fn add(
        &self,
        name: &str,
        change: &mut ManifestChange,
        report: &mut UploadReport,
    ) -> Result<(), StoreError> {
        let local = self.folder.file(name);
        let known = local.metadata();
        let known = known.map_err(|error| unreadable(name, &error));
        match known.and_then(|_| self.store.upload(name, &local)) {
            Ok(file) => change.add.push(file),
            Err(error)
                if matches!(
                    error.kind(),
                    StoreErrorKind::Local | StoreErrorKind::Conflict
                ) =>
            {
                report.faults.push(error.to_string());
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn publish(
        &self,
        change: &ManifestChange,
        manifest: &mut Manifest,
        report: &mut UploadReport,
    ) -> Result<(), StoreError> {
        if change.add.is_empty() && change.remove.is_empty() {
            return Ok(());
        }
        let published = match self.store.publish(change) {
            // Another machine has merged the same segments of the index: they are gone already.
            Err(error) if error.kind() == StoreErrorKind::Conflict && !change.remove.is_empty() => {
                let change = ManifestChange {
                    add: change.add.clone(),
                    ..ManifestChange::default()
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

    /// The segments in the store that these segments of this machine replace: this machine has merged
    /// them, so it no longer has them, and has the lines of all their files elsewhere.
    fn superseded(
        &self,
        segments: &[&String],
        manifest: &Manifest,
    ) -> Result<Vec<String>, StoreError> {
        let mut covered = BTreeSet::new();
        for name in segments.iter().filter(|name| name.ends_with(LOC_SUFFIX)) {
            let files = files_of(&self.folder.file(name));
            covered.append(&mut files.map_err(|error| unreadable(name, &error))?);
        }
        // A segment of new files alone merges nothing.
        let is_merged = covered.iter().any(|name| manifest.contains(name));
        if !is_merged {
            return Ok(vec![]);
        }
        let mut superseded = vec![];
        for file in manifest.files().filter(|file| is_index_file(&file.name)) {
            let Some(stem) = file.name.strip_suffix(LOC_SUFFIX) else {
                continue;
            };
            let local = self.folder.file(&file.name);
            if file.length > LARGEST_LIST.get() || local.kind().is_some() {
                continue;
            }
            let mut text = vec![];
            self.store.download(&file, &mut text)?;
            let files = files_of_segment(&text).map_err(|error| unreadable(&file.name, &error))?;
            let is_covered = |file: &String| covered.contains(file) || manifest.was_removed(file);
            // A segment without names has lines of damaged files.
            if !files.is_empty() && files.iter().all(is_covered) {
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
            let known = self.folder.file(name).metadata().ok()?;
            known.modified().ok()
        });
        let waited = oldest
            .min()
            .and_then(|oldest| SystemTime::now().duration_since(oldest).ok());
        report.is_full |= error.kind() == StoreErrorKind::Full;
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
    /// beyond the size of the cache, unless another place that answered lacks them: `held` has the names of its
    /// objects. The index stays.
    fn make_room(&self, manifest: &Manifest, held: &[BTreeSet<String>]) -> anyhow::Result<()> {
        let mut copies: Vec<(SystemTime, u64, RootFile)> = vec![];
        for name in self.finished()? {
            let file = self.folder.file(&name);
            if manifest.was_removed(&name) {
                self.remove_replaced(&name, manifest)?;
                continue;
            }
            let known = match file.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                known => known.with_context(|| format!("cannot read {file}"))?,
            };
            // Another length is damage, which `verify` shows.
            let is_stored = manifest
                .get(&name)
                .is_some_and(|file| file.length == known.len());
            let is_everywhere = held.iter().all(|names| names.contains(&name));
            if is_stored && is_everywhere && !is_index_file(&name) {
                copies.push((
                    known.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                    known.len(),
                    file,
                ));
            }
        }
        copies.sort();
        let mut total: u64 = copies.iter().map(|(_, length, _)| length).sum();
        for (_, length, file) in copies {
            if total <= self.cache.limit {
                break;
            }
            remove(&file)?;
            total -= length;
        }
        self.cache.trim(total);
        Ok(())
    }

    /// Removes the local copy of a file that another machine has replaced. With a segment of the index go
    /// the local copies of its archive files: they would be indexed again.
    fn remove_replaced(&self, name: &str, manifest: &Manifest) -> anyhow::Result<()> {
        let local = self.folder.file(name);
        if is_index_file(name) && name.ends_with(LOC_SUFFIX) {
            for file in files_of(&local).unwrap_or_default() {
                if manifest.contains(&file) {
                    remove(&self.folder.file(file))?;
                }
            }
        }
        remove(&local)
    }
}

fn remove(file: &RootFile) -> anyhow::Result<()> {
    let removed = file.remove();
    removed
        .map(drop)
        .with_context(|| format!("cannot remove {file}"))
}

fn files_of(list: &RootFile) -> io::Result<BTreeSet<String>> {
    files_of_segment(&list.read(LARGEST_LIST)?)
}

fn unreadable(name: &str, error: &io::Error) -> StoreError {
    let problem = format!("{name} cannot be read: {error}");
    StoreError::new(StoreErrorKind::Local, problem)
}

fn bytes_of(files: &[StoredFile]) -> u64 {
    files.iter().map(|file| file.length).sum()
}
