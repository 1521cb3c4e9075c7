//! The manifest of a bundle.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use urldb_files::{Kind, Root, RootFile};
use urldb_verdict::diagnosis::HostProbes;
use urldb_verdict::{Selection, Shard};

use crate::config::Config;
use crate::ledger;

pub(super) const MANIFEST: &str = "manifest.json";

/// The name of the file with the observations.
pub(super) const OBSERVATIONS: &str = "observations.jsonl";

/// The number of this form of bundles.
pub(super) const FORMAT: u32 = 1;

/// Describes a whole bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Manifest {
    /// The number of the form.
    pub format: u32,
    /// The version of urldb that wrote the bundle.
    pub version: String,
    /// The shard.
    pub shard: Shard,
    /// Identifies this attempt of the shard: its start in UTC, and a random number.
    pub attempt: String,
    /// The [digest](super::digest_of_inputs) of everything that the collecting run must have in common.
    pub inputs: String,
    /// The records that the run was about.
    #[serde(default)]
    pub selection: Selection,
    /// When the shard began.
    pub started: Timestamp,
    /// When it ended.
    pub finished: Timestamp,
    /// Number of jobs.
    pub jobs: u64,
    /// The results of further requests about changed files, by host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub probes: BTreeMap<String, HostProbes>,
    /// The files of the bundle besides the manifest.
    pub files: Vec<BundleFile>,
}

/// A file of a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BundleFile {
    /// Its name in the folder of the bundle.
    pub name: String,
    /// Its length, in bytes.
    pub length: u64,
    /// Its SHA-256, in lower-case hex.
    pub sha256: String,
}

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
    let misnamed = database.misnamed().iter().map(PathBuf::as_path);
    let names = database
        .all_files()
        .chain(misnamed)
        .filter_map(|path| path.file_name());
    let folder = config.database_root();
    files.extend(names.map(|name| folder.file(name)));
    files.extend(files_in(&config.rules_root())?);
    let ledger = config.ledger_root();
    files.extend(files_in(&ledger)?);
    files.extend(files_in(&ledger::captures_folder(&ledger))?);
    files.extend(files_in(&ledger::origins_folder(&ledger))?);
    files.extend(files_in(&ledger::history_folder(&ledger))?);
    files.sort_by_key(RootFile::path);
    let mut all = Sha256::new();
    for file in files {
        let name = config.relative_name(&file.path());
        // After an error, neither length nor digest covers the bytes that were read before it.
        let read = file.open().and_then(urldb_store::hash);
        let (length, digest) = read.unwrap_or((u64::MAX, [0; 32]));
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
    let mut files = folder
        .files()
        .with_context(|| format!("cannot list {}", folder.path().display()))?;
    files.retain(|file| {
        let is_hidden = file.name().as_os_str().as_encoded_bytes().starts_with(b".");
        !is_hidden && file.kind() != Some(Kind::Folder)
    });
    Ok(files)
}
