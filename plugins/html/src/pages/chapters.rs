//! The events of an incident as chapters: a date, a sentence in the past, and the evidence of each URL.

use std::collections::HashSet;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{
    Because, Chapter, ChapterDetails, EventKind, Evidence, Incident, IncidentEvents, ToldBy,
};
use urldb_render::numbers::number;
use urldb_render::{
    Fact, evidence_box, moment_in_words, one_line, other_urls, unchanged, url_path,
    without_addresses,
};

use super::Views;
use super::steps::{Step, growth, sum};
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

/// The note of a chapter from which on a URL comes and goes.
const COMES_AND_GOES: &str = "From here on it stays in the incident, good or bad, and no message tells of each change, until all runs of a window agree: ten runs or seven days, whichever is longer.";

/// A chapter of an incident.
#[derive(Debug, Serialize)]
pub(super) struct ChapterRow {
    at: Time,
    /// `21 Nov 2026 05:08`
    moment: String,
    /// Class of the mark.
    class: &'static str,
    text: String,
    /// The URLs of a closed incident by their ends, at its last chapter.
    sum: String,
    is_quiet: bool,
    boxes: Vec<BoxRow>,
    /// A further sentence, such as about the URLs without evidence here; empty without one.
    note: String,
    told: Vec<ToldRow>,
}

/// A message that told a chapter.
#[derive(Debug, Serialize)]
struct ToldRow {
    notifier: String,
    /// `7 messages until`; empty for one message.
    messages: String,
    at: Time,
    /// `15 Nov 2026 05:15`
    moment: String,
    /// `issue #38`; empty without one.
    issue: String,
    /// `late: first tried on 12 November 2026, 05:15 UTC; the server gave no answer`
    late: String,
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
    /// The chapters of an incident, the first one first. `url_pages` are the pages of URLs. A last chapter says that
    /// nothing changed, if a run saw that after all others.
    pub(super) fn chapters(
        &self,
        incident: &Incident,
        (events, seen): (&IncidentEvents, Option<Timestamp>),
        url_pages: &HashSet<String>,
    ) -> Chapters {
        let known = if events.chapters.is_empty() {
            of_incident(incident)
        } else {
            events.chapters.clone()
        };
        let bars = growth(&known);
        let most = bars.iter().map(|bar| bar.urls).max().unwrap_or_default();
        let sum = sum(incident, &known);
        let seen = seen.filter(|seen| known.iter().all(|details| details.chapter.at < *seen));
        let steps = Step::all(known);
        let left_out = steps.len().saturating_sub(FIRST_CHAPTERS + LAST_CHAPTERS);
        let first = if left_out > 0 {
            FIRST_CHAPTERS
        } else {
            steps.len()
        };
        let row = |step: &Step| self.chapter(incident, step, url_pages);
        let mut last: Vec<ChapterRow> = steps.iter().skip(first + left_out).map(row).collect();
        let mut first: Vec<ChapterRow> = steps.iter().take(first).map(row).collect();
        if let Some(end) = last.last_mut().or(first.last_mut()) {
            end.sum = sum;
        }
        last.extend(seen.map(|at| quiet_row(incident, at)));
        Chapters {
            first,
            last,
            left_out: left_out as u64,
            growth: if bars.len() > 2 && most >= FEWEST_BARRED {
                chart(&bars)
            } else {
                String::new()
            },
        }
    }

    fn chapter(&self, incident: &Incident, step: &Step, url_pages: &HashSet<String>) -> ChapterRow {
        let details = &step.details;
        let chapter = &details.chapter;
        let evidence = details.evidence.iter().take(MOST_BOXES);
        let boxes: Vec<BoxRow> = evidence
            .map(|evidence| self.evidence(incident, chapter, evidence, url_pages))
            .collect();
        let shown = boxes.len() as u64;
        ChapterRow {
            at: Time::moment(chapter.at),
            moment: moment(chapter.at),
            class: class_of(chapter),
            text: step.sentence(incident),
            is_quiet: boxes.is_empty(),
            note: note(incident, step, shown),
            sum: String::new(),
            boxes,
            told: told_rows(&details.told),
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

/// The note of a chapter that has the evidence of so many URLs.
fn note(incident: &Incident, step: &Step, shown: u64) -> String {
    let chapter = &step.details.chapter;
    match chapter.event {
        EventKind::Intermittent => COMES_AND_GOES.to_owned(),
        EventKind::Opened | EventKind::Reopened | EventKind::Grown | EventKind::Became => {
            let state = chapter.state.unwrap_or(incident.state);
            other_urls(state, chapter.urls, shown, step.agreeing())
        }
        _ => String::new(),
    }
}

/// A row for a run that saw the affected URLs as before.
fn quiet_row(incident: &Incident, at: Timestamp) -> ChapterRow {
    ChapterRow {
        at: Time::moment(at),
        moment: moment(at),
        class: "b",
        text: unchanged(incident.affected().count() as u64),
        sum: String::new(),
        is_quiet: true,
        boxes: vec![],
        note: String::new(),
        told: vec![],
    }
}

/// A row for each notifier. Of several messages about one chapter, the row has the last one and the number.
fn told_rows(told: &[ToldBy]) -> Vec<ToldRow> {
    let mut rows: Vec<(ToldRow, u64)> = vec![];
    for message in told {
        let row = told_row(message);
        match rows
            .iter_mut()
            .find(|(known, _)| known.notifier == row.notifier)
        {
            Some((known, number)) => {
                let late = std::mem::take(&mut known.late);
                *known = ToldRow {
                    late: if row.late.is_empty() { late } else { row.late },
                    ..row
                };
                *number += 1;
            }
            None => rows.push((row, 1)),
        }
    }
    let counted = rows.into_iter().map(|(row, messages)| ToldRow {
        messages: match messages {
            1 => String::new(),
            more => format!("{} messages until", number(more)),
        },
        ..row
    });
    counted.collect()
}

fn told_row(told: &ToldBy) -> ToldRow {
    let late = told.late.as_ref().map(|(first, fault)| {
        let fault = match without_addresses(fault).as_str() {
            "" => String::new(),
            fault => format!("; {fault}"),
        };
        format!("late: first tried on {}{fault}", moment_in_words(*first))
    });
    let issue = told.issue.as_ref();
    let issue = issue.map(|number| one_line(&format!("issue #{number}")));
    ToldRow {
        notifier: one_line(&told.notifier),
        messages: String::new(),
        at: Time::moment(told.at),
        moment: moment(told.at),
        issue: issue.unwrap_or_default(),
        late: late.unwrap_or_default(),
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
    use EventKind::{
        Became, Closed, Grown, Intermittent, Opened, Renewed, Reopened, Shrunk, Steady,
    };
    if chapter.notice.is_some() {
        return if chapter.event == Renewed { "k" } else { "w" };
    }
    match (chapter.event, chapter.because) {
        (Shrunk, Some(Because::Removed)) => "o",
        (Shrunk | Closed, _) | (Steady, Some(_)) => "k",
        (Intermittent, _) => "w",
        (Opened | Reopened | Grown | Became, _) | (Steady, None) => "b",
        _ => "o",
    }
}

/// The chapters of an incident whose events are unknown: its beginning and its end.
fn of_incident(incident: &Incident) -> Vec<ChapterDetails> {
    let urls = incident.urls.len() as u64;
    let only = incident.urls.first().filter(|_| urls == 1);
    let opened = incident.opened.unwrap_or(incident.since);
    let details = |chapter: Chapter| ChapterDetails {
        url: only.map(|url| url.url.clone()),
        evidence: chapter.evidence.iter().cloned().collect(),
        chapter,
        agreeing: None,
        into: None,
        told: vec![],
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
        sure: false,
        again: false,
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
    let chapters = [Some(begin), end].into_iter().flatten();
    chapters.map(details).collect()
}
