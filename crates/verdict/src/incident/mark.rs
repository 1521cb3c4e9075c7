//! Flapping URLs: their breaks, and the mark in the ledger.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use urldb_protocol::State;

use crate::status::UrlStatus;
use crate::verdict::Verdict;

/// Number of breaks in a window that make a URL flap.
pub(super) const BREAKS: usize = 3;

/// Good runs in a row that end a mark, over [`GOOD_DAYS`].
const GOOD_RUNS: u32 = 10;
const GOOD_DAYS: i64 = 7;

/// After so many days, fewer good runs are enough.
const MOST_DAYS: i64 = 30;
const FEWEST_RUNS: u32 = 3;

/// Broken runs in a row that end a mark, over a day.
const BROKEN_RUNS: u32 = 5;

urldb_text::named_enum! {
    /// The result of a URL in one run.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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

/// Most recent results of a marked URL that are kept.
const MOST_RECENT: usize = 15;

/// The mark of a flapping URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    /// The id of the run that set it.
    pub since: String,
    /// The result of the last run with a result.
    pub result: RunResult,
    /// Number of runs in a row with this result.
    pub runs: u32,
    /// When the first of these runs began.
    pub from: Timestamp,
    /// The results of the last runs that asked the URL, at most 15, the latest last; none of a run without result.
    pub recent: Vec<Option<RunResult>>,
}

impl Mark {
    /// A mark that a run with this result sets.
    pub fn new(run: &str, result: RunResult, started: Timestamp) -> Self {
        Self {
            since: run.to_owned(),
            result,
            runs: 1,
            from: started,
            recent: vec![Some(result)],
        }
    }

    /// The mark after one more run.
    #[must_use]
    pub fn after(mut self, result: Option<RunResult>, started: Timestamp) -> Self {
        self.recent.push(result);
        let surplus = self.recent.len().saturating_sub(MOST_RECENT);
        self.recent.drain(..surplus);
        let Some(result) = result else {
            return self;
        };
        if self.result == result {
            let runs = self.runs.saturating_add(1);
            return Self { runs, ..self };
        }
        Self {
            result,
            runs: 1,
            from: started,
            ..self
        }
    }

    /// Whether the URL is as promised for so long that it no longer flaps.
    pub fn is_good_for_long(&self, now: Timestamp) -> bool {
        let days = |days: i64| self.has_lasted(now, SignedDuration::from_hours(24 * days));
        let is_long = self.runs >= GOOD_RUNS && days(GOOD_DAYS);
        let is_longest = self.runs >= FEWEST_RUNS && days(MOST_DAYS);
        self.result == RunResult::Good && (is_long || is_longest)
    }

    /// Whether the URL is broken for so long that it no longer flaps.
    pub fn is_broken_for_long(&self, now: Timestamp) -> bool {
        let is_long = self.has_lasted(now, SignedDuration::from_hours(24));
        self.result == RunResult::Bad && self.runs >= BROKEN_RUNS && is_long
    }

    /// Runs a day apart begin a few minutes earlier or later. A time in the future has not lasted.
    fn has_lasted(&self, now: Timestamp, time: SignedDuration) -> bool {
        let tolerance = SignedDuration::from_hours(1);
        now.duration_since(self.from) >= time - tolerance
    }
}
