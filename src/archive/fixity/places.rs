//! Checks the places of an archive, each once a day.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use urldb_fetch::Stop;
use urldb_store::{Manifest, Store, StoreError, StoreErrorKind};

use super::documents::PlaceChecks;
use super::folder::check_folder;
use super::report::CheckReport;
use super::round::{FileReader, Limits, Listing, Reading, check};
use crate::archive::health::{Fact, Place};
use crate::archive::upload::UploadReport;
use crate::config::Config;

/// Reads the share of each place that has not been checked on the day of `now`, and writes the documents. `uploaded`
/// is the outcome of the upload before; without it, nothing is known about the places. A set `stop` ends the check of a
/// place without a change.
///
/// # Errors
/// When the documents cannot be read or written.
pub fn check_places(
    config: &Config,
    uploaded: Option<&UploadReport>,
    now: Timestamp,
    stop: &Stop,
) -> anyhow::Result<Vec<CheckReport>> {
    if config.archive.stores.is_empty() {
        return check_folder(config, now, stop);
    }
    let Some(uploaded) = uploaded else {
        return Ok(vec![]);
    };
    let survey = &uploaded.survey;
    let file = PlaceChecks::file_in_ledger(&config.ledger_root());
    let mut checks = PlaceChecks::read(&file)?;
    let is_place = |known: &String| survey.places.iter().any(|it| it.location == *known);
    checks.0.retain(|known, _| is_place(known));
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
            place: &place.store,
            manifest: &manifest,
            start: Instant::now(),
            stop,
            trouble: None,
        };
        let given = &uploaded.places[index].given;
        let listing = listing(place, &manifest, given.clone());
        let (check, read) = check(before, &listing, Limits::of(config), now, &mut reader);
        if stop.is_set() {
            break;
        }
        let failed = |error| Fact::check_ended(&place.location, &error);
        reports.push(CheckReport {
            place: place.location.clone(),
            read,
            has_damage: !check.damaged.is_empty(),
            facts: reader.trouble.map(failed).into_iter().collect(),
        });
        checks.0.insert(place.location.clone(), check);
        checks.write(&file)?;
    }
    Ok(reports)
}

/// Removes names from the documents whose copies an upload has mended.
///
/// # Errors
/// When the documents cannot be read or written.
pub fn note_fixed(config: &Config, uploaded: &UploadReport) -> anyhow::Result<()> {
    let file = PlaceChecks::file_in_ledger(&config.ledger_root());
    let mut checks = PlaceChecks::read(&file)?;
    let before = checks.clone();
    for copy in &uploaded.places {
        if let Some(check) = checks.0.get_mut(&copy.location) {
            for names in check.lists_mut() {
                names.retain(|name| !copy.given.contains(name));
            }
        }
    }
    if checks == before {
        return Ok(());
    }
    checks.write(&file)
}

fn listing(place: &Place, manifest: &Manifest, given: BTreeSet<String>) -> Listing {
    let mut listing = Listing {
        serial: Some(manifest.serial()),
        given,
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
    listing
}

/// Reads files of a place.
struct StoreReader<'a> {
    place: &'a Store,
    manifest: &'a Manifest,
    start: Instant,
    stop: &'a Stop,
    trouble: Option<StoreError>,
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
                self.trouble = Some(error);
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
