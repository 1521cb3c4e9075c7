//! Domains that moved: by their records, whatever git thinks of the text.

use std::collections::BTreeMap;
use std::path::PathBuf;

use urldb_format::RecordSet;

use super::compared::{FileStatus, Versions};
use crate::git::{ChangedFile, FileVersion, Repository};

/// The moves among changed files.
pub(super) struct Moves {
    /// The index of the file that is gone, by that of the new one.
    sources: BTreeMap<usize, usize>,
}

impl Moves {
    /// Finds the moves. Files are read only if one is gone and one is new.
    pub(super) fn find(
        repository: &Repository,
        files: &[(ChangedFile, PathBuf)],
    ) -> anyhow::Result<Self> {
        let indexes = |is_wanted: fn(&ChangedFile) -> bool| {
            let found = files
                .iter()
                .enumerate()
                .filter(|(_, (file, _))| is_wanted(file));
            found.map(|(index, _)| index).collect::<Vec<usize>>()
        };
        let gone = indexes(|file| file.after == FileVersion::Absent);
        let new = indexes(|file| file.before == FileVersion::Absent);
        if gone.is_empty() || new.is_empty() {
            return Ok(Self {
                sources: BTreeMap::new(),
            });
        }
        let records = |indexes: &[usize]| {
            let files = indexes.iter().filter_map(|index| files.get(*index));
            let sets = files.map(|(file, path)| {
                let versions = Versions::read(repository, file, path)?;
                Ok(versions.map_or_else(RecordSet::default, |it| it.records()))
            });
            sets.collect::<anyhow::Result<Vec<RecordSet>>>()
        };
        let moves = urldb_format::moves(&records(&gone)?, &records(&new)?);
        let sources = moves
            .into_iter()
            .filter_map(|(from, to)| Some((*new.get(to)?, *gone.get(from)?)));
        Ok(Self {
            sources: sources.collect(),
        })
    }

    /// Whether the records of a file are in another one now.
    pub(super) fn is_source(&self, index: usize) -> bool {
        self.sources.values().any(|source| *source == index)
    }

    /// The file in which the records of a file were before.
    pub(super) fn source_of(&self, index: usize) -> Option<usize> {
        self.sources.get(&index).copied()
    }
}

impl Versions {
    /// The records of a file that only one state has.
    fn records(&self) -> RecordSet {
        RecordSet::of(match self.status {
            FileStatus::Removed => &self.before,
            _ => &self.after,
        })
    }

    /// Makes the earlier version of another file, which is gone, that of this one.
    pub(super) fn move_from(&mut self, gone: Option<Self>) {
        if let Some(gone) = gone {
            self.before = gone.before;
            self.status = FileStatus::Moved;
        }
    }
}
