//! The meaning of relative references.

/// The base of the relative references of a document.
#[derive(Clone, Copy)]
pub struct DocumentOptions<'a> {
    /// The URL of the root, which ends in `/`. Without it, relative references are counted.
    pub base: Option<&'a str>,
    /// The path of the document below the root, with `/`.
    pub path: &'a str,
    /// Whether a path below the root is in the repository.
    pub is_local: &'a dyn Fn(&str) -> bool,
}
