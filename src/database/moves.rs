//! Domains that moved between two states of the database: by their records, whatever git thinks of the text.

use urldb_format::RecordSet;

use crate::git::{ChangedFile, FileVersion};

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
