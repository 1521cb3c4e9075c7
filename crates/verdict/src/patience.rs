//! How long to wait before looking again.

use std::time::Duration;

use jiff::SignedDuration;

use super::VerdictOptions;
use crate::Hop;
use crate::JobKey;

/// The longest wait within a run, whatever a server asks for.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// The wait after so many attempts: twice as long each time, give or take a quarter, so that
/// what failed together does not come back together. The same for the same job.
pub(super) fn backoff(policy: &VerdictOptions, key: &JobKey, attempts: usize) -> Duration {
    let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    let doublings = attempts.saturating_sub(1).min(10);
    let wait = policy.retry_wait.saturating_mul(1 << doublings);
    // From 750 to 1250 thousandths.
    let thousandths = 750 + key.spread(attempts.into()) % 501;
    let part = u32::try_from(thousandths).unwrap_or(1000);
    (wait.min(LONGEST_WAIT) / 1000)
        .saturating_mul(part)
        .min(LONGEST_WAIT)
}

/// The wait that a server asks for, as far as a run goes along with it.
pub(super) fn retry_after(last: &Hop) -> Option<Duration> {
    asked(last).map(|wait| wait.min(LONGEST_WAIT))
}

/// In words, a wait that is longer than a run goes along with.
pub(super) fn too_long_a_wait(last: &Hop) -> Option<String> {
    let wait = asked(last).filter(|wait| *wait > LONGEST_WAIT)?;
    let wait = SignedDuration::from_secs(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX));
    Some(format!("asks us to come back after {wait:#}"))
}

/// `Retry-After`, in seconds or as a date.
fn asked(last: &Hop) -> Option<Duration> {
    if last.status != 429 && last.status != 503 {
        return None;
    }
    let text = last.header("retry-after")?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than can be counted is for ever.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(last.at)).unwrap_or_default())
}
