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
mod spool;
pub(crate) mod storage;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use urldb_format::{Mapping, Value, read_documents, write_documents};
use urldb_protocol::CertificateDates;
use urldb_verdict::JobKey;

/// The folders of the ledger, in its own.
pub(crate) const FOLDERS: [&str; 5] = ["", "captures", "history", "incidents", "outbox"];

pub use captures::folder as captures_folder;
pub use entry::{BadResponse, Capture, Content, Entry};
#[cfg(test)]
pub(crate) use history::tests::{any_time, hostile_lines};
pub use history::{
    BaseRun, ChangeLine, HistoryLine, IncidentLine, Lines, PastRun, PastRuns, RehashDays, RunLine,
    SoughtUrl, Starts, Verifications, append, folder as history_folder, is_history, is_known,
    lines, past_runs, take_future,
};
pub use incidents::Incidents;
pub use merge::{merge, merge_history};

use spool::{Spool, SpooledDomain};

/// The state of every URL, read from and written to one folder.
///
/// Entries are in memory while their domain is open. [`Ledger::close`] puts changed entries aside in a
/// temporary file, which no other process sees; only [`Ledger::save`] changes the files of the ledger.
#[derive(Debug)]
pub struct Ledger {
    folder: PathBuf,
    domains: BTreeMap<String, Domain>,
    changed: BTreeSet<String>,
    spool: Spool,
}

/// The ledger file of one domain.
#[derive(Debug, Default)]
struct Domain {
    /// The names of the mistakes in the domain file, sorted.
    mistakes: Vec<String>,
    /// The dates of the certificate that the host showed last.
    certificate: Option<CertificateDates>,
    /// Where the entries are, if not in memory.
    closed: Option<Closed>,
    /// Empty while the domain is closed.
    entries: BTreeMap<JobKey, Slot>,
    /// Whether the file of captures differs from the entries.
    is_content_changed: bool,
    /// Whether the mistakes or the certificate have changed since the entries were put aside.
    is_head_changed: bool,
}

/// The entries of a domain that is not open.
#[derive(Debug, Clone, Copy)]
enum Closed {
    /// The files of the ledger have them.
    Unchanged,
    /// The temporary file has them, since they differ from the files.
    Spooled(SpooledDomain),
}

/// An entry in memory.
#[derive(Debug)]
struct Slot {
    entry: Entry,
    /// Whether the run has planned the job.
    is_planned: bool,
}

impl From<Entry> for Slot {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            is_planned: false,
        }
    }
}

impl Ledger {
    /// The ledger in a folder, without an open domain.
    pub fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            domains: BTreeMap::new(),
            changed: BTreeSet::new(),
            spool: Spool::new(folder),
        }
    }

    /// Opens these domains.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn load<'a>(
        folder: &Path,
        domains: impl IntoIterator<Item = &'a str>,
    ) -> anyhow::Result<Self> {
        let mut ledger = Self::new(folder);
        for domain in domains {
            ledger.open(domain)?;
        }
        Ok(ledger)
    }

    /// Reads the entries of a domain, unless it is open. A domain without a file has no entries.
    ///
    /// # Errors
    /// When a file cannot be read, or has another form than this program writes: nothing is forgotten
    /// silently.
    pub fn open(&mut self, domain: &str) -> anyhow::Result<()> {
        let closed = self.domains.get(domain).map(|known| known.closed);
        let read = match closed {
            Some(None) => return Ok(()),
            Some(Some(Closed::Spooled(spooled))) => {
                let (statuses, contents) = self.spool.read(spooled)?;
                let read = parse(domain, &statuses).context("the ledger's temporary file")?;
                let contents = contents.map(|text| captures::parse(domain, &text));
                match contents {
                    Some(contents) => Some(read.with_contents(contents?)),
                    None => Some(self.with_captures(domain, read)?),
                }
            }
            None | Some(Some(Closed::Unchanged)) => self.read_files(domain)?,
        };
        match (self.domains.get_mut(domain), read) {
            // Mistakes and the certificate may have changed while the domain was closed: only the entries are
            // replaced.
            (Some(known), Some(read)) => {
                known.is_content_changed |= read.is_content_changed;
                known.entries = read.entries;
                known.closed = None;
            }
            (Some(known), None) => known.closed = None,
            (None, read) => {
                let read = read.unwrap_or_default();
                self.domains.insert(domain.to_owned(), read);
            }
        }
        Ok(())
    }

    /// Reads the files of a domain; `None` without a file of statuses.
    fn read_files(&self, domain: &str) -> anyhow::Result<Option<Domain>> {
        let path = file_of(&self.folder, domain);
        let Some(text) = read(&path)? else {
            return Ok(None);
        };
        let read_domain = parse(domain, &text).with_context(|| using(&path))?;
        self.with_captures(domain, read_domain).map(Some)
    }

    /// The domain with what its file of captures has.
    fn with_captures(&self, domain: &str, known: Domain) -> anyhow::Result<Domain> {
        let path = captures::file_of(&self.folder, domain);
        let Some(text) = read(&path)? else {
            return Ok(known);
        };
        let contents = captures::parse(domain, &text).with_context(|| using(&path))?;
        Ok(known.with_contents(contents))
    }

    /// Drops the entries of a domain from memory. Changed entries are put aside until [`Ledger::save`]; where
    /// that is impossible, the domain stays open.
    pub fn close(&mut self, domain: &str) {
        let Some(known) = self.domains.get_mut(domain) else {
            return;
        };
        if known.closed.is_some() {
            return;
        }
        let closed = if self.changed.contains(domain) {
            let (statuses, contents) = known.texts();
            let Some(spooled) = self.spool.add(&statuses, contents.as_deref()) else {
                return;
            };
            Closed::Spooled(spooled)
        } else {
            Closed::Unchanged
        };
        known.entries = BTreeMap::new();
        known.closed = Some(closed);
        known.is_head_changed = false;
        if matches!(closed, Closed::Unchanged) && known.is_empty() {
            self.domains.remove(domain);
        }
    }

    /// The entry of one job. Its domain is open.
    pub fn get(&self, key: &JobKey) -> Option<&Entry> {
        let slot = self.domains.get(&key.domain)?.entries.get(key)?;
        Some(&slot.entry)
    }

    /// The jobs of open domains that have an entry.
    pub fn keys(&self) -> impl Iterator<Item = &JobKey> {
        self.domains
            .values()
            .flat_map(|domain| domain.entries.keys())
    }

    /// Marks a job as planned, while its domain is open.
    pub fn set_planned(&mut self, key: &JobKey) {
        let domain = self.domains.get_mut(&key.domain);
        if let Some(slot) = domain.and_then(|domain| domain.entries.get_mut(key)) {
            slot.is_planned = true;
        }
    }

    /// The jobs of an open domain that were not planned since it was opened.
    pub fn unplanned(&self, domain: &str) -> impl Iterator<Item = &JobKey> {
        let entries = self.domains.get(domain).map(|domain| &domain.entries);
        let entries = entries.into_iter().flatten();
        entries.filter_map(|(key, slot)| (!slot.is_planned).then_some(key))
    }

    /// Replaces the entry of one job of an open domain, as of `now`. A new entry dates from now; an entry
    /// that does not change keeps its date.
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
        match domain.entries.get_mut(key) {
            Some(slot) => slot.entry = entry,
            None => {
                domain.entries.insert(key.clone(), entry.into());
            }
        }
    }

    /// The mistakes and the certificate of a domain that was opened, and may be closed.
    fn head(&mut self, domain: &str) -> &mut Domain {
        let closed = || Domain {
            closed: Some(Closed::Unchanged),
            ..Domain::default()
        };
        self.domains.entry(domain.to_owned()).or_insert_with(closed)
    }

    /// The dates of the certificate that a host showed last. Its domain was opened before.
    pub fn certificate(&self, domain: &str) -> Option<&CertificateDates> {
        self.domains.get(domain)?.certificate.as_ref()
    }

    /// Remembers the certificates that a host showed in one run; its domain was opened before. A host may
    /// show several, in turns: the ledger keeps the one it has if the host showed it again, and else the
    /// one that ends first.
    pub fn set_certificate(&mut self, domain: &str, shown: &BTreeSet<CertificateDates>) {
        let known = self.certificate(domain);
        let next = shown.iter().min_by_key(|dates| dates.not_after);
        if let Some(next) = next
            && !known.is_some_and(|known| shown.contains(known))
        {
            self.changed.insert(domain.to_owned());
            let domain = self.head(domain);
            domain.certificate = Some(next.clone());
            domain.is_head_changed = true;
        }
    }

    /// Removes the entry of one job of an open domain.
    pub fn forget(&mut self, key: &JobKey) {
        let Some(domain) = self.domains.get_mut(&key.domain) else {
            return;
        };
        if let Some(slot) = domain.entries.remove(key) {
            domain.is_content_changed |= slot.entry.content.is_some();
            self.changed.insert(key.domain.clone());
        }
    }

    /// The names of the archive files that entries of open domains refer to.
    pub fn capture_files(&self) -> BTreeSet<String> {
        let entries = self.domains.values().flat_map(|it| it.entries.values());
        let files = entries.flat_map(|slot| {
            let content = slot.entry.content.as_ref();
            let capture = content.and_then(|it| it.capture.as_ref());
            let bad = slot.entry.bad_response.as_ref();
            let files = [capture.map(|it| &it.file), bad.map(|it| &it.file)];
            files.into_iter().flatten()
        });
        files.cloned().collect()
    }

    /// The domains that [`Ledger::save`] is going to write.
    pub fn changed(&self) -> &BTreeSet<String> {
        &self.changed
    }

    /// Removes references to captures in these archive files from an open domain, so that the next run
    /// captures their content again.
    pub fn forget_captures(&mut self, name: &str, files: &BTreeSet<String>) {
        let Some(domain) = self.domains.get_mut(name) else {
            return;
        };
        for Slot { entry, .. } in domain.entries.values_mut() {
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
                self.changed.insert(name.to_owned());
            }
        }
    }

    /// Replaces the sorted names of the mistakes in a domain file, and returns the former names. The domain
    /// was opened before.
    pub fn replace_mistakes(&mut self, domain: &str, mistakes: Vec<String>) -> Vec<String> {
        let known = self.domains.get(domain);
        if known.map_or(&[][..], |known| &known.mistakes) == mistakes {
            return mistakes;
        }
        self.changed.insert(domain.to_owned());
        let known = self.head(domain);
        known.is_head_changed = true;
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
            let Some(domain) = self.domains.get(&name) else {
                continue;
            };
            let spooled = match domain.closed {
                Some(Closed::Spooled(spooled)) if !domain.is_head_changed => Some(spooled),
                _ => None,
            };
            let was_closed = domain.closed.is_some();
            let (statuses, contents) = if let Some(spooled) = spooled {
                self.spool.read(spooled)?
            } else {
                self.open(&name)?;
                self.domains[&name].texts()
            };
            if let Some(text) = contents {
                captures::save(&self.folder, &name, &text)?;
            }
            write(&file_of(&self.folder, &name), &statuses)?;
            if let Some(domain) = self.domains.get_mut(&name) {
                domain.is_content_changed = false;
                domain.is_head_changed = false;
                if was_closed {
                    domain.entries = BTreeMap::new();
                    domain.closed = Some(Closed::Unchanged);
                }
            }
        }
        Ok(())
    }
}

fn using(path: &Path) -> String {
    format!("cannot use {}", path.display())
}

fn file_of(folder: &Path, domain: &str) -> PathBuf {
    folder.join(format!("{domain}.yaml"))
}

/// The text of a file; `None` if there is none.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match storage::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    storage::write(path, text.as_bytes())
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
    let text = domain.and_then(|_| storage::read_to_string(path).ok());
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
    fn with_contents(mut self, contents: Vec<(JobKey, Content)>) -> Self {
        for (key, content) in contents {
            if let Some(slot) = self.entries.get_mut(&key) {
                slot.entry.content.get_or_insert(content);
            }
        }
        self
    }

    /// The text of the file of statuses, and that of the file of captures if it has changed.
    fn texts(&self) -> (String, Option<String>) {
        let entries = self.entries.iter();
        let contents = entries.filter_map(|(key, slot)| Some((key, slot.entry.content.as_ref()?)));
        let contents = self.is_content_changed.then(|| captures::text(contents));
        (write_documents(&self.to_documents()), contents)
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
        let entries = entries.map(|(key, slot)| slot.entry.to_mapping(key));
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
    let entries = entries.map(|read| read.map(|(key, entry)| (key, Slot::from(entry))));
    let entries: BTreeMap<JobKey, Slot> = entries.collect::<anyhow::Result<_>>()?;
    Ok(Domain {
        mistakes: mistakes
            .filter_map(|name| name.as_text().map(str::to_owned))
            .collect(),
        certificate: certificate.context("`certificate`")?,
        is_content_changed: entries.values().any(|slot| slot.entry.content.is_some()),
        is_head_changed: false,
        closed: None,
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

    /// Entries, mistakes and certificate come back however often a domain is closed, and only `save`
    /// changes the files.
    #[test]
    fn a_closed_domain_is_saved_as_an_open_one() {
        let edit = |is_closing: bool| {
            let (folder, captures) = old_ledger();
            fs::write(file_of(folder.path(), "other.org"), "---\nmistakes:\n- a\n").unwrap();
            let mut ledger = Ledger::new(folder.path());
            let close = |ledger: &mut Ledger| {
                if is_closing {
                    ledger.close("example.org");
                    assert_eq!(ledger.keys().count(), 0);
                    ledger.open("example.org").unwrap();
                }
            };
            ledger.open("example.org").unwrap();
            close(&mut ledger);
            let [a, b] = keys(&ledger);
            let mut entry = ledger.get(&b).unwrap().clone();
            entry.failures.push("a run".to_owned());
            ledger.set(&b, entry, Timestamp::UNIX_EPOCH);
            close(&mut ledger);
            ledger.set_planned(&b);
            assert_eq!(ledger.unplanned("example.org").collect::<Vec<_>>(), [&a]);
            assert_eq!(ledger.get(&b).unwrap().failures, ["a run"]);
            assert!(ledger.get(&a).unwrap().content.is_some());
            ledger.close("example.org");
            ledger.replace_mistakes("example.org", vec!["one".to_owned()]);
            if is_closing {
                ledger.open("example.org").unwrap();
                let mut entry = ledger.get(&a).unwrap().clone();
                entry.incident = Some("1f".to_owned());
                ledger.set(&a, entry, Timestamp::UNIX_EPOCH);
                ledger.close("example.org");
            } else {
                ledger.open("example.org").unwrap();
                let mut entry = ledger.get(&a).unwrap().clone();
                entry.incident = Some("1f".to_owned());
                ledger.set(&a, entry, Timestamp::UNIX_EPOCH);
            }
            ledger.open("other.org").unwrap();
            ledger.close("other.org");
            ledger.open("none.org").unwrap();
            ledger.close("none.org");
            let status = file_of(folder.path(), "example.org");
            assert_eq!(fs::read_to_string(&status).unwrap(), OLD);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
            ledger.save().unwrap();
            assert!(ledger.changed().is_empty());
            let other = fs::read_to_string(file_of(folder.path(), "other.org")).unwrap();
            assert_eq!(other, "---\nmistakes:\n- a\n");
            [status, captures].map(|path| fs::read_to_string(path).unwrap())
        };
        let [statuses, captures] = edit(true);
        assert!(
            statuses.contains("- one") && statuses.contains("1f") && statuses.contains("a run")
        );
        assert!(captures.contains("digest: sha256:1"));
        assert_eq!(edit(false), [statuses, captures]);
    }

    #[test]
    fn a_domain_stays_open_where_nothing_can_be_put_aside() {
        let (folder, _) = old_ledger();
        let mut ledger = load(&folder);
        let [a, _] = keys(&ledger);
        ledger.forget(&a);
        // A folder that is a file takes no temporary files.
        ledger.spool = Spool::new(&file_of(folder.path(), "example.org"));
        ledger.close("example.org");
        assert_eq!(ledger.keys().count(), 1);
        ledger.save().unwrap();
        assert_eq!(load(&folder).keys().count(), 1);
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
