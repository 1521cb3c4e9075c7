//! Brings finished files into the object store of the archive.
//!
//! A file is uploaded if it is finished on this machine and neither is nor was in the store. So a run
//! makes up for every run before it that was killed, or had no connection.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::Root;
use urldb_store::{
    Manifest, ManifestChange, Store, StoreError, StoreErrorKind, StoredFile, unreadable,
};
use urldb_warc::files::{LOC_SUFFIX, is_index_file};
use urldb_warc::index::LARGEST_LIST;

use super::copies::{Copies, CopyReport};
use super::files::copy_here;
use super::health::{self, Fact, Survey};
use super::keys::Keys;
use super::local_copies::{files_of, finished_files, make_room, remove_taken_apart};
use super::remote::FileCache;
use super::store_replacement::UnpublishedObjects;
use crate::config::Config;
use crate::explain::explain;

/// Bytes of files after which the manifest is written, so that a later fault does not undo them.
const BATCH: u64 = 256 << 20;

/// Files that wait longer than this need a person.
const PATIENCE: Duration = Duration::from_hours(72);

/// The outcome of an upload, and the work that is left.
#[derive(Debug)]
pub struct UploadReport {
    /// The places, with what the upload has given them.
    pub survey: Survey,
    /// The files that each place got, the first store first.
    pub places: Vec<CopyReport>,
    /// Whether nothing kept the files of this machine from the first store.
    pub is_stored: bool,
    /// Whether the manifest has no room for the files that wait.
    pub is_full: bool,
    /// Everything that is wrong with the places and their files after that.
    pub facts: Vec<Fact>,
}

/// The work that an upload does besides.
#[derive(Debug, Clone, Copy, Default)]
pub struct UploadOptions {
    /// The index of this machine was merged or made anew: segments in the store that it replaces are removed.
    pub is_index_new: bool,
    /// Copies between places have no bound, and other places get a manifest for a lost or damaged one.
    pub repairs: bool,
}

/// Uploads the finished files of the archive, if it has places, and mends what needs no decision: each place
/// gets the files that it lacks, from this machine or from another place. `None` without a place.
///
/// # Errors
/// When there are no credentials, or when the folder of the archive or the ledger cannot be read.
pub fn upload(config: &Config, options: UploadOptions) -> anyhow::Result<Option<UploadReport>> {
    let Some(survey) = health::look(config)? else {
        return Ok(None);
    };
    let upload = Upload {
        config,
        folder: config.archive_root(),
        store: Arc::clone(&survey.places[0].store),
        cache: FileCache::of(config),
        options,
    };
    upload.run(survey).map(Some)
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
    let report = upload(config, UploadOptions::default())?;
    // Joining files makes room, also of those that are not stored.
    let hindered = report.filter(|report| !(report.is_stored || report.is_full));
    if let Some(cause) = hindered.and_then(|report| report.facts.into_iter().next()) {
        anyhow::bail!("the archive cannot be rewritten while files are not stored: {cause}")
    }
    Ok(())
}

/// The index of this machine, as an upload sees it.
struct NewIndex<'a> {
    /// The segments that the store does not have.
    segments: &'a [&'a String],
    /// The segments that may replace others in the store.
    replacing: &'a [&'a String],
}

struct Upload<'a> {
    config: &'a Config,
    folder: Root,
    /// The first store, which decides which files there are.
    store: Arc<Store>,
    cache: FileCache,
    options: UploadOptions,
}

impl Upload<'_> {
    fn run(&self, survey: Survey) -> anyhow::Result<UploadReport> {
        let mut report = UploadReport {
            places: survey.places.iter().map(CopyReport::new).collect(),
            survey,
            is_stored: false,
            is_full: false,
            facts: vec![],
        };
        let survey = &mut report.survey;
        let copies = Copies {
            folder: &self.folder,
            cache: &self.cache,
            most: if self.options.repairs {
                u64::MAX
            } else {
                self.config.archive.check_bytes.max(1)
            },
            restores_manifests: self.options.repairs,
        };
        if let Some(fact) = survey.fault_of(0) {
            // Without the manifest, all finished files may be new.
            let finished = finished_files(&self.folder)?;
            report.facts.push(self.waiting(&finished, fact.clone()));
            for (index, given) in report.places.iter_mut().enumerate().skip(1) {
                let fact = copies.give_new(survey, index, &finished, given);
                report.facts.extend(fact);
            }
            return Ok(report);
        }
        let mut manifest = survey.manifest();
        health::adopt_unnamed(self.config, survey, &manifest)?;
        remove_taken_apart(&self.folder, &manifest)?;
        let finished = finished_files(&self.folder)?;
        let waiting = self.bring_finished(finished.clone(), &mut manifest, &mut report);
        let survey = &mut report.survey;
        report.is_stored = report.facts.is_empty();
        self.cache.keep_manifest(&manifest);
        survey.set_manifest(0, &manifest);
        for (index, given) in report.places.iter_mut().enumerate() {
            let fact = copies.complete(survey, index, &manifest, given);
            report.facts.extend(fact);
        }
        let is_here = |file: &StoredFile| copy_here(&self.folder, &self.cache, file).is_some();
        let facts = survey.facts(&manifest, &finished, is_here);
        report.facts.extend(facts);
        if waiting.is_empty() {
            make_room(&self.folder, &self.cache, &manifest, survey)?;
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
        if let Err(error) = self.tidy(&report.survey, manifest) {
            match error.downcast_ref::<StoreError>() {
                // The needless objects only take room until the next run.
                Some(error) if error.is_transient() => {}
                _ => report.facts.push(Fact::cannot_store(explain(&error))),
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
        let replacing: Vec<&String> = if self.options.is_index_new {
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
        let before = manifest.clone();
        let done = prepared.and_then(|()| self.bring(&archives, &index, manifest, report));
        // Other machines, too, write an object before the manifest names it.
        for file in manifest.files().filter(|file| !before.contains(&file.name)) {
            report.survey.places[0].add(&file);
        }
        let waiting: Vec<String> = finished
            .into_iter()
            .filter(|name| is_new(manifest, name))
            .collect();
        if let Err(error) = done {
            report.is_full = error.kind() == StoreErrorKind::Full;
            let fact = self.waiting(&waiting, Fact::upload_failed(&error));
            report.facts.push(fact);
        }
        waiting
    }

    /// Deletes from the first store what killed processes left there.
    fn tidy(&self, survey: &Survey, manifest: &Manifest) -> anyhow::Result<()> {
        UnpublishedObjects::of(&self.folder).discard(&self.store)?;
        if let Ok(listing) = &survey.places[0].listing {
            self.store.tidy(manifest, listing)?;
            // Their lines are in others: a process that was killed did not name them, and the next one made
            // new ones of more files.
            let unnamed = survey.places[0].unnamed_index(manifest);
            if !unnamed.is_empty() {
                self.store.discard(unnamed.iter().map(String::as_str))?;
            }
        }
        Ok(())
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
        if report.facts.is_empty() {
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
        let superseded = self.superseded(index.replacing, manifest, &report.survey)?;
        let mut change = ManifestChange::default();
        for name in index.segments {
            self.add(name, &mut change, report)?;
        }
        if report.facts.is_empty() {
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
        let known = local.metadata().map_err(unreadable(name));
        match known.and_then(|_| self.store.upload(name, &local)) {
            Ok(file) => change.add.push(file),
            Err(error)
                if matches!(
                    error.kind(),
                    StoreErrorKind::Local | StoreErrorKind::Conflict
                ) =>
            {
                report.facts.push(Fact::cannot_store(error.to_string()));
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
        if change.is_empty() {
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
        for file in &change.add {
            report.places[0].add(file);
        }
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
        survey: &Survey,
    ) -> Result<Vec<String>, StoreError> {
        let mut covered = BTreeSet::new();
        for name in segments.iter().filter(|name| name.ends_with(LOC_SUFFIX)) {
            let files = files_of(&self.folder.file(name));
            covered.append(&mut files.map_err(unreadable(name))?);
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
            // A lost segment is a fact of its own.
            let Some((_folder, list)) = self.cache.fetch(&file, survey.having(&file))? else {
                continue;
            };
            let files = files_of(&list).map_err(unreadable(&file.name))?;
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

    /// The fact that files wait for the next run, for this reason; a person has to know after days.
    fn waiting(&self, files: &[String], cause: Fact) -> Fact {
        if cause.needs_person {
            return cause;
        }
        let Some(fact) = Fact::not_stored_yet(files.to_vec(), &cause) else {
            return cause;
        };
        let oldest = files
            .iter()
            .filter_map(|name| self.folder.file(name).metadata().ok()?.modified().ok());
        let is_long_ago = |time: &SystemTime| time.elapsed().is_ok_and(|age| age > PATIENCE);
        let since = oldest.min().filter(is_long_ago);
        match since.map(Timestamp::try_from) {
            Some(Ok(since)) => fact.overdue(since),
            _ => fact,
        }
    }
}

fn bytes_of(files: &[StoredFile]) -> u64 {
    files.iter().map(|file| file.length).sum()
}
