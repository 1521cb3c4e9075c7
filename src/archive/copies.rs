//! Brings the places of an archive to what the first store's manifest says.

use std::collections::BTreeSet;
use std::io;

use tempfile::TempDir;
use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, ManifestState, Store, StoreError, StoreErrorKind, StoredFile};
use urldb_warc::files::is_archive_name;

use super::files::is_copy;
use super::health::Survey;
use super::remote::FileCache;

/// The files that a place got.
#[derive(Debug, Clone, Default)]
pub struct CopyReport {
    /// The place.
    pub location: String,
    /// The files that are in the place now, and were not before.
    pub given: BTreeSet<String>,
    /// Their bytes.
    pub bytes: u64,
    /// Number of files that the place lacks.
    pub waiting: u64,
    /// The files among them that the place had before, and had lost or damaged.
    pub mended: Vec<String>,
    /// Why files wait: the place cannot be reached, and the next run tries again.
    pub delay: Option<String>,
    /// The fault that a person has to mend.
    pub fault: Option<String>,
}

/// Copies for the places of an archive.
pub(super) struct Copies<'a> {
    pub(super) folder: &'a Root,
    pub(super) cache: &'a FileCache,
    /// Most bytes that are read from one place for others, beside one file.
    pub(super) most: u64,
    /// Whether a lost or damaged manifest of another place than the first one is made anew.
    pub(super) restores_manifests: bool,
}

/// A copy of a file that is to be stored.
enum Source {
    Here(RootFile),
    Fetched(TempDir, RootFile),
    /// A later run copies it.
    Later,
    /// There is no good copy anywhere.
    Nowhere,
}

impl Copies<'_> {
    /// Gives a place the files that this manifest names and the place lacks; another place than the first one
    /// gets the manifest then, and loses the objects that it does not need any more.
    pub(super) fn complete(
        &self,
        survey: &mut Survey<'_>,
        index: usize,
        manifest: &Manifest,
    ) -> CopyReport {
        let mut report = new_report(survey.places[index].store);
        let restores = self.restores_manifests && survey.places[index].listing.is_ok();
        match survey.fault_of(index).filter(|_| !restores) {
            Some(fact) if fact.needs_person => report.fault = Some(fact.to_string()),
            Some(fact) => report.delay = Some(fact.to_string()),
            None => {
                let done = self.try_complete(survey, index, manifest, &mut report);
                note(done, &mut report);
            }
        }
        report
    }

    fn try_complete(
        &self,
        survey: &mut Survey<'_>,
        index: usize,
        manifest: &Manifest,
        report: &mut CopyReport,
    ) -> Result<(), StoreError> {
        let place = &survey.places[index];
        let store = place.store;
        let lacking: Vec<StoredFile> = manifest.files().filter(|file| !place.has(file)).collect();
        report.waiting = lacking.len() as u64;
        let is_new = matches!(place.manifest, Ok(ManifestState::Absent));
        if manifest.serial() > 0 && is_new && survey.fault_of(index).is_none() {
            store.prepare()?;
        }
        let mut room = self.most;
        for file in lacking {
            let copy = match self.source(&file, survey, &mut room)? {
                Source::Here(copy) => give(store, &file, &copy),
                Source::Fetched(_folder, copy) => give(store, &file, &copy),
                // A lost file keeps no place from getting the manifest.
                Source::Nowhere if survey.is_complete() => {
                    report.waiting -= 1;
                    continue;
                }
                Source::Later | Source::Nowhere => continue,
            };
            copy?;
            report.count(&file);
            let place = &mut survey.places[index];
            let had = place
                .good_manifest()
                .is_some_and(|it| it.contains(&file.name));
            if had || place.length(&file.name).is_some() {
                report.mended.push(file.name.clone());
            }
            place.add(&file);
        }
        if report.waiting == 0 && index > 0 {
            hand_over(survey, index, manifest)?;
        }
        Ok(())
    }

    /// A good copy of a file: of this machine, or of another place.
    fn source(
        &self,
        file: &StoredFile,
        survey: &Survey<'_>,
        room: &mut u64,
    ) -> Result<Source, StoreError> {
        if let Some(copy) = self.copy_here(file) {
            return Ok(Source::Here(copy));
        }
        if !survey.has(file) {
            return Ok(Source::Nowhere);
        }
        if *room == 0 {
            return Ok(Source::Later);
        }
        *room = room.saturating_sub(file.length);
        let having = survey.places.iter().filter(|place| place.has(file));
        let fetched = self.cache.fetch(file, having.map(|place| place.store))?;
        Ok(fetched.map_or(Source::Nowhere, |(folder, copy)| {
            Source::Fetched(folder, copy)
        }))
    }

    /// A good copy of a file on this machine.
    pub(super) fn copy_here(&self, file: &StoredFile) -> Option<RootFile> {
        let local = self.folder.file(&file.name);
        if local.is_file() && is_copy(&local, file).unwrap_or(false) {
            return Some(local);
        }
        self.cache.good_copy(file)
    }

    /// Gives a place the archive files of this machine that are new, while the first store cannot be asked.
    pub(super) fn give_new(
        &self,
        survey: &mut Survey<'_>,
        index: usize,
        finished: &[String],
    ) -> CopyReport {
        let mut report = new_report(survey.places[index].store);
        match survey.fault_of(index) {
            Some(fact) if fact.needs_person => report.fault = Some(fact.to_string()),
            Some(fact) => report.delay = Some(fact.to_string()),
            None => {
                let done = self.try_give_new(survey, index, finished, &mut report);
                note(done, &mut report);
            }
        }
        report
    }

    fn try_give_new(
        &self,
        survey: &mut Survey<'_>,
        index: usize,
        finished: &[String],
        report: &mut CopyReport,
    ) -> Result<(), StoreError> {
        let place = &mut survey.places[index];
        let manifest = place.good_manifest().cloned().unwrap_or_default();
        let is_new = |name: &&String| {
            is_archive_name(name) && place.length(name).is_none() && !manifest.was_removed(name)
        };
        let new: Vec<&String> = finished.iter().filter(is_new).collect();
        report.waiting = new.len() as u64;
        if !new.is_empty() {
            place.store.prepare()?;
        }
        for name in new {
            let given = place.store.upload(name, &self.folder.file(name))?;
            report.count(&given);
            place.add(&given);
        }
        Ok(())
    }
}

/// Gives a place that has all files the manifest, and deletes what the place does not need any more.
fn hand_over(survey: &mut Survey<'_>, index: usize, manifest: &Manifest) -> Result<(), StoreError> {
    let place = &survey.places[index];
    if survey.fault_of(index).is_some() {
        place.store.restore_manifest(manifest)?;
    } else {
        place.store.copy_manifest(manifest)?;
    }
    if let Ok(listing) = &place.listing {
        place.store.tidy(manifest, listing)?;
    }
    survey.set_manifest(index, manifest);
    Ok(())
}

impl CopyReport {
    fn count(&mut self, given: &StoredFile) {
        self.bytes += given.length;
        self.given.insert(given.name.clone());
        self.waiting -= 1;
    }
}

fn new_report(place: &Store) -> CopyReport {
    CopyReport {
        location: place.location().to_string(),
        ..CopyReport::default()
    }
}

/// Adds an error to the report.
fn note(done: Result<(), StoreError>, report: &mut CopyReport) {
    match done {
        Ok(()) => {}
        Err(error) if error.is_transient() => report.delay = Some(error.to_string()),
        Err(error) => report.fault = Some(error.to_string()),
    }
}

/// Uploads a file, whose bytes are those of the manifest. An object with other bytes is damaged.
fn give(place: &Store, file: &StoredFile, copy: &RootFile) -> Result<(), StoreError> {
    match place.upload(&file.name, copy) {
        Ok(given) if given == *file => Ok(()),
        Err(error) if error.kind() != StoreErrorKind::Conflict => Err(error),
        _ => place.mend(file, copy),
    }
}

/// A copy of a file in a temporary folder, from the first of these places that has good bytes.
pub(super) type Fetched = Option<(TempDir, RootFile)>;

impl FileCache {
    /// A copy of a file that one of these places has. `None` if each of them answers that it has no good one.
    pub(super) fn fetch<'s>(
        &self,
        file: &StoredFile,
        stores: impl Iterator<Item = &'s Store>,
    ) -> Result<Fetched, StoreError> {
        let no_room = |error: &io::Error| {
            let problem = format!("there is no room for a copy of {}: {error}", file.name);
            StoreError::new(StoreErrorKind::Local, problem)
        };
        let folder = self.temporary_folder().map_err(|error| no_room(&error))?;
        let base = file.name.rsplit('/').next().unwrap_or(&file.name);
        let copy = Root::new(folder.path(), "the cache").file(base);
        let mut unknown = None;
        for store in stores {
            let created = copy.remove().and_then(|_| copy.create_new());
            let mut output = created.map_err(|error| no_room(&error))?;
            match store.download(file, &mut output) {
                Ok(()) => return Ok(Some((folder, copy))),
                Err(error) => match error.kind() {
                    StoreErrorKind::Missing | StoreErrorKind::Damaged => {}
                    StoreErrorKind::Local => return Err(error),
                    _ => unknown = Some(error),
                },
            }
        }
        unknown.map_or(Ok(None), Err)
    }
}
