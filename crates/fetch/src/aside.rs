//! The jobs of URLs that were set aside, in a temporary file: memory holds a few bytes of each.

use std::io;

use urldb_files::Spool;
use urldb_verdict::{Job, Observation};

/// The place of a job in the temporary file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    position: u64,
    length: u32,
}

#[cfg(test)]
impl Place {
    /// A place without a file, for the tests of others.
    pub(crate) fn at(position: u64) -> Self {
        Self {
            position,
            length: 0,
        }
    }

    pub(crate) fn number(self) -> u64 {
        self.position
    }
}

/// The jobs of URLs that were set aside, each with the refusal that it was set aside for.
#[derive(Debug, Default)]
pub(crate) struct SetAsideJobs {
    bytes: Spool,
    /// Number of jobs that may be read again.
    count: usize,
}

impl SetAsideJobs {
    /// Number of jobs.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds a job and its last observation, whose body is dropped.
    ///
    /// # Errors
    /// When the temporary file cannot be written.
    pub(crate) fn add(&mut self, job: &Job, refusal: &mut Observation) -> io::Result<Place> {
        refusal.body = None;
        refusal.start = Vec::new();
        refusal.page = None;
        let bytes = serde_json::to_vec(&(job, refusal))?;
        let place = Place {
            position: self.bytes.length(),
            length: u32::try_from(bytes.len()).map_err(io::Error::other)?,
        };
        self.bytes.push(&bytes)?;
        self.count += 1;
        Ok(place)
    }

    /// A job that stays in the file.
    ///
    /// # Errors
    /// When the temporary file cannot be read.
    pub(crate) fn read(&mut self, place: Place) -> io::Result<(Job, Observation)> {
        let bytes = self.bytes.bytes_at(place.position, place.length as usize)?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Drops one of the jobs, and the file with the last one.
    pub(crate) fn remove(&mut self) {
        self.count -= 1;
        if self.count == 0 {
            self.bytes = Spool::new();
        }
    }
}
