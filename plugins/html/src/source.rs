//! Facts that the pages show beside the overview.

use urldb_protocol::{HostOverview, IncidentEvents, IncidentOverview, UrlDetails, UrlOverview};

/// Facts that the pages of a site show beside the overview.
pub trait SiteSource {
    /// Why something cannot be read, or a page cannot be written.
    type Error: From<SiteError>;

    /// The commit that last changed the domain file of a host; absent if it is unknown.
    fn commit_of(&self, host: &str) -> Option<String>;

    /// The URLs of a host, in the order of its domain file.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn urls(&self, host: &HostOverview) -> Result<Vec<ListedUrl>, Self::Error>;

    /// Number of URLs, with a record or without, that an incident has ever affected.
    fn urls_with_incident(&self) -> usize;

    /// The events of an incident; none if they are unknown.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn incident_events(&self, it: &IncidentOverview) -> Result<IncidentEvents, Self::Error>;

    /// Facts that the page of one URL shows beside its row.
    ///
    /// # Errors
    /// When a file cannot be read.
    fn details(&self, url: &UrlOverview) -> Result<UrlDetails, Self::Error>;
}

/// A URL in the list of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedUrl {
    /// The facts of the overview.
    pub url: UrlOverview,
    /// Whether an incident has ever affected the URL.
    pub had_incident: bool,
}

/// A fault that ends the build of a site.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    /// A template does not parse or cannot be rendered.
    #[error(transparent)]
    Template(#[from] urldb_render::Error),
    /// A file cannot be written.
    #[error("cannot write {0}: {1}")]
    Io(String, #[source] std::io::Error),
}
