//! Three-way merge of domain files, by record and by key.
//!
//! - `values`: merges two mappings, key by key.
//! - `comments`: merges the comments of a document.
//! - `matching`: which records of the three versions are one record.
//! - `document`: merges one document, or states its conflict.
//! - `output`: the text of the result, with markers around conflicts.
//!
//! A record is what [`crate::lint`] takes for one: the same path and request. Each record is merged
//! alone:
//!
//! | ours | theirs | result |
//! |---|---|---|
//! | unchanged | any | theirs |
//! | any | unchanged | ours |
//! | changed or added | the same change | the change |
//! | changed or added | another change | key by key; a key with two new values is a conflict |
//! | removed | changed | a conflict |
//!
//! `categories` and `cnames` are sets: additions and removals of both sides count. Memory: the three
//! texts and what they parse into, about ten times the size of the three files together.

mod comments;
mod document;
mod matching;
mod output;
mod values;

use std::path::Path;

use crate::domain_file::DomainFile;
use crate::record::RecordIdentity;

pub(crate) use matching::{match_pairs, union_of_vary};
pub use output::MarkerStyle;
pub(crate) use values::text;
pub use values::{MergedMapping, ValueMerge, merge_mappings};

/// One of the two versions to merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The version of the branch that is merged into.
    Ours,
    /// The version of the branch that is merged.
    Theirs,
}

/// The three versions of one file; `None` for a version without the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions<'a> {
    /// The common ancestor.
    pub base: Option<&'a [u8]>,
    /// Our version.
    pub ours: Option<&'a [u8]>,
    /// Their version.
    pub theirs: Option<&'a [u8]>,
}

impl<'a> Versions<'a> {
    /// The version that counts whatever the format of the file: the only one that changed, or the
    /// one that both sides made. `None` if both sides changed the file in different ways.
    pub fn undisputed(&self) -> Option<Option<&'a [u8]>> {
        if self.ours == self.theirs || self.base == self.theirs {
            Some(self.ours)
        } else if self.base == self.ours {
            Some(self.theirs)
        } else {
            None
        }
    }
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// The file is gone.
    Removed,
    /// The file has these bytes.
    File {
        /// The canonical text, with markers around each conflict.
        bytes: Vec<u8>,
        /// The conflicts, in the order of the lines.
        conflicts: Vec<Conflict>,
    },
    /// One side removed the file, the other side changed it.
    RemovedAndChanged {
        /// The side that removed the file.
        removed_by: Side,
    },
}

/// A conflict in a merged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The line of the first marker, from 1.
    pub line: usize,
    /// The record's path, with its method unless that is GET; `the metadata`, or `the comments at
    /// the end`.
    pub about: String,
    /// The record, if it is one.
    pub record: Option<RecordIdentity>,
    /// The changes of the two sides.
    pub kind: ConflictKind,
}

/// The changes of the two sides of a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConflictKind {
    /// Both changed these keys, sorted; empty if they changed comments only.
    Keys(Vec<String>),
    /// One side removed the record, the other side changed it.
    RemovedAndChanged,
}

/// A version that cannot be merged by record: some of it was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableVersion {
    /// `the common ancestor`, `ours` or `theirs`.
    pub name: &'static str,
    /// The line of the first mistake, from 1.
    pub line: usize,
    /// The first mistake, for people.
    pub message: String,
}

/// Merges the versions of a domain file. A result without conflicts is in the canonical form, and
/// swapping the sides does not change it.
///
/// # Errors
/// If both sides changed the file, and a version is not YAML of the format: nothing was merged then.
pub fn merge(versions: Versions, style: &MarkerStyle) -> Result<Merged, UnreadableVersion> {
    merge_with(versions, Some(style))
}

/// Merges two common ancestors of two branches into one, the base of a merge of these branches; `versions`
/// has the ancestors as its sides, and what they descend from as its base. Never conflicts: a key that the
/// ancestors dispute has the value of the base, and so has a file that cannot be merged by record. `None`
/// is a base without the file.
pub fn merge_ancestors(versions: Versions) -> Option<Vec<u8>> {
    match merge_with(versions, None) {
        Ok(Merged::Removed) => None,
        Ok(Merged::File { bytes, .. }) => Some(bytes),
        Ok(Merged::RemovedAndChanged { .. }) | Err(_) => versions.base.map(<[u8]>::to_vec),
    }
}

/// Merges the versions, with markers of this style around conflicts, or with the base in place of them.
fn merge_with(
    versions: Versions,
    style: Option<&MarkerStyle>,
) -> Result<Merged, UnreadableVersion> {
    if let Some(bytes) = versions.undisputed() {
        return Ok(bytes.map_or(Merged::Removed, |bytes| Merged::File {
            bytes: canonical_or_same(bytes),
            conflicts: vec![],
        }));
    }
    let Versions { base, ours, theirs } = versions;
    let base = read(base.unwrap_or_default(), "the common ancestor");
    let (removed_by, changed) = match (ours, theirs) {
        (Some(ours), Some(theirs)) => {
            let (base, ours, theirs) = (base?, read(ours, "ours")?, read(theirs, "theirs")?);
            let merged = document::merge_files([&base, &ours, &theirs]);
            let (text, conflicts) = output::write(merged, style);
            let bytes = text.into_bytes();
            return Ok(Merged::File { bytes, conflicts });
        }
        (None, changed) => (Side::Ours, changed),
        (changed, None) => (Side::Theirs, changed),
    };
    let changed = read(changed.unwrap_or_default(), "the changed version");
    Ok(match (base, changed) {
        (Ok(base), Ok(changed)) if !has_news(&base, &changed) => Merged::Removed,
        _ => Merged::RemovedAndChanged { removed_by },
    })
}

/// Whether a version has something that its base has not: it does more than to remove records or to
/// format the file.
fn has_news(base: &DomainFile, changed: &DomainFile) -> bool {
    let nothing = parse(b"");
    let write = |changed| {
        let merged = document::merge_files([base, &nothing, changed]);
        output::write(merged, Some(&MarkerStyle::default()))
    };
    write(changed) != write(&nothing)
}

/// The canonical form of a version; the same bytes if the version has none.
fn canonical_or_same(bytes: &[u8]) -> Vec<u8> {
    match parse(bytes).canonical() {
        Ok(text) => text.into_bytes(),
        Err(_) => bytes.to_owned(),
    }
}

fn parse(bytes: &[u8]) -> DomainFile {
    DomainFile::parse(Path::new("merge.yaml"), bytes).file
}

/// Reads a version of which every document is understood.
fn read(bytes: &[u8], name: &'static str) -> Result<DomainFile, UnreadableVersion> {
    let file = parse(bytes);
    match file.blocking.first() {
        Some(finding) => Err(UnreadableVersion {
            name,
            line: finding.line,
            message: finding.message.clone(),
        }),
        None => Ok(file),
    }
}
