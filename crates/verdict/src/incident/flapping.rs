//! Flapping URLs: the results of their runs, and their breaks.

use jiff::{SignedDuration, Timestamp};
use urldb_protocol::State;

use super::event::time_of;
use crate::status::UrlStatus;
use crate::verdict::Verdict;

/// Number of breaks within [`MOST_DAYS`] that make a URL flap.
const BREAKS: usize = 3;

/// A URL flaps no more so many days after its last break.
const LAST_DAYS: i64 = 7;

/// Days for which breaks count, and for which URLs that left an incident return to it.
pub const MOST_DAYS: i64 = 30;

urldb_text::named_enum! {
    /// The result of a URL in one run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum RunResult {
        /// As promised, and no request was answered otherwise.
        Good = "good",
        /// As promised, and some request was answered otherwise.
        Mixed = "mixed",
        /// A failure, confirmed or not.
        Bad = "bad",
    }
}

impl RunResult {
    /// The result of a run with this verdict, after which the URL has this status. Absent if the run learned
    /// nothing: a page that refuses robots is a failure once it is confirmed.
    pub fn of(verdict: &Verdict, status: &UrlStatus) -> Option<Self> {
        // A page that our own network may have served is a failure once it is confirmed.
        let state = verdict
            .masked()
            .map_or(verdict.state(), |masked| masked.state);
        match state {
            State::Ok => {
                let is_mixed = verdict.attempts.iter().any(|it| is_other_answer(it.state));
                Some(if is_mixed { Self::Mixed } else { Self::Good })
            }
            State::Blocked => (status.state == State::Blocked).then_some(Self::Bad),
            State::Inconclusive => None,
            _ if verdict.masked().is_some() => (status.state == state).then_some(Self::Bad),
            _ => Some(Self::Bad),
        }
    }
}

/// Whether the server answered, and not as promised. A fault that a retry mended is none: of many requests, some
/// fail at every server.
fn is_other_answer(state: State) -> bool {
    matches!(
        state,
        State::Changed | State::Gone | State::Redirected | State::ClientError
    )
}

/// Most breaks of a URL that are kept.
const MOST_BREAKS: usize = 10;

/// The breaks of a URL after a run: it broke if it was good before, or if some request of a good run was answered
/// otherwise.
pub fn breaks_after(
    mut breaks: Vec<String>,
    was_good: bool,
    result: Option<RunResult>,
    run: &str,
) -> Vec<String> {
    let is_break = match result {
        Some(RunResult::Mixed) => true,
        Some(RunResult::Bad) => was_good,
        Some(RunResult::Good) | None => false,
    };
    if is_break {
        breaks.push(run.to_owned());
        let surplus = breaks.len().saturating_sub(MOST_BREAKS);
        breaks.drain(..surplus);
    }
    breaks
}

/// Whether a URL with these breaks flaps: three within thirty days, the last within seven.
pub fn is_flapping(breaks: &[String], now: Timestamp) -> bool {
    let is_within = |days: i64| move |run: &&String| is_within(run, now, days);
    let recent = breaks.iter().filter(is_within(MOST_DAYS)).count();
    recent >= BREAKS && breaks.iter().any(|run| is_within(LAST_DAYS)(&run))
}

/// Whether the run began less than so many days before `now`. A time in the future is long ago.
pub(super) fn is_within(run: &str, now: Timestamp, days: i64) -> bool {
    time_of(run).is_some_and(|at| {
        at <= now && now.duration_since(at) < SignedDuration::from_hours(24 * days)
    })
}
