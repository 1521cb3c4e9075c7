//! The variables by which git tells its children which repository they serve.
//!
//! Inside a hook these variables point at the user's repository, and at the
//! index of the commit being made, which is often not `.git/index`. They hold
//! for that repository only, and must not reach git for another one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use crate::environment;

/// The variables that `git rev-parse --local-env-vars` lists; a test keeps the list complete.
pub const LOCAL: [&str; 16] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
];

/// Those of [`LOCAL`] that [`super::Repository`] handles without git's help.
const EASY: [&str; 5] = [
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
];

/// The author of a commit, which git hands on to the hook of that commit.
const AUTHOR: [&str; 3] = ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE"];

/// The git variables in force for one repository.
///
/// A value, so that a test can set variables: all tests of a process share its
/// environment.
#[derive(Debug, Clone, Default)]
pub struct GitEnv(BTreeMap<OsString, OsString>);

impl GitEnv {
    /// The variables that this process was started with.
    pub fn from_process() -> Self {
        Self(
            LOCAL
                .iter()
                .chain(&AUTHOR)
                .filter_map(|name| Some(((*name).into(), environment::os_variable(name)?)))
                .collect(),
        )
    }

    /// The same variables, with `name` set to `value`.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// Those of the variables that hold for every repository.
    #[must_use]
    pub(super) fn without_local(mut self) -> Self {
        self.0
            .retain(|name, _| !LOCAL.iter().any(|local| name == local));
        self
    }

    /// The value of one variable.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.0.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// Whether the commit being made has this author and time, in git's form `1700000000 +0100`.
    pub(super) fn has_author(&self, name: &[u8], email: &[u8], date: &str) -> bool {
        let date = format!("@{date}");
        let author = [name, email, date.as_bytes()];
        AUTHOR.iter().zip(author).all(|(variable, expected)| {
            self.get(variable)
                .is_some_and(|value| value.as_encoded_bytes() == expected)
        })
    }

    /// Whether git tells the author and time of the commit being made.
    pub(super) fn tells_author(&self) -> bool {
        self.get("GIT_AUTHOR_DATE")
            .is_some_and(|date| date.as_encoded_bytes().starts_with(b"@"))
    }

    /// Whether git has started this process as a hook of a commit.
    pub fn is_of_hook(&self) -> bool {
        self.get("GIT_INDEX_FILE").is_some()
    }

    /// Whether a variable moves or changes the repository, so that only git
    /// itself can find it.
    pub(super) fn redirects(&self) -> bool {
        LOCAL
            .iter()
            .any(|name| !EASY.contains(name) && self.get(name).is_some())
    }

    /// All variables, to be set for a child.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.0.iter()
    }
}
