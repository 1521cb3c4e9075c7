//! A database beside that of the project, in a temporary folder.

use anyhow::Context as _;
use tempfile::TempDir;
use urldb_files::RootFile;

use crate::config::{Config, Database};
use crate::limits;

/// The configuration with an empty database, which has the site rules of the project. The folder is removed when the
/// second value is dropped.
pub(crate) fn with_empty_database(config: &Config) -> anyhow::Result<(Config, TempDir)> {
    let folder = urldb_files::temporary_folder().context("cannot make a temporary folder")?;
    let database = Database {
        path: folder.path().to_owned(),
        is_of_lists: true,
    };
    let rules = config.rules_root();
    let config = Config {
        database,
        ..config.clone()
    };
    for file in rules.files().unwrap_or_default() {
        let copy = config.rules_root();
        copy.make()?;
        let rules = RootFile::at(&file.path(), "the site rules")
            .read(limits::SITE_RULES)
            .context("cannot read site rules")?;
        copy.file(file.name()).replace(&rules)?;
    }
    Ok((config, folder))
}
