//! The evidence of a block, in the order: promised, served, differs, cause, seen, since, last good, history.

mod cause;
mod closed;
mod history;
mod open;

use urldb_protocol::{Incident, Phase, State};

use super::causes::IncidentView;
use super::lookup::Lookup;
use super::scope::Scope;
use crate::digests;
use crate::history::history;
use crate::message::Fact;
use cause::{content, promised_content};
use closed::closed_facts;
pub(crate) use history::{cause_of_chapter, chapter_cause};
use open::OpenIncident;

/// The evidence of an incident.
pub(super) fn facts(view: &IncidentView<'_>, envelope: &Lookup<'_>, scope: Scope<'_>) -> Vec<Fact> {
    if view.phase() == Phase::Closed {
        return closed_facts(view, envelope);
    }
    let open = OpenIncident {
        view,
        cause: view.cause(),
        envelope,
        scope,
    };
    let mut facts: Vec<Fact> = open.ack().into_iter().collect();
    if view.incident.is_flapping() {
        facts.extend(open.used());
        facts.extend(open.today());
        facts.extend(open.last_good().filter(|_| !view.is_good_today()));
        facts.extend(history(view.incident));
        return facts;
    }
    facts.extend(open.cause_facts());
    let rest = [
        open.shared(),
        open.used(),
        open.explained(),
        open.where_is(),
        open.seen(),
        open.muted(),
        open.since(),
        open.last_good(),
        open.others(),
        open.copies(),
    ];
    facts.extend(rest.into_iter().flatten());
    facts.extend(history(view.incident));
    facts
}

/// The evidence of one URL, for a page: the incident has this URL alone.
pub(crate) fn evidence_facts(incident: &Incident, envelope: &Lookup<'_>) -> Vec<Fact> {
    let view = IncidentView::new(incident, envelope);
    let open = OpenIncident {
        view: &view,
        cause: view.cause(),
        envelope,
        scope: Scope::Run,
    };
    let promised = &incident.evidence.promised;
    let promised_text = promised_content(promised);
    let served_digests = digests::served(promised, &incident.evidence.observed);
    let promised = promised_text.map(|text| Fact::new("promised", text));
    let mut facts: Vec<Fact> = if incident.state == State::Ok {
        let observed = &incident.evidence.observed;
        content(observed.length, &served_digests, None)
            .map(|text| Fact::new("served", text.own(", as promised")))
            .or(promised)
            .into_iter()
            .collect()
    } else {
        let facts = open.cause_facts();
        let has_promise = facts.iter().any(|fact| fact.name == "promised");
        promised
            .filter(|_| !has_promise)
            .into_iter()
            .chain(facts)
            .collect()
    };
    facts.extend(open.explained());
    facts.extend(open.seen());
    facts.extend(open.last_good());
    facts
}
