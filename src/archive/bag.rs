//! A `BagIt` bag (RFC 8493) of files by host and path, each with its SHA-256.
//!
//! The bag is made in a temporary folder beside its target and renamed when complete.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::Path;

use anyhow::Context;
use data_encoding::{HEXLOWER, HEXUPPER};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use urldb_files::{Root, RootFile};

use super::hashing::HashingWriter;

/// Longest path component, in bytes; file systems allow more, for a suffix.
const LONGEST_PART: usize = 200;

/// Longest path, in bytes.
const LONGEST_PATH: usize = 1000;

/// Writes one file of a bag.
pub type BagFileWriter = HashingWriter<BufWriter<File>>;

/// A bag that is being filled.
#[derive(Debug)]
pub struct Bag {
    target: Root,
    draft: TempDir,
    files: Vec<BagFile>,
}

#[derive(Debug)]
struct BagFile {
    name: String,
    length: u64,
    sha256: [u8; 32],
}

impl Bag {
    /// Begins a bag that will be moved to `target`.
    ///
    /// # Errors
    /// When `target` exists and is not an empty folder, or its parent cannot hold it.
    pub fn begin(target: &Path) -> anyhow::Result<Self> {
        let target = Root::new(target, "the bag");
        anyhow::ensure!(
            target.files().is_ok_and(|files| files.is_empty()),
            "{} is there already, and not an empty folder: name a new one",
            target.path().display()
        );
        let parent = target.path().parent();
        let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
        let draft = urldb_files::temporary_folder_in(parent.unwrap_or(Path::new(".")))?;
        Ok(Self {
            target,
            draft,
            files: vec![],
        })
    }

    /// Adds a file that `fill` writes, under a name of [`names`]. If `fill` fails, the file is removed
    /// and the inner result is its error.
    ///
    /// # Errors
    /// When the bag cannot be written.
    pub fn add(
        &mut self,
        name: &str,
        fill: impl FnOnce(&mut BagFileWriter) -> anyhow::Result<()>,
    ) -> anyhow::Result<anyhow::Result<()>> {
        let name = format!("data/{name}");
        let place = self.file(&name);
        let at = || format!("cannot write {name} of the bag");
        let created = place.create_new().with_context(at)?;
        let mut output = HashingWriter::new(BufWriter::new(created));
        let filled = fill(&mut output);
        if output.has_failed()
            && let Err(error) = filled
        {
            return Err(error).with_context(at);
        }
        if filled.is_err() {
            place.remove().with_context(at)?;
            return Ok(filled);
        }
        output.flush().with_context(at)?;
        let (length, sha256) = (output.length(), output.sha256());
        self.files.push(BagFile {
            name,
            length,
            sha256,
        });
        Ok(Ok(()))
    }

    /// Writes the manifests and the tag files, `tags` (names and contents) among them, and moves the
    /// bag to its target. Returns the bytes of its payload.
    pub fn finish(mut self, date: &str, tags: &[(&str, String)]) -> anyhow::Result<u64> {
        let total = self.files.iter().map(|file| file.length).sum();
        self.files.sort_by(|a, b| a.name.cmp(&b.name));
        let manifest = self.files.iter().map(|file| line(&file.sha256, &file.name));
        let information = format!(
            "Bag-Software-Agent: urldb/{}\nBagging-Date: {date}\nPayload-Oxum: {total}.{}\n",
            env!("CARGO_PKG_VERSION"),
            self.files.len()
        );
        let declaration = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n";
        let mut tags: Vec<(&str, String)> = tags.to_vec();
        tags.extend([
            ("bagit.txt", declaration.to_owned()),
            ("bag-info.txt", information),
            ("manifest-sha256.txt", manifest.collect()),
        ]);
        let manifest = tags
            .iter()
            .map(|(name, text)| line(&Sha256::digest(text).into(), name));
        tags.push(("tagmanifest-sha256.txt", manifest.collect()));
        // RFC 8493 wants this folder, even if it is empty.
        self.folder()
            .folder("data")
            .make()
            .context("cannot write the bag")?;
        for (name, text) in &tags {
            self.file(name)
                .replace_unsynced(text.as_bytes())
                .with_context(|| format!("cannot write {name} of the bag"))?;
        }
        let target = &self.target;
        self.folder()
            .rename(target)
            .with_context(|| format!("cannot move the bag to {}", target.path().display()))?;
        // The bag was renamed: the temporary folder no longer exists.
        let _ = self.draft.keep();
        Ok(total)
    }

    fn folder(&self) -> Root {
        Root::new(self.draft.path(), "the bag")
    }

    fn file(&self, name: &str) -> RootFile {
        self.folder().file(name)
    }
}

/// A line of a manifest. Names from [`names`] need no escapes.
fn line(sha256: &[u8; 32], name: &str) -> String {
    format!("{}  {name}\n", HEXLOWER.encode(sha256))
}

/// Relative file names for these hosts and paths, distinct on any file system. A file whose name
/// equals that of a folder, or that of another file in other case, gets a number.
pub fn names<'a>(places: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let names: Vec<String> = places.map(|(host, path)| name(host, path)).collect();
    let mut taken: BTreeSet<String> = names
        .iter()
        .flat_map(|name| {
            name.match_indices('/')
                .map(|(at, _)| name[..at].to_lowercase())
        })
        .collect();
    let unused = |name: String| {
        let numbered = (2..).map(|number| format!("{name}={number}"));
        std::iter::once(name.clone())
            .chain(numbered)
            .find(|name| taken.insert(name.to_lowercase()))
            .unwrap_or(name)
    };
    names.into_iter().map(unused).collect()
}

/// `HOST/PATH`, with special characters as `=XX`; the query belongs to the last component. `%XX` is
/// not used, since programs disagree on how a manifest writes it.
fn name(host: &str, path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let (folders, file) = path.rsplit_once('/').unwrap_or(("", path));
    let folders = folders.split('/').skip(1).map(part);
    let mut parts: Vec<String> = std::iter::once(part(host)).chain(folders).collect();
    parts.push(part(&format!("{file}{query}")));
    let name = parts.join("/");
    if name.len() > LONGEST_PATH {
        return format!("{}/={}", part(host), HEXLOWER.encode(&Sha256::digest(name)));
    }
    name
}

fn part(text: &str) -> String {
    let is_plain = |at: usize, byte: u8| {
        let is_last = at + 1 == text.len();
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~')
            || byte == b'.' && !is_last
    };
    let mut part = String::new();
    for (at, byte) in text.bytes().enumerate() {
        if is_plain(at, byte) {
            part.push(char::from(byte));
        } else {
            part.push('=');
            part.push_str(&HEXUPPER.encode(&[byte]));
        }
    }
    match part.len() {
        0 => "=".to_owned(),
        1..=LONGEST_PART => part,
        _ => {
            let digest = HEXLOWER.encode(&Sha256::digest(text));
            format!("{}={}", &part[..LONGEST_PART / 2], &digest[..32])
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_look_like_their_urls() {
        let places = [
            ("example.org", "/data/m51.csv"),
            ("example.org", "/"),
            ("example.org", "/data"),
            ("example.org", "/data/"),
            ("example.org", "/Data/M51.csv"),
            ("example.org", "/a/../b%20c/.?x=/y"),
        ];
        assert_eq!(
            names(places.into_iter()),
            [
                "example.org/data/m51.csv",
                "example.org/=",
                "example.org/data=2",
                "example.org/data/=",
                "example.org/Data/M51.csv=2",
                "example.org/a/.=2E/b=2520c/.=3Fx=3D=2Fy",
            ]
        );
    }

    proptest! {
        #[test]
        fn names_are_safe_and_different(paths in prop::collection::btree_set(r"/(\PC|[/.=a-cA-C]){0,20}|/(a|x{250}|/){1,20}", 1..8)) {
            let names = names(paths.iter().map(|path| ("h.org", path.as_str())));
            let folded: BTreeSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
            prop_assert_eq!(folded.len(), names.len());
            for name in &names {
                prop_assert!(name.is_ascii() && !name.contains('%') && name.len() < 1200, "{}", name);
                for part in name.split('/') {
                    prop_assert!(!part.is_empty() && part != "." && part != ".." && part.len() < 255);
                }
                let folder = format!("{}/", name.to_lowercase());
                let is_folder = folded.iter().any(|other| other.starts_with(&folder));
                prop_assert!(!is_folder, "{} is a file and a folder", name);
            }
        }
    }
}
