//! The incidents of feeds, with the rows of their history. Muted URLs are left out, as in messages.

use urldb_protocol::{IncidentOverview, ToldIncident};
use urldb_render::{Titles, day_in_words, history_row, one_line};

use super::Views;
use crate::feed::FeedEntry;

/// Most chapters in the summary of an entry: the last ones.
const MOST_CHAPTERS: usize = 10;

impl<'a> Views<'a> {
    /// The entries of all incidents that messages tell.
    pub(crate) fn feed_entries(&self) -> Vec<FeedEntry<'a>> {
        let overview = self.overview;
        let all = overview.all_incidents();
        all.filter_map(|it| self.feed_entry(it)).collect()
    }

    fn feed_entry(&self, it: &'a IncidentOverview) -> Option<FeedEntry<'a>> {
        let (incident, title) = match &it.told {
            ToldIncident::Nothing => return None,
            ToldIncident::Whole => (&it.incident, self.title(it)),
            ToldIncident::Part(incident) => {
                let title = Titles::of_version(self.overview, it, incident);
                (&**incident, title.plain())
            }
        };
        let chapters = incident.chapters.iter().rev();
        let rows = chapters.filter_map(|chapter| {
            let row = history_row(incident, chapter)?;
            Some(format!("{}: {}.", day_in_words(chapter.at), row.plain()))
        });
        let sentences = rows.take(MOST_CHAPTERS);
        let summary = sentences.collect::<Vec<_>>().join(" ");
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
