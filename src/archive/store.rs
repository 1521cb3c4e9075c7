//! Archives observations: a full capture of each content, and revisits while the content stays the same.
//!
//! Several threads archive at once. Each compresses its own records; only the finished records are
//! written one after another.
//!
//! The ledger's entry about a URL's last capture decides between capture and revisit. Redirects are
//! captured when they are new or have changed. A failure without any response is recorded once, when
//! it begins. An error page or an incomplete body is captured whenever it differs from the one that was
//! captured last, up to `MAX_BAD_RESPONSES` times while the state of its URL lasts.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use sha2::{Digest as _, Sha256};
use urldb_files::{Root, Spool};
use urldb_text::sanitize;
use urldb_verdict::{
    Body, BodyEnd, BodyUse, Failure, FailureKind, Hop, Job, Observation, verified_digest,
};
use urldb_warc::cdxj::STATUS_FIELD;
use urldb_warc::draft::{Exchange, TruncationReason};
use urldb_warc::{Digest, DigestAlgorithm, RecordId};

use super::completeness::{is_good, missing_of, missing_rest, truncation};
use super::job_response::{JobResponse, bad_response_digest, fingerprint, redirects};
use super::keys::lookup_url;
use super::known_content::{BAD_LEDGER, content_of, original};
use super::origins::{EarlierOrigins, Origins};
use super::output_files::{OutputFiles, Provenance, random_id, warc_date};
use super::pending_record::{PendingRecord, RecordOptions, RecordPacker};
use super::stored::{archived, known_bad_response};
use crate::ambient::Ambient;
use crate::config::{self, ArchiveRequests};
use crate::explain::explain;
use crate::ledger::{
    Archived, BadResponse, Capture, Content, KnownCaptures, KnownOrigin, KnownOrigins,
};

/// The archive of a run.
pub struct Archive {
    files: Mutex<OutputFiles>,
    origins: Origins,
    ambient: Ambient,
    options: RecordOptions,
    digest: DigestAlgorithm,
    requests: ArchiveRequests,
}

impl Archive {
    /// Opens the archive in a folder. Recovers the files of a killed run first; each
    /// line of the returned list describes one recovery.
    pub fn open(
        folder: &Root,
        how: &config::Archive,
        provenance: Provenance,
        ambient: Ambient,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let (files, notes) = OutputFiles::open(folder, how, provenance, ambient)?;
        let origins = Origins::new(false);
        Ok((Self::of_files(files, origins, how, ambient), notes))
    }

    /// An archive whose files belong to the bundle of a shard: the archive that adopts the files indexes
    /// them. `label` is in their names, and differs between all attempts of all shards.
    pub fn of_bundle(
        folder: &Root,
        how: &config::Archive,
        provenance: Provenance,
        ambient: Ambient,
        label: &str,
    ) -> Self {
        let files = OutputFiles::of_bundle(folder, how, provenance, ambient, label);
        Self::of_files(files, Origins::new(true), how, ambient)
    }

    fn of_files(
        files: OutputFiles,
        origins: Origins,
        how: &config::Archive,
        ambient: Ambient,
    ) -> Self {
        Self {
            files: Mutex::new(files),
            origins,
            ambient,
            options: RecordOptions::new(how),
            digest: how.digest,
            requests: how.requests,
        }
    }

    /// A per-thread archive writer. `earlier` reads the records of earlier runs about the hosts of a domain's
    /// URLs.
    pub fn writer<'a>(&'a self, earlier: EarlierOrigins<'a>) -> ArchiveWriter<'a> {
        ArchiveWriter {
            archive: self,
            packer: RecordPacker::new(self.options),
            earlier,
            origins: KnownOrigins::new(),
        }
    }

    /// Closes the last file and merges all lines into the index. Returns the files.
    pub fn finish(self) -> anyhow::Result<Vec<PathBuf>> {
        self.into_files().finish()
    }

    /// Removes the files of this run.
    pub fn discard(self) -> anyhow::Result<()> {
        self.into_files().discard()
    }

    fn into_files(self) -> OutputFiles {
        self.files
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Builds records of observations, and writes them. Each thread has one.
pub struct ArchiveWriter<'a> {
    archive: &'a Archive,
    packer: RecordPacker,
    earlier: EarlierOrigins<'a>,
    /// The new records about hosts.
    origins: KnownOrigins,
}

impl ArchiveWriter<'_> {
    /// Archives one observation of a job. The result has the error, if a record cannot be written, so that a full disk
    /// keeps nobody from being notified. Earlier records are complete then.
    pub fn store(&mut self, job: &Job, seen: &mut Observation, known: KnownCaptures) -> Archived {
        let stored = self.store_captures(job, seen, &known);
        let origins = std::mem::take(&mut self.origins);
        let stored = match stored {
            Ok(stored) => Archived { origins, ..stored },
            Err(error) => Archived {
                captures: KnownCaptures {
                    content: None,
                    bad_response: known.bad_response,
                },
                error: Some(explain(&error)),
                not_archived: Some(explain(&error)),
                ..Archived::default()
            },
        };
        Archived {
            captures: KnownCaptures {
                content: stored.captures.content.or(known.content),
                ..stored.captures
            },
            error: (stored.error).map(|why| format!("{}: cannot be archived: {why}", job.url)),
            ..stored
        }
    }

    fn store_captures(
        &mut self,
        job: &Job,
        seen: &mut Observation,
        captures: &KnownCaptures,
    ) -> anyhow::Result<Archived> {
        if job.body == BodyUse::Skip {
            return Ok(Archived::default());
        }
        let known = captures.content.as_ref();
        let known_bad = captures.bad_response.as_ref();
        let bad = (!is_good(job, seen))
            .then(|| bad_response_digest(seen))
            .flatten();
        if let Some(stored) = known_bad_response(bad.as_deref(), known_bad, seen) {
            return Ok(stored);
        }
        let chain = fingerprint(redirects(seen));
        let is_kept = seen.body.as_ref().is_none_or(|body| body.bytes.is_some());
        let known_chain = known.map(|content| &content.redirects);
        if known_chain.map_or(is_kept && chain.is_some(), |known| *known != chain) {
            self.store_redirects(job, redirects(seen))?;
        }
        if let (None, Some(failure)) = (&seen.body, &seen.failure) {
            self.store_failure(job, seen, failure)?;
            let mut stored = Archived::default();
            stored.captures.bad_response = known_bad.cloned();
            return Ok(stored);
        }
        let (stored, capture) = if seen.is_not_modified() {
            self.store_not_modified(job, seen, known)?;
            (archived(known.cloned(), None), None)
        } else {
            self.store_end(job, seen, known)?
        };
        let content = stored.captures.content.map(|content| Content {
            redirects: chain,
            fits: if seen.is_not_modified() {
                content.fits.filter(|_| !job.promise.digests.is_empty())
            } else {
                verified_digest(&job.promise, seen).map(|digest| digest.to_string())
            },
            ..content
        });
        let bad_response = bad.filter(|_| content.is_none()).and_then(|digest| {
            let Some(capture) = capture else {
                return known_bad.cloned();
            };
            Some(BadResponse {
                digest,
                count: known_bad.map_or(0, |known| known.count) + 1,
                file: capture.file,
            })
        });
        Ok(Archived {
            captures: KnownCaptures {
                content,
                bad_response,
            },
            ..stored
        })
    }

    /// Archives the last response, as a capture or as a revisit. Returns a new capture besides.
    fn store_end(
        &mut self,
        job: &Job,
        seen: &mut Observation,
        known: Option<&Content>,
    ) -> anyhow::Result<(Archived, Option<Capture>)> {
        let is_whole = is_good(job, seen);
        let missing = missing_rest(seen).filter(|_| !is_whole);
        let chain = fingerprint(redirects(seen));
        let Observation {
            hops,
            body,
            failure,
            ..
        } = seen;
        let (Some(hop), Some(body)) = (hops.last(), body.as_mut()) else {
            return Ok((Archived::default(), None));
        };
        let response = JobResponse {
            job,
            hop,
            digest: Digest::sha256(body.sha256),
        };
        let digest = response.digest.to_string();
        // The content of the ledger is that of a good answer: an error page with the same bytes is
        // another response.
        let is_success = (200..300).contains(&hop.status);
        let is_comparable = is_success && (is_whole || body.end == BodyEnd::Cut);
        // A redirect may turn a POST into a GET. The original of a revisit answers the same request,
        // so the same redirects led to it.
        let is_same_request =
            |known: &Content| job.request.method == "GET" || known.redirects == chain;
        let same = known.filter(|content| {
            content.digest == digest && is_comparable && is_same_request(content)
        });
        let original = same.and_then(|content| content.capture.as_ref());
        if let Some(capture) = original {
            self.store_revisit(&response, capture)?;
            return Ok((archived(same.cloned(), missing.as_ref()), None));
        }
        let truncated = truncation(body, failure.as_ref())
            .filter(|_| !is_whole)
            .map(|(reason, _)| reason);
        let capture = self.store_response(&response, body, truncated)?;
        // A body that is always cut is remembered too; else every run would capture it again.
        let is_cut = body.end == BodyEnd::Cut && is_success;
        let is_remembered = is_whole || is_cut && known.is_none();
        let content = is_remembered.then(|| content_of(hop, digest, capture.clone()));
        let missing = missing_of(job, body, missing);
        Ok((archived(content, missing.as_ref()), capture))
    }

    fn store_revisit(
        &mut self,
        response: &JobResponse<'_>,
        capture: &Capture,
    ) -> anyhow::Result<()> {
        let mut original = original(capture, &response.digest)?;
        let non_get = response.stored_request();
        if let Some(non_get) = &non_get {
            original.target_uri = lookup_url(&original.target_uri, non_get);
        }
        let id = self.new_id();
        let date = warc_date(response.hop.at)?;
        let exchange = response.exchange(&date);
        let mut draft = exchange.revisit_identical(&id, &original, vec![])?;
        response.add_vary(&mut draft)?;
        (draft.header).push(STATUS_FIELD, response.hop.status.to_string())?;
        // Without its request, a revisit of a response to a POST could not be indexed anew.
        let with_request = self.archive.requests == ArchiveRequests::All || non_get.is_some();
        let mut records = vec![PendingRecord {
            request: non_get,
            ..PendingRecord::without_body(draft)
        }];
        if with_request {
            records.push(self.request(response, &exchange, &id)?);
        }
        self.write_response(response, records).map(drop)
    }

    /// Writes a server-not-modified revisit for a 304, with the head of the response.
    fn store_not_modified(
        &mut self,
        job: &Job,
        seen: &Observation,
        known: Option<&Content>,
    ) -> anyhow::Result<()> {
        let capture = known.and_then(|known| Some((known, known.capture.as_ref()?)));
        let (Some(hop), Some((known, capture))) = (seen.last(), capture) else {
            return Ok(());
        };
        let digest: Digest = known.digest.parse().context(BAD_LEDGER)?;
        let original = original(capture, &digest)?;
        let response = JobResponse { job, hop, digest };
        let (id, head_id) = (self.new_id(), self.new_id());
        let date = warc_date(hop.at)?;
        let exchange = response.exchange(&date);
        let mut revisit = exchange.revisit_not_modified(&id, &original)?;
        response.add_vary(&mut revisit)?;
        let head = response.response_head(0)?;
        let head = exchange.not_modified_head(&head_id, &id, &head)?;
        let mut records = vec![
            PendingRecord::without_body(revisit),
            PendingRecord::without_body(head),
        ];
        if self.archive.requests == ArchiveRequests::All {
            records.push(self.request(&response, &exchange, &id)?);
        }
        self.write_response(&response, records).map(drop)
    }

    /// Writes each redirect as a capture of its own, with the part of its body that was read.
    fn store_redirects(&mut self, job: &Job, redirects: &[Hop]) -> anyhow::Result<()> {
        for hop in redirects {
            let mut spool = Spool::new();
            spool.push(&hop.beginning.bytes)?;
            let sha256 = Sha256::digest(&hop.beginning.bytes).into();
            let mut body = Body {
                length: spool.length(),
                sha256,
                compared: None,
                end: BodyEnd::Complete,
                cut: None,
                decoded: None,
                digests: Box::default(),
                decoded_digests: Box::default(),
                conversion: None,
                bytes: Some(spool),
            };
            let truncated = (!hop.beginning.is_whole).then_some(TruncationReason::Length);
            let digest = Digest::sha256(sha256);
            self.store_response(&JobResponse { job, hop, digest }, &mut body, truncated)?;
        }
        Ok(())
    }

    /// Writes why there was no response, unless the request was never sent.
    fn store_failure(
        &mut self,
        job: &Job,
        seen: &Observation,
        failure: &Failure,
    ) -> anyhow::Result<()> {
        if matches!(
            failure.kind,
            FailureKind::Refused | FailureKind::UnsafeMethod | FailureKind::RunEnded
        ) {
            return Ok(());
        }
        let last = seen.last();
        let asked = last.and_then(Hop::redirect_target);
        let asked = match failure.kind {
            // These are about the redirect itself.
            FailureKind::RedirectLoop
            | FailureKind::RedirectLimit
            | FailureKind::RedirectInvalid => last.map(|last| last.url.clone()),
            _ => asked,
        };
        let asked = asked.unwrap_or_else(|| job.url.to_string());
        let date = warc_date(last.map_or(seen.started, |last| last.at))?;
        let exchange = Exchange {
            target_uri: asked.split('#').next().unwrap_or_default(),
            date: &date,
            ip_address: None,
            protocols: &[],
        };
        let detail = sanitize(&failure.detail);
        let fields = [("failure", failure.kind.as_str()), ("detail", &*detail)];
        let draft = exchange.metadata(&self.new_id(), None, &fields)?;
        self.write(vec![PendingRecord::without_body(draft)])
            .map(drop)
    }

    /// Writes request and response. Returns `None` when the body was not kept.
    fn store_response(
        &mut self,
        response: &JobResponse<'_>,
        body: &mut Body,
        truncated: Option<TruncationReason>,
    ) -> anyhow::Result<Option<Capture>> {
        let Some(bytes) = body.bytes.as_mut() else {
            return Ok(None);
        };
        let length = bytes.length();
        let id = self.new_id();
        let date = warc_date(response.hop.at)?;
        let exchange = response.exchange(&date);
        let digest = self.archive.digest;
        let payload = match digest {
            DigestAlgorithm::Sha256 => response.digest.clone(),
            DigestAlgorithm::Sha1 => Digest::of(DigestAlgorithm::Sha1, bytes.reader()?)?.0,
        };
        let head = response.response_head(length)?;
        let mut draft = exchange.response(&id, head, &payload, truncated)?;
        response.add_vary(&mut draft)?;
        let captured = PendingRecord {
            request: response.stored_request(),
            block_digest: Some(digest),
            ..PendingRecord::new(draft, bytes.reader()?, length)
        };
        let request = self.request(response, &exchange, &id)?;
        let file = self.write_response(response, vec![captured, request])?;
        Ok(Some(Capture {
            record: id.as_str().to_owned(),
            date: date.as_str().to_owned(),
            uri: response.hop.url.clone(),
            file,
            digest: (payload != response.digest).then(|| payload.to_string()),
        }))
    }

    /// The request record that belongs to a response record.
    fn request<'a>(
        &self,
        response: &'a JobResponse<'_>,
        exchange: &Exchange<'_>,
        about: &RecordId,
    ) -> anyhow::Result<PendingRecord<'a>> {
        let draft = exchange.request(&self.new_id(), about, response.request_head()?)?;
        Ok(PendingRecord::of_bytes(draft, response.request_body()))
    }

    fn new_id(&self) -> RecordId {
        random_id(self.archive.ambient)
    }

    /// Writes the records about a response, the first of which is its capture, and new ones about its host.
    /// Returns the name of the file that has the capture.
    fn write_response(
        &mut self,
        response: &JobResponse<'_>,
        mut records: Vec<PendingRecord<'_>>,
    ) -> anyhow::Result<String> {
        let archive = self.archive;
        let new_id = || random_id(archive.ambient);
        let JobResponse { job, hop, .. } = response;
        let origins =
            (archive.origins).of_response(job, hop, archive.digest, self.earlier, &new_id)?;
        if let Some(capture) = records.first_mut() {
            for id in &origins.named {
                capture.draft.add_concurrent(id)?;
            }
        }
        let drafts = origins.new.iter().map(|new| new.draft.clone());
        records.extend(drafts.map(PendingRecord::without_body));
        let file = self
            .write(records)
            .inspect_err(|_| archive.origins.forget(&origins.new))?;
        for new in origins.new {
            let file = file.clone();
            self.origins
                .insert(new.uri, KnownOrigin { file, ..new.known });
        }
        Ok(file)
    }

    /// Writes records that belong together, and returns the name of the file that has them.
    fn write(&mut self, records: Vec<PendingRecord<'_>>) -> anyhow::Result<String> {
        let records = records
            .into_iter()
            .map(|record| self.packer.pack(record))
            .collect::<anyhow::Result<_>>()?;
        self.archive
            .files
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .append(records)
    }
}
