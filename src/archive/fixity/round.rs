//! The order in which the files of a place are read, and the dates that this order proves.
//!
//! Names up to `through` were read in this round, so at or after its begin; other files in the round before, or
//! they came later, and writing a file with a checksum counts as reading it. A date must never be later than
//! the reading that it stands for:
//!
//! - A round ends with the last name of its begin, since later names came during the round.
//! - A date after today comes from a clock that was wrong, so it is dropped.
//! - No date holds for a name in a list. A full list has lost names, so then no date holds at all.
//! - Only a whole check changes the document. After a kill, the next run checks again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::documents::{MOST_NAMES, PlaceCheck, shorten};
use crate::config::Config;

/// The time after which a check reads no further file.
pub(super) const USUAL_TIME: Duration = Duration::from_mins(1);

/// The time that the first file of a check may take.
pub(super) const LONGEST_TIME: Duration = Duration::from_mins(10);

/// The files of a place, listed completely.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The serial of the manifest; `None` without a manifest.
    pub serial: Option<u64>,
    /// The length of each file that the place should have, by name.
    pub files: BTreeMap<String, u64>,
    /// Names among these that the place lacks.
    pub missing: BTreeSet<String>,
    /// Names among these that have another length in the place.
    pub damaged: BTreeSet<String>,
    /// Names that this run has written into the place.
    pub given: BTreeSet<String>,
}

/// The limits of a check.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The time in which a round should end.
    pub every: Duration,
    /// Most bytes, beside one file.
    pub bytes: u64,
}

impl Limits {
    /// The limits of a repository.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            every: config.archive.check_every,
            bytes: config.archive.check_bytes,
        }
    }
}

/// The outcome of reading a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// The file has its bytes.
    Good,
    /// The file has other bytes.
    Damaged,
    /// The file is gone.
    Missing,
    /// The time was over, or the place gave no answer.
    Failed,
}

/// A reader of the files of a place, with a clock that only goes on.
pub trait FileReader {
    /// Reads a file within a time.
    fn read(&mut self, name: &str, within: Duration) -> Reading;

    /// The time since the check began.
    fn elapsed(&self) -> Duration;
}

/// The number and the bytes of the files that a check has read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReadFiles {
    /// Number of files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The day (UTC) of a point in time.
pub(super) fn day_of(time: Timestamp) -> Date {
    time.to_zoned(TimeZone::UTC).date()
}

impl PlaceCheck {
    /// Whether the place was checked on the day of `now`.
    pub fn is_of_day(&self, now: Timestamp) -> bool {
        day_of(self.updated) == day_of(now)
    }

    /// Whether the place lacks a file, or has other bytes of it. `None` for a name that a full list may have lost.
    pub fn lacks(&self, name: &str) -> Option<bool> {
        let lists = [&self.missing, &self.damaged];
        if lists.iter().any(|list| list.contains(name)) {
            return Some(true);
        }
        let is_full = lists.iter().any(|list| list.len() >= MOST_NAMES);
        (!is_full).then_some(false)
    }

    /// The day since which a file was read, or later. `None` if this is unknown.
    pub fn read_since(&self, name: &str) -> Option<Date> {
        if self.lacks(name) != Some(false) || self.unread.contains(name) {
            return None;
        }
        match &self.through {
            Some(through) if name <= through.as_str() => self.round,
            _ => self.round_before,
        }
    }

    /// Whether a list is full, so that other names may be missing in it.
    fn has_full_list(&self) -> bool {
        [&self.missing, &self.damaged, &self.unread]
            .into_iter()
            .any(|list| list.len() >= MOST_NAMES)
    }
}

/// Reads the share of one check, and returns the next document of the place.
pub(super) fn check(
    before: Option<&PlaceCheck>,
    listing: &Listing,
    limits: Limits,
    now: Timestamp,
    reader: &mut impl FileReader,
) -> (PlaceCheck, ReadFiles) {
    let mut pass = Pass::new(before, listing, limits, now);
    pass.read_doubtful(reader);
    pass.read_round(reader);
    let mut check = pass.check;
    check.lists_mut().into_iter().for_each(shorten);
    if check.has_full_list() {
        (check.round, check.round_before) = (None, None);
    }
    (check, pass.read)
}

/// A check at work.
struct Pass<'a> {
    listing: &'a Listing,
    /// The next document, whose lists may be too long.
    check: PlaceCheck,
    /// Names that were missing, and are not now.
    back: BTreeSet<String>,
    /// Bytes to read.
    share: u64,
    /// Most bytes to read.
    most: u64,
    read: ReadFiles,
}

impl<'a> Pass<'a> {
    fn new(
        before: Option<&PlaceCheck>,
        listing: &'a Listing,
        limits: Limits,
        now: Timestamp,
    ) -> Self {
        let mut check = before.cloned().unwrap_or_default();
        let is_there = |name: &String| {
            let is_listed = listing.missing.contains(name) || listing.damaged.contains(name);
            listing.files.contains_key(name) && !is_listed && !listing.given.contains(name)
        };
        for list in check.lists_mut() {
            list.retain(is_there);
        }
        let back = std::mem::replace(&mut check.missing, listing.missing.clone());
        check.damaged.extend(listing.damaged.iter().cloned());
        check.files = listing.files.len() as u64;
        check.serial = listing.serial;
        check.updated = now;
        let mut pass = Self {
            listing,
            check,
            back,
            share: share(before, listing.files.values().sum(), limits.every, now),
            most: limits.bytes,
            read: ReadFiles::default(),
        };
        pass.begin_round(before.is_none(), day_of(now));
        pass
    }

    /// Begins a round, if this is the first check, the last round has ended, or its date is wrong.
    fn begin_round(&mut self, is_first: bool, today: Date) {
        let has_ended = self.next().is_none();
        let check = &mut self.check;
        // A date after today comes from a clock that was wrong.
        check.round_before = check.round_before.filter(|date| *date <= today);
        if !is_first && check.round.is_none_or(|date| date <= today) {
            if !has_ended {
                return;
            }
            check.round_before = check.round;
        }
        check.round = Some(today);
        check.round_last = self.listing.files.keys().next_back().cloned();
        check.through = None;
    }

    /// The next name of the round.
    fn next(&self) -> Option<&'a str> {
        use std::ops::Bound::{Excluded, Unbounded};
        let after = self.check.through.as_deref().map_or(Unbounded, Excluded);
        let mut names = self.listing.files.range::<str, _>((after, Unbounded));
        let (name, _) = names.next()?;
        self.check
            .round_last
            .as_ref()
            .is_none_or(|last| name <= last)
            .then_some(name.as_str())
    }

    fn length(&self, name: &str) -> u64 {
        self.listing.files.get(name).copied().unwrap_or_default()
    }

    /// Whether the share has room for this file, beside the first one.
    fn has_room(&self, name: &str) -> bool {
        let bytes = self.read.bytes.saturating_add(self.length(name));
        self.read.files == 0 || self.read.bytes < self.share && bytes <= self.most
    }

    /// Reads the files again that were damaged or missing in the last check. Those without an outcome stay
    /// damaged, or are unread.
    fn read_doubtful(&mut self, reader: &mut impl FileReader) {
        let is_doubtful = |name: &&String| !self.listing.damaged.contains(*name);
        let names = self
            .check
            .damaged
            .iter()
            .filter(is_doubtful)
            .chain(&self.back);
        for name in names.cloned().collect::<BTreeSet<_>>() {
            let rest = USUAL_TIME.saturating_sub(reader.elapsed());
            let reading = if rest.is_zero() || !self.has_room(&name) {
                Reading::Failed
            } else {
                reader.read(&name, rest)
            };
            if reading != Reading::Failed {
                self.add(&name, &reading);
            } else if !self.check.damaged.contains(&name) {
                self.check.unread.insert(name);
            }
        }
    }

    /// Goes on with the round, by at least one file.
    fn read_round(&mut self, reader: &mut impl FileReader) {
        let mut is_first = true;
        while let Some(name) = self.next() {
            let is_absent =
                self.check.missing.contains(name) || self.listing.damaged.contains(name);
            if !is_absent {
                if !is_first && !self.has_room(name) {
                    return;
                }
                let most = if is_first { LONGEST_TIME } else { USUAL_TIME };
                let rest = most.saturating_sub(reader.elapsed());
                if !is_first && rest.is_zero() {
                    return;
                }
                let reading = reader.read(name, rest);
                if reading == Reading::Failed && !is_first {
                    // Tomorrow, this file is the first one, and has more time.
                    return;
                }
                is_first = false;
                let is_failed = reading == Reading::Failed;
                self.add(name, &reading);
                self.check.through = Some(name.to_owned());
                if is_failed {
                    return;
                }
            }
            self.check.through = Some(name.to_owned());
        }
    }

    /// Takes the outcome of a file in.
    fn add(&mut self, name: &str, reading: &Reading) {
        for list in self.check.lists_mut() {
            list.remove(name);
        }
        let list = match reading {
            Reading::Good => None,
            Reading::Damaged => Some(&mut self.check.damaged),
            Reading::Missing => Some(&mut self.check.missing),
            Reading::Failed => Some(&mut self.check.unread),
        };
        if let Some(list) = list {
            list.insert(name.to_owned());
        }
        if *reading != Reading::Failed {
            self.read.files += 1;
            self.read.bytes += self.length(name);
        }
    }
}

/// The bytes of a check: those of the place, by the time since the last check. The first check is for a day.
fn share(before: Option<&PlaceCheck>, bytes: u64, every: Duration, now: Timestamp) -> u64 {
    let since = match before {
        None => Duration::from_hours(24),
        // The clock may have stepped back.
        Some(before) => now
            .duration_since(before.updated)
            .try_into()
            .unwrap_or_default(),
    };
    let share = u128::from(bytes) * since.as_millis() / every.as_millis().max(1);
    u64::try_from(share).unwrap_or(u64::MAX)
}
