//! The incidents of feeds, in the sentences of their pages. Muted URLs are left out, as in messages.

use urldb_protocol::{Chapter, ChapterDetails, Incident, IncidentOverview, ToldIncident};
use urldb_render::{Titles, day_in_words, one_line};

use super::Views;
use super::steps::Step;
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
        let only = only_url(incident);
        let details = incident.chapters.iter().map(|chapter| {
            let evidence = chapter.evidence.as_ref().filter(|_| chapter.urls == 1);
            ChapterDetails {
                url: evidence
                    .map(|evidence| evidence.url.clone())
                    .or_else(|| only.map(str::to_owned)),
                evidence: vec![],
                agreeing: None,
                into: incident.merged_into.clone(),
                told: vec![],
                chapter: Chapter::clone(chapter),
            }
        });
        let steps = Step::all(details.collect());
        let sentences = steps.iter().rev().take(MOST_CHAPTERS).map(|step| {
            let day = day_in_words(step.details.chapter.at);
            format!("{day}: {}", step.sentence(incident))
        });
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

/// The URL of an incident that never affected another one.
fn only_url(incident: &Incident) -> Option<&str> {
    let [only] = incident.urls.as_slice() else {
        return None;
    };
    let is_only = |chapter: &Chapter| {
        let is_about = chapter.evidence.as_ref().map(|it| it.url == only.url);
        // Of a URL that joins, the evidence says which one it is.
        let is_known = is_about.unwrap_or(!chapter.event.joins());
        chapter.urls <= 1 && chapter.affected <= 1 && is_known
    };
    let is_alone = incident.chapters.iter().all(is_only);
    is_alone.then_some(only.url.as_str())
}
