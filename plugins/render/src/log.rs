//! The events of incidents, for a terminal and for programs.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use urldb_protocol::{Chapter, EventKind, Incident, Phase, ProjectInfo};
use urldb_text::{sanitize, variant_suffix};

use crate::compose::notice_title;
use crate::history::history_row;
use crate::layout::{columns, wrap};
use crate::message::Tone;
use crate::numbers::{moment, with_spaces};
use crate::page::{BOLD, TerminalOptions, paint, style};
use crate::text::Text;

/// An event of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LogEntry {
    /// The host whose domain file has the URLs.
    pub host: String,
    /// The id of the incident.
    pub incident: String,
    /// The event.
    #[serde(flatten)]
    pub chapter: Chapter,
    /// The row for people.
    #[serde(skip)]
    row: Text,
}

/// The events of incidents as one JSON document, of `urldb log --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct LogDocument {
    /// The protocol number, as in an envelope. Within one number the document only gains fields.
    pub protocol: u32,
    /// The project.
    pub project: ProjectInfo,
    /// The events, the latest first.
    pub entries: Vec<LogEntry>,
}

/// The events of incidents, each with the host of its domain file, that have a row in the
/// [history](history_row); the latest first.
pub fn log_entries(incidents: &[(String, Incident)]) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = vec![];
    for (host, incident) in incidents {
        let rows = incident.chapters.iter();
        entries.extend(rows.filter_map(|chapter| {
            Some(LogEntry {
                host: host.clone(),
                incident: incident.id.clone(),
                row: row(host, incident, chapter)?,
                chapter: chapter.clone(),
            })
        }));
    }
    // Events of one run keep their order within an incident.
    entries.reverse();
    entries.sort_by(|a, b| {
        b.chapter
            .at
            .cmp(&a.chapter.at)
            .then_with(|| a.host.cmp(&b.host))
    });
    entries
}

/// The row of the history after what it is about: the only URL of the incident, or its host; the title of a notice.
fn row(host: &str, incident: &Incident, chapter: &Chapter) -> Option<Text> {
    let is_end = matches!(chapter.event, EventKind::Closed | EventKind::Renewed);
    if incident.is_notice() && (is_end || chapter.notice.is_some()) {
        return Some(notice_title(&Incident {
            phase: if is_end {
                Phase::Closed
            } else {
                Phase::Unchanged
            },
            notice: chapter.notice.clone().or_else(|| incident.notice.clone()),
            ..incident.clone()
        }));
    }
    let row = history_row(incident, chapter)?;
    Some(match incident.urls.as_slice() {
        [only] => {
            let variant = variant_suffix(only.variant.as_deref());
            Text::new()
                .code(&only.url)
                .own(sanitize(&variant))
                .own(": ")
                .and(row)
        }
        _ => Text::new().host(host).own(": ").and(row),
    })
}

/// The events as lines for a terminal, under a heading.
pub fn log(about: &str, entries: &[LogEntry], options: TerminalOptions) -> String {
    let about = Text::new().code(about).plain();
    let mut text = format!("{}, newest first\n\n", paint(BOLD, &about));
    for LogEntry {
        incident,
        chapter,
        row,
        ..
    } in entries
    {
        let at = with_spaces(&moment(chapter.at));
        let indent = columns(&at) + 2;
        let row = row.clone().own("; ").code(incident);
        let mut lines = wrap(&row, options.width, indent, indent).into_iter();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "{}  {first}", paint(style(tone(chapter.event)), &at));
        for line in lines {
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
    }
    if entries.is_empty() {
        text += "No events.\n";
    }
    text
}

fn tone(event: EventKind) -> Tone {
    match event {
        EventKind::Shrunk | EventKind::Closed | EventKind::Renewed => Tone::Good,
        event if event.joins() || event == EventKind::Became => Tone::Bad,
        _ => Tone::Warn,
    }
}
