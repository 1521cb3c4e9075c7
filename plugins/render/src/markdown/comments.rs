//! Comments on issues about incidents: the title of the incident, and the newest row of its history.

use urldb_protocol::{Envelope, Incident, Phase};

use super::size_limits::{LARGEST_BODY, LONGEST_MARKER};
use super::syntax::inline;
use crate::compose::{Lookup, incident_line};
use crate::history::history_row;
use crate::numbers::{day, moment, with_spaces};
use crate::text::shorten;

/// The comment about the news of an incident; absent if there are none.
pub fn comment(envelope: &Envelope, incident: &Incident) -> Option<String> {
    let has_news = incident.phase.is_news() || incident.phase == Phase::Closed;
    has_news.then(|| {
        let changes = || incident.chapters.iter().filter(|it| it.event.is_change());
        let last = changes().next_back().map(|chapter| &chapter.run);
        let rows: Vec<String> = changes()
            .filter(|chapter| Some(&chapter.run) == last)
            .filter_map(|chapter| history_row(incident, chapter))
            .map(|row| format!("- {}", inline(&row)))
            .collect();
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
