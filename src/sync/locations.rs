//! The places in lists that name the records of a database.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;

use urldb_format::RecordIdentity;
use urldb_interchange::Location;
use urldb_protocol::{self as protocol, UrlUses};
use urldb_verdict::{BodyUse, Job, Keep};

/// The file of a URL that the command line names. Its line is the number of the argument.
pub const COMMAND_LINE: &str = "command line";

/// The places of each record in its lists: 16 bytes for each. A line that has a record twice is one place.
#[derive(Debug, Default)]
pub struct ListLocations {
    files: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    /// After [`Self::finish`], sorted by record, name of the file, and line.
    places: Vec<Place>,
    /// Those among them that are new.
    new: HashSet<Place>,
    /// The files that `accept` cannot edit.
    by_hand: HashSet<Arc<str>>,
    /// The URLs of places that the site rules take to another page.
    written: HashMap<Place, Box<str>>,
    hasher: RandomState,
    /// The places of the records in domain files, by the hash of the record, if copies of the files are read. A record
    /// that only the copy has, has no place.
    records: Option<HashMap<u64, (Arc<str>, usize)>>,
}

/// The hash of a record, and its place: the index of the file, and the line.
type Place = (u64, u32, u32);

impl ListLocations {
    fn hash(&self, domain: &str, identity: &RecordIdentity) -> u64 {
        self.hasher.hash_one((domain, identity))
    }

    /// Notes that `accept` cannot edit this file.
    pub(crate) fn edited_by_hand(&mut self, file: &Arc<str>) {
        self.by_hand.insert(Arc::clone(file));
    }

    /// Adds the place of a record in the domain file of a host. `written` is the URL of the place, if the site rules took
    /// it to another page.
    pub(crate) fn add(
        &mut self,
        domain: &str,
        identity: &RecordIdentity,
        at: &Location,
        written: Option<Box<str>>,
        is_new: bool,
    ) {
        let number = match self.numbers.get(&at.file) {
            Some(number) => *number,
            None => self.add_file(&at.file),
        };
        // A line that no number here holds is one that no editor finds.
        let line = u32::try_from(at.line_number()).unwrap_or(u32::MAX);
        let place = (self.hash(domain, identity), number, line);
        self.places.push(place);
        self.written.extend(written.map(|url| (place, url)));
        self.new.extend(is_new.then_some(place));
    }

    fn add_file(&mut self, name: &Arc<str>) -> u32 {
        let number = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
        self.files.push(Arc::clone(name));
        self.numbers.insert(Arc::clone(name), number);
        number
    }

    /// Whether the command line names URLs that no database has.
    pub(crate) fn has_named_urls(&self) -> bool {
        self.files.iter().any(|file| **file == *COMMAND_LINE)
    }

    /// To be called after the last [`Self::add`].
    pub(crate) fn finish(&mut self) {
        let files = &self.files;
        let key = |place: &Place| (place.0, files.get(place.1 as usize), place.2);
        self.places
            .sort_unstable_by(|one, other| key(one).cmp(&key(other)));
        self.places.dedup();
    }

    /// The same places, of records that are read from copies of domain files. The records are at these places: a host,
    /// a record, and the file and the line.
    pub(crate) fn of_copies(
        mut self,
        records: impl IntoIterator<Item = (Arc<str>, RecordIdentity, (Arc<str>, usize))>,
    ) -> Self {
        let records = records.into_iter().map(|(host, identity, place)| {
            let hash = self.hash(&host, &identity);
            (hash, place)
        });
        self.records = Some(records.collect());
        self
    }

    /// Names a job by the places of its record. The body of a URL that the command line names is read, at most so many
    /// bytes of it: people want its length and digest.
    pub(crate) fn locate(&self, job: &mut Job, max_body: u64) {
        let (domain, identity) = (&job.key.domain, job.key.record());
        let record = self.record(domain, &identity, (&job.file, job.line));
        let uses = self.uses(domain, &identity, record);
        let first = uses.as_ref().and_then(|uses| uses.locations.first());
        let place = match (record, first) {
            (Some((file, line)), _) => (Arc::clone(file), line),
            (None, Some(first)) => (first.file.as_str().into(), first.line),
            (None, None) => return,
        };
        let mut places = uses.iter().flat_map(|uses| &uses.locations);
        if places.any(|place| place.file == COMMAND_LINE) && job.body == BodyUse::Skip {
            job.body = BodyUse::Hash {
                at_most: max_body,
                keep: Keep::Nothing,
                beyond: 0,
            };
        }
        (job.file, job.line) = place;
        job.uses = uses.map(Box::new);
    }

    /// The place of a record in its domain file, which is read at `read`; `None` if no user has the record.
    pub(crate) fn record<'a>(
        &'a self,
        domain: &str,
        identity: &RecordIdentity,
        read: (&'a Arc<str>, usize),
    ) -> Option<(&'a Arc<str>, usize)> {
        let Some(places) = &self.records else {
            return Some(read);
        };
        let (file, line) = places.get(&self.hash(domain, identity))?;
        Some((file, *line))
    }

    /// The places of a record, by file and line.
    fn places(&self, domain: &str, identity: &RecordIdentity) -> &[Place] {
        let hash = self.hash(domain, identity);
        let start = self.places.partition_point(|place| place.0 < hash);
        let of_record = &self.places[start..];
        &of_record[..of_record.partition_point(|place| place.0 == hash)]
    }

    /// The first place of a record: a file and a line.
    pub(crate) fn of(&self, domain: &str, identity: &RecordIdentity) -> Option<(&Arc<str>, usize)> {
        let (_, file, line) = self.places(domain, identity).first()?;
        Some((self.files.get(*file as usize)?, *line as usize))
    }

    /// The uses of a record, which is at `record` in its domain file if there is one; `None` if no list has it. New
    /// places come first.
    pub(crate) fn uses(
        &self,
        domain: &str,
        identity: &RecordIdentity,
        record: Option<(&Arc<str>, usize)>,
    ) -> Option<UrlUses> {
        let places = self.places(domain, identity);
        let location = |file: &Arc<str>, line, written: Option<&Box<str>>| protocol::Location {
            file: file.to_string(),
            line,
            written_as: written.map(ToString::to_string),
        };
        let is_new = |place: &&Place| self.new.contains(place);
        let known = places.iter().filter(|place| !is_new(place));
        let mut locations: Vec<protocol::Location> = places
            .iter()
            .filter(is_new)
            .chain(known)
            .take(UrlUses::MOST)
            .filter_map(|place| {
                let (_, file, line) = *place;
                let file = self.files.get(file as usize)?;
                Some(location(file, line as usize, self.written.get(place)))
            })
            .collect();
        if locations.is_empty() {
            return None;
        }
        locations.extend(record.map(|(file, line)| location(file, line, None)));
        Some(UrlUses {
            used: places.len() as u64,
            used_files: places.chunk_by(|one, other| one.1 == other.1).count() as u64,
            by_hand: places.iter().any(|(_, file, _)| {
                self.files
                    .get(*file as usize)
                    .is_some_and(|file| self.by_hand.contains(file))
            }),
            locations,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(locations: &ListLocations, path: &str) -> Option<UrlUses> {
        let file = "urldb/a.test.yaml".into();
        let identity = RecordIdentity::get(path);
        let record = locations.record("a.test", &identity, (&file, 7));
        locations.uses("a.test", &identity, record)
    }

    fn shown(uses: &UrlUses) -> Vec<String> {
        let locations = uses.locations.iter();
        locations
            .map(|at| format!("{}:{}", at.file, at.line))
            .collect()
    }

    #[test]
    fn new_places_come_first_and_a_line_counts_once() {
        let mut locations = ListLocations::default();
        for (path, file, line) in [
            ("/x", "guide/b.md", 3),
            ("/y", "guide/c.md", 1),
            ("/x", "guide/a.md", 20),
            ("/x", "guide/a.md", 3),
            ("/x", "guide/a.md", 20),
        ] {
            let at = Location::line(&file.into(), line);
            locations.add(
                "a.test",
                &RecordIdentity::get(path),
                &at,
                None,
                file == "guide/b.md",
            );
        }
        locations.finish();
        let x = uses(&locations, "/x").unwrap();
        assert_eq!((x.used, x.used_files), (3, 2));
        let all = [
            "guide/b.md:3",
            "guide/a.md:3",
            "guide/a.md:20",
            "urldb/a.test.yaml:7",
        ];
        assert_eq!(shown(&x), all);
        assert_eq!(x.split().0.len(), 3);
        let (file, line) = locations.of("a.test", &RecordIdentity::get("/x")).unwrap();
        assert_eq!((&**file, line), ("guide/a.md", 3));
        assert_eq!(uses(&locations, "/z"), None);
        let identity = RecordIdentity::get("/x");
        let copied = locations.of_copies([("a.test".into(), identity, ("a.yaml".into(), 9))]);
        assert_eq!(shown(&uses(&copied, "/y").unwrap()), ["guide/c.md:1"]);
        assert_eq!(shown(&uses(&copied, "/x").unwrap())[3], "a.yaml:9");
    }

    #[test]
    fn of_many_places_the_first_ten_are_named_and_then_the_record() {
        let mut locations = ListLocations::default();
        let identity = RecordIdentity::get("/x");
        for line in (1..=40).rev() {
            let file: Arc<str> = format!("{:02}.md", line % 12).into();
            let at = Location::line(&file, line);
            locations.add("a.test", &identity, &at, None, false);
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
