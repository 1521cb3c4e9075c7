//! What is remembered of every URL between runs: small text files in git.
//!
//! - `HOST.yaml` has the shape of a domain file. Its metadata has the mistakes in the domain file and
//!   the dates of the host's certificate; each further document is about one job.
//! - `incidents/ID.yaml` is about one incident.
//! - `history/MONTH.jsonl` has a line for each run and for each change of a believed state.
//!
//! A run without changes appends one line to the history and rewrites no other file. The ledger alone
//! is enough to detect transitions and to write correct revisit records, so a fresh checkout needs no
//! archive.

mod entry;
mod history;
pub mod incidents;
mod merge;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use urldb_format::{Mapping, Value, read_documents, write_documents};
use urldb_protocol::CertificateDates;
use urldb_verdict::JobKey;

pub use entry::{BadResponse, Capture, Content, Entry};
pub use history::{
    BaseRun, ChangeLine, HistoryLine, IncidentLine, Lines, PastRun, RehashDays, RunLine, SoughtUrl,
    Verifications, append, is_history, lines, past_runs,
};
pub use incidents::Incidents;
pub use merge::{merge, merge_history};

/// The state of every URL, read from and written to one folder.
#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    domains: BTreeMap<String, Domain>,
    changed: BTreeSet<String>,
}

/// The ledger file of one domain.
#[derive(Debug, Default)]
struct Domain {
    /// The names of the mistakes in the domain file, sorted.
    mistakes: Vec<String>,
    /// The dates of the certificate that the host showed last.
    certificate: Option<CertificateDates>,
    entries: BTreeMap<JobKey, Entry>,
}

impl Ledger {
    /// Reads the ledger files of these domains. A domain without a file has no entries.
    ///
    /// # Errors
    /// When a file cannot be read, or has another form than this program writes: nothing is forgotten
    /// silently.
    pub fn load<'a>(
        folder: &Path,
        domains: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<Self> {
        let mut known = BTreeMap::new();
        for domain in domains {
            let path = file_of(folder, domain);
            match urldb_files::read_to_string(&path) {
                Ok(text) => {
                    let read = parse(domain, &text)
                        .with_context(|| format!("cannot use {}", path.display()))?;
                    known.insert(domain.to_owned(), read);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read {}", path.display()));
                }
            }
        }
        Ok(Self {
            folder: folder.to_owned(),
            domains: known,
            changed: BTreeSet::new(),
        })
    }

    /// The entry of one job.
    pub fn get(&self, key: &JobKey) -> Option<&Entry> {
        self.domains.get(&key.domain)?.entries.get(key)
    }

    /// The jobs that have an entry.
    pub fn keys(&self) -> impl Iterator<Item = &JobKey> {
        self.domains
            .values()
            .flat_map(|domain| domain.entries.keys())
    }

    /// Replaces the entry of one job, as of `now`. A new entry dates from now; an entry that does not
    /// change keeps its date.
    pub fn set(&mut self, key: &JobKey, mut entry: Entry, now: Timestamp) {
        let known = self.get(key);
        entry.added = known.map_or(Some(now), |known| known.added);
        entry.updated = known.and_then(|known| known.updated);
        if known == Some(&entry) {
            return;
        }
        entry.updated = Some(now);
        self.changed.insert(key.domain.clone());
        let domain = self.domains.entry(key.domain.clone()).or_default();
        domain.entries.insert(key.clone(), entry);
    }

    /// The dates of the certificate that a host showed last.
    pub fn certificate(&self, domain: &str) -> Option<&CertificateDates> {
        self.domains.get(domain)?.certificate.as_ref()
    }

    /// Remembers the certificates that a host showed in one run. A host may show several, in turns: the
    /// ledger keeps the one it has if the host showed it again, and else the one that ends first.
    pub fn set_certificate(&mut self, domain: &str, shown: &BTreeSet<CertificateDates>) {
        let known = self.certificate(domain);
        let next = shown.iter().min_by_key(|dates| dates.not_after);
        if let Some(next) = next
            && !known.is_some_and(|known| shown.contains(known))
        {
            self.changed.insert(domain.to_owned());
            let domain = self.domains.entry(domain.to_owned()).or_default();
            domain.certificate = Some(next.clone());
        }
    }

    /// Removes the entry of one job.
    pub fn forget(&mut self, key: &JobKey) {
        let known = self.domains.get_mut(&key.domain);
        if known.is_some_and(|known| known.entries.remove(key).is_some()) {
            self.changed.insert(key.domain.clone());
        }
    }

    /// Removes references to captures in these archive files, so that the next run captures their
    /// content again.
    pub fn forget_captures(&mut self, files: &BTreeSet<String>) {
        for (name, domain) in &mut self.domains {
            for entry in domain.entries.values_mut() {
                let content = entry.content.as_mut();
                let capture = content.and_then(|content| {
                    content
                        .capture
                        .take_if(|capture| files.contains(&capture.file))
                });
                let bad_response = entry.bad_response.take_if(|bad| files.contains(&bad.file));
                let is_changed = capture.is_some() || bad_response.is_some();
                if is_changed && !self.changed.contains(name) {
                    self.changed.insert(name.clone());
                }
            }
        }
    }

    /// Replaces the sorted names of the mistakes in a domain file, and returns the former names.
    pub fn replace_mistakes(&mut self, domain: &str, mistakes: Vec<String>) -> Vec<String> {
        let known = self.domains.get(domain);
        if known.map_or(&[][..], |known| &known.mistakes) == mistakes {
            return mistakes;
        }
        self.changed.insert(domain.to_owned());
        let known = self.domains.entry(domain.to_owned()).or_default();
        std::mem::replace(&mut known.mistakes, mistakes)
    }

    /// Removes the ledger files of all other domains: their domain files are gone.
    pub fn forget_others<'a>(
        &self,
        hosts: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<()> {
        let kept: BTreeSet<PathBuf> = hosts
            .into_iter()
            .map(|host| file_of(&self.folder, host))
            .collect();
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("cannot read {}", self.folder.display()));
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if !kept.contains(&path) && is_ours(&path) {
                fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        Ok(())
    }

    /// Writes the files that have changed, each atomically.
    pub fn save(&mut self) -> anyhow::Result<()> {
        if self.changed.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the ledger folder {}", self.folder.display()))?;
        while let Some(domain) = self.changed.pop_first() {
            let documents = self.domains.get(&domain).map(Domain::to_documents);
            let text = write_documents(&documents.unwrap_or_default());
            let path = file_of(&self.folder, &domain);
            urldb_files::write_atomically(&path, text.as_bytes())
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

fn file_of(folder: &Path, domain: &str) -> PathBuf {
    folder.join(format!("{domain}.yaml"))
}

/// Whether [`Ledger::save`] wrote this file. Other files are never removed.
fn is_ours(path: &Path) -> bool {
    let domain = path
        .file_name()
        .and_then(|name| name.to_str()?.strip_suffix(".yaml"));
    let text = domain.and_then(|_| urldb_files::read_to_string(path).ok());
    let known = domain
        .zip(text)
        .and_then(|(domain, text)| parse(domain, &text).ok());
    known.is_some_and(|known| !known.is_empty())
}

impl Domain {
    fn is_empty(&self) -> bool {
        self.mistakes.is_empty() && self.entries.is_empty() && self.certificate.is_none()
    }

    fn to_documents(&self) -> Vec<Mapping> {
        let mut metadata = Mapping::new();
        if !self.mistakes.is_empty() {
            let mistakes = self.mistakes.iter().map(|name| name.as_str().into());
            metadata.insert("mistakes", Value::List(mistakes.collect()));
        }
        if let Some(certificate) = &self.certificate {
            metadata.insert("certificate", entry::certificate_mapping(certificate));
        }
        let entries = self.entries.iter();
        let entries = entries.map(|(key, entry)| entry.to_mapping(key));
        std::iter::once(metadata).chain(entries).collect()
    }
}

fn parse(domain: &str, text: &str) -> anyhow::Result<Domain> {
    let (documents, findings) = read_documents(text, &entry::SCHEMA);
    if let Some(finding) = findings.first() {
        anyhow::bail!("line {}: {}", finding.line, finding.message);
    }
    let Some((metadata, records)) = documents.split_first() else {
        return Ok(Domain::default());
    };
    let mistakes = match metadata.mapping.get("mistakes") {
        Some(Value::List(mistakes)) => mistakes.iter(),
        _ => [].iter(),
    };
    let certificate = metadata.mapping.get("certificate");
    let certificate = certificate.and_then(Value::as_map);
    let certificate = certificate.map(entry::certificate).transpose();
    let entries = records.iter().map(|document| {
        Entry::from_mapping(domain, &document.mapping)
            .with_context(|| format!("line {}", document.start_line))
    });
    Ok(Domain {
        mistakes: mistakes
            .filter_map(|name| name.as_text().map(str::to_owned))
            .collect(),
        certificate: certificate.context("`certificate`")?,
        entries: entries.collect::<anyhow::Result<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_of_a_newer_program_survives() {
        let text = "---\n---\n_path: /a\nreason: sunspots\nsince: '2026-11-21T11:11:06Z'\n\
                    state: unreachable\n";
        let domain = parse("example.org", text).unwrap();
        assert_eq!(write_documents(&domain.to_documents()), text);
    }
}
