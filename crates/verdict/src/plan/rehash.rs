//! The static records that a run reads in full; it fetches the others with a conditional request.
//!
//! Each record has one day in every N days. The day depends on the record's key alone, and records
//! are spread evenly over the days.

use crate::JobKey;

/// Makes this spreading independent of others by [`JobKey::spread`].
const SALT: u64 = u64::from_le_bytes(*b"rehashed");

/// The days whose records are read in full now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rehash {
    every: u64,
    today: u64,
    /// Number of days to catch up on, today included.
    days: u64,
}

impl Rehash {
    /// Every record is read in full.
    pub const ALWAYS: Self = Self {
        every: 1,
        today: 0,
        days: 1,
    };

    /// Each record once in `every` days. `today` and `last`, the day of the last run, are numbers of
    /// days; days between them are caught up on. Without a last run, every record is due.
    pub fn new(every: u64, today: u64, last: Option<u64>) -> Self {
        let days = last.map_or(every, |last| today.saturating_sub(last).max(1));
        Self { every, today, days }
    }

    /// The days of an earlier run: `days` of them, up to and with `today`.
    pub fn of_days(every: u64, today: u64, days: u64) -> Self {
        let every = every.max(1);
        Self { every, today, days }
    }

    /// In how many days each record has one turn.
    pub fn every(&self) -> u64 {
        self.every
    }

    /// Number of days to catch up on, today included.
    pub fn days(&self) -> u64 {
        self.days
    }

    /// Whether this record has to be read in full.
    pub fn is_due(&self, key: &JobKey) -> bool {
        if self.days >= self.every {
            return true;
        }
        let turn = key.spread(SALT) % self.every;
        let today = self.today % self.every;
        // The number of days since its turn. The history may name any number of days, so none is counted.
        let ago = match today.checked_sub(turn) {
            Some(ago) => ago,
            None => self.every - (turn - today),
        };
        ago < self.days
    }
}

#[cfg(test)]
mod tests {
    use urldb_canon::Scheme;

    use super::*;

    fn keys() -> Vec<JobKey> {
        let key = |number| JobKey {
            domain: "example.org".to_owned(),
            path: format!("/{number}"),
            request: None,
            variant: None,
            alias: None,
            scheme: Scheme::Http,
        };
        (0..700).map(key).collect()
    }

    #[test]
    fn each_has_its_turn_once_and_days_are_alike() {
        let mut turns = vec![0; 700];
        for today in 100..107 {
            let rehash = Rehash::new(7, today, Some(today - 1));
            let mut due = 0;
            for (key, turns) in keys().iter().zip(&mut turns) {
                *turns += u64::from(rehash.is_due(key));
                due += u64::from(rehash.is_due(key));
            }
            assert!((60..140).contains(&due), "{due} of 700 on one day of seven");
        }
        assert!(turns.iter().all(|turns| *turns == 1));
    }

    #[test]
    fn days_without_a_run_are_made_up_for() {
        let due = |rehash: Rehash| keys().iter().filter(|key| rehash.is_due(key)).count();
        let single = |today| due(Rehash::new(7, today, Some(today - 1)));
        assert_eq!(
            due(Rehash::new(7, 102, Some(99))),
            single(100) + single(101) + single(102)
        );
        assert_eq!(
            due(Rehash::new(7, 102, Some(102))),
            single(102),
            "a second run on that day"
        );
        for all in [
            Rehash::new(7, 107, Some(100)),
            Rehash::new(7, 107, None),
            Rehash::new(1, 107, Some(107)),
            Rehash::ALWAYS,
        ] {
            assert_eq!(due(all), 700);
        }
    }

    #[test]
    fn any_numbers_of_a_history_have_an_end() {
        let half = Rehash::of_days(u64::MAX, 100, u64::MAX / 2);
        let due = keys().iter().filter(|key| half.is_due(key)).count();
        assert!((250..450).contains(&due), "{due} of 700");
        assert!(Rehash::of_days(0, 100, 1).is_due(&keys()[0]));
    }
}
