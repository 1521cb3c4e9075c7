//! An incident while the outcomes of a run change it.

use std::sync::Arc;

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, ClosedBecause, Evidence, Incident, Phase, State};

use super::cause::Cause;
use super::groups::sort_urls;
use super::outcome::{LeftBecause, UrlOutcome};

/// File, line and URL of a record, by which URLs are sorted.
type RecordLine = (Arc<str>, usize, String);

/// An incident while its URLs change.
pub(super) struct Changing {
    pub(super) incident: Incident,
    pub(super) cause: Cause,
    /// Whether later URLs of the same cause join.
    pub(super) accepts: bool,
    /// The URLs that are affected after the run.
    pub(super) urls: Vec<AffectedUrl>,
    left: Vec<(AffectedUrl, LeftBecause)>,
    /// Number of URLs that are news for an incident of an earlier run.
    added: u64,
    tried: u64,
    /// The evidence of the first URL that has some, and the place of that URL.
    evidence: Option<(RecordLine, Evidence)>,
}

impl Changing {
    /// An incident before a run. Later URLs of its cause join it if it `accepts` them.
    pub(super) fn new(incident: Incident, cause: Cause, accepts: bool) -> Self {
        Self {
            incident,
            cause,
            accepts,
            urls: vec![],
            left: vec![],
            added: 0,
            tried: 0,
            evidence: None,
        }
    }

    pub(super) fn leave(&mut self, known: AffectedUrl, because: LeftBecause) {
        let left = AffectedUrl {
            new: false,
            not_tried: false,
            left: true,
            ..known
        };
        self.left.push((left, because));
    }

    /// Keeps a URL. A URL that is no longer muted is news, since nobody was notified about it.
    pub(super) fn stay(&mut self, known: &AffectedUrl, outcome: &UrlOutcome) {
        let new = known.muted && !outcome.muted;
        self.added += u64::from(new);
        self.add(outcome, new);
    }

    /// Adds a URL. A URL whose bad state was believed before is no news.
    pub(super) fn join(&mut self, outcome: &UrlOutcome) {
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

    pub(super) fn finish(self, now: Timestamp) -> Incident {
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
