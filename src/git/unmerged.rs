//! Files with an unresolved conflict: their versions, and how they are resolved.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use urldb_files::write_atomically;

use super::command::{CommandResult, complete, output, run};
use super::paths;
use super::repository::{Repository, line};

use crate::limits;

/// An entry of the index that takes part in a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// The blob, in hexadecimal.
    pub id: String,
    /// Git's mode, `0o100644` for a plain file.
    pub mode: u32,
}

/// A file with an unresolved conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmergedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The common ancestor, our version, their version: stages 1 to 3.
    pub stages: [Option<Stage>; 3],
}

impl UnmergedFile {
    /// Whether every version is a regular file.
    pub fn is_regular(&self) -> bool {
        let stages = self.stages.iter().flatten();
        stages
            .map(|stage| stage.mode)
            .all(|mode| mode & 0o170_000 == 0o100_000)
    }

    /// The mode of the resolved file: executable if a side made it so.
    fn mode(&self) -> u32 {
        let [base, ours, theirs] = self
            .stages
            .each_ref()
            .map(|stage| stage.as_ref().map(|it| it.mode));
        let mode = if base == ours {
            theirs.or(ours)
        } else {
            ours.or(theirs)
        };
        mode.unwrap_or(0o100_644)
    }
}

/// The resolution of an unmerged file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolution {
    /// The file is resolved, with these bytes.
    Merged(Vec<u8>),
    /// The file is resolved: it is removed.
    Removed,
    /// The file in the work tree gets these bytes, which have conflict markers. The index stays.
    Conflict(Vec<u8>),
}

/// The result of merging lines as git does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextMerge {
    /// The text, with markers around conflicts.
    pub bytes: Vec<u8>,
    /// Whether there are conflicts.
    pub has_conflicts: bool,
}

/// The style of git's conflict markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextStyle {
    /// Both sides.
    Merge,
    /// Both sides and the base.
    Diff3,
    /// As [`Self::Diff3`], without lines that both sides share.
    Zdiff3,
}

impl Repository {
    /// The files with an unresolved conflict below the folder `dir` (relative to the work tree), by
    /// path.
    pub fn unmerged(&self, dir: &Path) -> Result<Vec<UnmergedFile>> {
        // Without a conflict no process is needed.
        let index = self.lib().and(git2::Index::open(&self.index_file()).ok());
        if index.is_some_and(|index| !index.has_conflicts()) {
            return Ok(vec![]);
        }
        let mut git = self.git();
        git.env("GIT_LITERAL_PATHSPECS", "1")
            .args(["ls-files", "--unmerged", "--full-name", "-z", "--"])
            .arg(if dir.as_os_str().is_empty() {
                Path::new(".")
            } else {
                dir
            });
        let listing = output(&mut git, b"")?;
        let mut files: BTreeMap<PathBuf, [Option<Stage>; 3]> = BTreeMap::new();
        for entry in listing.split(|byte| *byte == 0).filter(|it| !it.is_empty()) {
            let (path, number, stage) =
                parse_stage(entry).context("`git ls-files` printed something unexpected")?;
            files.entry(path).or_default()[number] = Some(stage);
        }
        let files = files.into_iter();
        Ok(files
            .map(|(path, stages)| UnmergedFile { path, stages })
            .collect())
    }

    /// Whether the file in the work tree has the bytes that git or urldb left there, so that no work of the
    /// user is lost. `resolution` has the bytes that urldb would write.
    pub fn is_untouched(&self, file: &UnmergedFile, resolution: &Resolution) -> Result<bool> {
        let path = self.work_tree()?.join(&file.path);
        let present = match urldb_files::read(&path, limits::DOMAIN_FILE) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", paths::shown(&path)));
            }
        };
        let stored = self.stored_id(&file.path, &present)?;
        match resolution {
            Resolution::Merged(bytes) | Resolution::Conflict(bytes) => {
                if self.write_blob(bytes)? == stored {
                    return Ok(true);
                }
            }
            // Git leaves the side that has the file.
            Resolution::Removed => {
                let mut stages = file.stages.iter().flatten();
                if stages.any(|stage| stage.id == stored) {
                    return Ok(true);
                }
            }
        }
        let left = self.left_by_git(&file.path)?;
        if left.as_ref() == Some(&stored) {
            return Ok(true);
        }
        // `git checkout --merge`, and versions of git that do not store what they left.
        let [base, ours, theirs] = self.versions(file)?;
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return Ok(false);
        };
        let base = base.unwrap_or_default();
        let stored = without_labels(&self.read_blob(&stored).unwrap_or(present));
        for style in [TextStyle::Merge, TextStyle::Diff3, TextStyle::Zdiff3] {
            let versions = [&base, &ours, &theirs].map(Vec::as_slice);
            let merged = text_merge(versions, style, 7)?;
            if merged.is_some_and(|merged| without_labels(&merged.bytes) == stored) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `git rerere` has put the resolution of an earlier merge into the file. Its list has the
    /// conflicts that it could not resolve, of files that both sides have.
    pub fn is_resolved_by_rerere(&self, file: &UnmergedFile) -> bool {
        if file.stages[1..].iter().any(Option::is_none) {
            return false;
        }
        let Ok(listing) = urldb_files::read(&self.git_dir().join("MERGE_RR"), limits::GIT_FILE)
        else {
            return false;
        };
        // Each entry is `ID\tPATH`.
        let path = paths::to_bytes(&file.path);
        let mut entries = listing.split(|byte| *byte == 0);
        !entries.any(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1) == Some(&path))
    }

    /// The bytes of the three versions, as stored.
    pub fn versions(&self, file: &UnmergedFile) -> Result<[Option<Vec<u8>>; 3]> {
        let read =
            |stage: &Option<Stage>| stage.as_ref().map(|it| self.read_blob(&it.id)).transpose();
        let [base, ours, theirs] = &file.stages;
        let versions = read(base).and_then(|base| Ok([base, read(ours)?, read(theirs)?]));
        versions
            .with_context(|| format!("cannot read the versions of {}", paths::shown(&file.path)))
    }

    /// Writes the resolutions: first each file of the work tree, then the index in one step. After a
    /// kill between the two, the files are still unmerged, and resolving them again gives the same.
    ///
    /// # Errors
    /// If a file of the work tree is no regular file or cannot be written, or another process has
    /// locked the index. The index is unchanged then.
    pub fn resolve(&self, resolutions: &[(UnmergedFile, Resolution)]) -> Result<()> {
        let mut lines = Vec::new();
        for (file, resolution) in resolutions {
            let failed = || format!("cannot write {}", paths::shown(&file.path));
            match resolution {
                Resolution::Merged(bytes) => {
                    let id = self.write_blob(bytes)?;
                    self.write_work_tree(&file.path, &id).with_context(failed)?;
                    lines.extend_from_slice(format!("{:o} {id} 0\t", file.mode()).as_bytes());
                }
                Resolution::Removed => {
                    self.remove_from_work_tree(&file.path)
                        .with_context(failed)?;
                    // Only the mode counts, and the length of the id.
                    let id = file.stages.iter().flatten().next();
                    let id = id.map_or_else(String::new, |stage| "0".repeat(stage.id.len()));
                    lines.extend_from_slice(format!("0 {id}\t").as_bytes());
                }
                Resolution::Conflict(bytes) => {
                    let id = self.write_blob(bytes)?;
                    self.write_work_tree(&file.path, &id).with_context(failed)?;
                    continue;
                }
            }
            lines.extend_from_slice(&paths::to_bytes(&file.path));
            lines.push(0);
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.update_index(&self.index_file(), &lines).context(
            "the files are merged in the work tree but not staged; do it again to complete it",
        )?;
        // `git merge --abort` refuses a file whose state in the work tree the index does not know.
        let mut refresh = self.git();
        refresh.args(["update-index", "-q", "--unmerged", "--refresh"]);
        complete(&mut refresh, b"")
    }

    /// The style of conflict markers in git's configuration.
    pub fn conflict_style(&self) -> TextStyle {
        match self.config("merge.conflictStyle").as_deref() {
            Some("diff3") => TextStyle::Diff3,
            Some("zdiff3") => TextStyle::Zdiff3,
            _ => TextStyle::Merge,
        }
    }

    /// The id under which git stores these bytes of a file in the work tree.
    fn stored_id(&self, path: &Path, bytes: &[u8]) -> Result<String> {
        let mut clean = self.git();
        clean
            .arg("hash-object")
            .arg("-w")
            .arg(as_path(path))
            .arg("--stdin");
        line(output(&mut clean, bytes)?)
    }

    /// The blob that the merge left in the work tree, where git stores that.
    fn left_by_git(&self, path: &Path) -> Result<Option<String>> {
        let mut revision = OsString::from("AUTO_MERGE:");
        revision.push(path);
        let mut git = self.git();
        git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
            .arg(revision);
        match run(&mut git, b"")? {
            CommandResult::Success(id) => line(id).map(Some),
            CommandResult::Failure(_) => Ok(None),
        }
    }

    fn write_work_tree(&self, path: &Path, id: &str) -> Result<()> {
        let file = self.safe_path(path)?;
        let mut smudge = self.git();
        smudge
            .args(["cat-file", "--filters"])
            .arg(as_path(path))
            .arg(id);
        let bytes = output(&mut smudge, b"")?;
        if let Some(folder) = file.parent() {
            urldb_files::make_folder(folder)?;
        }
        Ok(write_atomically(&file, &bytes)?)
    }

    fn remove_from_work_tree(&self, path: &Path) -> Result<()> {
        urldb_files::remove(&self.safe_path(path)?)?;
        Ok(())
    }

    /// The file in the work tree.
    ///
    /// # Errors
    /// If the file is no regular file, or a link leads out of the work tree on the way to it.
    fn safe_path(&self, path: &Path) -> Result<PathBuf> {
        let top = self.work_tree()?;
        let file = top.join(path);
        if urldb_files::is_there(&file) && !urldb_files::is_file_itself(&file) {
            bail!("it is no regular file");
        }
        if paths::resolve(&file)? != file {
            bail!("a folder on the way to it is a symbolic link");
        }
        Ok(file)
    }
}

fn as_path(path: &Path) -> OsString {
    let mut argument = OsString::from("--path=");
    argument.push(path);
    argument
}

/// Reads `MODE ID STAGE\tPATH`; the number of the stage counts from 0.
fn parse_stage(entry: &[u8]) -> Option<(PathBuf, usize, Stage)> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let text = std::str::from_utf8(&entry[..tab]).ok()?;
    let mut words = text.split(' ');
    let mode = u32::from_str_radix(words.next()?, 8).ok()?;
    let id = words.next()?.to_owned();
    let number = words.next()?.parse::<usize>().ok()?.checked_sub(1)?;
    let path = paths::from_bytes(&entry[tab + 1..]);
    (number < 3).then_some((path, number, Stage { id, mode }))
}

/// Merges lines as git does: base, ours, theirs. `None` if git does not take the files for text.
pub fn text_merge(
    versions: [&[u8]; 3],
    style: TextStyle,
    marker_size: usize,
) -> Result<Option<TextMerge>> {
    let folder = urldb_files::temporary_folder().context("cannot make a temporary folder")?;
    let names = ["base", "ours", "theirs"];
    for (name, bytes) in names.into_iter().zip(versions) {
        urldb_files::write_atomically(&folder.path().join(name), bytes)
            .context("cannot write a version to a temporary file")?;
    }
    let mut git = super::command(folder.path());
    git.args([
        "merge-file",
        "-p",
        "-q",
        &format!("--marker-size={marker_size}"),
    ])
    .args(["-L", "ours", "-L", "base", "-L", "theirs"])
    .args(match style {
        TextStyle::Merge => &[][..],
        TextStyle::Diff3 => &["--diff3"],
        TextStyle::Zdiff3 => &["--zdiff3"],
    })
    .args(["ours", "base", "theirs"])
    .stdin(Stdio::null());
    let done = git
        .output()
        .context("cannot run `git`; is it installed and on PATH?")?;
    // The exit status is the number of conflicts, at most 127.
    Ok(match done.status.code() {
        Some(count @ 0..=127) => Some(TextMerge {
            bytes: done.stdout,
            has_conflicts: count > 0,
        }),
        _ => None,
    })
}

/// The text with bare marker lines: labels differ between the commands of git.
fn without_labels(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let bare = lines.map(|line| match line {
        [first @ (b'<' | b'|' | b'>'), ..]
            if line.len() > 7 && line[..7].iter().all(|it| it == first) =>
        {
            &line[..7]
        }
        _ => line,
    });
    bare.collect::<Vec<_>>().concat()
}
