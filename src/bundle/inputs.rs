//! The digest of everything that a shard and its collecting run must have in common.

use std::io;

use anyhow::Context;
use sha2::{Digest, Sha256};
use urldb_files::{Kind, Root, RootFile};

use crate::archive::HashingWriter;
use crate::config::Config;
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
        let name = config.file.file_name().unwrap_or_default();
        files.push(config.repository_root().file(name));
    }
    let database = config.open_database()?;
    let domain_files = database.files().iter().chain(database.misnamed());
    let names = domain_files.filter_map(|path| path.file_name());
    let folder = config.database_root();
    files.extend(names.map(|name| folder.file(name)));
    files.extend(files_in(&config.rules_root())?);
    let ledger = config.ledger_root();
    files.extend(files_in(&ledger)?);
    files.extend(files_in(&ledger::captures_folder(&ledger))?);
    files.extend(files_in(&ledger::history_folder(&ledger))?);
    files.sort_by_key(RootFile::path);
    let mut all = Sha256::new();
    for file in files {
        let name = config.relative_name(&file.path());
        let mut content = HashingWriter::new(io::sink());
        // After an error, neither length nor digest covers the bytes that were read before it.
        let read = file
            .open()
            .and_then(|mut file| io::copy(&mut file, &mut content));
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
fn files_in(folder: &Root) -> anyhow::Result<Vec<RootFile>> {
    let files = folder.files();
    let mut files = files.with_context(|| format!("cannot list {}", folder.path().display()))?;
    files.retain(|file| {
        let is_hidden = file.name().as_os_str().as_encoded_bytes().starts_with(b".");
        !is_hidden && file.kind() != Some(Kind::Folder)
    });
    Ok(files)
}
