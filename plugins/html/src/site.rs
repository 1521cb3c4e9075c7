//! Writes the site of an overview: pages, badges, feed and status.json.

use std::collections::HashSet;

use serde::Serialize;
use urldb_files::Root;
use urldb_protocol::{Counts, HostOverview, Overview};
use urldb_render::{Renderer, status_document};

use crate::badge::{badge, impaired_badge};
use crate::feed::feed;
use crate::file_names::{host_name, host_page, numbered, url_page};
use crate::folder::{SiteChanges, SiteFolder};
use crate::pages::{CheckDates, MOST_NAMES, Views, row_size};
use crate::sample::{self, Sample};
use crate::source::{ListedUrl, SiteError, SiteSource};

const ROWS: usize = 1_000;

/// Most bytes of the rows of a page of URLs, so that a page opens at once.
const LARGEST_TABLE: usize = 290_000;

const INCIDENT_ROWS: usize = 500;

/// Most pages of URLs: hosts of static sites limit the number and the size of files.
const MOST_URL_PAGES: usize = 10_000;

/// Most pages of URLs that each run renews.
const MOST_DAILY_PAGES: u64 = 5_000;

/// The names of the templates.
pub const TEMPLATES: [&str; 13] = [
    "site/layout.html",
    "site/overview.html",
    "site/host.html",
    "site/incidents.html",
    "site/incident.html",
    "site/url.html",
    "site/hosts.html",
    "site/hosts-table.html",
    "site/facts.html",
    "site/incident-list.html",
    "site/commands.html",
    "site/legend.html",
    "site/evidence.html",
];

/// Files that are published as they are.
#[derive(Debug, Clone, Copy)]
pub struct Asset {
    /// The name in the folder of the site.
    pub name: &'static str,
    /// The content.
    pub content: &'static [u8],
}

/// The parsed templates of the site, and its other files.
#[derive(Debug)]
pub struct SiteTemplates {
    renderer: Renderer,
    assets: Vec<Asset>,
}

impl SiteTemplates {
    /// Parses the minijinja sources of [`TEMPLATES`], in this order.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn new(
        sources: [String; TEMPLATES.len()],
        assets: Vec<Asset>,
    ) -> Result<Self, urldb_render::Error> {
        let mut sources = sources.into_iter();
        let named = TEMPLATES.map(|name| (name, sources.next().unwrap_or_default()));
        Ok(Self {
            renderer: Renderer::new(named)?,
            assets,
        })
    }

    /// Renders each template with a sample that has every kind of content.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn check(&self) -> Result<(), urldb_render::Error> {
        let overview = sample::overview();
        let views = Views::new(&overview, &Sample);
        let url = sample::listed_url();
        let page = url_page(&url.url.url, None, None);
        self.render("site/overview.html", &views.overview_page())?;
        let divided = views.hosts_pages(1).into_iter();
        for (_, view) in divided.chain(views.hosts_pages(MOST_NAMES)) {
            self.render("site/hosts.html", &view)?;
        }
        for host in &overview.hosts {
            let rows = [(url.clone(), true), (url.clone(), false)];
            self.render("site/host.html", &views.host_page(host, &rows, (1, 2)))?;
        }
        self.render("site/incidents.html", &views.incidents_page(1, 2, ROWS))?;
        for it in overview.open.iter().take(1).chain(&overview.closed) {
            let pages = HashSet::from([page.clone()]);
            let events = sample::incident_events(it);
            let view = views.incident_page(it, &events, &pages);
            self.render("site/incident.html", &view)?;
        }
        let view = views.url_page(&url.url, &sample::details(), CheckDates::Exact);
        self.render("site/url.html", &view)?;
        for overview in [sample::impaired(), Overview::default()] {
            let views = Views::new(&overview, &Sample);
            self.render("site/overview.html", &views.overview_page())?;
        }
        Ok(())
    }

    fn render(&self, name: &str, view: &impl Serialize) -> Result<String, urldb_render::Error> {
        self.renderer.render(name, view)
    }
}

/// A site while it is built.
pub struct SiteBuilder<'a> {
    templates: &'a SiteTemplates,
    folder: SiteFolder,
    shown: String,
}

impl<'a> SiteBuilder<'a> {
    /// Begins to build the site in `folder`, which is made if it does not exist.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn new(templates: &'a SiteTemplates, folder: &Root) -> Result<Self, SiteError> {
        let shown = folder.path().display().to_string();
        let open = SiteFolder::open(folder);
        Ok(Self {
            templates,
            folder: open.map_err(|error| SiteError::Io(shown.clone(), error))?,
            shown,
        })
    }

    /// Writes the pages that are about the whole database, and those of its hosts and URLs. A URL that ever
    /// had an incident has a page, and so have the first static URLs, up to 10,000 pages in all.
    ///
    /// # Errors
    /// When a template fails, or a file cannot be read or written. What was written before stays.
    pub fn build<S: SiteSource>(
        mut self,
        overview: &Overview,
        source: &S,
    ) -> Result<SiteChanges, S::Error> {
        let views = Views::new(overview, source);
        let dates = check_dates(overview, source.urls_with_incident());
        let mut budget = UrlPages::new(source.urls_with_incident());
        let mut url_pages = HashSet::new();
        for host in &overview.hosts {
            let rows: Vec<(ListedUrl, bool)> = source
                .urls(host)?
                .into_iter()
                .map(|listed| {
                    let has_page = budget.take(&listed);
                    (listed, has_page)
                })
                .collect();
            self.host(&views, host, &rows)?;
            for (listed, _) in rows.iter().filter(|(_, has_page)| *has_page) {
                let url = &listed.url;
                let page = url_page(&url.url, url.request.as_deref(), url.variant.as_deref());
                let view = views.url_page(url, &source.details(url)?, dates);
                self.render(&format!("urls/{page}"), "site/url.html", &view)?;
                url_pages.insert(page);
            }
        }
        self.incidents(&views, source, &url_pages)?;
        self.render("index.html", "site/overview.html", &views.overview_page())?;
        self.host_list(&views)?;
        self.machine_readable(&views)?;
        for asset in self.templates.assets.clone() {
            self.write(asset.name, asset.content)?;
        }
        // GitHub Pages would leave out files and folders by rules of its own.
        self.write(".nojekyll", b"")?;
        let shown = self.shown;
        let changes = self.folder.finish();
        Ok(changes.map_err(|error| SiteError::Io(shown, error))?)
    }

    /// Badges, feeds, status.json, and the script that knows the last run.
    fn machine_readable(&mut self, views: &Views<'_>) -> Result<(), SiteError> {
        let overview = views.overview;
        self.badges("badge", &overview.counts, overview)?;
        let document = status_document(overview, vec![]);
        let mut text = serde_json::to_string(&document).unwrap_or_default();
        text.push('\n');
        self.write("status.json", text.as_bytes())?;
        self.write("run.js", views.last_run_script().as_bytes())?;
        let entries = views.feed_entries();
        let place = ("incidents.atom", "incidents/index.html");
        let text = feed(overview, None, place, &entries);
        self.write(place.0, text.as_bytes())?;
        for host in &overview.hosts {
            let of_host: Vec<_> = entries
                .iter()
                .filter(|it| it.domain == host.host)
                .cloned()
                .collect();
            if !of_host.is_empty() {
                let page = format!("hosts/{}", host_page(&host.host, 1));
                let path = format!("hosts/{}.atom", host_name(&host.host));
                let text = feed(overview, Some(&host.host), (&path, &page), &of_host);
                self.write(&path, text.as_bytes())?;
            }
        }
        Ok(())
    }

    /// The list of all hosts, and the names for its search where the list has several pages.
    fn host_list(&mut self, views: &Views<'_>) -> Result<(), SiteError> {
        let pages = views.hosts_pages(MOST_NAMES);
        if pages.len() > 1 {
            let script = views.host_names_script();
            self.write("hosts/names.js", script.as_bytes())?;
        }
        for (name, view) in pages {
            self.render(&format!("hosts/{name}"), "site/hosts.html", &view)?;
        }
        Ok(())
    }

    fn host(
        &mut self,
        views: &Views<'_>,
        host: &HostOverview,
        urls: &[(ListedUrl, bool)],
    ) -> Result<(), SiteError> {
        let pages = pages_of(urls);
        for (rows, page) in pages.iter().zip(1..) {
            let view = views.host_page(host, rows, (page, pages.len()));
            let path = format!("hosts/{}", host_page(&host.host, page));
            self.render(&path, "site/host.html", &view)?;
        }
        let path = format!("hosts/{}.svg", host_name(&host.host));
        self.write(&path, badge(&host.counts, host.checked).svg().as_bytes())
    }

    fn incidents<S: SiteSource>(
        &mut self,
        views: &Views<'_>,
        source: &S,
        url_pages: &HashSet<String>,
    ) -> Result<(), S::Error> {
        let overview = views.overview;
        for it in overview.all_incidents() {
            let path = format!("incidents/{}.html", it.incident.id);
            let events = source.incident_events(it)?;
            let view = views.incident_page(it, &events, url_pages);
            self.render(&path, "site/incident.html", &view)?;
        }
        let pages = overview
            .all_incidents()
            .count()
            .div_ceil(INCIDENT_ROWS)
            .max(1);
        for page in 1..=pages {
            let path = format!("incidents/{}", numbered("index", page));
            let view = views.incidents_page(page, pages, INCIDENT_ROWS);
            self.render(&path, "site/incidents.html", &view)?;
        }
        Ok(())
    }

    fn badges(
        &mut self,
        name: &str,
        counts: &Counts,
        overview: &Overview,
    ) -> Result<(), SiteError> {
        let last = overview.last_run.as_ref().map(|run| run.at);
        let impaired = overview.impaired.as_ref().map(impaired_badge);
        let badge = impaired.unwrap_or_else(|| badge(counts, last));
        self.write(&format!("{name}.svg"), badge.svg().as_bytes())?;
        self.write(&format!("{name}.json"), badge.json().as_bytes())
    }

    fn render(
        &mut self,
        path: &str,
        template: &str,
        view: &impl Serialize,
    ) -> Result<(), SiteError> {
        let page = self.templates.render(template, view)?;
        self.write(path, page.as_bytes())
    }

    fn write(&mut self, path: &str, content: &[u8]) -> Result<(), SiteError> {
        let shown = || format!("{}/{path}", self.shown);
        self.folder
            .write(path, content)
            .map_err(|error| SiteError::Io(shown(), error))
    }
}

/// The rows of each page of a host: at most 1,000, and fewer if their paths are long.
fn pages_of(urls: &[(ListedUrl, bool)]) -> Vec<&[(ListedUrl, bool)]> {
    let mut pages = vec![];
    let (mut begin, mut size) = (0, 0);
    for (index, (listed, _)) in urls.iter().enumerate() {
        let row = row_size(&listed.url);
        if index - begin == ROWS || index > begin && size + row > LARGEST_TABLE {
            pages.push(&urls[begin..index]);
            (begin, size) = (index, 0);
        }
        size += row;
    }
    pages.push(&urls[begin..]);
    pages
}

/// Whether the pages of URLs are few enough for each run to renew them.
fn check_dates(overview: &Overview, with_incident: usize) -> CheckDates {
    let pages = overview.files.all.saturating_add(with_incident as u64);
    if pages > MOST_DAILY_PAGES {
        CheckDates::Weekly
    } else {
        CheckDates::Exact
    }
}

/// Numbers of URLs that may still have a page.
struct UrlPages {
    with_incident: usize,
    others: usize,
}

impl UrlPages {
    /// Of the pages, so many are for URLs that ever had an incident.
    fn new(with_incident: usize) -> Self {
        let with_incident = with_incident.min(MOST_URL_PAGES);
        Self {
            with_incident,
            others: MOST_URL_PAGES - with_incident,
        }
    }

    /// Whether the URL has a page.
    fn take(&mut self, listed: &ListedUrl) -> bool {
        let left = if listed.had_incident {
            &mut self.with_incident
        } else if listed.url.is_static() {
            &mut self.others
        } else {
            return false;
        };
        let has_page = *left > 0;
        *left = left.saturating_sub(1);
        has_page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_ten_thousand_urls_have_a_page() {
        let plain = ListedUrl {
            had_incident: false,
            ..sample::listed_url()
        };
        let mut dynamic = plain.clone();
        dynamic.url.promised = urldb_protocol::Promised::default();
        let had_incident = ListedUrl {
            had_incident: true,
            ..dynamic.clone()
        };
        let mut pages = UrlPages::new(2);
        let taken = (0..20_000).filter(|_| pages.take(&plain)).count();
        assert_eq!(taken, 9_998);
        assert!(!pages.take(&dynamic));
        assert!(pages.take(&had_incident) && pages.take(&had_incident));
        let mut pages = UrlPages::new(20_000);
        assert!(!pages.take(&plain));
        let taken = (0..20_000).filter(|_| pages.take(&had_incident)).count();
        assert_eq!(taken, 10_000);
    }
}
