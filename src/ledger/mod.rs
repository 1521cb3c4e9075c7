//! The memory of runs about every URL: small text files in git.
//!
//! - `HOST.yaml` has the shape of a domain file. Its metadata has the dates of the host's certificate; each
//!   further document has the status of one job.
//! - `captures/HOST-….yaml` has the archived content of each job.
//! - `archive.yaml` says when the files of the archive's places were read.
//! - `incidents/ID.yaml` is about one incident.
//! - `history/MONTH.jsonl` has a line for each run.
//!
//! A run without changes appends one line to the history and rewrites no other file. The ledger alone
//! is enough to detect transitions and to write correct revisit records, so a fresh checkout needs no
//! archive.

mod captures;
pub mod damage;
mod documents;
mod domain;
mod entries;
mod entry;
mod history;
pub mod incidents;
mod merge;
mod names;
mod origins;
mod record;
mod spool;
pub(crate) mod update;

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use anyhow::Context;
use jiff::Timestamp;
use urldb_files::{Root, RootFile};
use urldb_protocol::CertificateDates;
use urldb_verdict::JobKey;

/// The folders of the ledger, in its own.
pub(crate) const FOLDERS: [&str; 6] = ["", "captures", "history", "incidents", "origins", "outbox"];

/// Most records about the hosts of a domain's URLs.
const MOST_ORIGINS: usize = 256;

pub(crate) use domain::ARCHIVE_FILE;

pub use captures::{LedgerCapture, folder as captures_folder};
pub use entry::{BadResponse, Capture, Content, Entry};
#[cfg(test)]
pub(crate) use history::tests::{any_time, hostile_lines};
pub use history::{
    BaseRun, HistoryBase, ImpairedHosts, Lines, PastRuns, RehashDays, RunLine, SoughtUrl, Starts,
    Verification, Verifications, VerificationsBuilder, append, folder as history_folder,
    is_history, is_known, lines, past_runs, run_line, take_future,
};
pub use incidents::{IncidentFile, Incidents, NewestCard};
pub use merge::{merge, merge_history};
pub use origins::{
    KnownOrigin, KnownOrigins, OFTEN, folder as origins_folder, read as read_origins,
};
pub use record::{Archived, JobRecord, KnownCaptures};
pub use update::{RunPoint, StatusUpdate, update};

use domain::{Domain, file_of};
use entries::Entries;
use spool::Spool;

/// The state of every URL, read from and written to one folder.
///
/// Entries are in memory while their domain is open. [`Ledger::close`] puts changed entries aside in a temporary file,
/// which no other process sees; only [`Ledger::save`] changes the files of the ledger.
#[derive(Debug)]
pub struct Ledger {
    folder: Root,
    domains: BTreeMap<String, Domain>,
    changed: BTreeSet<String>,
    /// The domains whose files stay; all without a value.
    kept: Option<BTreeSet<String>>,
    spool: Spool,
    /// The first error of changing an entry.
    fault: Option<anyhow::Error>,
}

impl Ledger {
    /// The ledger in a folder, without an open domain.
    pub fn new(folder: &Root) -> Self {
        Self {
            folder: folder.clone(),
            domains: BTreeMap::new(),
            changed: BTreeSet::new(),
            kept: None,
            spool: Spool::new(folder),
            fault: None,
        }
    }

    /// Opens these domains, with all of their entries in memory.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn load<'a>(
        folder: &Root,
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
        let known = self.domains.get(domain);
        if known.is_some_and(|known| known.entries.is_some()) {
            return Ok(());
        }
        let mut read = Domain::default();
        match known.and_then(|known| known.aside.as_ref()) {
            Some(aside) => read.entries = Some(self.spool.read(domain, aside)?),
            None => read = Domain::read(&self.folder, domain)?,
        }
        match self.domains.get_mut(domain) {
            // The certificate may have changed while the domain was closed: only the entries are replaced.
            Some(known) => known.entries = read.entries,
            None => drop(self.domains.insert(domain.to_owned(), read)),
        }
        Ok(())
    }

    /// The entries of an open domain.
    fn entries(&self, domain: &str) -> Option<&Entries> {
        self.domains.get(domain)?.entries.as_ref()
    }

    /// Drops the entries of a domain from memory. Changed entries are put aside until [`Ledger::save`]; where
    /// that is impossible, they stay.
    pub fn close(&mut self, domain: &str) {
        let is_changed = self.changed.contains(domain);
        let Some(known) = self.domains.get_mut(domain) else {
            return;
        };
        if is_changed
            && known.aside.is_none()
            && let Some(entries) = &known.entries
        {
            known.aside = self.spool.add(entries).ok();
        }
        if !is_changed || known.aside.is_some() {
            known.entries = None;
        }
        if !is_changed && known.is_empty() {
            self.domains.remove(domain);
        }
    }

    /// The entry of one job, whose domain is open.
    pub fn get(&self, key: &JobKey) -> Option<Entry> {
        self.entries(&key.domain)?.get(key)
    }

    /// The jobs that have an entry in memory: all jobs of open domains.
    pub fn keys(&self) -> impl Iterator<Item = JobKey> {
        let entries = self.domains.values().filter_map(|it| it.entries.as_ref());
        entries.flat_map(Entries::keys)
    }

    /// Marks a job of an open domain as planned.
    pub fn set_planned(&mut self, key: &JobKey) {
        let known = self.domains.get_mut(&key.domain);
        if let Some(entries) = known.and_then(|known| known.entries.as_mut()) {
            entries.set_planned(key);
        }
    }

    /// The jobs of a domain that were not planned since it was opened.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn unplanned(&mut self, domain: &str) -> anyhow::Result<Vec<JobKey>> {
        self.open(domain)?;
        Ok(self
            .entries(domain)
            .map_or_else(Vec::new, Entries::unplanned))
    }

    /// Replaces the entry of one job, whose domain is open, as of `now`. A new entry dates from now; an
    /// entry that does not change keeps its date. [`Self::save`] returns an error that occurs.
    pub fn set(&mut self, key: &JobKey, mut entry: Entry, now: Timestamp) {
        let known = self.get(key);
        let dates = known.as_ref().map(|it| (it.added, it.updated));
        (entry.added, entry.updated) = dates.unwrap_or((now, now));
        if known.as_ref() == Some(&entry) {
            return;
        }
        entry.updated = now;
        let is_content_changed = known.and_then(|known| known.content) != entry.content;
        if let Err(error) = self.put(key, &entry, is_content_changed) {
            self.fault.get_or_insert(error);
        }
    }

    fn put(&mut self, key: &JobKey, entry: &Entry, is_content_changed: bool) -> anyhow::Result<()> {
        self.changed.insert(key.domain.clone());
        let known = self.head(&key.domain);
        known.is_content_changed |= is_content_changed;
        known.aside = None;
        let entries = known
            .entries
            .get_or_insert_with(|| Entries::new(&key.domain));
        entries.set(key, entry)
    }

    /// The facts about a domain that was opened, and may be closed, besides its entries.
    fn head(&mut self, domain: &str) -> &mut Domain {
        self.domains.entry(domain.to_owned()).or_default()
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
            self.head(domain).certificate = Some(next.clone());
        }
    }

    /// The last archived records about the hosts of a domain's URLs.
    ///
    /// # Errors
    /// When their file cannot be read, or has another form than this program writes.
    pub fn origins(&self, domain: &str) -> anyhow::Result<KnownOrigins> {
        let known = self.domains.get(domain);
        match known.and_then(|known| known.changed_origins.as_ref()) {
            Some(changed) => Ok(changed.clone()),
            None => read_origins(&self.folder, domain),
        }
    }

    /// Remembers new records about hosts of a domain's URLs, by URI. Of two records about one host, the later
    /// counts, unless the host changes often. There are at most 256: a server may redirect to another host
    /// each time.
    ///
    /// # Errors
    /// As [`Ledger::origins`].
    pub fn set_origins(&mut self, domain: &str, new: &KnownOrigins) -> anyhow::Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        let mut origins = self.origins(domain)?;
        let mut has_changed = false;
        for (uri, new) in new {
            let is_news = match origins.get(uri) {
                Some(known) => known.since < new.since && !known.changes_often(),
                None => origins.len() < MOST_ORIGINS,
            };
            if is_news {
                origins.insert(uri.clone(), new.clone());
                has_changed = true;
            }
        }
        if !has_changed {
            return Ok(());
        }
        self.changed.insert(domain.to_owned());
        self.head(domain).changed_origins = Some(origins);
        Ok(())
    }

    /// Removes the entry of one job, whose domain is open.
    pub fn forget(&mut self, key: &JobKey) {
        let Some(domain) = self.domains.get_mut(&key.domain) else {
            return;
        };
        if let Some(entry) = domain.entries.as_mut().and_then(|it| it.remove(key)) {
            domain.is_content_changed |= entry.content.is_some();
            domain.aside = None;
            self.changed.insert(key.domain.clone());
        }
    }

    /// The captures that entries of an open domain refer to, in archive files that are wanted.
    ///
    /// # Errors
    /// As [`Ledger::origins`].
    pub fn captures_where(
        &self,
        domain: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Vec<LedgerCapture>> {
        let mut found = vec![];
        let Some(entries) = self.entries(domain) else {
            return Ok(found);
        };
        for entry in entries.iter() {
            let (_, entry) = entry?;
            found.extend(LedgerCapture::of(&entry).filter(|capture| is_wanted(&capture.file)));
        }
        let origins = self
            .origins(domain)?
            .into_iter()
            .map(|(uri, known)| LedgerCapture::of_origin(uri, known));
        found.extend(origins.filter(|capture| is_wanted(&capture.file)));
        Ok(found)
    }

    /// The domains that [`Ledger::save`] is going to write.
    pub fn changed(&self) -> &BTreeSet<String> {
        &self.changed
    }

    /// Removes references to captures in these archive files from an open domain, so that the next request for
    /// their content is unconditional and captures it again. The content remembers that the run of this time, in
    /// whole seconds, found its capture lost.
    ///
    /// # Errors
    /// As [`Ledger::origins`].
    pub fn forget_captures(
        &mut self,
        name: &str,
        files: &BTreeSet<String>,
        now: Timestamp,
    ) -> anyhow::Result<()> {
        let Some(entries) = self.entries(name) else {
            return Ok(());
        };
        let mut changed = vec![];
        for entry in entries.iter() {
            let (key, mut entry) = entry?;
            let is_lost = entry
                .content
                .as_mut()
                .is_some_and(|content| content.lose(files, now));
            let bad_response = entry.bad_response.take_if(|bad| files.contains(&bad.file));
            if is_lost || bad_response.is_some() {
                changed.push((key, entry, is_lost));
            }
        }
        for (key, entry, is_lost) in changed {
            self.put(&key, &entry, is_lost)?;
        }
        let mut origins = self.origins(name)?;
        if origins::forget(&mut origins, files) {
            self.changed.insert(name.to_owned());
            self.head(name).changed_origins = Some(origins);
        }
        Ok(())
    }

    /// Whether the ledger has a file of the domain.
    pub fn has_file(&self, domain: &str) -> bool {
        file_of(&self.folder, domain).is_file()
    }

    /// Takes the entries of a domain that moved into the domain `to`, which has none: those of URLs that are as promised.
    /// The other entries stay behind: a failure at the new address is news. Returns the number of entries taken.
    ///
    /// # Errors
    /// As [`Ledger::open`].
    pub fn take_over(&mut self, from: &str, to: &str) -> anyhow::Result<u64> {
        self.open(to)?;
        let former = Self::load(&self.folder, [from])?;
        let mut taken = 0;
        for known in former.keys() {
            let Some(entry) = former.get(&known).filter(Entry::is_settled) else {
                continue;
            };
            let key = JobKey {
                domain: to.to_owned(),
                ..known
            };
            self.put(&key, &entry, entry.content.is_some())?;
            taken += 1;
        }
        self.close(to);
        Ok(taken)
    }

    /// Lets [`Ledger::save`] remove the ledger files of all other domains: their domain files are gone.
    pub fn forget_others<'a>(&mut self, hosts: impl IntoIterator<Item = &'a str>) {
        self.kept = Some(hosts.into_iter().map(str::to_owned).collect());
    }

    /// Writes the files that have changed, each atomically, the captures of a domain before its statuses. Removes
    /// the files of forgotten domains after that: another domain may have taken their entries over.
    pub fn save(&mut self) -> anyhow::Result<()> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        while let Some(name) = self.changed.pop_first() {
            let known = self.head(&name);
            let is_open = known.entries.is_some();
            if !is_open && known.aside.is_none() {
                self.open(&name)?;
            }
            let Some(domain) = self.domains.get_mut(&name) else {
                continue;
            };
            if let Some(origins) = domain.changed_origins.take() {
                origins::save(&self.folder, &name, &origins)?;
            }
            if domain.is_content_changed {
                let file = captures::file_of(&self.folder, &name);
                domain.save_captures(&file, &self.spool)?;
            }
            let file = file_of(&self.folder, &name);
            domain.save_statuses(&file, &self.spool)?;
            domain.is_content_changed = false;
            domain.aside = None;
            if !is_open {
                domain.entries = None;
            }
        }
        match self.kept.take() {
            Some(hosts) => self.remove_others(&hosts),
            None => Ok(()),
        }
    }

    fn remove_others(&self, hosts: &BTreeSet<String>) -> anyhow::Result<()> {
        let files = |of: fn(&Root, &str) -> RootFile| -> BTreeSet<RootFile> {
            hosts.iter().map(|host| of(&self.folder, host)).collect()
        };
        remove_others(&self.folder, &files(file_of), is_ours)?;
        let folder = captures::folder(&self.folder);
        remove_others(&folder, &files(captures::file_of), captures::is_ours)?;
        let folder = origins::folder(&self.folder);
        remove_others(&folder, &files(origins::file_of), origins::is_ours)
    }
}

/// Removes the files of a folder that are not kept, if they are ours.
fn remove_others(
    folder: &Root,
    kept: &BTreeSet<RootFile>,
    is_ours: impl Fn(&RootFile) -> bool,
) -> anyhow::Result<()> {
    let files = folder.files();
    for file in files.with_context(|| format!("cannot read {}", folder.path().display()))? {
        if !kept.contains(&file) && is_ours(&file) {
            file.remove()
                .with_context(|| format!("cannot remove {file}"))?;
        }
    }
    Ok(())
}

/// The domains, among those that are wanted, of which a ledger has statuses.
///
/// # Errors
/// When the folder cannot be read.
pub fn domains(ledger: &Root, is_wanted: impl Fn(&str) -> bool) -> anyhow::Result<Vec<String>> {
    let files = match ledger.files() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(vec![]),
        files => files.with_context(|| format!("cannot read {}", ledger.path().display()))?,
    };
    Ok(files
        .into_iter()
        .filter_map(|file| {
            let domain = domain::domain_of(file.name()).filter(|domain| is_wanted(domain))?;
            is_ours(&file).then_some(domain)
        })
        .collect())
}

/// Whether [`Ledger::save`] wrote this file. Other files are never removed.
fn is_ours(file: &RootFile) -> bool {
    let domain = file
        .name()
        .to_str()
        .and_then(|name| name.strip_suffix(".yaml"));
    domain.is_some_and(|domain| documents::has_statuses(file, domain).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use urldb_protocol::Shown;

    use super::*;

    const STATUSES: &str = "---\n---\n_path: /a\nadded: '2026-11-21T11:11:06Z'\n\
                            since: '2026-11-21T11:11:06Z'\nstate: ok\n\
                            updated: '2026-11-21T11:11:06Z'\n---\n_path: /b\n\
                            added: '2026-11-21T11:11:06Z'\nsince: '2026-11-21T11:11:06Z'\n\
                            state: gone\nupdated: '2026-11-21T11:11:06Z'\n";

    const CAPTURES: &str = "---\n---\n_path: /a\ncapture:\n  date: '2026-11-21T11:11:06Z'\n  \
                            file: a.warc.gz\n  record: urn:uuid:1\n  uri: http://example.org/a\n\
                            digest: sha256:1\netag: '\"1\"'\n";

    fn origin(second: i64, quick_changes: u64) -> KnownOrigin {
        KnownOrigin {
            since: Timestamp::from_second(second).unwrap(),
            record: "urn:uuid:1".to_owned(),
            digest: "sha256:1".to_owned(),
            file: "a.warc.gz".to_owned(),
            addresses: vec![],
            certificate: None,
            quick_changes,
        }
    }

    /// A server may redirect to another host each time, and a host may have other addresses each time.
    #[test]
    fn records_about_hosts_do_not_grow_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut ledger = load(&folder);
        for number in 0..2 * MOST_ORIGINS {
            let uri = format!("dns:host{number}.example");
            let new = [(uri, origin(1, 0))].into();
            ledger.set_origins("example.org", &new).unwrap();
        }
        let known = ledger.origins("example.org").unwrap();
        assert_eq!(known.len(), MOST_ORIGINS);
        // Those that are known go on, until they change often.
        for (second, quick_changes, expected) in [(2, 1, 2), (3, OFTEN, 3), (4, OFTEN, 3)] {
            let new = [(
                "dns:host0.example".to_owned(),
                origin(second, quick_changes),
            )]
            .into();
            ledger.set_origins("example.org", &new).unwrap();
            let known = ledger.origins("example.org").unwrap();
            let since = known["dns:host0.example"].since.as_second();
            assert_eq!(since, expected);
        }
    }

    #[test]
    fn a_reason_of_a_newer_program_survives() {
        let text = "---\n---\n_path: /a\nadded: '2026-11-21T11:11:06Z'\nreason: sunspots\n\
                    since: '2026-11-21T11:11:06Z'\nstate: unreachable\n\
                    updated: '2026-11-21T11:11:06Z'\n";
        let folder = tempfile::tempdir().unwrap();
        let file = file_of(&root(&folder), "example.org").path();
        fs::write(&file, text).unwrap();
        let mut ledger = load(&folder);
        ledger.changed.insert("example.org".to_owned());
        fs::write(&file, "").unwrap();
        ledger.save().unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }

    /// A folder with the two files of a domain, and the path of the file of captures.
    fn two_files() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(file_of(&root(&folder), "example.org").path(), STATUSES).unwrap();
        let captures = captures::file_of(&root(&folder), "example.org").path();
        fs::create_dir_all(captures.parent().unwrap()).unwrap();
        fs::write(&captures, CAPTURES).unwrap();
        (folder, captures)
    }

    fn root(folder: &tempfile::TempDir) -> Root {
        Root::new(folder.path(), "the ledger")
    }

    fn load(folder: &tempfile::TempDir) -> Ledger {
        Ledger::load(&root(folder), ["example.org"]).unwrap()
    }

    fn keys() -> [JobKey; 2] {
        let (documents, _) = urldb_format::read_documents(STATUSES, &entry::SCHEMA);
        [1, 2].map(|at| entry::key_of("example.org", &documents[at].mapping).unwrap())
    }

    #[test]
    fn news_without_other_content_leaves_the_captures_alone() {
        let (folder, captures) = two_files();
        let touched = CAPTURES.replace("---\n---\n", "---\n\n---\n");
        fs::write(&captures, &touched).unwrap();
        let mut ledger = load(&folder);
        let [a, _] = keys();
        let mut entry = ledger.get(&a).unwrap().clone();
        entry.incident = Some("1f".to_owned());
        ledger.set(&a, entry.clone(), Timestamp::UNIX_EPOCH);
        ledger.save().unwrap();
        assert_eq!(fs::read_to_string(&captures).unwrap(), touched);
        entry.content.as_mut().unwrap().etag = None;
        ledger.set(&a, entry, Timestamp::UNIX_EPOCH);
        ledger.save().unwrap();
        let status = fs::read_to_string(file_of(&root(&folder), "example.org").path()).unwrap();
        assert!(
            status.contains("incident: 1f") && !status.contains("digest"),
            "{status}"
        );
        let written = CAPTURES.replace("etag: '\"1\"'\n", "");
        assert_eq!(fs::read_to_string(&captures).unwrap(), written);
    }

    #[test]
    fn captures_go_with_their_entry_and_their_domain() {
        let (folder, captures) = two_files();
        let mut ledger = load(&folder);
        let [a, b] = keys();
        ledger.forget(&b);
        ledger.save().unwrap();
        let other = captures.with_file_name("notes.yaml");
        fs::write(&other, "---\nnotes: of somebody\n").unwrap();
        ledger.forget_others(["example.org"]);
        ledger.save().unwrap();
        assert!(captures.exists());
        ledger.forget_others(["other.example"]);
        ledger.save().unwrap();
        assert!(!captures.exists() && other.exists());

        let (folder, captures) = two_files();
        let mut ledger = load(&folder);
        ledger.forget(&b);
        ledger.save().unwrap();
        ledger.forget(&a);
        ledger.save().unwrap();
        assert!(!captures.exists());
        fs::write(&captures, "---\n---\n_path: /a\n").unwrap();
        let damaged = Ledger::load(&root(&folder), ["example.org"]).unwrap_err();
        let delivered = format!("{damaged:#}");
        assert!(
            delivered.contains("line 2") && delivered.contains("captures"),
            "{delivered}"
        );
    }

    #[test]
    fn a_lost_capture_leaves_the_date_of_the_first_run_that_missed_it() {
        let (folder, captures) = two_files();
        let lose = |file: &str, day: &str| {
            let mut ledger = load(&folder);
            let now = format!("2026-11-{day}T00:00:00Z").parse().unwrap();
            let files = BTreeSet::from([file.to_owned()]);
            ledger.forget_captures("example.org", &files, now).unwrap();
            ledger.save().unwrap();
            fs::read_to_string(&captures).unwrap()
        };
        assert_eq!(lose("b.warc.gz", "22"), CAPTURES);
        let without = "---\n---\n_path: /a\ndigest: sha256:1\netag: '\"1\"'\n\
                    lost: '2026-11-23T00:00:00Z'\n";
        assert_eq!(lose("a.warc.gz", "23"), without);
        assert_eq!(lose("a.warc.gz", "24"), without);
        fs::write(&captures, without.replace("2026-11-23T", "yesterday")).unwrap();
        assert!(Ledger::load(&root(&folder), ["example.org"]).is_err());
    }

    /// Entries and certificate come back however often a domain is closed, and only `save`
    /// changes the files.
    #[test]
    fn a_closed_domain_is_saved_as_an_open_one() {
        let certificate = |end: &str| {
            format!(
                "---\ncertificate:\n  issuer: R3\n  not-after: '{end}T00:00:00Z'\n  not-before: '2026-09-01T00:00:00Z'\n"
            )
        };
        let edit = |is_closing: bool| {
            let time = |day: &str| format!("{day}T00:00:00Z").parse().unwrap();
            let dates = CertificateDates {
                not_before: time("2026-11-20"),
                not_after: time("2027-02-18"),
                issuer: Shown::new("R3", 10),
                authority: None,
            };
            let (folder, captures) = two_files();
            fs::write(
                file_of(&root(&folder), "other.org").path(),
                certificate("2026-12-01"),
            )
            .unwrap();
            let mut ledger = Ledger::new(&root(&folder));
            let close = |ledger: &mut Ledger| {
                if is_closing {
                    ledger.close("example.org");
                    assert_eq!(ledger.keys().count(), 0);
                    ledger.open("example.org").unwrap();
                }
            };
            ledger.open("example.org").unwrap();
            close(&mut ledger);
            let [a, b] = keys();
            let mut entry = ledger.get(&b).unwrap().clone();
            entry.breaks.push("a run".to_owned());
            ledger.set(&b, entry, Timestamp::UNIX_EPOCH);
            close(&mut ledger);
            ledger.set_planned(&b);
            assert_eq!(
                ledger.unplanned("example.org").unwrap(),
                std::slice::from_ref(&a)
            );
            assert_eq!(ledger.get(&b).unwrap().breaks, ["a run"]);
            assert!(ledger.get(&a).unwrap().content.is_some());
            ledger.close("example.org");
            ledger.set_certificate("example.org", &[dates].into());
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
            let status = file_of(&root(&folder), "example.org").path();
            assert_eq!(fs::read_to_string(&status).unwrap(), STATUSES);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
            ledger.save().unwrap();
            assert!(ledger.changed().is_empty());
            assert_eq!(ledger.keys().count() == 0, is_closing);
            let other = fs::read_to_string(file_of(&root(&folder), "other.org").path()).unwrap();
            assert_eq!(other, certificate("2026-12-01"));
            [status, captures].map(|path| fs::read_to_string(path).unwrap())
        };
        let [statuses, captures] = edit(true);
        assert!(
            statuses.contains("2027-02-18")
                && statuses.contains("1f")
                && statuses.contains("a run")
        );
        assert!(captures.contains("digest: sha256:1"));
        assert_eq!(edit(false), [statuses, captures]);
    }

    #[test]
    fn a_domain_stays_open_where_nothing_can_be_put_aside() {
        let (folder, _) = two_files();
        let mut ledger = load(&folder);
        let [a, _] = keys();
        ledger.forget(&a);
        // A folder that is a file takes no temporary files.
        ledger.spool = Spool::new(&root(&folder).folder("example.org.yaml"));
        ledger.close("example.org");
        assert_eq!(ledger.keys().count(), 1);
        ledger.save().unwrap();
        assert_eq!(load(&folder).keys().count(), 1);
    }

    #[test]
    fn the_checks_of_the_archive_are_no_file_of_a_host() {
        let (folder, _) = two_files();
        let checks = root(&folder).file(ARCHIVE_FILE);
        let text = "---\n---\nfiles: 3\nplace: file:///a\nupdated: '2026-11-21T11:11:06Z'\n";
        checks.replace(text.as_bytes()).unwrap();
        let mut ledger = Ledger::load(&root(&folder), ["archive"]).unwrap();
        let key = JobKey {
            domain: "archive".to_owned(),
            ..keys()[0].clone()
        };
        let entry = load(&folder).get(&keys()[0]).unwrap().clone();
        ledger.set(&key, entry, Timestamp::UNIX_EPOCH);
        ledger.save().unwrap();
        let of_host = file_of(&root(&folder), "archive");
        assert!(of_host.is_file());
        let hosts = [];
        let mut ledger = Ledger::new(&root(&folder));
        ledger.forget_others(hosts);
        ledger.save().unwrap();
        assert!(!of_host.is_file() && fs::read_to_string(checks.path()).unwrap() == text);
    }

    #[test]
    fn names_of_captures_end_with_a_part_of_their_own_and_are_not_too_long() {
        let name = |domain: &str| {
            let path = captures::file_of(&Root::new("status", "the ledger"), domain).path();
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("example.test"), "example.test-9b263fbc.yaml");
        let long = "a".repeat(250);
        assert!(name(&long).len() < 220);
        assert_ne!(name(&long), name(&(long.clone() + "b")));
    }
}
