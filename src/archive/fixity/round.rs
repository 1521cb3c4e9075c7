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

use super::documents::{MOST_NAMES, PlaceCheck};
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
        if lists.iter().any(|list| list.iter().any(|it| it == name)) {
            return Some(true);
        }
        let is_full = lists.iter().any(|list| list.len() >= MOST_NAMES);
        (!is_full).then_some(false)
    }

    /// The day since which a file was read, or later. `None` if this is unknown.
    pub fn read_since(&self, name: &str) -> Option<Date> {
        if self.lacks(name) != Some(false) || self.unread.iter().any(|it| it == name) {
            return None;
        }
        match &self.through {
            Some(through) if name <= through.as_str() => self.round,
            _ => self.round_before,
        }
    }

    /// Whether a list is full, so that other names may be missing in it.
    fn has_full_list(&self) -> bool {
        let lists = [&self.missing, &self.damaged, &self.unread];
        lists.into_iter().any(|list| list.len() >= MOST_NAMES)
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
    let read = pass.read;
    (pass.finish(now), read)
}

/// A check at work.
struct Pass<'a> {
    listing: &'a Listing,
    round: Option<Date>,
    round_before: Option<Date>,
    round_last: Option<String>,
    through: Option<String>,
    missing: BTreeSet<String>,
    damaged: BTreeSet<String>,
    unread: BTreeSet<String>,
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
        let today = day_of(now);
        let Listing {
            files,
            missing,
            damaged,
            given,
            ..
        } = listing;
        let is_there = |name: &&String| {
            let is_listed = missing.contains(*name) || damaged.contains(*name);
            files.contains_key(*name) && !is_listed && !given.contains(*name)
        };
        let doubtful = |list: fn(&PlaceCheck) -> &[String]| -> BTreeSet<String> {
            let list = before.map(list).unwrap_or_default();
            list.iter().filter(is_there).cloned().collect()
        };
        let mut pass = Self {
            listing,
            round: before.and_then(|it| it.round),
            round_before: before.and_then(|it| it.round_before),
            round_last: before.and_then(|it| it.round_last.clone()),
            through: before.and_then(|it| it.through.clone()),
            missing: missing.clone(),
            damaged: doubtful(|it| &it.damaged),
            unread: doubtful(|it| &it.unread),
            back: doubtful(|it| &it.missing),
            share: share(before, files.values().sum(), limits.every, now),
            most: limits.bytes,
            read: ReadFiles::default(),
        };
        pass.damaged.extend(damaged.iter().cloned());
        let is_future = |date: Option<Date>| date.is_some_and(|date| date > today);
        if is_future(pass.round_before) {
            pass.round_before = None;
        }
        if before.is_none() || is_future(pass.round) {
            pass.begin_round(today);
        } else if pass.next().is_none() {
            pass.round_before = pass.round;
            pass.begin_round(today);
        }
        pass
    }

    fn begin_round(&mut self, today: Date) {
        self.round = Some(today);
        self.round_last = self.listing.files.keys().next_back().cloned();
        self.through = None;
    }

    /// The next name of the round.
    fn next(&self) -> Option<&'a str> {
        use std::ops::Bound::{Excluded, Unbounded};
        let after = self.through.as_deref().map_or(Unbounded, Excluded);
        let mut names = self.listing.files.range::<str, _>((after, Unbounded));
        let (name, _) = names.next()?;
        let is_of_round = self.round_last.as_ref().is_none_or(|last| name <= last);
        is_of_round.then_some(name.as_str())
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
        let names = self.damaged.iter().filter(is_doubtful).chain(&self.back);
        for name in names.cloned().collect::<BTreeSet<_>>() {
            let rest = USUAL_TIME.saturating_sub(reader.elapsed());
            let reading = if rest.is_zero() || !self.has_room(&name) {
                Reading::Failed
            } else {
                reader.read(&name, rest)
            };
            if reading != Reading::Failed {
                self.add(&name, &reading);
            } else if !self.damaged.contains(&name) {
                self.unread.insert(name);
            }
        }
    }

    /// Goes on with the round, by at least one file.
    fn read_round(&mut self, reader: &mut impl FileReader) {
        let mut is_first = true;
        while let Some(name) = self.next() {
            let is_absent = self.missing.contains(name) || self.listing.damaged.contains(name);
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
                self.through = Some(name.to_owned());
                if is_failed {
                    return;
                }
            }
            self.through = Some(name.to_owned());
        }
    }

    /// Takes the outcome of a file in.
    fn add(&mut self, name: &str, reading: &Reading) {
        for list in [&mut self.missing, &mut self.damaged, &mut self.unread] {
            list.remove(name);
        }
        let list = match reading {
            Reading::Good => None,
            Reading::Damaged => Some(&mut self.damaged),
            Reading::Missing => Some(&mut self.missing),
            Reading::Failed => Some(&mut self.unread),
        };
        if let Some(list) = list {
            list.insert(name.to_owned());
        }
        if *reading != Reading::Failed {
            self.read.files += 1;
            self.read.bytes += self.length(name);
        }
    }

    fn finish(self, now: Timestamp) -> PlaceCheck {
        let names = |list: BTreeSet<String>| list.into_iter().take(MOST_NAMES).collect();
        let mut check = PlaceCheck {
            files: self.listing.files.len() as u64,
            serial: self.listing.serial,
            round: self.round,
            round_before: self.round_before,
            round_last: self.round_last,
            through: self.through,
            updated: now,
            missing: names(self.missing),
            damaged: names(self.damaged),
            unread: names(self.unread),
        };
        if check.has_full_list() {
            (check.round, check.round_before) = (None, None);
        }
        check
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
