//! New files in place of several others, by their dates.

use jiff::{SignedDuration, Timestamp};

use crate::verdict::JudgedJob;

/// Fewest URLs that make a deployment.
pub(super) const FEWEST: u64 = 3;

/// The longest time between the first and the last file of a deployment.
const SPAN: SignedDuration = SignedDuration::from_hours(1);

/// `Last-Modified` of the new content of a URL.
pub(super) fn last_modified(judged: &JudgedJob) -> Option<Timestamp> {
    let date = judged
        .observations
        .get(judged.verdict.observation)?
        .last()?
        .header("last-modified")?;
    Some(jiff::fmt::rfc2822::parse(date.trim()).ok()?.timestamp())
}

/// The first and the last time of a deployment, if the times are one: all within an hour, and after the last run
/// that saw the former files.
pub(super) fn deployment(
    mut times: Vec<Timestamp>,
    after: Timestamp,
) -> Option<(Timestamp, Timestamp)> {
    times.sort_unstable();
    let (first, last) = (*times.first()?, *times.last()?);
    let is_one = last.duration_since(first) <= SPAN;
    (times.len() as u64 >= FEWEST && is_one && first > after).then_some((first, last))
}
