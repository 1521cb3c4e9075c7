//! The boundary of the repository: no link leads its folders out of it.

use std::path::{Component, Path, PathBuf};

use super::{Config, ConfigError, NotifierKind};
use crate::database::site_rules;
use crate::ledger;

impl Config {
    /// Refuses links that lead a folder of the repository out of it, since anybody's commit may bring such a
    /// link: the database, its site rules, the ledger, and the folders of html notifiers. A folder that
    /// urldb.toml itself places elsewhere is its own boundary.
    ///
    /// # Errors
    /// [`ConfigError::Outside`] names the first such folder.
    pub fn ensure_inside(&self) -> Result<(), ConfigError> {
        let database = &self.database.path;
        ensure_database_inside(&self.root, database)?;
        for part in ledger::FOLDERS {
            ensure_inside(&self.root, &self.ledger.path, part)?;
        }
        for notify in self.notifiers.values() {
            if let NotifierKind::Html(html) = &notify.kind {
                self.ensure_folder_inside(&html.path)?;
            }
        }
        Ok(())
    }

    /// Refuses links that lead the folder at `path` out of the repository.
    ///
    /// # Errors
    /// As [`Self::ensure_inside`].
    pub fn ensure_folder_inside(&self, path: &Path) -> Result<(), ConfigError> {
        ensure_inside(&self.root, path, "")
    }
}

/// Refuses links that lead the database at `path`, or its site rules, out of the repository at `root`.
pub(super) fn ensure_database_inside(root: &Path, path: &Path) -> Result<(), ConfigError> {
    ensure_inside(root, path, site_rules::FOLDER)
}

/// Refuses links at `part` of the folder at `path` that lead out of the repository at `root`.
fn ensure_inside(root: &Path, path: &Path, part: &str) -> Result<(), ConfigError> {
    let folder = root.join(path);
    let is_below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    let boundary = if path.components().all(is_below) {
        root
    } else {
        &folder
    };
    let outside =
        |link: PathBuf| ConfigError::Outside(link.strip_prefix(root).unwrap_or(&link).into());
    match urldb_files::link_out(boundary, &folder.join(part)) {
        Some(link) => Err(outside(link)),
        None => Ok(()),
    }
}
