//! The list of all incidents, and their rows on other pages.

use serde::Serialize;
use urldb_protocol::IncidentOverview;
use urldb_render::Mark;
use urldb_render::numbers::number;

use super::incident::detail;
use super::values::Time;
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
}

impl Views<'_> {
    /// A page of all incidents, the open ones first; `page` counts from 1.
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
            incidents: overview
                .open
                .iter()
                .chain(&overview.closed)
                .skip((page - 1) * rows)
                .take(rows)
                .map(|it| self.incident_row(it))
                .collect(),
            pages: page_links(pages, page, |number| numbered("index", number)),
        }
    }

    pub(super) fn incident_row(&self, it: &IncidentOverview) -> IncidentRow {
        let incident = &it.incident;
        let urls = incident.urls.len() as u64;
        let (title, mut detail) = (self.title(it), detail(incident));
        if title.contains(&detail) {
            detail.clear();
        }
        IncidentRow {
            id: incident.id.clone(),
            title,
            detail,
            urls: number(urls),
            noun: if urls == 1 { "URL" } else { "URLs" },
            since: Time::day(incident.since),
            closed: incident.closed.map(Time::day),
            class: if incident.closed.is_some() { "k" } else { "b" },
        }
    }
}
