//! Finds the response with the bytes of a revisit.

use std::io;

use urldb_warc::capture::RevisitReference;
use urldb_warc::{CdxjLine, Digest, FindingCode, Header, RecordId};

use super::{Catalogue, date};

impl Catalogue {
    /// The reference of a revisit to its original, from its record.
    pub(super) fn reference_of(&self, revisit: &CdxjLine) -> anyhow::Result<RevisitReference> {
        self.with_record(revisit, |header, _| Ok(RevisitReference::of(header)))
    }

    /// The response that a revisit refers to: one of the named URL with its digest, or else the named one, if its
    /// digest is of another algorithm and its bytes have that of the revisit.
    ///
    /// # Errors
    /// When there is none, or when a file is damaged or missing.
    pub(super) fn original_of(&self, revisit: &CdxjLine) -> anyhow::Result<CdxjLine> {
        let reference = self.reference_of(revisit)?;
        let url = reference.url.as_deref().unwrap_or(&revisit.url);
        // The original of a response to a POST has the same key as the revisit, or the URL contains
        // the request, as we write it.
        let key = match &reference.url_with_request {
            None if url == revisit.url => revisit.key.clone(),
            with_request => urldb_canon::surt(with_request.as_deref().unwrap_or(url)),
        };
        let mut originals = self.find_at(&key, url)?;
        originals.retain(|capture| !capture.is_revisit());
        let timestamp = reference.timestamp();
        let is_named = |line: &CdxjLine| Some(&line.timestamp) == timestamp.as_ref();
        // The last one is the likeliest; any other with the same digest has the same bytes.
        originals.sort_by_key(|capture| is_named(&capture.line));
        let lines: Vec<CdxjLine> = originals.into_iter().rev().map(|it| it.line).collect();
        let same: Vec<&CdxjLine> = lines
            .iter()
            .filter(|line| has_digest(line, reference.digest.as_ref()))
            .collect();
        if let Some(original) = self.first_readable(&same) {
            return Ok(original);
        }
        for line in &lines {
            if self.is_original(line, revisit, &reference)? {
                return Ok(line.clone());
            }
        }
        let why = if lines.iter().any(is_named) {
            "which has other bytes"
        } else {
            "which is not in this archive"
        };
        anyhow::bail!(
            "the capture of {} has its bytes in that of {url} of {}, {why}",
            date::shown(&revisit.timestamp),
            reference.date.as_deref().unwrap_or("another time")
        )
    }

    /// The first of these captures that can be read; the first of all if none can.
    fn first_readable(&self, lines: &[&CdxjLine]) -> Option<CdxjLine> {
        let is_readable = |line: &&&CdxjLine| {
            let header = self.with_record(line, |header, _| Ok(header.clone()));
            header
                .and_then(|header| self.segments_of(line, &header))
                .is_ok_and(|it| it.is_none_or(|it| it.problem().is_none()))
        };
        // The first one may be in a file that is lost.
        lines
            .iter()
            .find(|line| lines.len() == 1 || is_readable(line))
            .or(lines.first())
            .map(|line| (*line).clone())
    }

    /// Whether a response that has not the digest of a revisit is its original.
    fn is_original(
        &self,
        line: &CdxjLine,
        revisit: &CdxjLine,
        reference: &RevisitReference,
    ) -> anyhow::Result<bool> {
        let known: Option<Digest> = line.digest.parse().ok();
        let wanted = reference.digest.as_ref();
        let is_other = known.as_ref().zip(wanted);
        if is_other.is_some_and(|(known, wanted)| known.algorithm() == wanted.algorithm()) {
            return Ok(false);
        }
        let is_named = match (reference.timestamp(), &reference.record) {
            (Some(timestamp), _) if timestamp == line.timestamp => true,
            (_, Some(id)) => self.has_id(line, id)?,
            (Some(_), None) => false,
            (None, None) => line.timestamp <= revisit.timestamp,
        };
        match wanted {
            Some(wanted) if is_named => self.has_bytes(line, wanted),
            _ => Ok(is_named),
        }
    }

    fn has_id(&self, line: &CdxjLine, id: &RecordId) -> anyhow::Result<bool> {
        Ok(self.record_id(line)?.as_deref() == Some(id.as_str()))
    }

    /// Whether the bytes of a capture have a digest, which its record does not state.
    fn has_bytes(&self, line: &CdxjLine, digest: &Digest) -> anyhow::Result<bool> {
        let mut payload = self.payload_at(line.clone())?;
        let is_digest = |name: &str| name.eq_ignore_ascii_case("WARC-Payload-Digest");
        let mut header = Header::default();
        for (name, value) in payload.header.iter().filter(|(name, _)| !is_digest(name)) {
            header.push(name, value)?;
        }
        header.push("WARC-Payload-Digest", digest.to_string())?;
        payload.header = header;
        let copied = payload.copy_unverified(&mut io::sink())?;
        let is_other = |(code, _): &(FindingCode, String)| *code == FindingCode::PayloadDigest;
        Ok(!copied.findings.iter().any(is_other))
    }
}

/// Whether a capture has this digest.
fn has_digest(line: &CdxjLine, digest: Option<&Digest>) -> bool {
    digest.is_some() && line.digest.parse().ok().as_ref() == digest
}
