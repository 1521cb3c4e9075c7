//! Tells that a run is late: a scheduler skipped runs, or began this one long after its time. Until
//! then, nobody was told about broken promises.

use jiff::{SignedDuration, Timestamp};

/// Most earlier intervals that show how often runs begin.
const MOST_INTERVALS: usize = 10;

/// Fewest of them.
const FEWEST_INTERVALS: usize = 3;

/// A smaller delay is never named, and no schedule has a shorter interval: such runs were started by hand.
const SMALLEST_DELAY: SignedDuration = SignedDuration::from_mins(5);

/// An interval between runs that is longer than usual.
pub struct Overdue {
    /// The start of the last run.
    pub last: Timestamp,
    /// The time since then, for people.
    pub interval: String,
    /// The usual interval, for people.
    pub usual: String,
}

/// Whether a run is overdue at the time `now`: the last interval is more than one and a half times the
/// median of the intervals before, and these are those of a schedule. `starts` are the starts of earlier runs, in their
/// order. An interval in which the clock was set back tells nothing.
pub fn overdue(starts: &[Timestamp], now: Timestamp) -> Option<Overdue> {
    let last = *starts.last()?;
    let mut intervals: Vec<SignedDuration> = starts
        .windows(2)
        .rev()
        .map(|two| two[1].duration_since(two[0]))
        .filter(SignedDuration::is_positive)
        .take(MOST_INTERVALS)
        .collect();
    if intervals.len() < FEWEST_INTERVALS {
        return None;
    }
    intervals.sort();
    let usual = intervals[intervals.len() / 2];
    let interval = now.duration_since(last);
    // Runs by hand begin whenever somebody starts them.
    let is_scheduled = usual >= SMALLEST_DELAY && intervals[intervals.len() / 4] > usual / 2;
    let is_late = is_scheduled && interval > usual + SMALLEST_DELAY.max(usual / 2);
    is_late.then(|| Overdue {
        last,
        interval: in_words(interval),
        usual: in_words(usual),
    })
}

/// For people: how late a run is that began at `started`. `earlier` are the starts of earlier runs, in their
/// order.
pub(super) fn lateness(earlier: &[Timestamp], started: Timestamp) -> Option<String> {
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
        let hourly = [0, 60, 120, 121, 180, 240].map(at);
        assert_eq!(lateness(&hourly, at(330)), None);
        assert_eq!(
            lateness(&hourly, at(331)).unwrap(),
            "this run is late: the run before began 91 minutes earlier, at 1970-01-01 04:00 UTC, and \
             runs usually begin every 60 minutes"
        );
    }

    #[test]
    fn the_last_run_is_the_last_in_order_although_its_clock_was_set_back() {
        let hourly = [0, 60, 120, 180, 240, 100].map(at);
        let late = lateness(&hourly, at(300)).unwrap();
        assert!(
            late.contains("3 hours earlier, at 1970-01-01 01:40"),
            "{late}"
        );
        assert!(late.contains("every 60 minutes"), "{late}");
        assert_eq!(
            lateness(&[0, 60, 120, 180, 100, 240].map(at), at(300)),
            None
        );
        // A run of another machine may lie in the future by some minutes.
        assert_eq!(lateness(&[0, 60, 120, 180, 240].map(at), at(236)), None);
    }

    #[test]
    fn a_skipped_day_is_named_and_a_few_runs_by_hand_are_not_compared() {
        let day = 24 * 60;
        let daily: Vec<Timestamp> = (0..5).map(|number| at(number * day)).collect();
        let late = lateness(&daily, at(6 * day)).unwrap();
        assert!(late.contains("2 days earlier"), "{late}");
        assert!(late.contains("every 24 hours"), "{late}");
        assert_eq!(lateness(&daily, at(4 * day + 60)), None);
        assert_eq!(lateness(&[0, 1, 2].map(at), at(9 * day)), None);
        assert_eq!(lateness(&[0, 1, 2, 3].map(at), at(day)), None);
        assert_eq!(lateness(&[0, 3, 23, 30, 70].map(at), at(day)), None);
        assert_eq!(lateness(&[], at(0)), None);
    }
}
