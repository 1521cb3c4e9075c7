//! The incidents of feeds, with the rows of their history. Muted URLs are left out, as in messages.

use urldb_protocol::{DeliveredIncident, IncidentOverview};
use urldb_render::{Titles, day_in_words, history_row, one_line};

use super::Views;
use crate::feed::FeedEntry;

/// Most chapters in the summary of an entry: the last ones.
const MOST_CHAPTERS: usize = 10;

impl<'a> Views<'a> {
    /// The entries of all incidents that messages tell.
    pub(crate) fn feed_entries(&self) -> Vec<FeedEntry<'a>> {
        self.overview
            .all_incidents()
            .filter_map(|it| self.feed_entry(it))
            .collect()
    }

    fn feed_entry(&self, it: &'a IncidentOverview) -> Option<FeedEntry<'a>> {
        let (incident, title) = match &it.delivered {
            DeliveredIncident::Nothing => return None,
            DeliveredIncident::Whole => (&it.incident, self.title(it)),
            DeliveredIncident::Part(incident) => {
                let title = Titles::of_version(self.overview, it, incident);
                (&**incident, title.plain())
            }
        };
        let summary = incident
            .chapters
            .iter()
            .rev()
            .filter_map(|chapter| {
                let row = history_row(incident, chapter)?;
                Some(format!("{}: {}.", day_in_words(chapter.at), row.plain()))
            })
            .take(MOST_CHAPTERS)
            .collect::<Vec<_>>()
            .join(" ");
        Some(FeedEntry {
            incident,
            domain: &it.domain,
            title,
            summary: one_line(if summary.is_empty() {
                &incident.evidence.detail
            } else {
                &summary
            }),
        })
    }
}
