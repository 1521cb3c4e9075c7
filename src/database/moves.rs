//! Domains that moved between two states of the database: by their records, whatever git thinks of the text.

use std::path::Path;

use urldb_format::{DomainFile, RecordSet, host_of, is_domain_file};

use crate::git::{ChangedFile, FileVersion, Repository};

/// The moves among changed files: the indexes of the file that is gone and of the new one, in the order of the new ones.
/// `records` gives the records of the file with an index; it is asked only if one file is gone and one is new.
///
/// # Errors
/// Those of `records`.
pub(crate) fn among(
    files: &[&ChangedFile],
    records: impl Fn(usize) -> anyhow::Result<RecordSet>,
) -> anyhow::Result<Vec<(usize, usize)>> {
    let indexes = |is_wanted: fn(&ChangedFile) -> bool| {
        files
            .iter()
            .enumerate()
            .filter(|(_, file)| is_wanted(file))
            .map(|(index, _)| index)
            .collect::<Vec<usize>>()
    };
    let gone = indexes(|file| file.after == FileVersion::Absent);
    let new = indexes(|file| file.before == FileVersion::Absent);
    if gone.is_empty() || new.is_empty() {
        return Ok(vec![]);
    }
    let sets = |indexes: &[usize]| {
        indexes
            .iter()
            .map(|index| records(*index))
            .collect::<anyhow::Result<Vec<RecordSet>>>()
    };
    Ok(urldb_format::moves(&sets(&gone)?, &sets(&new)?)
        .into_iter()
        .filter_map(|(from, to)| Some((*gone.get(from)?, *new.get(to)?)))
        .collect())
}

/// The hosts that a commit moved: the former name and the new one. `folder` is that of the database, relative to the
/// work tree.
///
/// # Errors
/// When git fails.
pub(crate) fn of_commit(
    repository: &Repository,
    commit: &str,
    folder: &Path,
) -> anyhow::Result<Vec<(String, String)>> {
    let mut files = repository.changed_by(commit, folder)?;
    files.retain(|file| file.path.parent() == Some(folder) && is_domain_file(&file.path));
    let records = |index: usize| {
        let file = &files[index];
        let ((FileVersion::Blob(id), _) | (_, FileVersion::Blob(id))) = (&file.before, &file.after)
        else {
            return Ok(RecordSet::default());
        };
        Ok(RecordSet::of(
            &DomainFile::parse(&file.path, &repository.read_blob(id)?).file,
        ))
    };
    let host = |index: usize| host_of(&files[index].path);
    Ok(among(&files.iter().collect::<Vec<_>>(), records)?
        .into_iter()
        .map(|(from, to)| (host(from), host(to)))
        .collect())
}
