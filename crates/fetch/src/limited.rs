//! The failure of jobs of a host that refuses requests, once its `limit-patience` is over: the pace that the
//! host bears, and the key to set.

use std::time::Duration;

use jiff::SignedDuration;
use urldb_verdict::{Failure, FailureKind};

/// The failure of all remaining jobs of a host that answered once in `interval` on average.
pub(crate) fn limited(host: &str, interval: Duration, patience: Duration) -> Failure {
    let patience = SignedDuration::try_from(patience).unwrap_or(SignedDuration::MAX);
    let (rate, interval) = (rate(interval), rounded_up(interval));
    Failure {
        kind: FailureKind::RateLimited,
        detail: format!(
            "{host} refuses more than about {rate}, and limit-patience ({patience:#}) is over; \
             set host-interval = \"{interval:#}\" for it"
        ),
        certificate: None,
    }
}

/// The number of requests in a second, a minute or an hour.
fn rate(interval: Duration) -> String {
    let millis = interval.as_millis().max(1);
    let (length, unit) = match millis {
        ..=1_000 => (1_000, "a second"),
        1_001..=60_000 => (60_000, "a minute"),
        _ => (3_600_000, "an hour"),
    };
    match (length / millis).max(1) {
        1 => format!("1 request {unit}"),
        count => format!("{count} requests {unit}"),
    }
}

/// The interval, rounded up to two digits.
fn rounded_up(interval: Duration) -> SignedDuration {
    let millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
    let step = match millis {
        ..1_000 => 10,
        1_000..10_000 => 100,
        _ => 1_000,
    };
    SignedDuration::from_millis(millis.saturating_add(step - 1) / step * step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_names_the_pace_and_the_key_to_set() {
        for (millis, expected) in [
            (23, "43 requests a second|30ms"),
            (187, "5 requests a second|190ms"),
            (1_000, "1 request a second|1s"),
            (1_370, "43 requests a minute|1s 400ms"),
            (40_001, "1 request a minute|41s"),
            (90_000, "40 requests an hour|1m 30s"),
        ] {
            let interval = Duration::from_millis(millis);
            let failure = limited("a.test", interval, Duration::from_mins(10));
            let (rate, key) = expected.split_once('|').unwrap();
            let expected = format!(
                "a.test refuses more than about {rate}, and limit-patience (10m) is over; \
                 set host-interval = \"{key}\" for it"
            );
            assert_eq!(failure.detail, expected);
        }
    }
}
