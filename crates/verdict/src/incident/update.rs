//! The incidents after a run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, ClosedBecause, Evidence, Incident, Phase, State};

use super::cause::{Cause, incident_id, incident_key};
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

/// File, line and URL, by which URLs are sorted.
type Place = (Arc<str>, usize, String);

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

/// An incident while its URLs change.
struct Changing {
    incident: Incident,
    cause: Cause,
    /// Whether later URLs of the same cause join.
    accepts: bool,
    /// The URLs that are affected after the run.
    urls: Vec<AffectedUrl>,
    left: Vec<(AffectedUrl, LeftBecause)>,
    /// Number of URLs that are news for an incident of an earlier run.
    added: u64,
    tried: u64,
    /// The evidence of the first URL that has some, and the place of that URL.
    evidence: Option<(Place, Evidence)>,
}

impl<'a> Update<'a> {
    fn new(open: Vec<Incident>, run: &'a RunFacts<'a>) -> Self {
        let incidents = open.into_iter().map(|mut incident| {
            let cause = Cause::of(&incident);
            // A time in the future tells nothing: a clock was wrong.
            let opened = incident.opened.filter(|opened| *opened <= run.started);
            let is_settled = run.last_complete > opened;
            incident.phase = Phase::Unchanged;
            Changing {
                accepts: cause.is_host_wide() || !is_settled,
                cause,
                incident,
                urls: vec![],
                left: vec![],
                added: 0,
                tried: 0,
                evidence: None,
            }
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
        self.incidents.push(Changing {
            incident,
            cause,
            accepts: true,
            urls: vec![],
            left: vec![],
            added: 0,
            tried: 0,
            evidence: None,
        });
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

impl Changing {
    fn leave(&mut self, known: AffectedUrl, because: LeftBecause) {
        let left = AffectedUrl {
            new: false,
            not_tried: false,
            left: true,
            ..known
        };
        self.left.push((left, because));
    }

    /// Keeps a URL. A URL that is no longer muted is news, since nobody was notified about it.
    fn stay(&mut self, known: &AffectedUrl, outcome: &UrlOutcome) {
        let new = known.muted && !outcome.muted;
        self.added += u64::from(new);
        self.add(outcome, new);
    }

    /// Adds a URL. A URL whose bad state was believed before is no news.
    fn join(&mut self, outcome: &UrlOutcome) {
        let is_opening = self.incident.phase == Phase::Opened;
        let new = is_opening || outcome.is_news || outcome.is_not_tried();
        self.added += u64::from(new && !is_opening);
        self.add(outcome, new);
    }

    fn add(&mut self, outcome: &UrlOutcome, new: bool) {
        self.urls.push(AffectedUrl {
            new,
            ..outcome.affected()
        });
        self.tried += u64::from(outcome.seen != State::Inconclusive);
        let place = (Arc::clone(&outcome.file), outcome.line, outcome.url.clone());
        let known = self.evidence.as_ref().map(|(place, _)| place);
        if let Some(evidence) = &outcome.evidence
            && known.is_none_or(|known| place < *known)
        {
            self.evidence = Some((place, (**evidence).clone()));
        }
    }

    fn finish(self, now: Timestamp) -> Incident {
        let Self {
            mut incident,
            mut urls,
            left,
            added,
            tried,
            evidence,
            ..
        } = self;
        incident.added = added;
        incident.left += left.len() as u64;
        let is_affected = |url: &str| urls.iter().any(|known| known.url == url);
        if !urls.is_empty()
            && !is_affected(&incident.evidence.url)
            && let Some((_, evidence)) = evidence
        {
            incident.evidence = evidence;
        }
        incident.evidence.tried = tried;
        if incident.phase != Phase::Opened {
            incident.phase = match (urls.is_empty(), added, left.is_empty()) {
                (true, ..) => Phase::Closed,
                (false, 0, true) => Phase::Unchanged,
                (false, 0, false) => Phase::Shrunk,
                (false, _, _) => Phase::Grown,
            };
        }
        if incident.phase == Phase::Closed {
            let is_changed =
                |(_, because): &(_, LeftBecause)| *because == LeftBecause::PromiseChanged;
            incident.closed = Some(now);
            incident.closed_because = Some(if !left.is_empty() && left.iter().all(is_changed) {
                ClosedBecause::PromisesChanged
            } else {
                ClosedBecause::Recovered
            });
        }
        urls.extend(left.into_iter().map(|(url, _)| url));
        sort_urls(&mut urls);
        incident.urls = urls;
        incident
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

/// The groups of the URLs that no incident has: those that failed without being confirmed, and those
/// about which there is no conclusion.
fn unconfirmed_and_unknown(outcomes: Vec<&UrlOutcome>, now: Timestamp) -> Vec<Incident> {
    let (doubted, rest): (Vec<_>, Vec<_>) = outcomes
        .into_iter()
        .partition(|outcome| outcome.is_doubted());
    let mut unconfirmed = grouped(doubted, UrlOutcome::seen_cause);
    let mut unknown = vec![];
    for outcome in rest {
        let of_host = unconfirmed.iter_mut();
        let silent = of_host
            .filter(|((host, cause), _)| *host == outcome.host && cause.is_silence())
            .filter(|_| outcome.is_not_tried())
            .max_by_key(|((_, cause), urls)| (cause.redirect.is_none(), urls.len()));
        match silent {
            Some((_, urls)) => urls.push(outcome),
            None if outcome.seen != State::Ok => unknown.push(outcome),
            None => {}
        }
    }
    let cause = |outcome: &UrlOutcome| Cause::new(outcome.seen, outcome.seen_reason.as_deref());
    let unknown = grouped(unknown, cause);
    let all = unconfirmed
        .into_iter()
        .map(|group| (Phase::Unconfirmed, group));
    let all = all.chain(unknown.into_iter().map(|group| (Phase::Unknown, group)));
    let finished = all.map(|(phase, ((host, cause), outcomes))| {
        let doubts = || {
            let statuses = outcomes.iter().map(|outcome| &outcome.status);
            statuses.filter_map(|status| status.pending.as_ref())
        };
        let mut urls: Vec<AffectedUrl> =
            outcomes.iter().map(|outcome| outcome.affected()).collect();
        sort_urls(&mut urls);
        let tried = outcomes.iter();
        let tried = tried.filter(|outcome| outcome.seen != State::Inconclusive);
        let tried = tried.count() as u64;
        let mut evidence = outcomes
            .iter()
            .filter_map(|outcome| outcome.evidence.as_deref());
        let first = evidence.next().cloned();
        let runs = match phase {
            Phase::Unconfirmed => doubts().map(|pending| pending.count).max(),
            _ => None,
        };
        let since = match phase {
            Phase::Unconfirmed => doubts().map(|pending| pending.first).min(),
            _ => None,
        };
        let since = since.unwrap_or(now);
        Incident {
            urls,
            runs: runs.unwrap_or_default(),
            evidence: Evidence {
                tried,
                ..first.unwrap_or_default()
            },
            ..group(phase, host, &cause, since)
        }
    });
    finished.collect()
}

/// An incident without URLs that is known to nobody.
fn group(phase: Phase, host: String, cause: &Cause, since: Timestamp) -> Incident {
    Incident {
        reason: cause.reason.clone(),
        redirect: cause.redirect.clone(),
        ..Incident::group(phase, host, cause.state, since)
    }
}

type Groups<'o> = BTreeMap<(String, Cause), Vec<&'o UrlOutcome>>;

/// URLs by host and cause. A redirect is a part of the cause if several URLs have the same target, or
/// if only one URL has the rest of the cause; URLs that each redirect to a target of their own are one
/// group.
fn grouped<'o>(
    outcomes: Vec<&'o UrlOutcome>,
    cause_of: impl Fn(&UrlOutcome) -> Cause,
) -> Vec<((String, Cause), Vec<&'o UrlOutcome>)> {
    let mut by_target: Groups<'o> = BTreeMap::new();
    for outcome in outcomes {
        let key = (outcome.host.clone(), cause_of(outcome));
        by_target.entry(key).or_default().push(outcome);
    }
    let mut groups: Groups<'o> = BTreeMap::new();
    let mut single: Groups<'o> = BTreeMap::new();
    for ((host, cause), urls) in by_target {
        if cause.redirect.is_some() && urls.len() == 1 {
            let rest = cause.with_redirect(None);
            single.entry((host, rest)).or_default().extend(urls);
        } else {
            groups.insert((host, cause), urls);
        }
    }
    for ((host, rest), urls) in single {
        let known = groups.get_mut(&(host.clone(), rest.clone()));
        match (known, urls.as_slice()) {
            (Some(known), _) => known.extend(urls),
            (None, [only]) => {
                groups.insert((host, cause_of(only)), urls);
            }
            (None, _) => {
                groups.insert((host, rest), urls);
            }
        }
    }
    groups.into_iter().collect()
}

fn sort_urls(urls: &mut [AffectedUrl]) {
    urls.sort_by(|a, b| {
        (&a.file, a.line, &a.url, &a.request).cmp(&(&b.file, b.line, &b.url, &b.request))
    });
}

fn key_of(url: &AffectedUrl) -> UrlKey<'_> {
    (&url.url, url.request.as_deref())
}

fn key_of_outcome(outcome: &UrlOutcome) -> UrlKey<'_> {
    (&outcome.url, outcome.request.as_deref())
}
