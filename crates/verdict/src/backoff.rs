//! The wait before a retry, and the responses that ask for one.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::job::JobKey;
use crate::observation::Hop;
use crate::options::VerdictOptions;

/// The longest wait within a run, whatever a server asks for.
const LONGEST_WAIT: Duration = Duration::from_mins(2);

/// The same for a 503: a server in maintenance answers no sooner if a run waits.
const LONGEST_BARE_WAIT: Duration = Duration::from_secs(30);

/// The wait after `attempts` attempts. It doubles each time and varies by a quarter, so that jobs
/// that failed together are not repeated together. It is always the same for the same job.
pub(super) fn backoff(options: &VerdictOptions, key: &JobKey, attempts: usize) -> Duration {
    let attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    let doublings = attempts.saturating_sub(1).min(10);
    let wait = options.retry_wait.saturating_mul(1 << doublings);
    // From 750 to 1250 thousandths.
    let thousandths = 750 + key.spread(attempts.into()) % 501;
    let part = u32::try_from(thousandths).unwrap_or(1000);
    (wait.min(LONGEST_WAIT) / 1000)
        .saturating_mul(part)
        .min(LONGEST_WAIT)
}

/// Whether the response may refuse a request for now.
pub(super) fn is_refusal(last: &Hop) -> bool {
    last.status == 503 || is_explicit_refusal(last)
}

/// Whether the response refuses a request because of the number of requests (RFC 6585, 4; GitHub).
pub(super) fn is_explicit_refusal(last: &Hop) -> bool {
    let is_used_up = |name| {
        let remaining = last.header(name);
        remaining.is_some_and(|remaining| remaining.trim() == "0")
    };
    let is_limited = || {
        retry_after_of(last).is_some()
            || is_used_up("x-ratelimit-remaining")
            || is_used_up("ratelimit-remaining")
    };
    last.status == 429 || (last.status == 403 && is_limited())
}

/// The wait that a server asks for, unless it is too long for a run.
pub(super) fn retry_after(last: &Hop) -> Option<Duration> {
    requested_wait(last).filter(|wait| *wait <= longest_wait(last))
}

fn longest_wait(last: &Hop) -> Duration {
    if last.status == 503 {
        LONGEST_BARE_WAIT
    } else {
        LONGEST_WAIT
    }
}

/// The pause that an explicit refusal asks for in one of its headers, at most [`LONGEST_WAIT`].
pub(super) fn requested_pause(last: &Hop) -> Option<Duration> {
    let until_reset = || reset(last.header("x-ratelimit-reset")?.trim(), last.at);
    let wait = retry_after_of(last).or_else(until_reset)?;
    Some(wait.min(LONGEST_WAIT))
}

/// The time until a limit is reset: a number of seconds, or the seconds since 1970 as GitHub sends them.
fn reset(text: &str, now: Timestamp) -> Option<Duration> {
    /// In 2001; no limit is reset after 31 years.
    const FIRST_DATE: u64 = 1_000_000_000;
    let seconds: u64 = text.parse().ok()?;
    if seconds < FIRST_DATE {
        return Some(Duration::from_secs(seconds));
    }
    let now = u64::try_from(now.as_second()).unwrap_or_default();
    Some(Duration::from_secs(seconds.saturating_sub(now)))
}

/// In words, a requested wait that is too long for a run: no other request of the run would be answered.
pub(super) fn too_long_a_wait(last: &Hop) -> Option<String> {
    let wait = requested_wait(last).filter(|wait| *wait > longest_wait(last))?;
    let wait = SignedDuration::from_secs(i64::try_from(wait.as_secs()).unwrap_or(i64::MAX));
    Some(format!("asks us to come back after {wait:#}"))
}

/// `Retry-After` of a refusal.
fn requested_wait(last: &Hop) -> Option<Duration> {
    matches!(last.status, 403 | 429 | 503).then(|| retry_after_of(last))?
}

/// `Retry-After`, in seconds or as a date.
fn retry_after_of(last: &Hop) -> Option<Duration> {
    let text = last.header("retry-after")?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that overflows is a wait for ever.
        return Some(Duration::from_secs(text.parse().unwrap_or(u64::MAX)));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(Duration::try_from(date.duration_since(last.at)).unwrap_or_default())
}
