//! Looks files up in commits and trees. libgit2 keeps no large tree in memory, and would read a folder of a thousand files
//! anew for each of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git2::{ObjectType, Oid, Tree};

use super::paths;

/// The folders that were looked at, by tree and path.
#[derive(Default)]
pub(super) struct Trees(RefCell<BTreeMap<(Oid, PathBuf), Arc<TreeFolder>>>);

/// The regular files directly in a folder of a tree: the blob of each name.
pub(super) type TreeFolder = BTreeMap<OsString, String>;

impl Trees {
    /// The files of a folder in a tree; none without the folder. `None` if libgit2 lacks the tree.
    pub(super) fn folder(
        &self,
        lib: &git2::Repository,
        tree: Oid,
        folder: &Path,
    ) -> Option<Arc<TreeFolder>> {
        let key = (tree, folder.to_owned());
        let mut known = self.0.borrow_mut();
        if let Some(files) = known.get(&key) {
            return Some(Arc::clone(files));
        }
        let files = Arc::new(regular_files(lib, &lib.find_tree(tree).ok()?, folder));
        known.insert(key, Arc::clone(&files));
        Some(files)
    }
}

/// The id of the tree of a commit or tree.
pub(super) fn tree_id(lib: &git2::Repository, revision: &str) -> Option<Oid> {
    let object = lib.revparse_single(revision).ok()?;
    match object.as_commit() {
        Some(commit) => Some(commit.tree_id()),
        None => Some(object.peel(ObjectType::Tree).ok()?.id()),
    }
}

fn regular_files(lib: &git2::Repository, top: &Tree<'_>, folder: &Path) -> TreeFolder {
    let files = |tree: &Tree<'_>| {
        tree.iter()
            .filter(|entry| entry.filemode() & 0o170_000 == 0o100_000)
            .map(|entry| {
                (
                    paths::from_bytes(entry.name_bytes()).into(),
                    entry.id().to_string(),
                )
            })
            .collect()
    };
    if folder.as_os_str().is_empty() {
        return files(top);
    }
    top.get_path(folder)
        .ok()
        .and_then(|entry| lib.find_tree(entry.id()).ok())
        .as_ref()
        .map_or_else(TreeFolder::new, files)
}

/// Reads `MODE TYPE ID\tPATH` of a regular file.
pub(super) fn parse_entry(entry: &[u8]) -> Option<(OsString, String)> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let (mode, rest) = std::str::from_utf8(&entry[..tab]).ok()?.split_once(' ')?;
    let (_, id) = rest.split_once(' ')?;
    let path = paths::from_bytes(&entry[tab + 1..]);
    let name = path.file_name()?;
    mode.starts_with("100")
        .then(|| (name.to_owned(), id.to_owned()))
}
