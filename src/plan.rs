//! Which requests there are to make: records in, [`Job`]s out. Pure.

use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest, Sha256};
use urldb_canon::Scheme;
use urldb_format::{DomainFile, Metadata, Record};

use crate::hex;

/// What names one job between runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey {
    /// The host that the domain file is named after.
    pub domain: String,
    /// The record's `_path`.
    pub path: String,
    /// The canonical request, when it is not a plain GET.
    pub request: Option<String>,
    /// A cname of the domain that is asked instead of it.
    pub alias: Option<String>,
    /// The scheme that is asked for.
    pub scheme: Scheme,
}

impl JobKey {
    /// A number that is always the same for this job and this `salt`, and spread evenly over
    /// jobs: chance without chance.
    pub fn spread(&self, salt: u64) -> u64 {
        let mut hasher = Sha256::new();
        hasher.update(salt.to_le_bytes());
        let request = self.request.as_deref().unwrap_or_default();
        let alias = self.alias.as_deref().unwrap_or_default();
        for part in [
            &self.domain,
            &self.path,
            request,
            alias,
            self.scheme.as_str(),
        ] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        let digest: [u8; 32] = hasher.finalize().into();
        let start = digest.iter().take(8);
        start.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
}

/// One request to make.
#[derive(Debug, Clone)]
pub struct Job {
    /// What names it between runs.
    pub key: JobKey,
    /// The URL to ask for.
    pub url: String,
    /// The domain file, relative to the root, with `/`.
    pub file: Arc<str>,
    /// The first line of the record in it, counted from 1.
    pub line: usize,
    /// What must come back.
    pub promise: Promise,
    /// What is sent.
    pub request: Request,
    /// What is done with the body that comes back.
    pub body: BodyUse,
}

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, upper case.
    pub method: String,
    /// The record's own headers.
    pub headers: Vec<(String, String)>,
    /// The body, if any.
    pub body: Option<String>,
}

/// What is done with the body of the last response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyUse {
    /// Nothing: the connection is let go after the head (or a small body is drained for reuse).
    Skip,
    /// Hashed, and given up once it is longer than this many bytes.
    Hash {
        /// The promised length, or the cap.
        at_most: u64,
        /// Whether its bytes are kept for the archive.
        keep: bool,
    },
}

/// What a record promises of the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Promise {
    /// Length of the body in bytes.
    pub length: Option<u64>,
    /// SHA-256 of the body.
    pub sha256: Option<[u8; 32]>,
    /// Media type at the end of the chain.
    pub content_type: Option<String>,
    /// Status that the pseudo type `X-NNN-Redirect` names.
    pub redirect_status: Option<u16>,
    /// Status at the end of the chain.
    pub status: Option<u16>,
    /// Where the first response must redirect to, as an absolute URL.
    pub redirects_to: Option<String>,
    /// Category `redirect-ok`.
    pub redirect_ok: bool,
    /// Category `content-type-change-ok`.
    pub content_type_change_ok: bool,
}

impl Promise {
    /// Whether bytes are promised, not just an answer.
    pub fn is_static(&self) -> bool {
        self.length.is_some() || self.sha256.is_some()
    }
}

/// Which records are looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Selection {
    /// Only these domains, by the names of their files; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub domains: Vec<String>,
    /// Only records with one of these categories; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<String>,
    /// Only paths that begin with this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_prefix: Option<String>,
    /// Only these records, as host and path; all when empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<(String, String)>,
}

impl Selection {
    /// Whether anything of this domain can be selected.
    pub fn wants_domain(&self, host: &str) -> bool {
        let by_name = self.domains.is_empty() || self.domains.iter().any(|domain| domain == host);
        let by_record =
            self.records.is_empty() || self.records.iter().any(|(domain, _)| domain == host);
        by_name && by_record
    }

    /// Whether this record of a wanted domain is selected.
    pub fn wants_record(&self, host: &str, record: &Record) -> bool {
        let by_name = self.records.is_empty() || self.names(host, record);
        let by_category = self.categories.is_empty()
            || self
                .categories
                .iter()
                .any(|category| record.has_category(category));
        let by_prefix = self
            .path_prefix
            .as_ref()
            .is_none_or(|prefix| record.path.starts_with(prefix.as_str()));
        by_name && by_category && by_prefix
    }

    /// Whether this record of a wanted domain is asked for: one of category
    /// `deprecated` is not, unless it is named.
    fn asks_for(&self, host: &str, record: &Record) -> bool {
        self.wants_record(host, record)
            && (!record.has_category("deprecated") || self.names(host, record))
    }

    fn names(&self, host: &str, record: &Record) -> bool {
        self.records
            .iter()
            .any(|(domain, path)| domain == host && *path == record.path)
    }

    /// Whether it selects everything.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }
}

/// What planning needs to know besides the records.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// Bytes of a body that are read at most.
    pub max_body: u64,
    /// Whether bodies are read to the end even where they are longer than promised.
    pub whole: bool,
    /// Whose bodies are kept for the archive.
    pub keep: Keep,
}

/// Whose bodies are kept for the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Nobody's.
    None,
    /// Those of static records.
    Static,
    /// All.
    All,
}

/// The jobs of one domain file. `is_archived` tells whether the archive holds
/// a job's content with this digest already, so that its bytes need not be
/// kept a second time.
pub fn jobs_of(
    file: &DomainFile,
    name: &Arc<str>,
    selection: &Selection,
    purpose: Purpose,
    is_archived: impl Fn(&JobKey, &[u8; 32]) -> bool,
) -> Vec<Job> {
    let host = file.host();
    if !selection.wants_domain(host) {
        return vec![];
    }
    let schemes = schemes(file.metadata());
    let wanted = file
        .records()
        .filter(|entry| selection.asks_for(host, entry.record()));
    wanted
        .flat_map(|entry| schemes.iter().map(move |scheme| (entry, *scheme)))
        .map(|(entry, scheme)| {
            let record = entry.record();
            let key = JobKey {
                domain: host.to_owned(),
                path: record.path.clone(),
                request: record.identity().request,
                alias: None,
                scheme,
            };
            let url = format!("{scheme}://{host}{}", record.path);
            let promise = promise(record, &url);
            let known = promise
                .sha256
                .is_some_and(|digest| is_archived(&key, &digest));
            let body = body_use(&promise, purpose, known);
            let request = request(record);
            Job {
                key,
                url,
                file: Arc::clone(name),
                line: entry.line(),
                promise,
                request,
                body,
            }
        })
        .collect()
}

fn schemes(metadata: &Metadata) -> Vec<Scheme> {
    let mut schemes = Vec::with_capacity(2);
    if metadata.http {
        schemes.push(Scheme::Http);
    }
    if metadata.https || !metadata.http {
        schemes.push(Scheme::Https);
    }
    schemes
}

fn request(record: &Record) -> Request {
    let own = record.request_headers.iter();
    let mut headers: Vec<(String, String)> = own
        .filter_map(|(name, value)| Some((name.to_owned(), value.as_text()?.to_owned())))
        .collect();
    if let Some(content_type) = &record.request_content_type {
        headers.push(("content-type".to_owned(), content_type.clone()));
    }
    Request {
        method: record.method.clone().unwrap_or_else(|| "GET".to_owned()),
        headers,
        body: record.request_body.clone(),
    }
}

fn body_use(promise: &Promise, purpose: Purpose, known: bool) -> BodyUse {
    let promised = promise.length.filter(|_| !purpose.whole);
    let at_most = promised.map_or(purpose.max_body, |length| length.min(purpose.max_body));
    match (promise.is_static(), purpose.keep) {
        (true, Keep::None) => BodyUse::Hash {
            at_most,
            keep: false,
        },
        (true, Keep::Static | Keep::All) => BodyUse::Hash {
            at_most,
            keep: !known,
        },
        (false, Keep::All) => BodyUse::Hash {
            at_most,
            keep: true,
        },
        (false, Keep::None | Keep::Static) => BodyUse::Skip,
    }
}

fn promise(record: &Record, url: &str) -> Promise {
    Promise {
        length: record.content_length,
        sha256: record
            .content_sha256
            .as_deref()
            .and_then(hex::decode_sha256),
        content_type: record.content_type.clone(),
        redirect_status: record.content_type.as_deref().and_then(pseudo_type),
        status: record.status,
        redirects_to: record
            .redirects_to
            .as_deref()
            .map(|target| absolute(url, target)),
        redirect_ok: record.has_category("redirect-ok"),
        content_type_change_ok: record.has_category("content-type-change-ok"),
    }
}

/// The status of a pseudo type such as `X-301-Redirect`.
fn pseudo_type(content_type: &str) -> Option<u16> {
    content_type
        .strip_prefix("X-")?
        .strip_suffix("-Redirect")?
        .parse()
        .ok()
}

fn absolute(url: &str, target: &str) -> String {
    let joined = url::Url::parse(url).and_then(|base| base.join(target));
    joined.map_or_else(|_| target.to_owned(), String::from)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const FILE: &str = "\
---
https: true
---
_path: /a
content-length: 3
content-sha256: '1111111111111111111111111111111111111111111111111111111111111111'
---
_path: /b
categories:
- deprecated
---
_path: /c
categories:
- core
- redirect-ok
content-type: X-302-Redirect
redirects-to: /elsewhere
";

    fn jobs(selection: &Selection, keep: Keep) -> Vec<Job> {
        let file = DomainFile::parse(Path::new("example.org.yaml"), FILE.as_bytes()).file;
        let purpose = Purpose {
            max_body: 100,
            whole: false,
            keep,
        };
        jobs_of(
            &file,
            &Arc::from("urldb/example.org.yaml"),
            selection,
            purpose,
            |_, _| false,
        )
    }

    fn urls(jobs: &[Job]) -> Vec<&str> {
        jobs.iter().map(|job| job.url.as_str()).collect()
    }

    #[test]
    fn both_schemes_are_asked_and_deprecated_records_are_not() {
        let jobs = jobs(&Selection::default(), Keep::Static);
        assert_eq!(
            urls(&jobs),
            [
                "http://example.org/a",
                "https://example.org/a",
                "http://example.org/c",
                "https://example.org/c"
            ]
        );
        assert_eq!(
            jobs[0].body,
            BodyUse::Hash {
                at_most: 3,
                keep: true
            }
        );
        assert_eq!(jobs[2].body, BodyUse::Skip);
        assert_eq!(jobs[2].promise.redirect_status, Some(302));
        assert_eq!(
            jobs[3].promise.redirects_to.as_deref(),
            Some("https://example.org/elsewhere")
        );
        assert!(jobs[2].promise.redirect_ok);
        assert_eq!(jobs[2].line, 12);
    }

    #[test]
    fn selections_narrow_what_is_asked() {
        let only = |selection| urls(&jobs(&selection, Keep::None)).len();
        assert_eq!(
            only(Selection {
                categories: vec!["core".into()],
                ..Selection::default()
            }),
            2
        );
        assert_eq!(
            only(Selection {
                path_prefix: Some("/a".into()),
                ..Selection::default()
            }),
            2
        );
        assert_eq!(
            only(Selection {
                domains: vec!["other.org".into()],
                ..Selection::default()
            }),
            0
        );
        let named = Selection {
            records: vec![("example.org".into(), "/b".into())],
            ..Selection::default()
        };
        assert_eq!(
            only(named),
            2,
            "a deprecated record that is named is asked for"
        );
    }
}
