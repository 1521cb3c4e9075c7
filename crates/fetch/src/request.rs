//! The next request of a pending job, and its result.

use jiff::Timestamp;
use urldb_verdict::Observation;

use crate::chain::{Chain, FetchContext, Step};
use crate::exchange::Permit;
use crate::limits::Limits;
use crate::pending::PendingJob;
use crate::queue::HostId;

/// A job after one request.
pub(crate) struct RequestResult {
    pub(crate) host: HostId,
    pub(crate) job: Box<PendingJob>,
    /// Whether the head of a response has come; also true for a request that our rules forbade,
    /// since the host owes no response, and for a server that speaks only HTTP/2.
    pub(crate) is_answered: bool,
    /// Whether the host has sent a response.
    pub(crate) has_response: bool,
}

/// Sends the next request of a job and reads its response.
pub(crate) async fn send_request(
    context: &FetchContext,
    limits: &Limits,
    host: HostId,
    mut job: Box<PendingJob>,
    permit: Permit,
) -> RequestResult {
    let chain = match job.chain.take() {
        Some(chain) => Ok(*chain),
        None => Chain::new(context, &job.job, job.fresh),
    };
    let mut responses_before = 0;
    let step = match chain {
        Ok(chain) => {
            responses_before = chain.response_count();
            chain.step(context, &job.job, limits, permit).await
        }
        Err(failure) => {
            let nothing = Observation::of_nothing(failure, Timestamp::now());
            Step::Done(Box::new(nothing))
        }
    };
    let responses = match step {
        Step::Done(observation) => {
            let responses = observation.hops.len();
            job.add(*observation);
            responses
        }
        Step::Redirect(chain) => {
            let responses = chain.response_count();
            job.chain = Some(chain);
            responses
        }
    };
    let has_response = responses > responses_before;
    RequestResult {
        host,
        is_answered: has_response || job.was_forbidden() || job.was_declined(),
        has_response,
        job,
    }
}
