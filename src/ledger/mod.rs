//! What is remembered of every URL between runs: small text files in git.
//!
//! - `HOST.yaml` has the shape of a domain file. Its metadata has the mistakes in the domain file and
//!   the dates of the host's certificate; each further document has the status of one job.
//! - `captures/HOST-….yaml` has the archived content of each job.
//! - `incidents/ID.yaml` is about one incident.
//! - `history/MONTH.jsonl` has a line for each run and for each change of a believed state.
//!
//! A run without changes appends one line to the history and rewrites no other file. The ledger alone
//! is enough to detect transitions and to write correct revisit records, so a fresh checkout needs no
//! archive.

mod captures;
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

pub use captures::folder as captures_folder;
pub use entry::{BadResponse, Capture, Content, Entry};
pub use history::{
    BaseRun, ChangeLine, HistoryLine, IncidentLine, Lines, PastRun, RehashDays, RunLine, SoughtUrl,
    Verifications, append, folder as history_folder, is_history, lines, past_runs,
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
    /// Whether the file of captures differs from the entries.
    is_content_changed: bool,
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
            let Some(text) = read(&path)? else {
                continue;
            };
            let using = |path: &Path| format!("cannot use {}", path.display());
            let mut read_domain = parse(domain, &text).with_context(|| using(&path))?;
            let path = captures::file_of(folder, domain);
            if let Some(text) = read(&path)? {
                let contents = captures::parse(domain, &text).with_context(|| using(&path))?;
                read_domain.add_contents(contents);
            }
            known.insert(domain.to_owned(), read_domain);
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
        let content = known.and_then(|known| known.content.as_ref());
        let is_content_changed = content != entry.content.as_ref();
        self.changed.insert(key.domain.clone());
        let domain = self.domains.entry(key.domain.clone()).or_default();
        domain.is_content_changed |= is_content_changed;
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
        let Some(domain) = self.domains.get_mut(&key.domain) else {
            return;
        };
        if let Some(entry) = domain.entries.remove(key) {
            domain.is_content_changed |= entry.content.is_some();
            self.changed.insert(key.domain.clone());
        }
    }

    /// The names of the archive files that entries refer to.
    pub fn capture_files(&self) -> BTreeSet<String> {
        let entries = self.domains.values().flat_map(|it| it.entries.values());
        let files = entries.flat_map(|entry| {
            let capture = entry.content.as_ref().and_then(|it| it.capture.as_ref());
            let bad = entry.bad_response.as_ref();
            let files = [capture.map(|it| &it.file), bad.map(|it| &it.file)];
            files.into_iter().flatten()
        });
        files.cloned().collect()
    }

    /// Removes references to captures in these archive files, so that the next run captures their
    /// content again.
    pub fn forget_captures(&mut self, files: &BTreeSet<String>) {
        for (name, domain) in &mut self.domains {
            for entry in domain.entries.values_mut() {
                let content = entry.content.as_mut();
                let capture = content.and_then(|content| {
                    let capture = &mut content.capture;
                    let capture = capture.take_if(|capture| files.contains(&capture.file))?;
                    // The captures of the redirects may be in the same file.
                    content.redirects = None;
                    Some(capture)
                });
                let bad_response = entry.bad_response.take_if(|bad| files.contains(&bad.file));
                domain.is_content_changed |= capture.is_some();
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
        let (mut kept, mut kept_captures) = (BTreeSet::new(), BTreeSet::new());
        for host in hosts {
            kept.insert(file_of(&self.folder, host));
            kept_captures.insert(captures::file_of(&self.folder, host));
        }
        remove_others(&self.folder, &kept, is_ours)?;
        let folder = captures::folder(&self.folder);
        remove_others(&folder, &kept_captures, captures::is_ours)
    }

    /// Writes the files that have changed, each atomically, the captures of a domain before its statuses.
    pub fn save(&mut self) -> anyhow::Result<()> {
        if self.changed.is_empty() {
            return Ok(());
        }
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make the ledger folder {}", self.folder.display()))?;
        while let Some(name) = self.changed.pop_first() {
            let domain = self.domains.entry(name.clone()).or_default();
            if std::mem::take(&mut domain.is_content_changed) {
                captures::save(&self.folder, &name, domain.contents())?;
            }
            write(&file_of(&self.folder, &name), &domain.to_documents())?;
        }
        Ok(())
    }
}

fn file_of(folder: &Path, domain: &str) -> PathBuf {
    folder.join(format!("{domain}.yaml"))
}

/// The text of a file; `None` if there is none.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match urldb_files::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn write(path: &Path, documents: &[Mapping]) -> anyhow::Result<()> {
    let text = write_documents(documents);
    urldb_files::write_atomically(path, text.as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Removes the files of a folder that are not kept, if they are ours.
fn remove_others(
    folder: &Path,
    kept: &BTreeSet<PathBuf>,
    is_ours: impl Fn(&Path) -> bool,
) -> anyhow::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", folder.display()));
        }
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if !kept.contains(&path) && is_ours(&path) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
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

    /// Adds what the file of captures has. The content in an entry of an older version was written later.
    fn add_contents(&mut self, contents: Vec<(JobKey, Content)>) {
        for (key, content) in contents {
            if let Some(entry) = self.entries.get_mut(&key) {
                entry.content.get_or_insert(content);
            }
        }
    }

    fn contents(&self) -> impl Iterator<Item = (&JobKey, &Content)> {
        let entries = self.entries.iter();
        entries.filter_map(|(key, entry)| Some((key, entry.content.as_ref()?)))
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
    let entries: BTreeMap<JobKey, Entry> = entries.collect::<anyhow::Result<_>>()?;
    Ok(Domain {
        mistakes: mistakes
            .filter_map(|name| name.as_text().map(str::to_owned))
            .collect(),
        certificate: certificate.context("`certificate`")?,
        is_content_changed: entries.values().any(|entry| entry.content.is_some()),
        entries,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "---\n---\n_path: /a\ncapture:\n  date: '2026-11-21T11:11:06Z'\n  \
                       file: a.warc.gz\n  record: urn:uuid:1\n  uri: http://example.org/a\n\
                       digest: sha256:1\netag: '\"1\"'\nsince: '2026-11-21T11:11:06Z'\nstate: ok\n\
                       ---\n_path: /b\nsince: '2026-11-21T11:11:06Z'\nstate: gone\n";

    #[test]
    fn a_reason_of_a_newer_program_survives() {
        let text = "---\n---\n_path: /a\nreason: sunspots\nsince: '2026-11-21T11:11:06Z'\n\
                    state: unreachable\n";
        let domain = parse("example.org", text).unwrap();
        assert_eq!(write_documents(&domain.to_documents()), text);
    }

    /// A folder with the ledger file of an older version, and the path of the file of captures.
    fn old_ledger() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(file_of(folder.path(), "example.org"), OLD).unwrap();
        let captures = captures::file_of(folder.path(), "example.org");
        (folder, captures)
    }

    fn load(folder: &tempfile::TempDir) -> Ledger {
        Ledger::load(folder.path(), ["example.org"]).unwrap()
    }

    fn keys(ledger: &Ledger) -> [JobKey; 2] {
        let keys: Vec<JobKey> = ledger.keys().cloned().collect();
        keys.try_into().unwrap()
    }

    #[test]
    fn the_file_of_an_older_version_becomes_two() {
        let (folder, captures) = old_ledger();
        let mut ledger = load(&folder);
        ledger.save().unwrap();
        assert!(!captures.exists(), "nothing has changed");
        let [a, b] = keys(&ledger);
        let content = ledger.get(&a).unwrap().content.clone().unwrap();
        let mut entry = ledger.get(&b).unwrap().clone();
        entry.failures.push("a run".to_owned());
        ledger.set(&b, entry, Timestamp::UNIX_EPOCH);
        ledger.save().unwrap();
        let status = fs::read_to_string(file_of(folder.path(), "example.org")).unwrap();
        assert!(
            !status.contains("digest") && !status.contains("etag"),
            "{status}"
        );
        let text = fs::read_to_string(&captures).unwrap();
        assert!(
            text.starts_with("---\n---\n_path: /a\ncapture:\n"),
            "{text}"
        );
        assert!(!text.contains("state") && !text.contains("/b"), "{text}");
        let again = load(&folder);
        assert_eq!(again.get(&a).unwrap().content.as_ref(), Some(&content));
        assert_eq!(again.get(&b).unwrap().content, None);

        // News without other content leaves the captures alone.
        fs::write(&captures, text.replace("---\n---\n", "---\n\n---\n")).unwrap();
        let touched = fs::read_to_string(&captures).unwrap();
        let mut ledger = load(&folder);
        let mut entry = ledger.get(&a).unwrap().clone();
        entry.incident = Some("1f".to_owned());
        ledger.set(&a, entry, Timestamp::UNIX_EPOCH);
        ledger.save().unwrap();
        assert_eq!(fs::read_to_string(&captures).unwrap(), touched);
    }

    #[test]
    fn captures_go_with_their_entry_and_their_domain() {
        let (folder, captures) = old_ledger();
        let mut ledger = load(&folder);
        let [a, b] = keys(&ledger);
        ledger.forget(&b);
        ledger.save().unwrap();
        let other = captures.with_file_name("notes.yaml");
        fs::write(&other, "---\nnotes: of somebody\n").unwrap();
        ledger.forget_others(["example.org"]).unwrap();
        assert!(captures.exists());
        ledger.forget_others(["other.example"]).unwrap();
        assert!(!captures.exists() && other.exists());

        let (folder, captures) = old_ledger();
        let mut ledger = load(&folder);
        ledger.forget(&b);
        ledger.save().unwrap();
        ledger.forget(&a);
        ledger.save().unwrap();
        assert!(!captures.exists());
        fs::write(&captures, "---\n---\n_path: /a\n").unwrap();
        let damaged = Ledger::load(folder.path(), ["example.org"]).unwrap_err();
        let told = format!("{damaged:#}");
        assert!(
            told.contains("line 2") && told.contains("captures"),
            "{told}"
        );
    }

    #[test]
    fn names_of_captures_end_with_a_part_of_their_own_and_are_not_too_long() {
        let name = |domain: &str| {
            let path = captures::file_of(Path::new("status"), domain);
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("example.test"), "example.test-9b263fbc.yaml");
        let long = "a".repeat(250);
        assert!(name(&long).len() < 220);
        assert_ne!(name(&long), name(&(long.clone() + "b")));
    }
}
