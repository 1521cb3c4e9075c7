//! One section `[notify.NAME]` of urldb.toml: its paths, templates and secrets.

use std::path::{Path, PathBuf};

use anyhow::Context;
use urldb_text::secret_variable;

use crate::config::{Config, Notify};
use crate::explain::explain;
use crate::limits;

/// The template of the HTML of messages, and our own one.
pub(super) const EMAIL: &str = "email.html";
pub(super) const OUR_EMAIL: &str = include_str!("../../templates/email.html");

/// A notifier's section of urldb.toml. Errors name the line of the key that they are about.
pub(super) struct NotifierSection<'a> {
    pub(super) config: &'a Config,
    pub(super) name: &'a str,
    pub(super) notify: &'a Notify,
}

impl NotifierSection<'_> {
    /// The result, with the line of the key in its error.
    pub(super) fn about<T, E: Into<anyhow::Error>>(
        &self,
        key: &str,
        result: Result<T, E>,
    ) -> anyhow::Result<T> {
        self.about_section(&self.section(), key, result)
    }

    /// The result, with the line of a key of `[network]` in its error.
    pub(super) fn about_network<T, E: Into<anyhow::Error>>(
        &self,
        key: &str,
        result: Result<T, E>,
    ) -> anyhow::Result<T> {
        self.about_section("network", key, result)
    }

    /// Whether the section has the key.
    pub(super) fn has_key(&self, key: &str) -> bool {
        self.config.has_key(&self.section(), key)
    }

    fn about_section<T, E: Into<anyhow::Error>>(
        &self,
        section: &str,
        key: &str,
        result: Result<T, E>,
    ) -> anyhow::Result<T> {
        result.map_err(|error| {
            let place = self.config.place(section, key);
            anyhow::anyhow!("{place}: {}", explain(&error.into()))
        })
    }

    fn section(&self) -> String {
        format!("notify.{}", self.name)
    }

    /// A path of the section.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        self.config.root.join(path)
    }

    /// The value of the environment variable that the key names.
    pub(super) fn variable(&self, key: &str, name: &str) -> anyhow::Result<String> {
        let value = secret_variable(name).map_err(|error| match error {
            std::env::VarError::NotPresent => {
                anyhow::anyhow!("the environment variable {name} is not set")
            }
            std::env::VarError::NotUnicode(_) => {
                anyhow::anyhow!("the environment variable {name} is not valid UTF-8")
            }
        });
        self.about(key, value)
    }

    /// The user's template of this name in the folder that `templates` names, or else the built-in one.
    pub(super) fn template(
        &self,
        folder: Option<&Path>,
        name: &str,
        ours: &str,
    ) -> anyhow::Result<String> {
        let Some(folder) = folder else {
            return Ok(ours.to_owned());
        };
        let folder = self.config.templates_root(folder);
        if !folder.is_folder() {
            let absent = anyhow::anyhow!("there is no folder {}", folder.path().display());
            return self.about("templates", Err(absent));
        }
        let file = folder.file(name);
        match file.read_to_string(limits::TEMPLATE) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(ours.to_owned()),
            read => {
                let read = read.with_context(|| format!("cannot read the template {file}"));
                self.about("templates", read)
            }
        }
    }
}

/// The error alone: its message has its causes.
pub(super) fn text(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow::anyhow!("{error}")
}
