//! Messages of the daemon to systemd: `sd_notify(3)`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use sd_notify::NotifyState;

/// The loop turns at least every few seconds while it waits.
const LONGEST_TURN: Duration = Duration::from_mins(1);

/// The manager of services that has started this process, if one has.
pub(super) struct ServiceManager {
    began: Instant,
    beat: Arc<Heartbeat>,
}

/// The time at which the daemon last worked.
#[derive(Default)]
struct Heartbeat {
    /// Milliseconds after the start.
    last_turn: AtomicU64,
    /// The loop waits for a run or a check, whose requests have time limits of their own.
    is_busy: AtomicBool,
}

impl ServiceManager {
    /// Starts to feed the watchdog of the service, if it has one.
    pub(super) fn new() -> Self {
        let manager = Self {
            began: Instant::now(),
            beat: Arc::default(),
        };
        #[cfg(unix)]
        if let Some(limit) = sd_notify::watchdog_enabled() {
            let (began, beat) = (manager.began, Arc::downgrade(&manager.beat));
            // The thread ends with the daemon.
            thread::spawn(move || {
                while let Some(beat) = beat.upgrade() {
                    let last = Duration::from_millis(beat.last_turn.load(Ordering::Relaxed));
                    let is_alive = began.elapsed().saturating_sub(last) < LONGEST_TURN;
                    if is_alive || beat.is_busy.load(Ordering::Relaxed) {
                        tell("WATCHDOG=1");
                    }
                    drop(beat);
                    thread::sleep(limit / 3);
                }
            });
        }
        manager
    }

    /// The loop is ready, and waits.
    pub(super) fn ready(&self, status: &str) {
        self.turn();
        tell(&format!("READY=1\nSTATUS={status}"));
    }

    /// The loop has come round.
    pub(super) fn turn(&self) {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.beat.last_turn.store(now, Ordering::Relaxed);
    }

    /// Whether the loop is in a run or a check.
    pub(super) fn set_busy(&self, is_busy: bool) {
        self.turn();
        self.beat.is_busy.store(is_busy, Ordering::Relaxed);
    }
}

/// Tells the service manager that the daemon ends.
pub(super) fn tell_stopping() {
    tell("STOPPING=1");
}

/// A missing manager, or one that does not listen, is no error of the daemon.
#[cfg(unix)]
fn tell(states: &str) {
    let _ = sd_notify::notify(&[NotifyState::Custom(states)]);
}

#[cfg(not(unix))]
fn tell(_: &str) {}
