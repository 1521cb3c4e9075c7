//! The clock and the random numbers of a run, which tests replace.

use std::sync::OnceLock;

use jiff::Timestamp;

/// The sources of a program that plays histories, in place of the operating system's.
static SCRIPT: OnceLock<Ambient> = OnceLock::new();

/// The sources of the time and of random numbers.
#[derive(Debug, Clone, Copy)]
pub struct Ambient {
    /// The time.
    pub now: fn() -> Timestamp,
    /// Sixteen random bytes.
    pub random: fn() -> [u8; 16],
}

impl Ambient {
    /// The sources of the operating system.
    pub const SYSTEM: Self = Self {
        now: system_now,
        random: system_random,
    };

    /// Makes this the sources of the process, once: [`Self::SYSTEM`] asks them from now on.
    pub fn play(self) {
        SCRIPT.get_or_init(|| self);
    }

    /// The time in whole seconds, for files.
    pub fn now_in_seconds(&self) -> Timestamp {
        in_seconds((self.now)())
    }
}

/// A point in time in whole seconds, for files.
pub fn in_seconds(time: Timestamp) -> Timestamp {
    Timestamp::from_second(time.as_second()).unwrap_or(time)
}

fn system_now() -> Timestamp {
    if let Some(script) = SCRIPT.get() {
        return (script.now)();
    }
    let now = Timestamp::now();
    Timestamp::from_millisecond(now.as_millisecond()).unwrap_or(now)
}

/// Random bytes of the system; without any, the time. Identities made of them
/// must be unique, not secret.
fn system_random() -> [u8; 16] {
    if let Some(script) = SCRIPT.get() {
        return (script.random)();
    }
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = Timestamp::now().as_nanosecond().to_le_bytes();
    }
    bytes
}
