//! The message of a commit of the ledger: the news since the commit before, for people who read `git log`.

use std::fmt::Write;

use urldb_protocol::{AffectedUrl, Because, Envelope, Incident, LogEvent, Phase, State};

use crate::compose::{Lookup, page_title};
use crate::log::event_label;
use crate::numbers::{count, number, with_spaces};
use crate::text::{one_line, shorten};

/// Longest subject, in characters.
const LONGEST_SUBJECT: usize = 100;

/// Longest other line, in characters.
const LONGEST_LINE: usize = 200;

/// Most incidents in a message.
const MOST_INCIDENTS: usize = 20;

/// Most URLs of one incident.
const MOST_URLS: usize = 5;

/// The changes of the ledger since a commit.
#[derive(Debug, Default)]
pub struct LedgerChanges {
    /// The incidents that changed, each with the [`Phase`] since that commit.
    pub incidents: Vec<Incident>,
    /// Number of URLs that joined an incident.
    pub broken: u64,
    /// Number of URLs that left an incident as promised.
    pub recovered: u64,
    /// Number of URLs that left an incident with another promise, or without a record.
    pub settled: u64,
}

/// The message of the commit of a run: `3 broken, 2 recovered of 100: h01.example answers 404 Not Found`, and below it
/// each changed incident with its id and its URLs. `report` is the report of the run.
pub fn commit_message(changes: &LedgerChanges, report: &Envelope) -> String {
    let lookup = Lookup::new(report);
    let mut incidents: Vec<(&Incident, LogEvent)> = changes
        .incidents
        .iter()
        .filter_map(|incident| Some((incident, event(incident)?)))
        .collect();
    incidents.sort_by_key(|(incident, _)| (incident.importance(), incident.order()));
    let title = |incident| line(&page_title(incident, &lookup).plain());
    let first = incidents.first().map(|(first, _)| title(first));
    let mut lines = vec![subject(changes, report, first, incidents.len())];
    if !incidents.is_empty() {
        lines.push(String::new());
    }
    for (incident, event) in incidents.iter().take(MOST_INCIDENTS) {
        let id = &incident.id;
        lines.push(format!("{} {id}: {}", event_label(*event), title(incident)));
        let urls = urls(incident);
        let shown = urls.iter().take(MOST_URLS);
        lines.extend(
            shown.map(|url| format!("  {}", line(&(url.url.clone() + &url.variant_suffix())))),
        );
        let more = urls.len().saturating_sub(MOST_URLS);
        if more > 0 {
            lines.push(format!("  and {}", more_of(more, "URL")));
        }
    }
    let more = incidents.len().saturating_sub(MOST_INCIDENTS);
    if more > 0 {
        lines.push(format!("and {}", more_of(more, "incident")));
    }
    lines.extend([String::new(), format!("Run {}", line(&report.run.id))]);
    lines.join("\n") + "\n"
}

/// The counts of the news, or the state of the promises where no URL has news; then the most important incident.
fn subject(
    changes: &LedgerChanges,
    report: &Envelope,
    first: Option<String>,
    incidents: usize,
) -> String {
    let counts = [
        (changes.broken, LogEvent::Broken),
        (changes.recovered, LogEvent::Recovered),
        (changes.settled, LogEvent::PromisesChanged),
    ];
    let counts = counts.iter().filter(|(urls, _)| *urls > 0);
    let counts = counts.map(|(urls, event)| format!("{} {}", number(*urls), event_label(*event)));
    let counts: Vec<String> = counts.collect();
    let mut subject = if counts.is_empty() {
        state(report)
    } else {
        let all = number(report.summary.counts.urls);
        format!("{} of {all}", counts.join(", "))
    };
    if let Some(first) = first {
        let more = match incidents {
            0 | 1 => String::new(),
            several => format!(" and {}", more_of(several - 1, "incident")),
        };
        let room = LONGEST_SUBJECT.saturating_sub(subject.chars().count() + 2 + more.len());
        subject = format!("{subject}: {}{more}", shorten(&first, room));
    }
    with_spaces(&subject)
}

/// The state of the promises after a run without news of a URL: `100 as promised`, `3 of 100 still broken`.
fn state(report: &Envelope) -> String {
    let summary = &report.summary;
    let counts = &summary.counts;
    let broken = counts.broken + counts.muted;
    let good = summary.states.get(&State::Ok).copied().unwrap_or_default();
    let all = number(counts.urls);
    let mut text = if broken > 0 {
        format!("{} of {all} still broken", number(broken))
    } else if good == counts.urls {
        format!("{all} as promised")
    } else {
        format!("{} of {all} as promised", number(good))
    };
    for (urls, words) in [
        (counts.flapping, "coming and going"),
        (counts.unconfirmed, "not confirmed yet"),
        (counts.unknown, "without result"),
    ] {
        if urls > 0 {
            let _ = write!(text, ", {} {words}", number(urls));
        }
    }
    match &report.run.selection {
        Some(selection) => format!(
            "{text} ({})",
            shorten(&one_line(selection), LONGEST_SUBJECT / 2)
        ),
        None => text,
    }
}

/// The event of the incident in the words of `urldb log`; `None` if people would not call it news.
fn event(incident: &Incident) -> Option<LogEvent> {
    if incident.merged_into.is_some() {
        // Another incident has taken over its URLs.
        return None;
    }
    Some(match incident.phase {
        Phase::Closed if incident.is_notice() => LogEvent::Solved,
        Phase::Closed => match incident.end() {
            Some(Because::Accepted | Because::Removed) => LogEvent::PromisesChanged,
            _ => LogEvent::Recovered,
        },
        Phase::Shrunk if !incident.is_notice() => LogEvent::Shrunk,
        Phase::Grown if !incident.is_notice() => LogEvent::Grown,
        phase if phase.is_news() && incident.is_notice() => LogEvent::Warned,
        phase if phase.is_news() => LogEvent::Broken,
        _ => return None,
    })
}

/// The URLs that the news is about: those that joined, or left, or all.
fn urls(incident: &Incident) -> Vec<&AffectedUrl> {
    let is_told = |url: &&AffectedUrl| match incident.phase {
        Phase::Closed | Phase::Shrunk => url.left.is_some(),
        Phase::Grown => url.new,
        _ => url.left.is_none(),
    };
    incident.urls.iter().filter(is_told).collect()
}

/// `2 more incidents`
fn more_of(number: usize, noun: &str) -> String {
    with_spaces(&count(number as u64, &format!("more {noun}")))
}

/// Text from outside as one line, cut to its longest.
fn line(text: &str) -> String {
    shorten(&with_spaces(&one_line(text)), LONGEST_LINE)
}
