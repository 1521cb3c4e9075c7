//! Writes a bundle.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use urldb_files::Root;
use urldb_verdict::diagnosis::HostProbes;
use urldb_verdict::{Selection, Shard};

use super::line::BundleLine;
use super::manifest::{BundleFile, FORMAT, MANIFEST, Manifest, OBSERVATIONS};
use crate::archive::HashingWriter;

/// A bundle that is being written. It does not exist for readers before [`Self::finish`].
pub struct BundleWriter {
    folder: Root,
    shard: Shard,
    attempt: String,
    jobs: u64,
    observations: HashingWriter<BufWriter<File>>,
}

impl BundleWriter {
    /// Begins the bundle of an attempt of a shard, in the folder of the run, which is made if it is not
    /// there.
    ///
    /// # Errors
    /// When the folder cannot be made, or has a bundle.
    pub fn create(run_folder: &Path, shard: Shard, attempt: String) -> anyhow::Result<Self> {
        let folder = Root::new(run_folder, "the folder of bundles")
            .folder(shard.folder())
            .folder(&attempt);
        let file = folder.file(OBSERVATIONS).create_new();
        let cannot = || format!("cannot write a bundle to {}", folder.path().display());
        let file = file.with_context(cannot)?;
        Ok(Self {
            folder,
            shard,
            attempt,
            jobs: 0,
            observations: HashingWriter::new(BufWriter::new(file)),
        })
    }

    /// The folder of the bundle, for its WARC files.
    pub fn folder(&self) -> &Root {
        &self.folder
    }

    /// Adds a job, with registered secrets redacted.
    ///
    /// # Errors
    /// When the line cannot be written.
    pub fn add(&mut self, mut line: BundleLine) -> anyhow::Result<()> {
        line.redact();
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        self.jobs += 1;
        self.observations
            .write_all(&text)
            .with_context(|| format!("cannot write to {}", self.folder.path().display()))
    }

    /// Makes the bundle whole: its files are on disk before the manifest is. Returns the manifest.
    ///
    /// # Errors
    /// When a file cannot be written or read.
    pub fn finish(
        self,
        inputs: String,
        selection: &Selection,
        times: (Timestamp, Timestamp),
        probes: BTreeMap<String, HostProbes>,
        warc_files: &[PathBuf],
    ) -> anyhow::Result<Manifest> {
        let Self {
            folder,
            shard,
            attempt,
            jobs,
            observations,
            ..
        } = self;
        let cannot_finish = || format!("cannot finish the bundle in {}", folder.path().display());
        let first = BundleFile {
            name: OBSERVATIONS.to_owned(),
            length: observations.length(),
            sha256: HEXLOWER.encode(&observations.sha256()),
        };
        let file = observations
            .into_inner()
            .into_inner()
            .map_err(io::IntoInnerError::into_error);
        file.and_then(|file| file.sync_all())
            .with_context(cannot_finish)?;
        let mut files = vec![first];
        for path in warc_files {
            files.push(described(path).with_context(cannot_finish)?);
        }
        let manifest = Manifest {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            shard,
            attempt,
            inputs,
            selection: selection.clone(),
            started: times.0,
            finished: times.1,
            jobs,
            probes,
            files,
        };
        let mut text = serde_json::to_vec_pretty(&manifest)?;
        text.push(b'\n');
        folder
            .file(MANIFEST)
            .replace(&text)
            .with_context(cannot_finish)?;
        Ok(manifest)
    }
}

/// A file of the bundle, with the digest of what can be read back.
fn described(path: &Path) -> io::Result<BundleFile> {
    let (length, sha256) = urldb_store::hash(urldb_files::open(path)?)?;
    let name = path.file_name().unwrap_or_default();
    Ok(BundleFile {
        name: name.to_string_lossy().into_owned(),
        length,
        sha256: HEXLOWER.encode(&sha256),
    })
}
