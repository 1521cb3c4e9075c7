//! The loop: waits for the time or for a change, and calls the one who does the work.
//!
//! Everything happens on the thread that calls [`watch`], one thing after the
//! other, so runs cannot overlap.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::cron::Cron;
use super::watcher::Watcher;
use crate::stop::Stop;

/// What is watched, and when.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of domain files; it may be missing for a while.
    pub directory: PathBuf,
    /// How long files must be quiet before a change counts.
    pub debounce: Duration,
    /// Look at the files this often in place of using file events, which network file systems
    /// do not have.
    pub polling: Option<Duration>,
    /// When a run is due.
    pub schedules: Vec<Cron>,
}

impl Settings {
    /// For a folder, with a debounce time of half a second, file events, and no schedule.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            debounce: Duration::from_millis(500),
            polling: None,
            schedules: Vec::new(),
        }
    }
}

/// Who does the work. A handler that takes long holds a clone of the loop's [`Stop`] and ends
/// early when it is set.
pub trait Handlers {
    /// The contents of these domain files were changed, added or removed; sorted. What changes
    /// while a handler works comes in one call afterwards.
    fn files_changed(&mut self, changed: &[PathBuf]);

    /// The schedule with this index in [`Settings::schedules`] is due.
    fn scheduled(&mut self, index: usize);

    /// Something happened that belongs into the log.
    fn notice(&mut self, notice: &Notice);
}

/// Something for the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The loop is ready: later changes will be seen.
    Watching {
        /// The folder.
        directory: PathBuf,
        /// How many domain files it has.
        files: usize,
        /// The next firing of any schedule.
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
    /// it is run once.
    CaughtUp {
        /// The schedule.
        schedule: String,
        /// The first time that was missed.
        since: Timestamp,
    },
    /// The clock was set back by hours: the schedules go by the new time.
    ClockSetBack {
        /// What it shows now.
        now: Timestamp,
    },
    /// The files cannot be followed as they should be.
    Problem(String),
}

impl fmt::Display for Notice {
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
                    None => Ok(()),
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

/// Where the time comes from.
pub trait Clock {
    /// The time.
    fn now(&self) -> Timestamp;

    /// Waits until then, or less; by and by is good enough.
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
        // Timers stand still while a machine sleeps, and do not follow a clock that is set.
        const LONGEST: Duration = Duration::from_secs(20);
        let left = Duration::try_from(at.duration_since(self.now())).unwrap_or_default();
        tokio::time::sleep(left.min(LONGEST)).await;
    }
}

/// Watches until `stop` is set. Blocks, and is not for calling from a task.
///
/// # Errors
/// When the folder is there and cannot be listed, or the system gives no timer.
pub fn watch<C: Clock, H: Handlers>(
    settings: &Settings,
    clock: &C,
    handlers: &mut H,
    stop: &Stop,
) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (mut watcher, warning) =
        Watcher::start(&settings.directory, settings.debounce, settings.polling)?;
    let mut agenda = Agenda::new(&settings.schedules, clock.now());
    if let Some(warning) = warning {
        handlers.notice(&Notice::Problem(warning));
    }
    handlers.notice(&Notice::Watching {
        directory: settings.directory.clone(),
        files: watcher.files(),
        next: agenda.next(),
    });
    while !stop.is_set() {
        let look = watcher.look();
        for problem in look.problems {
            handlers.notice(&Notice::Problem(problem));
        }
        let changed = !look.changed.is_empty();
        if changed {
            handlers.files_changed(&look.changed);
        }
        let ran = !stop.is_set() && agenda.run_due(clock, handlers);
        // After work, which took its time, there may be more of it.
        if !changed && !ran {
            runtime.block_on(wake(&watcher, agenda.next(), clock, stop));
        }
    }
    Ok(())
}

/// Waits for whatever comes first.
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
        () = watcher.hint() => {}
        () = due => {}
    }
}

/// When each schedule is due next.
struct Agenda<'a> {
    schedules: &'a [Cron],
    next: Vec<Option<Timestamp>>,
    /// The latest time that was seen.
    latest: Timestamp,
}

impl<'a> Agenda<'a> {
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

    /// Runs the schedule that has been due longest; whether there was one.
    fn run_due<C: Clock, H: Handlers>(&mut self, clock: &C, handlers: &mut H) -> bool {
        let now = clock.now();
        self.mind_clock_set_back(now, handlers);
        let due = self.next.iter().enumerate();
        let due = due.filter_map(|(index, at)| at.filter(|at| *at <= now).map(|at| (at, index)));
        let Some((since, index)) = due.min() else {
            return false;
        };
        let cron = &self.schedules[index];
        let after = |at| cron.next_after(at);
        if after(since).is_some_and(|second| second <= now) {
            handlers.notice(&Notice::CaughtUp {
                schedule: cron.to_string(),
                since,
            });
        }
        handlers.scheduled(index);
        let end = clock.now().max(now);
        if let Some(at) = after(now).filter(|at| *at <= end) {
            handlers.notice(&Notice::Skipped {
                schedule: cron.to_string(),
                at,
            });
        }
        self.next[index] = after(end);
        true
    }

    /// A clock corrected by a little must not fire twice; one that was far ahead must not
    /// leave the schedules waiting for it. The border is that of Vixie's cron.
    fn mind_clock_set_back<H: Handlers>(&mut self, now: Timestamp, handlers: &mut H) {
        const A_CORRECTION: SignedDuration = SignedDuration::from_hours(3);
        if self.latest.duration_since(now) > A_CORRECTION {
            *self = Self::new(self.schedules, now);
            handlers.notice(&Notice::ClockSetBack { now });
        }
        self.latest = self.latest.max(now);
    }
}
