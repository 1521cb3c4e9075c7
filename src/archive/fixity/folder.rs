//! Checks an archive without places: there is no manifest, but each record has digests of its own.

use std::time::{Duration, Instant};

use anyhow::Context;
use jiff::Timestamp;
use urldb_fetch::Stop;
use urldb_files::Root;
use urldb_warc::FindingCode;
use urldb_warc::files::is_archive_name;
use urldb_warc::verify::Verifier;

use super::documents::PlaceChecks;
use super::report::CheckReport;
use super::round::{FileReader, Limits, Listing, Reading, check};
use crate::archive::Keys;
use crate::archive::files::local_names;
use crate::archive::health::Fact;
use crate::config::Config;

/// Most damaged files of which each has a fact of its own.
const MOST_FACTS: usize = 5;

/// Reads the share of the folder of an archive, unless it was checked on the day of `now`.
///
/// # Errors
/// When the files cannot be listed, or the document cannot be read or written.
pub(super) fn check_folder(
    config: &Config,
    now: Timestamp,
    stop: &Stop,
) -> anyhow::Result<Vec<CheckReport>> {
    let root = config.archive_root();
    let file = PlaceChecks::file_in_archive(&root);
    let mut checks = PlaceChecks::read(&file)?;
    let place = config.relative_name(root.path());
    checks.0.retain(|known, _| *known == place);
    let before = checks.0.get(&place);
    let listing = listing(&root)?;
    if listing.files.is_empty() || before.is_some_and(|it| it.is_of_day(now)) {
        return Ok(vec![]);
    }
    let mut reader = FolderReader {
        root: &root,
        start: Instant::now(),
        stop,
        damage: vec![],
    };
    let (checked, read) = check(before, &listing, Limits::of(config), now, &mut reader);
    if stop.is_set() {
        return Ok(vec![]);
    }
    let mut facts = reader.damage;
    let others = facts
        .drain(MOST_FACTS.min(facts.len())..)
        .flat_map(|fact| fact.files)
        .collect();
    facts.extend(Fact::damaged(&place, others));
    let report = CheckReport {
        place: place.clone(),
        read,
        has_damage: !checked.damaged.is_empty(),
        facts,
    };
    checks.0.insert(place, checked);
    checks.write(&file)?;
    Ok(vec![report])
}

fn listing(root: &Root) -> anyhow::Result<Listing> {
    let names = local_names(root.path()).context("cannot list the files of the archive")?;
    let mut listing = Listing::default();
    for name in names.into_iter().filter(|name| is_archive_name(name)) {
        // A file that went meanwhile is none of the archive.
        if let Ok(known) = root.file(&name).metadata() {
            listing.files.insert(name, known.len());
        }
    }
    Ok(listing)
}

/// Verifies files of a folder. A file of the usual size takes seconds, so the time only decides whether to begin.
struct FolderReader<'a> {
    root: &'a Root,
    start: Instant,
    stop: &'a Stop,
    damage: Vec<Fact>,
}

impl FileReader for FolderReader<'_> {
    fn read(&mut self, name: &str, within: Duration) -> Reading {
        let file = self.root.file(name);
        if within.is_zero() || self.stop.is_set() {
            return Reading::Failed;
        }
        if !file.is_file() {
            return Reading::Missing;
        }
        let mut damage = None;
        let folder = self.root.path();
        let mut report = |finding: urldb_warc::verify::ArchiveFinding| {
            if is_of_bytes(finding.code) && damage.is_none() {
                let at = finding
                    .offset
                    .map(|at| format!(" at byte {at}"))
                    .unwrap_or_default();
                damage = Some(format!("{file} is damaged{at}: {}", finding.message));
            }
        };
        let mut verifier = Verifier::new(&folder, &Keys, &mut report).without_index();
        verifier.file(name, &file.path());
        drop(verifier);
        match damage {
            None => Reading::Good,
            Some(damage) => {
                let fact = Fact::records_damaged(name.to_owned(), damage);
                self.damage.extend(fact);
                Reading::Damaged
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// Whether a finding says that bytes are others than they were. Other findings are about how a program wrote
/// them, or about several files.
fn is_of_bytes(code: FindingCode) -> bool {
    use FindingCode as Code;
    matches!(
        code,
        Code::EmptyFile
            | Code::NotAnArchive
            | Code::Unreadable
            | Code::CutOff
            | Code::GzipHeader
            | Code::GzipData
            | Code::GzipChecksum
            | Code::GzipTrailer
            | Code::ZstdData
            | Code::Zeros
            | Code::NoRecord
            | Code::NotClosed
            | Code::PassedOver
            | Code::BlockDigest
            | Code::PayloadDigest
    )
}
