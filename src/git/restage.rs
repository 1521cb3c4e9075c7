//! Replaces staged bytes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use urldb_files::write_atomically;

use super::command::output;
use super::paths;
use super::repository::{Repository, line};
use super::staged::StagedFile;

/// A file whose staged bytes were replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestagedFile {
    /// Relative to the top of the work tree.
    pub path: PathBuf,
    /// What happened to the file in the work tree.
    pub work_tree: WorkTreeUpdate,
}

/// What happened to the work tree's copy of a restaged file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkTreeUpdate {
    /// The copy had the staged bytes, and was replaced too.
    Updated,
    /// The copy had unstaged changes, or was missing, and was not touched.
    LeftAlone,
}

impl Repository {
    /// Replaces staged files in one write of the index, and then their copies
    /// in the work tree.
    ///
    /// A copy with unstaged changes is left alone: somebody is editing it.
    pub fn restage(&self, replacements: &[(StagedFile, Vec<u8>)]) -> Result<Vec<RestagedFile>> {
        let mut lines = Vec::new();
        let mut ids = Vec::new();
        for (old, bytes) in replacements {
            let id = self.write_blob(bytes)?;
            lines.extend_from_slice(format!("{:o} {id} 0\t", old.mode).as_bytes());
            lines.extend_from_slice(&paths::to_bytes(&old.path));
            lines.push(0);
            ids.push(id);
        }
        self.update_index(&self.index_file(), &lines)?;
        if let Some(pending) = self.pending_index() {
            self.update_index(&pending, &lines)?;
        }
        let mut restaged = Vec::new();
        for ((old, bytes), id) in replacements.iter().zip(&ids) {
            let work_tree = self
                .update_file(old, bytes, id)
                .with_context(|| format!("cannot update {}", paths::shown(&old.path)))?;
            let path = old.path.clone();
            restaged.push(RestagedFile { path, work_tree });
        }
        Ok(restaged)
    }

    pub(super) fn update_index(&self, index: &Path, lines: &[u8]) -> Result<()> {
        let mut git = self.git();
        git.env("GIT_INDEX_FILE", index)
            .args(["update-index", "-z", "--index-info"]);
        output(&mut git, lines).map(drop)
    }

    /// The next real index, while `git commit -- PATH` makes its commit from a
    /// temporary index. Git adds the same files to both, and renames this one
    /// into place after the commit. Without the replacement here, the file
    /// would look modified right after its commit.
    fn pending_index(&self) -> Option<PathBuf> {
        let of_the_commit = self.index_file();
        let name = of_the_commit.file_name()?.to_string_lossy();
        let pending = self.git_dir().join("index.lock");
        (name.starts_with("next-index-") && pending.exists()).then_some(pending)
    }

    fn update_file(&self, old: &StagedFile, bytes: &[u8], new_id: &str) -> Result<WorkTreeUpdate> {
        let file = self.work_tree()?.join(&old.path);
        if !fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file()) {
            return Ok(WorkTreeUpdate::LeftAlone);
        }
        let present = fs::read(&file)?;
        if present == self.read_blob(&old.id)? {
            write_atomically(&file, bytes)?;
            return Ok(WorkTreeUpdate::Updated);
        }
        // With autocrlf or another filter the file always differs from the blob.
        let mut as_path = OsString::from("--path=");
        as_path.push(&old.path);
        let mut clean = self.git();
        clean.arg("hash-object").arg(&as_path).arg("--stdin");
        if line(output(&mut clean, &present)?)? != old.id {
            return Ok(WorkTreeUpdate::LeftAlone);
        }
        let mut smudge = self.git();
        smudge
            .args(["cat-file", "--filters"])
            .arg(&as_path)
            .arg(new_id);
        write_atomically(&file, &output(&mut smudge, b"")?)?;
        Ok(WorkTreeUpdate::Updated)
    }
}
