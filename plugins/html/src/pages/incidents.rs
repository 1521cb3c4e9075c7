//! The list of all incidents, and their rows on other pages.

use std::cmp::Reverse;

use serde::Serialize;
use urldb_protocol::{IncidentOverview, NoticeKind};
use urldb_render::Mark;
use urldb_render::numbers::{age_in_words, number};

use super::incident::acknowledgement;
use super::values::{Time, date, first_seen};
use super::{Frame, PageLink, Views, page_links};
use crate::file_names::numbered;
use crate::strip::year;

#[derive(Debug, Serialize)]
pub(crate) struct IncidentsPage {
    pub(crate) frame: Frame,
    headline: String,
    as_of: Option<Time>,
    year: String,
    incidents: Vec<IncidentRow>,
    pages: Vec<PageLink>,
}

#[derive(Debug, Serialize)]
pub(crate) struct IncidentRow {
    id: String,
    title: String,
    /// The observed fault; empty if the title has the same words.
    detail: String,
    urls: String,
    noun: &'static str,
    since: Time,
    closed: Option<Time>,
    class: &'static str,
    /// The length of a closed incident.
    lasted: Option<String>,
}

impl Views<'_> {
    /// A page of all incidents, the latest first; `page` counts from 1.
    pub(crate) fn incidents_page(&self, page: usize, pages: usize, rows: usize) -> IncidentsPage {
        let overview = self.overview;
        let (open, closed) = (overview.open.len() as u64, overview.closed.len() as u64);
        let is = if open == 1 {
            "incident is"
        } else {
            "incidents are"
        };
        let headline = format!("{} {is} open, {} closed.", number(open), number(closed));
        let mark = if open > 0 { Mark::Broken } else { Mark::Kept };
        IncidentsPage {
            frame: self.frame("Incidents", mark, "../", "incidents"),
            headline,
            as_of: overview.last_run.as_ref().map(|run| Time::moment(run.at)),
            year: year(&overview.days),
            incidents: latest_first(overview.all_incidents())
                .into_iter()
                .skip((page - 1) * rows)
                .take(rows)
                .map(|it| self.incident_row(it))
                .collect(),
            pages: page_links(pages, page, |number| numbered("index", number)),
        }
    }

    pub(super) fn incident_row(&self, it: &IncidentOverview) -> IncidentRow {
        let incident = &it.incident;
        let is_open = incident.closed.is_none();
        let urls = incident
            .notice
            .as_ref()
            .and_then(|notice| notice.endangered)
            .filter(|_| incident.is_notice())
            .unwrap_or(incident.urls.len() as u64);
        let mistakes = incident.notice_of(NoticeKind::Mistake);
        let (urls, noun) = match mistakes.map(|notice| notice.count.unwrap_or_default()) {
            Some(1) => (1, "mistake"),
            Some(mistakes) => (mistakes, "mistakes"),
            None => (urls, if urls == 1 { "URL" } else { "URLs" }),
        };
        let title = self.title(it);
        IncidentRow {
            id: incident.id.clone(),
            title,
            detail: acknowledged(it),
            urls: number(urls),
            noun,
            since: Time::day(first_seen(incident)),
            closed: incident.closed.map(Time::day),
            class: match (is_open, incident.is_flapping() || incident.is_notice()) {
                (false, _) => "k",
                (true, true) => "w",
                (true, false) => "b",
            },
            lasted: incident
                .closed
                .map(|closed| age_in_words(first_seen(incident), closed)),
        }
    }
}

/// The incidents in the order of the date that their rows show, the latest first.
pub(super) fn latest_first<'a>(
    incidents: impl Iterator<Item = &'a IncidentOverview>,
) -> Vec<&'a IncidentOverview> {
    let mut incidents: Vec<_> = incidents.collect();
    incidents.sort_by_key(|it| it.incident.order());
    incidents.sort_by_key(|it| Reverse(date(first_seen(&it.incident))));
    incidents
}

/// The acknowledgement of an open incident; empty without one.
fn acknowledged(it: &IncidentOverview) -> String {
    it.incident
        .ack
        .as_ref()
        .filter(|_| it.incident.closed.is_none())
        .map_or_else(String::new, acknowledgement)
}
