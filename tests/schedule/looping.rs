//! The loop with a clock of its own: hours pass in no time.

use std::cell::Cell;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use urldb::schedule::{Clock, Cron, Handlers, WatchEvent, WatchOptions, watch};
use urldb::stop::Stop;

/// A clock that sleeps by setting itself.
struct FakeClock {
    now: Cell<Timestamp>,
    /// How much longer than asked the next sleep takes, as when the lid is closed.
    oversleep: Cell<SignedDuration>,
}

impl FakeClock {
    fn at(now: &str) -> Self {
        Self {
            now: Cell::new(now.parse().unwrap()),
            oversleep: Cell::default(),
        }
    }

    fn pass(&self, time: SignedDuration) {
        self.now.set(self.now.get() + time);
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Timestamp {
        self.now.get()
    }

    async fn sleep_until(&self, at: Timestamp) {
        self.now.set(at + self.oversleep.take());
    }
}

/// Writes down what happens; `during` is what a run does.
struct Log<'a, F> {
    clock: &'a FakeClock,
    lines: Vec<String>,
    during: F,
}

impl<F: FnMut(&FakeClock, usize)> Handlers for Log<'_, F> {
    fn files_changed(&mut self, changed: &[PathBuf]) {
        self.lines.push(format!("changed {changed:?}"));
    }

    fn scheduled(&mut self, index: usize) {
        self.lines.push(format!("{} run {index}", self.clock.now()));
        (self.during)(self.clock, index);
    }

    fn log(&mut self, notice: &WatchEvent) {
        if !matches!(notice, WatchEvent::Watching { .. }) {
            self.lines.push(notice.to_string());
        }
    }
}

/// What happens with these schedules (in UTC) until that many runs were made.
fn log(
    schedules: &[&str],
    clock: &FakeClock,
    runs: usize,
    mut during: impl FnMut(&FakeClock, usize),
) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut settings = WatchOptions::new(folder.path());
    settings.schedules = schedules
        .iter()
        .map(|cron| Cron::parse(cron, "UTC").unwrap())
        .collect();
    let stop = Stop::new();
    let mut left = runs;
    let mut handlers = Log {
        clock,
        lines: Vec::new(),
        during: |clock: &FakeClock, index| {
            during(clock, index);
            left -= 1;
            if left == 0 {
                stop.set();
            }
        },
    };
    watch(&settings, clock, &mut handlers, &stop).unwrap();
    handlers.lines
}

#[test]
fn each_schedule_fires_in_its_time() {
    let clock = FakeClock::at("2024-05-01T00:30:00Z");
    let lines = log(&["0 */2 * * *", "0 3,4 * * *"], &clock, 4, |_, _| {});
    insta::assert_snapshot!(lines.join("\n"), @r"
    2024-05-01T02:00:00Z run 0
    2024-05-01T03:00:00Z run 1
    2024-05-01T04:00:00Z run 0
    2024-05-01T04:00:00Z run 1
    ");
}

#[test]
fn a_run_that_takes_too_long_skips_its_next_turns() {
    let clock = FakeClock::at("2024-05-01T00:30:00Z");
    let mut minutes = [150, 1, 1].into_iter();
    let lines = log(&["0 * * * *"], &clock, 3, |clock, _| {
        clock.pass(SignedDuration::from_mins(minutes.next().unwrap()));
    });
    insta::assert_snapshot!(lines.join("\n"), @r"
    2024-05-01T01:00:00Z run 0
    0 * * * * (UTC) at 2024-05-01T02:00:00Z skipped: the previous run is still going
    2024-05-01T04:00:00Z run 0
    2024-05-01T05:00:00Z run 0
    ");
}

#[test]
fn another_schedule_waits_for_a_run_to_end() {
    let clock = FakeClock::at("2024-05-01T00:30:00Z");
    let lines = log(&["0 1 * * *", "15 1 * * *"], &clock, 3, |clock, index| {
        if index == 0 {
            clock.pass(SignedDuration::from_mins(40));
        }
    });
    insta::assert_snapshot!(lines.join("\n"), @r"
    2024-05-01T01:00:00Z run 0
    2024-05-01T01:40:00Z run 1
    2024-05-02T01:00:00Z run 0
    ");
}

#[test]
fn after_a_suspend_one_run_catches_up() {
    let clock = FakeClock::at("2024-05-01T00:30:00Z");
    clock
        .oversleep
        .set(SignedDuration::from_mins(60 * 24 * 3 + 10));
    let lines = log(&["0 * * * *"], &clock, 2, |_, _| {});
    insta::assert_snapshot!(lines.join("\n"), @r"
    0 * * * * (UTC) missed since 2024-05-01T01:00:00Z: catching up with one run
    2024-05-04T01:10:00Z run 0
    2024-05-04T02:00:00Z run 0
    ");
}

#[test]
fn a_clock_that_was_far_ahead_leaves_nobody_waiting() {
    let clock = FakeClock::at("2025-05-01T00:30:00Z");
    let mut runs = 0;
    let lines = log(&["0 * * * *"], &clock, 3, |clock, _| {
        runs += 1;
        match runs {
            1 => clock.pass(-SignedDuration::from_mins(1)),
            _ => clock.pass(-SignedDuration::from_hours(24 * 365)),
        }
    });
    insta::assert_snapshot!(lines.join("\n"), @r"
    2025-05-01T01:00:00Z run 0
    2025-05-01T02:00:00Z run 0
    the clock was set back to 2024-05-01T02:00:00Z: schedules go by the new time
    2024-05-01T03:00:00Z run 0
    ");
}

#[test]
fn a_stop_during_a_run_is_the_end() {
    let clock = FakeClock::at("2024-05-01T00:30:00Z");
    let lines = log(&["* * * * *", "* * * * *"], &clock, 1, |_, _| {});
    assert_eq!(lines, ["2024-05-01T00:31:00Z run 0"]);
}

#[test]
fn a_stop_before_the_start_is_the_end_too() {
    let folder = tempfile::tempdir().unwrap();
    let clock = FakeClock::at("2024-05-01T00:30:00Z");
    let stop = Stop::new();
    stop.set();
    let mut handlers = Log {
        clock: &clock,
        lines: Vec::new(),
        during: |_: &FakeClock, _| {},
    };
    watch(
        &WatchOptions::new(folder.path()),
        &clock,
        &mut handlers,
        &stop,
    )
    .unwrap();
    assert!(handlers.lines.is_empty());
}
