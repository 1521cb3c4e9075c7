//! Hosts that a run cannot check whole, for a note on each: they refuse requests until their `limit-patience` is over,
//! or speak only HTTP/2.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use urldb_protocol::{Reason, State};
use urldb_verdict::{FailureKind, JudgedJob};

/// The hosts of a run with URLs that it could not check, and those that earlier runs found so.
#[derive(Debug, Default)]
pub(super) struct UncheckedHosts {
    pub(super) hosts: BTreeMap<String, UncheckedHost>,
    pub(super) watched: HashMap<String, WatchedHost>,
}

/// The URLs of one host that were not checked.
#[derive(Debug, Default)]
pub(super) struct UncheckedHost {
    /// The domain file of the first.
    pub(super) file: String,
    pub(super) categories: BTreeSet<String>,
    /// Their number.
    pub(super) urls: u64,
    /// The number of those that are muted.
    pub(super) muted: u64,
    /// The failure of the first: the need of the host, or the pace that it bears and the key to set.
    pub(super) failure: String,
}

/// The URLs of a host that earlier runs could not check whole.
#[derive(Debug, Default)]
pub(super) struct WatchedHost {
    /// Number of URLs that were checked.
    checked: u64,
    /// Whether a URL got an answer.
    has_answered: bool,
}

impl UncheckedHosts {
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
        if let Some(failure) = unchecked(judged) {
            let host = self.hosts.entry(job.host().to_owned()).or_default();
            if host.urls == 0 {
                host.file = job.file.to_string();
                host.failure = failure;
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

    /// The hosts that earlier runs could not check whole, and of which this one checked all `planned` URLs. A host that
    /// fails as a whole shows nothing.
    pub(super) fn whole(&self, planned: &BTreeMap<String, u64>) -> BTreeSet<String> {
        let is_whole = |(host, seen): &(&String, &WatchedHost)| {
            seen.has_answered && seen.checked >= planned.get(*host).copied().unwrap_or_default()
        };
        self.watched
            .iter()
            .filter(is_whole)
            .map(|(host, _)| host.clone())
            .collect()
    }

    /// A note on each host, with the number of its URLs that were not checked, of those in `planned`.
    pub(super) fn notes(&self, planned: &BTreeMap<String, u64>) -> Vec<String> {
        let note = |(host, unchecked): (&String, &UncheckedHost)| {
            let UncheckedHost { urls, failure, .. } = unchecked;
            let of = planned.get(host).copied().unwrap_or_default().max(*urls);
            format!("{urls} of {of} URLs of {host} were not checked: {failure}")
        };
        self.hosts.iter().map(note).collect()
    }
}

/// The failure of a URL that was not checked because `limit-patience` was over, or because the host speaks only HTTP/2.
/// A URL without it was refused in all its attempts, or redirects to another host.
fn unchecked(judged: &JudgedJob) -> Option<String> {
    let seen = judged.observations.get(judged.verdict.observation)?;
    let failure = seen.failure.as_ref()?;
    match (judged.verdict.classification.reason?, failure.kind) {
        (Reason::RateLimited, FailureKind::RateLimited) => Some(failure.detail.clone()),
        (Reason::NeedsHttp2, _) if seen.hops.is_empty() => {
            Some(format!("{} {}", judged.job.host(), failure.detail))
        }
        _ => None,
    }
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
