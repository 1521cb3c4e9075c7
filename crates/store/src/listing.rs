//! The objects that a place has.

use std::collections::BTreeMap;
use std::time::SystemTime;

use crate::manifest::StoredFile;

/// An object, as a list of objects shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedObject {
    /// Its name below the prefix, which may be any text.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// When it was written, by the clock of the place.
    pub modified: SystemTime,
}

/// The objects of a place, which listed all of them.
#[derive(Clone, Debug, Default)]
pub struct Listing(BTreeMap<String, (u64, SystemTime)>);

impl Listing {
    /// Whether the place has an object with the name and the length of a file.
    pub fn has(&self, file: &StoredFile) -> bool {
        self.length(&file.name) == Some(file.length)
    }

    /// The length of an object in bytes; `None` if there is none.
    pub fn length(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|(length, _)| *length)
    }

    /// The objects, by name: each with its length and the time when it was written.
    pub fn objects(&self) -> impl Iterator<Item = (&str, u64, SystemTime)> {
        let objects = self.0.iter();
        objects.map(|(name, (length, modified))| (name.as_str(), *length, *modified))
    }

    /// The names of the objects, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Notes that a file was written after the list was made.
    pub fn add(&mut self, file: &StoredFile, now: SystemTime) {
        self.0.insert(file.name.clone(), (file.length, now));
    }
}

impl FromIterator<ListedObject> for Listing {
    fn from_iter<T: IntoIterator<Item = ListedObject>>(objects: T) -> Self {
        let objects = objects.into_iter();
        Self(
            objects
                .map(|it| (it.name, (it.length, it.modified)))
                .collect(),
        )
    }
}
