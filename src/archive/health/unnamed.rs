//! Takes in files that a place has and that no manifest names.

use anyhow::Context;
use urldb_files::Root;
use urldb_store::{Manifest, StoreError};

use super::lost::joined_from;
use super::restore::FileCopy;
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
    survey: &Survey,
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
    place: &Place,
    name: &str,
    folder: &Root,
    is_there: impl Fn(&str) -> bool,
) -> anyhow::Result<bool> {
    let copy = match FileCopy::of_object(place, name, folder) {
        Err(error) if !error.is::<StoreError>() => return Err(error),
        copy => copy.ok().flatten(),
    };
    let is_sound = |copy: &FileCopy| ensure_sound(&copy.folder, [name].into_iter()).is_ok();
    let Some(copy) = copy.filter(is_sound) else {
        return Ok(false);
    };
    let is_needed = !name.starts_with(JOINED_PREFIX)
        || !joined_from(&copy.file)?
            .iter()
            .any(|former| is_there(former));
    if is_needed {
        adopt(&folder.file(name), &copy.file)?;
    }
    Ok(is_needed)
}
