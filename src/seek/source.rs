//! The URLs that may serve sought bytes: the promised ones, and those of places.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use urldb_canon::{RequestUrl, Scheme};
use urldb_fetch::{FetchOptions, HostOptions};
use urldb_format::Digest;
use urldb_verdict::{BodyUse, Job, JobKey, Keep, Request};

use crate::config::{Config, FindPlace};
use crate::copies::{Content, Copies, RecordCopy};

/// The shortest time between two requests to a place, and the longest wait for a host that refuses requests.
const INTERVAL: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(30);

/// The relation of a source to the sought bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceKind {
    /// The URL that was named.
    Url,
    /// Another URL that promises the same bytes.
    Copy,
    /// The place of this name, `[find.NAME]`.
    Place(String),
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Url => "url",
            Self::Copy => "copy",
            Self::Place(name) => name,
        })
    }
}

/// A URL that may serve sought bytes.
#[derive(Debug, Clone)]
pub struct Source {
    /// The kind of source.
    pub kind: SourceKind,
    /// The URL.
    pub url: RequestUrl,
    /// The key of its record, or of none.
    key: JobKey,
    request: Arc<Request>,
}

impl Source {
    /// The URL of a record.
    fn of_record(kind: SourceKind, copy: &RecordCopy) -> Self {
        Self {
            kind,
            url: copy.url.clone(),
            key: copy.key.clone(),
            request: Request::of(&copy.record),
        }
    }

    /// The URL of a content in a place; `None` if the place needs to know more of it.
    fn of_place(
        name: &str,
        place: &FindPlace,
        headers: &[(String, String)],
        content: &Content,
        url: Option<&str>,
    ) -> Option<Self> {
        let has_headers = !headers.is_empty();
        let digits = |algorithm| content.digest(algorithm).map(Digest::hex);
        let text = place
            .url
            .fill(digits, content.strongest()?.algorithm(), url, has_headers)?;
        let url = RequestUrl::from_text(&text)?;
        let is_https = url.as_str().starts_with("https:");
        let scheme = if is_https {
            Scheme::Https
        } else {
            Scheme::Http
        };
        Some(Self {
            kind: SourceKind::Place(name.to_owned()),
            key: JobKey {
                domain: url.host().to_owned(),
                path: url.as_str().to_owned(),
                request: None,
                variant: None,
                alias: None,
                scheme,
            },
            url,
            request: Arc::new(Request {
                method: "GET".to_owned(),
                headers: headers.to_vec(),
                body: None,
                within: Some(place.url.within().to_owned()),
            }),
        })
    }

    /// The job that asks for the content here, with further request headers. `line` is a number of the caller. The bytes
    /// are kept with `is_kept`.
    pub(super) fn job(
        &self,
        content: &Content,
        headers: Vec<(String, String)>,
        line: usize,
        is_kept: bool,
    ) -> Job {
        let mut request = Arc::clone(&self.request);
        if !headers.is_empty() {
            Arc::make_mut(&mut request).headers.extend(headers);
        }
        let promise = content.promise();
        Job {
            key: self.key.clone(),
            url: self.url.clone(),
            file: "".into(),
            line,
            uses: None,
            categories: Arc::default(),
            body: BodyUse::Hash {
                at_most: promise.length.unwrap_or(u64::MAX),
                keep: if is_kept {
                    Keep::Everything
                } else {
                    Keep::Nothing
                },
                beyond: 0,
            },
            promise,
            request,
            muted: false,
            validators: None,
        }
    }
}

/// The sources of a content in the order in which they are asked: the URL, its copies, and the places. `url` is the
/// promised URL, if one was named.
///
/// # Errors
/// When a header of a place cannot be sent, such as one whose environment variable is not set.
pub fn sources_of(
    copies: &Copies,
    url: Option<&JobKey>,
    config: &Config,
) -> anyhow::Result<Vec<Source>> {
    let is_own = |copy: &&RecordCopy| url == Some(&copy.key);
    let own = copies.records.iter().find(is_own);
    let others = copies.records.iter().filter(|copy| !is_own(copy));
    let mut sources: Vec<Source> = own
        .map(|copy| Source::of_record(SourceKind::Url, copy))
        .into_iter()
        .collect();
    sources.extend(others.map(|copy| Source::of_record(SourceKind::Copy, copy)));
    let named = own.or(copies.records.first()).map(|copy| copy.url.as_str());
    for (name, place) in &config.find {
        let headers = urldb_fetch::header_values(&place.headers).map_err(|(key, message)| {
            let section = config.place(&format!("find.{name}"), key);
            anyhow::anyhow!("{section}: {message}")
        })?;
        sources.extend(Source::of_place(
            name,
            place,
            &headers,
            &copies.content,
            named,
        ));
    }
    Ok(sources)
}

/// The options of a run with those of the places of these sources: a second between requests, one at a time.
pub(super) fn options<'s>(
    config: &Config,
    sources: impl Iterator<Item = &'s Source>,
) -> FetchOptions {
    let mut options = config.check.fetch.clone();
    let patient = |host: &mut HostOptions| host.limit_patience = host.limit_patience.min(PATIENCE);
    patient(&mut options.default_host);
    options.hosts.values_mut().for_each(patient);
    for source in sources {
        if !matches!(source.kind, SourceKind::Place(_)) {
            continue;
        }
        let default = options.default_host.clone();
        let name = source.url.host().to_owned();
        let host = options.hosts.entry(name).or_insert(default);
        host.host_interval = host.host_interval.max(INTERVAL);
        host.host_concurrency = 1;
    }
    options
}
