//! Finds URLs that fail often, but never in enough runs in a row to be believed to be broken.

use jiff::Timestamp;
use urldb_verdict::{JudgedJob, UrlStatus};

use crate::ledger::{Entry, PastRun};
use crate::report::Intermittent;

/// Number of runs that are looked at, this one included.
const RUNS: usize = 10;

/// Number of failures among them that are worth a warning.
const FAILURES: usize = 3;

/// The runs of the past, with which failures are compared.
pub(super) struct FailureLog<'a> {
    /// The id of this run.
    pub(super) run: &'a str,
    /// Oldest first.
    pub(super) past: &'a [PastRun],
}

/// The remembered failures of one URL after a run.
pub(super) struct Failures {
    /// The ids of the runs in which it failed, oldest first.
    pub(super) runs: Vec<String>,
    pub(super) intermittent: Option<Timestamp>,
    pub(super) warning: Option<Intermittent>,
}

impl FailureLog<'_> {
    /// The failures of a URL after this run. A failure that is believed is an incident: it and the
    /// failures that led to it count no longer.
    pub(super) fn after(
        &self,
        judged: &JudgedJob,
        previous: Option<&Entry>,
        url_status: &UrlStatus,
        now: Timestamp,
    ) -> Failures {
        let known = previous.map(|entry| (entry.failures.clone(), entry.intermittent));
        let (mut failures, mut intermittent) = known.unwrap_or_default();
        let was_broken = previous.is_some_and(|entry| entry.url_status.state.is_broken());
        if url_status.state.is_broken() {
            if !was_broken {
                failures.clear();
            }
            return Failures {
                runs: failures,
                intermittent,
                warning: None,
            };
        }
        if judged.verdict.state().is_broken() {
            failures.push(self.run.to_owned());
            let surplus = failures.len().saturating_sub(RUNS);
            failures.drain(..surplus);
        }
        if failures.is_empty() {
            return Failures {
                runs: failures,
                intermittent: None,
                warning: None,
            };
        }
        let key = &judged.job.key;
        let checked = self.past.iter().rev();
        let checked = checked
            .filter(|run| failures.contains(&run.id) || run.has_checked(&key.domain, &key.path));
        let recent: Vec<&str> = checked.map(|run| run.id.as_str()).take(RUNS - 1).collect();
        let is_recent = |run: &&String| run.as_str() == self.run || recent.contains(&run.as_str());
        let count = failures.iter().filter(is_recent).count();
        let is_often = count >= FAILURES;
        let warning = is_often.then_some(Intermittent {
            failures: count,
            runs: recent.len() + 1,
            new: intermittent.is_none(),
        });
        if is_often {
            intermittent = intermittent.or(Some(now));
        } else if intermittent.is_some() && count == 0 {
            // Until then, the warning is no news again.
            intermittent = None;
            failures.clear();
        }
        Failures {
            runs: failures,
            intermittent,
            warning,
        }
    }
}
