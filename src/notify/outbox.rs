//! Undelivered messages: `outbox/NOTIFIER/RUN.json` in the ledger's folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use urldb_protocol::{Envelope, PROTOCOL};

/// The folder of undelivered messages.
#[derive(Debug)]
pub struct Outbox(PathBuf);

/// One undelivered message.
#[derive(Debug)]
pub(super) struct PendingMessage {
    /// The report.
    pub(super) envelope: Envelope,
    path: PathBuf,
}

impl Outbox {
    /// The outbox beside this ledger.
    pub fn new(ledger: &Path) -> Self {
        Self(ledger.join("outbox"))
    }

    /// Adds a report for one notifier. Adding the same report twice changes nothing.
    pub(super) fn put(&self, notifier: &str, envelope: &Envelope) -> anyhow::Result<()> {
        let folder = self.0.join(notifier);
        let path = folder.join(format!("{}.json", envelope.run.id));
        let bytes = serde_json::to_vec_pretty(envelope).context("cannot write a report as JSON")?;
        fs::create_dir_all(&folder)
            .and_then(|()| urldb_files::write_atomically(&path, &bytes))
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The messages for one notifier, the oldest first. A file that cannot be read is an error.
    pub(super) fn pending(&self, notifier: &str) -> Vec<anyhow::Result<PendingMessage>> {
        match self.paths(notifier) {
            Ok(paths) => paths.into_iter().map(PendingMessage::read).collect(),
            Err(error) => vec![Err(error)],
        }
    }

    /// The folders with messages.
    pub(super) fn folders(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    fn paths(&self, notifier: &str) -> anyhow::Result<Vec<PathBuf>> {
        let folder = self.0.join(notifier);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", folder.display()));
            }
        };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        });
        paths.sort();
        Ok(paths)
    }
}

impl PendingMessage {
    fn read(path: PathBuf) -> anyhow::Result<Self> {
        let read = || -> anyhow::Result<Envelope> {
            let value: serde_json::Value = serde_json::from_slice(&urldb_files::read(&path)?)?;
            let protocol = value.get("protocol").and_then(serde_json::Value::as_u64);
            anyhow::ensure!(
                protocol == Some(u64::from(PROTOCOL)),
                "it is of another protocol: {protocol:?}"
            );
            Ok(serde_json::from_value(value)?)
        };
        let envelope = read().with_context(|| {
            format!(
                "cannot use the waiting message {}; remove it to go on",
                path.display()
            )
        })?;
        Ok(Self { envelope, path })
    }

    /// Removes the message after its delivery.
    pub(super) fn remove(self) -> anyhow::Result<()> {
        fs::remove_file(&self.path)
            .with_context(|| format!("cannot remove {}", self.path.display()))?;
        // Empty folders are removed too.
        for folder in self.path.ancestors().skip(1).take(2) {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
        Ok(())
    }
}
