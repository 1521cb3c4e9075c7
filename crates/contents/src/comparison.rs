//! Compares the members of two archives.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Seek};

use crate::bounds::Bounds;
use crate::members::{Content, Member, MemberKind, Name, is_implied};
use crate::refusal::Refusal;
use crate::scan::scan;
use crate::sink::Wanted;

/// Result of a comparison of two contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Comparison {
    /// Both are a single compressed file.
    File {
        /// The unpacked bytes are the same.
        is_same: bool,
    },
    /// Both are archives.
    Archive {
        /// Number of files in either archive. Folders are no files; links, pipes and devices are.
        files: u64,
        /// The members that differ, by name.
        differences: Vec<Difference>,
    },
}

/// A member that is not the same in both archives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The name, without `./` before it and `/` after it.
    pub name: Vec<u8>,
    /// The member is a folder in both archives, or in the only archive that has it.
    pub is_folder: bool,
    /// The change from the old to the new archive.
    pub change: Change,
}

/// Change of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Change {
    /// Both archives have it, with another type, mode, link target or content.
    Changed,
    /// Only the new archive has it.
    Added,
    /// Only the old archive has it.
    Removed,
}

/// Compares the files in two archives by name, type, mode, link target and SHA-256. Each input is read from its start,
/// once. Memory is bounded by the names in the archives, and by 128 MiB for decompression.
///
/// # Errors
/// When the result could be wrong: see [`Refusal`].
pub fn compare(
    old: &mut (impl Read + Seek),
    new: &mut (impl Read + Seek),
    bounds: Bounds,
) -> Result<Comparison, Refusal> {
    let nothing = &mut Wanted::default();
    match (scan(old, bounds, nothing)?, scan(new, bounds, nothing)?) {
        (Content::File(old), Content::File(new)) => Ok(Comparison::File {
            is_same: old == new,
        }),
        (Content::Archive(old), Content::Archive(new)) => archives(&old, &new),
        _ => Err(Refusal::Unlike("an archive and a single file")),
    }
}

fn archives(
    old: &BTreeMap<Name, Member>,
    new: &BTreeMap<Name, Member>,
) -> Result<Comparison, Refusal> {
    let mut files = 0;
    let mut differences = vec![];
    let names: BTreeSet<&Name> = old.keys().chain(new.keys()).collect();
    for name in names {
        let (before, after) = (old.get(name), new.get(name));
        let is_folder = before.iter().chain(&after).all(|member| member.is_folder());
        files += u64::from(!is_folder);
        let change = match (before, after) {
            (Some(before), Some(after)) if is_same(before, after)? => continue,
            (Some(_), Some(_)) => Change::Changed,
            // Some programs leave out folders that are not empty.
            (None, _) if is_folder && is_implied(old, name) => continue,
            (_, None) if is_folder && is_implied(new, name) => continue,
            (None, _) => Change::Added,
            (_, None) => Change::Removed,
        };
        differences.push(Difference {
            name: name.to_vec(),
            is_folder,
            change,
        });
    }
    Ok(Comparison::Archive { files, differences })
}

fn is_same(old: &Member, new: &Member) -> Result<bool, Refusal> {
    let is_link = |member: &Member| matches!(member.kind, MemberKind::Symlink(_));
    if old.mode.is_some() != new.mode.is_some() && !is_link(old) && !is_link(new) {
        return Err(Refusal::Unlike("only one has permissions"));
    }
    Ok(old == new)
}
