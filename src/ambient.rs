//! Time and chance, which tests replace.

use jiff::Timestamp;

/// Where a run takes the time and its random numbers from.
#[derive(Debug, Clone, Copy)]
pub struct Ambient {
    /// The time.
    pub now: fn() -> Timestamp,
    /// Sixteen random bytes.
    pub random: fn() -> [u8; 16],
}

impl Ambient {
    /// The system's.
    pub const SYSTEM: Self = Self {
        now: Timestamp::now,
        random: system_random,
    };
}

/// The system's random bytes. Where it has none, the time has to do: what is
/// made of them must be unique, not secret.
fn system_random() -> [u8; 16] {
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        bytes = Timestamp::now().as_nanosecond().to_le_bytes();
    }
    bytes
}
