//! The bytes of a capture, from the record that has them, verified by their digest.

use std::fs::File;
use std::io::{Read, Write};

use anyhow::Context;
use urldb_verdict::becomes_get;
use urldb_warc::{
    CdxjLine, Digest, DigestHasher, Header, Reader, Record, RecordType, StoredBody, StoredHead,
    StoredRequest, Version, WarcDate,
};

use super::{Capture, Catalogue, PartialDate, date};

/// Bytes copied at a time.
const CHUNK: usize = 64 << 10;

/// The largest number of archived redirects that a lookup follows.
const MAX_REDIRECTS: usize = 10;

/// Selects a capture.
#[derive(Debug, Clone, Copy)]
pub struct CaptureQuery<'a> {
    /// The URL.
    pub url: &'a str,
    /// The request, unless a GET.
    pub request: Option<&'a StoredRequest>,
    /// The last capture by the end of this date; without one, the last of all.
    pub at: Option<&'a PartialDate>,
    /// Whether error pages, redirects and incomplete bodies count.
    pub any: bool,
}

/// The bytes of a capture in the archive.
#[derive(Debug)]
pub struct Payload<'a> {
    catalogue: &'a Catalogue,
    /// The capture that was found.
    pub capture: Capture,
    /// The record with its bytes: the capture itself, or the response that it refers to.
    stored: CdxjLine,
    /// The request that was asked for, unless a GET.
    request: Option<StoredRequest>,
    /// The digest of the bytes, if the record has one.
    pub digest: Option<Digest>,
    /// Captures nearer to the wanted date that do not count: error pages, redirects, incomplete bodies.
    pub passed_over: Vec<Capture>,
}

impl Catalogue {
    /// Finds the last capture that counts, and follows archived redirects unless `query.any`.
    ///
    /// # Errors
    /// When there is none (the message says what there is instead), or when a file is damaged or missing.
    pub fn find_payload(&self, query: CaptureQuery<'_>) -> anyhow::Result<Payload<'_>> {
        let (mut url, mut request) = (query.url.to_owned(), query.request);
        for redirects in 0..=MAX_REDIRECTS {
            let step = CaptureQuery {
                url: &url,
                request,
                ..query
            };
            match self.find_step(step, redirects > 0)? {
                LookupStep::Found(payload) => return Ok(*payload),
                LookupStep::Redirect { target, status } => {
                    url = target;
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
        let mut captures = self.find_at(&known.key, &known.url)?;
        self.retain_answers(&mut captures, payload.request.as_ref())?;
        captures.retain(|capture| {
            let line = &capture.line;
            let will_do = any || capture.is_good() || capture.status.is_none();
            will_do && line.timestamp <= known.timestamp && line.digest != known.digest
        });
        let mut passed_over = vec![];
        while let Some(capture) = captures.pop() {
            let payload = self.payload_of(capture)?;
            if any || payload.capture.truncated.is_none() {
                return Ok(Some(Payload {
                    passed_over,
                    ..payload
                }));
            }
            passed_over.push(payload.capture);
        }
        Ok(None)
    }

    fn find_step(
        &self,
        query: CaptureQuery<'_>,
        is_redirected: bool,
    ) -> anyhow::Result<LookupStep<'_>> {
        let mut captures = self.captures_of(query.url, query.request)?;
        self.retain_answers(&mut captures, query.request)?;
        anyhow::ensure!(
            !captures.is_empty(),
            "the archive has no answer of {url} to this request, only to others that the index does not tell from \
             it; `urldb archive list {url}` shows them",
            url = query.url
        );
        if let Some(at) = query.at {
            let first = captures.first().map(|first| first.line.timestamp.clone());
            let ends_after = |capture: &Capture| at.ends_after(&capture.line.timestamp);
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
        let mut passed_over = vec![];
        while let Some(capture) = captures.pop() {
            if !query.any
                && let Some(status) = capture.status
                && let Some(target) = self.target_of(&capture)?
            {
                return Ok(LookupStep::Redirect { target, status });
            }
            if query.any || capture.is_good() || capture.status.is_none() {
                let payload = self.payload_of(capture)?;
                if query.any || payload.capture.truncated.is_none() {
                    let payload = Payload {
                        passed_over,
                        request: query.request.cloned(),
                        ..payload
                    };
                    return Ok(LookupStep::Found(Box::new(payload)));
                }
                passed_over.push(payload.capture);
            } else {
                passed_over.push(capture);
            }
        }
        let last = passed_over.first().map(|last| {
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

    /// Where a capture redirects to, if it does.
    fn target_of(&self, capture: &Capture) -> anyhow::Result<Option<String>> {
        if !matches!(capture.status, Some(301 | 302 | 303 | 307 | 308)) || capture.is_revisit() {
            return Ok(None);
        }
        let line = &capture.line;
        self.with_record(line, |_, head, _| {
            let location = head.as_ref().and_then(|head| head.get("Location"));
            let location = location.map(String::from_utf8_lossy);
            let joined =
                location.and_then(|location| url::Url::parse(&line.url).ok()?.join(&location).ok());
            Ok(joined.map(|mut target| {
                target.set_fragment(None);
                String::from(target)
            }))
        })
    }

    /// The bytes of the capture that a line of the index is about.
    ///
    /// # Errors
    /// When a file is damaged or missing.
    pub fn payload_at(&self, line: CdxjLine) -> anyhow::Result<Payload<'_>> {
        let (status, truncated) = (line.status, line.truncated.clone());
        self.payload_of(Capture {
            line,
            status,
            truncated,
        })
    }

    /// The bytes of a capture. The record says whether the body is complete; the index may be older,
    /// or by another program.
    fn payload_of(&self, capture: Capture) -> anyhow::Result<Payload<'_>> {
        let stored = if capture.is_revisit() {
            self.original_of(&capture.line)?
        } else {
            capture.line.clone()
        };
        let (digest, truncated) = self.with_record(&stored, |header, _, _| {
            let digest = header
                .payload_digest()
                .or_else(|| stored.digest.parse().ok());
            Ok((digest, header.get("WARC-Truncated").map(str::to_owned)))
        })?;
        Ok(Payload {
            catalogue: self,
            capture: Capture {
                truncated,
                ..capture
            },
            stored,
            request: None,
            digest,
            passed_over: vec![],
        })
    }

    /// The response that a revisit refers to.
    fn original_of(&self, revisit: &CdxjLine) -> anyhow::Result<CdxjLine> {
        let header = self.with_record(revisit, |header, _, _| Ok(header.clone()))?;
        let url = header
            .get("WARC-Refers-To-Target-URI")
            .unwrap_or(&revisit.url);
        let date = header.get("WARC-Refers-To-Date");
        let timestamp = date.and_then(|date| Some(date.parse::<WarcDate>().ok()?.to_timestamp14()));
        let digest = header.payload_digest();
        let is_same = |capture: &Capture| {
            !capture.is_revisit() && digest.is_some() && capture.line.digest.parse().ok() == digest
        };
        // The original of a response to a POST has the same key as the revisit, or the URL contains
        // the request, as we write it.
        let mut originals = if url == revisit.url {
            self.find_at(&revisit.key, url)?
        } else {
            self.find(url, None)?
        };
        originals.retain(is_same);
        let named = originals
            .iter()
            .position(|capture| Some(&capture.line.timestamp) == timestamp.as_ref());
        // Any other with the same digest has the same bytes.
        let original = match named {
            Some(named) => Some(originals.swap_remove(named)),
            None => originals.pop(),
        };
        original.map(|capture| capture.line).with_context(|| {
            format!(
                "the capture of {} has its bytes in that of {url} of {}, which is not in this archive",
                date::shown(&revisit.timestamp),
                date.unwrap_or("another time")
            )
        })
    }

    /// Calls `work` with the record of an index line, positioned after its HTTP head.
    fn with_record<T>(
        &self,
        line: &CdxjLine,
        work: impl FnOnce(&Header, Option<StoredHead>, Record<'_, File>) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let path = self.file_of(line)?;
        anyhow::ensure!(
            path.exists(),
            "the index has a capture in {}, which is not there: put the file back, or let `urldb archive index` \
             make the index of those that are",
            path.display()
        );
        let place = || format!("cannot use {}", path.display());
        let mut reader = Reader::open_at(&path, line.extent.offset).with_context(place)?;
        let mut record = reader.next_record().with_context(place)?.with_context(|| {
            format!("{} ends before byte {}", path.display(), line.extent.offset)
        })?;
        let header = record.header().clone();
        let digest = header.get("WARC-Payload-Digest");
        anyhow::ensure!(
            header.target_uri() == Some(&line.url)
                && digest.is_none_or(|digest| digest == line.digest),
            "at byte {} of {} is another record than the index says; `urldb archive index` makes it anew",
            line.extent.offset,
            path.display()
        );
        // An ARC record states the type of the payload.
        let is_arc = record.version() == Version::Arc;
        let is_http =
            header.is_http() || is_arc && record.record_type() == Some(RecordType::Response);
        let head = if is_http {
            StoredHead::read(&mut record)
                .map_err(|error| record.fault(error))
                .with_context(place)?
        } else {
            None
        };
        work(&header, head, record)
    }
}

enum LookupStep<'a> {
    Found(Box<Payload<'a>>),
    Redirect { target: String, status: u16 },
}

impl Payload<'_> {
    /// The first of the captures passed over that have a good status and only the beginning of a
    /// body.
    pub fn truncated_instead(&self) -> Option<&Capture> {
        let mut passed_over = self.passed_over.iter();
        passed_over.find(|capture| capture.truncated.is_some())
    }

    /// Whether both are the same capture.
    pub fn is_of(&self, other: &Self) -> bool {
        let place = |payload: &Self| {
            let line = &payload.capture.line;
            (line.filename.clone(), line.extent.offset)
        };
        place(self) == place(other)
    }

    /// The URL of the capture: the target, where the requested URL redirects.
    pub fn url(&self) -> &str {
        &self.capture.line.url
    }

    /// Copies the bytes, dechunked but with their content coding, and returns their number.
    ///
    /// # Errors
    /// When the bytes cannot be read or written, or do not match their digest: the output must then
    /// not be used.
    pub fn copy_to(&self, output: &mut impl Write) -> anyhow::Result<u64> {
        let path = self.catalogue.file_of(&self.stored)?;
        let place = || {
            let offset = self.stored.extent.offset;
            format!(
                "the record at byte {offset} of {} cannot be used",
                path.display()
            )
        };
        self.catalogue
            .with_record(&self.stored, |_, head, mut record| {
                let is_chunked = head.as_ref().is_some_and(StoredHead::is_chunked);
                let mut body = StoredBody::new(&mut record, is_chunked);
                let mut hasher = self
                    .digest
                    .as_ref()
                    .map(|digest| DigestHasher::new(digest.algorithm()));
                let mut buffer = vec![0; CHUNK];
                let mut length = 0;
                loop {
                    let read = match body.read(&mut buffer) {
                        Ok(0) => break,
                        Ok(read) => read,
                        Err(error) => return Err(record.fault(error)).with_context(place),
                    };
                    let chunk = &buffer[..read];
                    if let Some(hasher) = &mut hasher {
                        hasher.update(chunk);
                    }
                    output
                        .write_all(chunk)
                        .context("cannot write what was archived")?;
                    length += read as u64;
                }
                record.finish().with_context(place)?;
                let actual = hasher.map(DigestHasher::finish);
                if let (Some(expected), Some(actual)) = (&self.digest, &actual)
                    && expected != actual
                {
                    let problem = format!("its bytes have {actual}, not {expected} as it says");
                    return Err(anyhow::anyhow!(problem)).with_context(place);
                }
                Ok(length)
            })
    }
}
