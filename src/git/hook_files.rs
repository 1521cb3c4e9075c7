//! The files of hooks: found, written, moved and removed.
#![expect(
    clippy::disallowed_methods,
    reason = "git's folder of hooks is the user's own"
)]

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::hook::{Hook, MARK};
use super::paths;
use crate::limits;

/// The folder, among the hooks, of hooks that were there before.
pub(super) const BEFORE: &str = "before-urldb";
/// The suffix of a hook that pre-commit or prek found and runs before its own hooks.
const LEGACY: &str = "legacy";

/// The file of a hook, and its text if there is such a file. After an installation of pre-commit or
/// prek, our shim is its legacy hook.
pub(super) fn find_hook(hook: Hook, dir: &Path) -> Result<(PathBuf, Option<String>)> {
    let read = |file: &Path| match urldb_files::read(file, limits::GIT_FILE) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| paths::shown(file)),
    };
    let file = dir.join(hook.name());
    let legacy = dir.join(format!("{}.{LEGACY}", hook.name()));
    let text = read(&file)?;
    let is_ours = |text: &Option<String>| text.as_ref().is_some_and(|it| it.contains(MARK));
    if !is_ours(&text)
        && let legacy_text = read(&legacy)?
        && is_ours(&legacy_text)
    {
        return Ok((legacy, legacy_text));
    }
    Ok((file, text))
}

/// Whether the folder of hooks keeps a hook that was there before ours.
pub(super) fn has_before(hook: Hook, dir: &Path) -> bool {
    exists(&dir.join(BEFORE).join(hook.name()))
}

/// Whether there is a file or a link, which may lead nowhere.
pub(super) fn exists(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

pub(super) fn remove_hook(file: &Path) -> io::Result<()> {
    fs::remove_file(file)
}

/// Moves a hook between the folder of hooks and the folder [`BEFORE`] in it. A relative link leads to
/// the same file afterwards.
pub(super) fn move_hook(from: &Path, to: &Path) -> io::Result<()> {
    if let Some(dir) = to.parent() {
        fs::create_dir_all(dir)?;
    }
    match fs::read_link(from) {
        Ok(target) if target.is_relative() => {
            let inwards = to.parent().is_some_and(|dir| dir.ends_with(BEFORE));
            let target = match target.strip_prefix("..") {
                Ok(outwards) if !inwards => outwards.to_owned(),
                _ => Path::new("..").join(target),
            };
            move_link(from, to, &target)
        }
        _ => fs::rename(from, to),
    }
}

/// Replaces whatever is at `to` by a link, and removes the link at `from`.
#[cfg(unix)]
fn move_link(from: &Path, to: &Path, target: &Path) -> io::Result<()> {
    let draft = to.with_extension("link");
    std::os::unix::fs::symlink(target, &draft)?;
    fs::rename(&draft, to)?;
    fs::remove_file(from)
}

/// Moves the link as it is: Git for Windows checks links out as plain files.
#[cfg(not(unix))]
fn move_link(from: &Path, to: &Path, _: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes the folder [`BEFORE`], and the shim's links in it to the files beside it, unless a hook or a file of the user's is
/// there.
pub(super) fn remove_before(dir: &Path) {
    let is_used = Hook::ALL.iter().any(|hook| exists(&dir.join(hook.name())));
    for entry in fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|_| !is_used)
    {
        let beside = Path::new("..").join(entry.file_name());
        if fs::read_link(entry.path()).is_ok_and(|target| target == beside) {
            // A link or a folder that stays does no harm.
            let _ = fs::remove_file(entry.path());
        }
    }
    let _ = fs::remove_dir(dir);
}

/// Writes the shim, and its folder if need be.
pub(super) fn write_shim(file: &Path, shim: &str) -> io::Result<()> {
    if let Some(dir) = file.parent() {
        fs::create_dir_all(dir)?;
    }
    urldb_files::write_atomically_with(file, |file| {
        make_executable(file)?;
        file.write_all(shim.as_bytes())
    })
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o755))
}

/// Whether git runs the hook.
#[cfg(unix)]
pub(super) fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}

/// Whether git runs the hook: Git for Windows runs a hook of any mode.
#[cfg(not(unix))]
pub(super) fn is_executable(_: &Path) -> bool {
    true
}

/// Does nothing: Git for Windows runs a hook of any mode.
#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}
