//! Finds the record with the bytes of a capture.

use std::collections::{HashMap, HashSet};

use anyhow::Context;
use urldb_verdict::becomes_get;
use urldb_warc::capture::{UNSPECIFIED, truncation};
use urldb_warc::cdxj::{REVISIT_MIME, continuation_key};
use urldb_warc::http::{StoredHead, StoredRequest};
use urldb_warc::segment::StoredSegments;
use urldb_warc::{CdxjLine, Digest, Header, Reader, Record};

use super::files::OpenedFile;
use super::{Catalogue, DigestPrefix, IndexedCapture, PartialDate, Payload, VariantChoice, date};

/// The digest of an index line without one.
const NO_DIGEST: &str = "-";

/// The largest number of archived redirects that a lookup follows.
const MAX_REDIRECTS: usize = 10;

/// Whether the record of a line has the bytes of this digest itself.
pub(super) fn is_full_with(line: &CdxjLine, digest: &Digest) -> bool {
    line.mime != REVISIT_MIME && line.digest.parse().as_ref() == Ok(digest)
}

/// Selects a capture.
#[derive(Debug, Clone, Copy)]
pub struct CaptureQuery<'a> {
    /// The URL.
    pub url: &'a str,
    /// The request, unless a GET.
    pub request: Option<&'a StoredRequest>,
    /// The variant.
    pub variant: VariantChoice<'a>,
    /// The last capture by the end of this date; without one, the last of all.
    pub at: Option<&'a PartialDate>,
    /// Only captures of these bytes, whatever their status.
    pub sha256: Option<&'a DigestPrefix>,
    /// Whether error pages, redirects and incomplete bodies count.
    pub any: bool,
}

impl Catalogue {
    /// Finds the last capture that counts, and follows archived redirects unless `query.any`.
    ///
    /// # Errors
    /// When there is none (the message says what there is instead), or when a file is damaged or missing.
    pub fn find_payload(&self, query: CaptureQuery<'_>) -> anyhow::Result<Payload<'_>> {
        let (mut url, mut request) = (query.url.to_owned(), query.request);
        let mut redirecting: Option<Option<String>> = None;
        for redirects in 0..=MAX_REDIRECTS {
            let step = CaptureQuery {
                url: &url,
                request,
                variant: redirecting
                    .as_ref()
                    .map_or(query.variant, |it| VariantChoice::Like(it.as_deref())),
                ..query
            };
            match self.find_step(step, redirects > 0)? {
                LookupStep::Found(payload) => return Ok(*payload),
                LookupStep::Redirect {
                    target,
                    variant,
                    status,
                } => {
                    url = target;
                    redirecting = Some(variant);
                    request = request.filter(|asked| !becomes_get(&asked.method, status));
                }
            }
        }
        anyhow::bail!("{} redirects too often in the archive", query.url)
    }

    /// The last capture before this one that has other bytes, if there is one.
    ///
    /// # Errors
    /// When a file is damaged or missing.
    pub fn before(&self, payload: &Payload<'_>, any: bool) -> anyhow::Result<Option<Payload<'_>>> {
        let known = &payload.capture.line;
        let mut captures = self.find(&known.url, payload.request.as_ref())?;
        self.retain_answers(&mut captures, payload.request.as_ref())?;
        captures.retain(|capture| {
            let line = &capture.line;
            let will_do = any || capture.may_count();
            let is_other = line.digest == NO_DIGEST
                || line.digest != known.digest && line.digest != payload.stored.digest;
            let is_same_variant = line.vary == known.vary;
            will_do
                && is_same_variant
                && line.timestamp <= known.timestamp
                && is_other
                && line != known
        });
        let mut passed_over = PassedOver::default();
        while let Some(capture) = captures.pop() {
            let Some(payload) = self.resolved(capture, &mut passed_over)? else {
                continue;
            };
            if any || payload.capture.may_count() && payload.capture.truncated.is_none() {
                return Ok(Some(passed_over.before(payload)));
            }
            passed_over.captures.push(payload.capture);
        }
        passed_over.lost.map_or(Ok(None), Err)
    }

    fn find_step(
        &self,
        query: CaptureQuery<'_>,
        is_redirected: bool,
    ) -> anyhow::Result<LookupStep<'_>> {
        let (mut captures, any) = self.selected(query, is_redirected)?;
        let mut passed_over = PassedOver::default();
        while let Some(capture) = captures.pop() {
            if !any
                && let Some(status) = capture.status
                && let Some(target) = self.target_of(&capture)?
            {
                return Ok(LookupStep::Redirect {
                    target,
                    variant: capture.line.vary,
                    status,
                });
            }
            if any || capture.may_count() {
                let Some(payload) = self.resolved(capture, &mut passed_over)? else {
                    continue;
                };
                // Another capture with the wanted digest has the same bytes.
                let is_enough = any && (query.any || captures.is_empty() || payload.is_joined());
                let is_whole = payload.capture.truncated.is_none();
                if is_enough || payload.capture.may_count() && is_whole {
                    let payload = Payload {
                        request: query.request.cloned(),
                        ..passed_over.before(payload)
                    };
                    return Ok(LookupStep::Found(Box::new(payload)));
                }
                passed_over.captures.push(payload.capture);
            } else {
                passed_over.captures.push(capture);
            }
        }
        if let Some(lost) = passed_over.lost {
            return Err(lost);
        }
        let last = passed_over.captures.first().map(|last| {
            let status = last
                .status
                .map_or("-".to_owned(), |status| status.to_string());
            format!("{} (status {status})", date::shown(&last.line.timestamp))
        });
        anyhow::bail!(
            "{} was never captured whole and with a good status; the last capture is of {}, which --any takes",
            query.url,
            last.unwrap_or_default()
        )
    }

    /// The captures that a query selects, oldest first, and whether each of them counts: also error pages,
    /// redirects and incomplete bodies.
    fn selected(
        &self,
        query: CaptureQuery<'_>,
        is_redirected: bool,
    ) -> anyhow::Result<(Vec<IndexedCapture>, bool)> {
        let mut captures = self.captures_of(query.url, query.request)?;
        self.retain_answers(&mut captures, query.request)?;
        anyhow::ensure!(
            !captures.is_empty(),
            "the archive has no answer of {url} to this request, only to others that the index does not tell from \
             it; `urldb archive list {url}` shows them",
            url = query.url
        );
        query.variant.retain(&mut captures, query.url)?;
        if let Some(at) = query.at {
            let first = captures.first().map(|first| first.line.timestamp.clone());
            let ends_after = |capture: &IndexedCapture| at.ends_after(&capture.line.timestamp);
            let by_then = captures.partition_point(ends_after);
            // The target of a redirect was captured just after it.
            captures.truncate(by_then.max(usize::from(is_redirected)));
            anyhow::ensure!(
                !captures.is_empty(),
                "{} was not captured by {at}; the first capture is of {}",
                query.url,
                date::shown(&first.unwrap_or_default())
            );
        }
        let Some(prefix) = query.sha256 else {
            return Ok((captures, query.any));
        };
        let has_bytes = |capture: &IndexedCapture| prefix.begins(&capture.line.digest);
        let is_here = captures.iter().any(has_bytes);
        // A redirect may lead to them.
        captures.retain(|capture| {
            let leads_there = !is_here && !query.any && capture.is_redirect();
            has_bytes(capture) || leads_there
        });
        anyhow::ensure!(
            !captures.is_empty(),
            "the archive has no bytes of {url} with SHA-256 {prefix}; `urldb archive list {url}` shows what it has",
            url = query.url
        );
        Ok((captures, query.any || is_here))
    }

    /// The target of a capture that is a redirect.
    pub(super) fn target_of(&self, capture: &IndexedCapture) -> anyhow::Result<Option<String>> {
        if !capture.is_redirect() || capture.is_revisit() {
            return Ok(None);
        }
        let line = &capture.line;
        self.with_record(line, |_, mut record| {
            let head = StoredHead::read(&mut record).map_err(|error| record.fault(error))?;
            let location = head
                .as_ref()
                .and_then(|head| head.get("Location"))
                .map(String::from_utf8_lossy);
            let joined =
                location.and_then(|location| url::Url::parse(&line.url).ok()?.join(&location).ok());
            Ok(joined.map(|mut target| {
                target.set_fragment(None);
                String::from(target)
            }))
        })
    }

    /// The last full capture of one of these URLs with the bytes of this SHA-256.
    ///
    /// # Errors
    /// When the index is damaged or a file is missing.
    pub fn content_of(
        &self,
        urls: &[String],
        sha256: [u8; 32],
    ) -> anyhow::Result<Option<Payload<'_>>> {
        let digest = Digest::sha256(sha256);
        for url in urls {
            let mut captures = self.find(url, None)?;
            captures.retain(|capture| is_full_with(&capture.line, &digest));
            while let Some(capture) = captures.pop() {
                let payload = self.payload_at(capture.line)?;
                if captures.is_empty() || payload.is_joined() {
                    return Ok(Some(payload));
                }
            }
        }
        Ok(None)
    }

    /// A line of a full capture, of any URL, for each of these SHA-256 that the archive has. Reads the whole index.
    ///
    /// # Errors
    /// When the index is damaged.
    pub fn lines_with(
        &self,
        wanted: &HashSet<[u8; 32]>,
    ) -> anyhow::Result<HashMap<[u8; 32], CdxjLine>> {
        let mut missing: HashMap<Digest, [u8; 32]> = wanted
            .iter()
            .map(|sha256| (Digest::sha256(*sha256), *sha256))
            .collect();
        let mut found = HashMap::new();
        for line in self.lines()? {
            let line = line?;
            if line.mime != REVISIT_MIME
                && let Ok(digest) = line.digest.parse()
                && let Some(sha256) = missing.remove(&digest)
            {
                found.insert(sha256, line);
            }
            if missing.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// The bytes of the capture that a line of the index is about.
    ///
    /// # Errors
    /// When a file is damaged or missing.
    pub fn payload_at(&self, line: CdxjLine) -> anyhow::Result<Payload<'_>> {
        let (status, truncated) = (line.status, line.truncated.clone());
        self.payload_of(IndexedCapture {
            line,
            status,
            truncated,
        })
    }

    /// The bytes of a capture; `None` if it is a revisit whose original is lost, which `passed_over` notes, or that
    /// lost original.
    fn resolved(
        &self,
        capture: IndexedCapture,
        passed_over: &mut PassedOver,
    ) -> anyhow::Result<Option<Payload<'_>>> {
        let may_be_lost = capture.is_revisit() || passed_over.lost.is_some();
        match self.payload_of(capture) {
            Err(error) if may_be_lost => {
                passed_over.lost.get_or_insert(error);
                Ok(None)
            }
            payload => payload.map(Some),
        }
    }

    /// The bytes of a capture. The record says whether the body is complete; the index may be older,
    /// or by another program.
    fn payload_of(&self, capture: IndexedCapture) -> anyhow::Result<Payload<'_>> {
        let stored = if capture.is_revisit() {
            self.original_of(&capture.line)?
        } else {
            capture.line.clone()
        };
        let (mut header, truncated) = self.with_record(&stored, |header, mut record| {
            let length = record.block_length();
            // Damage of the body is found when its bytes are copied.
            let truncated = truncation(header, length, &mut record).unwrap_or_default();
            Ok((header.clone(), truncated))
        })?;
        let segments = self.segments_of(&stored, &header)?;
        if let Some(segments) = &segments {
            header = segments.header().clone();
        }
        // A record without a digest has the one that the indexer computed.
        if header.get("WARC-Payload-Digest").is_none() && stored.digest != NO_DIGEST {
            header.push("WARC-Payload-Digest", &stored.digest)?;
        }
        let is_incomplete = segments.as_ref().is_some_and(|it| it.problem().is_some());
        let truncated = header
            .get("WARC-Truncated")
            .or(is_incomplete.then_some(UNSPECIFIED))
            .map(str::to_owned)
            .or(truncated);
        Ok(Payload {
            catalogue: self,
            capture: IndexedCapture {
                truncated,
                status: capture.status.or(stored.status),
                ..capture
            },
            stored,
            request: None,
            digest: header.payload_digest(),
            header,
            segments,
            passed_over: vec![],
            lost: None,
        })
    }

    /// The segments of a record, if it is the first of several.
    pub(super) fn segments_of(
        &self,
        stored: &CdxjLine,
        header: &Header,
    ) -> anyhow::Result<Option<StoredSegments>> {
        if header.get("WARC-Segment-Number").is_none() {
            return Ok(None);
        }
        let continuations = header
            .get("WARC-Record-ID")
            .and_then(continuation_key)
            .map_or(Ok(vec![]), |key| self.lines_at(&key))?
            .into_iter()
            .map(|it| (it.filename, it.extent.offset));
        let (file, offset) = (&stored.filename, stored.extent.offset);
        StoredSegments::read(&self.files, continuations, file, offset)
            .with_context(|| format!("cannot read the segments of {}", stored.url))
    }

    /// The `WARC-Record-ID` of the record that a line of the index is about, without brackets.
    ///
    /// # Errors
    /// When the file is damaged or missing.
    pub fn record_id(&self, line: &CdxjLine) -> anyhow::Result<Option<String>> {
        self.with_record(line, |header, _| {
            let id = header.get("WARC-Record-ID");
            Ok(id.map(|id| id.trim_matches(['<', '>']).to_owned()))
        })
    }

    /// Calls `work` with the record of an index line and its header.
    pub(super) fn with_record<T>(
        &self,
        line: &CdxjLine,
        work: impl FnOnce(&Header, Record<'_, OpenedFile>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        loop {
            let mut reader = self.files.reader_at(&line.filename, line.extent.offset)?;
            match self.record_of(line, &mut reader) {
                Err(_) if self.files.doubt(&line.filename) => {}
                record => {
                    let record = record?;
                    return work(&record.header().clone(), record);
                }
            }
        }
    }

    /// The record of an index line, at which the reader is.
    fn record_of<'a>(
        &self,
        line: &CdxjLine,
        reader: &'a mut Reader<OpenedFile>,
    ) -> anyhow::Result<Record<'a, OpenedFile>> {
        let path = self.file_of(line);
        let place = || format!("cannot use {}", path.display());
        let record = reader.next_record().with_context(place)?.with_context(|| {
            format!("{} ends before byte {}", path.display(), line.extent.offset)
        })?;
        let header = record.header();
        let digest = header.get("WARC-Payload-Digest");
        anyhow::ensure!(
            CdxjLine::describes(header)
                && CdxjLine::url_of(header).as_ref() == Some(&line.url)
                && digest.is_none_or(|digest| digest == line.digest),
            "at byte {} of {} is another record than the index says; `urldb archive index` makes it anew",
            line.extent.offset,
            path.display()
        );
        Ok(record)
    }
}

/// Captures that a lookup passes over.
#[derive(Default)]
struct PassedOver {
    /// Those that do not count.
    captures: Vec<IndexedCapture>,
    /// Why the first revisit without its original has no bytes.
    lost: Option<anyhow::Error>,
}

impl PassedOver {
    /// The bytes of the capture that counts.
    fn before(self, payload: Payload<'_>) -> Payload<'_> {
        Payload {
            passed_over: self.captures,
            lost: self.lost,
            ..payload
        }
    }
}

enum LookupStep<'a> {
    Found(Box<Payload<'a>>),
    Redirect {
        target: String,
        variant: Option<String>,
        status: u16,
    },
}
