//! The input of a run, and its progress events.

use std::collections::BTreeMap;

use urldb_protocol::{JobResult, Mistake};
use urldb_verdict::{JudgedJob, Selection};

use crate::ambient::Ambient;
use crate::config::Config;
use crate::stop::Stop;
use crate::sync::ListLocations;

/// The input of a run.
pub struct RunOptions<'a> {
    /// The configuration.
    pub config: &'a Config,
    /// The records that are checked.
    pub selection: &'a Selection,
    /// Time and randomness.
    pub ambient: Ambient,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// Receives progress events.
    pub progress: &'a dyn Progress,
    /// The destination of each job's result.
    pub results: Results,
    /// Whether the answers become promises: bodies longer than promised are read to their end, and
    /// other answers than promised are looked at twice.
    pub for_promise: bool,
    /// Lists that are checked in place of a database, which was made of them.
    pub lists: Option<&'a CheckedLists>,
}

/// Lists that are checked.
#[derive(Debug)]
pub struct CheckedLists {
    /// The places of the records in the lists, which findings name.
    pub locations: ListLocations,
    /// Mistakes in the lists.
    pub mistakes: Vec<Mistake>,
}

/// The destination of the result of each job of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Results {
    /// Results are dropped: the report has the findings.
    Dropped,
    /// The outcome has all of them, sorted by file, line and URL.
    Kept,
    /// [`Progress::result`] receives each one when it is final.
    Streamed,
}

/// Receives progress events of a run.
pub trait Progress {
    /// The run has planned this number of jobs for each host that is asked.
    fn planned(&self, _jobs: &BTreeMap<String, u64>) {}
    /// A job is finished, with the verdict of this job alone.
    fn finished(&self, _judged: &JudgedJob) {}
    /// The verdict of a job once it is settled.
    fn judged(&self, _judged: &JudgedJob) {}
    /// The result of a job, as reports have it; only for [`Results::Streamed`].
    fn result(&self, _result: &JobResult) {}
}

/// Both receive every event.
impl<A: Progress, B: Progress> Progress for (&A, &B) {
    fn planned(&self, jobs: &BTreeMap<String, u64>) {
        self.0.planned(jobs);
        self.1.planned(jobs);
    }

    fn finished(&self, judged: &JudgedJob) {
        self.0.finished(judged);
        self.1.finished(judged);
    }

    fn judged(&self, judged: &JudgedJob) {
        self.0.judged(judged);
        self.1.judged(judged);
    }

    fn result(&self, result: &JobResult) {
        self.0.result(result);
        self.1.result(result);
    }
}
