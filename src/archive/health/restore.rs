//! The decisions of `urldb archive repair` about the places of an archive: a lost manifest, and lost files.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write};

use anyhow::Context;
use tempfile::TempDir;
use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, ManifestChange, StoredFile};
use urldb_warc::FindingCode;
use urldb_warc::files::{archive_file_name, is_archive_name, is_index_file};

use super::lost::joined_from;
use super::survey::{Place, Survey};
use super::unfinished::with_unfinished_records;
use crate::ambient::Ambient;
use crate::archive::adoption::{adopt, ensure_sound};
use crate::archive::files::copy_here;
use crate::archive::keys::Keys;
use crate::archive::output_files::{host_in_names, warc_date};
use crate::archive::remote::FileCache;
use crate::archive::rewrite::OWN_PREFIX;
use crate::archive::store_replacement::UnpublishedObjects;
use crate::config::Config;

/// The decision about a lost file.
#[derive(Debug)]
pub struct SettledFile {
    /// The lost file.
    pub file: String,
    /// The outcome.
    pub outcome: Settled,
}

/// See [`SettledFile`].
#[derive(Debug)]
pub enum Settled {
    /// It is a part of the index, which is made anew.
    Index,
    /// The files that it was made of are there, and are named again.
    Recalled(Vec<String>),
    /// The good records of a damaged copy are in another file now, and the rest in these.
    Salvaged {
        /// The name of the other file.
        file: String,
        /// Number of its records.
        records: u64,
        /// The files with what is damaged, on this machine.
        damaged: Vec<String>,
    },
    /// Nothing of it is anywhere.
    Lost,
}

/// Gives the first store a manifest in place of one that it has lost, that is damaged, or that is older than
/// another one. Returns a line about it. Does nothing if the first store has a good manifest, or if a new place
/// was named first: then it would get the files of another archive.
///
/// # Errors
/// When a file of a place cannot be read, or the manifest cannot be written.
pub fn restore_manifest(config: &Config, survey: &mut Survey) -> anyhow::Result<Option<String>> {
    let cache = FileCache::of(config);
    let first = &survey.places[0];
    let is_restorable = match survey.fault_of(0).map(|fact| fact.code) {
        Some(FindingCode::ManifestMissing | FindingCode::ManifestDamaged) => true,
        Some(FindingCode::ManifestOlder) => survey.is_in_ledger(&first.location),
        _ => false,
    };
    if !is_restorable || first.listing.is_err() {
        return Ok(None);
    }
    let mut known: Vec<Manifest> = cache.last_manifest()?.into_iter().collect();
    for place in &survey.places {
        known.extend(place.good_manifest().cloned());
        if let Ok(listing) = &place.listing {
            known.extend(place.store.former_manifest(listing)?);
        }
    }
    let found = found_in(survey, &known, &config.archive_root())?;
    let mut manifest = Manifest::restored(&known, found, survey.latest_serial());
    // The index is made anew.
    let names = survey.names();
    manifest.retain_files(|name| names.contains(name) || !is_index_file(name));
    first.store.restore_manifest(&manifest)?;
    cache.keep_manifest(&manifest);
    let files = manifest.names().count();
    let line = format!(
        "{} has a manifest again: {files} files, serial {}",
        first.location,
        manifest.serial()
    );
    survey.set_manifest(0, &manifest);
    Ok(Some(line))
}

/// The archive files of all places that no manifest knows and of which a place has a sound copy, each with the files
/// that it was made of.
fn found_in(
    survey: &Survey,
    known: &[Manifest],
    folder: &Root,
) -> anyhow::Result<Vec<(StoredFile, Vec<String>)>> {
    let mut found = vec![];
    for name in survey.names() {
        if !is_archive_name(name) || known.iter().any(|manifest| manifest.has_or_had(name)) {
            continue;
        }
        for place in &survey.places {
            let Some(copy) = FileCopy::of_object(place, name, folder)? else {
                continue;
            };
            if ensure_sound(&copy.folder, [name].into_iter()).is_ok() {
                found.push((copy.described()?, joined_from(&copy.file)?));
                break;
            }
        }
    }
    Ok(found)
}

/// Decides what becomes of each lost file, and reports it before the manifest of the first store says so. Does
/// nothing while a place does not list its objects: it may have the file.
///
/// # Errors
/// When the ledger cannot be read, or a file cannot be read or written.
pub fn settle_lost(
    config: &Config,
    survey: &mut Survey,
    ambient: Ambient,
    mut report: impl FnMut(&SettledFile),
) -> anyhow::Result<()> {
    let cache = FileCache::of(config);
    if survey.fault_of(0).is_some() || !survey.is_complete() {
        return Ok(());
    }
    let manifest = survey.manifest();
    let folder = config.archive_root();
    let mut settling = Settling {
        config,
        ambient,
        survey,
        manifest: &manifest,
        folder: &folder,
    };
    for file in manifest.files() {
        if settling.survey.has(&file) || copy_here(&folder, &cache, &file).is_some() {
            continue;
        }
        let outcome = settling.settle(&file.name)?;
        report(&SettledFile {
            file: file.name,
            outcome,
        });
    }
    Ok(())
}

struct Settling<'a> {
    config: &'a Config,
    ambient: Ambient,
    survey: &'a mut Survey,
    manifest: &'a Manifest,
    folder: &'a Root,
}

impl Settling<'_> {
    fn settle(&mut self, name: &str) -> anyhow::Result<Settled> {
        if is_index_file(name) {
            self.lose(name, vec![])?;
            return Ok(Settled::Index);
        }
        let manifest = self.manifest;
        let former = manifest.removed_names();
        let former: Vec<&str> = former
            .filter(|former| manifest.end_of(former) == Some(name))
            .collect();
        let mut gone: BTreeSet<String> = former.iter().map(|it| (*it).to_owned()).collect();
        gone.insert(name.to_owned());
        let recalled = self.recall(&former)?;
        if !recalled.is_empty() {
            let names: Vec<String> = recalled.iter().map(|file| file.name.clone()).collect();
            gone.retain(|name| !names.contains(name));
            forget_captures(self.config, &gone, self.ambient)?;
            self.lose(name, recalled)?;
            return Ok(Settled::Recalled(names));
        }
        // The captures of damaged records are lost, and the ledger does not know which ones those are.
        forget_captures(self.config, &gone, self.ambient)?;
        if let Some(salvaged) = self.salvage(name)? {
            return Ok(salvaged);
        }
        self.lose(name, vec![])?;
        Ok(Settled::Lost)
    }

    /// Names a file as lost, and these files in its place.
    fn lose(&mut self, name: &str, add: Vec<StoredFile>) -> anyhow::Result<()> {
        self.publish(&ManifestChange {
            add,
            lose: BTreeSet::from([name.to_owned()]),
            ..ManifestChange::default()
        })
    }

    fn publish(&mut self, change: &ManifestChange) -> anyhow::Result<()> {
        let published = self.survey.places[0].store.publish(change)?;
        FileCache::of(self.config).keep_manifest(&published.manifest);
        self.survey.set_manifest(0, &published.manifest);
        for file in &change.add {
            self.survey.places[0].add(file);
        }
        Ok(())
    }

    /// Stores those of the former files that are anywhere in the first store.
    fn recall(&self, former: &[&str]) -> anyhow::Result<Vec<StoredFile>> {
        let mut recalled = vec![];
        for name in former {
            for copy in self.copies(name)? {
                if ensure_sound(&copy.folder, [*name].into_iter()).is_ok() {
                    recalled.push(self.survey.places[0].store.upload(name, &copy.file)?);
                    break;
                }
            }
        }
        Ok(recalled)
    }

    /// All copies of a file, whatever their bytes: of this machine, and of each place.
    fn copies(&self, name: &str) -> anyhow::Result<Vec<FileCopy>> {
        let mut copies = vec![];
        let local = self.folder.file(name);
        if local.is_file() {
            copies.push(FileCopy::of_file(&local, self.folder)?);
        }
        for place in &self.survey.places {
            copies.extend(FileCopy::of_object(place, name, self.folder)?);
        }
        Ok(copies)
    }

    /// The copy with the most good records, without its damaged parts, and the number of these records.
    fn best_copy(&self, name: &str) -> anyhow::Result<Option<(FileCopy, u64)>> {
        let mut best: Option<(FileCopy, u64)> = None;
        for copy in self.copies(name)? {
            let repaired = urldb_warc::repair::repair(copy.folder.path(), &Keys)
                .context("cannot repair a copy")?;
            // A copy without good records is gone now, and a damaged one of zstd frames stays damaged.
            if !repaired.left.is_empty() || !copy.file.is_file() {
                continue;
            }
            let records = records_of(&copy.file)?;
            if best.as_ref().is_none_or(|(_, most)| records > *most) {
                best = Some((copy, records));
            }
        }
        Ok(best)
    }

    /// Makes a file of the good records of a damaged one.
    fn salvage(&mut self, name: &str) -> anyhow::Result<Option<Settled>> {
        let Some((copy, records)) = self.best_copy(name)? else {
            return Ok(None);
        };
        let new = self.unused_name()?;
        let unpublished = UnpublishedObjects::of(self.folder);
        // A killed repair may have uploaded another file.
        unpublished.discard(&self.survey.places[0].store)?;
        unpublished.announce([new.as_str()].into_iter())?;
        let stored = self.survey.places[0].store.upload(&new, &copy.file)?;
        let damaged = copy.keep_damaged(self.folder)?;
        self.publish(&ManifestChange {
            add: vec![stored],
            remove: [(name.to_owned(), Some(new.clone()))].into(),
            ..ManifestChange::default()
        })?;
        unpublished.forget()?;
        let local = self.folder.file(name);
        local
            .remove()
            .with_context(|| format!("cannot remove {local}"))?;
        adopt(&self.folder.file(&new), &copy.file)?;
        Ok(Some(Settled::Salvaged {
            file: new,
            records,
            damaged,
        }))
    }

    fn unused_name(&self) -> anyhow::Result<String> {
        let date = warc_date((self.ambient.now)())?;
        let host = host_in_names(&self.config.archive, self.ambient);
        let prefix = OWN_PREFIX.trim_end_matches('-');
        let names = (0..).map(|serial| archive_file_name(prefix, &date, serial, &host));
        let is_unused =
            |name: &String| !self.manifest.has_or_had(name) && !self.folder.file(name).is_file();
        Ok(names.into_iter().find(is_unused).unwrap_or_default())
    }
}

/// A copy of a file in a temporary folder of its own.
pub(super) struct FileCopy {
    pub(super) folder: Root,
    pub(super) file: RootFile,
    _temporary: TempDir,
}

impl FileCopy {
    fn new(name: &str, archive: &Root) -> anyhow::Result<Self> {
        let cannot = || format!("cannot write to {}", archive.path().display());
        archive.make().with_context(cannot)?;
        let temporary = urldb_files::temporary_folder_in(archive.path()).with_context(cannot)?;
        let folder = Root::new(temporary.path(), "the archive");
        Ok(Self {
            file: folder.file(name),
            folder,
            _temporary: temporary,
        })
    }

    /// The object of a place; `None` if the place has no object that can be read.
    ///
    /// # Errors
    /// A [`StoreError`](urldb_store::StoreError) if the place cannot be asked now.
    pub(super) fn of_object(
        place: &Place,
        name: &str,
        archive: &Root,
    ) -> anyhow::Result<Option<Self>> {
        let Some(length) = place.length(name) else {
            return Ok(None);
        };
        let copy = Self::new(name, archive)?;
        let mut output = copy.file.create_new()?;
        let read = place.store.read_object(name, length, &mut output);
        output.flush()?;
        match read {
            Ok(_) => Ok(Some(copy)),
            Err(error) if error.is_transient() => Err(error.into()),
            Err(_) => Ok(None),
        }
    }

    /// A file of this machine.
    fn of_file(file: &RootFile, archive: &Root) -> anyhow::Result<Self> {
        let name = file.name().to_string_lossy().into_owned();
        let copy = Self::new(&name, archive)?;
        let mut output: File = copy.file.create_new()?;
        io::copy(&mut file.open()?, &mut output).with_context(|| format!("cannot copy {file}"))?;
        Ok(copy)
    }

    fn described(&self) -> anyhow::Result<StoredFile> {
        let (length, sha256) = urldb_store::hash(self.file.open()?)?;
        Ok(StoredFile {
            name: self.file.name().to_string_lossy().into_owned(),
            length,
            sha256,
        })
    }

    /// Puts what is damaged into the archive's folder, and returns the names.
    fn keep_damaged(&self, archive: &Root) -> anyhow::Result<Vec<String>> {
        let mut names = vec![];
        for part in self.folder.files()? {
            let name = part.name().to_string_lossy().into_owned();
            if name.ends_with(".damaged") {
                adopt(&archive.file(&name), &part)?;
                names.push(name);
            }
        }
        Ok(names)
    }
}

fn records_of(file: &RootFile) -> anyhow::Result<u64> {
    let cannot = || format!("cannot read {file}");
    let mut reader = urldb_warc::Reader::new(file.open().with_context(cannot)?)?;
    let mut records = 0;
    while let Some(record) = reader.next_record().with_context(cannot)? {
        record.finish().with_context(cannot)?;
        records += 1;
    }
    Ok(records)
}

/// Drops the captures in these files from the ledger, and those of files whose records go on in these files, so
/// that the next run captures the content in full.
///
/// # Errors
/// When the ledger cannot be read or written.
pub fn forget_captures(
    config: &Config,
    files: &BTreeSet<String>,
    ambient: Ambient,
) -> anyhow::Result<()> {
    let folder = config.ledger_root();
    let mut files = files.clone();
    files.extend(with_unfinished_records(config, &files)?);
    let mut ledger = crate::ledger::Ledger::new(&folder);
    for domain in crate::ledger::domains(&folder, |_| true)? {
        ledger.open(&domain)?;
        ledger.forget_captures(&domain, &files, ambient.now_in_seconds())?;
        ledger.close(&domain);
    }
    ledger.save()
}
