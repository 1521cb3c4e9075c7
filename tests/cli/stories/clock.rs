//! The `urldb` command with the clock of a story: `URLDB_AT` has the time at which the process begins, and
//! random numbers follow from it. For tests of histories; nobody installs it.
#![forbid(unsafe_code)]
#![allow(
    clippy::disallowed_methods,
    reason = "a test reads its environment and its clock"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::ExitCode;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};
use urldb::ambient::Ambient;

static START: LazyLock<(Timestamp, Instant)> = LazyLock::new(|| {
    let at = std::env::var("URLDB_AT").expect("URLDB_AT is set");
    (at.parse().expect("URLDB_AT is a time"), Instant::now())
});

static NUMBER: AtomicU64 = AtomicU64::new(0);

fn now() -> Timestamp {
    let (at, begun) = *START;
    let passed = SignedDuration::try_from(begun.elapsed()).unwrap_or_default();
    // A story counts seconds, so that a slow machine writes the same.
    at + SignedDuration::from_secs(passed.as_secs() / 60)
}

fn random() -> [u8; 16] {
    let mut hasher = DefaultHasher::new();
    (START.0, NUMBER.fetch_add(1, Ordering::Relaxed)).hash(&mut hasher);
    let half = hasher.finish();
    let [one, other] = [half, half.rotate_left(17)].map(u64::to_be_bytes);
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&one);
    bytes[8..].copy_from_slice(&other);
    bytes
}

fn main() -> ExitCode {
    LazyLock::force(&START);
    Ambient { now, random }.play();
    urldb::cli::main()
}
