//! Plans the jobs of one domain, record by record.

use std::collections::{BTreeMap, HashSet};
use std::ops::AddAssign;
use std::sync::Arc;

use urldb_canon::{RequestUrl, Scheme};
use urldb_format::{
    Algorithm, DocumentRef, Metadata, Record, RecordEntry, RecordIdentity, lint_promise,
};
use urldb_text::Finding;

use super::options::{FileOptions, KeptBodies, PastRuns, PlanOptions};
use super::selection::Selection;
use crate::job::{BodyUse, Job, JobKey, Keep, Promise, Request};

/// Plans the jobs of the records of one domain file.
#[derive(Debug)]
pub struct DomainPlan<'a> {
    host: String,
    metadata: Metadata,
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
        let roots = [Scheme::Http, Scheme::Https]
            .into_iter()
            .filter_map(|scheme| Some((scheme, RequestUrl::new(scheme, host, "/")?)));
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
    pub fn skipped(&self) -> &SkippedRecords {
        &self.skipped
    }

    /// The records without jobs.
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
            let schemes = document.scheme_count(&self.metadata);
            self.skip(document.is_deprecated(), schemes);
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
            let schemes = self.metadata.schemes_of(record).len();
            self.skip(record.has_category("deprecated"), schemes);
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
        let schemes = self.metadata.schemes_of(record);
        let variant = self.metadata.variant_of(record);
        self.roots
            .iter()
            .filter(|(scheme, _)| schemes.contains(scheme))
            .filter_map(|(scheme, root)| {
                job_of(entry, (*scheme, root), variant.clone(), self.options, past)
            })
            .collect()
    }

    /// Counts a record of so many schemes that is not selected.
    pub fn skip(&mut self, is_deprecated: bool, schemes: usize) {
        self.skipped.not_selected += 1;
        if !is_deprecated {
            let urls = schemes as u64;
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

/// Number of records that a run does not check, by cause.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SkippedRecords {
    /// Selected records of category `deprecated` that are not named.
    pub deprecated: u64,
    /// Records that are not selected.
    pub not_selected: u64,
    /// Number of URLs of those that are not selected and not deprecated, by host.
    pub urls_not_selected: BTreeMap<String, u64>,
    /// Number of selected URIs that nothing can request, by their kind.
    pub held: BTreeMap<String, u64>,
}

impl AddAssign for SkippedRecords {
    fn add_assign(&mut self, other: Self) {
        self.deprecated += other.deprecated;
        self.not_selected += other.not_selected;
        for (host, urls) in other.urls_not_selected {
            *self.urls_not_selected.entry(host).or_default() += urls;
        }
        for (kind, uris) in other.held {
            *self.held.entry(kind).or_default() += uris;
        }
    }
}

/// The job of one record with this variant over one scheme, at the host with this root; `None` if its path makes no URL.
pub(super) fn job_of(
    entry: &RecordEntry,
    (scheme, root): (Scheme, &RequestUrl),
    variant: Option<String>,
    options: FileOptions<'_>,
    past: &impl PastRuns,
) -> Option<Job> {
    let record = entry.record();
    let FileOptions { name, plan, .. } = options;
    let key = JobKey {
        domain: root.domain(),
        path: record.path.clone(),
        request: record.request_key(),
        variant,
        alias: None,
        scheme,
    };
    let url = root.at_path(&record.path)?;
    let promise = Promise {
        has_text_of_challenge: past.has_text_of_challenge(&key),
        ..promise(record, url.as_str())
    };
    let sha256 = promised_sha256(&promise, &key, past);
    let is_archived = sha256.is_some_and(|digest| past.is_archived(&key, &digest));
    let request = Request::of(record);
    // A request that may change something is not repeated: its only response is kept.
    let is_known = is_archived && request.is_safe();
    let body = body_use(&promise, plan, is_known);
    let digest = sha256.filter(|_| !plan.rehash.is_due(&key));
    let validators = digest.and_then(|digest| past.validators(&key, &digest));
    Some(Job {
        key,
        url,
        file: Arc::clone(name),
        line: entry.line(),
        uses: None,
        categories: match record.categories.as_slice() {
            // Empty lists share one.
            [] => Arc::default(),
            categories => categories.into(),
        },
        promise,
        request,
        body,
        muted: record.mute_until.is_some() && record.is_muted(plan.today()),
        validators: validators.map(Box::new),
    })
}

/// The SHA-256 of the promised content: as promised, or of a content that was verified against further digests.
/// `None` if the content was not compared with these digests yet.
fn promised_sha256(promise: &Promise, key: &JobKey, past: &impl PastRuns) -> Option<[u8; 32]> {
    if promise.digests.is_empty() {
        return promise.sha256;
    }
    let strongest = promise.strongest_digest()?;
    let verified = past.verified_sha256(key, &strongest)?;
    promise
        .sha256
        .is_none_or(|promised| promised == verified)
        .then_some(verified)
}

/// The use of a body; `is_known` says that the archive holds the promised content, and that a
/// changed one is fetched again.
fn body_use(promise: &Promise, options: PlanOptions, is_known: bool) -> BodyUse {
    let promised = promise.length.filter(|_| !options.whole);
    let keep = match (promise.is_static(), options.kept_bodies) {
        (true, KeptBodies::None) => Keep::Nothing,
        (true, KeptBodies::Static | KeptBodies::All) if is_known => Keep::Changes,
        (true, KeptBodies::Static | KeptBodies::All) | (false, KeptBodies::All) => Keep::Everything,
        (false, KeptBodies::None | KeptBodies::Static) => return BodyUse::Skip,
    };
    BodyUse::Hash {
        at_most: promised.map_or(options.max_body, |length| length.min(options.max_body)),
        keep,
        beyond: options.max_capture,
    }
}

/// The promise of a record that is served at `url`.
pub(super) fn promise(record: &Record, url: &str) -> Promise {
    Promise {
        length: record.content_length,
        sha256: record.sha256(),
        digests: if record.further_digests.is_empty() {
            Box::default()
        } else {
            record
                .digests()
                .filter(|digest| digest.algorithm() != Algorithm::Sha256)
                .collect()
        },
        content_type: record.content_type.clone(),
        redirect_status: record.content_type.as_deref().and_then(pseudo_status),
        status: record.status,
        redirects_to: record
            .redirects_to
            .as_deref()
            .map(|target| absolute(url, target)),
        canonical: None,
        redirect_ok: record.has_category("redirect-ok"),
        content_type_change_ok: record.has_category("content-type-change-ok"),
        has_text_of_challenge: false,
    }
}

/// The status of a pseudo type such as `X-301-Redirect`; `None` for any other type.
pub fn pseudo_status(content_type: &str) -> Option<u16> {
    content_type
        .strip_prefix("X-")?
        .strip_suffix("-Redirect")?
        .parse()
        .ok()
}

fn absolute(url: &str, target: &str) -> String {
    url::Url::parse(url)
        .and_then(|base| base.join(target))
        .map_or_else(|_| target.to_owned(), String::from)
}
