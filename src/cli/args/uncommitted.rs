//! Changes that a killed command has written and not committed: the same command with `--commit` finds its
//! work done, and commits it.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;

use urldb_canon::{Identity, Scheme, identify, kind_of_held};
use urldb_format::{DomainFile, HELD_URIS, Record, RecordIdentity};
use urldb_verdict::{NamedRecord, Selection};

use super::domain_file_name;
use crate::cli::Context;
use crate::database::aliases::Aliases;
use crate::database::lookup::url_text;
use crate::git::{FileVersion, Repository};
use crate::sync::locations;

/// The difference between a record on disk and the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum UncommittedRecord {
    /// The last commit has no such record.
    Added,
    /// The last commit has it with other keys.
    Updated,
    /// Only the last commit has it.
    Removed(Box<Record>),
}

/// The records of a domain file that differ.
#[derive(Default)]
struct UncommittedRecords {
    /// Of URLs, in the file on disk.
    scheme: Option<Scheme>,
    records: BTreeMap<RecordIdentity, UncommittedRecord>,
    /// Those of the records that a list owns, or owned.
    listed: BTreeSet<RecordIdentity>,
}

/// A domain file that may differ from the last commit.
pub(crate) struct UncommittedFile {
    /// The host.
    pub(crate) host: String,
    /// The file on disk.
    pub(crate) path: PathBuf,
    before: FileVersion,
}

impl UncommittedFile {
    /// The file as the last commit has it; without records if it is new.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn committed(&self, repository: &Repository) -> anyhow::Result<DomainFile> {
        let bytes = match &self.before {
            FileVersion::Blob(id) => repository.read_blob(id)?,
            _ => vec![],
        };
        Ok(DomainFile::parse(&self.path, &bytes).file)
    }
}

/// Looks up which records differ from the last commit, and collects their files. Reads a domain file when
/// it is asked about one of its records, and only if git says that the file differs.
pub(crate) struct UncommittedChanges<'a> {
    repository: &'a Repository,
    context: &'a Context,
    /// The earlier versions of the files that differ, by host; absent before the first question.
    changed: Option<BTreeMap<String, FileVersion>>,
    /// The differences of each host that was asked for.
    read: BTreeMap<String, UncommittedRecords>,
    files: BTreeSet<PathBuf>,
}

impl<'a> UncommittedChanges<'a> {
    pub(super) fn new(repository: &'a Repository, context: &'a Context) -> Self {
        Self {
            repository,
            context,
            changed: None,
            read: BTreeMap::new(),
            files: BTreeSet::new(),
        }
    }

    /// The difference between the last commit and a record that the command left as it is. A file with a
    /// difference becomes part of the commit.
    ///
    /// # Errors
    /// When git or reading a file fails.
    pub(crate) fn of_record(
        &mut self,
        host: &str,
        identity: &RecordIdentity,
    ) -> anyhow::Result<Option<UncommittedRecord>> {
        let found = self.of_host(host)?.records.get(identity).cloned();
        if found.is_some() {
            self.files.insert(self.context.domain_file(host));
        }
        Ok(found)
    }

    /// The URLs of the selected records that only the last commit has, each with the host of the domain
    /// file. Their files become part of the commit.
    ///
    /// # Errors
    /// As [`Self::of_record`].
    pub(crate) fn removed(
        &mut self,
        selection: &Selection,
    ) -> anyhow::Result<Vec<(String, String)>> {
        let hosts: Vec<String> = self.changed()?.keys().cloned().collect();
        let mut removed = vec![];
        for host in hosts
            .into_iter()
            .filter(|host| selection.wants_domain(host))
        {
            let before = removed.len();
            let UncommittedRecords {
                scheme, records, ..
            } = self.of_host(&host)?;
            for record in records.values() {
                if let UncommittedRecord::Removed(record) = record
                    && selection.wants_record(&host, record)
                {
                    let scheme = scheme.unwrap_or(Scheme::Http);
                    removed.push((host.clone(), url_text(scheme, &host, &record.path)));
                }
            }
            if removed.len() > before {
                self.files.insert(self.context.domain_file(&host));
            }
        }
        Ok(removed)
    }

    /// The record of a URL that only the last commit has.
    ///
    /// # Errors
    /// As [`Self::of_record`].
    pub(crate) fn removed_record(&mut self, url: &str) -> anyhow::Result<Option<NamedRecord>> {
        let (domain, path) = match identify(url) {
            Ok(Identity { host, path, .. }) => {
                let aliases = Aliases::load_readable(&self.context.config)?;
                (aliases.primary_host(&host), path)
            }
            Err(_) if kind_of_held(url).is_some() => (HELD_URIS.to_owned(), url.to_owned()),
            Err(_) => return Ok(None),
        };
        let is_removed = |(identity, record): (&RecordIdentity, &UncommittedRecord)| {
            identity.path == path && matches!(record, UncommittedRecord::Removed(_))
        };
        let named = self.of_host(&domain)?.records.iter().any(is_removed);
        Ok(named.then_some(NamedRecord {
            domain,
            path,
            alias: None,
        }))
    }

    /// The paths of records of lists that differ, each with its host. Their files become part of the commit.
    ///
    /// # Errors
    /// As [`Self::of_record`].
    pub(crate) fn of_lists(&mut self) -> anyhow::Result<Vec<(String, String)>> {
        let hosts: Vec<String> = self.changed()?.keys().cloned().collect();
        let mut found = vec![];
        for host in hosts {
            let listed = self.of_host(&host)?.listed.iter();
            let listed: Vec<_> = listed.map(|it| (host.clone(), it.path.clone())).collect();
            if !listed.is_empty() {
                self.files.insert(self.context.domain_file(&host));
            }
            found.extend(listed);
        }
        Ok(found)
    }

    /// As [`Self::into_files`], with the lists that own found records.
    pub(crate) fn into_files_with_lists(mut self) -> impl Iterator<Item = PathBuf> {
        self.add_lists();
        self.into_files()
    }

    fn add_lists(&mut self) {
        let of_lists = |records: &UncommittedRecords| !records.listed.is_empty();
        if !self.read.values().any(of_lists) {
            return;
        }
        // A list that cannot be read has no places.
        let Ok(lists) = locations(&self.context.config) else {
            return;
        };
        for (host, records) in &self.read {
            let places = records.listed.iter().filter_map(|it| lists.of(host, it));
            let root = &self.context.config.root;
            self.files
                .extend(places.map(|(file, _)| root.join(&**file)));
        }
    }

    /// The domain files on disk that may differ.
    ///
    /// # Errors
    /// When git fails.
    pub(crate) fn domain_files(mut self) -> anyhow::Result<Vec<UncommittedFile>> {
        let context = self.context;
        let files = self.changed()?.iter();
        let files = files.map(|(host, before)| UncommittedFile {
            host: host.clone(),
            path: context.domain_file(host),
            before: before.clone(),
        });
        Ok(files.collect())
    }

    /// The files to commit, beside those that the command has written.
    pub(crate) fn into_files(self) -> impl Iterator<Item = PathBuf> {
        self.files.into_iter()
    }

    /// The domain files that may differ from the last commit, by host.
    fn changed(&mut self) -> anyhow::Result<&BTreeMap<String, FileVersion>> {
        if self.changed.is_none() {
            let folder = self.repository.relative(&self.context.database())?;
            let comparison = self.repository.comparison(None, false)?;
            let files = self.repository.changed_files(&comparison, &folder)?;
            let files = files.into_iter().filter_map(|file| {
                let name = domain_file_name(&file.path, &folder)?;
                (file.after != FileVersion::Absent)
                    .then(|| (urldb_format::host_of(name), file.before))
            });
            self.changed = Some(files.collect());
        }
        Ok(self.changed.get_or_insert_default())
    }

    fn of_host(&mut self, host: &str) -> anyhow::Result<&UncommittedRecords> {
        if !self.read.contains_key(host) {
            let records = match self.changed()?.get(host).cloned() {
                Some(before) => self.compare(host, &before)?,
                None => UncommittedRecords::default(),
            };
            self.read.insert(host.to_owned(), records);
        }
        Ok(self.read.entry(host.to_owned()).or_default())
    }

    fn compare(&self, host: &str, before: &FileVersion) -> anyhow::Result<UncommittedRecords> {
        let file = UncommittedFile {
            host: host.to_owned(),
            path: self.context.domain_file(host),
            before: before.clone(),
        };
        let before = file.committed(self.repository)?;
        let now = DomainFile::read(&file.path)?.file;
        let identity_of = |record: &Record| now.metadata().exact_identity_of(record);
        let mut earlier: HashMap<RecordIdentity, &Record> = before
            .records()
            .map(|entry| (identity_of(entry.record()), entry.record()))
            .collect();
        let (mut records, mut listed) = (BTreeMap::new(), BTreeSet::new());
        let mut note = |identity: &RecordIdentity, record: &Record| {
            if !record.source.is_empty() {
                listed.insert(identity.clone());
            }
        };
        for entry in now.records() {
            let record = entry.record();
            let identity = identity_of(record);
            let change = match earlier.remove(&identity) {
                None => UncommittedRecord::Added,
                Some(earlier) if earlier != record => {
                    note(&identity, earlier);
                    UncommittedRecord::Updated
                }
                Some(_) => continue,
            };
            note(&identity, record);
            records.insert(identity, change);
        }
        for (identity, record) in earlier {
            note(&identity, record);
            if let Entry::Vacant(place) = records.entry(identity) {
                place.insert(UncommittedRecord::Removed(Box::new(record.clone())));
            }
        }
        Ok(UncommittedRecords {
            scheme: Some(now.metadata().scheme()),
            records,
            listed,
        })
    }
}
