//! Why the store could not do something.

/// The kind of a [`StoreError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The store cannot be reached, is overloaded, or ended a connection. Trying again later helps.
    Unreachable,
    /// The store refuses the request, or cannot do what it must be able to do. A person has to change
    /// something: credentials, permissions, the name of the bucket.
    Refused,
    /// There is no such file.
    Missing,
    /// The store has other bytes than its manifest says, or a manifest that cannot be used.
    Damaged,
    /// The manifest has no room for another file.
    Full,
    /// Somebody else changed or made the same files.
    Conflict,
    /// A file on this machine cannot be read or written.
    Local,
}

/// An error of the store, as one line for people. No secret is in it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
}

impl StoreError {
    /// An error with this message.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
        }
    }

    /// The error of an object that is not as it must be.
    pub(crate) fn damaged(name: &str, place: &impl std::fmt::Display, problem: &str) -> Self {
        Self::new(
            StoreErrorKind::Damaged,
            format!("{name} in {place}: {problem}"),
        )
    }

    /// The kind.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether the same request may work later, without a person's help.
    pub fn is_transient(&self) -> bool {
        self.kind == StoreErrorKind::Unreachable
    }
}

/// The error of a place that lists more objects than can be those of an archive.
pub(crate) fn too_many(most: usize, place: &impl std::fmt::Display) -> StoreError {
    StoreError::new(
        StoreErrorKind::Refused,
        format!(
            "{place} has more than {most} objects: an archive needs a prefix or a folder of its own"
        ),
    )
}

impl From<StoreError> for std::io::Error {
    fn from(error: StoreError) -> Self {
        let kind = match error.kind {
            StoreErrorKind::Unreachable => std::io::ErrorKind::NotConnected,
            StoreErrorKind::Refused => std::io::ErrorKind::PermissionDenied,
            StoreErrorKind::Missing => std::io::ErrorKind::NotFound,
            StoreErrorKind::Damaged => std::io::ErrorKind::InvalidData,
            StoreErrorKind::Full | StoreErrorKind::Conflict | StoreErrorKind::Local => {
                std::io::ErrorKind::Other
            }
        };
        Self::new(kind, error)
    }
}

/// The error of a local file that cannot be read.
pub fn unreadable(
    file: &(impl std::fmt::Display + ?Sized),
) -> impl Fn(std::io::Error) -> StoreError {
    move |error| {
        let problem = format!("{file} cannot be read: {error}");
        StoreError::new(StoreErrorKind::Local, problem)
    }
}
