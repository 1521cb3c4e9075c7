//! The manifest: which files the archive has.
//!
//! ```json
//! {
//!  "format": "urldb-archive-2",
//!  "serial": 412,
//!  "files": [
//!   {"name": "urldb-20261122060000-00000-host.warc.gz", "length": 825, "sha256": "9154…"}
//!  ],
//!  "removed": {
//!   "urldb-20251122060000-00000-host.warc.gz": "urldb-joined-20261122060000-00000-host.warc.gz"
//!  },
//!  "lost": []
//! }
//! ```
//!
//! Each change adds 1 to `serial`. `removed` has the names of all files that were ever removed: a machine
//! that still has a copy must not upload the copy again. Each leads to its successor, the file that has its
//! records, or to `null`. `lost` has the names of files that no place has any more. All are sorted.

mod restored;
mod text;

use std::collections::{BTreeMap, BTreeSet};

pub use text::InvalidManifest;

/// The name of the manifest.
pub const MANIFEST_NAME: &str = "manifest.json";

/// The folder of former manifests.
const FORMER_FOLDER: &str = "manifests";

/// Former manifests that stay.
const FORMER_KEPT: u64 = 8;

/// The largest serial: JSON readers of all kinds read it exactly.
const LARGEST_SERIAL: u64 = 1 << 53;

/// The largest manifest, in bytes: about 100,000 names.
pub(crate) const LARGEST_MANIFEST: u64 = 16 << 20;

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// The largest file: the largest object of S3, in bytes.
const LARGEST_FILE: u64 = 5 << 40;

/// A file in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its name, relative to the folder of the archive.
    pub name: String,
    /// Its length in bytes.
    pub length: u64,
    /// Its SHA-256.
    pub sha256: [u8; 32],
}

/// The files that the archive has, and the names of those that it had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    serial: u64,
    files: BTreeMap<String, (u64, [u8; 32])>,
    removed: BTreeMap<String, Option<String>>,
    lost: BTreeSet<String>,
}

/// A change of the manifest, which is made as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestChange {
    /// New files, whose objects are there.
    pub add: Vec<StoredFile>,
    /// The names of files that go, each with its successor.
    pub remove: BTreeMap<String, Option<String>>,
    /// The names of files that no place has any more.
    pub lose: BTreeSet<String>,
}

impl ManifestChange {
    /// Whether the change changes nothing.
    pub fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty() && self.lose.is_empty()
    }
}

/// Why a change cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeConflict {
    /// The store has another file of this name.
    Other(String),
    /// A file of this name was removed before.
    Removed(String),
    /// The file to remove is not there.
    Gone(String),
}

impl Manifest {
    /// The number of changes before this manifest.
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// The files, sorted by name.
    pub fn files(&self) -> impl Iterator<Item = StoredFile> + '_ {
        self.files
            .iter()
            .map(|(name, (length, sha256))| StoredFile {
                name: name.clone(),
                length: *length,
                sha256: *sha256,
            })
    }

    /// The names of the files, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The file of this name.
    pub fn get(&self, name: &str) -> Option<StoredFile> {
        let (length, sha256) = self.files.get(name)?;
        Some(StoredFile {
            name: name.to_owned(),
            length: *length,
            sha256: *sha256,
        })
    }

    /// Whether the store has a file of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Whether the archive had a file of this name, which was removed.
    pub fn was_removed(&self, name: &str) -> bool {
        self.removed.contains_key(name)
    }

    /// The names of the files that the archive had, and that were removed.
    pub fn removed_names(&self) -> impl Iterator<Item = &str> {
        self.removed.keys().map(String::as_str)
    }

    /// The names of the files that were removed, each with its successor.
    #[cfg(test)]
    pub(crate) fn removed(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.removed
            .iter()
            .map(|(name, successor)| (name.as_str(), successor.as_deref()))
    }

    /// Whether a place that has the objects of this list may lose the object of a removed file: it has the
    /// file with its records, if there is one.
    pub(crate) fn is_superseded(&self, name: &str, has: impl Fn(&StoredFile) -> bool) -> bool {
        let mut removed = self.removed.get(name);
        // A hostile manifest may have a circle.
        for _ in 0..=self.removed.len() {
            match removed {
                None => return false,
                Some(None) => return true,
                Some(Some(successor)) => match self.get(successor) {
                    Some(file) => return has(&file),
                    None => removed = self.removed.get(successor),
                },
            }
        }
        false
    }

    /// Whether an object is that of a former manifest which is too old to stay.
    pub(crate) fn is_forgotten(&self, name: &str) -> bool {
        let first_kept = self.serial.saturating_sub(FORMER_KEPT);
        serial_of_former(name).is_some_and(|serial| serial < first_kept)
    }

    /// Counts the change that was made.
    pub(crate) fn count_change(&mut self) {
        self.serial += 1;
    }

    /// Makes a change. True if the manifest differs from before: a change that was made already, by an
    /// earlier request whose answer was lost, makes no difference.
    pub(crate) fn apply(&mut self, change: &ManifestChange) -> Result<bool, ChangeConflict> {
        let is_there =
            |file: &StoredFile| self.files.get(&file.name) == Some(&(file.length, file.sha256));
        let is_made = change.add.iter().all(is_there)
            && change.remove.keys().all(|name| self.was_removed(name))
            && change.lose.iter().all(|name| self.lost.contains(name));
        if is_made {
            return Ok(false);
        }
        for name in change.remove.keys().chain(&change.lose) {
            if !self.files.contains_key(name) {
                return Err(ChangeConflict::Gone(name.clone()));
            }
        }
        for file in &change.add {
            let is_removed = self.was_removed(&file.name) && !self.is_recalled(&file.name, change);
            if is_removed || change.remove.contains_key(&file.name) {
                return Err(ChangeConflict::Removed(file.name.clone()));
            }
            if self.files.contains_key(&file.name) && !is_there(file) {
                return Err(ChangeConflict::Other(file.name.clone()));
            }
        }
        for (name, successor) in &change.remove {
            self.files.remove(name);
            self.removed.insert(name.clone(), successor.clone());
        }
        for name in &change.lose {
            self.files.remove(name);
            self.lost.insert(name.clone());
        }
        for file in &change.add {
            let StoredFile {
                name,
                length,
                sha256,
            } = file.clone();
            self.removed.remove(&name);
            self.lost.remove(&name);
            self.files.insert(name, (length, sha256));
        }
        Ok(true)
    }

    /// Whether a removed file may be added again: the file with its records is lost, or gets lost by this
    /// change.
    fn is_recalled(&self, name: &str, change: &ManifestChange) -> bool {
        self.end_of(name)
            .is_some_and(|end| self.lost.contains(end) || change.lose.contains(end))
    }

    /// The file that has the records of a removed file in the end, or that had them and is lost.
    pub fn end_of(&self, name: &str) -> Option<&str> {
        let mut removed = self.removed.get(name)?.as_deref()?;
        // A hostile manifest may have a circle.
        for _ in 0..=self.removed.len() {
            match self.removed.get(removed) {
                None => return Some(removed),
                Some(next) => removed = next.as_deref()?,
            }
        }
        None
    }

    /// The names of the files that no place has any more.
    pub fn lost_names(&self) -> impl Iterator<Item = &str> {
        self.lost.iter().map(String::as_str)
    }

    /// Whether the archive has lost a file of this name.
    pub fn has_lost(&self, name: &str) -> bool {
        self.lost.contains(name)
    }
}

/// The name of the former manifest with this serial.
pub(crate) fn former_name(serial: u64) -> String {
    format!("{FORMER_FOLDER}/{serial}.json")
}

/// The serial of a former manifest, if an object has the name of one.
pub(crate) fn serial_of_former(name: &str) -> Option<u64> {
    let (folder, rest) = name.split_once('/')?;
    let serial = rest.strip_suffix(".json")?.parse().ok()?;
    (folder == FORMER_FOLDER && former_name(serial) == name).then_some(serial)
}

/// Whether an object is a manifest, this or a former one.
pub(crate) fn is_manifest(name: &str) -> bool {
    name == MANIFEST_NAME || name.split('/').next() == Some(FORMER_FOLDER)
}

/// Whether a file of an archive may have this name in a store: a name, or a folder and a name, of
/// letters, digits and `.-_+=@,~`, neither of which begins with a dot.
///
/// # Errors
/// Says what is wrong, for people.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let is_plain = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b".-_+=@,~".contains(&byte))
    };
    let mut parts = name.split('/');
    if name.len() > LONGEST_NAME {
        Err("the name is too long")
    } else if !parts.clone().all(is_plain) {
        Err("the name has other characters than letters, digits and .-_+=@,~")
    } else if parts
        .clone()
        .any(|part| part.is_empty() || part.starts_with('.'))
    {
        Err("the name, or its folder, is empty or begins with a dot")
    } else if parts.by_ref().count() > 2 {
        Err("the name has more than one folder")
    } else if is_manifest(name) {
        Err("manifests have this name")
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::text::FORMAT;
    use super::*;

    fn file(name: &str, byte: u8) -> StoredFile {
        StoredFile {
            name: name.to_owned(),
            length: u64::from(byte),
            sha256: [byte; 32],
        }
    }

    fn change(add: &[StoredFile], remove: &[&str]) -> ManifestChange {
        ManifestChange {
            lose: BTreeSet::new(),
            add: add.to_vec(),
            remove: remove
                .iter()
                .map(|name| ((*name).to_owned(), Some("index/c".to_owned())))
                .collect(),
        }
    }

    #[test]
    fn files_are_replaced_as_a_whole_or_not_at_all() {
        let mut manifest = Manifest::default();
        let (a, b, c) = (file("a", 1), file("b", 2), file("index/c", 3));
        assert_eq!(
            manifest.apply(&change(&[a.clone(), b.clone()], &[])),
            Ok(true)
        );
        let joined = change(std::slice::from_ref(&c), &["a", "b"]);
        assert_eq!(manifest.apply(&joined), Ok(true));
        assert_eq!(manifest.names().collect::<Vec<_>>(), ["index/c"]);
        assert!(manifest.was_removed("a") && manifest.was_removed("b"));
        // The answer was lost: the same change again.
        assert_eq!(manifest.apply(&joined), Ok(false));
        // Somebody else joined the same files into another one.
        let before = manifest.clone();
        assert_eq!(
            manifest.apply(&change(&[file("d", 4)], &["b"])),
            Err(ChangeConflict::Gone("b".to_owned()))
        );
        assert_eq!(
            manifest.apply(&change(&[file("d", 4), a], &[])),
            Err(ChangeConflict::Removed("a".to_owned()))
        );
        assert_eq!(
            manifest.apply(&change(&[file("d", 4), file("index/c", 9)], &[])),
            Err(ChangeConflict::Other("index/c".to_owned()))
        );
        assert_eq!(manifest, before);
        assert_eq!(manifest.removed_names().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(Manifest::parse(manifest.render().as_bytes()), Ok(manifest));
    }

    /// An object goes only where the file with its records is, whatever became of that file.
    #[test]
    fn a_removed_file_is_superseded_where_its_records_are() {
        let text = format!(
            r#"{{"format": "{FORMAT}", "serial": 20, "files": [{{"name": "c", "length": 3, "sha256": "{}"}}],
                "removed": {{"a": "b", "b": "c", "gone": null, "x": "y", "y": "x", "z": "unknown"}}, "lost": ["l"]}}"#,
            "ab".repeat(32)
        );
        let manifest = Manifest::parse(text.as_bytes()).expect("good");
        assert_eq!(
            Manifest::parse(manifest.render().as_bytes()),
            Ok(manifest.clone())
        );
        for (has, expected) in [(true, &["a", "b", "gone"][..]), (false, &["gone"])] {
            let names = ["a", "b", "c", "gone", "l", "other", "x", "y", "z"];
            let superseded = names
                .into_iter()
                .filter(|name| manifest.is_superseded(name, |_| has));
            assert_eq!(superseded.collect::<Vec<_>>(), expected);
        }
        for (name, is_forgotten) in [
            ("manifests/0.json", true),
            ("manifests/11.json", true),
            ("manifests/12.json", false),
            ("manifests/19.json", false),
            ("manifests/011.json", false),
            ("manifests/x.json", false),
            ("manifests/18446744073709551615.json", false),
            ("index/1.json", false),
        ] {
            assert_eq!(manifest.is_forgotten(name), is_forgotten, "{name}");
        }
    }
}
