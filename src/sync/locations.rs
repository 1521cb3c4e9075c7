//! The places in lists that name the records of a database.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use urldb_interchange::Location;
use urldb_protocol::{self as protocol, UrlUses};

/// The places of each record in its lists: 16 bytes for each. A line that has a record twice is one place.
#[derive(Debug)]
pub struct ListLocations {
    /// After [`Self::finish`], in the order of their names.
    files: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// After [`Self::finish`], sorted.
    places: Vec<Place>,
    hasher: RandomState,
    /// Whether the records were made for the lists, in a folder that nobody knows.
    hides_records: bool,
}

/// The hash of a record, and its place: the index of the file, and the line.
type Place = (u64, u32, u32);

impl ListLocations {
    pub(crate) fn new() -> Self {
        Self {
            files: vec![],
            numbers: HashMap::new(),
            places: vec![],
            hasher: RandomState::new(),
            hides_records: false,
        }
    }

    fn hash(&self, domain: &str, path: &str, request: Option<&str>) -> u64 {
        self.hasher.hash_one((domain, path, request))
    }

    /// Adds the place of a record in the domain file of a host.
    pub(crate) fn add(&mut self, domain: &str, path: &str, request: Option<&str>, at: &Location) {
        let number = match self.numbers.get(&at.file) {
            Some(number) => *number,
            None => self.add_file(&at.file),
        };
        // A line that no number here holds is one that no editor finds.
        let line = u32::try_from(at.line_number()).unwrap_or(u32::MAX);
        let hash = self.hash(domain, path, request);
        self.places.push((hash, number, line));
    }

    fn add_file(&mut self, name: &Arc<str>) -> u32 {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.push(Arc::clone(name));
        self.numbers.insert(Arc::clone(name), number);
        number
    }

    /// To be called after the last [`Self::add`].
    pub(crate) fn finish(&mut self) {
        self.files.sort();
        let renumbered: HashMap<u32, u32> = (0..)
            .zip(&self.files)
            .filter_map(|(number, file)| Some((*self.numbers.get(file)?, number)))
            .collect();
        for (_, file, _) in &mut self.places {
            *file = renumbered.get(file).copied().unwrap_or(*file);
        }
        self.numbers.clear();
        self.places.sort_unstable();
        self.places.dedup();
    }

    /// The same places, of records that no user has.
    pub(crate) fn hiding_records(self) -> Self {
        Self {
            hides_records: true,
            ..self
        }
    }

    /// The places of a record, by file and line.
    fn places(&self, domain: &str, path: &str, request: Option<&str>) -> &[Place] {
        let hash = self.hash(domain, path, request);
        let start = self.places.partition_point(|place| place.0 < hash);
        let of_record = &self.places[start..];
        &of_record[..of_record.partition_point(|place| place.0 == hash)]
    }

    /// The first place of a record: a file and a line.
    pub(crate) fn of(
        &self,
        domain: &str,
        path: &str,
        request: Option<&str>,
    ) -> Option<(&Arc<str>, usize)> {
        let (_, file, line) = self.places(domain, path, request).first()?;
        Some((self.files.get(*file as usize)?, *line as usize))
    }

    /// The uses of a record, which is at `record` in its domain file; `None` if no list has it.
    pub(crate) fn uses(
        &self,
        domain: &str,
        path: &str,
        request: Option<&str>,
        record: (&str, usize),
    ) -> Option<UrlUses> {
        let places = self.places(domain, path, request);
        let location = |file: &str, line| protocol::Location {
            file: file.to_owned(),
            line,
        };
        let first = places.iter().take(UrlUses::MOST);
        let mut locations: Vec<protocol::Location> = first
            .filter_map(|(_, file, line)| {
                let file = self.files.get(*file as usize)?;
                Some(location(file, *line as usize))
            })
            .collect();
        if locations.is_empty() {
            return None;
        }
        if !self.hides_records {
            locations.push(location(record.0, record.1));
        }
        Some(UrlUses {
            used: places.len() as u64,
            used_files: places.chunk_by(|one, other| one.1 == other.1).count() as u64,
            locations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(locations: &ListLocations, path: &str) -> Option<UrlUses> {
        locations.uses("a.test", path, None, ("urldb/a.test.yaml", 7))
    }

    fn shown(uses: &UrlUses) -> Vec<String> {
        let locations = uses.locations.iter();
        locations
            .map(|at| format!("{}:{}", at.file, at.line))
            .collect()
    }

    #[test]
    fn places_are_sorted_by_the_names_of_files_and_a_line_counts_once() {
        let mut locations = ListLocations::new();
        for (path, file, line) in [
            ("/x", "guide/b.md", 3),
            ("/y", "guide/c.md", 1),
            ("/x", "guide/a.md", 20),
            ("/x", "guide/a.md", 3),
            ("/x", "guide/a.md", 20),
        ] {
            locations.add("a.test", path, None, &Location::line(&file.into(), line));
        }
        locations.finish();
        let x = uses(&locations, "/x").unwrap();
        assert_eq!((x.used, x.used_files), (3, 2));
        let all = [
            "guide/a.md:3",
            "guide/a.md:20",
            "guide/b.md:3",
            "urldb/a.test.yaml:7",
        ];
        assert_eq!(shown(&x), all);
        assert_eq!(x.split().0.len(), 3);
        let (file, line) = locations.of("a.test", "/x", None).unwrap();
        assert_eq!((&**file, line), ("guide/a.md", 3));
        assert_eq!(uses(&locations, "/z"), None);
        let hidden = locations.hiding_records();
        assert_eq!(shown(&uses(&hidden, "/y").unwrap()), ["guide/c.md:1"]);
    }

    #[test]
    fn of_many_places_the_first_ten_are_named_and_then_the_record() {
        let mut locations = ListLocations::new();
        for line in (1..=40).rev() {
            let file: Arc<str> = format!("{:02}.md", line % 12).into();
            locations.add("a.test", "/x", None, &Location::line(&file, line));
        }
        locations.finish();
        let x = uses(&locations, "/x").unwrap();
        assert_eq!((x.used, x.used_files), (40, 12));
        let shown = shown(&x);
        assert_eq!(shown[..2], ["00.md:12", "00.md:24"]);
        assert_eq!((shown.len(), x.split().0.len()), (11, 10));
        assert_eq!(shown[10], "urldb/a.test.yaml:7");
    }
}
