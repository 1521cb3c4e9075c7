//! The bytes of a capture, verified by their digest.

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use urldb_warc::http::StoredRequest;
use urldb_warc::segment::StoredSegments;
use urldb_warc::verify::{CopiedPayload, CopyError, copy_payload};
use urldb_warc::{CdxjLine, Digest, FindingCode, Header};

use super::{Catalogue, IndexedCapture};

/// The bytes of a capture in the archive.
#[derive(Debug)]
pub struct Payload<'a> {
    pub(super) catalogue: &'a Catalogue,
    /// The capture that was found.
    pub capture: IndexedCapture,
    /// The record with its bytes: the capture itself, or the response that it refers to.
    pub(super) stored: CdxjLine,
    /// The request that was asked for, unless a GET.
    pub(super) request: Option<StoredRequest>,
    /// The digest of the bytes, if the record has one.
    pub digest: Option<Digest>,
    /// The header of the record, of all its segments if it has several.
    pub(super) header: Header,
    /// The segments of the record, if it has several.
    pub(super) segments: Option<StoredSegments>,
    /// Captures nearer to the wanted date that do not count: error pages, redirects, incomplete bodies.
    pub passed_over: Vec<IndexedCapture>,
    /// Why the nearest revisit does not count whose original is lost, if there is one.
    pub lost: Option<anyhow::Error>,
}

impl Payload<'_> {
    /// The first of the captures passed over that have a good status and only the beginning of a
    /// body.
    pub fn truncated_instead(&self) -> Option<&IndexedCapture> {
        self.passed_over
            .iter()
            .find(|capture| capture.truncated.is_some())
    }

    /// Whether the archive has all segments of the record.
    pub(super) fn is_joined(&self) -> bool {
        self.segments
            .as_ref()
            .and_then(StoredSegments::problem)
            .is_none()
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

    /// Calls `copy`, which copies the bytes to a new output, and calls it again after [`Payload::doubt`].
    ///
    /// # Errors
    /// Those of the last call.
    pub fn from_good_copy<T>(
        &self,
        mut copy: impl FnMut() -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        match copy() {
            Err(_) if self.doubt() => copy(),
            done => done,
        }
    }

    /// Notes that the bytes are damaged. Whether a place of the archive has the file too: then they come from a copy
    /// that is proven.
    pub fn doubt(&self) -> bool {
        self.catalogue.files.doubt(&self.stored.filename)
    }

    /// Copies the bytes, dechunked but with their content coding, and returns their number with the
    /// findings of the verifier about them.
    ///
    /// # Errors
    /// When the bytes cannot be read or written; the output must then not be used.
    pub fn copy_unverified(&self, output: &mut impl Write) -> anyhow::Result<CopiedPayload> {
        let path = self.catalogue.file_of(&self.stored);
        let place = || self.place(&path);
        let failed = |error| match error {
            CopyError::Block(error) => anyhow::Error::new(error).context(place()),
            CopyError::Output(error) => {
                anyhow::Error::new(error).context("cannot write what was archived")
            }
        };
        if let Some(segments) = &self.segments {
            let mut blocks = segments.blocks(&self.catalogue.files).with_context(place)?;
            return copy_payload(&self.header, &mut blocks, output).map_err(failed);
        }
        self.catalogue.with_record(&self.stored, |_, mut record| {
            let copied =
                copy_payload(&self.header, &mut record, output).map_err(|error| match error {
                    CopyError::Block(error) => {
                        anyhow::Error::new(record.fault(error)).context(place())
                    }
                    error @ CopyError::Output(_) => failed(error),
                })?;
            record.finish().with_context(place)?;
            Ok(copied)
        })
    }

    /// As [`Payload::copy_unverified`], for bytes that are what the record says.
    ///
    /// # Errors
    /// As there, and when the bytes do not match a digest of the record, or its chunks are broken: the
    /// output must then not be used.
    pub fn copy_to(&self, output: &mut impl Write) -> anyhow::Result<CopiedPayload> {
        let copied = self.copy_unverified(output)?;
        let path = self.catalogue.file_of(&self.stored);
        let is_wrong = |code: FindingCode| {
            let is_proven = self.digest.is_some();
            match code {
                FindingCode::BlockDigest | FindingCode::PayloadDigest => true,
                FindingCode::HttpFraming => copied.is_broken && !is_proven,
                _ => false,
            }
        };
        if let Some(problem) = self.segments.as_ref().and_then(StoredSegments::problem) {
            return Err(anyhow::anyhow!("{problem}")).with_context(|| self.place(&path));
        }
        match copied.findings.iter().find(|(code, _)| is_wrong(*code)) {
            None => Ok(copied),
            Some((_, problem)) => Err(anyhow::anyhow!(
                "{problem}; `urldb archive get --unverified` takes the bytes all the same"
            ))
            .with_context(|| self.place(&path)),
        }
    }

    fn place(&self, path: &Path) -> String {
        let offset = self.stored.extent.offset;
        format!(
            "the record at byte {offset} of {} cannot be used",
            path.display()
        )
    }
}
