//! The evidence of a closed incident: what is served, its end, and its history.

use urldb_protocol::{Envelope, Incident};

use super::cause::promised_content;
use crate::compose::causes::IncidentView;
use crate::compose::notices;
use crate::history::{end_of, history};
use crate::message::{Class, Fact};
use crate::numbers::{age, moment};
use crate::sentences::Subject;
use crate::text::Text;

/// The evidence of a closed incident.
pub(super) fn closed_facts(view: &IncidentView<'_>, envelope: &Envelope) -> Vec<Fact> {
    let first = view.incident;
    if first.urls.is_empty() {
        return vec![continued(first)];
    }
    let notice = first.notice.as_ref().filter(|_| notices::is_end(first));
    let last = view.urls().filter_map(|url| url.until).max();
    let ended = last.or(first.closed).unwrap_or(envelope.run.started);
    let text = format!(
        "{}, after {}",
        moment(ended),
        age(view.incident.since, ended)
    );
    served(view)
        .into_iter()
        .chain(notice.and_then(notices::renewal))
        .chain([Fact::new("ended", Text::from(text))])
        .chain(history(first))
        .collect()
}

/// The end of an incident whose URLs are no longer the reader's.
fn continued(incident: &Incident) -> Fact {
    let text = match &incident.merged_into {
        Some(into) => Text::from("in incident ").outside(into),
        None => Text::from("this section takes none of its URLs any more"),
    };
    Fact::new("goes on", text)
}

/// The promised bytes, which a run saw at each URL.
fn served(view: &IncidentView<'_>) -> Option<Fact> {
    let content = promised_content(&view.incident.evidence.promised)?;
    let text = match view.cause().subject {
        Subject::Url => content.own(", as promised"),
        Subject::Host => Text::from("the promised bytes, at each URL"),
    };
    (end_of(view.incident).0 == Class::Recovered).then(|| Fact::new("served", text))
}
