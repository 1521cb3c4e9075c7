//! Tells that a run is late: a scheduler skipped runs, or began this one long after its time. Until
//! then, nobody was told about broken promises.

use jiff::{SignedDuration, Timestamp};

/// Most earlier intervals that show how often runs begin, and fewest.
const INTERVALS: std::ops::RangeInclusive<usize> = 3..=10;

/// A smaller delay is never named.
const SMALLEST_DELAY: SignedDuration = SignedDuration::from_mins(10);

/// An interval between runs that is longer than usual.
pub struct Overdue {
    /// The start of the last run.
    pub last: Timestamp,
    /// The time since then, for people.
    pub interval: String,
    /// How often runs usually begin, for people.
    pub usual: String,
}

/// Whether a run is overdue at the time `now`: the last interval is more than one and a half times the
/// median of the intervals before. `starts` are the starts of earlier runs, in any order.
pub fn overdue(mut starts: Vec<Timestamp>, now: Timestamp) -> Option<Overdue> {
    starts.retain(|start| *start < now);
    starts.sort();
    let last = *starts.last()?;
    let intervals = starts.windows(2).rev().take(*INTERVALS.end());
    let mut intervals: Vec<SignedDuration> =
        intervals.map(|two| two[1].duration_since(two[0])).collect();
    if intervals.len() < *INTERVALS.start() {
        return None;
    }
    intervals.sort();
    let usual = intervals[intervals.len() / 2];
    let interval = now.duration_since(last);
    let is_late = interval > usual + usual / 2 && interval > usual + SMALLEST_DELAY;
    is_late.then(|| Overdue {
        last,
        interval: in_words(interval),
        usual: in_words(usual),
    })
}

/// For people: how late a run is that began at `started`. `earlier` are the starts of earlier runs.
pub(super) fn lateness(earlier: Vec<Timestamp>, started: Timestamp) -> Option<String> {
    let Overdue {
        last,
        interval,
        usual,
    } = overdue(earlier, started)?;
    let last = last.strftime("%Y-%m-%d %H:%M UTC");
    Some(format!(
        "this run is late: the run before began {interval} earlier, at {last}, and runs usually \
         begin every {usual}"
    ))
}

/// `3 days`, `26 hours` or `40 minutes`, rounded.
fn in_words(duration: SignedDuration) -> String {
    let minutes = (duration.as_secs() + 30) / 60;
    match minutes {
        ..120 => format!("{minutes} minutes"),
        120..2880 => format!("{} hours", (minutes + 30) / 60),
        _ => format!("{} days", (minutes + 720) / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    #[test]
    fn a_run_is_late_after_one_and_a_half_of_the_usual_interval() {
        let hourly: Vec<Timestamp> = [0, 60, 120, 121, 180, 240].map(at).to_vec();
        assert_eq!(lateness(hourly.clone(), at(330)), None);
        assert_eq!(
            lateness(hourly.clone(), at(331)).unwrap(),
            "this run is late: the run before began 91 minutes earlier, at 1970-01-01 04:00 UTC, and \
             runs usually begin every 60 minutes"
        );
        let mut mixed = hourly.clone();
        mixed.reverse();
        assert_eq!(lateness(mixed, at(331)), lateness(hourly, at(331)));
    }

    #[test]
    fn a_skipped_day_is_named_and_a_few_runs_by_hand_are_not_compared() {
        let day = 24 * 60;
        let daily: Vec<Timestamp> = (0..5).map(|number| at(number * day)).collect();
        let late = lateness(daily.clone(), at(6 * day)).unwrap();
        assert!(late.contains("2 days earlier"), "{late}");
        assert!(late.contains("every 24 hours"), "{late}");
        assert_eq!(lateness(daily, at(4 * day + 60)), None);
        assert_eq!(lateness([0, 1, 2].map(at).to_vec(), at(9 * day)), None);
        assert_eq!(lateness([0, 1, 2, 3].map(at).to_vec(), at(12)), None);
        assert_eq!(lateness(vec![], at(0)), None);
    }
}
