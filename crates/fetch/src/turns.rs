//! The requests of second passes: from a job that was set aside to its next request, and back.

use std::collections::HashMap;

use urldb_verdict::Observation;

use crate::aside::{Place, SetAsideJobs};
use crate::pending::{HostTurn, PendingJob, control_job};
use crate::queue::HostId;
use crate::second_pass::{Aside, PassRequest, PassResult};

/// The jobs that were set aside at all hosts.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    jobs: SetAsideJobs,
    /// The refusals of the job that each host tests.
    refusals: HashMap<HostId, (Place, Vec<Observation>)>,
}

/// A job after its request in a second pass.
#[derive(Debug)]
pub(crate) enum TurnedJob {
    /// The job goes on like others.
    Returned(Box<PendingJob>),
    /// The job ends with its last refusal.
    Refused(Box<PendingJob>),
}

impl Turns {
    /// Number of jobs that are set aside, those with a request under way included.
    pub(crate) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Stores a job whose last observation is a refusal; `None` if the temporary file has no room.
    pub(crate) fn set_aside(&mut self, job: &mut PendingJob) -> Option<Aside> {
        let refused = job.observations.last_mut()?;
        Some(Aside {
            digest: job.job.key.spread(0),
            place: self.jobs.add(&job.job, refused).ok()?,
            tests: 0,
        })
    }

    /// The job of the next request of the second pass of `host`; `None` if the temporary file is damaged.
    pub(crate) fn begin(&mut self, host: HostId, turn: PassRequest) -> Option<Box<PendingJob>> {
        let (job, place, refusals) = match turn {
            PassRequest::Control(url) => (control_job(&url)?, None, vec![]),
            PassRequest::Url(place) => {
                let Ok((job, refused)) = self.jobs.read(place) else {
                    self.jobs.remove();
                    return None;
                };
                let refusals = self
                    .refusals
                    .remove(&host)
                    .filter(|(of, _)| *of == place)
                    .map_or_else(|| vec![refused], |(_, all)| all);
                (job, Some(place), refusals)
            }
        };
        Some(PendingJob::of_turn(job, HostTurn { host, place }, refusals))
    }

    /// Ends a request of a second pass. Returns the job, unless it is still set aside, or a control.
    pub(crate) fn end(
        &mut self,
        turn: HostTurn,
        mut job: Box<PendingJob>,
        result: PassResult,
    ) -> Option<TurnedJob> {
        let place = turn.place?;
        if result == PassResult::Aside {
            job.drop_bodies();
            self.refusals.insert(turn.host, (place, job.observations));
            return None;
        }
        self.jobs.remove();
        if result == PassResult::Own {
            return Some(TurnedJob::Refused(job));
        }
        job.forget_refusals();
        Some(TurnedJob::Returned(job))
    }

    /// Takes a job that is set aside no more, and its refusal. Without a result if the temporary file is damaged.
    pub(crate) fn take(&mut self, place: Place) -> Option<(Box<PendingJob>, Observation)> {
        let stored = self.jobs.read(place);
        self.jobs.remove();
        let (job, refused) = stored.ok()?;
        Some((PendingJob::new(job), refused))
    }
}
