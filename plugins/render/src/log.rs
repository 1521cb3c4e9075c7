//! The timeline of a URL, a host or the whole database, for a terminal.

use std::fmt::Write;

use serde::{Deserialize, Serialize};
use urldb_protocol::{Chapter, Evidence, Incident, LogEntry, LogEvent, Phase, ProjectInfo, State};
use urldb_text::{sanitize, variant_suffix};

use crate::compose::notice_title;
use crate::layout::{columns, wrap};
use crate::message::Tone;
use crate::numbers::{age, count, moment, with_spaces};
use crate::page::{BOLD, TerminalOptions, paint, style};
use crate::sentences::{Cause, Subject, is_home_page, redirect_of};
use crate::text::Text;

/// Width of the column of the event.
const EVENT: usize = 14;

/// The timeline as lines for a terminal, under a heading. `incident` finds the incident with an id.
/// `with_hosts`: each entry names its host.
pub fn log<'a>(
    about: &str,
    entries: &[LogEntry],
    incident: impl Fn(&str) -> Option<&'a Incident>,
    with_hosts: bool,
    options: TerminalOptions,
) -> String {
    let about = Text::new().code(about).plain();
    let mut text = format!("{}, newest first\n\n", paint(BOLD, &about));
    for entry in entries {
        let at = with_spaces(&moment(entry.at));
        let indent = columns(&at) + 2 + EVENT + 2;
        let found = entry.incident.as_deref().and_then(&incident);
        let mut sentence = sentence(entry, found);
        if with_hosts && entry.notice.is_none() {
            sentence = Text::new().host(&entry.host).own(": ").and(sentence);
        }
        if let Some(id) = &entry.incident {
            let noun = if entry.notice.is_some() {
                "notice"
            } else {
                "incident"
            };
            sentence = sentence.own(format!("; {noun} ")).code(id);
        }
        let mut lines = wrap(&sentence, options.width, indent, indent).into_iter();
        let event = format!("{:EVENT$}", event_label(entry.event));
        let event = paint(style(tone(entry.event)), &event);
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "{at}  {event}  {first}");
        for line in lines {
            let _ = writeln!(text, "{:indent$}{line}", "");
        }
    }
    if entries.is_empty() {
        text += "No events.\n";
    }
    text
}

/// The event in one or two words: for a column, or before the id of an incident.
pub(crate) fn event_label(event: LogEvent) -> &'static str {
    match event {
        LogEvent::Unconfirmed => "unconfirmed",
        LogEvent::Broken => "broken",
        LogEvent::Recovered => "recovered",
        LogEvent::PromisesChanged => "settled",
        LogEvent::Warned => "warning",
        LogEvent::Solved => "solved",
    }
}

fn tone(event: LogEvent) -> Tone {
    match event {
        LogEvent::Unconfirmed | LogEvent::Warned => Tone::Warn,
        LogEvent::Broken => Tone::Bad,
        LogEvent::Recovered | LogEvent::PromisesChanged | LogEvent::Solved => Tone::Good,
    }
}

/// The history of the promises as one JSON document, of `urldb log --format json`.
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

/// The event in words, without time and host. `incident` is that of the entry.
pub fn sentence(entry: &LogEntry, incident: Option<&Incident>) -> Text {
    let subject = match &entry.url {
        Some(url) => {
            let variant = variant_suffix(entry.variant.as_deref());
            Text::new().code(url).own(sanitize(&variant))
        }
        None => Text::from(count(entry.urls, "URL")),
    };
    let is_one = entry.url.is_some() || entry.urls == 1;
    let is = if is_one { "is" } else { "are" };
    match entry.event {
        LogEvent::Warned | LogEvent::Solved => of_notice(entry, incident),
        LogEvent::Unconfirmed => subject.own(" ").and(cause(entry, incident, false)),
        LogEvent::Broken => {
            let opened = incident.and_then(|incident| incident.opened);
            let since = incident.map(|incident| incident.since);
            let was_seen = since
                .zip(opened)
                .is_some_and(|(since, opened)| opened.duration_since(since).as_secs() >= 60);
            subject
                .own(" ")
                .and(cause(entry, incident, false))
                .own(if was_seen { ", confirmed" } else { "" })
        }
        LogEvent::Recovered => {
            let text = subject.own(format!(" {is} as promised again"));
            let text = match entry.since {
                Some(since) => text.own(format!(" after {}", age(since, entry.at))),
                None => text,
            };
            text.and(former_cause(entry, incident))
        }
        LogEvent::PromisesChanged => {
            let has = if is_one { "has" } else { "have" };
            subject
                .own(format!(" {has} other promises now, or no record"))
                .and(former_cause(entry, incident))
        }
    }
}

/// The notice as of the event: it names its host or its file.
fn of_notice(entry: &LogEntry, incident: Option<&Incident>) -> Text {
    let phase = match entry.event {
        LogEvent::Solved => Phase::Closed,
        _ => Phase::Unchanged,
    };
    incident
        .map(|incident| Incident {
            phase,
            notice: entry.notice.clone(),
            ..incident.clone()
        })
        .as_ref()
        .map_or_else(Text::new, notice_title)
}

/// The failure of the URLs: `answer 404 Not Found`.
fn cause(entry: &LogEntry, incident: Option<&Incident>, has_ended: bool) -> Text {
    let none = Evidence::default();
    let evidence = evidence_of(entry, incident, has_ended).unwrap_or(&none);
    let redirect = incident.and_then(redirect_of);
    let is_one = entry.url.is_some() || entry.urls == 1;
    let cause = Cause {
        subject: if is_one {
            Subject::Url
        } else {
            Subject::Hosts(entry.urls)
        },
        state: entry.state.unwrap_or(State::Inconclusive),
        reason: entry.reason.as_deref(),
        redirect,
        to_home_page: redirect
            .zip(incident)
            .is_some_and(|(target, incident)| is_home_page(target, &incident.host)),
        evidence,
        domain: None,
        urls: (entry.urls, entry.urls),
    };
    if cause.counts_urls() {
        return Text::from("redirect to the home page");
    }
    cause.sentence()
}

/// The evidence of the run of the entry, which is about its URL: later runs may have seen something else, and other
/// URLs. For a failure that ends with the entry it is the latest of the runs before.
fn evidence_of<'a>(
    entry: &LogEntry,
    incident: Option<&'a Incident>,
    has_ended: bool,
) -> Option<&'a Evidence> {
    let is_own = |it: &&Evidence| match &entry.url {
        Some(url) => it.url == *url && it.variant == entry.variant,
        None => true,
    };
    let is_wanted = |it: &&'a Chapter| {
        let is_of_run = Some(&it.run) == entry.run.as_ref();
        is_of_run != has_ended && it.at <= entry.at
    };
    incident?
        .chapters
        .iter()
        .rev()
        .filter(is_wanted)
        .find_map(|it| it.evidence.as_ref().filter(is_own))
}

/// The failure that has ended: ` (before: answers 404 Not Found)`.
fn former_cause(entry: &LogEntry, incident: Option<&Incident>) -> Text {
    let Some(state) = entry.from.filter(|state| state.is_broken()) else {
        return Text::new();
    };
    let before = LogEntry {
        state: Some(state),
        ..entry.clone()
    };
    let cause = cause(&before, incident, true);
    Text::from(" (before: ").and(cause).own(")")
}
