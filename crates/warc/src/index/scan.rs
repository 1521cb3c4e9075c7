//! From the records of an archive file to the lines of an index.
//!
//! What was sent with a request that is no GET belongs to the key of the answer's line. The two records
//! stand near each other and are linked by `WARC-Concurrent-To`, in whichever direction; so a line
//! waits until a few more records have gone by.

use std::collections::VecDeque;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::Path;

use super::IndexError;
use crate::cdxj::{CdxjLine, Keys, Place};
use crate::digest::{Algorithm, Digest};
use crate::header::{Header, RecordType};
use crate::http::{Body, StoredHead, StoredRequest};
use crate::id::strip_brackets;
use crate::parts::{self, Event, Product};
use crate::reader::{ReadError, Record};

/// How many records may stand between a request and its answer.
const NEAR: usize = 16;

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
            Event::Made(seen) => near.add(seen, keys),
            Event::Fault(fault) => damage = Some(fault),
            Event::Note(_) | Event::Gap(_) => {}
        }
        while near.0.len() > NEAR {
            near.0.pop_front().and_then(|seen| seen.line).map(&mut take);
        }
        match damage {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    });
    near.0
        .into_iter()
        .filter_map(|seen| seen.line)
        .for_each(take);
    scanned
        .and_then(|()| damage.map_or(Ok(()), Err))
        .map_err(|source| IndexError::Read {
            path: path.to_owned(),
            source,
        })
}

/// What is remembered of a record while others that belong to it may follow.
struct Seen {
    id: String,
    concurrent_to: Vec<String>,
    line: Option<CdxjLine>,
    request: Option<StoredRequest>,
}

impl Product for Seen {
    fn weight(&self) -> usize {
        let concurrent: usize = self.concurrent_to.iter().map(String::len).sum();
        let line = self.line.as_ref().map_or(0, |line| {
            line.key.len() + line.url.len() + line.mime.len() + line.filename.len()
        });
        let request = self
            .request
            .as_ref()
            .map_or(0, |request| request.body.len());
        self.id.len() + concurrent + line + request
    }
}

/// The last few records.
#[derive(Default)]
struct Near(VecDeque<Seen>);

impl Near {
    /// Adds a record, and brings lines and requests together that belong to each other.
    fn add(&mut self, mut new: Seen, keys: &impl Keys) {
        for old in &mut self.0 {
            if !old.belongs_to(&new) {
                continue;
            }
            for (line, request) in [(&mut old.line, &new.request), (&mut new.line, &old.request)] {
                if let (Some(line), Some(request)) = (line, request) {
                    line.ask(request, keys);
                }
            }
        }
        self.0.push_back(new);
    }
}

impl Seen {
    fn belongs_to(&self, other: &Self) -> bool {
        self.concurrent_to.contains(&other.id) || other.concurrent_to.contains(&self.id)
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
    let id = header.get("WARC-Record-ID").map(strip_brackets);
    Ok(Seen {
        id: id.unwrap_or_default().to_owned(),
        concurrent_to: concurrent_to(&header),
        line: line.filter(|_| has_place),
        request: request.filter(|request| !request.method.eq_ignore_ascii_case("GET")),
    })
}

fn concurrent_to(header: &Header) -> Vec<String> {
    header
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("WARC-Concurrent-To"))
        .map(|(_, value)| strip_brackets(value).to_owned())
        .collect()
}
