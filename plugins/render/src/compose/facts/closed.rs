//! The evidence of a closed incident.

use jiff::Timestamp;
use urldb_protocol::{ClosedBecause, Envelope, Incident, State};

use super::cause::content;
use crate::compose::causes::Group;
use crate::message::Fact;
use crate::numbers::{age, moment, number};
use crate::sentences::{Subject, status_line};
use crate::text::Text;

/// The evidence of a closed incident.
pub(super) fn closed_facts(group: &Group<'_>, envelope: &Envelope) -> Vec<Fact> {
    let mut facts = Vec::new();
    let all = group.urls_now();
    let first = group.first();
    let is_one = group.cause().subject == Subject::Url;
    let recovered = group
        .incidents
        .iter()
        .all(|incident| incident.closed_because != Some(ClosedBecause::PromisesChanged));
    if recovered {
        let promised = &first.evidence.promised;
        let content = content(promised.length, promised.sha256.as_deref(), None);
        let has_bytes = content.is_some();
        match (is_one, content) {
            (true, Some(content)) => facts.push(Fact::new("served", content.own(", as promised"))),
            (false, _) if has_bytes => {
                let text = format!("the promised bytes, at all {} URLs", number(all));
                facts.push(Fact::new("served", Text::from(text)));
            }
            _ => {}
        }
    } else {
        let text = "the records were changed or removed";
        facts.push(Fact::new("cause", Text::from(text)));
    }
    let since = group.since();
    let until = closed_at(first, envelope);
    let mut text = Text::from("from ")
        .own(moment(since))
        .own(" to ")
        .own(moment(until))
        .own(format!(" ({})", age(since, until)));
    let has_answer = !matches!(first.state, State::Changed | State::Redirected | State::Ok);
    if let Some(status) = first
        .evidence
        .observed
        .status
        .filter(|_| is_one && has_answer)
    {
        text = text.own(", with ").and(status_line(status));
    }
    facts.push(Fact::new("broken", text));
    facts
}

fn closed_at(incident: &Incident, envelope: &Envelope) -> Timestamp {
    incident.closed.unwrap_or(envelope.run.started)
}
