//! Domain files that a sparse checkout leaves out: they are promises, although they are not on disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use urldb_format::is_domain_file;

use crate::git::Repository;

/// The paths of the domain files of a database that the work tree of its repository leaves out; none where git does not
/// tell.
pub(crate) fn left_out(database: &Path) -> BTreeSet<PathBuf> {
    try_left_out(database).unwrap_or_default()
}

fn try_left_out(database: &Path) -> anyhow::Result<BTreeSet<PathBuf>> {
    let Some(repository) = Repository::of_project(database)? else {
        return Ok(BTreeSet::new());
    };
    let folder = repository.relative(database)?;
    Ok(repository
        .left_out(&folder)?
        .into_iter()
        .filter_map(|(path, _)| {
            let name = path.strip_prefix(&folder).ok()?;
            let is_child = name.components().count() == 1;
            (is_child && is_domain_file(name)).then(|| database.join(name))
        })
        .collect())
}
