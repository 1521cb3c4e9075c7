//! Comments on issues about incidents: the title of the incident, and the new rows of its history.

use urldb_protocol::{Envelope, Incident, Phase};

use super::rooms::{LARGEST_BODY, LONGEST_MARKER};
use super::syntax::inline;
use crate::compose::{Lookup, incident_line};
use crate::history::history_row;
use crate::numbers::{day, moment, with_spaces};
use crate::text::shorten;

/// The comment about the news of an incident; absent if there are none.
pub fn comment(envelope: &Envelope, incident: &Incident) -> Option<String> {
    let has_news =
        incident.phase.is_news() || matches!(incident.phase, Phase::Closed | Phase::Shrunk);
    has_news.then(|| {
        let chapters = incident.chapters.iter().filter(|chapter| chapter.new);
        let rows = chapters.filter_map(|chapter| history_row(incident, chapter));
        let rows: Vec<String> = rows.map(|row| format!("- {}", inline(&row))).collect();
        let text = format!("{}\n\n{}", bold(envelope, incident), rows.join("\n"));
        shorten(&with_spaces(text.trim_end()), LARGEST_BODY - LONGEST_MARKER) + "\n"
    })
}

/// The comment that an incident is still open.
pub fn reminder_comment(envelope: &Envelope, incident: &Incident) -> String {
    let line = bold(envelope, incident);
    let since = moment(incident.since);
    let next = envelope.next_reminder.map_or_else(String::new, |next| {
        format!(" The next reminder comes on {}.", day(next))
    });
    with_spaces(&format!("Reminder: {line}, since {since}.{next}\n"))
}

fn bold(envelope: &Envelope, incident: &Incident) -> String {
    let line = incident_line(incident, &Lookup::new(envelope));
    format!("**{}**", inline(&line))
}
