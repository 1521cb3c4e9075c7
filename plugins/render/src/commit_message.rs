//! The message of a commit of the ledger: the news since the commit before, for people who read `git log`.

use urldb_protocol::{AffectedUrl, Envelope, Incident, Phase};

use crate::compose::{Lookup, closed_title, page_title};
use crate::numbers::{count, headline, with_spaces};
use crate::text::{one_line, shorten};

/// Longest subject, in characters.
const LONGEST_SUBJECT: usize = 100;

/// Longest other line, in characters.
const LONGEST_LINE: usize = 200;

/// Most incidents in a message.
const MOST_INCIDENTS: usize = 20;

/// Most URLs of one incident.
const MOST_URLS: usize = 5;

/// The message of the commit of a run: `URLs: 3 broken (1 new), 97 ok: h01.example answers 404 Not Found`, and below it
/// each changed incident with its id and its URLs. `changed` has the incidents that changed since the commit before,
/// each with the [`Phase`] since then; `report` is the report of the run.
pub fn commit_message(changed: &[Incident], report: &Envelope) -> String {
    let lookup = Lookup::new(report);
    let mut incidents: Vec<(&Incident, &str, String)> = changed
        .iter()
        .filter_map(|incident| {
            let (word, title) = match incident.phase {
                // Another incident has taken over its URLs.
                _ if incident.merged_into.is_some() => return None,
                Phase::Closed => closed_title(incident, &lookup),
                phase if !phase.is_news() => return None,
                _ if incident.is_notice() => ("warning", page_title(incident, &lookup)),
                _ => ("broken", page_title(incident, &lookup)),
            };
            Some((incident, word, line(&title.plain())))
        })
        .collect();
    incidents.sort_by_key(|(incident, ..)| (incident.importance(), incident.order()));
    let first = incidents.first().map(|(_, _, title)| title.clone());
    let mut lines = vec![subject(report, first, incidents.len())];
    if !incidents.is_empty() {
        lines.push(String::new());
    }
    for (incident, word, title) in incidents.iter().take(MOST_INCIDENTS) {
        lines.push(format!("{word} {}: {title}", incident.id));
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

/// The headline of the run, and the most important incident.
fn subject(report: &Envelope, first: Option<String>, incidents: usize) -> String {
    let mut subject = headline(&report.summary.counts);
    if let Some(first) = first {
        let more = match incidents {
            0 | 1 => String::new(),
            several => format!(" and {}", more_of(several - 1, "incident")),
        };
        let size = LONGEST_SUBJECT.saturating_sub(subject.chars().count() + 2 + more.len());
        subject = format!("{subject}: {}{more}", shorten(&first, size));
    }
    with_spaces(&subject)
}

/// The URLs of the incident: those that are affected, new ones first, or else those that have left.
fn urls(incident: &Incident) -> Vec<&AffectedUrl> {
    let mut urls: Vec<_> = match incident.phase {
        Phase::Closed => incident.urls.iter().collect(),
        _ => incident.affected().collect(),
    };
    urls.sort_by_key(|url| !url.new);
    urls
}

/// `2 more incidents`
fn more_of(number: usize, noun: &str) -> String {
    with_spaces(&count(number as u64, &format!("more {noun}")))
}

/// Text from outside as one line, cut to its longest.
fn line(text: &str) -> String {
    shorten(&with_spaces(&one_line(text)), LONGEST_LINE)
}
