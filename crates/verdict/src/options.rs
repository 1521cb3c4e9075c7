//! The user's settings for verdicts: `[check]` of urldb.toml.

use std::time::Duration;

use crate::challenge::ChallengeRule;

/// The number of attempts within a run, and the number of runs that must agree.
#[derive(Debug, Clone)]
pub struct VerdictOptions {
    /// Number of retries after a first fetch that was not good.
    pub retries: usize,
    /// Time before the first retry; it doubles from one retry to the next.
    pub retry_wait: Duration,
    /// Number of consecutive runs that must see a doubtful state before it is confirmed.
    pub confirm: u32,
    /// The time that a URL must have been blocked before the state is confirmed.
    pub blocked_after: Duration,
    /// The user's challenge rules, which come before the built-in ones.
    pub challenges: Vec<ChallengeRule>,
}

impl Default for VerdictOptions {
    fn default() -> Self {
        Self {
            retries: 2,
            retry_wait: Duration::from_secs(2),
            confirm: 2,
            blocked_after: Duration::from_hours(7 * 24),
            challenges: vec![],
        }
    }
}
