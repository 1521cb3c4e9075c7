//! Finds URLs that fail often, but never in enough runs in a row to be believed to be broken.

use jiff::Timestamp;
use urldb_verdict::UrlStatus;

use super::entry::Entry;
use super::history::PastRun;
use super::record::JobRecord;

/// Number of runs that are looked at, this one included.
const RUNS: usize = 10;

/// Number of failures among them that are worth a warning.
const FAILURES: usize = 3;

/// The runs with which the failures of a URL are compared.
#[derive(Debug, Clone, Copy)]
pub struct FailureLog<'a> {
    /// The id of this run.
    pub run: &'a str,
    /// The runs before, oldest first.
    pub past: &'a [PastRun],
}

/// A URL that fails often without being believed to be broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intermittent {
    /// Number of runs in which the URL failed.
    pub failures: usize,
    /// Number of runs that were looked at, at most ten.
    pub runs: usize,
    /// No run before has reported it.
    pub new: bool,
}

/// The failures of one URL after a run.
#[derive(Default)]
pub(super) struct Failures {
    /// The ids of the runs in which it failed, oldest first.
    pub(super) runs: Vec<String>,
    /// Since when the warning is reported.
    pub(super) since: Option<Timestamp>,
    pub(super) warning: Option<Intermittent>,
}

impl FailureLog<'_> {
    /// The failures of a URL after this run, which leads to `status`. A failure that is believed is an
    /// incident: it and the failures that led to it count no longer.
    pub(super) fn after(
        &self,
        before: Option<&Entry>,
        record: &JobRecord,
        status: &UrlStatus,
    ) -> Failures {
        let known = before.map(|entry| (entry.failures.clone(), entry.intermittent));
        let (mut runs, mut since) = known.unwrap_or_default();
        let was_broken = before.is_some_and(|entry| entry.url_status.state.is_broken());
        if status.state.is_broken() {
            if !was_broken {
                runs.clear();
            }
            let warning = None;
            return Failures {
                runs,
                since,
                warning,
            };
        }
        if record.judged.verdict.state().is_broken() {
            runs.push(self.run.to_owned());
            let surplus = runs.len().saturating_sub(RUNS);
            runs.drain(..surplus);
        }
        if runs.is_empty() {
            return Failures::default();
        }
        let key = &record.judged.job.key;
        let checked = self.past.iter().rev();
        let checked =
            checked.filter(|run| runs.contains(&run.id) || run.has_checked(&key.domain, &key.path));
        let recent: Vec<&str> = checked.map(|run| run.id.as_str()).take(RUNS - 1).collect();
        let is_recent = |run: &&String| run.as_str() == self.run || recent.contains(&run.as_str());
        let count = runs.iter().filter(is_recent).count();
        let is_often = count >= FAILURES;
        let warning = is_often.then_some(Intermittent {
            failures: count,
            runs: recent.len() + 1,
            new: since.is_none(),
        });
        if is_often {
            since = since.or(Some(record.at));
        } else if since.is_some() && count == 0 {
            // Until then, the warning is no news again.
            since = None;
            runs.clear();
        }
        Failures {
            runs,
            since,
            warning,
        }
    }
}
