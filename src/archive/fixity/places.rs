//! Checks the places of an archive, each once a day.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use urldb_fetch::Stop;
use urldb_store::{Manifest, Store, StoreErrorKind};

use super::documents::PlaceChecks;
use super::folder::check_folder;
use super::report::CheckReport;
use super::round::{FileReader, Limits, Listing, Reading, check};
use crate::archive::health::{Place, survey};
use crate::archive::remote::{FileCache, open_stores};
use crate::archive::upload::UploadReport;
use crate::config::Config;

/// Reads the share of each place that has not been checked on the day of `now`, and writes the documents. After
/// an upload, `uploaded` is its outcome. A set `stop` ends the check of a place without a change.
///
/// # Errors
/// When the documents cannot be read or written, or a place cannot be set up.
pub fn check_places(
    config: &Config,
    uploaded: Option<&UploadReport>,
    now: Timestamp,
    stop: &Stop,
) -> anyhow::Result<Vec<CheckReport>> {
    if config.archive.stores.is_empty() {
        return check_folder(config, now, stop);
    }
    let file = PlaceChecks::file_in_ledger(&config.ledger_root());
    let mut checks = PlaceChecks::read(&file)?;
    let locations = config.archive.stores.iter();
    let locations: BTreeSet<String> = locations.map(|it| it.location.to_string()).collect();
    checks.0.retain(|place, _| locations.contains(place));
    let is_due = |place: &String| checks.0.get(place).is_none_or(|it| !it.is_of_day(now));
    if !locations.iter().any(is_due) {
        return Ok(vec![]);
    }
    let stores = open_stores(config)?;
    let survey = survey(config, &stores, &FileCache::of(config))?;
    let manifest = survey.manifest();
    // The upload has said so.
    if survey.fault_of(0).is_some() || manifest.names().next().is_none() {
        return Ok(vec![]);
    }
    let mut reports = vec![];
    for (index, place) in survey.places.iter().enumerate() {
        let before = checks.0.get(&place.location);
        if before.is_some_and(|it| it.is_of_day(now)) || survey.fault_of(index).is_some() {
            continue;
        }
        let mut reader = StoreReader {
            place: place.store,
            manifest: &manifest,
            start: Instant::now(),
            stop,
            trouble: None,
        };
        let listing = listing(place, &manifest, uploaded);
        let (check, read) = check(before, &listing, Limits::of(config), now, &mut reader);
        if stop.is_set() {
            break;
        }
        checks.0.insert(place.location.clone(), check.clone());
        checks.write(&file)?;
        reports.push(CheckReport {
            place: place.location.clone(),
            read,
            check: Some(check),
            faults: vec![],
            trouble: reader.trouble,
        });
    }
    Ok(reports)
}

/// Removes names from the documents whose copies an upload has mended.
///
/// # Errors
/// When the documents cannot be read or written.
pub fn note_mended(config: &Config, uploaded: &UploadReport) -> anyhow::Result<()> {
    let file = PlaceChecks::file_in_ledger(&config.ledger_root());
    let mut checks = PlaceChecks::read(&file)?;
    let before = checks.clone();
    for copy in &uploaded.copies {
        if let Some(check) = checks.0.get_mut(&copy.location) {
            for names in [&mut check.missing, &mut check.damaged, &mut check.unread] {
                names.retain(|name| !copy.given.contains(name));
            }
        }
    }
    if checks == before {
        return Ok(());
    }
    checks.write(&file)
}

fn listing(place: &Place<'_>, manifest: &Manifest, uploaded: Option<&UploadReport>) -> Listing {
    let mut listing = Listing {
        serial: Some(manifest.serial()),
        ..Listing::default()
    };
    for file in manifest.files() {
        match place.length(&file.name) {
            None => drop(listing.missing.insert(file.name.clone())),
            Some(length) if length != file.length => {
                listing.damaged.insert(file.name.clone());
            }
            Some(_) => {}
        }
        listing.files.insert(file.name, file.length);
    }
    let copies = uploaded.into_iter().flat_map(|it| &it.copies);
    let given = copies.filter(|it| it.location == place.location);
    listing.given = given.flat_map(|it| it.given.iter().cloned()).collect();
    listing
}

/// Reads files of a place.
struct StoreReader<'a> {
    place: &'a Store,
    manifest: &'a Manifest,
    start: Instant,
    stop: &'a Stop,
    trouble: Option<String>,
}

impl FileReader for StoreReader<'_> {
    fn read(&mut self, name: &str, within: Duration) -> Reading {
        let Some(file) = self.manifest.get(name) else {
            return Reading::Missing;
        };
        let mut output = LimitedSink {
            end: Instant::now() + within,
            stop: self.stop,
        };
        let read = self.place.download(&file, &mut output);
        let Err(error) = read else {
            return Reading::Good;
        };
        match error.kind() {
            StoreErrorKind::Damaged => Reading::Damaged,
            StoreErrorKind::Missing => Reading::Missing,
            // Of the output, whose time is over.
            StoreErrorKind::Local => Reading::Failed,
            _ => {
                self.trouble = Some(error.to_string());
                Reading::Failed
            }
        }
    }

    fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}

/// An output that ends with its time, and with the program.
struct LimitedSink<'a> {
    end: Instant,
    stop: &'a Stop,
}

impl Write for LimitedSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stop.is_set() || Instant::now() > self.end {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
