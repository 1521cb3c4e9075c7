//! The status site of the overview.

use std::path::Path;

use jiff::Timestamp;
use urldb_html::{Asset, SiteBuilder, SiteChanges, SiteError, SiteTemplates, TEMPLATES};

use super::Sources;
use crate::config::Config;

/// Our templates, in the order of [`TEMPLATES`].
const OURS: [&str; TEMPLATES.len()] = [
    include_str!("../../templates/site/layout.html"),
    include_str!("../../templates/site/overview.html"),
    include_str!("../../templates/site/host.html"),
    include_str!("../../templates/site/incidents.html"),
    include_str!("../../templates/site/incident.html"),
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
/// That of `read`.
pub fn sources(
    mut read: impl FnMut(&str, &str) -> anyhow::Result<String>,
) -> anyhow::Result<[String; TEMPLATES.len()]> {
    let mut sources = [const { String::new() }; TEMPLATES.len()];
    for ((source, name), ours) in sources.iter_mut().zip(TEMPLATES).zip(OURS) {
        *source = read(name, ours)?;
    }
    Ok(sources)
}

/// Parses the templates of the site.
///
/// # Errors
/// The first mistake in a template, with its place.
pub fn templates(sources: [String; TEMPLATES.len()]) -> anyhow::Result<SiteTemplates> {
    SiteTemplates::new(sources, ASSETS.to_vec()).map_err(|error| anyhow::anyhow!("{error}"))
}

/// Builds the site in `folder`, as of `now`. The domain files are read twice, one at a time: for the
/// overview, and for the pages of their hosts.
///
/// # Errors
/// When a file cannot be read or written, or a template fails.
pub fn build(
    config: &Config,
    templates: &SiteTemplates,
    folder: &Path,
    now: Timestamp,
) -> anyhow::Result<SiteChanges> {
    let sources = Sources::read(config, now, |_| false)?;
    let overview = sources.overview(|_| false, |_| Ok(()))?;
    let site = SiteBuilder::new(templates, folder).map_err(|error| text(&error))?;
    let database = config.root.join(&config.database.path);
    let changes = site.build(&overview, |host| {
        let path = database.join(format!("{}.yaml", host.host));
        let read = sources.host(&path, |_| true);
        read.map(|read| read.urls).map_err(Failed)
    });
    changes.map_err(|Failed(error)| error)
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
