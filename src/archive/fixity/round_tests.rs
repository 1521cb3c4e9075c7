//! A place over a year: days with random sizes, clocks that step, files that flap, and kills.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::documents::{MOST_NAMES, PlaceCheck};
use super::round::{FileReader, LONGEST_TIME, Limits, Listing, Reading, USUAL_TIME, check, day_of};

const DAY: Duration = Duration::from_hours(24);

/// A file of a simulated place.
#[derive(Debug, Clone)]
struct File {
    length: u64,
    /// The day, by the clock of the run, on which it was read or written last. `None` for a file that a person put
    /// there.
    read: Option<Date>,
    is_damaged: bool,
    is_gone: bool,
    /// Seconds that reading takes.
    seconds: u64,
}

/// A place, its document, and the clock of the machine.
#[derive(Debug)]
struct Place {
    files: BTreeMap<String, File>,
    check: Option<PlaceCheck>,
    now: Timestamp,
    limits: Limits,
    /// Names that were read since the current round began.
    in_round: BTreeSet<String>,
}

/// Reads files of a simulated place, until a kill.
struct SimulatedReader<'a> {
    files: &'a mut BTreeMap<String, File>,
    today: Date,
    elapsed: Duration,
    /// Number of files before the kill.
    left: usize,
    is_killed: bool,
    read: Vec<String>,
}

impl FileReader for SimulatedReader<'_> {
    fn read(&mut self, name: &str, within: Duration) -> Reading {
        let file = self.files.get_mut(name).unwrap();
        assert!(!file.is_gone, "{name} is read, and the list lacks it");
        let takes = Duration::from_secs(file.seconds);
        self.elapsed += takes.min(within);
        if self.left == 0 || takes > within {
            return Reading::Failed;
        }
        self.left -= 1;
        self.read.push(name.to_owned());
        // After a kill, the document stands for the reading before, unless the clock stepped back since.
        file.read = if self.is_killed {
            file.read.max(Some(self.today))
        } else {
            Some(self.today)
        };
        if file.is_damaged {
            return Reading::Damaged;
        }
        Reading::Good
    }

    fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

impl Place {
    fn new(limits: Limits) -> Self {
        Self {
            files: BTreeMap::new(),
            check: None,
            now: "2026-01-01T06:00:00Z".parse().unwrap(),
            limits,
            in_round: BTreeSet::new(),
        }
    }

    fn today(&self) -> Date {
        day_of(self.now)
    }

    /// Writes a file with a checksum.
    fn upload(&mut self, name: String, length: u64, seconds: u64) {
        let file = File {
            length,
            read: Some(self.today()),
            is_damaged: false,
            is_gone: false,
            seconds,
        };
        self.files.entry(name).or_insert(file);
    }

    /// The check at the end of a run; `left` is the number of files before a kill.
    fn run(&mut self, given: BTreeSet<String>, left: usize) {
        if self.check.as_ref().is_some_and(|it| it.is_of_day(self.now)) {
            return;
        }
        let files = self.files.iter();
        let missing = files.clone().filter(|(_, file)| file.is_gone);
        let listing = Listing {
            serial: Some(1),
            missing: missing.map(|(name, _)| name.clone()).collect(),
            files: files
                .map(|(name, file)| (name.clone(), file.length))
                .collect(),
            damaged: BTreeSet::new(),
            given,
        };
        let today = self.today();
        let mut reader = SimulatedReader {
            files: &mut self.files,
            today,
            elapsed: Duration::ZERO,
            left,
            is_killed: left < usize::MAX,
            read: vec![],
        };
        let before = self.check.as_ref();
        let (after, read) = check(before, &listing, self.limits, self.now, &mut reader);
        assert_eq!(read.files, reader.read.len() as u64);
        if reader.is_killed {
            return;
        }
        assert!(reader.elapsed <= LONGEST_TIME + USUAL_TIME);
        let mut lengths: Vec<u64> = reader.read.iter().map(|it| listing.files[it]).collect();
        lengths.sort_unstable();
        // Beside the first doubtful file and the first file of the round.
        let others = lengths.len().saturating_sub(2);
        assert!(lengths[..others].iter().sum::<u64>() <= self.limits.bytes);
        let read: BTreeSet<String> = reader.read.into_iter().collect();
        self.follow_round(&listing, &after, read);
        self.check = Some(after);
    }

    /// A round that ends has read every file of its begin.
    fn follow_round(&mut self, listing: &Listing, after: &PlaceCheck, read: BTreeSet<String>) {
        let before = self.check.as_ref();
        let is_new = before.is_none_or(|it| it.through > after.through || it.through.is_none());
        if is_new {
            self.in_round.clear();
        }
        self.in_round.extend(read);
        let is_over = after.through >= after.round_last;
        let lists = [&after.missing, &after.damaged, &after.unread];
        let is_listed = |name: &String| lists.iter().any(|list| list.contains(name));
        if is_over && lists.iter().all(|list| list.len() < MOST_NAMES) {
            for (name, file) in &self.files {
                // A file that came during the round was written then.
                let is_due =
                    Some(name) <= after.round_last.as_ref() && listing.files.contains_key(name);
                let is_written = file.read >= after.round;
                assert!(
                    !is_due || self.in_round.contains(name) || is_written || is_listed(name),
                    "{name} was not read in the round: {after:?}"
                );
            }
        }
    }

    /// No shown date is later than the last reading.
    fn assert_true(&self) {
        let Some(check) = &self.check else {
            return;
        };
        for (name, file) in &self.files {
            if let Some(shown) = check.read_since(name) {
                let read = file.read;
                assert!(
                    read.is_some_and(|read| shown <= read),
                    "{name}: {shown}, read {read:?}"
                );
            }
        }
    }
}

/// An event of a day.
#[derive(Debug, Clone)]
enum Event {
    /// A run writes a file, whose name is later than all others, or anything.
    Upload {
        is_last: bool,
        length: u64,
        seconds: u64,
    },
    /// The clock steps, by this many hours.
    Step(i16),
    /// A file vanishes from the place.
    Lose(prop::sample::Index),
    /// A person puts a file back.
    PutBack(prop::sample::Index),
    /// A run puts a file back.
    Copy(prop::sample::Index),
    /// A file leaves the archive.
    Remove(prop::sample::Index),
    Damage(prop::sample::Index),
    /// The run is killed after this many files.
    Kill(usize),
}

fn any_event() -> impl Strategy<Value = Event> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        12 => (any::<bool>(), 0..2_000_u64, prop_oneof![9 => 0..9_u64, 1 => 0..900_u64])
            .prop_map(|(is_last, length, seconds)| Event::Upload { is_last, length, seconds }),
        3 => prop_oneof![-30..30_i16, -3_000..3_000_i16].prop_map(Event::Step),
        2 => index().prop_map(Event::Lose),
        2 => index().prop_map(Event::PutBack),
        2 => index().prop_map(Event::Copy),
        1 => index().prop_map(Event::Remove),
        1 => index().prop_map(Event::Damage),
        2 => (0..5_usize).prop_map(Event::Kill),
    ]
}

/// Plays the events of a day, and the run at its end.
fn play(place: &mut Place, day: usize, events: &[Event]) {
    let (mut given, mut left) = (BTreeSet::new(), usize::MAX);
    let step = |event: &Event| match event {
        Event::Step(hours) => SignedDuration::from_hours((*hours).into()),
        _ => SignedDuration::ZERO,
    };
    for hours in events.iter().map(step) {
        place.now += hours;
    }
    let is_killed = events.iter().any(|it| matches!(it, Event::Kill(_)));
    for (number, event) in events.iter().enumerate() {
        let find = |place: &Place, index: &prop::sample::Index| -> Option<String> {
            let names: Vec<&String> = place.files.keys().collect();
            (!names.is_empty()).then(|| (*index.get(&names)).clone())
        };
        match event {
            // The document of a killed run does not take the step of a clock in.
            Event::Upload { .. } | Event::Copy(_) if is_killed => {}
            Event::Upload {
                is_last,
                length,
                seconds,
            } => {
                let first = if *is_last {
                    "z"
                } else {
                    ["a", "m", "zz"][day % 3]
                };
                place.upload(format!("{first}-{day:04}-{number}"), *length, *seconds);
            }
            Event::Lose(index) => {
                if let Some(name) = find(place, index) {
                    place.files.get_mut(&name).unwrap().is_gone = true;
                }
            }
            Event::PutBack(index) | Event::Copy(index) => {
                let is_copy = matches!(event, Event::Copy(_));
                let today = place.today();
                // Between two checks, nobody sees a file that goes and comes.
                let known = |name: &String| {
                    let check = place.check.as_ref();
                    place.files[name].is_gone && check.is_some_and(|it| it.missing.contains(name))
                };
                if let Some(name) = find(place, index).filter(known) {
                    let file = place.files.get_mut(&name).unwrap();
                    file.is_gone = false;
                    file.is_damaged = false;
                    file.read = is_copy.then_some(today);
                    if is_copy {
                        given.insert(name);
                    }
                }
            }
            Event::Remove(index) => {
                if let Some(name) = find(place, index) {
                    place.files.remove(&name);
                }
            }
            Event::Damage(index) => {
                if let Some(name) = find(place, index) {
                    place.files.get_mut(&name).unwrap().is_damaged = true;
                }
            }
            Event::Kill(files) => left = *files,
            Event::Step(_) => {}
        }
    }
    place.run(given, left);
    place.assert_true();
    place.now += SignedDuration::try_from(DAY).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_date_of_a_year_is_later_than_the_reading(
        days in prop::collection::vec(prop::collection::vec(any_event(), 0..4), 365),
        every in 1..120_u64,
        bytes in 0..20_000_u64,
    ) {
        let limits = Limits { every: Duration::from_hours(24 * every), bytes };
        let mut place = Place::new(limits);
        for (day, events) in days.iter().enumerate() {
            play(&mut place, day, events);
        }
    }

    #[test]
    fn every_file_is_read_within_two_rounds(
        sizes in prop::collection::vec(0..2_000_u64, 1..60),
        daily in prop::collection::vec(0..3_usize, 365),
        every in 10..60_u64,
    ) {
        let limits = Limits { every: DAY * u32::try_from(every).unwrap(), bytes: u64::MAX };
        let mut place = Place::new(limits);
        for (number, size) in sizes.iter().enumerate() {
            place.upload(format!("a-{number}"), *size, 0);
        }
        for (day, uploads) in daily.iter().enumerate() {
            for number in 0..*uploads {
                place.upload(format!("z-{day:04}-{number}"), sizes[number % sizes.len()], 0);
            }
            place.run(BTreeSet::new(), usize::MAX);
            place.assert_true();
            let today = place.today();
            // A round ends on the day after its time, and the next one begins on the day after that.
            let oldest = today.saturating_sub(SignedDuration::from_hours(24 * 2 * (i64::try_from(every).unwrap() + 2)));
            for (name, file) in &place.files {
                prop_assert!(file.read >= Some(oldest), "{} was read {:?}, today is {}", name, file.read, today);
            }
            let check = place.check.as_ref().unwrap();
            if day as u64 > 2 * (every + 2) {
                for name in place.files.keys() {
                    prop_assert!(check.read_since(name) >= Some(oldest), "{}: {:?}", name, check);
                }
            }
            place.now += SignedDuration::try_from(DAY).unwrap();
        }
    }
}

/// A daily new file does not keep an archive of few files from being read.
#[test]
fn a_round_ends_with_the_last_name_of_its_begin() {
    let limits = Limits {
        every: DAY * 100,
        bytes: 1_000_000,
    };
    let mut place = Place::new(limits);
    for day in 0..120 {
        place.upload(format!("z-{day:04}"), 10, 0);
        place.run(BTreeSet::new(), usize::MAX);
        place.now += SignedDuration::try_from(DAY).unwrap();
    }
    let first = &place.files["z-0000"];
    assert!(
        first.read > Some("2026-03-01".parse().unwrap()),
        "{first:?}"
    );
    let check = place.check.unwrap();
    assert!(check.round_before.is_some(), "{check:?}");
}

/// The first file has ten minutes, another one what is left of one.
#[test]
fn a_slow_file_is_unread_and_holds_nothing_up() {
    let limits = Limits {
        every: DAY,
        bytes: 1_000_000,
    };
    let mut place = Place::new(limits);
    place.upload("a".to_owned(), 10, 30);
    place.upload("b".to_owned(), 10, 31);
    place.upload("c".to_owned(), 10, 601);
    place.upload("d".to_owned(), 10, 0);
    for (through, unread) in [("a", &[][..]), ("b", &[]), ("c", &["c"]), ("d", &["c"])] {
        place.run(BTreeSet::new(), usize::MAX);
        let check = place.check.as_ref().unwrap();
        assert_eq!(check.through.as_deref(), Some(through));
        assert!(check.unread.iter().eq(unread), "{check:?}");
        assert_eq!(check.read_since("c"), None);
        place.now += SignedDuration::try_from(DAY).unwrap();
    }
}

/// A list that is full has lost names, so that no date holds until a whole round has read everything again.
#[test]
fn a_full_list_ends_all_dates() {
    let limits = Limits {
        every: DAY,
        bytes: 1_000_000,
    };
    let mut place = Place::new(limits);
    for number in 0..300 {
        place.upload(format!("a-{number:03}"), 1, 0);
    }
    let mut dates = vec![];
    for day in 0..6 {
        for file in place.files.values_mut().take(150) {
            file.is_gone = day == 2;
        }
        place.run(BTreeSet::new(), usize::MAX);
        let check = place.check.as_ref().unwrap();
        dates.push(check.read_since("a-299").is_some());
        assert_eq!(check.lacks("a-299"), (day != 2).then_some(false));
        place.now += SignedDuration::try_from(DAY).unwrap();
    }
    assert_eq!(dates, [true, true, false, false, true, true]);
}
