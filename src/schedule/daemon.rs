//! The loop: waits for a scheduled time or a change, and calls the handler.
//!
//! Everything happens on the thread that calls [`watch`], one after the other,
//! so runs cannot overlap.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::cron::Cron;
use super::watcher::Watcher;
use crate::stop::Stop;

/// The watched folder, the intervals of watching, and the schedules of runs.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// The folder of domain files; it may be missing for a while.
    pub directory: PathBuf,
    /// The time without an event after which a change counts.
    pub debounce: Duration,
    /// The longest time between two scans of the files. Some changes have no event: those of linked files, of mapped
    /// memory, and on network file systems.
    pub rescan: Duration,
    /// The times of runs.
    pub schedules: Vec<Cron>,
}

impl WatchOptions {
    /// For a folder, with a debounce time of half a second, a scan every minute, and no schedule.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            debounce: Duration::from_millis(500),
            rescan: Duration::from_mins(1),
            schedules: Vec::new(),
        }
    }
}

/// The functions that the loop calls. A slow handler holds a clone of the loop's [`Stop`], and ends early
/// when the flag is set.
pub trait Handlers {
    /// These domain files were changed, added or removed; sorted. Changes during a handler's work
    /// come in one call afterwards.
    fn files_changed(&mut self, changed: &[PathBuf]);

    /// The schedule with this index in [`WatchOptions::schedules`] is due.
    fn scheduled(&mut self, index: usize);

    /// An event for the log.
    fn log(&mut self, event: &WatchEvent);

    /// The loop has come round, as it does every few seconds while nothing happens. `false` ends the loop,
    /// so that the caller can start another with other settings.
    fn goes_on(&mut self) -> bool {
        true
    }
}

/// An event for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchEvent {
    /// The loop is ready: later changes will be seen.
    Watching {
        /// The folder.
        directory: PathBuf,
        /// The number of domain files in the folder.
        files: usize,
        /// The next time of any schedule.
        next: Option<Timestamp>,
    },
    /// A schedule was due while its own run was still going.
    Skipped {
        /// The schedule.
        schedule: String,
        /// The first time that was skipped.
        at: Timestamp,
    },
    /// A schedule was due more than once while the machine slept or its clock was set forward;
    /// the loop runs it once.
    CaughtUp {
        /// The schedule.
        schedule: String,
        /// The first time that was missed.
        since: Timestamp,
    },
    /// The clock was set back by hours: the schedules follow the new time.
    ClockSetBack {
        /// The new time.
        now: Timestamp,
    },
    /// The files cannot be followed as configured.
    Problem(String),
}

impl fmt::Display for WatchEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watching {
                directory,
                files,
                next,
            } => {
                let plural = if *files == 1 { "" } else { "s" };
                let directory = directory.display();
                write!(f, "watching {files} file{plural} in {directory}")?;
                match next {
                    Some(next) => write!(f, ", next run at {next}"),
                    None => f.write_str("; urldb.toml has no [[schedule]] of runs"),
                }
            }
            Self::Skipped { schedule, at } => {
                write!(
                    f,
                    "{schedule} at {at} skipped: the previous run is still going"
                )
            }
            Self::CaughtUp { schedule, since } => {
                write!(
                    f,
                    "{schedule} missed since {since}: catching up with one run"
                )
            }
            Self::ClockSetBack { now } => {
                write!(
                    f,
                    "the clock was set back to {now}: schedules go by the new time"
                )
            }
            Self::Problem(problem) => f.write_str(problem),
        }
    }
}

/// A source of the time, which tests replace.
pub trait Clock {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Waits until this time, or for less: the loop asks again.
    fn sleep_until(&self, at: Timestamp) -> impl Future<Output = ()>;
}

/// The clock of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    async fn sleep_until(&self, at: Timestamp) {
        // Timers stop while a machine sleeps, and do not follow a clock that is set.
        const LONGEST: Duration = Duration::from_secs(20);
        let left = Duration::try_from(at.duration_since(self.now())).unwrap_or_default();
        tokio::time::sleep(left.min(LONGEST)).await;
    }
}

/// Watches until `stop` is set or [`Handlers::goes_on`] ends the loop. Blocks: not for async code.
///
/// # Errors
/// When the folder is there and cannot be listed, or the system gives no timer.
pub fn watch<C: Clock, H: Handlers>(
    settings: &WatchOptions,
    clock: &C,
    handlers: &mut H,
    stop: &Stop,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut watcher, warning) =
        Watcher::start(&settings.directory, settings.debounce, settings.rescan)?;
    let mut due_times = DueTimes::new(&settings.schedules, clock.now());
    if let Some(warning) = warning {
        handlers.log(&WatchEvent::Problem(warning));
    }
    handlers.log(&WatchEvent::Watching {
        directory: settings.directory.clone(),
        files: watcher.files(),
        next: due_times.next(),
    });
    while !stop.is_set() && handlers.goes_on() {
        let scan = watcher.scan();
        for problem in scan.problems {
            handlers.log(&WatchEvent::Problem(problem));
        }
        let changed = !scan.changed.is_empty();
        if changed {
            handlers.files_changed(&scan.changed);
        }
        let ran = !stop.is_set() && due_times.run_due(clock, handlers);
        // Handlers take time: more may be due by now.
        if !changed && !ran {
            runtime.block_on(wake(&watcher, due_times.next(), clock, stop));
        }
    }
    Ok(())
}

/// Waits for the stop signal, a due scan or the next scheduled time.
async fn wake<C: Clock>(watcher: &Watcher, next: Option<Timestamp>, clock: &C, stop: &Stop) {
    let due = async {
        match next {
            Some(next) => clock.sleep_until(next).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = stop.wait() => {}
        () = watcher.wait() => {}
        () = due => {}
    }
}

struct DueTimes<'a> {
    schedules: &'a [Cron],
    next: Vec<Option<Timestamp>>,
    /// The latest time that the clock has shown.
    latest: Timestamp,
}

impl<'a> DueTimes<'a> {
    fn new(schedules: &'a [Cron], now: Timestamp) -> Self {
        Self {
            schedules,
            next: schedules.iter().map(|cron| cron.next_after(now)).collect(),
            latest: now,
        }
    }

    fn next(&self) -> Option<Timestamp> {
        self.next.iter().flatten().min().copied()
    }

    /// Runs the schedule that has been due longest. Returns whether one was due.
    fn run_due<C: Clock, H: Handlers>(&mut self, clock: &C, handlers: &mut H) -> bool {
        let now = clock.now();
        self.follow_clock_set_back(now, handlers);
        let Some((since, index)) = self
            .next
            .iter()
            .enumerate()
            .filter_map(|(index, at)| at.filter(|at| *at <= now).map(|at| (at, index)))
            .min()
        else {
            return false;
        };
        let cron = &self.schedules[index];
        let after = |at| cron.next_after(at);
        if after(since).is_some_and(|second| second <= now) {
            handlers.log(&WatchEvent::CaughtUp {
                schedule: cron.to_string(),
                since,
            });
        }
        handlers.scheduled(index);
        let end = clock.now().max(now);
        if let Some(at) = after(now).filter(|at| *at <= end) {
            handlers.log(&WatchEvent::Skipped {
                schedule: cron.to_string(),
                at,
            });
        }
        self.next[index] = after(end);
        true
    }

    /// Restarts the schedules after a clock was set back by hours, so that they do not wait for the
    /// old time. A small correction changes nothing, so that no time fires twice. The limit is
    /// that of Vixie's cron.
    fn follow_clock_set_back<H: Handlers>(&mut self, now: Timestamp, handlers: &mut H) {
        const LARGEST_CORRECTION: SignedDuration = SignedDuration::from_hours(3);
        if self.latest.duration_since(now) > LARGEST_CORRECTION {
            *self = Self::new(self.schedules, now);
            handlers.log(&WatchEvent::ClockSetBack { now });
        }
        self.latest = self.latest.max(now);
    }
}
