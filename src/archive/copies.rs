//! Brings the other places of an archive to what the first store has.

use std::collections::BTreeSet;

use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, Store, StoreError, StoreErrorKind, StoredFile};
use urldb_warc::files::is_archive_name;

use super::files::is_copy;
use super::remote::FileCache;

/// Most bytes of files that a run copies from one place to another, beside one file.
const MOST_COPIED: u64 = 1_000_000_000;

/// The outcome of an upload to a place that is not the first one.
#[derive(Debug, Default)]
pub struct CopyReport {
    /// The place.
    pub location: String,
    /// Number of files that are in the place now, and were not before.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number of files that the place lacks.
    pub waiting: u64,
    /// Why files wait: the place cannot be reached, and the next run tries again.
    pub delay: Option<String>,
    /// The fault that a person has to mend.
    pub fault: Option<String>,
}

/// Copies for the places of an archive.
pub(super) struct Copies<'a> {
    pub(super) folder: &'a Root,
    pub(super) cache: &'a FileCache,
    /// All places.
    pub(super) stores: &'a [Store],
}

/// The files that a place was given, and all that it has now.
pub(super) struct Copied {
    pub(super) report: CopyReport,
    /// The names of its objects; `None` if it did not list them.
    pub(super) names: Option<BTreeSet<String>>,
}

impl Copies<'_> {
    /// Gives a place the files that this manifest names and the place lacks, then the manifest, and deletes
    /// the objects that the place does not need any more.
    pub(super) fn complete(&self, place: &Store, manifest: &Manifest) -> Copied {
        let mut report = new_report(place);
        let listed = place.list(manifest.names().count());
        let names = note(listed, &mut report).map(|mut objects| {
            let done = self.try_complete(place, manifest, &mut objects, &mut report);
            note(done, &mut report);
            objects.into_iter().map(|(name, _)| name).collect()
        });
        Copied { report, names }
    }

    /// Adds to `objects` what the place gets.
    fn try_complete(
        &self,
        place: &Store,
        manifest: &Manifest,
        objects: &mut Vec<(String, u64)>,
        report: &mut CopyReport,
    ) -> Result<(), StoreError> {
        let names: BTreeSet<String> = objects.iter().map(|(name, _)| name.clone()).collect();
        let missing: Vec<StoredFile> = manifest
            .files()
            .filter(|file| !names.contains(&file.name))
            .collect();
        report.waiting = missing.len() as u64;
        if manifest.serial() > 0 {
            place.prepare()?;
        }
        let mut room = MOST_COPIED;
        for file in missing {
            let local = self.folder.file(&file.name);
            let has_copy = local.is_file() && is_copy(&local, &file).unwrap_or(false);
            if has_copy {
                give(place, &file, &local)?;
            } else if room > 0 {
                room = room.saturating_sub(file.length);
                let (_folder, copy) = self.cache.borrow(&file, self.stores)?;
                give(place, &file, &copy)?;
            } else {
                continue;
            }
            report.count(file.length);
            objects.push((file.name, file.length));
        }
        if report.waiting == 0 {
            place.copy_manifest(manifest)?;
            place.tidy(manifest, objects)?;
        }
        Ok(())
    }

    /// Gives a place the archive files of this machine that are new, while the first store cannot be asked.
    pub(super) fn give_new(&self, place: &Store, finished: &[String]) -> CopyReport {
        let mut report = new_report(place);
        let done = self.try_give_new(place, finished, &mut report);
        note(done, &mut report);
        report
    }

    fn try_give_new(
        &self,
        place: &Store,
        finished: &[String],
        report: &mut CopyReport,
    ) -> Result<(), StoreError> {
        let manifest = place.manifest()?;
        let objects = place.list(manifest.names().count())?;
        let is_new = |name: &&String| {
            let is_there = objects.iter().any(|(object, _)| object == *name);
            is_archive_name(name) && !is_there && !manifest.was_removed(name)
        };
        let new: Vec<&String> = finished.iter().filter(is_new).collect();
        report.waiting = new.len() as u64;
        if !new.is_empty() {
            place.prepare()?;
        }
        for name in new {
            let given = place.upload(name, &self.folder.file(name))?;
            report.count(given.length);
        }
        Ok(())
    }
}

impl CopyReport {
    fn count(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
        self.waiting -= 1;
    }
}

fn new_report(place: &Store) -> CopyReport {
    CopyReport {
        location: place.location().to_string(),
        ..CopyReport::default()
    }
}

/// The result; an error becomes a part of the report.
fn note<T>(done: Result<T, StoreError>, report: &mut CopyReport) -> Option<T> {
    match done {
        Ok(done) => return Some(done),
        Err(error) if error.is_transient() => report.delay = Some(error.to_string()),
        Err(error) => report.fault = Some(error.to_string()),
    }
    None
}

/// Uploads a file, whose bytes must be those of the manifest.
fn give(place: &Store, file: &StoredFile, copy: &RootFile) -> Result<(), StoreError> {
    let given = place.upload(&file.name, copy)?;
    if given == *file {
        return Ok(());
    }
    Err(StoreError::new(
        StoreErrorKind::Local,
        format!("{copy} changed while it was stored in {}", place.location()),
    ))
}

/// The fault of a first store that is older than another place: an old copy, or an emptied one. Writing
/// there would begin another archive.
pub(super) fn older_than(
    first: &Store,
    manifest: &Manifest,
    others: &[(&Store, Option<Manifest>)],
) -> Option<String> {
    let newest = others.iter().filter_map(|(place, known)| {
        let serial = known.as_ref()?.serial();
        (serial > manifest.serial()).then_some((serial, place.location()))
    });
    let (serial, place) = newest.max_by_key(|(serial, _)| *serial)?;
    Some(format!(
        "the manifest of {} has the serial {}, and that of {place} has {serial}: the first store is an old \
         copy, or was emptied, so nothing is written; name {place} first in `stores`",
        first.location(),
        manifest.serial()
    ))
}
