//! The places in lists that name the records of a database.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use urldb_interchange::Location;

/// The first place of each record in its lists: a few bytes for each.
#[derive(Debug)]
pub struct ListLocations {
    files: Vec<Arc<str>>,
    /// The hash of a record, and its place: the index of the file, and the line. Sorted.
    places: Vec<(u64, u32, u32)>,
    hasher: RandomState,
}

impl ListLocations {
    pub(crate) fn new() -> Self {
        Self {
            files: vec![],
            places: vec![],
            hasher: RandomState::new(),
        }
    }

    fn hash(&self, domain: &str, path: &str, request: Option<&str>) -> u64 {
        self.hasher.hash_one((domain, path, request))
    }

    /// Adds the place of a record in the domain file of a host.
    pub(crate) fn add(&mut self, domain: &str, path: &str, request: Option<&str>, at: &Location) {
        let known = self.files.iter().rposition(|file| *file == at.file);
        let file = known.unwrap_or_else(|| {
            self.files.push(Arc::clone(&at.file));
            self.files.len() - 1
        });
        let place = (u32::try_from(file), u32::try_from(at.line_number()));
        if let (Ok(file), Ok(line)) = place {
            let hash = self.hash(domain, path, request);
            self.places.push((hash, file, line));
        }
    }

    /// To be called after the last [`Self::add`].
    pub(crate) fn finish(&mut self) {
        let files = &self.files;
        let name = |file: u32| files.get(file as usize).map(|name| &**name);
        self.places.sort_by(|one, other| {
            let key = |it: &(u64, u32, u32)| (it.0, name(it.1), it.2);
            key(one).cmp(&key(other))
        });
        self.places.dedup_by_key(|place| place.0);
    }

    /// The first place of a record: a file and a line.
    pub(crate) fn of(
        &self,
        domain: &str,
        path: &str,
        request: Option<&str>,
    ) -> Option<(&Arc<str>, usize)> {
        let hash = self.hash(domain, path, request);
        let found = self.places.binary_search_by_key(&hash, |place| place.0);
        let (_, file, line) = self.places.get(found.ok()?)?;
        Some((self.files.get(*file as usize)?, *line as usize))
    }
}
