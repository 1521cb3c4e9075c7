//! Which static records are read in full, and which are only asked whether they have changed.
//!
//! Each has its day, every so many days, evenly spread; which one is a matter of its name alone.

use crate::JobKey;

/// Tells this spreading from others.
const SALT: u64 = u64::from_le_bytes(*b"rehashed");

/// What the archive and the ledger know a content by, to ask whether it is still that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validators {
    /// The URL that served it.
    pub url: String,
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Last-Modified`.
    pub last_modified: Option<String>,
}

/// The days whose records are due now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rehash {
    every: u64,
    today: u64,
    /// How many days are made up for, today included.
    days: u64,
}

impl Rehash {
    /// Everything is read in full.
    pub const ALWAYS: Self = Self {
        every: 1,
        today: 0,
        days: 1,
    };

    /// Each record once in `every` days. Days are numbered; those since the last run are made up
    /// for, and all if there was none.
    pub fn new(every: u64, today: u64, last: Option<u64>) -> Self {
        let days = last.map_or(every, |last| today.saturating_sub(last).max(1));
        Self { every, today, days }
    }

    /// Whether this record has to be read in full.
    pub fn is_due(&self, key: &JobKey) -> bool {
        if self.days >= self.every {
            return true;
        }
        let turn = key.spread(SALT) % self.every;
        (0..self.days).any(|back| self.today.saturating_sub(back) % self.every == turn)
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
}
