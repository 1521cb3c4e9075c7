//! Takes in files that a place has and that no manifest names.

use std::io::Write;

use anyhow::Context;
use urldb_files::Root;
use urldb_store::Manifest;

use super::lost::joined_from;
use super::survey::{Place, Survey};
use crate::archive::adoption::{adopt, ensure_sound};
use crate::archive::rewrite::{JOINED_PREFIX, OWN_PREFIX};
use crate::config::Config;

/// Copies files of runs that no manifest has named for a day to this machine, which stores them as its own: their
/// run ended before it named them, or the first store was away. A file that was joined from others comes only
/// if those are gone: else its records would be there twice.
///
/// # Errors
/// When the folder of the archive cannot be written. A file that cannot be read, or is damaged, stays a fact.
pub(in crate::archive) fn adopt_unnamed(
    config: &Config,
    survey: &Survey<'_>,
    manifest: &Manifest,
) -> anyhow::Result<()> {
    let folder = config.archive_root();
    let names = survey.names();
    let is_there = |name: &str| manifest.contains(name) || names.contains(name);
    let mut is_any_new = false;
    for place in &survey.places {
        for name in place.unnamed(manifest) {
            if name.starts_with(OWN_PREFIX) && !folder.file(&name).is_file() {
                is_any_new |= adopt_from(place, &name, &folder, is_there)?;
            }
        }
    }
    if !is_any_new {
        return Ok(());
    }
    urldb_warc::index::complete_index(folder.path(), &crate::archive::Keys)
        .map(drop)
        .context("cannot update the archive's index")
}

/// Copies a file to this machine, if it is sound. Whether it did so.
fn adopt_from(
    place: &Place<'_>,
    name: &str,
    folder: &Root,
    is_there: impl Fn(&str) -> bool,
) -> anyhow::Result<bool> {
    folder
        .make()
        .with_context(|| format!("cannot make {}", folder.path().display()))?;
    let temporary = urldb_files::temporary_folder_in(folder.path())?;
    let inside = Root::new(temporary.path(), "the archive");
    let copy = inside.file(name);
    let mut output = copy.create_new()?;
    let length = place.length(name).unwrap_or_default();
    let read = place.store.read_object(name, length, &mut output);
    if read.is_err()
        || output.flush().is_err()
        || ensure_sound(&inside, [name].into_iter()).is_err()
    {
        return Ok(false);
    }
    let is_needed = !name.starts_with(JOINED_PREFIX)
        || !joined_from(&copy)?.iter().any(|former| is_there(former));
    if is_needed {
        adopt(&folder.file(name), &copy)?;
    }
    Ok(is_needed)
}
