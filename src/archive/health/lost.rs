//! The files of an archive that are nowhere.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use anyhow::Context;
use urldb_store::Manifest;
use urldb_warc::files::{FileSource, is_archive_name, names_in};
use urldb_warc::{Digest, Reader, WarcDate};

use super::fact::Fact;
use super::survey::Survey;
use super::unfinished::with_unfinished_records;
use crate::archive::catalogue::Catalogue;
use crate::archive::files::ArchiveFiles;
use crate::archive::remote::FileCache;
use crate::archive::retrieve::is_full_with;
use crate::archive::rewrite::{JOINED_FROM, JOINED_PREFIX};
use crate::config::Config;
use crate::ledger::{Ledger, LedgerCapture};
use crate::limits;

/// The file in the folder of an archive without places that has the names of files which are gone and
/// which the index no longer names.
const MISSING: &str = ".missing";

/// The captures of the ledger that are nowhere.
#[derive(Debug, Default)]
pub struct LostCaptures {
    /// The files that they were in, or began in.
    pub files: BTreeSet<String>,
    /// Facts for people.
    pub facts: Vec<Fact>,
    /// The number of captures on which this machine knows nothing: it has no index, and the archive no places.
    pub unknown: u64,
}

/// Finds the captures of these hosts in the ledger whose files are lost, or were never stored. Concludes it
/// only if every place has listed all its objects, and if the index has the captures in no other file.
///
/// # Errors
/// When a place has no credentials or cannot be set up or read, or the ledger cannot be read.
pub fn lost_captures(
    config: &Config,
    ledger: &mut Ledger,
    hosts: &[String],
) -> anyhow::Result<LostCaptures> {
    let holdings = Holdings::find(config, super::look(config)?.as_ref())?;
    let mut gone = GoneCaptures::new();
    for host in hosts {
        ledger.open(host)?;
        for capture in ledger.captures_where(host, |file| !holdings.has(file))? {
            gone.entry(capture.file.clone()).or_default().push(capture);
        }
        ledger.close(host);
    }
    let mut found = LostCaptures::default();
    if !holdings.is_complete {
        return Ok(found);
    }
    let lost = holdings.lost();
    if !lost.is_empty() {
        found.files = with_unfinished_records(config, &lost)?;
    }
    if gone.is_empty() {
        return Ok(found);
    }
    let gone = match in_no_file(config, &holdings, gone) {
        Ok(gone) => gone,
        Err(error) => {
            found.facts.push(Fact::index_unreadable(&error));
            return Ok(found);
        }
    };
    let mut never = vec![];
    for (file, captures) in gone {
        match holdings.file_state(&file) {
            FileState::Lost => {}
            FileState::NeverStored => never.push(file.clone()),
            FileState::Unknown => {
                found.unknown += captures.len() as u64;
                continue;
            }
        }
        found.files.insert(file);
    }
    found.facts.extend(Fact::never_stored(never));
    Ok(found)
}

/// Captures of the ledger, by the file that is gone.
type GoneCaptures = BTreeMap<String, Vec<LedgerCapture>>;

/// The captures that the index has in no other file that is there.
fn in_no_file(
    config: &Config,
    holdings: &Holdings,
    mut gone: GoneCaptures,
) -> anyhow::Result<GoneCaptures> {
    let Some(files) = ArchiveFiles::if_any(config)? else {
        return Ok(gone);
    };
    if !files.has_index()? {
        return Ok(gone);
    }
    let catalogue = Catalogue::open(files)?;
    for (file, captures) in &mut gone {
        let mut outcome = Ok(());
        captures.retain(|capture| {
            let found = is_elsewhere(&catalogue, holdings, file, capture);
            let is_left = found.as_ref().is_ok_and(|is_elsewhere| !is_elsewhere);
            if let Err(error) = found {
                outcome = Err(error);
            }
            is_left
        });
        outcome?;
    }
    gone.retain(|_, captures| !captures.is_empty());
    Ok(gone)
}

/// Whether the index has a capture in another file that is there.
fn is_elsewhere(
    catalogue: &Catalogue,
    holdings: &Holdings,
    file: &str,
    capture: &LedgerCapture,
) -> anyhow::Result<bool> {
    let date = capture.date.parse().map(|it: WarcDate| it.to_timestamp14());
    let digest = capture.digest.parse::<Digest>().ok();
    let lines = catalogue.lines_about(&capture.uri)?;
    Ok(digest.is_some_and(|digest| {
        lines.iter().any(|line| {
            date.as_ref() == Ok(&line.timestamp)
                && is_full_with(line, &digest)
                && line.filename != file
                && holdings.has(&line.filename)
        })
    }))
}

/// The knowledge of a file that is nowhere.
enum FileState {
    /// The archive had it.
    Lost,
    /// No place ever had it.
    NeverStored,
    /// Another machine may have it.
    Unknown,
}

/// The places of the files of an archive.
struct Holdings {
    /// The names of the files in the folder of the archive, and of objects with the right length.
    names: BTreeSet<String>,
    /// The manifest of the archive; `None` without places.
    manifest: Option<Manifest>,
    /// Without places: the names of files that this machine had.
    had: BTreeSet<String>,
    /// Whether each place has listed all its objects.
    is_complete: bool,
}

impl Holdings {
    fn find(config: &Config, survey: Option<&Survey>) -> anyhow::Result<Self> {
        let mut names = own_names(config)?;
        let Some(survey) = survey else {
            return Ok(Self {
                had: files_that_were_here(config)?.into_iter().collect(),
                names,
                manifest: None,
                is_complete: true,
            });
        };
        let cache = FileCache::of(config);
        let manifest = survey.manifest();
        let is_usable = survey.fault_of(0).is_none();
        for name in survey.names() {
            let is_good = manifest.get(name).is_none_or(|file| survey.has(&file));
            if is_good {
                names.insert(name.to_owned());
            }
        }
        let cached = manifest.files().filter(|file| cache.has(file));
        names.extend(cached.map(|file| file.name));
        Ok(Self {
            names,
            had: BTreeSet::new(),
            is_complete: survey.is_complete() && is_usable,
            manifest: Some(manifest),
        })
    }

    /// Whether a file is anywhere, or the file that has its records.
    fn has(&self, name: &str) -> bool {
        if self.names.contains(name) {
            return true;
        }
        let Some(manifest) = &self.manifest else {
            return false;
        };
        if !manifest.was_removed(name) {
            return false;
        }
        let end = manifest.end_of(name);
        end.is_none_or(|end| self.names.contains(end))
    }

    /// The names of files that the archive had, and that are nowhere.
    fn lost(&self) -> BTreeSet<String> {
        let Some(manifest) = &self.manifest else {
            return self.had.clone();
        };
        manifest
            .files()
            .map(|file| file.name)
            .filter(|name| !self.names.contains(name))
            .collect()
    }

    fn file_state(&self, name: &str) -> FileState {
        match &self.manifest {
            Some(manifest) if manifest.has_or_had(name) => FileState::Lost,
            Some(_) => FileState::NeverStored,
            None if self.had.contains(name) => FileState::Lost,
            None => FileState::Unknown,
        }
    }
}

fn own_names(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let root = config.archive_root();
    match names_in(root.path()) {
        Err(_) if !root.is_folder() => Ok(BTreeSet::new()),
        names => names.context("cannot list the files of the archive"),
    }
}

/// The files of an archive without places that this machine had and has no more, sorted: the index names them,
/// or did so until it was made anew. A file that was joined into another one is not among them.
///
/// # Errors
/// When the folder or the index cannot be read.
pub fn files_that_were_here(config: &Config) -> anyhow::Result<Vec<String>> {
    let root = config.archive_root();
    if !root.is_folder() {
        return Ok(vec![]);
    }
    let names = own_names(config)?;
    let mut had = urldb_warc::index::indexed_files(root.path()).context("cannot read the index")?;
    had.extend(noted_missing(config)?);
    // A replacement that goes on, or was killed, has lines of files that are not there yet, or no more.
    let hidden = FileSource::hidden(&root.path()).context("cannot list the archive's files")?;
    had.retain(|name| is_archive_name(name) && !names.contains(name) && !hidden.contains(name));
    if !had.is_empty() {
        let joined = names.iter().filter(|name| name.starts_with(JOINED_PREFIX));
        for name in joined {
            for former in joined_from(&root.file(name))? {
                had.remove(&former);
            }
        }
    }
    Ok(had.into_iter().collect())
}

/// The files of an archive without places that the ledger names and this machine does not have.
///
/// # Errors
/// When the folder or the ledger cannot be read.
pub fn files_not_here(config: &Config) -> anyhow::Result<BTreeSet<String>> {
    let names = own_names(config)?;
    let folder = config.ledger_root();
    let mut ledger = Ledger::new(&folder);
    let mut files = BTreeSet::new();
    for domain in crate::ledger::domains(&folder, |_| true)? {
        ledger.open(&domain)?;
        let captures = ledger.captures_where(&domain, |file| !names.contains(file))?;
        files.extend(captures.into_iter().map(|capture| capture.file));
        ledger.close(&domain);
    }
    Ok(files)
}

fn noted_missing(config: &Config) -> anyhow::Result<Vec<String>> {
    let file = config.archive_root().file(MISSING);
    match file.read_to_string(limits::STORE_MANIFEST) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        text => {
            let text = text.with_context(|| format!("cannot read {file}"))?;
            Ok(text.lines().map(str::to_owned).collect())
        }
    }
}

/// Keeps the names of files that are gone, before the index forgets them.
///
/// # Errors
/// When the file cannot be written.
pub fn note_missing(config: &Config, names: &[String]) -> anyhow::Result<()> {
    let file = config.archive_root().file(MISSING);
    let done = if names.is_empty() {
        file.remove().map(drop)
    } else {
        file.replace(format!("{}\n", names.join("\n")).as_bytes())
    };
    done.with_context(|| format!("cannot write {file}"))
}

/// The files that a joined file was made of, as its first record says. None if it does not say so.
///
/// # Errors
/// When the file cannot be read.
pub(in crate::archive) fn joined_from(file: &urldb_files::RootFile) -> anyhow::Result<Vec<String>> {
    let cannot = || format!("cannot read {file}");
    let mut reader = Reader::new(file.open().with_context(cannot)?).with_context(cannot)?;
    let mut text = vec![];
    match reader.next_record() {
        Ok(Some(mut record)) => {
            use std::io::Read as _;
            let limit = limits::STORE_MANIFEST.get();
            if record.by_ref().take(limit).read_to_end(&mut text).is_err() {
                return Ok(vec![]);
            }
        }
        // A damaged file says nothing.
        _ => return Ok(vec![]),
    }
    let text = String::from_utf8_lossy(&text);
    let field = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name == JOINED_FROM).then(|| value.trim().to_owned())
    });
    let names = field.unwrap_or_default();
    let names = names.split(", ").filter(|name| !name.is_empty());
    Ok(names.map(str::to_owned).collect())
}

/// Whether a file of this machine is a lost one that was joined from files which the archive has again: its records
/// would be there twice.
///
/// # Errors
/// When the file cannot be read.
pub(in crate::archive) fn is_taken_apart(
    folder: &urldb_files::Root,
    name: &str,
    manifest: &Manifest,
) -> anyhow::Result<bool> {
    if !name.starts_with(JOINED_PREFIX) || !manifest.has_lost(name) {
        return Ok(false);
    }
    let former = joined_from(&folder.file(name))?;
    Ok(!former.is_empty() && former.iter().all(|name| manifest.contains(name)))
}
