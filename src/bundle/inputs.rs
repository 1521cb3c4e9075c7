//! The digest of everything that a shard and its collecting run must have in common.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sha2::{Digest, Sha256};

use crate::archive::HashingWriter;
use crate::config::Config;
use crate::database::site_rules;
use crate::ledger;

/// `sha256:` and the digest, in hex, of urldb.toml, the domain files, the site rules, and the ledger: its
/// statuses, captures and history. A run changes the history, so its bundles are not collected twice. The
/// files of incidents and the outbox do not count, because deliveries change them.
///
/// # Errors
/// When a folder cannot be listed. A file that cannot be read counts as empty: the run reports it.
pub fn digest_of_inputs(config: &Config) -> anyhow::Result<String> {
    let mut files = vec![];
    if !config.file.as_os_str().is_empty() {
        files.push(config.file.clone());
    }
    let database = config.open_database()?;
    files.extend(database.files().iter().chain(database.misnamed()).cloned());
    files.extend(files_in(&database.directory().join(site_rules::FOLDER))?);
    let folder = config.root.join(&config.ledger.path);
    files.extend(files_in(&folder)?);
    files.extend(files_in(&ledger::captures_folder(&folder))?);
    files.extend(files_in(&ledger::history_folder(&folder))?);
    files.sort();
    let mut all = Sha256::new();
    for path in files {
        let name = config.relative_name(&path);
        let mut content = HashingWriter::new(io::sink());
        // After an error, neither length nor digest covers the bytes that were read before it.
        let read = urldb_files::open(&path).and_then(|mut file| io::copy(&mut file, &mut content));
        let (length, digest) = match read {
            Ok(length) => (length, content.sha256()),
            Err(_) => (u64::MAX, [0; 32]),
        };
        all.update((name.len() as u64).to_le_bytes());
        all.update(name);
        all.update(length.to_le_bytes());
        all.update(digest);
    }
    Ok(urldb_warc::Digest::sha256(all.finalize().into()).to_string())
}

/// The files directly in a folder, but those of programs (`.gitignore`, temporary files); none without
/// the folder.
fn files_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let list = || -> io::Result<Vec<PathBuf>> {
        let mut files = vec![];
        for entry in folder.read_dir()? {
            let entry = entry?;
            let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if !is_hidden && !entry.path().is_dir() {
                files.push(entry.path());
            }
        }
        Ok(files)
    };
    match list() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        listed => listed.with_context(|| format!("cannot list {}", folder.display())),
    }
}
