//! Titles of open incidents and of warnings, without their evidence: for a list.

use jiff::Timestamp;
use urldb_protocol::{Finding, Incident, Phase};

use super::causes::{IncidentView, is_muted};
use super::lookup::Lookup;
use super::notices::notice_title;
use super::{blocks, warnings};
use crate::history::end_of;
use crate::message::Class;
use crate::text::Text;

/// The title of an incident.
pub(crate) struct IncidentTitle {
    /// The topic.
    pub(crate) class: Class,
    /// `docs.example.org answers 404 Not Found (3 of 120 URLs)`.
    pub(crate) title: Text,
    /// When the cause was first seen.
    pub(crate) since: Timestamp,
    /// Nobody is notified about any URL.
    pub(crate) is_muted: bool,
}

/// The titles of open incidents, those with the most URLs first.
pub(crate) fn open_groups(incidents: &[&Incident], lookup: &Lookup<'_>) -> Vec<IncidentTitle> {
    let (notices, incidents): (Vec<&Incident>, Vec<&Incident>) = incidents
        .iter()
        .copied()
        .partition(|incident| incident.is_notice());
    let groups = IncidentView::all(&incidents, lookup).into_iter();
    let notices = notices.into_iter().map(|incident| IncidentTitle {
        class: Class::Warning,
        title: notice_title(incident),
        since: incident.since,
        is_muted: false,
    });
    groups
        .map(|view| IncidentTitle {
            class: blocks::class(&view),
            title: blocks::title(&view),
            since: view.incident.since,
            is_muted: is_muted(view.incident),
        })
        .chain(notices)
        .collect()
}

/// The titles of warnings, one for each code and host.
pub(crate) fn warning_titles(findings: &[&Finding], lookup: &Lookup<'_>) -> Vec<Text> {
    warnings::of_findings(findings, lookup)
        .iter()
        .map(crate::message::Block::title)
        .collect()
}

/// An incident in a line: `broken: docs.example.org answers 404 Not Found (20 of 120 URLs)`, or `recovered:
/// docs.example.org (40 URLs)`.
pub(crate) fn incident_line(incident: &Incident, envelope: &Lookup<'_>) -> Text {
    let title = page_title(incident, envelope);
    if let Some(into) = &incident.merged_into {
        return title.own("; incident ").code(into).own(" goes on");
    }
    let word = match incident.closed {
        Some(_) => return title,
        None if incident.is_notice() => "warning: ",
        None if incident.is_flapping() => "flapping: ",
        None => "broken: ",
    };
    Text::from(word).and(title)
}

/// Subject and sentence of an open incident, for a page; of a closed one, its end: `recovered: docs.example.org (40 URLs)`.
pub(crate) fn page_title(incident: &Incident, envelope: &Lookup<'_>) -> Text {
    match (incident.closed, incident.is_notice()) {
        (Some(_), _) => {
            let (word, title) = closed_title(incident, envelope);
            Text::from(format!("{word}: ")).and(title)
        }
        (None, true) => notice_title(&in_phase(incident, Phase::Unchanged)),
        (None, false) => {
            let shown = in_phase(incident, Phase::Unchanged);
            blocks::title(&IncidentView::new(&shown, envelope))
        }
    }
}

/// The end of a closed incident in a word, and its title: `docs.example.org (40 URLs)`.
pub(crate) fn closed_title(incident: &Incident, envelope: &Lookup<'_>) -> (&'static str, Text) {
    if incident.is_notice() {
        return ("over", notice_title(&in_phase(incident, Phase::Unchanged)));
    }
    let ended = in_phase(incident, Phase::Closed);
    let (end, _) = end_of(&ended);
    (
        end.as_str(),
        blocks::title(&IncidentView::new(&ended, envelope)),
    )
}

fn in_phase(incident: &Incident, phase: Phase) -> Incident {
    Incident {
        phase,
        ..incident.clone()
    }
}
