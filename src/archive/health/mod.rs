//! The health of an archive: what is wrong with its places and files, and what mends it.
//!
//! - `fact`: a fact in one sentence.
//! - `survey`: what the places answer.
//! - `lost`: files that are nowhere.
//! - `restore`: the decisions that a person makes by `urldb archive repair`.
//! - `unfinished`: records of which a lost file had segments.
//! - `unnamed`: takes in files that no manifest names.

mod fact;
mod lost;
mod restore;
mod survey;
mod unfinished;
mod unnamed;

use std::time::Duration;

use anyhow::Context;
use urldb_files::Root;
use urldb_store::{Manifest, Store, StoredFile};

pub use fact::Fact;
pub(super) use lost::is_taken_apart;
pub use lost::{LostCaptures, files_not_here, files_that_were_here, lost_captures, note_missing};
pub use restore::{Settled, SettledFile, forget_captures, restore_manifest, settle_lost};
pub(super) use survey::Place;
pub use survey::Survey;
pub(super) use unnamed::adopt_unnamed;

use super::files::{copy_here, is_copy, local_names};
use super::fixity::{PlaceCheck, PlaceChecks};
use super::remote::{FileCache, open_stores, stores_to_read};
use crate::config::Config;

/// An object that no manifest has named for longer is that of a process which does not run any more.
const UNNAMED_FOR: Duration = Duration::from_hours(24);

/// Asks each place of an archive what it has. `None` without places.
///
/// # Errors
/// When a place has no credentials or cannot be set up, or the ledger's file about the places cannot be read.
pub fn look(config: &Config) -> anyhow::Result<Option<Survey>> {
    survey(config, open_stores(config)?)
}

fn survey(config: &Config, stores: Vec<Store>) -> anyhow::Result<Option<Survey>> {
    if stores.is_empty() {
        return Ok(None);
    }
    let seen = FileCache::of(config).seen_serial();
    Ok(Some(Survey::take(stores, PlaceChecks::of(config)?, seen)))
}

/// All facts about the places and files of an archive. Changes nothing. With `reads`, the copies on this machine
/// are read too.
///
/// # Errors
/// When the configuration of a place cannot be used, or the folder of the archive, its index or the ledger cannot be
/// read.
pub fn facts(config: &Config, reads: bool) -> anyhow::Result<Vec<Fact>> {
    let Some(survey) = survey(config, stores_to_read(config)?)? else {
        let lost = Fact::lost(files_that_were_here(config)?);
        return Ok(lost.into_iter().collect());
    };
    let cache = FileCache::of(config);
    let folder = config.archive_root();
    let own = local_names(folder.path())?;
    let is_here = |file: &StoredFile| copy_here(&folder, &cache, file).is_some();
    let manifest = survey.manifest();
    let mut facts = survey.facts(&manifest, &own, is_here);
    if reads {
        let bad = bad_copies(&folder, &manifest)?;
        let is_elsewhere = |file: &StoredFile| survey.has(file);
        let bad: Vec<String> = bad
            .into_iter()
            .filter(is_elsewhere)
            .map(|it| it.name)
            .collect();
        facts.extend(Fact::damaged("this machine", bad));
    }
    Ok(facts)
}

/// The facts that are known without asking a place: what the last check of each place lacked or found damaged;
/// without places, what this machine has lost.
///
/// # Errors
/// When the folder of the archive or its index cannot be read.
pub fn noted_facts(config: &Config, checks: &PlaceChecks) -> anyhow::Result<Vec<Fact>> {
    if config.archive.stores.is_empty() {
        return facts(config, false);
    }
    let of_place = |(place, check): (&String, &PlaceCheck)| {
        [
            Fact::missing(place, check.missing.iter().cloned().collect()),
            Fact::damaged(place, check.damaged.iter().cloned().collect()),
        ]
    };
    Ok(checks.0.iter().flat_map(of_place).flatten().collect())
}

/// The files whose copy on this machine has other bytes than the manifest says.
fn bad_copies(folder: &Root, manifest: &Manifest) -> anyhow::Result<Vec<StoredFile>> {
    let mut bad = vec![];
    for file in manifest.files() {
        let local = folder.file(&file.name);
        if local.is_file() {
            let is_good = is_copy(&local, &file);
            if !is_good.with_context(|| format!("cannot read {local}"))? {
                bad.push(file);
            }
        }
    }
    Ok(bad)
}

/// Removes damaged copies from this machine where a place has a good one, and returns their names.
///
/// # Errors
/// As [`facts`], and when a copy cannot be removed.
pub fn remove_bad_copies(config: &Config, survey: &Survey) -> anyhow::Result<Vec<String>> {
    let folder = config.archive_root();
    let mut removed = vec![];
    for file in bad_copies(&folder, &survey.manifest())? {
        if survey.has(&file) {
            let local = folder.file(&file.name);
            local
                .remove()
                .with_context(|| format!("cannot remove {local}"))?;
            removed.push(file.name);
        }
    }
    Ok(removed)
}
