//! Replaces staged bytes.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use urldb_files::{PendingWrite, write_atomically};

use super::command::{complete, output};
use super::paths;
use super::repository::{Repository, line};
use super::staged::{StagedFile, skips_work_tree};
use crate::limits;

/// A file whose staged bytes were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestagedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// The change of the file in the work tree.
    pub work_tree: WorkTreeUpdate,
}

/// The change of the work tree's copy of a restaged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkTreeUpdate {
    /// The copy had the staged bytes, and was replaced too.
    Updated,
    /// The copy had unstaged changes, or was missing, and was not touched.
    LeftAlone,
}

impl Repository {
    /// Replaces staged files: first their copies in the work tree, and then all of them in one write of
    /// the index. If the index cannot be written, the copies get their old bytes back.
    ///
    /// A copy with unstaged changes is left alone: somebody is editing it.
    pub fn restage(&self, replacements: &[(StagedFile, Vec<u8>)]) -> Result<Vec<RestagedFile>> {
        let folders: BTreeSet<&Path> = replacements
            .iter()
            .filter_map(|(old, _)| old.path.parent())
            .collect();
        let tags = self.tags(&folders.into_iter().collect::<Vec<_>>())?;
        let mut update = IndexUpdate::default();
        let mut copies = Vec::new();
        let mut restaged = Vec::new();
        for (old, bytes) in replacements {
            let id = self.write_blob(bytes)?;
            update.add(old, &id, tags.get(&old.path).copied().unwrap_or_default());
            let copy = self
                .prepare_copy(old, bytes, &id)
                .with_context(|| format!("cannot update {}", paths::shown(&old.path)))?;
            restaged.push(RestagedFile {
                path: old.path.clone(),
                work_tree: match copy {
                    Copy::LeftAlone => WorkTreeUpdate::LeftAlone,
                    Copy::UpToDate | Copy::Outdated(_) => WorkTreeUpdate::Updated,
                },
            });
            if let Copy::Outdated(copy) = copy {
                copies.push(copy);
            }
        }
        let mut replaced = Vec::new();
        let written = copies
            .into_iter()
            .try_for_each(|copy| {
                let failed = format!("cannot update {}", paths::shown(&copy.file));
                copy.pending.commit().context(failed)?;
                replaced.push((copy.file, copy.present));
                Ok(())
            })
            .and_then(|()| self.write_indexes(&update));
        if let Err(mut error) = written {
            for (file, bytes) in replaced {
                if let Err(failure) = write_atomically(&file, &bytes) {
                    let file = paths::shown(&file);
                    error = error.context(format!("{file} stays normalized ({failure})"));
                }
            }
            return Err(error);
        }
        Ok(restaged)
    }

    fn write_indexes(&self, update: &IndexUpdate) -> Result<()> {
        // Git drops this one if the hook fails, so it comes first.
        if let Some(pending) = self.pending_index() {
            self.write_index(&pending, update)?;
        }
        self.write_index(&self.index_file(), update)
    }

    fn write_index(&self, index: &Path, update: &IndexUpdate) -> Result<()> {
        complete(
            self.git_update_index()
                .env("GIT_INDEX_FILE", index)
                .arg("-z")
                .args(&update.options)
                .arg("--index-info"),
            &update.lines,
        )
    }

    /// A `git update-index` for this repository and index. In a sparse index, which has folders in place of their files,
    /// it would add a file beside its folder.
    pub(super) fn git_update_index(&self) -> Command {
        let mut git = self.git();
        if self.is_sparse() {
            git.args(["-c", "index.sparse=false"]);
        }
        git.arg("update-index");
        git
    }

    pub(super) fn update_index(&self, index: &Path, lines: &[u8]) -> Result<()> {
        let lines = lines.to_owned();
        let options = Vec::new();
        self.write_index(index, &IndexUpdate { options, lines })
    }

    /// The next real index, while `git commit -- PATH` makes its commit from a
    /// temporary index. Git adds the same files to both, and renames this one
    /// into place after the commit. Without the replacement here, the file
    /// would look modified right after its commit.
    fn pending_index(&self) -> Option<PathBuf> {
        let of_the_commit = self.index_file();
        let name = of_the_commit.file_name()?.to_string_lossy();
        let pending = self.git_dir().join("index.lock");
        (name.starts_with("next-index-") && urldb_files::is_there(&pending)).then_some(pending)
    }

    fn prepare_copy(&self, old: &StagedFile, bytes: &[u8], new_id: &str) -> Result<Copy> {
        let file = self.work_tree()?.join(&old.path);
        if !urldb_files::is_file_itself(&file) {
            return Ok(Copy::LeftAlone);
        }
        let present = urldb_files::read(&file, limits::DOMAIN_FILE)?;
        let outdated = |bytes: &[u8], present| {
            let pending = PendingWrite::new(&file, bytes)?;
            let file = file.clone();
            Ok(Copy::Outdated(OutdatedCopy {
                file,
                present,
                pending,
            }))
        };
        // A hook that was killed has written the copy but not the index.
        if present == bytes {
            return Ok(Copy::UpToDate);
        }
        if present == self.read_blob(&old.id)? {
            return outdated(bytes, present);
        }
        // With autocrlf or another filter the file always differs from the blob.
        let mut as_path = OsString::from("--path=");
        as_path.push(&old.path);
        let id = line(output(
            self.git().arg("hash-object").arg(&as_path).arg("--stdin"),
            &present,
        )?)?;
        if id == new_id {
            return Ok(Copy::UpToDate);
        }
        if id != old.id {
            return Ok(Copy::LeftAlone);
        }
        outdated(
            &output(
                self.git()
                    .args(["cat-file", "--filters"])
                    .arg(&as_path)
                    .arg(new_id),
                b"",
            )?,
            present,
        )
    }
}

/// New entries for the index, as arguments and input of `git update-index -z --index-info`.
#[derive(Default)]
struct IndexUpdate {
    options: Vec<OsString>,
    lines: Vec<u8>,
}

impl IndexUpdate {
    /// Replaces an entry, and sets the flags that git drops with the old one, whose tag tells them.
    fn add(&mut self, old: &StagedFile, id: &str, tag: u8) {
        let flags = [
            (skips_work_tree(tag), "skip-worktree"),
            (tag.is_ascii_lowercase(), "assume-unchanged"),
        ];
        if flags.iter().all(|(is_set, _)| !is_set) {
            let entry = format!("{:o} {id} 0\t", old.mode);
            self.lines.extend_from_slice(entry.as_bytes());
            self.lines.extend_from_slice(&paths::to_bytes(&old.path));
            self.lines.push(0);
            return;
        }
        let mut entry = OsString::from(format!("{:o},{id},", old.mode));
        entry.push(&old.path);
        self.options.extend(["--cacheinfo".into(), entry]);
        // With a dot, no name passes for an option.
        let path = Path::new(".").join(&old.path);
        for (_, flag) in flags.iter().filter(|(is_set, _)| *is_set) {
            // One flag is on at a time: git applies all that are on to a path.
            let (on, path) = (format!("--{flag}").into(), path.clone().into_os_string());
            self.options.extend([on, path]);
        }
    }
}

/// The copy of a staged file in the work tree.
enum Copy {
    /// It has other changes, or is missing.
    LeftAlone,
    /// It has the new bytes already.
    UpToDate,
    /// It has the old bytes.
    Outdated(OutdatedCopy),
}

struct OutdatedCopy {
    file: PathBuf,
    present: Vec<u8>,
    pending: PendingWrite,
}
