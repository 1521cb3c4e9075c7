//! Paths as git writes them (bytes, `/`) and as people read them.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};
use urldb_text::sanitize;

/// A path from git's bytes.
#[cfg(unix)]
pub(super) fn from_bytes(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// A path from git's bytes, which are UTF-8 on this platform.
#[cfg(not(unix))]
pub(super) fn from_bytes(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// The entries of a listing of git, each of which a zero byte ends.
pub(super) fn entries(listing: &[u8]) -> impl Iterator<Item = &[u8]> {
    listing
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
}

/// Git's bytes for a relative path.
pub(super) fn to_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in path.components() {
        if !bytes.is_empty() {
            bytes.push(b'/');
        }
        bytes.extend_from_slice(part.as_os_str().as_encoded_bytes());
    }
    bytes
}

/// `path` with every symbolic link resolved in the part of it that exists.
pub(super) fn resolve(path: &Path) -> Result<PathBuf> {
    let absolute = std::path::absolute(path).with_context(|| shown(path))?;
    for known in absolute.ancestors() {
        if let (Ok(real), Ok(rest)) = (urldb_files::real_path(known), absolute.strip_prefix(known))
        {
            return Ok(if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            });
        }
    }
    Ok(absolute)
}

/// A file or folder relative to the work tree, for git at its top.
pub(super) fn pathspec(path: &Path) -> &Path {
    if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    }
}

/// `path` relative to the folder `from`; both are relative to one root.
pub(super) fn relative(path: &Path, from: &Path) -> PathBuf {
    let shared = path
        .components()
        .zip(from.components())
        .take_while(|(a, b)| a == b)
        .count();
    from.components()
        .skip(shared)
        .map(|_| Component::ParentDir)
        .chain(path.components().skip(shared))
        .collect()
}

/// `path` for people: a name may hold anything, escape sequences too.
pub(super) fn shown(path: &Path) -> String {
    sanitize(&path.to_string_lossy()).into_owned()
}
