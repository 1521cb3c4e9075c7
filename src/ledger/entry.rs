//! One document of a ledger file: the memory of one job.

use std::collections::BTreeSet;

use anyhow::Context;
use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use urldb_canon::Scheme;
use urldb_format::{Digest, Mapping, Schema, Value};
use urldb_protocol::{CertificateDates, Shown, State};
use urldb_verdict::{Doubt, JobKey, Pending, UrlStatus};

use super::incidents;

/// The key of [`Entry::has_text_of_challenge`]; absent if not so.
const TEXT_OF_CHALLENGE: &str = "text-of-challenge";

/// The keys of a ledger file whose values are not text.
pub(super) const SCHEMA: Schema = Schema {
    integers: &["bad-response-count", "pending-count", "pending-other-count"],
    booleans: &[TEXT_OF_CHALLENGE],
    is_known: |_| true,
};

/// The memory of one job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// State, reason and pending doubt.
    pub url_status: UrlStatus,
    /// The content that was last seen complete.
    pub content: Option<Content>,
    /// The error page or incomplete body that was archived last, while the URL is in trouble.
    pub bad_response: Option<BadResponse>,
    /// When a run first saw the job.
    pub added: Timestamp,
    /// When the entry last changed.
    pub updated: Timestamp,
    /// The ids of the last runs in which the URL broke, oldest first.
    pub breaks: Vec<String>,
    /// The id of the open incident that affects the URL.
    pub incident: Option<String>,
    /// Whether the promised bytes, when they were last seen, had a text by which a challenge is recognized.
    pub has_text_of_challenge: bool,
}

/// An error page or an incomplete body in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BadResponse {
    /// Digest of the response, as `sha256:` and lower-case hex: of its redirects, URL, status, bytes
    /// and truncation.
    pub digest: String,
    /// Number of captures of different such responses since the URL came into its state.
    pub count: u64,
    /// The name of the WARC file.
    pub file: String,
}

/// Content that was seen complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Content {
    /// Digest of the content, as `sha256:` and lower-case hex.
    pub digest: String,
    /// The strongest digest that the record promised, as `sha512:` and lower-case hex, if the record promises
    /// more than a SHA-256 and the content has each of its digests.
    #[serde(default)]
    pub fits: Option<String>,
    /// `ETag` of its response.
    pub etag: Option<String>,
    /// `Last-Modified` of its response.
    pub last_modified: Option<String>,
    /// Digest of the redirects that led to it, as they were archived last.
    pub redirects: Option<String>,
    /// The record with its full capture.
    pub capture: Option<Capture>,
    /// When a run found that the archive no longer has the file of the capture. The next capture of the content ends
    /// this.
    #[serde(default)]
    pub lost: Option<Timestamp>,
}

/// A `response` record in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Capture {
    /// Its `WARC-Record-ID`, without brackets.
    pub record: String,
    /// Its `WARC-Date`, exactly as written there.
    pub date: String,
    /// Its `WARC-Target-URI`.
    pub uri: String,
    /// The name of the WARC file.
    pub file: String,
    /// Its `WARC-Payload-Digest`, if that is another than the SHA-256 of the content.
    pub digest: Option<String>,
}

impl Entry {
    /// Whether the URL is as promised, beyond doubt.
    pub fn is_settled(&self) -> bool {
        let status = &self.url_status;
        status.state == State::Ok && status.pending.is_none() && self.incident.is_none()
    }

    /// The document of the ledger file; [`Content::to_mapping`] has the content.
    pub(super) fn to_mapping(&self, key: &JobKey) -> Mapping {
        let mut mapping = identity(key);
        put_time(&mut mapping, "added", Some(self.added));
        put_time(&mut mapping, "updated", Some(self.updated));
        put(&mut mapping, "incident", self.incident.as_deref());
        if !self.breaks.is_empty() {
            let breaks = self.breaks.iter().map(|run| run.as_str().into());
            mapping.insert("breaks", Value::List(breaks.collect()));
        }
        let url_status = &self.url_status;
        mapping.insert("state", url_status.state.as_str());
        mapping.insert("since", url_status.since.to_string());
        put(&mut mapping, "reason", url_status.reason.as_deref());
        if let Some(pending) = &url_status.pending {
            mapping.insert("pending", pending.state.as_str());
            mapping.insert("pending-since", pending.first.to_string());
            mapping.insert("pending-count", u64::from(pending.count));
            if let Some(other) = &pending.other {
                mapping.insert("pending-other-since", other.first.to_string());
                mapping.insert("pending-other-count", u64::from(other.count));
            }
        }
        if let Some(bad) = &self.bad_response {
            mapping.insert("bad-response", bad.digest.as_str());
            mapping.insert("bad-response-count", bad.count);
            mapping.insert("bad-response-file", bad.file.as_str());
        }
        if self.has_text_of_challenge {
            mapping.insert(TEXT_OF_CHALLENGE, true);
        }
        mapping
    }

    /// Reads a document of the file of statuses; the file of captures has the content.
    pub(super) fn from_mapping(domain: &str, mapping: &Mapping) -> anyhow::Result<(JobKey, Self)> {
        let key = key_of(domain, mapping)?;
        let url_status = UrlStatus {
            state: needed(mapping, "state")?.parse()?,
            since: timestamp(mapping, "since")?,
            reason: text(mapping, "reason"),
            pending: pending(mapping)?,
        };
        let bad_response = text(mapping, "bad-response").map(|digest| BadResponse {
            digest,
            count: count(mapping, "bad-response-count").into(),
            file: text(mapping, "bad-response-file").unwrap_or_default(),
        });
        let breaks = match mapping.get("breaks") {
            Some(Value::List(runs)) => runs.iter(),
            _ => [].iter(),
        };
        let entry = Self {
            url_status,
            content: None,
            bad_response,
            added: timestamp(mapping, "added")?,
            updated: timestamp(mapping, "updated")?,
            breaks: breaks
                .filter_map(|run| run.as_text().map(str::to_owned))
                .collect(),
            incident: text(mapping, "incident"),
            has_text_of_challenge: mapping.get(TEXT_OF_CHALLENGE) == Some(&Value::Bool(true)),
        };
        Ok((key, entry))
    }
}

impl Content {
    /// The SHA-256 of the content, if it was verified against this digest, the strongest of a record.
    pub fn verified_sha256(&self, strongest: &Digest) -> Option<[u8; 32]> {
        let fits = self.fits.as_deref()? == strongest.to_string();
        let hex = self.digest.strip_prefix("sha256:").filter(|_| fits)?;
        HEXLOWER.decode(hex.as_bytes()).ok()?.try_into().ok()
    }

    /// The document of the file of captures.
    pub(super) fn to_mapping(&self, key: &JobKey) -> anyhow::Result<Mapping> {
        let mut mapping = identity(key);
        mapping.extend(incidents::to_document(self)?);
        Ok(mapping)
    }

    /// Drops the capture if it is in one of these files, which the run of this time found lost. Returns whether it
    /// was.
    pub(super) fn lose(&mut self, files: &BTreeSet<String>, now: Timestamp) -> bool {
        let capture = &mut self.capture;
        let is_lost = capture
            .take_if(|capture| files.contains(&capture.file))
            .is_some();
        if is_lost {
            // The captures of the redirects may be in the same file.
            self.redirects = None;
            self.lost.get_or_insert(now);
        }
        is_lost
    }
}

/// The keys that identify a job in the files of its domain.
fn identity(key: &JobKey) -> Mapping {
    let mut mapping = Mapping::new();
    mapping.insert("_path", key.path.as_str());
    put(&mut mapping, "request", key.request.as_deref());
    put(&mut mapping, "variant", key.variant.as_deref());
    put(&mut mapping, "alias", key.alias.as_deref());
    if key.scheme == Scheme::Https {
        mapping.insert("scheme", "https");
    }
    mapping
}

/// The job that a document is about.
pub(super) fn key_of(domain: &str, mapping: &Mapping) -> anyhow::Result<JobKey> {
    Ok(JobKey {
        domain: domain.to_owned(),
        path: needed(mapping, "_path")?,
        request: text(mapping, "request"),
        variant: text(mapping, "variant"),
        alias: text(mapping, "alias"),
        scheme: match text(mapping, "scheme").as_deref() {
            Some("https") => Scheme::Https,
            _ => Scheme::Http,
        },
    })
}

/// The dates of a certificate, in the metadata.
pub(super) fn certificate_mapping(certificate: &CertificateDates) -> Mapping {
    let mut mapping = Mapping::new();
    put(
        &mut mapping,
        "issuer",
        Some(certificate.issuer.as_str()).filter(|issuer| !issuer.is_empty()),
    );
    put_time(&mut mapping, "not-after", Some(certificate.not_after));
    put_time(&mut mapping, "not-before", Some(certificate.not_before));
    put(
        &mut mapping,
        "of-authority",
        certificate.authority.as_deref(),
    );
    mapping
}

pub(super) fn certificate(mapping: &Mapping) -> anyhow::Result<CertificateDates> {
    Ok(CertificateDates {
        not_before: timestamp(mapping, "not-before")?,
        not_after: timestamp(mapping, "not-after")?,
        issuer: Shown::new(&text(mapping, "issuer").unwrap_or_default(), Shown::LONGEST),
        authority: text(mapping, "of-authority").map(|name| Shown::new(&name, Shown::LONGEST)),
    })
}

fn pending(mapping: &Mapping) -> anyhow::Result<Option<Pending>> {
    let Some(state) = text(mapping, "pending") else {
        return Ok(None);
    };
    let state: State = state.parse()?;
    let other = match mapping.get("pending-other-since") {
        Some(_) => Some(Doubt {
            first: timestamp(mapping, "pending-other-since")?,
            count: count(mapping, "pending-other-count"),
        }),
        None => None,
    };
    Ok(Some(Pending {
        state,
        first: timestamp(mapping, "pending-since")?,
        count: count(mapping, "pending-count"),
        other,
    }))
}

fn count(mapping: &Mapping, key: &str) -> u32 {
    let count = mapping.get(key).and_then(Value::as_int).unwrap_or(1);
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn put(mapping: &mut Mapping, key: &str, value: Option<&str>) {
    if let Some(value) = value {
        mapping.insert(key, value);
    }
}

fn put_time(mapping: &mut Mapping, key: &str, time: Option<Timestamp>) {
    if let Some(time) = time {
        mapping.insert(key, time.to_string());
    }
}

pub(super) fn text(mapping: &Mapping, key: &str) -> Option<String> {
    mapping.get(key).and_then(Value::as_text).map(str::to_owned)
}

fn needed(mapping: &Mapping, key: &str) -> anyhow::Result<String> {
    text(mapping, key).with_context(|| format!("`{key}` is missing"))
}

pub(super) fn timestamp(mapping: &Mapping, key: &str) -> anyhow::Result<Timestamp> {
    let text = needed(mapping, key)?;
    text.parse()
        .with_context(|| format!("`{key}` is no point in time: {text}"))
}
