//! The events of an incident as chapters: a date, a row of the history, and the evidence of each URL.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{
    Because, Chapter, ChapterDetails, EventKind, Evidence, Incident, IncidentEvents,
};
use urldb_render::{Fact, evidence_box, history_row, one_line, url_path};

use super::Views;
use super::steps::growth;
use super::values::Time;
use crate::bars::bars as chart;
use crate::file_names::url_page;

/// Most chapters on a page: the first ones and the last ones.
const FIRST_CHAPTERS: usize = 10;
const LAST_CHAPTERS: usize = 50;

/// Fewest affected URLs that bars show: chapters tell of fewer as well.
const FEWEST_BARRED: u64 = 4;

/// Most pieces of evidence in a chapter.
const MOST_BOXES: usize = 5;

/// The note of a chapter from which on a URL flaps.
const FLAPPING: &str = "From here on it stays in the incident, good or bad, and no message tells of each change, until seven days without a break.";

/// A chapter of an incident.
#[derive(Debug, Serialize)]
pub(super) struct ChapterRow {
    at: Time,
    /// `21 Nov 2026 05:08`
    moment: String,
    /// Class of the mark.
    class: &'static str,
    text: String,
    is_quiet: bool,
    boxes: Vec<BoxRow>,
    /// A further sentence; empty without one.
    note: &'static str,
}

/// The evidence of one URL.
#[derive(Debug, Serialize)]
pub(super) struct BoxRow {
    class: &'static str,
    path: String,
    /// The page of the URL, relative to the folder of such pages.
    page: Option<String>,
    sentence: String,
    facts: Vec<FactRow>,
    /// Lines of a difference.
    difference: Vec<String>,
    run: String,
}

/// A fact of a piece of evidence.
#[derive(Debug, Serialize)]
struct FactRow {
    name: &'static str,
    text: String,
}

/// The chapters of a page, and the number of those between the first and the last ones that it has not.
pub(super) struct Chapters {
    pub(super) first: Vec<ChapterRow>,
    pub(super) last: Vec<ChapterRow>,
    pub(super) left_out: u64,
    /// The affected URLs after each run; empty if they changed in two runs at most, or were few.
    pub(super) growth: String,
}

impl Views<'_> {
    /// The chapters of an incident, the first one first. `url_pages` are the pages of URLs.
    pub(super) fn chapters(
        &self,
        incident: &Incident,
        events: &IncidentEvents,
        url_pages: &HashSet<String>,
    ) -> Chapters {
        let known = if events.chapters.is_empty() {
            of_incident(incident)
        } else {
            events.chapters.clone()
        };
        let bars = growth(&known);
        let most = bars.iter().map(|bar| bar.urls).max().unwrap_or_default();
        let rows: Vec<_> = known
            .iter()
            .filter_map(|details| {
                let text = history_row(incident, &details.chapter)?;
                Some((details, text.plain()))
            })
            .collect();
        let left_out = rows.len().saturating_sub(FIRST_CHAPTERS + LAST_CHAPTERS);
        let first = if left_out > 0 {
            FIRST_CHAPTERS
        } else {
            rows.len()
        };
        let row = |(details, text): &(&ChapterDetails, String)| {
            self.chapter(incident, details, text, url_pages)
        };
        Chapters {
            first: rows.iter().take(first).map(row).collect(),
            last: rows.iter().skip(first + left_out).map(row).collect(),
            left_out: left_out as u64,
            growth: if bars.len() > 2 && most >= FEWEST_BARRED {
                chart(&bars)
            } else {
                String::new()
            },
        }
    }

    fn chapter(
        &self,
        incident: &Incident,
        details: &ChapterDetails,
        text: &str,
        url_pages: &HashSet<String>,
    ) -> ChapterRow {
        let chapter = &details.chapter;
        let evidence = details.evidence.iter().take(MOST_BOXES);
        let boxes: Vec<BoxRow> = evidence
            .map(|evidence| self.evidence(incident, chapter, evidence, url_pages))
            .collect();
        ChapterRow {
            at: Time::moment(chapter.at),
            moment: moment(chapter.at),
            class: class_of(chapter),
            text: text.to_owned(),
            is_quiet: boxes.is_empty(),
            note: note(chapter),
            boxes,
        }
    }

    /// The evidence of one URL in an event of an incident.
    pub(super) fn evidence(
        &self,
        incident: &Incident,
        chapter: &Chapter,
        evidence: &Evidence,
        url_pages: &HashSet<String>,
    ) -> BoxRow {
        let shown = evidence_box(self.overview, incident, chapter, evidence);
        let page = url_page(&evidence.url, None, None);
        // The body of an error page is no other version of the file.
        let difference = shown.facts.iter().flat_map(|fact| &fact.diff);
        BoxRow {
            class: match class_of(chapter) {
                "k" | "o" => "k",
                _ => "b",
            },
            path: one_line(&url_path(&evidence.url)),
            page: url_pages.contains(&page).then_some(page),
            sentence: shown.sentence.plain(),
            difference: difference.cloned().collect(),
            facts: shown.facts.iter().map(fact_row).collect(),
            run: one_line(&chapter.run),
        }
    }
}

const fn note(chapter: &Chapter) -> &'static str {
    match chapter.event {
        EventKind::Flapping => FLAPPING,
        _ => "",
    }
}

/// `21 Nov 2026 05:08`
fn moment(time: Timestamp) -> String {
    time.strftime("%-d %b %Y %H:%M").to_string()
}

fn fact_row(fact: &Fact) -> FactRow {
    FactRow {
        name: fact.name,
        text: fact.text.plain(),
    }
}

fn class_of(chapter: &Chapter) -> &'static str {
    use EventKind::{Became, Closed, Flapping, Grown, Opened, Renewed, Reopened, Shrunk, Steady};
    if chapter.notice.is_some() {
        return if chapter.event == Renewed { "k" } else { "w" };
    }
    match (chapter.event, chapter.because) {
        (Shrunk, Some(Because::Removed)) => "o",
        (Shrunk | Closed, _) => "k",
        (Flapping, _) => "w",
        (Opened | Reopened | Grown | Became | Steady, _) => "b",
        _ => "o",
    }
}

/// The chapters of an incident whose events are unknown: its beginning and its end.
fn of_incident(incident: &Incident) -> Vec<ChapterDetails> {
    let urls = incident.urls.len() as u64;
    let opened = incident.opened.unwrap_or(incident.since);
    let details = |chapter: Chapter| ChapterDetails {
        evidence: chapter.evidence.iter().cloned().collect(),
        chapter,
    };
    let begin = Chapter {
        run: incident.opened_by.clone(),
        at: opened,
        event: EventKind::Opened,
        state: Some(incident.state),
        reason: incident.reason.clone(),
        redirect: incident.redirect.clone(),
        because: None,
        ack: None,
        notice: incident.notice.clone(),
        new: false,
        urls,
        affected: urls,
        evidence: Some(incident.evidence.clone()).filter(|it| !it.url.is_empty()),
    };
    let end = incident.closed.map(|closed| Chapter {
        at: closed,
        run: String::new(),
        event: EventKind::Closed,
        state: None,
        evidence: None,
        affected: 0,
        ..begin.clone()
    });
    [Some(begin), end]
        .into_iter()
        .flatten()
        .map(details)
        .collect()
}
