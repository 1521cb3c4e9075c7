//! Refused paths.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A path that leaves a [`Root`](crate::Root): it has a symbolic link out of it or to nothing, has `..`, or is absolute. Or a
/// path to a file that the root does not open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outside {
    /// The link, relative to the boundary; else the path.
    pub(crate) path: PathBuf,
    /// The root for people.
    pub(crate) name: &'static str,
    pub(crate) refusal: Refusal,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The path is absolute, or has `..`.
    Path,
    /// A link out of the boundary, or to nothing. This kind is wanted in its place.
    LinkOut(&'static str),
    /// A link where none is followed.
    Link(&'static str),
    /// The file, behind links, is none of the only ones.
    Other(PathBuf, &'static str),
}

impl fmt::Display for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, name) = (self.path.display(), self.name);
        match &self.refusal {
            Refusal::Path => write!(f, "{path} is no path in {name}"),
            Refusal::LinkOut(kind) => {
                write!(f, "{path} is a link out of {name}: replace it by a {kind}")
            }
            Refusal::Link(kind) => write!(f, "{path} is a link: replace it by a {kind}"),
            Refusal::Other(real, wanted) if *real == self.path => {
                write!(f, "{path} is not {wanted}")
            }
            Refusal::Other(real, wanted) => {
                write!(
                    f,
                    "{path} leads to {}, which is not {wanted}",
                    real.display()
                )
            }
        }
    }
}

impl std::error::Error for Outside {}

impl From<Outside> for io::Error {
    fn from(outside: Outside) -> Self {
        io::Error::other(outside)
    }
}
