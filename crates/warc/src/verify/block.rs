//! Checks a block: the digests in its record's header, and the length and coding in its HTTP head.

use std::fs::File;
use std::io::{self, BufRead, Write};

use super::report::RecordFindings;
use crate::content::{Content, ContentError, WantedDigests, read_content};
use crate::digest::Digest;
use crate::finding::FindingCode;
use crate::header::{Header, RecordType};
use crate::http::{BodyFraming, StoredRequest};
use crate::reader::{ReadError, Record};

/// Reads and checks the block of a record, whose header is `header`. Returns the request, if the block is
/// one and its method is not GET.
pub(super) fn check(
    header: &Header,
    record: &mut Record<'_, File>,
    findings: &mut RecordFindings<'_>,
) -> Result<Option<StoredRequest>, ReadError> {
    let stated = StatedContent::of(header, findings);
    let actual = read(header, record, &stated).map_err(|error| record.fault(error))?;
    stated.compare(&actual, findings);
    Ok(actual.request)
}

/// Reads and checks the joined blocks of a segmented record, whose header is `header`.
pub(super) fn check_joined(
    header: &Header,
    blocks: &mut impl BufRead,
    findings: &mut RecordFindings<'_>,
) -> io::Result<()> {
    let stated = StatedContent::of(header, findings);
    let actual = read(header, blocks, &stated)?;
    stated.compare(&actual, findings);
    Ok(())
}

fn read(header: &Header, block: &mut impl BufRead, stated: &StatedContent) -> io::Result<Content> {
    read_content(header, block, stated.wanted(), &mut |_| Ok(())).map_err(|error| match error {
        ContentError::Block(error) | ContentError::Output(error) => error,
    })
}

/// A payload that was copied, and its comparison with the statements of its record.
#[derive(Debug, Default)]
pub struct CopiedPayload {
    /// The length of the payload, in bytes.
    pub length: u64,
    /// Whether the record states a digest of a known kind, of its block or its payload.
    pub has_digest: bool,
    /// Whether the payload ends early, because its chunks are broken.
    pub is_broken: bool,
    /// The findings about the content.
    pub findings: Vec<(FindingCode, String)>,
}

/// Why a payload was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The block could not be read.
    #[error("{0}")]
    Block(#[source] io::Error),
    /// The output could not be written.
    #[error("{0}")]
    Output(#[source] io::Error),
}

/// Copies the payload of a record: its block without the HTTP head and the chunks, with the content
/// coding. The findings are those of the verifier about the block.
pub fn copy_payload(
    header: &Header,
    block: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<CopiedPayload, CopyError> {
    let mut findings = Vec::new();
    let mut add = |code, message| findings.push((code, message));
    let mut record_findings = RecordFindings(&mut add);
    let stated = StatedContent::of(header, &mut record_findings);
    let content = read_content(header, block, stated.wanted(), &mut |bytes| {
        output.write_all(bytes)
    })
    .map_err(|error| match error {
        ContentError::Block(error) => CopyError::Block(error),
        ContentError::Output(error) => CopyError::Output(error),
    })?;
    stated.compare(&content, &mut record_findings);
    Ok(CopiedPayload {
        length: content.payload_length,
        is_broken: content
            .http
            .is_some_and(|http| http.framing == BodyFraming::Broken),
        has_digest: stated.block.is_some() || stated.payload.is_some(),
        findings,
    })
}

/// The content of a block, as stated in the record's header.
struct StatedContent {
    block: Option<Digest>,
    payload: Option<Digest>,
    is_http: bool,
    /// Whether the stored body is possibly incomplete.
    is_partial: bool,
}

impl StatedContent {
    fn of(header: &Header, findings: &mut RecordFindings<'_>) -> Self {
        let kind = header.record_type();
        let is_segment = header.get("WARC-Segment-Number").is_some();
        let is_revisit = kind == Some(RecordType::Revisit);
        let mut digest = |name: &str| {
            let text = header.get(name)?;
            let digest = text.parse().ok();
            if digest.is_none() {
                findings.add(FindingCode::DigestUnknown, format!("{name} is {text:?}"));
            }
            digest
        };
        let block = digest("WARC-Block-Digest");
        // The payload of a revisit is stored elsewhere; that of a segment is spread over all segments.
        let payload = digest("WARC-Payload-Digest").filter(|_| !is_revisit && !is_segment);
        Self {
            block,
            payload,
            is_http: header.is_http() && kind.is_some_and(|it| it != RecordType::Continuation),
            is_partial: is_segment || is_revisit || header.get("WARC-Truncated").is_some(),
        }
    }

    fn wanted(&self) -> WantedDigests {
        let algorithm = |digest: &Option<Digest>| digest.as_ref().map(Digest::algorithm);
        WantedDigests {
            block: algorithm(&self.block),
            payload: algorithm(&self.payload),
        }
    }

    fn compare(&self, actual: &Content, findings: &mut RecordFindings<'_>) {
        if let (Some(stated), Some(found)) = (&self.block, &actual.block)
            && stated != found
        {
            findings.add(
                FindingCode::BlockDigest,
                differs("the block", stated, found),
            );
        }
        if let (Some(stated), Some(found)) = (&self.payload, &actual.payload)
            && stated != found
        {
            let raw = actual.raw.as_ref() == Some(stated);
            let code = if raw {
                FindingCode::PayloadDigestRaw
            } else {
                FindingCode::PayloadDigest
            };
            let message = if raw {
                format!(
                    "{stated} is the digest of the body with its chunks; without them it is {found}"
                )
            } else {
                differs("the payload", stated, found)
            };
            findings.add(code, message);
        }
        if self.is_http && !self.is_partial {
            compare_http(actual, findings);
        }
    }
}

fn compare_http(actual: &Content, findings: &mut RecordFindings<'_>) {
    let Some(http) = &actual.http else {
        findings.add(
            FindingCode::HttpHead,
            FindingCode::HttpHead.meaning().to_owned(),
        );
        return;
    };
    if http.chunked && http.framing != BodyFraming::Chunked {
        let found = match http.framing {
            BodyFraming::Broken => "the body's chunks do not go to their end",
            _ => "the body has no chunks",
        };
        findings.add(
            FindingCode::HttpFraming,
            format!("the HTTP head says chunked, and {found}"),
        );
    }
    // The answer to HEAD says how long the body would be.
    let length = http.length.filter(|_| !http.chunked && http.body > 0);
    if let Some(stated) = length.filter(|stated| *stated != http.body) {
        let message = format!(
            "the HTTP head says Content-Length: {stated}, and the body has {} bytes",
            http.body
        );
        findings.add(FindingCode::HttpLength, message);
    }
}

fn differs(what: &str, stated: &Digest, found: &Digest) -> String {
    format!("{what} has the digest {found}, and the record says {stated}")
}
