//! Hosts that refused requests until their `limit-patience` was over, for a note on each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use urldb_protocol::{Reason, State};
use urldb_verdict::{FailureKind, JudgedJob};

/// The hosts of a run whose `limit-patience` was over before all their URLs were checked, and those that earlier runs
/// found so.
#[derive(Debug, Default)]
pub(super) struct LimitedHosts {
    hosts: BTreeMap<String, LimitedHost>,
    watched: HashMap<String, WatchedHost>,
}

/// The URLs of one host that were not checked.
#[derive(Debug, Default)]
pub(super) struct LimitedHost {
    /// The domain file of the first.
    pub(super) file: String,
    pub(super) categories: BTreeSet<String>,
    /// Their number.
    pub(super) urls: u64,
    /// The number of those that are muted.
    pub(super) muted: u64,
    /// The failure of the first: the pace that the host bears, and the key to set.
    pub(super) failure: String,
}

/// The URLs of a host that earlier runs found limited.
#[derive(Debug, Default)]
struct WatchedHost {
    /// Number of URLs that were checked.
    checked: u64,
    /// Whether a URL got an answer.
    has_answered: bool,
}

impl LimitedHosts {
    /// None yet, in a run that watches these hosts.
    pub(super) fn watching(hosts: BTreeSet<String>) -> Self {
        let hosts = hosts.into_iter();
        Self {
            hosts: BTreeMap::new(),
            watched: hosts.map(|host| (host, WatchedHost::default())).collect(),
        }
    }

    /// Adds a judged job.
    pub(super) fn add(&mut self, judged: &JudgedJob) {
        let job = &judged.job;
        if let Some(failure) = limit_failure(judged) {
            let host = self.hosts.entry(job.host().to_owned()).or_default();
            if host.urls == 0 {
                host.file = job.file.to_string();
                failure.clone_into(&mut host.failure);
            }
            host.urls += 1;
            host.muted += u64::from(job.muted);
            host.categories.extend(job.categories.iter().cloned());
        } else if let Some(host) = self.watched.get_mut(job.host()) {
            host.checked += u64::from(is_checked(judged));
            host.has_answered |= !matches!(
                judged.verdict.state(),
                State::ServerError | State::Unreachable | State::Blocked | State::Inconclusive
            );
        }
    }

    /// The hosts whose `limit-patience` was over.
    pub(super) fn hosts(&self) -> &BTreeMap<String, LimitedHost> {
        &self.hosts
    }

    /// The hosts that earlier runs found limited.
    pub(super) fn watched(&self) -> impl Iterator<Item = &String> {
        self.watched.keys()
    }

    /// Whether an earlier run found the host limited, and this one checked all these `planned` URLs of it. A host that
    /// fails as a whole shows nothing about its limit.
    pub(super) fn is_in_time(&self, host: &str, planned: u64) -> bool {
        let watched = self.watched.get(host);
        watched.is_some_and(|seen| seen.has_answered && seen.checked >= planned)
    }

    /// A note on each host, with the number of its URLs that were not checked, of those in `planned`.
    pub(super) fn notes(&self, planned: &BTreeMap<String, u64>) -> Vec<String> {
        let note = |(host, limited): (&String, &LimitedHost)| {
            let LimitedHost { urls, failure, .. } = limited;
            let of = planned.get(host).copied().unwrap_or_default().max(*urls);
            format!("{urls} of {of} URLs of {host} were not checked: {failure}")
        };
        self.hosts.iter().map(note).collect()
    }
}

/// The failure of a URL that was not checked because `limit-patience` was over. A URL without it was refused in all
/// its attempts.
fn limit_failure(judged: &JudgedJob) -> Option<&str> {
    if judged.verdict.classification.reason != Some(Reason::RateLimited) {
        return None;
    }
    let seen = judged.observations.get(judged.verdict.observation)?;
    let failure = seen.failure.as_ref()?;
    (failure.kind == FailureKind::RateLimited).then_some(failure.detail.as_str())
}

/// Whether the run came to the URL, and our own side let it through.
fn is_checked(judged: &JudgedJob) -> bool {
    !matches!(
        judged.verdict.classification.reason,
        Some(
            Reason::RunEnded
                | Reason::NotAsked
                | Reason::HostSilent
                | Reason::OwnNetwork
                | Reason::OwnLimit
        )
    )
}
