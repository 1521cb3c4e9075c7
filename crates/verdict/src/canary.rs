//! Whether it is us: when nobody at all answers, the likeliest cause is our own network.
//!
//! What failed before any answer came is held back until some host has answered; from then
//! on everything goes straight through. So what is held at most is one run's worth of failures
//! without an answer among them.

use std::collections::BTreeSet;

use urldb_protocol::State;

use crate::{Classification, FailureKind, Job, Observation, Verdict};

/// A job, its observations in order, and their verdict.
#[derive(Debug)]
pub struct JudgedJob {
    /// The job.
    pub job: Job,
    /// All observations of the job in one run, oldest first.
    pub observations: Vec<Observation>,
    /// What the observations amount to.
    pub verdict: Verdict,
}

/// Waits for a sign of life.
#[derive(Debug, Default)]
pub struct Canary {
    somebody_answered: bool,
    /// Aliases do not count by themselves: as a rule they are the same server.
    silent_domains: BTreeSet<String>,
    held: Vec<JudgedJob>,
}

impl Canary {
    /// Takes a judged job, and returns the jobs whose verdicts are known to hold by now.
    pub fn pass(&mut self, judged: JudgedJob) -> Vec<JudgedJob> {
        self.somebody_answered |= judged.observations.iter().any(is_answered);
        if self.somebody_answered {
            let mut free = std::mem::take(&mut self.held);
            free.push(judged);
            return free;
        }
        if !judged.observations.iter().any(is_silence) {
            return vec![judged];
        }
        self.silent_domains.insert(judged.job.key.domain.clone());
        self.held.push(judged);
        vec![]
    }

    /// Returns the jobs still held, once all jobs are judged. If more than one host was silent, our
    /// own network is at fault. The silence of a single host shows nothing about our network.
    pub fn end(self) -> Vec<JudgedJob> {
        let is_us = self.silent_domains.len() > 1;
        let held = self.held.into_iter();
        held.map(|judged| JudgedJob {
            verdict: if is_us {
                ours(judged.verdict)
            } else {
                judged.verdict
            },
            ..judged
        })
        .collect()
    }
}

fn ours(verdict: Verdict) -> Verdict {
    match verdict.state() {
        State::Unreachable => Verdict {
            classification: Classification::own_network(&verdict.classification.observed),
            sure: false,
            ..verdict
        },
        _ => verdict,
    }
}

/// Whether anybody was there. One who shows an outdated certificate was, and one who speaks
/// something else than HTTP; whoever shows a wrong certificate may stand in our own network.
fn is_answered(seen: &Observation) -> bool {
    let failure = seen.failure.as_ref().map(|failure| failure.kind);
    let spoke = matches!(
        failure,
        Some(FailureKind::Protocol | FailureKind::TlsExpired | FailureKind::TlsNotYetValid)
    );
    spoke || !seen.hops.is_empty()
}

/// Whether somebody was asked, and nobody answered.
fn is_silence(seen: &Observation) -> bool {
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
