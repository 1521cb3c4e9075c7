//! The history of an incident, a line for each event.

use urldb_protocol::{Because, Chapter, EventKind, Incident};

use super::syntax::inline;
use crate::compose::{notice_event, past};
use crate::numbers::{count, day, moment, number, with_spaces};
use crate::text::Text;

/// Most events that are listed: the first ones and the last ones.
const MOST: usize = 30;

/// The list of events; empty if the incident has none, as in a message of `check`.
pub(super) fn history(incident: &Incident) -> Option<String> {
    let lines: Vec<String> = incident
        .chapters
        .iter()
        .filter_map(|chapter| {
            let text = event(incident, chapter)?;
            Some(format!(
                "- {}: {}",
                with_spaces(&moment(chapter.at)),
                inline(&text)
            ))
        })
        .collect();
    if lines.is_empty() {
        return None;
    }
    let left_out = lines.len().saturating_sub(MOST);
    let (first, rest) = lines.split_at(lines.len().min(MOST / 2));
    let mut shown = first.to_vec();
    if left_out > 0 {
        shown.push(format!("- and {} more", count(left_out as u64, "event")));
    }
    shown.extend_from_slice(&rest[left_out..]);
    Some(format!("History:\n\n{}", shown.join("\n")))
}

fn event(incident: &Incident, chapter: &Chapter) -> Option<Text> {
    let urls = || count(chapter.urls, "URL");
    let is_one = incident.urls.len() == 1;
    if let Some(text) = notice_event(incident, chapter) {
        return Some(text);
    }
    Some(match chapter.event {
        EventKind::Opened | EventKind::Reopened | EventKind::Became => {
            let text = past(incident, chapter);
            if is_one {
                text
            } else {
                Text::from(format!("{} ", urls())).and(text)
            }
        }
        EventKind::Grown => {
            let (more, all) = (number(chapter.urls), number(chapter.affected));
            Text::from(format!("{more} more, {all} in all"))
        }
        EventKind::Shrunk => left(incident, chapter, &urls()),
        EventKind::Intermittent if is_one => Text::from("comes and goes"),
        EventKind::Intermittent => Text::from(format!("{} come and go", urls())),
        EventKind::Steady if chapter.because.is_some() => Text::from("as promised for a week"),
        EventKind::Steady => Text::from("broken, and no longer coming and going"),
        EventKind::Acked => {
            let ack = chapter.ack.as_ref()?;
            let by = if ack.by.is_empty() {
                String::new()
            } else {
                format!(" by {}", ack.by)
            };
            Text::new().outside(&format!(
                "acknowledged{by} until {}: {}",
                day(ack.until),
                ack.because
            ))
        }
        EventKind::AckEnded => Text::from("acknowledgement ended"),
        EventKind::Muted => Text::from(format!("{} muted", urls())),
        EventKind::Unmuted => Text::from(format!("{} no longer muted", urls())),
        EventKind::Merged => Text::from("continues in another incident"),
        EventKind::Closed | EventKind::Noticed | EventKind::Renewed => return None,
    })
}

fn left(incident: &Incident, chapter: &Chapter, urls: &str) -> Text {
    let what = match chapter.because {
        Some(Because::Accepted) => "as promised, after the promise was changed",
        Some(Because::Removed) => "removed from the database",
        _ => "as promised again",
    };
    let rest = number(chapter.affected);
    Text::from(match (incident.urls.len(), chapter.affected) {
        (1, _) => what.to_owned(),
        (_, 0) => format!("the last {urls} {what}"),
        _ => format!("{urls} {what}, {rest} still broken"),
    })
}
