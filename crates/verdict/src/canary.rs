//! Tells failures of hosts from failures of our own network.
//!
//! If no host answers at all, our own network is the likeliest cause. So the canary holds back jobs
//! that failed without any answer until some host has answered. From then on, jobs pass at once.
//! The canary holds at most the unanswered failures of one run.

use std::collections::BTreeSet;

use urldb_protocol::State;

use crate::classify::Classification;
use crate::observation::{FailureKind, Observation};
use crate::verdict::{JudgedJob, Verdict};

/// Holds back unanswered failures until some host has answered.
#[derive(Debug, Default)]
pub struct Canary {
    some_host_answered: bool,
    /// Domains without an answer. Aliases count as their domain: as a rule they are one server.
    silent_domains: BTreeSet<String>,
    held: Vec<JudgedJob>,
}

impl Canary {
    /// Takes a judged job, and returns the jobs whose verdicts are final by now.
    pub fn pass(&mut self, judged: JudgedJob) -> Vec<JudgedJob> {
        self.some_host_answered |= judged.observations.iter().any(is_answered);
        if self.some_host_answered {
            let mut released = std::mem::take(&mut self.held);
            released.push(judged);
            return released;
        }
        if !judged.observations.iter().any(is_unanswered) {
            return vec![judged];
        }
        self.silent_domains.insert(judged.job.key.domain.clone());
        self.held.push(judged);
        vec![]
    }

    /// Returns the jobs still held, once all jobs are judged. If more than one host was silent, our
    /// own network is at fault. The silence of a single host shows nothing about our network.
    pub fn end(self) -> Vec<JudgedJob> {
        let is_own_network = self.silent_domains.len() > 1;
        let held = self.held.into_iter();
        held.map(|judged| JudgedJob {
            verdict: if is_own_network {
                blame_own_network(judged.verdict)
            } else {
                judged.verdict
            },
            ..judged
        })
        .collect()
    }
}

fn blame_own_network(verdict: Verdict) -> Verdict {
    match verdict.state() {
        State::Unreachable => Verdict {
            classification: Classification::own_network(&verdict.classification.observed),
            sure: false,
            ..verdict
        },
        _ => verdict,
    }
}

/// Whether a host answered. A server with an outdated certificate or with another protocol than HTTP
/// has answered; a server with a wrong certificate may stand in our own network.
fn is_answered(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    let spoke = matches!(
        failure,
        Some(FailureKind::Protocol | FailureKind::TlsExpired | FailureKind::TlsNotYetValid)
    );
    spoke || !seen.hops.is_empty()
}

/// Whether a request was made and no host answered.
fn is_unanswered(seen: &Observation) -> bool {
    use FailureKind as K;
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    matches!(
        failure,
        Some(
            K::Dns
                | K::Connect
                | K::Disconnected
                | K::Timeout
                | K::Tls
                | K::TlsUntrusted
                | K::TlsWrongHost
        )
    )
}
