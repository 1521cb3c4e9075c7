//! Domains that moved, in a difference.

use std::collections::BTreeMap;
use std::path::PathBuf;

use urldb_format::RecordSet;

use super::compared::{FileStatus, Versions};
use crate::database::moves;
use crate::git::{ChangedFile, Repository};

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
        let records = |index: usize| {
            let (file, path) = &files[index];
            Ok(Versions::read(repository, file, path)?
                .map_or_else(RecordSet::default, |it| it.records()))
        };
        let changed: Vec<&ChangedFile> = files.iter().map(|(file, _)| file).collect();
        let sources = moves::among(&changed, records)?
            .into_iter()
            .map(|(from, to)| (to, from))
            .collect();
        Ok(Self { sources })
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
