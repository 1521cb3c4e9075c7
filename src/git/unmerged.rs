//! Files with an unresolved conflict: their versions, and how they are resolved.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use urldb_files::write_atomically;

use super::command::{cannot_run, complete, output};
use super::merge_driver::MARKER_SIZE;
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
        self.stages
            .iter()
            .flatten()
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
        let listing = self.ls_files(&["--unmerged", "--full-name"], &[dir])?;
        let mut files: BTreeMap<PathBuf, [Option<Stage>; 3]> = BTreeMap::new();
        for entry in paths::entries(&listing) {
            let (path, number, stage) =
                parse_stage(entry).context("`git ls-files` printed something unexpected")?;
            files.entry(path).or_default()[number] = Some(stage);
        }
        Ok(files
            .into_iter()
            .map(|(path, stages)| UnmergedFile { path, stages })
            .collect())
    }

    /// The ids under which git would store what the work tree has at the paths of these files, and which it
    /// then has. A missing file has none.
    ///
    /// # Errors
    /// When a file cannot be read or is too large, or git fails.
    pub fn work_tree_blobs(&self, files: &[UnmergedFile]) -> Result<BTreeMap<PathBuf, String>> {
        let top = self.work_tree()?;
        let (mut present, mut lines) = (vec![], vec![]);
        for UnmergedFile { path, .. } in files {
            let size = urldb_files::open(&top.join(path)).and_then(|file| file.metadata());
            let size = match size {
                Ok(known) => known.len(),
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(error)
                        .with_context(|| format!("cannot read {}", paths::shown(path)));
                }
            };
            if limits::DOMAIN_FILE.check(size).is_err() {
                bail!("{} is too large", paths::shown(path));
            }
            present.push(path.clone());
            lines.extend_from_slice(&quoted(path));
        }
        if present.is_empty() {
            return Ok(BTreeMap::new());
        }
        let ids: Vec<_> = line(output(
            self.git().args(["hash-object", "-w", "--stdin-paths"]),
            &lines,
        )?)?
        .lines()
        .map(str::to_owned)
        .collect();
        ensure!(
            ids.len() == present.len(),
            "`git hash-object` printed something unexpected"
        );
        Ok(present.into_iter().zip(ids).collect())
    }

    /// Whether the file in the work tree has the bytes that git or urldb left there, so that no work of the
    /// user is lost. `resolution` has the bytes that urldb would write, and `stored` is the blob of those in
    /// the work tree.
    ///
    /// # Errors
    /// When git fails.
    pub fn is_untouched(
        &self,
        file: &UnmergedFile,
        resolution: &Resolution,
        stored: &str,
    ) -> Result<bool> {
        match resolution {
            Resolution::Merged(bytes) | Resolution::Conflict(bytes) => {
                if self.blob_id(bytes)? == stored {
                    return Ok(true);
                }
            }
            // Git leaves the side that has the file.
            Resolution::Removed => {
                if file.stages.iter().flatten().any(|stage| stage.id == stored) {
                    return Ok(true);
                }
            }
        }
        // The state in which the merge left the work tree, if git has stored it.
        if self.blob_at("AUTO_MERGE", &file.path)?.as_deref() == Some(stored) {
            return Ok(true);
        }
        // `git checkout --merge`, and versions of git that do not store what they left.
        let [base, ours, theirs] = self.versions(file)?;
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            return Ok(false);
        };
        let base = base.unwrap_or_default();
        let stored = without_labels(&self.read_blob(stored)?);
        for style in [TextStyle::Merge, TextStyle::Diff3, TextStyle::Zdiff3] {
            let versions = [&base, &ours, &theirs].map(Vec::as_slice);
            let merged = text_merge(versions, style, MARKER_SIZE)?;
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
        !listing
            .split(|byte| *byte == 0)
            .any(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1) == Some(&path))
    }

    /// The bytes of the three versions, as stored.
    pub fn versions(&self, file: &UnmergedFile) -> Result<[Option<Vec<u8>>; 3]> {
        let read =
            |stage: &Option<Stage>| stage.as_ref().map(|it| self.read_blob(&it.id)).transpose();
        let [base, ours, theirs] = &file.stages;
        read(base)
            .and_then(|base| Ok([base, read(ours)?, read(theirs)?]))
            .with_context(|| format!("cannot read the versions of {}", paths::shown(&file.path)))
    }

    /// Writes the resolutions: first each file of the work tree, then the index in one step. After a
    /// kill between the two, the files are still unmerged, and resolving them again gives the same.
    ///
    /// # Errors
    /// If a file of the work tree is no regular file or cannot be written, or another process has
    /// locked the index. The index is unchanged then.
    pub fn resolve(&self, resolutions: &[(UnmergedFile, Resolution)]) -> Result<()> {
        let (mut lines, mut written) = (Vec::new(), Vec::new());
        for (file, resolution) in resolutions {
            let entry = |mode: u32, id: &str| index_line(mode, id, &file.path);
            match resolution {
                Resolution::Merged(bytes) => {
                    let id = self.write_blob(bytes)?;
                    lines.extend(entry(file.mode(), &id));
                    written.push((file.path.as_path(), id));
                }
                Resolution::Removed => {
                    // Only the mode counts, and the length of the id.
                    let id = file
                        .stages
                        .iter()
                        .flatten()
                        .next()
                        .map_or_else(String::new, |stage| "0".repeat(stage.id.len()));
                    lines.extend(entry(0, &id));
                }
                Resolution::Conflict(bytes) => {
                    written.push((file.path.as_path(), self.write_blob(bytes)?));
                }
            }
        }
        self.write_work_tree(&written)?;
        for (file, resolution) in resolutions {
            if *resolution == Resolution::Removed {
                self.safe_path(&file.path)
                    .and_then(|path| Ok(urldb_files::remove(&path)?))
                    .with_context(|| format!("cannot remove {}", paths::shown(&file.path)))?;
            }
        }
        if lines.is_empty() {
            return Ok(());
        }
        self.update_index(&self.index_file(), &lines).context(
            "the files are merged in the work tree but not staged; do it again to complete it",
        )?;
        // `git merge --abort` refuses a file whose state in the work tree the index does not know.
        let mut refresh = self.git_update_index();
        refresh.args(["-q", "--unmerged", "--refresh"]);
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

    /// Writes blobs to their files (relative to the work tree), as git would check them out.
    ///
    /// # Errors
    /// When git fails, or a file cannot be written.
    pub fn write_work_tree(&self, files: &[(&Path, String)]) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        // Git applies its filters to a copy of each, all in one process.
        let folder = urldb_files::temporary_folder().context("cannot make a temporary folder")?;
        let (index, copies) = (folder.path().join("index"), folder.path().join("files"));
        let lines = files
            .iter()
            .map(|(path, id)| index_line(0o100_644, id, path));
        self.update_index(&index, &lines.collect::<Vec<_>>().concat())?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(copies.join(""));
        complete(
            self.git()
                .env("GIT_INDEX_FILE", &index)
                .args(["checkout-index", "--all", "--quiet"])
                .arg(prefix),
            b"",
        )?;
        for (path, _) in files {
            let write = || {
                let bytes = urldb_files::read(&copies.join(path), limits::LEDGER)?;
                let file = self.safe_path(path)?;
                if let Some(folder) = file.parent() {
                    urldb_files::make_folder(folder)?;
                }
                Ok::<_, anyhow::Error>(write_atomically(&file, &bytes)?)
            };
            write().with_context(|| format!("cannot write {}", paths::shown(path)))?;
        }
        Ok(())
    }

    /// The file in the work tree.
    ///
    /// # Errors
    /// If the file is no regular file, or a link leads out of the work tree on the way to it.
    fn safe_path(&self, path: &Path) -> Result<PathBuf> {
        let file = self.work_tree()?.join(path);
        if urldb_files::is_there(&file) && !urldb_files::is_file_itself(&file) {
            bail!("it is no regular file");
        }
        if paths::resolve(&file)? != file {
            bail!("a folder on the way to it is a symbolic link");
        }
        Ok(file)
    }
}

/// A line for `git update-index -z --index-info`.
pub(super) fn index_line(mode: u32, id: &str, path: &Path) -> Vec<u8> {
    let entry = format!("{mode:o} {id} 0\t");
    [entry.as_bytes(), &paths::to_bytes(path), b"\0"].concat()
}

/// A line with a path for git, in quotes, so that it may hold anything.
fn quoted(path: &Path) -> Vec<u8> {
    let mut line = vec![b'"'];
    for byte in paths::to_bytes(path) {
        match byte {
            b'\n' => line.extend_from_slice(b"\\n"),
            b'"' | b'\\' => line.extend_from_slice(&[b'\\', byte]),
            _ => line.push(byte),
        }
    }
    line.extend_from_slice(b"\"\n");
    line
}

/// Reads `MODE ID STAGE\tPATH`; the number of the stage counts from 0.
fn parse_stage(entry: &[u8]) -> Option<(PathBuf, usize, Stage)> {
    let tab = entry.iter().position(|byte| *byte == b'\t')?;
    let mut words = std::str::from_utf8(&entry[..tab]).ok()?.split(' ');
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
    let done = git.output().with_context(|| cannot_run(&git))?;
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
    bytes
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| match line {
            [first @ (b'<' | b'|' | b'>'), ..]
                if line.len() > 7 && line[..7].iter().all(|it| it == first) =>
            {
                &line[..7]
            }
            _ => line,
        })
        .collect::<Vec<_>>()
        .concat()
}
