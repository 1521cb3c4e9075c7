//! The page of one incident: promised and observed, its steps, its URLs, commands.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{Because, Evidence, Incident, IncidentOverview, Phase, Shown, State};
use urldb_render::numbers::{counted, number};
use urldb_render::{Mark, command_line, one_line, status_text};

use super::commands::{CommandRow, command, digest_command, promised_bytes};
use super::values::{Figure, Time, bytes, of};
use super::{Frame, Views};
use crate::file_names::{host_page, url_page};

/// Most URLs on the page of an incident.
const MOST_URLS: usize = 100;

#[derive(Debug, Serialize)]
pub(crate) struct IncidentPage {
    pub(crate) frame: Frame,
    host: String,
    host_page: String,
    title: String,
    is_open: bool,
    since: Time,
    closed: Option<Time>,
    settled: bool,
    figures: Vec<Figure>,
    detail: String,
    face: Vec<FaceRow>,
    difference: Vec<String>,
    difference_note: String,
    steps: Vec<StepRow>,
    urls: Vec<AffectedRow>,
    more_urls: u64,
    commands: Vec<CommandRow>,
}

/// Promised and observed side by side.
#[derive(Debug, Serialize)]
struct FaceRow {
    name: &'static str,
    promised: String,
    observed: String,
    differs: bool,
    is_digest: bool,
}

#[derive(Debug, Serialize)]
struct StepRow {
    at: Time,
    /// `21 Nov 2026 05:08`
    moment: String,
    text: String,
}

#[derive(Debug, Serialize)]
struct AffectedRow {
    url: String,
    /// The page of the URL, relative to that of the incident.
    page: Option<String>,
    place: String,
    link: Option<String>,
}

impl Views<'_> {
    /// The page of an incident; `url_pages` are the pages of URLs.
    pub(crate) fn incident_page(
        &self,
        it: &IncidentOverview,
        url_pages: &HashSet<String>,
    ) -> IncidentPage {
        let incident = &it.incident;
        let is_open = incident.closed.is_none();
        let title = self.title(it);
        let mark = if is_open { Mark::Broken } else { Mark::Kept };
        let evidence = &incident.evidence;
        // The body of an error page is no other version of the file.
        let has_bytes = matches!(incident.state, State::Changed | State::Truncated);
        let difference = evidence.text.as_ref().filter(|_| has_bytes);
        let first = evidence.first_difference.filter(|_| has_bytes);
        let mut frame = self.frame(&title, mark, "../", "incidents");
        // The page does not change with each run.
        frame.run = None;
        IncidentPage {
            frame,
            host: one_line(&it.domain),
            host_page: host_page(&it.domain, 1),
            title,
            is_open,
            since: Time::moment(incident.since),
            closed: incident.closed.map(Time::moment),
            settled: matches!(incident.end(), Some(Because::Accepted | Because::Removed)),
            figures: figures(incident),
            detail: detail(incident),
            face: face(evidence),
            difference: difference.map_or_else(Vec::new, |text| one_liners(&text.lines)),
            difference_note: first.map_or_else(String::new, |first| {
                format!(
                    "The first difference is at byte {}, counted from 0.",
                    number(first)
                )
            }),
            steps: steps(it),
            urls: self.affected(incident, url_pages),
            more_urls: incident.urls.len().saturating_sub(MOST_URLS) as u64,
            commands: if is_open { commands(incident) } else { vec![] },
        }
    }

    /// The first affected URLs.
    fn affected(&self, incident: &Incident, url_pages: &HashSet<String>) -> Vec<AffectedRow> {
        let urls = incident.urls.iter().take(MOST_URLS);
        let rows = urls.map(|url| {
            let page = url_page(&url.url, url.request.as_deref());
            AffectedRow {
                url: one_line(&url.url),
                page: url_pages.contains(&page).then_some(page),
                place: one_line(&format!("{}, line {}", url.file, url.line)),
                // The file has other lines since the incident closed.
                link: self
                    .file_link(&url.file, Some(url.line))
                    .filter(|_| incident.closed.is_none()),
            }
        });
        rows.collect()
    }
}

fn figures(incident: &Incident) -> Vec<Figure> {
    let evidence = &incident.evidence;
    let urls = incident.urls.len() as u64;
    let mut figures = vec![Figure::new(
        "Affected",
        number(urls),
        of(incident.host_urls.max(urls), "URL", ""),
    )];
    if evidence.requests > 0 {
        let requests = counted(evidence.requests.into(), "request");
        let rest = format!("of {requests} agree");
        figures.push(Figure::new("Seen", evidence.agreeing.to_string(), rest));
    }
    let length = |name, length: Option<u64>| Some(Figure::bytes(name, length?));
    figures.extend(length("Promised", evidence.promised.length));
    figures.extend(length("Observed", evidence.observed.length));
    figures
}

/// One sentence about the failure: how the bytes differ, or else what the run has noted.
pub(super) fn detail(incident: &Incident) -> String {
    let evidence = &incident.evidence;
    let lengths = evidence.promised.length.zip(evidence.observed.length);
    let (State::Changed, Some((promised, observed))) = (incident.state, lengths) else {
        return one_line(&evidence.detail);
    };
    let more = observed.saturating_sub(promised);
    match evidence.first_difference {
        Some(first) if first >= promised && more > 0 => format!(
            "The promised {} are served unchanged, and {} more follow.",
            bytes(promised),
            bytes(more)
        ),
        Some(0) => "The first byte differs from the promised one.".to_owned(),
        Some(first) => format!("The first {} are as promised.", bytes(first)),
        None if promised == observed => {
            format!("Other bytes of the promised length, {}.", bytes(promised))
        }
        None => format!("{} instead of {}.", bytes(observed), bytes(promised)),
    }
}

/// Commands for an open incident: see the bytes, get the promised ones, accept the new ones.
fn commands(incident: &Incident) -> Vec<CommandRow> {
    let evidence = &incident.evidence;
    let url = evidence.url.as_str();
    let has_request = incident
        .urls
        .iter()
        .any(|affected| affected.url == url && affected.request.is_some());
    let is_changed = incident.state == State::Changed && incident.redirect.is_none();
    let mut rows = vec![];
    if url.is_empty() {
        return rows;
    }
    if !has_request && is_changed && evidence.promised.sha256.is_some() {
        rows.extend(digest_command("See the bytes yourself", url));
        rows.extend(evidence.first_difference.and_then(|first| {
            let bytes = format!("+{}", first.saturating_add(1));
            let curl = command_line(&["curl", "-sSL", url])?;
            Some(CommandRow {
                purpose: "See them from the first difference on",
                line: format!("{curl} | tail -c {bytes} | head -c 400"),
            })
        }));
    } else if !has_request {
        rows.extend(command("See the answer yourself", &["curl", "-sSIL", url]));
    }
    rows.extend(promised_bytes(url, &evidence.promised));
    rows.extend(command("Check it again", &["urldb", "check", url]));
    if is_changed {
        rows.extend(command(
            "Make the new bytes the promise, if they are meant",
            &["urldb", "accept", url],
        ));
    }
    rows
}

/// Promised and observed side by side; empty if nothing was observed.
fn face(evidence: &Evidence) -> Vec<FaceRow> {
    let (promised, observed) = (&evidence.promised, &evidence.observed);
    let text = |text: Option<&str>| text.map_or_else(String::new, one_line);
    let bytes = |length: Option<u64>| {
        length.map_or_else(String::new, |length| format!("{} bytes", number(length)))
    };
    let status = |status: Option<u16>| status.map_or_else(String::new, status_text);
    let row = |name, promised: String, observed: String| FaceRow {
        name,
        differs: !promised.is_empty() && !observed.is_empty() && promised != observed,
        is_digest: false,
        promised,
        observed,
    };
    let digest = |digest: &Option<String>| text(digest.as_deref());
    let mut rows = vec![
        row("Length", bytes(promised.length), bytes(observed.length)),
        FaceRow {
            is_digest: true,
            ..row(
                "SHA-256",
                digest(&promised.sha256),
                digest(&observed.sha256),
            )
        },
        row(
            "Type",
            text(promised.content_type.as_deref()),
            text(observed.content_type.as_deref()),
        ),
        row("Status", status(promised.status), status(observed.status)),
        row(
            "Redirect",
            text(promised.redirects_to.as_deref()),
            text(observed.redirect.as_deref()),
        ),
        row(
            "Last-Modified",
            String::new(),
            text(evidence.last_modified.as_deref()),
        ),
        row("Server", String::new(), text(observed.address.as_deref())),
    ];
    rows.retain(|row| !row.promised.is_empty() || !row.observed.is_empty());
    rows
}

/// Lines of a difference, without control characters.
fn one_liners(lines: &[Shown]) -> Vec<String> {
    lines.iter().map(|line| one_line(line)).collect()
}

/// Events of an incident, oldest first.
fn steps(it: &IncidentOverview) -> Vec<StepRow> {
    let incident = &it.incident;
    let mut steps = vec![];
    if let Some(last_good) = incident.last_good {
        steps.push((
            last_good,
            "A run saw the URL as promised for the last time.".to_owned(),
        ));
    }
    let opened = incident.opened.unwrap_or(incident.since);
    if opened.duration_since(incident.since).as_secs() >= 60 {
        steps.push((
            incident.since,
            "A run saw the cause first; not confirmed yet.".to_owned(),
        ));
    }
    for step in &it.steps {
        let urls = counted(step.urls, "URL");
        let text = match step.phase {
            Phase::Opened => format!("The incident opened, with {urls}."),
            Phase::Reopened => format!("The incident opened again, with {urls}."),
            Phase::Became => format!("The cause is another one, with {urls}."),
            Phase::Intermittent => "The URLs come and go from now on.".to_owned(),
            Phase::Steady => "The URLs are broken, and no longer come and go.".to_owned(),
            Phase::Grown => format!("The incident grew to {urls}."),
            Phase::Shrunk => format!("Some URLs recovered; {urls} stayed affected."),
            Phase::Closed => "The incident closed.".to_owned(),
            _ => continue,
        };
        steps.push((step.at, text));
    }
    if it.steps.is_empty() {
        steps.push((opened, "The incident opened.".to_owned()));
        steps.extend(
            incident
                .closed
                .map(|closed| (closed, "The incident closed.".to_owned())),
        );
    }
    let row = |(at, text): (Timestamp, String)| StepRow {
        at: Time::moment(at),
        moment: at.strftime("%-d %b %Y %H:%M").to_string(),
        text,
    };
    steps.into_iter().map(row).collect()
}
