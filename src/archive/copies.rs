//! Brings the places of an archive to what the first store's manifest says.

use std::collections::BTreeSet;
use std::sync::Arc;

use tempfile::TempDir;
use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, ManifestState, Store, StoreError, StoreErrorKind, StoredFile};
use urldb_warc::files::is_archive_name;

use super::files::copy_here;
use super::health::{Fact, Place, Survey};
use super::remote::{FileCache, copy_into, no_room};

/// The files that a place got.
#[derive(Debug, Clone, Default)]
pub struct CopyReport {
    /// The place.
    pub location: String,
    /// The files that are in the place now, and were not before.
    pub given: BTreeSet<String>,
    /// Their bytes.
    pub bytes: u64,
    /// The files among them that the place had before, and had lost or damaged.
    pub fixed: Vec<String>,
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
    /// The file, and the temporary folder that it is in.
    Copy(RootFile, Option<TempDir>),
    /// A later run copies it.
    Later,
    /// There is no good copy anywhere.
    Nowhere,
}

impl Copies<'_> {
    /// Gives a place the files that this manifest names and the place lacks; another place than the first one
    /// gets the manifest then, and loses the objects that it does not need any more. Returns why it ended early. Of a
    /// place to which nothing may be written, the survey has the fault.
    pub(super) fn complete(
        &self,
        survey: &mut Survey,
        index: usize,
        manifest: &Manifest,
        report: &mut CopyReport,
    ) -> Option<Fact> {
        let restores = self.restores_manifests && survey.places[index].listing.is_ok();
        if !restores && survey.fault_of(index).is_some() {
            return None;
        }
        self.try_complete(survey, index, manifest, report)
            .err()
            .map(|error| Fact::copies_failed(&report.location, &error))
    }

    fn try_complete(
        &self,
        survey: &mut Survey,
        index: usize,
        manifest: &Manifest,
        report: &mut CopyReport,
    ) -> Result<(), StoreError> {
        let place = &survey.places[index];
        let store = Arc::clone(&place.store);
        let lacking: Vec<StoredFile> = manifest.files().filter(|file| !place.has(file)).collect();
        let mut waiting = lacking.len();
        let is_new = matches!(place.manifest, Ok(ManifestState::Absent));
        if manifest.serial() > 0 && is_new && survey.fault_of(index).is_none() {
            store.prepare()?;
        }
        let mut room = self.most;
        for file in lacking {
            match self.source(&file, survey, &mut room)? {
                Source::Copy(copy, _folder) => give(&store, &file, &copy)?,
                // A lost file keeps no place from getting the manifest.
                Source::Nowhere if survey.is_complete() => {
                    waiting -= 1;
                    continue;
                }
                Source::Later | Source::Nowhere => continue,
            }
            waiting -= 1;
            report.add(&file);
            let place = &mut survey.places[index];
            let had = place
                .good_manifest()
                .is_some_and(|it| it.contains(&file.name));
            if had || place.length(&file.name).is_some() {
                report.fixed.push(file.name.clone());
            }
            place.add(&file);
        }
        if waiting == 0 && index > 0 {
            hand_over(survey, index, manifest)?;
        }
        Ok(())
    }

    /// A good copy of a file: of this machine, or of another place.
    fn source(
        &self,
        file: &StoredFile,
        survey: &Survey,
        room: &mut u64,
    ) -> Result<Source, StoreError> {
        if let Some(copy) = copy_here(self.folder, self.cache, file) {
            return Ok(Source::Copy(copy, None));
        }
        if !survey.has(file) {
            return Ok(Source::Nowhere);
        }
        if *room == 0 {
            return Ok(Source::Later);
        }
        *room = room.saturating_sub(file.length);
        let fetched = self.cache.fetch(file, survey.having(file))?;
        Ok(fetched.map_or(Source::Nowhere, |(folder, copy)| {
            Source::Copy(copy, Some(folder))
        }))
    }

    /// Gives a place the archive files of this machine that are new, while the first store cannot be asked. Returns
    /// why it ended early, or did not begin.
    pub(super) fn give_new(
        &self,
        survey: &mut Survey,
        index: usize,
        finished: &[String],
        report: &mut CopyReport,
    ) -> Option<Fact> {
        if let Some(fact) = survey.fault_of(index) {
            return Some(fact.clone());
        }
        self.try_give_new(survey, index, finished, report)
            .err()
            .map(|error| Fact::copies_failed(&report.location, &error))
    }

    fn try_give_new(
        &self,
        survey: &mut Survey,
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
        if !new.is_empty() {
            place.store.prepare()?;
        }
        for name in new {
            let given = place.store.upload(name, &self.folder.file(name))?;
            report.add(&given);
            place.add(&given);
        }
        Ok(())
    }
}

/// Gives a place that has all files the manifest, and deletes what the place does not need any more.
fn hand_over(survey: &mut Survey, index: usize, manifest: &Manifest) -> Result<(), StoreError> {
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
    pub(super) fn new(place: &Place) -> Self {
        Self {
            location: place.location.clone(),
            ..Self::default()
        }
    }

    pub(super) fn add(&mut self, given: &StoredFile) {
        self.bytes += given.length;
        self.given.insert(given.name.clone());
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
        let folder = self
            .temporary_folder()
            .map_err(|error| no_room(file, &error))?;
        let mut unknown = None;
        for store in stores {
            match copy_into(&folder, file, store) {
                Ok(copy) => return Ok(Some((folder, copy))),
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
