//! The status site of the overview.

use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use urldb_files::Root;
use urldb_html::{
    Asset, ListedUrl, SiteBuilder, SiteChanges, SiteError, SiteSource, SiteTemplates, TEMPLATES,
};
use urldb_protocol::{HostOverview, LogEntry, Overview, UrlDetails, UrlOverview, WaitingMessages};

use super::urls::UrlHistory;
use super::{Commits, Scope, Sources};
use crate::config::Config;

/// Days before the last run whose events the overview lists.
const RECENT_DAYS: i64 = 30;

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
    let parsed = SiteTemplates::new(sources, ASSETS.to_vec());
    let checked = parsed.and_then(|templates| templates.check().map(|()| templates));
    checked.map_err(|error| anyhow::anyhow!("{error}"))
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
    let sources = Sources::read(config, now, |_| true)?;
    let overview = Overview {
        waiting,
        ..sources.overview(|_| false, |_| Ok(()))?
    };
    // A site without commits is better than none, so that a failure of git means that they are unknown.
    let commits = Commits::read(config, None).ok().and_then(Result::ok);
    let site = SiteBuilder::new(templates, folder).map_err(|error| text(&error))?;
    let source = LedgerSite {
        history: UrlHistory::new(&sources, commits.as_ref()),
        commits: commits.as_ref(),
        database: config.database_root().path().to_owned(),
        sources: &sources,
    };
    let changes = site.build(&overview, &source);
    changes.map_err(|Failed(error)| error)
}

/// Facts that the pages show beside the overview, from the ledger, the archive and git.
struct LedgerSite<'a> {
    sources: &'a Sources<'a>,
    history: UrlHistory<'a>,
    commits: Option<&'a Commits>,
    database: PathBuf,
}

impl SiteSource for LedgerSite<'_> {
    type Error = Failed;

    fn events(&self) -> Vec<LogEntry> {
        let recent = SignedDuration::from_hours(24 * RECENT_DAYS);
        let from = self.sources.as_of().checked_sub(recent);
        let from = from.unwrap_or(Timestamp::MIN);
        let mut events = self
            .sources
            .timeline(Scope::All, self.commits, &|_, _| true);
        events.retain(|event| event.at >= from);
        events
    }

    fn commit_of(&self, host: &str) -> Option<String> {
        let id = self.commits?.last_of_host(host)?;
        Some(id.to_owned())
    }

    fn urls(&self, host: &HostOverview) -> Result<Vec<ListedUrl>, Failed> {
        let path = self.database.join(format!("{}.yaml", host.host));
        let read = self.sources.host(&path, |_| true).map_err(Failed)?;
        let listed = |url: UrlOverview| ListedUrl {
            changed: self
                .commits
                .and_then(|commits| commits.of_record(&url.host, &url.path).last())
                .map(|(at, _)| at),
            had_incident: self.history.had_incident(&url.url),
            url,
        };
        Ok(read.urls.into_iter().map(listed).collect())
    }

    fn urls_with_incident(&self) -> usize {
        self.history.with_incident()
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
