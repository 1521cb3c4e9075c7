//! Makes index lines of the records in an archive file.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use super::error::IndexError;
use super::request_matcher::RequestMatcher;
use crate::cdxj::{CdxjLine, SortKeys};
use crate::digest::{Digest, DigestAlgorithm};
use crate::extent::RecordLocation;
use crate::file::file_name_of;
use crate::header::{Header, RecordType};
use crate::http::{StoredBody, StoredHead, StoredRequest};
use crate::parallel::{MemorySize, ScanEvent, read_records};
use crate::reader::{ReadError, Record};

/// Passes the lines of an archive file to `add_line`, in the order of the file. At damage, scanning
/// stops after the lines before it and returns the error. Bytes after damage get no line: they may be
/// the content of a record, made to look like a record.
pub(super) fn scan_file(
    path: &Path,
    keys: &impl SortKeys,
    mut add_line: impl FnMut(CdxjLine),
) -> Result<(), IndexError> {
    let filename = file_name_of(path);
    let mut matcher = RequestMatcher::default();
    let mut damage = None;
    let read_items = |record: Record<'_, _>, add: &mut dyn FnMut(ScannedRecord)| {
        scan_record(record, &filename, keys).map(add)
    };
    let scanned = read_records(path, &read_items, &mut |event| {
        match event {
            ScanEvent::Item(record) => {
                let set_request =
                    |line: &mut CdxjLine, request: &_| line.set_request(request, keys);
                matcher
                    .add(&record.header, record.line, record.request, set_request)
                    .map(&mut add_line);
            }
            ScanEvent::Fault(fault) => damage = Some(fault),
            ScanEvent::Deviation(_) | ScanEvent::Skipped(_) => {}
        }
        match damage {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    matcher.end_file().for_each(add_line);
    scanned
        .and_then(|()| damage.map_or(Ok(()), Err))
        .map_err(|source| IndexError::Read {
            path: path.to_owned(),
            source,
        })
}

/// The data of a record that an index needs.
struct ScannedRecord {
    header: Header,
    line: Option<CdxjLine>,
    request: Option<StoredRequest>,
}

impl MemorySize for ScannedRecord {
    fn memory_size(&self) -> usize {
        let fields = self.header.iter();
        let fields = fields.map(|(name, value)| name.len() + value.len());
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
    let kind = record.record_type();
    let is_http = |kind| matches!(kind, Some(RecordType::Response | RecordType::Revisit));
    let (mut head, mut request) = (None, None);
    if is_http(kind) {
        head = StoredHead::read(&mut record).map_err(|error| record.fault(error))?;
    } else if kind == Some(RecordType::Request) {
        request = StoredRequest::read(&mut record).map_err(|error| record.fault(error))?;
    }
    // A record that shares its gzip member cannot be read from an offset.
    let has_own_offset = record.within_member() == 0;
    let has_digest = record.header().get("WARC-Payload-Digest").is_some();
    let digest = if CdxjLine::describes(record.header()) && !has_digest {
        let chunked = head.as_ref().is_some_and(StoredHead::is_chunked);
        let body = StoredBody::new(&mut record, chunked);
        let digest = Digest::of(DigestAlgorithm::Sha1, body);
        // Other indexers compute the same digest for a record without one.
        Some(digest.map_err(|error| record.fault(error))?.0.to_string())
    } else {
        None
    };
    let (extent, header) = record.finish_with_header()?;
    let location = RecordLocation { filename, extent };
    let mut line = CdxjLine::of_record(&header, head.as_ref(), location, |url| keys.key(url));
    if let (Some(line), Some(digest)) = (&mut line, digest) {
        line.digest = digest;
    }
    Ok(ScannedRecord {
        header,
        line: line.filter(|_| has_own_offset),
        request,
    })
}
