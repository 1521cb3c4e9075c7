//! The events of an incident as chapters of the status site: the evidence of each URL.

use jiff::Timestamp;
use urldb_protocol::{AffectedUrl, Chapter, Evidence, Incident, Overview, Phase, State};

use crate::compose::{Lookup, cause_of_chapter, evidence_facts, path_of};
use crate::message::Fact;
use crate::sentences::Subject;
use crate::status::empty_envelope;
use crate::text::Text;

/// The evidence of one URL in a chapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EvidenceBox {
    /// The sentence without subject: `answers 404 Not Found`.
    pub sentence: Text,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// The evidence of one URL in a chapter of an incident.
pub fn evidence_box(
    overview: &Overview,
    incident: &Incident,
    chapter: &Chapter,
    evidence: &Evidence,
) -> EvidenceBox {
    let state = chapter.state.filter(|_| chapter.because.is_none());
    let (is_good, state) = (state.is_none(), state.unwrap_or(State::Ok));
    let of_url = Chapter {
        state: Some(state),
        ..chapter.clone()
    };
    let sentence = cause_of_chapter(incident, &of_url, Subject::Url, Some(evidence));
    let last_good = incident
        .urls
        .iter()
        .find(|url| url.url == evidence.url)
        .and_then(|url| url.last_good);
    // The URL may have joined again since.
    let last_good = last_good.filter(|last| !is_good && *last < chapter.at);
    let one = one_url(incident, &of_url, evidence, last_good);
    let envelope = empty_envelope(overview);
    EvidenceBox {
        sentence,
        facts: evidence_facts(&one, &Lookup::new(&envelope)),
    }
}

/// An incident of the URL of the evidence alone.
fn one_url(
    incident: &Incident,
    chapter: &Chapter,
    evidence: &Evidence,
    last_good: Option<Timestamp>,
) -> Incident {
    let state = chapter.state.unwrap_or(State::Ok);
    Incident {
        reason: chapter.reason.clone(),
        redirect: chapter.redirect.clone(),
        urls: vec![AffectedUrl::of(&evidence.url)],
        evidence: evidence.clone(),
        last_good,
        ..Incident::group(
            Phase::Unchanged,
            incident.host.clone(),
            state,
            incident.since,
        )
    }
}

/// The path of a URL, with its query.
pub fn url_path(url: &str) -> String {
    path_of(url)
}
