//! The errors of a build.

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
