//! Reads git's index (gitformat-index(5), versions 2 to 4, SHA-1) as far as the hook needs it.
//!
//! git and libgit2 compute the checksum of the whole file and decode every entry. With 100,000 files that
//! takes longer than all else, although git has just done so before it started the hook. This reader
//! looks at the entries of a few folders, and at the trees that git has cached. A file with an
//! extension that changes the meaning of the entries (split and sparse indexes), or with anything
//! unexpected, is not read at all; git answers then.

use std::io::ErrorKind;
use std::path::Path;

use git2::Oid;

use crate::limits;

/// The length of an object id, and of the checksum at the end of the file.
const ID: usize = 20;

/// The length of an entry before its path, without extended flags.
const FIXED: usize = 40 + ID + 2;

/// The bit of an entry's flags that announces extended flags.
const EXTENDED: u16 = 0x4000;

/// The bits of an entry's flags that hold the length of its path.
const PATH_LENGTH: u16 = 0x0fff;

/// The bits of an entry's flags that hold git's stage number: 0 without a conflict.
const STAGE: u16 = 0x3000;

/// The bit that `git update-index --assume-unchanged` sets.
const ASSUME_UNCHANGED: u16 = 0x8000;

/// The extended flags of `git add -N`, and of `git update-index --skip-worktree`.
const INTENT_TO_ADD: u16 = 0x2000;
const SKIP_WORKTREE: u16 = 0x4000;

#[derive(Debug)]
pub(super) struct IndexFile {
    bytes: Vec<u8>,
    version: u32,
    count: u32,
    /// The content of the extension `TREE`, as a part of `bytes`.
    cached: std::ops::Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry<'a> {
    pub(super) path: &'a [u8],
    pub(super) mode: u32,
    pub(super) id: Oid,
    flags: u16,
    extended: u16,
}

impl Entry<'_> {
    /// Whether it is one of the versions of a file with a conflict.
    pub(super) fn is_unmerged(&self) -> bool {
        self.flags & STAGE != 0
    }

    /// Whether `git add -N` made it: its bytes are not staged.
    pub(super) fn is_intended(&self) -> bool {
        self.extended & INTENT_TO_ADD != 0
    }

    pub(super) fn skips_work_tree(&self) -> bool {
        self.extended & SKIP_WORKTREE != 0
    }

    pub(super) fn is_assumed_unchanged(&self) -> bool {
        self.flags & ASSUME_UNCHANGED != 0
    }
}

/// The tree that the entries of a folder would be written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CachedTree {
    /// The tree with this id; `None` if the index has no entry in the folder.
    Known(Option<Oid>),
    /// The entries have changed since git computed it.
    Outdated,
}

impl IndexFile {
    /// Reads the index at `path`; a missing one is empty. `None` if this reader does not understand it.
    pub(super) fn read(path: &Path) -> Option<Self> {
        match urldb_files::read(path, limits::GIT_INDEX) {
            Ok(bytes) => Self::parse(bytes),
            Err(error) if error.kind() == ErrorKind::NotFound => Some(Self {
                bytes: vec![],
                version: 2,
                count: 0,
                cached: 0..0,
            }),
            Err(_) => None,
        }
    }

    fn parse(bytes: Vec<u8>) -> Option<Self> {
        let end = bytes.len().checked_sub(ID)?;
        if bytes.get(..4)? != b"DIRC" {
            return None;
        }
        let (version, count) = (number(&bytes, 4)?, number(&bytes, 8)?);
        if !(2..=4).contains(&version) {
            return None;
        }
        let mut index = Self {
            bytes,
            version,
            count,
            cached: 0..0,
        };
        let mut at = index.skip_entries()?;
        while at < end {
            let name = index.bytes.get(at..at + 4)?;
            let length = usize::try_from(number(&index.bytes, at + 4)?).ok()?;
            let content = at + 8..(at + 8).checked_add(length)?;
            if content.end > end {
                return None;
            }
            // The name of an extension that may be passed over begins with a capital letter.
            if !name.first()?.is_ascii_uppercase() {
                return None;
            }
            at = content.end;
            if name == b"TREE" {
                index.cached = content;
            }
        }
        (at == end).then_some(index)
    }

    /// The offset at which the entries end.
    fn skip_entries(&self) -> Option<usize> {
        let mut at = 12;
        for _ in 0..self.count {
            at = self.raw_entry(at)?.end;
        }
        Some(at)
    }

    /// Visits the entries whose paths begin with `prefix`, in the order of their paths; `None` if one cannot
    /// be read.
    pub(super) fn each_below(&self, prefix: &[u8], mut visit: impl FnMut(Entry<'_>)) -> Option<()> {
        let (mut at, mut path) = (12, vec![]);
        for _ in 0..self.count {
            let raw = self.raw_entry(at)?;
            at = raw.end;
            if self.version == 4 {
                path.truncate(path.len().checked_sub(raw.kept)?);
                path.extend_from_slice(raw.path);
            }
            let path = if self.version == 4 { &path } else { raw.path };
            if path.starts_with(prefix) {
                visit(Entry {
                    path,
                    mode: raw.mode,
                    id: raw.id()?,
                    flags: raw.flags,
                    extended: raw.extended,
                });
            }
        }
        Some(())
    }

    /// The entry that begins at `at`.
    fn raw_entry(&self, at: usize) -> Option<RawEntry<'_>> {
        let bytes = &self.bytes;
        let flags = short(bytes, at + FIXED - 2)?;
        let mut begin = at + FIXED;
        let mut extended = 0;
        if flags & EXTENDED != 0 {
            extended = short(bytes, begin)?;
            begin += 2;
        }
        let mut kept = 0;
        if self.version == 4 {
            (kept, begin) = variable_number(bytes, begin)?;
        }
        let rest = bytes.get(begin..)?;
        let length = usize::from(flags & PATH_LENGTH);
        // In version 4, the length is that of the whole path, of which only the end is written.
        let length = if self.version < 4 && flags & PATH_LENGTH < PATH_LENGTH {
            length
        } else {
            rest.iter().position(|byte| *byte == 0)?
        };
        let path = rest.get(..length)?;
        let after = begin + length;
        // One to eight zeros make the length of an entry a multiple of eight, but not in version 4.
        let end = if self.version == 4 {
            after + 1
        } else {
            at + ((after - at) / 8 + 1) * 8
        };
        (rest.get(length) == Some(&0) && end <= bytes.len()).then_some(RawEntry {
            mode: number(bytes, at + 24)?,
            id: bytes.get(at + 40..at + 40 + ID)?,
            flags,
            extended,
            kept,
            path,
            end,
        })
    }

    /// The tree of the folder `dir`, that of the whole index without a name, if git has cached it.
    pub(super) fn cached_tree(&self, dir: &[u8]) -> CachedTree {
        let cached = self.bytes.get(self.cached.clone()).unwrap_or_default();
        let parts = dir.split(|byte| *byte == b'/');
        let parts: Vec<&[u8]> = parts.filter(|part| !part.is_empty()).collect();
        find_tree(cached, &parts).unwrap_or(CachedTree::Outdated)
    }
}

/// An entry as it is written.
struct RawEntry<'a> {
    mode: u32,
    id: &'a [u8],
    flags: u16,
    extended: u16,
    /// In version 4: how many bytes at the end of the path before are not in this one.
    kept: usize,
    /// The path; in version 4, its end.
    path: &'a [u8],
    end: usize,
}

impl RawEntry<'_> {
    fn id(&self) -> Option<Oid> {
        Oid::from_bytes(self.id).ok()
    }
}

/// Looks up a folder among the cached trees: each with its name, whether it is up to date, the number of
/// its folders, its id, and then its folders.
fn find_tree(mut rest: &[u8], parts: &[&[u8]]) -> Option<CachedTree> {
    // The trees that are passed over until the next one at the level of the folder, which has found so
    // many of its parts.
    let mut others = 0_u64;
    let mut found = 0;
    let mut siblings = 1_u64;
    let mut is_known = true;
    loop {
        if others == 0 && siblings == 0 {
            // The parent has no such folder. Only an outdated one may lack a tree that is there.
            return Some(if is_known {
                CachedTree::Known(None)
            } else {
                CachedTree::Outdated
            });
        }
        let tree;
        (tree, rest) = read_tree(rest)?;
        if others > 0 {
            others = others - 1 + tree.folders;
            continue;
        }
        siblings -= 1;
        let is_wanted = found == 0 || parts.get(found - 1) == Some(&tree.name);
        if !is_wanted {
            others = tree.folders;
        } else if found == parts.len() {
            return Some(match tree.id {
                Some(id) => CachedTree::Known(Some(id)),
                None => CachedTree::Outdated,
            });
        } else {
            found += 1;
            siblings = tree.folders;
            is_known = tree.id.is_some();
        }
    }
}

struct TreeEntry<'a> {
    name: &'a [u8],
    folders: u64,
    /// Absent if outdated.
    id: Option<Oid>,
}

fn read_tree(bytes: &[u8]) -> Option<(TreeEntry<'_>, &[u8])> {
    let (name, rest) = split_at(bytes, 0)?;
    let (entries, rest) = split_at(rest, b' ')?;
    let (folders, rest) = split_at(rest, b'\n')?;
    let text = |bytes| std::str::from_utf8(bytes).ok();
    let entries: i64 = text(entries)?.parse().ok()?;
    let folders: u64 = text(folders)?.parse::<u32>().ok()?.into();
    let (id, rest) = if entries < 0 {
        (None, rest)
    } else {
        (
            Some(Oid::from_bytes(rest.get(..ID)?).ok()?),
            rest.get(ID..)?,
        )
    };
    Some((TreeEntry { name, folders, id }, rest))
}

/// The bytes before and after the first `end`.
fn split_at(bytes: &[u8], end: u8) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == end)?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_be_bytes(bytes.try_into().ok()?))
}

/// A number of seven bits a byte, as offsets in packs, and where it ends.
fn variable_number(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)?;
        value |= usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use git2::IndexEntry;
    use proptest::prelude::*;

    use std::fs;

    use super::*;

    fn git(folder: &tempfile::TempDir, words: &[&str]) {
        let mut git = Command::new("git");
        git.current_dir(folder).args(words);
        for name in super::super::env::LOCAL {
            git.env_remove(name);
        }
        assert!(git.output().unwrap().status.success(), "{words:?}");
    }

    /// A repository with nested folders, whose names are prefixes of each other.
    fn repository(version: u8) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| git(&folder, words);
        git(&["init", "-q"]);
        git(&["config", "index.version", &version.to_string()]);
        for path in ["a/1", "a/b/1", "a/b/c/2", "ab/3", "b", "a/bc/4"] {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, path).unwrap();
        }
        git(&["add", "."]);
        git(&["write-tree"]);
        git(&["update-index", "--skip-worktree", "b"]);
        git(&["update-index", "--assume-unchanged", "a/1"]);
        git(&["update-index", "--index-version", &version.to_string()]);
        folder
    }

    /// Path, mode, id, flags without the bit for extended ones, and extended flags.
    type Read = (Vec<u8>, u32, Oid, u16, u16);

    fn entries_below(index: &IndexFile, prefix: &[u8]) -> Vec<Read> {
        let mut entries = vec![];
        let read = index.each_below(prefix, |entry| {
            let flags = entry.flags & !EXTENDED;
            let path = entry.path.to_vec();
            entries.push((path, entry.mode, entry.id, flags, entry.extended));
        });
        read.unwrap();
        entries
    }

    fn read(folder: &tempfile::TempDir) -> (IndexFile, git2::Index) {
        let path = folder.path().join(".git/index");
        (
            IndexFile::read(&path).unwrap(),
            git2::Index::open(&path).unwrap(),
        )
    }

    #[test]
    fn the_entries_are_those_that_libgit2_reads() {
        for version in [2, 4] {
            let folder = repository(version);
            let (index, lib) = read(&folder);
            let skips = lib.iter().any(|entry| entry.flags_extended != 0);
            let expected = if version == 4 {
                4
            } else {
                2 + u32::from(skips)
            };
            assert_eq!(index.version, expected);
            for prefix in [&b""[..], b"a/", b"a/b/", b"ab/", b"none/"] {
                let expected = lib.iter().filter(|entry| entry.path.starts_with(prefix));
                let expected = expected.map(|entry| {
                    let flags = entry.flags & !EXTENDED;
                    let IndexEntry { path, mode, id, .. } = entry;
                    (path, mode, id, flags, entry.flags_extended)
                });
                let seen = entries_below(&index, prefix);
                assert_eq!(seen, expected.collect::<Vec<Read>>());
            }
        }
    }

    /// Longer than the flags of an entry can say, and than libgit2 accepts.
    #[test]
    fn a_long_path_is_read_to_its_end() {
        for version in [2, 4] {
            let folder = repository(version);
            let long = format!("a/{}/x", vec!["long"; 900].join("/"));
            let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
            let entry = format!("100644,{empty},{long}");
            git(&folder, &["update-index", "--add", "--cacheinfo", &entry]);
            let index = IndexFile::read(&folder.path().join(".git/index")).unwrap();
            let entries = entries_below(&index, b"a/long/");
            assert_eq!(entries.len(), 1);
            assert_eq!(entries[0].0, long.as_bytes());
            assert_eq!(entries[0].2.to_string(), empty);
            assert_eq!(entries_below(&index, b"b").len(), 1, "the entry after it");
        }
    }

    #[test]
    fn the_cached_trees_are_those_that_git_writes() {
        let folder = tempfile::tempdir().unwrap();
        let lib = git2::Repository::init(&folder).unwrap();
        for path in ["a/1", "a/b/1", "a/b/c/2", "ab/3", "b", "c/d/5"] {
            let file = folder.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, path).unwrap();
        }
        let mut index = lib.index().unwrap();
        index
            .add_all(["*"], git2::IndexAddOption::DEFAULT, None)
            .unwrap();
        let root = index.write_tree().unwrap();
        index.write().unwrap();
        let seen = |dir: &str| {
            let file = IndexFile::read(&folder.path().join(".git/index")).unwrap();
            file.cached_tree(dir.as_bytes())
        };
        let tree = lib.find_tree(root).unwrap();
        let known = |dir: &str| tree.get_path(Path::new(dir)).unwrap().id();
        assert_eq!(seen(""), CachedTree::Known(Some(root)));
        for dir in ["a", "a/b", "a/b/c", "ab", "c", "c/d"] {
            assert_eq!(seen(dir), CachedTree::Known(Some(known(dir))), "{dir}");
        }
        for dir in ["b", "none", "a/none", "a/b/c/none", "c/d/e"] {
            assert_eq!(seen(dir), CachedTree::Known(None), "{dir}");
        }
        fs::write(folder.path().join("a/b/1"), "changed").unwrap();
        index.add_path(Path::new("a/b/1")).unwrap();
        index.write().unwrap();
        for dir in ["", "a", "a/b", "a/b/none", "none"] {
            assert_eq!(seen(dir), CachedTree::Outdated, "{dir}");
        }
        for dir in ["a/b/c", "ab", "c/d"] {
            assert_eq!(seen(dir), CachedTree::Known(Some(known(dir))), "{dir}");
        }
    }

    #[test]
    fn a_missing_index_is_empty() {
        let index = IndexFile::read(Path::new("/nowhere/index")).unwrap();
        assert_eq!(entries_below(&index, b""), []);
        assert_eq!(index.cached_tree(b"a"), CachedTree::Outdated);
    }

    proptest! {
        #[test]
        fn damage_never_panics(
            version in prop::sample::select(vec![2_u8, 4]),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
            cut in any::<prop::sample::Index>(),
        ) {
            use std::sync::OnceLock;
            static INDEXES: OnceLock<[Vec<u8>; 2]> = OnceLock::new();
            let indexes = INDEXES.get_or_init(|| {
                [2, 4].map(|version| fs::read(repository(version).path().join(".git/index")).unwrap())
            });
            let mut bytes = indexes[usize::from(version / 4)].clone();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let kept = cut.index(bytes.len() * 2);
            bytes.truncate(kept);
            if let Some(index) = IndexFile::parse(bytes) {
                let _ = index.each_below(b"a/", |_| {});
                let _ = index.cached_tree(b"a/b");
            }
        }
    }
}
