//! Tells that a run is late: a scheduler skipped runs, or began this one long after its time. Until
//! then, nobody was told about broken promises.

use jiff::{SignedDuration, Timestamp};

/// Most earlier intervals that show how often runs begin, and fewest.
const INTERVALS: std::ops::RangeInclusive<usize> = 3..=10;

/// A smaller delay is never named.
const SMALLEST_DELAY: SignedDuration = SignedDuration::from_mins(10);

/// For people: how late a run that began at `started` is, if its interval is more than one and a half
/// times the median of the intervals before. `earlier` are the starts of earlier runs, in any order.
pub(super) fn lateness(mut earlier: Vec<Timestamp>, started: Timestamp) -> Option<String> {
    earlier.retain(|start| *start < started);
    earlier.sort();
    let last = *earlier.last()?;
    let intervals = earlier.windows(2).rev().take(*INTERVALS.end());
    let mut intervals: Vec<SignedDuration> =
        intervals.map(|two| two[1].duration_since(two[0])).collect();
    if intervals.len() < *INTERVALS.start() {
        return None;
    }
    intervals.sort();
    let usual = intervals[intervals.len() / 2];
    let interval = started.duration_since(last);
    let is_late = interval > usual + usual / 2 && interval > usual + SMALLEST_DELAY;
    is_late.then(|| {
        format!(
            "this run is late: the run before began {} earlier, at {}, and runs usually begin every {}",
            in_words(interval),
            last.strftime("%Y-%m-%d %H:%M UTC"),
            in_words(usual)
        )
    })
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
