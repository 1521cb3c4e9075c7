//! The incidents after a run.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Incident, Phase, State};

use super::cause::{Cause, incident_id, incident_key};
use super::changing::Changing;
use super::groups::{group, grouped, unconfirmed_and_unknown};
use super::outcome::{LeftBecause, UrlOutcome};

/// The facts about the run that incidents need.
#[derive(Clone, Copy)]
pub struct RunFacts<'a> {
    /// The id of the run.
    pub id: &'a str,
    /// The name of the project, from which keys are derived.
    pub project: &'a str,
    /// When the run began.
    pub started: Timestamp,
    /// The present, in whole seconds.
    pub now: Timestamp,
    /// When the last run over everything began, before this run.
    pub last_complete: Option<Timestamp>,
    /// Whether the record of a URL without outcome is gone, as far as this run knows.
    pub is_gone: &'a dyn Fn(&AffectedUrl) -> bool,
    /// Whether another incident has this id, open or closed.
    pub is_taken: &'a dyn Fn(&str) -> bool,
}

/// The URL and the request of an affected URL.
type UrlKey<'a> = (&'a str, Option<&'a str>);

/// The incidents after a run, and the groups that are none: every incident of `open`, some of them
/// closed now, those that the run opened, and the groups of unconfirmed and unknown URLs. The order is
/// that of [`Envelope::incidents`](urldb_protocol::Envelope::incidents).
///
/// `outcomes` has each URL that is not as promised, and each URL of `open` that the run is about, in any
/// order. The caller adds what only files know: the number of URLs of a host, the number of runs, and the
/// last good run.
pub fn incidents_after(
    open: Vec<Incident>,
    outcomes: &[UrlOutcome],
    run: &RunFacts<'_>,
) -> Vec<Incident> {
    let mut outcomes: Vec<&UrlOutcome> = outcomes.iter().collect();
    outcomes.sort_by_key(|outcome| (&outcome.file, outcome.line, &outcome.url, &outcome.request));
    let (open, merged) = merge_equal_keys(open, run);
    let mut update = Update::new(open, run);
    let rest = update.keep_members(&outcomes);
    let rest = update.add_newcomers(rest);
    let rest = update.add_untried(rest);
    let groups = unconfirmed_and_unknown(rest, run.now);
    let mut all: Vec<Incident> = update.finish();
    all.extend(merged);
    all.extend(groups);
    all.sort_by(|a, b| a.order().cmp(&b.order()));
    all.sort_by_key(importance);
    all
}

/// Opened, grown, closed, still open, unconfirmed, unknown; the most URLs first.
fn importance(incident: &Incident) -> (u8, Reverse<usize>) {
    let phase = match incident.phase {
        Phase::Opened => 0,
        Phase::Grown => 1,
        Phase::Closed => 2,
        Phase::Shrunk | Phase::Unchanged => 3,
        Phase::Unconfirmed => 4,
        Phase::Unknown => 5,
    };
    (phase, Reverse(incident.urls.len()))
}

/// Of several open incidents with one key, the one with the smallest id takes the URLs of the others.
/// Branches that both opened an incident bring this about. Returns the open and the merged ones.
fn merge_equal_keys(mut open: Vec<Incident>, run: &RunFacts<'_>) -> (Vec<Incident>, Vec<Incident>) {
    open.sort_by(|a, b| a.id.cmp(&b.id));
    let (mut kept, mut merged): (Vec<Incident>, _) = (vec![], vec![]);
    let mut by_key = HashMap::new();
    for mut incident in open {
        match by_key.get(&incident.key).copied() {
            None => {
                by_key.insert(incident.key.clone(), kept.len());
                kept.push(incident);
            }
            Some(index) => {
                let winner: &mut Incident = &mut kept[index];
                winner.since = winner.since.min(incident.since);
                winner.silent &= incident.silent;
                winner.urls.extend(incident.urls.iter().cloned());
                incident.merged_into = Some(winner.id.clone());
                incident.closed = Some(run.now);
                incident.phase = Phase::Closed;
                merged.push(incident);
            }
        }
    }
    (kept, merged)
}

/// The incidents while the outcomes of a run are distributed over them.
struct Update<'a> {
    run: &'a RunFacts<'a>,
    incidents: Vec<Changing>,
}

impl<'a> Update<'a> {
    fn new(open: Vec<Incident>, run: &'a RunFacts<'a>) -> Self {
        let incidents = open.into_iter().map(|mut incident| {
            let cause = Cause::of(&incident);
            // A time in the future tells nothing: a clock was wrong.
            let opened = incident.opened.filter(|opened| *opened <= run.started);
            let is_settled = run.last_complete > opened;
            incident.phase = Phase::Unchanged;
            let accepts = cause.is_host_wide() || !is_settled;
            Changing::new(incident, cause, accepts)
        });
        Self {
            run,
            incidents: incidents.collect(),
        }
    }

    /// Decides for each affected URL whether it stays. Returns the outcomes of all other URLs.
    fn keep_members<'o>(&mut self, outcomes: &[&'o UrlOutcome]) -> Vec<&'o UrlOutcome> {
        let by_url: HashMap<UrlKey<'_>, &UrlOutcome> = outcomes
            .iter()
            .map(|outcome| (key_of_outcome(outcome), *outcome))
            .collect();
        let mut members: HashSet<(String, Option<String>)> = HashSet::new();
        for changing in &mut self.incidents {
            let urls = std::mem::take(&mut changing.incident.urls);
            for known in urls {
                let key = (known.url.clone(), known.request.clone());
                if members.contains(&key) {
                    continue;
                }
                let outcome = by_url.get(&key_of(&known)).copied();
                match outcome {
                    None if (self.run.is_gone)(&known) => {
                        changing.leave(known, LeftBecause::PromiseChanged);
                    }
                    None => {
                        changing.urls.push(AffectedUrl {
                            new: false,
                            left: false,
                            ..known
                        });
                        members.insert(key);
                    }
                    Some(outcome) => {
                        if let Some(because) = left_because(outcome, &changing.cause) {
                            changing.leave(known, because);
                        } else {
                            changing.stay(&known, outcome);
                            members.insert(key);
                        }
                    }
                }
            }
        }
        let is_member = |outcome: &UrlOutcome| {
            members.contains(&(outcome.url.clone(), outcome.request.clone()))
        };
        let rest = outcomes.iter().copied();
        rest.filter(|outcome| !is_member(outcome)).collect()
    }

    /// Puts each URL of which a bad state is believed, and that no incident has, into an incident.
    fn add_newcomers<'o>(&mut self, outcomes: Vec<&'o UrlOutcome>) -> Vec<&'o UrlOutcome> {
        let (newcomers, rest): (Vec<_>, Vec<_>) = outcomes
            .into_iter()
            .partition(|outcome| outcome.is_believed());
        let accepting = |incidents: &[Changing], host: &str, cause: &Cause| {
            let accepts = |changing: &Changing| {
                changing.accepts && changing.incident.host == host && changing.cause == *cause
            };
            incidents.iter().position(accepts)
        };
        let mut unplaced = vec![];
        for outcome in newcomers {
            match accepting(&self.incidents, &outcome.host, &outcome.cause()) {
                Some(index) => self.incidents[index].join(outcome),
                None => unplaced.push(outcome),
            }
        }
        for ((host, cause), urls) in grouped(unplaced, UrlOutcome::cause) {
            let index = match accepting(&self.incidents, &host, &cause) {
                Some(index) => index,
                None => self.open(host, cause, &urls),
            };
            for outcome in urls {
                self.incidents[index].join(outcome);
            }
        }
        rest
    }

    /// Adds an incident without URLs, and returns its index.
    fn open(&mut self, host: String, cause: Cause, urls: &[&UrlOutcome]) -> usize {
        let RunFacts {
            id: run,
            project,
            started,
            is_taken,
            ..
        } = *self.run;
        let is_free = |id: &String| {
            let is_known = self.incidents.iter().any(|known| known.incident.id == *id);
            !is_known && !is_taken(id)
        };
        let ids = (0..=u32::MAX).map(|salt| incident_id(run, &host, &cause, salt));
        let id = ids.into_iter().find(is_free).unwrap_or_default();
        let has_no_such_key = |key: &String| {
            !self
                .incidents
                .iter()
                .any(|known| known.incident.key == *key)
        };
        let keys = (0..=u32::MAX).map(|salt| incident_key(project, &host, &cause, salt));
        let key = keys.into_iter().find(has_no_such_key).unwrap_or_default();
        let since = urls.iter().map(|outcome| outcome.status.since).min();
        let incident = Incident {
            id,
            key,
            opened_by: run.to_owned(),
            opened: Some(started),
            silent: !urls.iter().any(|outcome| outcome.is_news),
            ..group(Phase::Opened, host, &cause, since.unwrap_or(started))
        };
        self.incidents.push(Changing::new(incident, cause, true));
        self.incidents.len() - 1
    }

    /// Adds the URLs that were not tried to the incident about their silent host, if there is one.
    fn add_untried<'o>(&mut self, outcomes: Vec<&'o UrlOutcome>) -> Vec<&'o UrlOutcome> {
        let mut rest = vec![];
        let mut silent: HashMap<String, Option<usize>> = HashMap::new();
        for outcome in outcomes {
            if !outcome.is_not_tried() {
                rest.push(outcome);
                continue;
            }
            let incidents = &self.incidents;
            let index = *silent.entry(outcome.host.clone()).or_insert_with(|| {
                let of_host = (0..incidents.len()).filter(|index| {
                    let Changing {
                        incident,
                        cause,
                        urls,
                        ..
                    } = &incidents[*index];
                    incident.host == outcome.host && cause.is_silence() && !urls.is_empty()
                });
                of_host.max_by_key(|index| {
                    let Changing {
                        incident,
                        cause,
                        urls,
                        ..
                    } = &incidents[*index];
                    (cause.redirect.is_none(), urls.len(), Reverse(&incident.id))
                })
            });
            match index {
                Some(index) => self.incidents[index].join(outcome),
                None => rest.push(outcome),
            }
        }
        rest
    }

    fn finish(self) -> Vec<Incident> {
        let now = self.run.now;
        let finished = self
            .incidents
            .into_iter()
            .map(|changing| changing.finish(now));
        finished.collect()
    }
}

/// Why a URL leaves an incident, if it does. A URL that was not tried stays until a run sees it as
/// promised. A URL whose reason or redirect changes stays, since no transition tells anybody so.
fn left_because(outcome: &UrlOutcome, cause: &Cause) -> Option<LeftBecause> {
    if outcome.status.state == State::Ok {
        let is_good = outcome.seen == State::Ok;
        return is_good.then_some(if outcome.is_accepted {
            LeftBecause::PromiseChanged
        } else {
            LeftBecause::Recovered
        });
    }
    (outcome.status.state != cause.state).then_some(LeftBecause::OtherState)
}

fn key_of(url: &AffectedUrl) -> UrlKey<'_> {
    (&url.url, url.request.as_deref())
}

fn key_of_outcome(outcome: &UrlOutcome) -> UrlKey<'_> {
    (&outcome.url, outcome.request.as_deref())
}
