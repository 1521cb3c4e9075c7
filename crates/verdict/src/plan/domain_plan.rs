//! Plans the jobs of one domain, record by record.

use std::collections::HashSet;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{DocumentRef, Metadata, RecordEntry, RecordIdentity, lint_promise};
use urldb_text::Finding;

use super::options::{FileOptions, PastRuns};
use super::record_job::job_of;
use super::selection::Selection;
use super::skipped::SkippedRecords;
use crate::job::Job;

/// Plans the jobs of the records of one domain file.
#[derive(Debug)]
pub struct DomainPlan<'a> {
    host: String,
    metadata: Metadata,
    /// The root of the domain over each scheme.
    roots: Vec<(Scheme, RequestUrl)>,
    selection: &'a Selection,
    wants_domain: bool,
    options: FileOptions<'a>,
    /// The requests so far, if records may repeat.
    identities: HashSet<RecordIdentity>,
    skipped: SkippedRecords,
}

impl<'a> DomainPlan<'a> {
    /// A plan of the domain `host` with these metadata.
    pub fn new(
        host: &str,
        metadata: &Metadata,
        selection: &'a Selection,
        options: FileOptions<'a>,
    ) -> Self {
        let schemes = metadata.schemes().into_iter();
        let roots =
            schemes.filter_map(|scheme| Some((scheme, RequestUrl::new(scheme, host, "/")?)));
        Self {
            host: host.to_owned(),
            metadata: metadata.clone(),
            roots: roots.collect(),
            selection,
            wants_domain: selection.wants_domain(host),
            options,
            identities: HashSet::new(),
            skipped: SkippedRecords::default(),
        }
    }

    /// The metadata of the domain.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// The records without jobs so far.
    pub fn into_skipped(self) -> SkippedRecords {
        self.skipped
    }

    /// The jobs of the domain itself for a document of its file. [`super::with_aliases`] adds those of its
    /// cnames.
    pub fn jobs(&mut self, document: &DocumentRef<'_>, past: &impl PastRuns) -> Vec<Job> {
        let Some(path) = document.path() else {
            return vec![];
        };
        if !self.wants_domain || !self.selection.wants_path(&self.host, path) {
            self.skip(document.is_deprecated());
            return vec![];
        }
        let entry = document.to_entry();
        entry.map_or_else(Vec::new, |entry| {
            self.jobs_of_record(&entry, document.may_repeat(), past)
        })
    }

    /// The same for a record. `may_repeat` says whether the file may have another one for the same request: of
    /// several, the first counts.
    pub(super) fn jobs_of_record(
        &mut self,
        entry: &RecordEntry,
        may_repeat: bool,
        past: &impl PastRuns,
    ) -> Vec<Job> {
        let record = entry.record();
        if !self.wants_domain || !self.selection.wants_record(&self.host, record) {
            self.skip(record.has_category("deprecated"));
            return vec![];
        }
        if !self.selection.asks_for(&self.host, record) {
            self.skipped.deprecated += 1;
            return vec![];
        }
        let is_first = !may_repeat || self.identities.insert(self.metadata.identity_of(record));
        if !is_first || !is_sound(entry, self.options.own_keys) {
            return vec![];
        }
        let roots = self.roots.iter();
        let jobs =
            roots.filter_map(|(scheme, root)| job_of(entry, *scheme, root, self.options, past));
        jobs.collect()
    }

    /// Counts a record that is not selected.
    fn skip(&mut self, is_deprecated: bool) {
        self.skipped.not_selected += 1;
        if !is_deprecated {
            let urls = self.metadata.schemes().len() as u64;
            let of_hosts = &mut self.skipped.urls_not_selected;
            if let Some(count) = of_hosts.get_mut(&self.host) {
                *count += urls;
            } else {
                of_hosts.insert(self.host.clone(), urls);
            }
        }
    }
}

/// Whether the whole record was understood and has no error.
fn is_sound(entry: &RecordEntry, own_keys: &[String]) -> bool {
    let findings = lint_promise(entry, own_keys);
    entry.is_intact() && !findings.iter().any(Finding::is_error)
}
