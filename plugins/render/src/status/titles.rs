//! Titles of incidents, in the words of messages.

use std::collections::{BTreeMap, HashMap};

use jiff::Timestamp;
use urldb_protocol::{
    Coverage, Envelope, Finding, Incident, IncidentOverview, Overview, PROTOCOL, ProjectInfo,
    RunInfo, Severity, Summary, UrlUses,
};

use crate::compose::{Lookup, commands_between_runs, page_title};
use crate::message::Command;
use crate::text::Text;

/// Titles of incidents, in the words of messages.
pub struct Titles(HashMap<String, Text>);

impl Titles {
    /// The titles of the incidents of an overview.
    pub fn new(overview: &Overview) -> Self {
        let all = overview.all_incidents();
        // The URLs of a closed incident may be those of an open one, with another cause.
        let mut envelope = empty_envelope(overview);
        let titles = all.map(|it| {
            envelope.findings = finding(it).into_iter().collect();
            let title = page_title(&it.incident, &Lookup::new(&envelope));
            (it.incident.id.clone(), title)
        });
        Self(titles.collect())
    }

    /// The title of another version of an incident, such as the one that messages tell.
    pub fn of_version(overview: &Overview, it: &IncidentOverview, incident: &Incident) -> Text {
        let envelope = Envelope {
            findings: finding(it).into_iter().collect(),
            ..empty_envelope(overview)
        };
        page_title(incident, &Lookup::new(&envelope))
    }

    /// The commands of an open incident; that which acknowledges it counts from `now`.
    pub fn commands(overview: &Overview, it: &IncidentOverview, now: Timestamp) -> Vec<Command> {
        let mut envelope = Envelope {
            findings: finding(it).into_iter().collect(),
            ..empty_envelope(overview)
        };
        envelope.run.started = now;
        commands_between_runs(&it.incident, &Lookup::new(&envelope))
    }

    /// `docs.example.org answers 404 Not Found (3 of 120 URLs)`.
    pub fn of(&self, it: &IncidentOverview) -> Text {
        self.0.get(&it.incident.id).cloned().unwrap_or_default()
    }
}

/// An envelope with the facts that the titles of open incidents need.
pub(super) fn envelope(overview: &Overview) -> Envelope {
    Envelope {
        findings: overview.open.iter().filter_map(finding).collect(),
        mistakes: overview.mistakes.clone(),
        ..empty_envelope(overview)
    }
}

/// The facts of an incident that its title needs; absent without affected URLs.
fn finding(it: &IncidentOverview) -> Option<Finding> {
    let incident = &it.incident;
    let first = incident.urls.first()?;
    let evidence = &incident.evidence;
    let (url, variant) = match evidence.url.as_str() {
        "" => (&first.url, &first.variant),
        _ => (&evidence.url, &evidence.variant),
    };
    let code = if it.domain == incident.host {
        incident.state.as_str()
    } else {
        "alias-differs"
    };
    Some(Finding {
        code: code.to_owned(),
        severity: Severity::Error,
        url: url.clone(),
        variant: variant.clone(),
        file: first.file.clone(),
        line: first.line,
        uses: UrlUses::default(),
        categories: vec![],
        sentence: None,
        message: incident.evidence.detail.clone(),
        state: incident.state,
        reason: it.reason.clone(),
        expected: None,
        observed: None,
        not_archived: None,
        copies: it.copies.clone(),
        attempts: 0,
        since: Some(incident.since),
        pending: false,
        new: false,
        muted: false,
    })
}

/// An envelope without findings.
pub(crate) fn empty_envelope(overview: &Overview) -> Envelope {
    let ProjectInfo {
        name,
        url,
        site_url,
        commit,
    } = overview.project.clone();
    Envelope {
        protocol: PROTOCOL,
        message: None,
        run: RunInfo {
            id: String::new(),
            started: overview.now,
            finished: overview.now,
            version: overview.version.clone(),
            repository: name.clone(),
            project: name,
            project_url: url,
            site_url,
            commit,
            selection: None,
            interrupted: false,
            test: false,
        },
        incidents: vec![],
        findings: vec![],
        explanations: vec![],
        mistakes: vec![],
        fixed: vec![],
        tells: None,
        delay: None,
        next_reminder: None,
        week: None,
        archived: vec![],
        summary: Summary {
            states: BTreeMap::new(),
            coverage: Coverage::default(),
            counts: overview.counts,
            audience: None,
        },
    }
}
