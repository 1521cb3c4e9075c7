//! The manifest: which files the store has.
//!
//! ```json
//! {
//!  "format": "urldb-archive-1",
//!  "files": [
//!   {"name": "urldb-20261122060000-00000-host.warc.gz", "length": 825, "sha256": "9154…"}
//!  ],
//!  "removing": [],
//!  "removed": []
//! }
//! ```
//!
//! Lists are sorted. `removed` has the names of all files that were ever removed: a machine that still has
//! a copy must not upload the copy again. `removing` has those whose objects may still be there.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use data_encoding::HEXLOWER;
use serde::Deserialize;

/// The name of the manifest below the prefix.
pub const MANIFEST_NAME: &str = "manifest.json";

/// The largest manifest, in bytes: about 100,000 names.
pub(crate) const LARGEST_MANIFEST: u64 = 16 << 20;

/// The longest name of a file, in bytes.
const LONGEST_NAME: usize = 255;

/// The largest file: the largest object of S3, in bytes.
const LARGEST_FILE: u64 = 5 << 40;

const FORMAT: &str = "urldb-archive-1";

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

/// The files that the store has, and the names of those that it had.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    files: BTreeMap<String, (u64, [u8; 32])>,
    removing: BTreeSet<String>,
    removed: BTreeSet<String>,
}

/// A manifest that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidManifest(String);

/// A change of the manifest, which is made as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ManifestChange {
    /// New files, whose objects are there.
    pub add: Vec<StoredFile>,
    /// The names of files that go.
    pub remove: Vec<String>,
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

    /// Whether the store had a file of this name, which was removed.
    pub fn was_removed(&self, name: &str) -> bool {
        self.removed.contains(name) || self.removing.contains(name)
    }

    /// The names of the files that the store had, and that were removed.
    pub fn removed_names(&self) -> impl Iterator<Item = &str> {
        let names = self.removed.iter().chain(&self.removing);
        names.map(String::as_str)
    }

    /// Whether objects of removed files may still be there; the next [`Store::publish`] deletes them.
    ///
    /// [`Store::publish`]: crate::Store::publish
    pub fn has_leftovers(&self) -> bool {
        !self.removing.is_empty()
    }

    /// The names of removed files whose objects may still be there.
    pub(crate) fn removing(&self) -> impl Iterator<Item = &str> {
        self.removing.iter().map(String::as_str)
    }

    /// Notes that the objects of these removed files are gone.
    pub(crate) fn forget_objects(&mut self, names: &BTreeSet<String>) {
        for name in names {
            if self.removing.remove(name) {
                self.removed.insert(name.clone());
            }
        }
    }

    /// Makes a change. True if the manifest differs from before: a change that was made already, by an
    /// earlier request whose answer was lost, makes no difference.
    pub(crate) fn apply(&mut self, change: &ManifestChange) -> Result<bool, ChangeConflict> {
        let is_there =
            |file: &StoredFile| self.files.get(&file.name) == Some(&(file.length, file.sha256));
        let is_made = change.add.iter().all(is_there)
            && change.remove.iter().all(|name| self.was_removed(name));
        if is_made {
            return Ok(false);
        }
        for name in &change.remove {
            if !self.files.contains_key(name) {
                return Err(ChangeConflict::Gone(name.clone()));
            }
        }
        for file in &change.add {
            if self.was_removed(&file.name) {
                return Err(ChangeConflict::Removed(file.name.clone()));
            }
            if self.files.contains_key(&file.name) && !is_there(file) {
                return Err(ChangeConflict::Other(file.name.clone()));
            }
        }
        for name in &change.remove {
            self.files.remove(name);
            self.removing.insert(name.clone());
        }
        for file in &change.add {
            let StoredFile {
                name,
                length,
                sha256,
            } = file.clone();
            self.files.insert(name, (length, sha256));
        }
        Ok(true)
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// When the text is no manifest, is one of a later format, or names a file that cannot be one of an
    /// archive.
    pub fn parse(text: &[u8]) -> Result<Self, InvalidManifest> {
        let invalid = |problem: String| InvalidManifest(problem);
        let ManifestText {
            format,
            files,
            removing,
            removed,
        } = serde_json::from_slice(text).map_err(|error| invalid(error.to_string()))?;
        if format != FORMAT {
            return Err(invalid(format!(
                "it has format {format:?}, and this urldb reads format {FORMAT:?}"
            )));
        }
        let mut manifest = Self::default();
        for FileText {
            name,
            length,
            sha256,
        } in files
        {
            check_name(&name).map_err(|problem| invalid(format!("{name:?}: {problem}")))?;
            let mut digest = [0; 32];
            let decoded = (sha256.len() == 64)
                .then(|| HEXLOWER.decode_mut(sha256.as_bytes(), &mut digest).ok())
                .flatten();
            if decoded.is_none() {
                return Err(invalid(format!("{name}: {sha256:?} is no SHA-256")));
            }
            if length > LARGEST_FILE {
                return Err(invalid(format!("{name}: no file has {length} bytes")));
            }
            if manifest
                .files
                .insert(name.clone(), (length, digest))
                .is_some()
            {
                return Err(invalid(format!("{name} is in it twice")));
            }
        }
        for (names, into) in [
            (removing, &mut manifest.removing),
            (removed, &mut manifest.removed),
        ] {
            for name in names {
                check_name(&name).map_err(|problem| invalid(format!("{name:?}: {problem}")))?;
                if manifest.files.contains_key(&name) {
                    return Err(invalid(format!("{name} is in it as a file and as removed")));
                }
                into.insert(name);
            }
        }
        Ok(manifest)
    }

    /// The text of the manifest; the same manifest always has the same text.
    pub fn render(&self) -> String {
        // Names of a manifest need no escapes.
        let files = self.files.iter().map(|(name, (length, sha256))| {
            let sha256 = HEXLOWER.encode(sha256);
            format!("{{\"name\": \"{name}\", \"length\": {length}, \"sha256\": \"{sha256}\"}}")
        });
        let quoted = |name: &String| format!("\"{name}\"");
        let mut text = format!("{{\n \"format\": \"{FORMAT}\",\n \"files\": ");
        add_list(&mut text, files);
        text.push_str(",\n \"removing\": ");
        add_list(&mut text, self.removing.iter().map(quoted));
        text.push_str(",\n \"removed\": ");
        add_list(&mut text, self.removed.iter().map(quoted));
        text.push_str("\n}\n");
        text
    }
}

fn add_list(text: &mut String, entries: impl Iterator<Item = String>) {
    let empty = text.len() + 1;
    text.push('[');
    for entry in entries {
        let separator = if text.len() == empty { "\n  " } else { ",\n  " };
        text.push_str(separator);
        text.push_str(&entry);
    }
    text.push_str(if text.len() == empty { "]" } else { "\n ]" });
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
    } else if name == MANIFEST_NAME {
        Err("the manifest has this name")
    } else {
        Ok(())
    }
}

#[derive(Deserialize)]
struct ManifestText<'a> {
    format: String,
    #[serde(default, borrow)]
    files: Vec<FileText<'a>>,
    #[serde(default)]
    removing: Vec<String>,
    #[serde(default)]
    removed: Vec<String>,
}

#[derive(Deserialize)]
struct FileText<'a> {
    name: String,
    length: u64,
    #[serde(borrow)]
    sha256: Cow<'a, str>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
            add: add.to_vec(),
            remove: remove.iter().map(|name| (*name).to_owned()).collect(),
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
        assert_eq!(manifest.removing().collect::<Vec<_>>(), ["a", "b"]);
        manifest.forget_objects(&["a".to_owned(), "x".to_owned()].into());
        assert_eq!(manifest.removing().collect::<Vec<_>>(), ["b"]);
        assert!(manifest.was_removed("a") && !manifest.was_removed("x"));
        assert_eq!(Manifest::parse(manifest.render().as_bytes()), Ok(manifest));
    }

    #[test]
    fn hostile_manifests_are_refused() {
        let digest = "ab".repeat(32);
        let with = |name: &str, length: &str, digest: &str| {
            format!(
                r#"{{"format": "{FORMAT}", "files": [{{"name": {name}, "length": {length}, "sha256": "{digest}"}}]}}"#
            )
        };
        assert!(Manifest::parse(with(r#""a.warc.gz""#, "1", &digest).as_bytes()).is_ok());
        for name in [
            "../x",
            "/etc/passwd",
            "a/../b",
            "a/b/c",
            "",
            "a/",
            ".hidden",
            "a/.b",
            "a\\\\b",
            "a\\nb",
            "a\\u0000",
            "é",
            "manifest.json",
            "..",
            "a b",
            "C:x",
            "a*",
        ] {
            let text = with(&format!("\"{name}\""), "1", &digest);
            assert!(Manifest::parse(text.as_bytes()).is_err(), "{name}");
        }
        let long = format!("\"{}\"", "x".repeat(256));
        for text in [
            with(&long, "1", &digest),
            with(r#""a""#, "-1", &digest),
            with(r#""a""#, "1.5", &digest),
            with(r#""a""#, "99999999999999999", &digest),
            with(r#""a""#, "1", "abcd"),
            with(r#""a""#, "1", &digest.to_uppercase()),
            with(r#""a""#, "1", &"zz".repeat(32)),
            r#"{"format": "urldb-archive-2", "files": []}"#.to_owned(),
            r#"{"files": []}"#.to_owned(),
            "[]".to_owned(),
            "<html>".to_owned(),
            format!(r#"{{"format": "{FORMAT}", "removed": ["../x"]}}"#),
            with(r#""a""#, "1", &digest).replace("]}", r#"], "removed": ["a"]}"#),
        ] {
            assert!(Manifest::parse(text.as_bytes()).is_err(), "{text}");
        }
        let entry = format!(r#"{{"name": "a", "length": 1, "sha256": "{digest}"}}"#);
        let twice = format!(r#"{{"format": "{FORMAT}", "files": [{entry}, {entry}]}}"#);
        assert!(Manifest::parse(twice.as_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in r#"(\PC|[{}\[\]":,]|"files"|"format"|"urldb-archive-1"){0,60}"#) {
            let _ = Manifest::parse(text.as_bytes());
        }

        #[test]
        fn a_manifest_is_read_as_it_was_written(
            files in prop::collection::btree_map("[a-z0-9_+~-]{1,9}(/[a-z]{1,3})?", (0..LARGEST_FILE, any::<[u8; 32]>()), 0..6),
            removed in prop::collection::btree_set("[A-Z]{1,9}", 0..4),
            removing in prop::collection::btree_set("[0-9]{10}", 0..4),
        ) {
            let manifest = Manifest { files, removing, removed };
            prop_assert_eq!(Manifest::parse(manifest.render().as_bytes()), Ok(manifest));
        }
    }
}
