//! From the records of an archive file to the lines of an index.

use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use super::{IndexError, Near};
use crate::cdxj::{CdxjLine, Keys, Place};
use crate::digest::{Algorithm, Digest};
use crate::header::{Header, RecordType};
use crate::http::{Body, StoredHead, StoredRequest};
use crate::parts::{self, Event, Product};
use crate::reader::{ReadError, Record};

/// Hands out the lines about the records of an archive file, in the order of the file. If the file is
/// damaged, those about what comes before the damage are followed by the error. What looks like a
/// record behind it has no line: it may be the content of one, put there to be found.
pub(super) fn scan(
    path: &Path,
    keys: &impl Keys,
    mut take: impl FnMut(CdxjLine),
) -> Result<(), IndexError> {
    let filename = path.file_name().unwrap_or_default().to_string_lossy();
    let mut near = Near::default();
    let mut damage = None;
    let make =
        |record: Record<'_, _>, add: &mut dyn FnMut(Seen)| read(record, &filename, keys).map(add);
    let scanned = parts::read(path, &make, &mut |event| {
        match event {
            Event::Made(seen) => {
                let ask = |line: &mut CdxjLine, request: &_| line.ask(request, keys);
                near.add(&seen.header, seen.line, seen.request, ask)
                    .map(&mut take);
            }
            Event::Fault(fault) => damage = Some(fault),
            Event::Note(_) | Event::Gap(_) => {}
        }
        match damage {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    near.rest().for_each(take);
    scanned
        .and_then(|()| damage.map_or(Ok(()), Err))
        .map_err(|source| IndexError::Read {
            path: path.to_owned(),
            source,
        })
}

/// What is in a record for an index.
struct Seen {
    header: Header,
    line: Option<CdxjLine>,
    request: Option<StoredRequest>,
}

impl Product for Seen {
    fn weight(&self) -> usize {
        let fields = self.header.iter();
        let fields = fields.map(|(name, value)| name.len() + value.len());
        let line = self.line.as_ref().map_or(0, |line| {
            line.key.len() + line.url.len() + line.filename.len()
        });
        let request = self.request.as_ref().map_or(0, |it| it.body.len());
        fields.sum::<usize>() + line + request
    }
}

fn read<R: Read>(
    mut record: Record<'_, R>,
    filename: &str,
    keys: &impl Keys,
) -> Result<Seen, ReadError> {
    let kind = record.record_type();
    let is_http = |kind| matches!(kind, Some(RecordType::Response | RecordType::Revisit));
    let (mut head, mut request) = (None, None);
    if is_http(kind) {
        head = StoredHead::read(&mut record).map_err(|error| record.fault(error))?;
    } else if kind == Some(RecordType::Request) {
        request = StoredRequest::read(&mut record).map_err(|error| record.fault(error))?;
    }
    // One that shares its gzip member cannot be read from an offset.
    let has_place = record.within_member() == 0;
    let has_digest = record.header().get("WARC-Payload-Digest").is_some();
    let digest = if CdxjLine::is_about(record.header()) && !has_digest {
        let chunked = head.as_ref().is_some_and(StoredHead::is_chunked);
        let digest = Digest::of(Algorithm::Sha1, Body::new(&mut record, chunked));
        // As other programs give it then.
        Some(digest.map_err(|error| record.fault(error))?.0.to_string())
    } else {
        None
    };
    let (extent, header) = record.finish_with_header()?;
    let place = Place { filename, extent };
    let mut line = CdxjLine::of_record(&header, head.as_ref(), place, |url| keys.key(url));
    if let (Some(line), Some(digest)) = (&mut line, digest) {
        line.digest = digest;
    }
    Ok(Seen {
        header,
        line: line.filter(|_| has_place),
        request,
    })
}
