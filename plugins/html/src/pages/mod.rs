//! Data of the templates of the site: texts, numbers and links. No date is relative to the clock, so
//! that a page changes only when its content does.

mod chapters;
mod commands;
mod events;
mod feed_entries;
mod host;
mod host_table;
mod hosts;
mod impaired;
mod incident;
mod incidents;
mod overview;
mod steps;
mod url;
mod url_words;
mod values;

use std::collections::HashMap;

use jiff::Timestamp;
use serde::Serialize;
use urldb_protocol::{Day, IncidentOverview, Overview};
use urldb_render::{Mark, Titles, one_line, project_file_link};

pub(crate) use host::row_size;
pub(crate) use hosts::MOST_NAMES;
pub(crate) use url::CheckDates;

use crate::source::SiteSource;
use values::Time;

const STRIP_DAYS: usize = 90;

/// Head and foot of a page.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// The title, for the browser.
    pub(crate) title: String,
    /// The relative address of the top folder: empty, or `../`.
    pub(crate) root: &'static str,
    /// Name of the icon: `kept`, `broken` or `none`.
    pub(crate) icon: &'static str,
    /// Class of the mark: `k`, `b` or `o`.
    pub(crate) mark: &'static str,
    /// The start of the last run. Absent on a page that does not change with each run: `run.js` has it.
    pub(crate) run: Option<String>,
    pub(crate) stale_after: u64,
    pub(crate) project: String,
    pub(crate) repository: Option<String>,
    /// The section of the site that the page belongs to: `overview`, `incidents` or `hosts`.
    pub(crate) section: &'static str,
    pub(crate) version: String,
}

/// A link from one of several pages to another.
#[derive(Debug, Serialize)]
pub(crate) struct PageLink {
    number: usize,
    page: String,
    is_current: bool,
}

pub(crate) struct Views<'a> {
    pub(crate) overview: &'a Overview,
    titles: Titles,
    /// All incidents, by id.
    incidents: HashMap<&'a str, &'a IncidentOverview>,
    /// The commits that last changed domain files, by the name of the file.
    commits: HashMap<&'a str, String>,
}

impl<'a> Views<'a> {
    pub(crate) fn new(overview: &'a Overview, source: &impl SiteSource) -> Self {
        let all = overview.all_incidents();
        let commits = overview.hosts.iter().filter_map(|host| {
            let commit = source.commit_of(&host.host)?;
            Some((host.file.as_str(), commit))
        });
        Self {
            titles: Titles::new(overview),
            incidents: all.map(|it| (it.incident.id.as_str(), it)).collect(),
            commits: commits.collect(),
            overview,
        }
    }

    pub(crate) fn frame(
        &self,
        title: &str,
        mark: Mark,
        root: &'static str,
        section: &'static str,
    ) -> Frame {
        let overview = self.overview;
        let (icon, mark) = match mark {
            Mark::Kept => ("kept", "k"),
            Mark::Broken => ("broken", "b"),
            Mark::Unsteady => ("none", "w"),
            Mark::Unknown => ("none", "o"),
        };
        Frame {
            title: one_line(&format!("{title} – {}", overview.project.name)),
            root,
            icon,
            mark,
            run: self.as_of().map(|at| Time::moment(at).iso),
            stale_after: overview.stale_after,
            project: one_line(&overview.project.name),
            repository: overview.project.url.clone().filter(|url| is_web(url)),
            section,
            version: overview.version.clone(),
        }
    }

    /// The start of the last run, with results or without.
    pub(crate) fn as_of(&self) -> Option<Timestamp> {
        let run = self.overview.last_run.as_ref().map(|run| run.at);
        let impaired = self.overview.impaired.as_ref().map(|impaired| impaired.at);
        // A clock that stepped back does not decide which run was the last one.
        impaired.max(run)
    }

    /// The page of a line of a domain file: at the commit that last changed the file, so that the link stays
    /// as it is, or else at the commit that is checked out.
    pub(crate) fn file_link(&self, file: &str, line: Option<usize>) -> Option<String> {
        let project = &self.overview.project;
        let commit = self.commits.get(file).or(project.commit.as_ref());
        project_file_link(project, commit.map(String::as_str), file, line)
    }

    pub(crate) fn incident(&self, id: &str) -> Option<&'a IncidentOverview> {
        self.incidents.get(id).copied()
    }

    /// Tells the pages that do not change with each run when the last one was.
    pub(crate) fn last_run_script(&self) -> String {
        let Some(at) = self.as_of() else {
            return "\"use strict\";\n".to_owned();
        };
        format!(
            "\"use strict\";\nObject.assign(document.documentElement.dataset, {{run: \"{}\", staleAfter: {}}});\n",
            Time::moment(at).iso,
            self.overview.stale_after
        )
    }

    pub(crate) fn title(&self, it: &IncidentOverview) -> String {
        self.titles.of(it).plain()
    }
}

fn page_links(pages: usize, current: usize, page: impl Fn(usize) -> String) -> Vec<PageLink> {
    let link = |number| PageLink {
        number,
        page: page(number),
        is_current: number == current,
    };
    (1..=pages).map(link).collect()
}

fn last_days(days: &[Day]) -> &[Day] {
    &days[days.len().saturating_sub(STRIP_DAYS)..]
}

fn is_web(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://")
}
