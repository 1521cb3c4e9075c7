//! The verdict of one run on one job.

use urldb_protocol::{Reason, State};

use crate::classification::Classification;
use crate::job::Job;
use crate::observation::Observation;

/// The verdict on all observations of a job in one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The state, its reason, and the texts for people.
    pub classification: Classification,
    /// Index of the observation that the verdict rests on.
    pub observation: usize,
    /// Whether the state is believed at once.
    pub sure: bool,
    /// Classification of each observation, oldest first.
    pub attempts: Vec<Classification>,
}

impl Verdict {
    /// The state of the classification.
    pub fn state(&self) -> State {
        self.classification.state
    }

    /// The broken promise that this run saw, where our own network may have answered in place of the
    /// host. Later runs that see the same confirm it.
    pub fn masked(&self) -> Option<&Classification> {
        let is_masked = self.classification.reason == Some(Reason::OwnNetwork);
        let seen = self.attempts.get(self.observation);
        let broken =
            |seen: &&Classification| matches!(seen.state, State::Changed | State::Redirected);
        seen.filter(|_| is_masked).filter(broken)
    }
}

/// A job, its observations in order, and their verdict.
#[derive(Debug)]
pub struct JudgedJob {
    /// The job.
    pub job: Job,
    /// All observations of the job in one run, oldest first.
    pub observations: Vec<Observation>,
    /// The classification of all observations together.
    pub verdict: Verdict,
}

impl AsRef<Self> for JudgedJob {
    fn as_ref(&self) -> &Self {
        self
    }
}

impl AsMut<Self> for JudgedJob {
    fn as_mut(&mut self) -> &mut Self {
        self
    }
}
