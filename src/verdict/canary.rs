//! Whether it is us: when nobody at all answers, the likeliest cause is our own network.
//!
//! What failed before any answer came is held back until some host has answered; from then
//! on everything goes straight through. So what is held at most is one run's worth of failures
//! without an answer among them.

use std::collections::BTreeSet;

use urldb_protocol::State;

use super::{Assessment, Sight};
use crate::fetch::{FailureKind, Observation};
use crate::plan::Job;

/// A job with what was seen of it and what that came to.
pub type Settled = (Job, Vec<Observation>, Assessment);

/// Waits for a sign of life.
#[derive(Debug, Default)]
pub struct Canary {
    somebody_answered: bool,
    /// Aliases do not count by themselves: as a rule they are the same server.
    silent_domains: BTreeSet<String>,
    held: Vec<Settled>,
}

impl Canary {
    /// Takes in what has settled, and gives out what may be believed by now.
    pub fn pass(&mut self, settled: Settled) -> Vec<Settled> {
        let (job, seen, _) = &settled;
        self.somebody_answered |= seen.iter().any(is_answered);
        if self.somebody_answered {
            let mut free = std::mem::take(&mut self.held);
            free.push(settled);
            return free;
        }
        if !seen.iter().any(is_silence) {
            return vec![settled];
        }
        self.silent_domains.insert(job.key.domain.clone());
        self.held.push(settled);
        vec![]
    }

    /// All jobs are in: what is still held is our own fault if more than one host was silent.
    /// Of a single one nobody can tell.
    pub fn end(self) -> Vec<Settled> {
        let is_us = self.silent_domains.len() > 1;
        let held = self.held.into_iter();
        held.map(|(job, seen, assessment)| {
            let assessment = if is_us { ours(assessment) } else { assessment };
            (job, seen, assessment)
        })
        .collect()
    }
}

fn ours(assessment: Assessment) -> Assessment {
    match assessment.state() {
        State::Unreachable => Assessment {
            sight: Sight::own_network(&assessment.sight.observed),
            sure: false,
            ..assessment
        },
        _ => assessment,
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
