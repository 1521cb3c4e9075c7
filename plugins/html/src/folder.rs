//! The folder of the site: only files whose content changes are written, each in one step.
//!
//! `manifest.json` names every file that urldb wrote, with the digest of its content. A file that an
//! earlier build wrote and this one does not is removed, and so are the temporary files of killed builds.
//! No other file is ever removed.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use urldb_files::{Limit, Root};

const MANIFEST: &str = "manifest.json";

/// Most bytes of a manifest that are read.
const LARGEST_MANIFEST: Limit = Limit::mib(64);

/// Numbers of files that a build wrote, left and removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SiteChanges {
    /// Number of files that were written.
    pub written: u64,
    /// Number of files that were as they should be.
    pub unchanged: u64,
    /// Number of files that were removed.
    pub removed: u64,
}

/// The files that urldb wrote, by their paths with `/`.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Manifest {
    /// Lower-case hex of the SHA-256 of each file.
    files: BTreeMap<String, String>,
}

/// The folder while a site is built. A link out of it is an error.
#[derive(Debug)]
pub(crate) struct SiteFolder {
    folder: Root,
    before: Manifest,
    now: Manifest,
    changes: SiteChanges,
}

impl SiteFolder {
    pub(crate) fn open(folder: &Root) -> io::Result<Self> {
        folder.make()?;
        Ok(Self {
            before: read_manifest(folder)?,
            folder: folder.clone(),
            now: Manifest::default(),
            changes: SiteChanges::default(),
        })
    }

    /// Writes a file, unless it is there with this content. `path` is relative, with `/`.
    pub(crate) fn write(&mut self, path: &str, content: &[u8]) -> io::Result<()> {
        let digest = HEXLOWER.encode(&Sha256::digest(content));
        let is_known = self.before.files.get(path) == Some(&digest);
        // People may remove or edit files; reading is much faster than writing.
        if is_known && self.has(path, content) {
            self.changes.unchanged += 1;
        } else {
            // A file that a power failure damages is found and written again by the next build.
            self.folder.file(path).replace_unsynced(content)?;
            self.changes.written += 1;
        }
        self.now.files.insert(path.to_owned(), digest);
        Ok(())
    }

    /// Removes the files that earlier builds wrote and this one did not, and writes the manifest.
    pub(crate) fn finish(mut self) -> io::Result<SiteChanges> {
        self.remove_strays()?;
        for path in self.before.files.keys() {
            if self.now.files.contains_key(path) || !is_inside(path) {
                continue;
            }
            let was_there = self.folder.file(path).remove()?;
            self.changes.removed += u64::from(was_there);
        }
        let mut text = serde_json::to_string_pretty(&self.now)?;
        text.push('\n');
        if !self.has(MANIFEST, text.as_bytes()) {
            self.folder.file(MANIFEST).replace(text.as_bytes())?;
        }
        Ok(self.changes)
    }

    /// Whether the file has this content.
    fn has(&self, path: &str, content: &[u8]) -> bool {
        let limit = Limit::bytes(content.len() as u64);
        self.folder
            .file(path)
            .read(limit)
            .is_ok_and(|found| found == content)
    }

    /// Removes the temporary files of killed builds from all folders of the site.
    fn remove_strays(&self) -> io::Result<()> {
        let folders: BTreeSet<&Path> = self
            .before
            .files
            .keys()
            .chain(self.now.files.keys())
            .filter(|path| is_inside(path))
            .filter_map(|path| Path::new(path).parent())
            .collect();
        for folder in folders {
            let folder = self.folder.folder(folder);
            if folder.is_folder() {
                folder.remove_stray_files()?;
            }
        }
        Ok(())
    }
}

/// A manifest that cannot be read names no file: nothing is removed, and everything is written again.
fn read_manifest(folder: &Root) -> io::Result<Manifest> {
    match folder.file(MANIFEST).read(LARGEST_MANIFEST) {
        Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::FileTooLarge => Ok(Manifest::default()),
            _ => Err(error),
        },
    }
}

/// Whether a path of a manifest, which anybody may have edited, stays in the folder.
fn is_inside(path: &str) -> bool {
    let path = Path::new(path);
    path.components()
        .all(|part| matches!(part, Component::Normal(_)))
        && path != Path::new("")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn build(folder: &Path, files: &[(&str, &str)]) -> SiteChanges {
        let mut site = SiteFolder::open(&Root::new(folder, "the site")).unwrap();
        for (path, content) in files {
            site.write(path, content.as_bytes()).unwrap();
        }
        site.finish().unwrap()
    }

    #[test]
    fn only_files_of_the_manifest_are_removed_and_only_changes_are_written() {
        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("site");
        let first = build(
            &folder,
            &[
                ("index.html", "1"),
                ("hosts/a.html", "a"),
                ("hosts/b.html", "b"),
            ],
        );
        assert_eq!((first.written, first.unchanged, first.removed), (3, 0, 0));
        fs::write(folder.join("CNAME"), "sky.example.org").unwrap();
        fs::write(top.path().join("secret"), "x").unwrap();
        let stray = folder.join("hosts/.urldb-tmp-abc");
        fs::write(&stray, "half a page").unwrap();
        let second = build(&folder, &[("index.html", "2"), ("hosts/a.html", "a")]);
        assert_eq!(
            (second.written, second.unchanged, second.removed),
            (1, 1, 1)
        );
        assert!(folder.join("CNAME").exists());
        assert!(!stray.exists());
        assert!(!folder.join("hosts/b.html").exists());

        // A file that somebody has edited or removed comes back.
        fs::write(folder.join("index.html"), "edited").unwrap();
        fs::remove_file(folder.join("hosts/a.html")).unwrap();
        let third = build(&folder, &[("index.html", "2"), ("hosts/a.html", "a")]);
        assert_eq!((third.written, third.unchanged, third.removed), (2, 0, 0));

        // A hostile or damaged manifest removes nothing outside.
        let hostile = r#"{"files": {"../secret": "", "/etc/passwd": "", "CNAME/..": "", "": ""}}"#;
        fs::write(folder.join(MANIFEST), hostile).unwrap();
        let fourth = build(&folder, &[("index.html", "2")]);
        assert_eq!(fourth.removed, 0);
        assert!(top.path().join("secret").exists());
        fs::write(folder.join(MANIFEST), "{").unwrap();
        assert_eq!(build(&folder, &[]).removed, 0);
    }
}
