//! The step that settles verdicts: whether hosts failed, or our own network.

use urldb_verdict::{Canary, JudgedJob};

use super::options::Progress;

/// Settles the verdicts of jobs, and hands the jobs on.
///
/// Each job comes with the number of the machine that fetched it: machines have networks of their own.
pub(super) struct Diagnosis<'a, T, F> {
    progress: &'a dyn Progress,
    canaries: Vec<Canary<T>>,
    take: F,
}

impl<'a, T, F> Diagnosis<'a, T, F>
where
    T: AsRef<JudgedJob> + AsMut<JudgedJob>,
    F: FnMut(T),
{
    /// The diagnosis of a run on so many machines; `take` gets each job with its settled verdict. `has_static`
    /// says that some jobs promise bytes.
    pub(super) fn new(
        progress: &'a dyn Progress,
        has_static: bool,
        machines: usize,
        take: F,
    ) -> Self {
        let canaries = (0..machines).map(|_| Canary::new(has_static));
        Self {
            progress,
            canaries: canaries.collect(),
            take,
        }
    }

    /// Adds a job of the machine with this number.
    pub(super) fn add(&mut self, machine: usize, job: T) {
        self.progress.finished(job.as_ref());
        for settled in self.canaries[machine].pass(job) {
            self.hand_on(settled);
        }
    }

    /// Adds a job that no machine fetched.
    pub(super) fn add_settled(&mut self, job: T) {
        self.progress.finished(job.as_ref());
        self.hand_on(job);
    }

    /// Settles the verdicts of all jobs that are left.
    pub(super) fn end(mut self) {
        for canary in std::mem::take(&mut self.canaries) {
            for settled in canary.end() {
                self.hand_on(settled);
            }
        }
    }

    fn hand_on(&mut self, settled: T) {
        self.progress.judged(settled.as_ref());
        (self.take)(settled);
    }
}
