//! Finds the record of a URL in a domain file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{DomainFile, DomainReader, HELD_URIS, Metadata, RecordEntry};
use urldb_verdict::plan::is_asked_of_cnames;

/// The URL of a record, for people: the path of a held URI; host and path where they make no URL.
pub(crate) fn url_text(scheme: Scheme, host: &str, path: &str) -> String {
    if host == HELD_URIS {
        return path.to_owned();
    }
    RequestUrl::new(scheme, host, path).map_or_else(|| format!("{host}{path}"), String::from)
}

/// The records of one domain file, by path.
#[derive(Debug, Default)]
pub(crate) struct DomainIndex {
    metadata: Metadata,
    records: BTreeMap<String, IndexedRecord>,
    /// The first spelling of each path in lower case, if case makes no difference.
    spellings: HashMap<String, String>,
}

/// The records of one path. Several requests may have one path.
#[derive(Debug)]
pub(crate) struct IndexedRecord {
    /// The first line of the first record, counted from 1.
    pub(crate) line: usize,
    /// The schemes over which runs ask for one of the records.
    pub(crate) schemes: Vec<Scheme>,
    /// Whether runs ask cnames for one of the records.
    pub(crate) is_asked_of_cnames: bool,
}

impl DomainIndex {
    /// The index of the file at `path`; without records if there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        Self::read_where(path, |_| true)
    }

    /// The index of the records that are wanted by their path.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(crate) fn read_where(path: &Path, wants: impl Fn(&str) -> bool) -> anyhow::Result<Self> {
        if !urldb_files::is_there(path) {
            return Ok(Self::default());
        }
        let mut file = DomainReader::open(path)?;
        let mut index = Self::new(file.metadata());
        while let Some(document) = file.next()? {
            if document.path().is_some_and(&wants)
                && let Some(entry) = document.to_entry()
            {
                index.add(&entry);
            }
        }
        Ok(index)
    }

    /// The index of the records that were read of `file`.
    pub(crate) fn of(file: &DomainFile) -> Self {
        let mut index = Self::new(file.metadata());
        file.records().for_each(|entry| index.add(entry));
        index
    }

    fn new(metadata: &Metadata) -> Self {
        Self {
            metadata: metadata.clone(),
            ..Self::default()
        }
    }

    fn add(&mut self, entry: &RecordEntry) {
        let record = entry.record();
        if self.ignores_case() {
            let key = urldb_format::without_case(&record.path);
            self.spellings
                .entry(key.into_owned())
                .or_insert_with(|| record.path.clone());
        }
        let known = self
            .records
            .entry(record.path.clone())
            .or_insert_with(|| IndexedRecord {
                line: entry.line(),
                schemes: vec![],
                is_asked_of_cnames: false,
            });
        known.is_asked_of_cnames |= is_asked_of_cnames(record);
        known.schemes.extend(self.metadata.schemes_of(record));
        known.schemes.sort_unstable();
        known.schemes.dedup();
    }

    /// Whether paths that differ only in case are one URL.
    fn ignores_case(&self) -> bool {
        self.metadata.case_sensitive_paths == Some(false)
    }

    /// Whether runs ask over these schemes for every record without `schemes` of its own.
    pub(crate) fn has_schemes(&self, schemes: &[Scheme]) -> bool {
        self.metadata.schemes() == schemes
    }

    /// The spelling of `path` in the file, and its record. With `case-sensitive-paths: false`, a record
    /// whose path differs only in case is found, if there is none of the exact spelling.
    pub(crate) fn find(&self, path: &str) -> Option<(&str, &IndexedRecord)> {
        let same = || {
            let key = self
                .ignores_case()
                .then(|| urldb_format::without_case(path))?;
            self.records.get_key_value(self.spellings.get(&*key)?)
        };
        let (spelling, record) = self.records.get_key_value(path).or_else(same)?;
        Some((spelling, record))
    }

    /// The schemes over which runs ask for the records of a path; those of the domain, if it has none.
    pub(crate) fn schemes_of(&self, path: &str) -> Vec<Scheme> {
        self.records
            .get(path)
            .map_or_else(|| self.metadata.schemes(), |record| record.schemes.clone())
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.records.keys().map(String::as_str)
    }
}
