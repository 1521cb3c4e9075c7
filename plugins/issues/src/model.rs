//! The common model of the three services.

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    /// The number that people see.
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) open: bool,
    pub(crate) author: User,
    /// The page of the issue.
    pub(crate) page: String,
}

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    /// 0 if unknown.
    pub(crate) id: u64,
    pub(crate) login: String,
}

impl User {
    /// Whether both are the same user. Logins ignore case.
    pub(crate) fn is(&self, other: &Self) -> bool {
        if self.id != 0 && other.id != 0 {
            return self.id == other.id;
        }
        !self.login.is_empty() && self.login.eq_ignore_ascii_case(&other.login)
    }
}

/// A change of an issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Edit {
    pub(crate) body: Option<String>,
    pub(crate) close: bool,
}

impl Edit {
    pub(crate) const fn is_empty(&self) -> bool {
        self.body.is_none() && !self.close
    }
}
