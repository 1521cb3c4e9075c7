//! The files of an archive on this machine, and the room that they take.

use std::collections::BTreeSet;
use std::io;
use std::time::SystemTime;

use anyhow::Context;
use urldb_files::{Root, RootFile};
use urldb_store::{Manifest, StoredFile};
use urldb_warc::files::{LOC_SUFFIX, is_archive_name, is_index_file};
use urldb_warc::index::{LARGEST_LIST, files_of_segment};

use super::files::local_names;
use super::health::{Survey, is_taken_apart};
use super::remote::FileCache;

/// The archive files whose lines a segment of the index has, by its list.
pub(super) fn files_of(list: &RootFile) -> io::Result<BTreeSet<String>> {
    files_of_segment(&list.read(LARGEST_LIST)?)
}

/// The names of the finished files in the folder of an archive, sorted.
pub(super) fn finished_files(folder: &Root) -> anyhow::Result<Vec<String>> {
    let names = local_names(folder.path()).context("cannot list the files of the archive")?;
    let is_ours = |name: &String| is_index_file(name) || is_archive_name(name);
    Ok(names.into_iter().filter(is_ours).collect())
}

/// Removes joined files that were lost and whose former files the archive has again, as another machine decided.
pub(super) fn remove_taken_apart(folder: &Root, manifest: &Manifest) -> anyhow::Result<()> {
    for name in finished_files(folder)? {
        if is_taken_apart(folder, &name, manifest)? {
            remove(&folder.file(&name))?;
        }
    }
    Ok(())
}

/// Removes local copies: of files that another machine has replaced, and the oldest of stored files
/// beyond the size of the cache, unless a place that answered lacks them. The index stays.
pub(super) fn make_room(
    folder: &Root,
    cache: &FileCache,
    manifest: &Manifest,
    survey: &Survey,
) -> anyhow::Result<()> {
    let mut copies: Vec<(SystemTime, u64, RootFile)> = vec![];
    for name in finished_files(folder)? {
        let file = folder.file(&name);
        if manifest.was_removed(&name) {
            let end = manifest.end_of(&name);
            let is_superseded = |end| manifest.get(end).is_some_and(|end| survey.has(&end));
            if end.is_none_or(is_superseded) {
                remove_replaced(folder, &name, manifest, survey)?;
            }
            continue;
        }
        let known = match file.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            known => known.with_context(|| format!("cannot read {file}"))?,
        };
        // Another length is damage, which `verify` shows.
        let is_everywhere = |file: &StoredFile| {
            let mut answered = survey.places.iter().filter(|place| place.listing.is_ok());
            file.length == known.len() && answered.all(|place| place.has(file))
        };
        let is_stored = manifest.get(&name).is_some_and(|file| is_everywhere(&file));
        if is_stored && !is_index_file(&name) {
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
        if total <= cache.limit {
            break;
        }
        remove(&file)?;
        total -= length;
    }
    cache.trim(total);
    Ok(())
}

/// Removes the local copy of a file that another machine has replaced. With a segment of the index go
/// the local copies of its archive files: they would be indexed again.
fn remove_replaced(
    folder: &Root,
    name: &str,
    manifest: &Manifest,
    survey: &Survey,
) -> anyhow::Result<()> {
    let local = folder.file(name);
    if is_index_file(name) && name.ends_with(LOC_SUFFIX) {
        for file in files_of(&local).unwrap_or_default() {
            if manifest.get(&file).is_some_and(|file| survey.has(&file)) {
                remove(&folder.file(file))?;
            }
        }
    }
    remove(&local)
}

fn remove(file: &RootFile) -> anyhow::Result<()> {
    file.remove()
        .map(drop)
        .with_context(|| format!("cannot remove {file}"))
}
