//! Keeps what was seen: a full capture of each content, and revisits while it stays the same.
//!
//! Several threads may do so at once. What costs time is done by each for itself, and only the finished
//! records are written one after another.
//!
//! What the ledger says of a URL's last capture decides whether a revisit will do. Redirects on the
//! way are captured when they are first seen and when they change, and a failure to get any answer
//! is put down once, when it begins.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Context;
use sha2::{Digest as _, Sha256};
use urldb_warc::{
    Digest, DigestAlgorithm, Exchange, OriginalCapture, Packer, RecordId, TruncationReason,
    WriteOptions,
};

use super::answer::Answer;
use super::keys::lookup_url;
use super::volumes::{Record, Volumes, random_id, warc_date, write_options};
use crate::ambient::Ambient;
use crate::config::{self, ArchiveRequests};
use crate::ledger::{Capture, Content};
use urldb_files::Spool;
use urldb_verdict::{Body, BodyEnd, Failure, FailureKind, Hop, Observation};
use urldb_verdict::{BodyUse, Job};

/// Bodies up to this many bytes are compressed before it is their turn to be written.
const SMALL: u64 = 64 * 1024;

/// The archive of a run.
pub struct Archive {
    volumes: Mutex<Volumes>,
    ambient: Ambient,
    options: WriteOptions,
    digest: DigestAlgorithm,
    requests: ArchiveRequests,
}

impl Archive {
    /// Opens the archive in a folder. What a killed run has left there is made
    /// whole first; each line of the returned list says what was found.
    pub fn open(
        folder: &Path,
        how: &config::Archive,
        ambient: Ambient,
    ) -> anyhow::Result<(Self, Vec<String>)> {
        let (volumes, notes) = Volumes::open(folder, how, ambient)?;
        let archive = Self {
            volumes: Mutex::new(volumes),
            ambient,
            options: write_options(how),
            digest: how.digest,
            requests: how.requests,
        };
        Ok((archive, notes))
    }

    /// Somebody who archives; each thread has one.
    pub fn archivist(&self) -> Archivist<'_> {
        Archivist {
            archive: self,
            packer: Packer::new(self.options),
        }
    }

    /// Closes the last file and merges all lines into the index. Returns the files.
    pub fn finish(self) -> anyhow::Result<Vec<PathBuf>> {
        let volumes = self.volumes.into_inner();
        volumes.unwrap_or_else(PoisonError::into_inner).finish()
    }
}

/// Makes records of what was seen, and writes them.
pub struct Archivist<'a> {
    archive: &'a Archive,
    packer: Packer,
}

impl Archivist<'_> {
    /// Archives one observation of a job, and returns what the ledger is to remember of the content;
    /// `None` if nothing new.
    ///
    /// # Errors
    /// When it cannot be written. What was written before is good.
    pub fn store(
        &mut self,
        job: &Job,
        seen: &mut Observation,
        known: Option<&Content>,
    ) -> anyhow::Result<Option<Content>> {
        if job.body == BodyUse::Skip {
            return Ok(None);
        }
        let way = fingerprint(redirects(seen));
        let is_kept = seen.body.as_ref().is_none_or(|body| body.bytes.is_some());
        let was = known.map(|content| &content.redirects);
        if was.map_or(is_kept && way.is_some(), |was| *was != way) {
            self.store_redirects(job, redirects(seen))?;
        }
        if let (None, Some(failure)) = (&seen.body, &seen.failure) {
            self.store_failure(job, seen, failure)?;
            return Ok(None);
        }
        let content = if seen.is_not_modified() {
            self.store_not_modified(job, seen, known)?;
            known.cloned()
        } else {
            self.store_end(job, seen, known)?
        };
        Ok(content.map(|content| Content {
            redirects: way,
            ..content
        }))
    }

    /// Archives the last answer, as a capture or as a revisit.
    fn store_end(
        &mut self,
        job: &Job,
        seen: &mut Observation,
        known: Option<&Content>,
    ) -> anyhow::Result<Option<Content>> {
        let is_whole = seen.is_whole() || seen.is_proven(job.promise.sha256.as_ref());
        let Observation { hops, body, .. } = seen;
        let (Some(hop), Some(body)) = (hops.last(), body.as_mut()) else {
            return Ok(None);
        };
        let answer = Answer {
            job,
            hop,
            digest: Digest::sha256(body.sha256),
        };
        let truncated = match body.end {
            _ if is_whole => None,
            BodyEnd::Complete => None,
            BodyEnd::Cut => Some(TruncationReason::Length),
            BodyEnd::Broken => Some(TruncationReason::Disconnect),
        };
        let digest = answer.digest.to_string();
        let same = known.filter(|content| {
            content.digest == digest && truncated != Some(TruncationReason::Disconnect)
        });
        if let Some(Content {
            capture: Some(capture),
            ..
        }) = same
        {
            self.store_revisit(&answer, capture)?;
            return Ok(same.cloned());
        }
        let capture = self.store_response(&answer, body, truncated)?;
        // What is always cut is remembered too, or it would be captured again and again.
        let is_cut =
            truncated == Some(TruncationReason::Length) && (200..300).contains(&hop.status);
        let is_remembered = is_whole || is_cut && known.is_none();
        if !is_remembered {
            return Ok(None);
        }
        Ok(Some(Content {
            digest,
            etag: hop.header("etag").map(str::to_owned),
            last_modified: hop.header("last-modified").map(str::to_owned),
            redirects: None,
            capture,
        }))
    }

    fn store_revisit(&mut self, answer: &Answer<'_>, capture: &Capture) -> anyhow::Result<()> {
        let mut original = original(capture, &answer.digest)?;
        let asked = answer.asked();
        if let Some(asked) = &asked {
            original.target_uri = lookup_url(&original.target_uri, asked);
        }
        let id = self.new_id();
        let date = warc_date(answer.hop.at)?;
        let exchange = answer.exchange(&date);
        let draft = exchange.revisit_identical(&id, &original, vec![])?;
        // Without its request, a revisit of an answer to a POST could not be indexed anew.
        let with_request = self.archive.requests == ArchiveRequests::All || asked.is_some();
        let mut records = vec![Record {
            asked,
            ..Record::without_body(draft)
        }];
        if with_request {
            records.push(self.request(answer, &exchange, &id)?);
        }
        self.write(records).map(drop)
    }

    /// Writes that the server said 304, with the head that it said it in.
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
        let answer = Answer { job, hop, digest };
        let (id, head_id) = (self.new_id(), self.new_id());
        let date = warc_date(hop.at)?;
        let exchange = answer.exchange(&date);
        let revisit = exchange.revisit_not_modified(&id, &original)?;
        let head = answer.response_head(0)?;
        let head = exchange.not_modified_head(&head_id, &id, &head)?;
        let mut records = vec![Record::without_body(revisit), Record::without_body(head)];
        if self.archive.requests == ArchiveRequests::All {
            records.push(self.request(&answer, &exchange, &id)?);
        }
        self.write(records).map(drop)
    }

    /// Writes each redirect on the way as a capture of its own, with as much of its body as was read.
    fn store_redirects(&mut self, job: &Job, redirects: &[Hop]) -> anyhow::Result<()> {
        for hop in redirects {
            let mut spool = Spool::new();
            spool.push(&hop.beginning.bytes)?;
            let sha256 = Sha256::digest(&hop.beginning.bytes).into();
            let mut body = Body {
                length: spool.length(),
                sha256,
                end: BodyEnd::Complete,
                decoded: None,
                bytes: Some(spool),
            };
            let truncated = (!hop.beginning.is_whole).then_some(TruncationReason::Length);
            let digest = Digest::sha256(sha256);
            self.store_response(&Answer { job, hop, digest }, &mut body, truncated)?;
        }
        Ok(())
    }

    /// Writes why there was no answer. What we did not ask says nothing about the URL.
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
        let asked = asked.unwrap_or_else(|| job.url.clone());
        let date = warc_date(last.map_or(seen.started, |last| last.at))?;
        let exchange = Exchange {
            target_uri: asked.split('#').next().unwrap_or_default(),
            date: &date,
            ip_address: None,
        };
        let detail = failure.detail.replace(char::is_control, " ");
        let fields = [("failure", failure.kind.as_str()), ("detail", &*detail)];
        let draft = exchange.metadata(&self.new_id(), None, &fields)?;
        self.write(vec![Record::without_body(draft)]).map(drop)
    }

    /// Writes request and response. `None` when the body was not kept.
    fn store_response(
        &mut self,
        answer: &Answer<'_>,
        body: &mut Body,
        truncated: Option<TruncationReason>,
    ) -> anyhow::Result<Option<Capture>> {
        let Some(bytes) = body.bytes.as_mut() else {
            return Ok(None);
        };
        let length = bytes.length();
        let id = self.new_id();
        let date = warc_date(answer.hop.at)?;
        let exchange = answer.exchange(&date);
        let digest = self.archive.digest;
        let payload = match digest {
            DigestAlgorithm::Sha256 => answer.digest.clone(),
            DigestAlgorithm::Sha1 => Digest::of(DigestAlgorithm::Sha1, bytes.reader()?)?.0,
        };
        let head = answer.response_head(length)?;
        let mut draft = exchange.response(&id, head, &payload, truncated)?;
        draft.add_block_digest(digest, bytes.reader()?)?;
        let response = Record {
            asked: answer.asked(),
            ..Record::new(draft, bytes.reader()?, length)
        };
        let request = self.request(answer, &exchange, &id)?;
        let file = self.write(vec![response, request])?;
        Ok(Some(Capture {
            record: id.as_str().to_owned(),
            date: date.as_str().to_owned(),
            uri: answer.hop.url.clone(),
            file,
            digest: (payload != answer.digest).then(|| payload.to_string()),
        }))
    }

    /// What was asked, as a record beside the one about the answer.
    fn request<'a>(
        &self,
        answer: &'a Answer<'_>,
        exchange: &Exchange<'_>,
        about: &RecordId,
    ) -> anyhow::Result<Record<'a>> {
        let draft = exchange.request(&self.new_id(), about, answer.request_head()?)?;
        let body = answer.request_body();
        Ok(Record::new(draft, body, body.len() as u64))
    }

    fn new_id(&self) -> RecordId {
        random_id(self.archive.ambient)
    }

    /// Writes records that belong together, and returns the name of the file that has the first.
    fn write(&mut self, records: Vec<Record<'_>>) -> anyhow::Result<String> {
        let records = records.into_iter();
        let records: Vec<_> = records
            .map(|record| record.pack(&mut self.packer, SMALL))
            .collect::<Result<_, _>>()?;
        let volumes = self.archive.volumes.lock();
        let mut volumes = volumes.unwrap_or_else(PoisonError::into_inner);
        let mut first = None;
        for record in records {
            let name = volumes.append(record)?;
            first.get_or_insert(name);
        }
        Ok(first.unwrap_or_default())
    }
}

const BAD_LEDGER: &str = "the ledger names a capture in a way that is not valid";

fn original(capture: &Capture, digest: &Digest) -> anyhow::Result<OriginalCapture> {
    let payload_digest = match &capture.digest {
        Some(digest) => digest.parse().context(BAD_LEDGER)?,
        None => digest.clone(),
    };
    Ok(OriginalCapture {
        record_id: capture.record.parse().context(BAD_LEDGER)?,
        target_uri: capture.uri.clone(),
        date: capture.date.parse().context(BAD_LEDGER)?,
        payload_digest,
    })
}

/// The answers before the last: all of them, where there was no last one.
fn redirects(seen: &Observation) -> &[Hop] {
    match (&seen.body, seen.hops.split_last()) {
        (Some(_), Some((_, redirects))) => redirects,
        _ => &seen.hops,
    }
}

/// What tells one way from another: where it began, and where each redirect led. Their bodies and
/// other fields may well be different each time.
fn fingerprint(redirects: &[Hop]) -> Option<String> {
    let mut hasher = Sha256::new();
    for hop in redirects {
        let location = hop.header("location").unwrap_or_default();
        for part in [&hop.url, &hop.status.to_string(), location] {
            hasher.update((part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    (!redirects.is_empty()).then(|| Digest::sha256(hasher.finalize().into()).to_string())
}
