//! The namespaces of variables.

/// The namespace of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Namespace {
    /// `canonalize` itself: the official URL has the option at the position of this variable.
    Official,
    /// The default namespace of host variables.
    Domain,
    /// The default namespace of path and query variables.
    Site,
    /// A further namespace, so that a rule can use a name twice.
    Options,
}

impl Namespace {
    /// The full name of the namespace.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "canonalize",
            Self::Domain => "canonalize::domain",
            Self::Site => "canonalize::site",
            Self::Options => "canonalize::options",
        }
    }

    /// The namespace `name` inside `canonalize`.
    pub(crate) fn within(name: &str) -> Option<Self> {
        match name {
            "domain" => Some(Self::Domain),
            "site" => Some(Self::Site),
            "options" => Some(Self::Options),
            _ => None,
        }
    }
}
