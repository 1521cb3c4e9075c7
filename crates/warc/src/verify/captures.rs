//! Compares the index with the records, in both directions.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};

use super::report::Reporter;
use crate::capture::RequestMatcher;
use crate::cdxj::{CdxjLine, RecordLocation, SortKeys, date_of, vary_of};
use crate::digest::Digest;
use crate::extent::Extent;
use crate::files::FileSource;
use crate::finding::FindingCode;
use crate::header::Header;
use crate::http::StoredRequest;
use crate::index::{IndexError, LineCursor, MergedLines, SeekCursor, segment_cursors};

/// The captures that an index must have, by file number and offset.
#[derive(Default)]
pub(super) struct ExpectedCaptures {
    hash_state: RandomState,
    captures: BTreeMap<(u32, u64), ExpectedCapture>,
    /// The files whose lines do not count.
    hidden: BTreeSet<String>,
    /// The captures whose requests may follow.
    pending: RequestMatcher<PendingCapture>,
}

struct PendingCapture {
    at: (u32, u64),
    url: String,
    capture: ExpectedCapture,
}

/// A capture, with hashes of what its line must say.
struct ExpectedCapture {
    length: u64,
    /// Of URL, timestamp and `vary`.
    url_date_and_vary: u64,
    digest: Option<u64>,
    /// Of the key, for a continuation and for the response to a request other than GET. Other keys depend on the URL alone.
    request_key: Option<u64>,
    has_line: bool,
}

impl ExpectedCapture {
    /// The name of a field in which record and line differ.
    fn differing_field(&self, line: &CdxjLine, hash_state: &RandomState) -> Option<&'static str> {
        let digest = parse_digest(&line.digest).map(|it| hash_state.hash_one(it));
        if self.length != line.extent.length {
            Some("length")
        } else if self.url_date_and_vary
            != hash_state.hash_one((&*line.url, &*line.timestamp, line.vary.as_deref()))
        {
            Some("URL, date or `vary`")
        } else if digest.is_some() && self.digest.is_some() && digest != self.digest {
            Some("digest")
        } else {
            None
        }
    }

    /// Whether the line has the key of its record.
    fn has_key_of(&self, line: &CdxjLine, keys: &dyn SortKeys, hash_state: &RandomState) -> bool {
        match self.request_key {
            Some(key) => key == hash_state.hash_one(&line.key),
            None => keys.key(&line.url) == line.key,
        }
    }
}

impl ExpectedCaptures {
    /// Ignores the lines about these files.
    pub(super) fn hide(&mut self, files: BTreeSet<String>) {
        self.hidden = files;
    }

    /// Adds the next record of a file: its file number, offset and length, if it can be read from that
    /// offset, and its request, if it is one.
    pub(super) fn add(
        &mut self,
        position: Option<((u32, u64), u64)>,
        header: &Header,
        request: Option<StoredRequest>,
        keys: &dyn SortKeys,
    ) {
        if let Some((at, length)) = position {
            self.add_continuation(at, length, header);
        }
        let capture = position.and_then(|(at, length)| self.capture(at, length, header));
        let hash_state = &self.hash_state;
        let set_request = |pending: &mut PendingCapture, request: &_| {
            if let Some((key, _)) = keys.key_of_request(&pending.url, request) {
                pending.capture.request_key = Some(hash_state.hash_one(key));
            }
        };
        let ready = self.pending.add(header, capture, request, set_request);
        self.captures.extend(ready.map(|it| (it.at, it.capture)));
    }

    fn add_continuation(&mut self, at: (u32, u64), length: u64, header: &Header) {
        let extent = Extent {
            offset: at.1,
            length,
        };
        let location = RecordLocation {
            filename: "",
            extent,
        };
        let Some(line) = CdxjLine::of_continuation(header, location) else {
            return;
        };
        let continuation = ExpectedCapture {
            length,
            url_date_and_vary: self.hash_of(&line.url, &line.timestamp, None),
            digest: None,
            request_key: Some(self.hash_state.hash_one(&line.key)),
            has_line: false,
        };
        self.captures.insert(at, continuation);
    }

    /// The hash of URL, timestamp and `vary`.
    fn hash_of(&self, url: &str, timestamp: &str, vary: Option<&str>) -> u64 {
        self.hash_state.hash_one((url, timestamp, vary))
    }

    pub(super) fn end_file(&mut self) {
        let rest = self.pending.end_file().map(|it| (it.at, it.capture));
        self.captures.extend(rest);
    }

    fn capture(&self, at: (u32, u64), length: u64, header: &Header) -> Option<PendingCapture> {
        let date = date_of(header)?;
        let url = CdxjLine::url_of(header).filter(|_| CdxjLine::describes(header))?;
        let capture = ExpectedCapture {
            length,
            url_date_and_vary: self.hash_of(
                &url,
                &date.to_timestamp14(),
                vary_of(header).as_deref(),
            ),
            digest: header
                .payload_digest()
                .map(|it| self.hash_state.hash_one(it)),
            request_key: None,
            has_line: false,
        };
        Some(PendingCapture { at, url, capture })
    }

    /// Compares the lines of all segments among the files of an archive with the captures, and returns the
    /// errors of damaged segments. `names` has the file numbers by file name.
    pub(super) fn compare_segments(
        &mut self,
        (source, files): (&dyn FileSource, &[String]),
        names: &HashMap<String, u32>,
        keys: &dyn SortKeys,
        reporter: &mut Reporter<'_>,
    ) -> Vec<IndexError> {
        let mut faults = Vec::new();
        let mut cursors = Vec::new();
        for cursor in segment_cursors(source, files) {
            let moved = cursor.and_then(|mut cursor| {
                cursor.seek(b"", false)?;
                Ok(cursor)
            });
            match moved {
                Ok(cursor) => cursors.push(cursor),
                Err(error) => faults.push(error),
            }
        }
        let mut lines = MergedLines::new(cursors);
        loop {
            let (line, number) = match lines.next() {
                Ok(None) => return faults,
                Ok(Some((line, number))) => (String::from_utf8_lossy(line).into_owned(), number),
                Err(error) => {
                    faults.push(error);
                    continue;
                }
            };
            let (path, offset) = lines.cursor(number).position();
            if reporter.location.file != path {
                reporter.enter(path);
            }
            reporter.location.offset = Some(offset);
            self.compare_text(&line, names, keys, reporter);
        }
    }

    fn compare_text(
        &mut self,
        line: &str,
        names: &HashMap<String, u32>,
        keys: &dyn SortKeys,
        reporter: &mut Reporter<'_>,
    ) {
        match CdxjLine::parse(line) {
            Ok(parsed) if self.hidden.contains(&parsed.filename) => {}
            Ok(parsed) => self.compare_line(&parsed, names, keys, reporter),
            Err(error) => reporter.add(FindingCode::IndexLine, error.to_string()),
        }
    }

    fn compare_line(
        &mut self,
        line: &CdxjLine,
        names: &HashMap<String, u32>,
        keys: &dyn SortKeys,
        reporter: &mut Reporter<'_>,
    ) {
        let Self {
            hash_state,
            captures,
            ..
        } = self;
        let offset = line.extent.offset;
        let filename = &line.filename;
        let file = names.get(filename);
        let Some(capture) = file.and_then(|file| captures.get_mut(&(*file, offset))) else {
            let message = format!(
                "at byte {offset} of {filename} no capture of {} begins",
                line.url
            );
            reporter.add(FindingCode::IndexStale, message);
            return;
        };
        let mut add = |code, text: String| {
            let record = format!("the record at byte {offset} of {filename}");
            reporter.add(code, format!("{record} {text}"));
        };
        if let Some(field) = capture.differing_field(line, hash_state) {
            add(FindingCode::IndexDiffers, format!("has another {field}"));
        } else if !capture.has_key_of(line, keys, hash_state) {
            let text = format!("is not looked for under {:?}", line.key);
            add(FindingCode::IndexKey, text);
        }
        if std::mem::replace(&mut capture.has_line, true) {
            add(FindingCode::IndexRepeated, "has another line".to_owned());
        }
    }

    /// Removes all captures and returns the file numbers and offsets of those without a line.
    pub(super) fn take_missing(&mut self) -> impl Iterator<Item = (u32, u64)> + use<> {
        std::mem::take(&mut self.captures)
            .into_iter()
            .filter(|(_, capture)| !capture.has_line)
            .map(|(at, _)| at)
    }
}

/// Reads a digest. Some programs leave the algorithm out, which is then SHA-1.
fn parse_digest(text: &str) -> Option<Digest> {
    text.parse()
        .or_else(|_| format!("sha1:{text}").parse())
        .ok()
}
