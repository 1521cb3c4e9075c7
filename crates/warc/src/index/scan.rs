//! Makes index lines of the records in an archive file.

use std::collections::HashMap;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use super::error::{IndexError, LeftOutCause, LeftOutRecords};
use crate::capture::{CaptureHead, RequestMatcher};
use crate::cdxj::{CdxjLine, RecordLocation, SortKeys};
use crate::digest::{Digest, DigestAlgorithm};
use crate::fs::at;
use crate::header::{Header, RecordType};
use crate::http::{BodyFraming, StoredBody, StoredRequest};
use crate::parallel::{MemorySize, ScanEvent, read_records};
use crate::reader::{ReadError, Record};
use crate::segment::{self, is_segment};

/// Limit of the number of lines that wait for the last segments of their records.
const MAX_WAITING: usize = 10_000;

/// Passes the lines of an archive file, which name it `filename`, to `add_line`: in the order of the file, but
/// for those of segmented records, which come last. Returns the records that have none. Behind damage, bytes that look like a record are taken for one, as in a
/// repair.
///
/// # Errors
/// Those of `add_line`, and when the file cannot be read.
pub(super) fn scan_file(
    path: &Path,
    filename: &str,
    keys: &impl SortKeys,
    mut add_line: impl FnMut(CdxjLine) -> Result<(), IndexError>,
) -> Result<LeftOutRecords, IndexError> {
    let mut matcher = RequestMatcher::default();
    let mut segmented = SegmentedLines::default();
    let mut left_out = LeftOutRecords::default();
    let mut added = Ok(());
    let read_items = |record: Record<'_, _>, add: &mut dyn FnMut(ScannedRecord)| {
        scan_record(record, filename, keys).map(add)
    };
    let scanned = read_records(path, &read_items, &mut |event| {
        match event {
            ScanEvent::Item(record) => {
                if let Some(cause) = record.problem {
                    left_out.add(record.offset, cause);
                }
                let set_request =
                    |(line, _): &mut PendingLine, request: &_| line.set_request(request, keys);
                segmented.add_reason(&record.header);
                let origin = segment::origin(&record.header).map(str::to_owned);
                let line = record.line.map(|line| (line, origin));
                let line = matcher.add(&record.header, line, record.request, set_request);
                let line = line.and_then(|line| segmented.hold(line));
                let mut lines = record.continuation.into_iter().chain(line);
                added = lines.try_for_each(&mut add_line);
            }
            ScanEvent::Fault(fault) => {
                left_out.add(fault.offset, LeftOutCause::Unreadable(fault.kind));
            }
            ScanEvent::Deviation(_) | ScanEvent::Skipped(_) => {}
        }
        match added {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    });
    added?;
    let rest: Vec<CdxjLine> = matcher
        .end_file()
        .filter_map(|line| segmented.hold(line))
        .collect();
    rest.into_iter()
        .chain(segmented.end_file())
        .try_for_each(add_line)?;
    scanned.map_err(at(path))?;
    Ok(left_out)
}

/// A line, and the id of its record if that is a first segment.
type PendingLine = (CdxjLine, Option<String>);

/// The lines of segmented records. Whether such a record is truncated is in its last segment.
#[derive(Default)]
struct SegmentedLines {
    waiting: Vec<(CdxjLine, String)>,
    /// The reasons of `WARC-Truncated`, by the id of the first segment.
    reasons: HashMap<String, String>,
}

impl SegmentedLines {
    /// Notes that a continuation says why the whole record is truncated.
    fn add_reason(&mut self, header: &Header) {
        if header.record_type() == Some(RecordType::Continuation)
            && self.reasons.len() < MAX_WAITING
            && let (Some(origin), Some(reason)) =
                (segment::origin(header), header.get("WARC-Truncated"))
        {
            self.reasons.insert(origin.to_owned(), reason.to_owned());
        }
    }

    /// Keeps the line of a first segment until the end of the file, and returns any other.
    fn hold(&mut self, (line, origin): PendingLine) -> Option<CdxjLine> {
        match origin {
            Some(origin) if self.waiting.len() < MAX_WAITING => {
                self.waiting.push((line, origin));
                None
            }
            _ => Some(line),
        }
    }

    fn end_file(self) -> impl Iterator<Item = CdxjLine> {
        let Self { waiting, reasons } = self;
        waiting.into_iter().map(move |(mut line, origin)| {
            let reason = reasons.get(&origin).cloned();
            line.truncated = line.truncated.or(reason);
            line
        })
    }
}

/// The data of a record that an index needs.
struct ScannedRecord {
    offset: u64,
    header: Header,
    line: Option<CdxjLine>,
    continuation: Option<CdxjLine>,
    /// Why a capture has no line.
    problem: Option<LeftOutCause>,
    request: Option<StoredRequest>,
}

impl MemorySize for ScannedRecord {
    fn memory_size(&self) -> usize {
        let fields = self
            .header
            .iter()
            .map(|(name, value)| name.len() + value.len());
        let line = self.line.as_ref().map_or(0, |line| {
            line.key.len() + line.url.len() + line.filename.len()
        });
        let request = self.request.as_ref().map_or(0, |it| it.body.len());
        fields.sum::<usize>() + line + request
    }
}

fn scan_record<R: Read>(
    mut record: Record<'_, R>,
    filename: &str,
    keys: &impl SortKeys,
) -> Result<ScannedRecord, ReadError> {
    let header = record.take_header();
    let is_capture = CdxjLine::describes(&header);
    let needs_digest =
        is_capture && !is_segment(&header) && header.get("WARC-Payload-Digest").is_none();
    let (mut head, mut request, mut digest) = (None, None, None);
    let mut framing = BodyFraming::Plain;
    if header.record_type() == Some(RecordType::Request) {
        request = StoredRequest::read(&mut record).map_err(|error| record.fault(error))?;
    } else if is_capture {
        let length = record.block_length();
        let read = CaptureHead::read(&header, length, &mut record);
        head = Some(read.map_err(|error| record.fault(error))?);
    }
    if let Some(head) = &head
        && (needs_digest || head.is_chunked())
    {
        let mut body = StoredBody::new(&mut record, head.is_chunked());
        // Other indexers compute the same digest for a record without one.
        let computed = Digest::of(DigestAlgorithm::Sha1, head.beginning.chain(&mut body));
        framing = body.framing().unwrap_or(framing);
        digest = Some(computed.map_err(|error| record.fault(error))?.0.to_string());
    }
    // A record that shares its gzip member cannot be read from an offset.
    let has_own_offset = record.within_member() == 0;
    let extent = record.finish()?;
    let location = RecordLocation { filename, extent };
    let http = head.as_ref().and_then(|head| head.http.as_ref());
    let mut line = CdxjLine::of_record(&header, http, location, |url| keys.key(url));
    if let Some(line) = &mut line {
        if let Some(digest) = digest.filter(|_| needs_digest) {
            line.digest = digest;
        }
        line.truncated = head.and_then(|head| head.truncated(framing));
    }
    let problem = (is_capture && line.is_none()).then(|| LeftOutCause::of_header(&header));
    let continuation = CdxjLine::of_continuation(&header, location);
    Ok(ScannedRecord {
        offset: extent.offset,
        header,
        continuation: continuation.filter(|_| has_own_offset),
        line: line.filter(|_| has_own_offset),
        problem,
        request,
    })
}
