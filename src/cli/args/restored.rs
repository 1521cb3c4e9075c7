//! Damaged files of the ledger, which get back the content that the last commit has.

use std::path::{Path, PathBuf};

use urldb_render::numbers::counted;

use crate::cli::Context;
use crate::cli::print::style::{print_note, print_warning};
use crate::explain::explain;
use crate::git::Repository;
use crate::ledger::damage;

/// A damaged file that can be restored or removed.
struct RestorableFile {
    /// Relative to the work tree.
    path: PathBuf,
    why: anyhow::Error,
    /// The blob of the last commit; `None` if the file is new.
    committed: Option<String>,
}

impl Context {
    /// Restores the files of the ledger that are empty, cut off or unreadable, and whole in the last commit; an empty
    /// file that no commit has is removed. A warning names each file. During a merge nothing changes: its files are the
    /// person's who merges.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(crate) fn restore_ledger(&self) -> anyhow::Result<()> {
        let ledger = self.ledger();
        let Ok(Some(repository)) = Repository::of_project(ledger.path()) else {
            return Ok(());
        };
        if repository.work_tree().is_err() {
            return Ok(());
        }
        repository.wait_for_writer();
        if repository.ensure_idle().is_err() {
            return Ok(());
        }
        self.write_left_out(&repository)?;
        if !urldb_files::is_folder(ledger.path()) {
            return Ok(());
        }
        let damaged = match self.damaged(&repository) {
            Ok(damaged) => damaged,
            Err(error) => {
                let error = error.context("damage of the ledger is not looked for");
                print_warning(explain(&error));
                return Ok(());
            }
        };
        let committed: Vec<(&Path, String)> = damaged
            .iter()
            .filter_map(|file| Some((file.path.as_path(), file.committed.clone()?)))
            .collect();
        repository.write_work_tree(&committed)?;
        let top = repository.work_tree()?;
        for RestorableFile {
            path,
            why,
            committed,
        } in &damaged
        {
            let path = top.join(path);
            let done = if committed.is_some() {
                "restored from the last commit"
            } else {
                urldb_files::remove(&path)?;
                "removed"
            };
            print_warning(format!("{}: {why:#}; {done}", self.shown(&path)));
        }
        Ok(())
    }

    /// Writes the files of the ledger that a sparse checkout leaves out: without them, all news would be told again.
    fn write_left_out(&self, repository: &Repository) -> anyhow::Result<()> {
        let folder = repository.relative(self.ledger().path())?;
        let left_out = repository.left_out(&folder)?;
        let files: Vec<(&Path, String)> = left_out
            .iter()
            .map(|(path, id)| (path.as_path(), id.clone()))
            .collect();
        repository.write_work_tree(&files)?;
        if !files.is_empty() {
            let number = counted(files.len() as u64, "file");
            let folder = self.shown(self.ledger().path());
            print_note(&format!(
                "{folder}: wrote {number} of the ledger that the sparse checkout leaves out"
            ));
        }
        Ok(())
    }

    /// The damaged files that can be restored or removed.
    fn damaged(&self, repository: &Repository) -> anyhow::Result<Vec<RestorableFile>> {
        let ledger = self.ledger();
        let folder = repository.relative(ledger.path())?;
        let files = repository.uncommitted_below(&[ledger.path().to_owned()], |_| true)?;
        let mut damaged = vec![];
        for path in files.paths() {
            let Ok(name) = path.strip_prefix(&folder) else {
                continue;
            };
            let file = ledger.file(name);
            if !file.is_file() {
                continue;
            }
            let committed = repository.blob_at("HEAD", path)?;
            if committed.is_none() && file.metadata()?.len() > 0 {
                continue;
            }
            let whole = || repository.read_blob(committed.as_ref()?).ok();
            let Err(why) = damage::check_file(name, &file, whole) else {
                continue;
            };
            let is_whole = |whole: Vec<u8>| damage::check(name, &whole[..]).is_ok();
            let can_be_fixed = committed.is_none() || whole().is_some_and(is_whole);
            let path = path.to_owned();
            damaged.extend(can_be_fixed.then_some(RestorableFile {
                path,
                why,
                committed,
            }));
        }
        Ok(damaged)
    }
}
