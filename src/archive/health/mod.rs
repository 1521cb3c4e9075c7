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
pub(super) use survey::{Place, Survey};
pub(super) use unnamed::adopt_unnamed;

use super::files::{is_copy, local_names};
use super::fixity::{PlaceCheck, PlaceChecks};
use super::remote::{FileCache, open_stores, stores_to_read};
use crate::config::Config;

/// An object that no manifest has named for longer is that of a process which does not run any more.
const UNNAMED_FOR: Duration = Duration::from_hours(24);

/// Asks the places of an archive, which has at least one.
///
/// # Errors
/// When the ledger's file about the places cannot be read.
pub(super) fn survey<'a>(
    config: &Config,
    stores: &'a [Store],
    cache: &FileCache,
) -> anyhow::Result<Survey<'a>> {
    let checks = PlaceChecks::read(&PlaceChecks::file_in_ledger(&config.ledger_root()))?;
    Ok(Survey::take(stores, checks, cache.seen_serial()))
}

/// All facts about the places and files of an archive. Changes nothing. With `reads`, the copies on this machine
/// are read too.
///
/// # Errors
/// When the configuration of a place cannot be used, or the folder of the archive, its index or the ledger cannot be
/// read.
pub fn facts(config: &Config, reads: bool) -> anyhow::Result<Vec<Fact>> {
    let stores = stores_to_read(config)?;
    if stores.is_empty() {
        let lost = files_that_were_here(config)?;
        return Ok(if lost.is_empty() {
            vec![]
        } else {
            vec![Fact::lost(lost)]
        });
    }
    let cache = FileCache::of(config);
    let survey = survey(config, &stores, &cache)?;
    let folder = config.archive_root();
    let own = local_names(folder.path())?;
    let is_here = |file: &StoredFile| {
        let local = folder.file(&file.name);
        is_copy(&local, file).unwrap_or(false) || cache.good_copy(file).is_some()
    };
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
        if !bad.is_empty() {
            facts.push(Fact::damaged("this machine", bad));
        }
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
        let missing =
            (!check.missing.is_empty()).then(|| Fact::missing(place, check.missing.clone()));
        let damaged =
            (!check.damaged.is_empty()).then(|| Fact::damaged(place, check.damaged.clone()));
        [missing, damaged]
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
pub fn remove_bad_copies(config: &Config) -> anyhow::Result<Vec<String>> {
    let stores = open_stores(config)?;
    if stores.is_empty() {
        return Ok(vec![]);
    }
    let survey = survey(config, &stores, &FileCache::of(config))?;
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
