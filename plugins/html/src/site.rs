//! Writes the site of an overview: pages, badges, feed and status.json.

use std::path::Path;

use urldb_protocol::{HostOverview, IncidentOverview, Overview, UrlOverview};
use urldb_render::{Mark, PromiseCounts, Renderer, status_document};

use crate::badge::badge;
use crate::feed::feed;
use crate::folder::{SiteChanges, SiteFolder};
use crate::view::{Views, host_page};

/// Rows of a page of URLs.
const ROWS: usize = 1_000;

/// The names of the templates.
pub const TEMPLATES: [&str; 5] = [
    "site/layout.html",
    "site/overview.html",
    "site/host.html",
    "site/incidents.html",
    "site/incident.html",
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

/// What goes wrong while a site is built.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A template does not parse or cannot be rendered.
    #[error(transparent)]
    Template(#[from] urldb_render::Error),
    /// A file cannot be written.
    #[error("cannot write {0}: {1}")]
    Io(String, #[source] std::io::Error),
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
    pub fn new(templates: &'a SiteTemplates, folder: &Path) -> Result<Self, SiteError> {
        let shown = folder.display().to_string();
        let open = SiteFolder::open(folder);
        Ok(Self {
            templates,
            folder: open.map_err(|error| SiteError::Io(shown.clone(), error))?,
            shown,
        })
    }

    /// Writes the pages that are about the whole database, and the pages of `hosts`, for which `urls`
    /// gives the URLs of each.
    ///
    /// # Errors
    /// When a template fails, or a file cannot be written. What was written before stays.
    pub fn build<E: From<SiteError>>(
        mut self,
        overview: &Overview,
        mut urls: impl FnMut(&HostOverview) -> Result<Vec<UrlOverview>, E>,
    ) -> Result<SiteChanges, E> {
        let views = Views::new(overview);
        for host in &overview.hosts {
            let rows = urls(host)?;
            self.host(&views, host, &rows)?;
        }
        self.incidents(&views, overview)?;
        self.render("index.html", "site/overview.html", &views.overview_page())?;
        let counts = PromiseCounts::of(overview);
        self.badges("badge", counts, overview)?;
        let document = status_document(overview, vec![]);
        let mut text = serde_json::to_string(&document).unwrap_or_default();
        text.push('\n');
        self.write("status.json", text.as_bytes())?;
        let all = overview.open.iter().chain(&overview.closed);
        let entries: Vec<(&IncidentOverview, String)> =
            all.map(|it| (it, views.title(it))).collect();
        self.write("incidents.atom", feed(overview, None, &entries).as_bytes())?;
        for host in &overview.hosts {
            let of_host = entries.iter().filter(|(it, _)| it.domain == host.host);
            let of_host: Vec<_> = of_host.cloned().collect();
            if !of_host.is_empty() {
                let path = format!(
                    "hosts/{}",
                    host_page(&host.host, 1).replace(".html", ".atom")
                );
                let text = feed(overview, Some(&host.host), &of_host);
                self.write(&path, text.as_bytes())?;
            }
        }
        for asset in self.templates.assets.clone() {
            self.write(asset.name, asset.content)?;
        }
        // GitHub Pages would leave out files and folders by rules of its own.
        self.write(".nojekyll", b"")?;
        let shown = self.shown;
        let changes = self.folder.finish();
        Ok(changes.map_err(|error| SiteError::Io(shown, error))?)
    }

    fn host(
        &mut self,
        views: &Views<'_>,
        host: &HostOverview,
        urls: &[UrlOverview],
    ) -> Result<(), SiteError> {
        let pages = urls.len().div_ceil(ROWS).max(1);
        for page in 1..=pages {
            let rows = urls.iter().skip((page - 1) * ROWS).take(ROWS);
            let rows: Vec<UrlOverview> = rows.cloned().collect();
            let view = views.host_page(host, &rows, (page, pages));
            let path = format!("hosts/{}", host_page(&host.host, page));
            self.render(&path, "site/host.html", &view)?;
        }
        let path = format!(
            "hosts/{}",
            host_page(&host.host, 1).replace(".html", ".svg")
        );
        let counts = PromiseCounts::of_host(host);
        self.write(&path, badge(counts, host.checked).svg().as_bytes())
    }

    fn incidents(&mut self, views: &Views<'_>, overview: &Overview) -> Result<(), SiteError> {
        for it in overview.open.iter().chain(&overview.closed) {
            let path = format!("incidents/{}.html", it.incident.id);
            self.render(&path, "site/incident.html", &views.incident_page(it))?;
        }
        self.render(
            "incidents/index.html",
            "site/incidents.html",
            &views.incidents_page(),
        )
    }

    fn badges(
        &mut self,
        name: &str,
        counts: PromiseCounts,
        overview: &Overview,
    ) -> Result<(), SiteError> {
        let badge = badge(counts, overview.last_run.as_ref().map(|run| run.at));
        self.write(&format!("{name}.svg"), badge.svg().as_bytes())?;
        self.write(&format!("{name}.json"), badge.json().as_bytes())
    }

    fn render(
        &mut self,
        path: &str,
        template: &str,
        view: &impl serde::Serialize,
    ) -> Result<(), SiteError> {
        let page = self.templates.renderer.render(template, view)?;
        self.write(path, page.as_bytes())
    }

    fn write(&mut self, path: &str, content: &[u8]) -> Result<(), SiteError> {
        let shown = || format!("{}/{path}", self.shown);
        self.folder
            .write(path, content)
            .map_err(|error| SiteError::Io(shown(), error))
    }
}

/// The colour of a mark, without `#`.
pub(crate) fn colour(mark: Mark) -> &'static str {
    match mark {
        Mark::Kept => "1f6b57",
        Mark::Broken => "a8281b",
        Mark::Unknown => "57606a",
    }
}
