//! Hosts that several runs in a row could not check whole.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use urldb_protocol::{Notice, NoticeKind, Shown};
use urldb_verdict::incident::ImpairedFacts;

use super::unchecked::UncheckedHosts;
use crate::ambient::in_seconds;
use crate::ledger::{ImpairedHosts, IncidentFile, RunLine};

/// Impaired runs in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) runs: u64,
    /// The start of the first.
    pub(super) since: Timestamp,
}

impl Row {
    /// The notice after these runs, the last of which did not get to so many URLs.
    pub(super) fn notice(self, urls: u64, reason: &str) -> Notice {
        Notice {
            kind: NoticeKind::Impaired,
            endangered: Some(urls),
            runs: Some(self.runs),
            since: Some(self.since),
            reason: Some(Shown::new(reason, Shown::LONGEST)),
            ..Notice::default()
        }
    }
}

/// The rows of hosts that these runs, given in their order, have not ended.
fn rows(past: &[RunLine]) -> BTreeMap<&str, Row> {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    for run in past {
        for host in &run.no_longer_impaired {
            rows.remove(host.as_str());
        }
        for host in &run.impaired {
            let since = in_seconds(run.at);
            rows.entry(host).or_insert(Row { runs: 0, since }).runs += 1;
        }
    }
    rows
}

/// The hosts that a run has to look at: those with a row, and those with an open notice.
pub(super) fn watched(past: &[RunLine], known: &[IncidentFile]) -> BTreeSet<String> {
    let is_impaired = |file: &&IncidentFile| {
        let state = file.log.state();
        let is_noticed = |notice: &Notice| notice.kind == NoticeKind::Impaired;
        !file.log.host.is_empty() && state.open_notice().is_some_and(is_noticed)
    };
    known
        .iter()
        .filter(is_impaired)
        .map(|file| file.log.host.clone())
        .chain(rows(past).into_keys().map(str::to_owned))
        .collect()
}

/// The facts of a run about hosts that it could not check whole.
pub(super) struct HostFacts<'a> {
    pub(super) started: Timestamp,
    /// Whether the selection has all URLs of each host that it has any of.
    pub(super) is_of_whole_hosts: bool,
    /// Whether the host has no URL any more.
    pub(super) is_gone: &'a dyn Fn(&str) -> bool,
    pub(super) hosts: &'a UncheckedHosts,
    /// Number of the URLs of each host that were to be asked.
    pub(super) planned: &'a BTreeMap<String, u64>,
    /// The runs before, in their order.
    pub(super) past: &'a [RunLine],
    /// The number of runs in a row that are news.
    pub(super) confirm: u64,
}

impl HostFacts<'_> {
    /// The facts for notices, and those for the line of the run. A run over a part of a host shows nothing.
    pub(super) fn facts(&self) -> (ImpairedFacts, ImpairedHosts) {
        if !self.is_of_whole_hosts {
            return (ImpairedFacts::default(), ImpairedHosts::default());
        }
        let UncheckedHosts { hosts, watched } = self.hosts;
        let mut rows = rows(self.past);
        let mut facts = ImpairedFacts {
            ended: self.hosts.whole(self.planned),
            ..ImpairedFacts::default()
        };
        for (host, seen) in hosts {
            let row = rows.entry(host).or_insert(Row {
                runs: 0,
                since: self.started,
            });
            row.runs += 1;
            if row.runs >= self.confirm && seen.muted < seen.urls {
                let notice = Notice {
                    file: seen.file.clone(),
                    categories: seen.categories.iter().cloned().collect(),
                    ..row.notice(seen.urls, &seen.failure)
                };
                facts.notices.insert(host.clone(), notice);
            }
        }
        let gone = watched.keys().filter(|host| (self.is_gone)(host));
        let no_longer: BTreeSet<&String> = facts.ended.iter().chain(gone).collect();
        let line = ImpairedHosts {
            impaired: hosts.keys().cloned().collect(),
            no_longer: no_longer.into_iter().cloned().collect(),
        };
        (facts, line)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use urldb_protocol::{Reason, State};
    use urldb_verdict::{Failure, FailureKind, JudgedJob, Observation};

    use super::*;
    use crate::ledger::update::tests::{HOST, judged_job};

    /// The result of a URL in a run.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Sight {
        Fine,
        Limited,
        ServerError,
        RunEnded,
        OwnNetwork,
    }

    /// A run over two URLs of the host: all that there is, or a part of it; without sights, the host has no URL.
    #[derive(Debug, Clone)]
    struct Run {
        is_part: bool,
        sights: Vec<Sight>,
    }

    fn run() -> impl Strategy<Value = Run> {
        use Sight::{Fine, Limited, OwnNetwork, RunEnded, ServerError};
        let sight = prop_oneof![
            4 => Just(Fine),
            6 => Just(Limited),
            1 => Just(ServerError),
            1 => Just(RunEnded),
            1 => Just(OwnNetwork),
        ];
        let sights = prop_oneof![
            9 => prop::collection::vec(sight, 2..3),
            1 => Just(vec![]),
        ];
        (prop::bool::weighted(0.2), sights).prop_map(|(is_part, sights)| Run { is_part, sights })
    }

    fn judged(sight: Sight) -> JudgedJob {
        let (state, reason) = match sight {
            Sight::Fine => (State::Ok, None),
            Sight::Limited => (State::Blocked, Some(Reason::RateLimited)),
            Sight::ServerError => (State::ServerError, None),
            Sight::RunEnded => (State::Inconclusive, Some(Reason::RunEnded)),
            Sight::OwnNetwork => (State::Inconclusive, Some(Reason::OwnNetwork)),
        };
        let failure = Failure {
            kind: FailureKind::RateLimited,
            detail: "it refuses".to_owned(),
            certificate: None,
        };
        let observation = Observation::of_nothing(failure, Timestamp::UNIX_EPOCH);
        let seen = vec![observation].into_iter();
        let seen = seen.filter(|_| sight == Sight::Limited);
        judged_job(state, reason, seen.collect())
    }

    fn facts(run: &Run, past: &[RunLine], at: Timestamp) -> (ImpairedFacts, ImpairedHosts) {
        let mut hosts = UncheckedHosts::watching(watched(past, &[]));
        for sight in &run.sights {
            hosts.add(&judged(*sight));
        }
        let planned = BTreeMap::from([(HOST.to_owned(), run.sights.len() as u64)]);
        let facts = HostFacts {
            started: at,
            is_of_whole_hosts: !run.is_part,
            is_gone: &|_| !run.is_part && run.sights.is_empty(),
            hosts: &hosts,
            planned: &planned,
            past,
            confirm: 2,
        };
        facts.facts()
    }

    proptest! {
        /// A host is slow from the second run on that was over all its URLs and did not check them in time, unless
        /// such a run between them did, or found no URL. Runs over a part, those that ended early or without a
        /// network, and those in which the host failed as a whole neither belong to the row nor end it.
        #[test]
        fn a_host_is_slow_after_runs_in_a_row_over_all_its_urls(
            runs in prop::collection::vec(run(), 1..12),
        ) {
            let mut past: Vec<RunLine> = vec![];
            let (mut row, mut first) = (0, None);
            for (index, run) in runs.iter().enumerate() {
                // Clocks step: only the order counts.
                let at = Timestamp::from_second(1000 - i64::try_from(index).unwrap()).unwrap();
                let (facts, limits) = facts(run, &past, at);
                let has = |sight| run.sights.contains(&sight);
                let is_limited = !run.is_part && has(Sight::Limited);
                let is_unseen = has(Sight::RunEnded) || has(Sight::OwnNetwork);
                let is_in_time = !is_limited && !run.is_part && has(Sight::Fine) && !is_unseen;
                let had_row = row > 0;
                if is_limited {
                    row += 1;
                    first = first.or(Some(at));
                } else if is_in_time || !run.is_part && run.sights.is_empty() {
                    (row, first) = (0, None);
                }
                let slow: Vec<_> = facts.notices.values().collect();
                prop_assert_eq!(slow.len(), usize::from(is_limited && row > 1));
                for notice in slow {
                    prop_assert_eq!((notice.runs, notice.since), (Some(row), first));
                    let urls = run.sights.iter().filter(|sight| **sight == Sight::Limited);
                    prop_assert_eq!(notice.endangered, Some(urls.count() as u64));
                }
                prop_assert_eq!(facts.ended.contains(HOST), had_row && is_in_time);
                past.push(RunLine {
                    run: index.to_string(),
                    at,
                    due: 2,
                    impaired: limits.impaired,
                    no_longer_impaired: limits.no_longer,
                    ..RunLine::default()
                });
            }
        }
    }
}
