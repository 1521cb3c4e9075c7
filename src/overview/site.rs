//! The status site of the overview.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use jiff::Timestamp;
use urldb_files::Root;
use urldb_format::host_of;
use urldb_html::{
    Asset, ListedUrl, SiteBuilder, SiteChanges, SiteError, SiteSource, SiteTemplates, TEMPLATES,
};
use urldb_protocol::{
    CaptureInfo, HostOverview, IncidentEvents, IncidentOverview, OriginInfo, Overview, Shown,
    UrlDetails, UrlOverview, WaitingMessages,
};
use urldb_render::without_addresses;
use urldb_warc::{CdxjLine, WarcDate};

use super::Sources;
use super::events::EventsOfUrls;
use crate::archive::origins::uris_of;
use crate::archive::{Catalogue, IndexedCapture, date};
use crate::config::Config;
use crate::git::Repository;
use crate::ledger::{self, KnownOrigins};

/// Our templates, in the order of [`TEMPLATES`].
const OURS: [&str; TEMPLATES.len()] = [
    include_str!("../../templates/site/layout.html"),
    include_str!("../../templates/site/overview.html"),
    include_str!("../../templates/site/host.html"),
    include_str!("../../templates/site/incidents.html"),
    include_str!("../../templates/site/incident.html"),
    include_str!("../../templates/site/url.html"),
    include_str!("../../templates/site/hosts.html"),
    include_str!("../../templates/site/hosts-table.html"),
    include_str!("../../templates/site/facts.html"),
    include_str!("../../templates/site/incident-list.html"),
    include_str!("../../templates/site/commands.html"),
    include_str!("../../templates/site/legend.html"),
    include_str!("../../templates/site/evidence.html"),
];

/// The files that are published as they are.
const ASSETS: [Asset; 6] = [
    Asset {
        name: "site.css",
        content: include_bytes!("../../templates/site/site.css"),
    },
    Asset {
        name: "site.js",
        content: include_bytes!("../../templates/site/site.js"),
    },
    Asset {
        name: "icon-broken.svg",
        content: include_bytes!("../../templates/site/icon-broken.svg"),
    },
    Asset {
        name: "icon-kept.svg",
        content: include_bytes!("../../templates/site/icon-kept.svg"),
    },
    Asset {
        name: "icon-none.svg",
        content: include_bytes!("../../templates/site/icon-none.svg"),
    },
    Asset {
        name: "icon-stale.svg",
        content: include_bytes!("../../templates/site/icon-stale.svg"),
    },
];

/// The sources of the templates, in the order of [`TEMPLATES`]. `read` gives the source of a template,
/// given its name and ours.
///
/// # Errors
/// The error of `read`.
pub fn sources(
    mut read: impl FnMut(&str, &str) -> anyhow::Result<String>,
) -> anyhow::Result<[String; TEMPLATES.len()]> {
    let mut sources = [const { String::new() }; TEMPLATES.len()];
    for ((source, name), ours) in sources.iter_mut().zip(TEMPLATES).zip(OURS) {
        *source = read(name, ours)?;
    }
    Ok(sources)
}

/// Parses the templates of the site, and renders each once.
///
/// # Errors
/// The first mistake in a template, with its place.
pub fn templates(sources: [String; TEMPLATES.len()]) -> anyhow::Result<SiteTemplates> {
    SiteTemplates::new(sources, ASSETS.to_vec())
        .and_then(|templates| templates.check().map(|()| templates))
        .map_err(|error| anyhow::anyhow!("{error}"))
}

/// Builds the site in `folder`, as of `now`, while these messages wait. The domain files are read twice, one at a time: for the
/// overview, and for the pages of their hosts.
///
/// # Errors
/// When a file cannot be read or written, or a template fails.
pub fn build(
    config: &Config,
    templates: &SiteTemplates,
    folder: &Root,
    now: Timestamp,
    waiting: Vec<WaitingMessages>,
) -> anyhow::Result<SiteChanges> {
    let sources = Sources::read(config, now)?;
    let waiting = waiting.into_iter().map(|it| WaitingMessages {
        // The site is public.
        fault: it
            .fault
            .map(|fault| Shown::new(&without_addresses(&fault), Shown::LONGEST)),
        ..it
    });
    let overview = Overview {
        waiting: waiting.collect(),
        ..sources.overview(|_| false, |_| Ok(()))?
    };
    let site = SiteBuilder::new(templates, folder).map_err(|error| text(&error))?;
    let source = LedgerSite {
        history: UrlHistory::new(&sources),
        // A site without commits is better than none, so that a failure of git means that they are unknown.
        commits: last_commits(&sources).unwrap_or_default(),
        database: config.database_root().path().to_owned(),
        sources: &sources,
    };
    site.build(&overview, &source)
        .map_err(|Failed(error)| error)
}

/// The last commit that changed each domain file, by its host.
fn last_commits(sources: &Sources<'_>) -> anyhow::Result<HashMap<String, String>> {
    let database = sources.config.database_root();
    let Some(repository) = Repository::of_project(database.path())? else {
        return Ok(HashMap::new());
    };
    let folder = repository.relative(database.path())?;
    let names = sources.files.iter().filter_map(|path| path.file_name());
    let found = repository.last_commits(&folder, names.map(|name| folder.join(name)))?;
    let of_hosts = found.into_iter();
    Ok(of_hosts
        .map(|(path, commit)| (host_of(&path), commit))
        .collect())
}

/// Facts that the pages show beside the overview, from the ledger, the archive and git.
struct LedgerSite<'a> {
    sources: &'a Sources<'a>,
    history: UrlHistory<'a>,
    /// The last commit that changed a domain file, by its host.
    commits: HashMap<String, String>,
    database: PathBuf,
}

impl SiteSource for LedgerSite<'_> {
    type Error = Failed;

    fn commit_of(&self, host: &str) -> Option<String> {
        self.commits.get(host).cloned()
    }

    fn urls(&self, host: &HostOverview) -> Result<Vec<ListedUrl>, Failed> {
        let path = self.database.join(format!("{}.yaml", host.host));
        let read = self.sources.host(&path, |_| true).map_err(Failed)?;
        let listed = |url: UrlOverview| ListedUrl {
            had_incident: self.history.had_incident(&url),
            url,
        };
        Ok(read.urls.into_iter().map(listed).collect())
    }

    fn urls_with_incident(&self) -> usize {
        self.history.with_incident()
    }

    fn incident_events(&self, it: &IncidentOverview) -> Result<IncidentEvents, Failed> {
        self.sources
            .incident_events(&it.incident.id)
            .map_err(Failed)
    }

    fn details(&self, url: &UrlOverview) -> Result<UrlDetails, Failed> {
        self.history.of(url).map_err(Failed)
    }
}

/// An error while the site is built.
struct Failed(anyhow::Error);

impl From<SiteError> for Failed {
    fn from(error: SiteError) -> Self {
        Self(text(&error))
    }
}

/// The error alone: its message has its causes.
fn text(error: &SiteError) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}

/// Most captures of one URL.
const MOST_CAPTURES: usize = 10;

/// Looks up the facts on the pages of URLs.
pub(super) struct UrlHistory<'a> {
    sources: &'a Sources<'a>,
    events: RefCell<EventsOfUrls>,
    /// The records about hosts of the domain that was asked last, and its name.
    origins: RefCell<(String, KnownOrigins)>,
}

impl<'a> UrlHistory<'a> {
    pub(super) fn new(sources: &'a Sources<'a>) -> Self {
        Self {
            sources,
            events: RefCell::default(),
            origins: RefCell::default(),
        }
    }

    /// Whether an incident has ever affected the URL.
    pub(super) fn had_incident(&self, url: &UrlOverview) -> bool {
        self.sources.of_urls.contains_key(&url.url)
    }

    /// Number of URLs, with a record or without, that an incident has ever affected.
    pub(super) fn with_incident(&self) -> usize {
        self.sources.of_urls.len()
    }

    /// # Errors
    /// When the index of the archive is damaged.
    pub(super) fn of(&self, url: &UrlOverview) -> anyhow::Result<UrlDetails> {
        let incidents = self.sources.of_urls.get(&url.url).into_iter().flatten();
        let incidents: Vec<&str> = incidents.map(String::as_str).collect();
        let (chapters, evidence) = self.events.borrow_mut().of(self.sources, url, &incidents)?;
        let (captures, more_captures) = self.captures(url)?;
        Ok(UrlDetails {
            chapters,
            incidents: incidents.into_iter().map(str::to_owned).collect(),
            captures,
            more_captures,
            origins: self.origins(url)?,
            evidence: evidence.filter(|_| url.request.is_none()).map(Box::new),
        })
    }

    /// The server that answered the last captures of the URL's host.
    fn origins(&self, url: &UrlOverview) -> anyhow::Result<Vec<OriginInfo>> {
        let mut known = self.origins.borrow_mut();
        if known.0 != url.host {
            let of_host = ledger::read_origins(&self.sources.ledger, &url.host)?;
            *known = (url.host.clone(), of_host);
        }
        let found = uris_of(&url.url).into_iter().filter_map(|uri| {
            let known = known.1.get(&uri)?;
            Some(OriginInfo {
                uri: Shown::new(&uri, Shown::LONGEST),
                text: Shown::new(&known.in_words(), Shown::LONGEST),
                since: known.since,
            })
        });
        Ok(found.collect())
    }

    /// The full captures, the latest first, and the number of those that are left out. Without an index,
    /// and for other requests than GET, the one that the ledger knows.
    fn captures(&self, url: &UrlOverview) -> anyhow::Result<(Vec<CaptureInfo>, u64)> {
        let of_ledger = || (url.capture.iter().cloned().collect(), 0);
        let Some(archive) = self
            .sources
            .archive
            .as_ref()
            .filter(|_| url.request.is_none())
        else {
            return Ok(of_ledger());
        };
        let mut found = archive.find(&url.url, None)?;
        found.retain(|it| !it.is_revisit() && it.line.vary == url.variant);
        if found.is_empty() {
            return Ok(of_ledger());
        }
        let more = found.len().saturating_sub(MOST_CAPTURES);
        // The first capture is always among them.
        found.drain(1..=more);
        let captures = found
            .iter()
            .rev()
            .map(|capture| info(archive, capture, url.capture.as_ref()));
        Ok((captures.collect(), more as u64))
    }
}

/// The capture of an index line. `known` is the capture of the ledger, whose record id needs no reading.
fn info(archive: &Catalogue, capture: &IndexedCapture, known: Option<&CaptureInfo>) -> CaptureInfo {
    let line = &capture.line;
    let known = known.filter(|known| is_same(line, known));
    let record = match known {
        Some(known) => known.record.clone(),
        // A file in the object store, or a damaged one, is no reason to have no page.
        None => archive.record_id(line).ok().flatten(),
    };
    CaptureInfo {
        date: date::shown(&line.timestamp),
        record,
        file: line.filename.clone(),
        offset: Some(line.extent.offset),
        digest: line.digest.clone(),
        is_revisit: false,
        status: capture.status,
    }
}

fn is_same(line: &CdxjLine, known: &CaptureInfo) -> bool {
    let date = known.date.parse::<WarcDate>();
    date.is_ok_and(|date| date.to_timestamp14() == line.timestamp) && known.digest == line.digest
}
