//! Refuses symbolic links that lead out of a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The first part of `path` that is a symbolic link to a place outside of the folder `root`, or to nothing.
///
/// Only what comes after `root` in `path` is looked at: the way to `root` may have links. A path that does
/// not begin with `root` has no such part.
pub fn link_out(root: &Path, path: &Path) -> Option<PathBuf> {
    let below = path.strip_prefix(root).ok()?;
    let mut part = root.to_owned();
    below.components().find_map(|name| {
        part.push(name);
        let leads_out = part.is_symlink() && !leads_inside(&part, root);
        leads_out.then(|| part.clone())
    })
}

/// Refuses the path of a file in `root` if a symbolic link leads it out of `root`.
///
/// # Errors
/// If [`link_out`] finds a link.
pub fn ensure_inside(root: &Path, path: &Path) -> io::Result<()> {
    let Some(link) = link_out(root, path) else {
        return Ok(());
    };
    let target = fs::canonicalize(&link)?;
    let target = target.display();
    Err(io::Error::other(format!(
        "it is a symbolic link to {target}, outside of its folder"
    )))
}

fn leads_inside(link: &Path, root: &Path) -> bool {
    let root = if root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        root
    };
    let real = fs::canonicalize(root).and_then(|root| Ok((root, fs::canonicalize(link)?)));
    real.is_ok_and(|(root, target)| target.starts_with(root))
}
