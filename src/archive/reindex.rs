//! Makes the index anew.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context;
use urldb_warc::file::SUFFIX;
use urldb_warc::index::{FILE_NAME, IndexError, Update};

use super::keys::Keys;

/// What came of it.
#[derive(Debug)]
pub struct Reindexed {
    /// How many files were read.
    pub files: u64,
    /// What was wrong with some: what could be read of them is in the index.
    pub damaged: Vec<anyhow::Error>,
}

/// Makes the index of an archive of the files that are in its folder, and of nothing else.
///
/// # Errors
/// When it cannot be written; the index is then as it was.
pub fn reindex(folder: &Path) -> anyhow::Result<Reindexed> {
    let reading = || format!("cannot read {}", folder.display());
    let mut files = vec![];
    for entry in fs::read_dir(folder).with_context(reading)? {
        let path = entry.with_context(reading)?.path();
        if path.to_string_lossy().ends_with(SUFFIX) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    let (index, draft) = (
        folder.join(FILE_NAME),
        folder.join(format!("{FILE_NAME}.new")),
    );
    let writing = || format!("cannot write {}", draft.display());
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(writing);
        }
        _ => {}
    }
    let mut update = Update::new(&draft);
    let mut damaged = vec![];
    for file in &files {
        match update.add_file(file, &Keys) {
            Err(error @ IndexError::Read { .. }) => damaged.push(error.into()),
            other => other.context("cannot make the index")?,
        }
    }
    update.finish().context("cannot make the index")?;
    if draft.exists() {
        fs::rename(&draft, &index).with_context(writing)?;
    } else {
        urldb_format::write_atomically(&index, b"").with_context(writing)?;
    }
    Ok(Reindexed {
        files: files.len() as u64,
        damaged,
    })
}
