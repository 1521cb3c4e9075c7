//! The point of the history from which the next run starts.

use std::collections::HashSet;

use jiff::Timestamp;
use urldb_files::Root;

use super::chains::VerificationsBuilder;
use super::file_of;
use super::reading::files;

/// The run that the next one starts from.
#[derive(Debug, Default)]
pub struct BaseRun {
    /// Its id; absent if the next run is the first of a month, and has to list all unverified URLs.
    pub id: Option<String>,
    /// The unverified URLs after it.
    pub unverified: HashSet<String>,
}

impl BaseRun {
    /// Reads the base of a run that begins at `started`: the newest month with runs up to then, and all later
    /// ones.
    ///
    /// # Errors
    /// As [`lines`](super::lines).
    pub fn load(folder: &Root, started: Timestamp) -> anyhow::Result<Self> {
        let month = file_of(folder, started);
        let mut builder = VerificationsBuilder::default();
        let (past, later): (Vec<_>, Vec<_>) =
            files(folder)?.into_iter().partition(|file| *file <= month);
        for path in past.into_iter().rev() {
            builder.add_file(path)?;
            if builder.has_runs() {
                break;
            }
        }
        for path in later {
            builder.add_file(path)?;
        }
        let read = builder.finish(started);
        let Some(last) = read.present.map(|last| &read.runs[last as usize]) else {
            return Ok(Self::default());
        };
        let known = read.unverified_after(last);
        let is_same_month = known.is_some() && file_of(folder, last.at) == month;
        Ok(Self {
            id: is_same_month.then(|| last.id.clone()),
            unverified: known.unwrap_or_default(),
        })
    }
}
