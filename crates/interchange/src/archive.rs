//! Web archives: each complete capture becomes a URL with the length and the SHA-256 of its body, so
//! that nothing needs to be fetched.
//!
//! The digest is that of the body as a server would send it to urldb today: without transfer coding,
//! and without gzip, which urldb does not request. Of several captures of a URL the latest counts.
//! Captures with another status than 200, of another request than GET, or without their whole body promise
//! nothing, and revisits repeat an earlier record.

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use serde_json::{Map, Value as Json};
use urldb_canon::surt;
use urldb_files::Root;
use urldb_format::Algorithm;
use urldb_warc::capture::{CaptureHead, RequestMatcher, other_methods, vary_of};
use urldb_warc::http::{BodyFraming, StoredBody, StoredHead, StoredRequest};
use urldb_warc::reader::{ReadError as WarcError, ReadErrorKind};
use urldb_warc::{CdxjLine, Digest, DigestAlgorithm, Header, Reader, RecordType, WarcDate};

use crate::digest;
use crate::file_events::FileEvents;
use crate::input::{LimitedReader, MAX_UNPACKED};
use crate::json;
use crate::model::{
    DomainRecord, ListItem, Location, Notice, Position, ReadError, ReadEvent, Sink,
};
use crate::scheme::is_http;

/// Reads a WARC file, plain or with one gzip member for each record.
pub fn read_warc(path: &Path, shown: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let malformed = |error: &WarcError| ReadError::Malformed {
        location: at_byte(shown, error.offset),
        message: error.kind.to_string(),
    };
    let mut reader = Reader::open(path).map_err(|error| malformed(&error))?;
    let mut matcher = RequestMatcher::default();
    loop {
        match next_record(&mut reader, shown) {
            Ok(Some(read)) => {
                let leave_out = |found: &mut ReadEvent, request: &StoredRequest| {
                    leave_out(found, &request.method);
                };
                matcher
                    .add(&read.header, read.found, read.request, leave_out)
                    .map_or(Ok(()), &mut *sink)?;
            }
            Ok(None) => break,
            Err(error) if error.is_damage() && !is_no_archive(&error) => {
                let message = format!("the record cannot be read: {}", error.kind);
                sink(Notice::refused(at_byte(shown, error.offset), "damaged", message).into())?;
                reader.skip_damage().map_err(|error| malformed(&error))?;
            }
            Err(error) => return Err(malformed(&error)),
        }
    }
    let rest: Vec<ReadEvent> = matcher.end_file().collect();
    Ok(rest.into_iter().try_for_each(sink)?)
}

fn is_no_archive(error: &WarcError) -> bool {
    matches!(error.kind, ReadErrorKind::NotAnArchive { .. })
}

/// A record of an archive.
struct ReadRecord {
    header: Header,
    /// The capture, taken or left out, if the record is one.
    found: Option<ReadEvent>,
    request: Option<StoredRequest>,
}

/// Reads the next record to its end, so that a damaged record is no capture; `None` at the end of the file.
fn next_record(
    reader: &mut Reader<File>,
    shown: &Arc<str>,
) -> Result<Option<ReadRecord>, WarcError> {
    let Some(mut record) = reader.next_record()? else {
        return Ok(None);
    };
    let location = at_byte(shown, record.offset());
    let (header, length) = (record.header().clone(), record.block_length());
    let (mut found, mut request) = (None, None);
    if header.record_type() == Some(RecordType::Request) {
        request = StoredRequest::read(&mut record).map_err(|error| record.fault(error))?;
    } else {
        let read = capture(&header, (&mut record, length), location);
        found = read.map_err(|error| record.fault(error))?;
    }
    record.finish()?;
    Ok(Some(ReadRecord {
        header,
        found,
        request,
    }))
}

/// Leaves a capture out that answers another request than GET.
fn leave_out(found: &mut ReadEvent, method: &str) {
    if let ReadEvent::Item(item) = found {
        let url = item.url();
        let url = url.as_ref().map_or(&*item.record.path, |url| url.as_str());
        *found = other_request(item.location.clone(), url, method).into();
    }
}

fn other_request(location: Location, url: &str, method: &str) -> Notice {
    let message = format!("{url} was asked with {method}, not with GET");
    Notice::left_out(location, "request", message)
}

fn at_byte(file: &Arc<str>, offset: u64) -> Location {
    Location {
        file: Arc::clone(file),
        at: Position::Byte(offset),
    }
}

/// The event for one record of an archive; `None` if the record is not a capture.
fn capture(
    header: &Header,
    block: (impl BufRead, u64),
    location: Location,
) -> io::Result<Option<ReadEvent>> {
    let Some(url) = CdxjLine::url_of(header).filter(|url| is_http(url)) else {
        return Ok(None);
    };
    if !matches!(
        header.record_type(),
        Some(RecordType::Response | RecordType::Resource)
    ) {
        return Ok(None);
    }
    let (digest, length) = match content(header, block)? {
        Ok(content) => content,
        Err((code, why)) => {
            let message = format!("{url} was {why}");
            return Ok(Some(Notice::left_out(location, code, message).into()));
        }
    };
    let date: Option<WarcDate> = header.get("WARC-Date").and_then(|date| date.parse().ok());
    let item = ListItem::new(location, &url).map(|mut item| {
        item.moment = date.map(|date| date.to_timestamp14());
        item.record.content_length = Some(length);
        item.record.content_sha256 = sha256(&digest);
        set_variant(&mut item, vary_of(header).as_deref());
        item
    });
    Ok(Some(item.into()))
}

/// The code of the reason for which a capture promises nothing, and the words that follow "was" in a sentence about its
/// URL.
type Omission = (&'static str, String);

/// Digest and length of the body of a capture, if it is one that a server would send.
fn content(
    header: &Header,
    (mut block, length): (impl BufRead, u64),
) -> io::Result<Result<(Digest, u64), Omission>> {
    let left_out = |code, why| Ok(Err((code, why)));
    let head = CaptureHead::read(header, length, &mut block)?;
    let is_response = header.record_type() == Some(RecordType::Response);
    match &head.http {
        Some(http) if http.status != 200 => {
            return left_out("status", format!("answered with {}", http.status));
        }
        None if is_response => {
            return left_out("no-http", "captured without an HTTP response".to_owned());
        }
        _ => {}
    }
    if header.get("WARC-Segment-Number").is_some() {
        return left_out("segmented", "captured in segments".to_owned());
    }
    let not_whole = || left_out("truncated", "not captured whole".to_owned());
    if head.truncated(BodyFraming::Plain).is_some() {
        return not_whole();
    }
    let mut body = StoredBody::new(block, head.is_chunked()).rejecting_broken_chunks();
    let stored = head.beginning.chain(BufReader::new(&mut body));
    let mut payload = match payload(head.http.as_ref(), stored) {
        Ok(payload) => payload,
        Err(coding) => {
            let why = format!("captured in the coding {coding}, which is not undone");
            return left_out("coding", why);
        }
    };
    let digest = match Digest::sha256_of(&mut payload) {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            return left_out("damaged", format!("captured with a damaged body: {error}"));
        }
        digest => digest?,
    };
    drop(payload);
    let framing = body.framing().unwrap_or(BodyFraming::Plain);
    if head.truncated(framing).is_some() {
        return not_whole();
    }
    Ok(Ok(digest))
}

/// Sets the request headers that tell captures of the URL apart, one a line.
fn set_variant(item: &mut ListItem, vary: Option<&str>) {
    let headers = vary.unwrap_or_default().lines();
    for (name, value) in headers.filter_map(|header| header.split_once(": ")) {
        item.record.request_headers.insert(name, value);
    }
}

/// The body of a response without its content coding; `Err` names the one that stays.
fn payload<'a>(
    head: Option<&StoredHead>,
    body: impl BufRead + 'a,
) -> Result<Box<dyn Read + 'a>, String> {
    let coding = head.and_then(|head| head.get("Content-Encoding"));
    let coding = String::from_utf8_lossy(coding.unwrap_or_default());
    match coding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(Box::new(body)),
        "gzip" | "x-gzip" => {
            let unpacked = MultiGzDecoder::new(body);
            Ok(Box::new(DecodingReader(LimitedReader::new(
                unpacked,
                MAX_UNPACKED,
            ))))
        }
        other => Err(other
            .chars()
            .filter(char::is_ascii_graphic)
            .take(40)
            .collect()),
    }
}

/// A reader whose failures, but for those of the archive below, are damage of the body.
struct DecodingReader<R>(R);

impl<R: Read> Read for DecodingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| {
            let is_archive = error
                .get_ref()
                .is_some_and(<dyn Error + Send + Sync>::is::<WarcError>);
            if is_archive || error.raw_os_error().is_some() {
                error
            } else {
                io::Error::new(io::ErrorKind::InvalidData, error)
            }
        })
    }
}

fn sha256(digest: &Digest) -> Option<String> {
    let is_sha256 = digest.algorithm() == DigestAlgorithm::Sha256;
    is_sha256.then(|| digest.to_hex())
}

/// Reads a CDXJ index. If the file that a line names is beside the index, the capture is read from
/// it. Otherwise the digest of the line counts, if it is a SHA-256.
pub fn read_cdxj(
    input: impl BufRead,
    folder: &Root,
    file: &Arc<str>,
    sink: &mut Sink<'_>,
) -> Result<(), ReadError> {
    let mut files = StoredFiles {
        folder,
        methods: HashMap::new(),
    };
    FileEvents { file, sink }.each_line(input, &mut |line, events| {
        // `!meta` and a first line ` CDX …` are about the index.
        if line.text.trim().is_empty() || line.text.starts_with(['!', ' ']) {
            return Ok(());
        }
        parse_line(line.text, &mut files, events.at(line.number))
            .map_or(Ok(()), |found| events.pass(found))
    })
}

fn parse_line(text: &str, files: &mut StoredFiles<'_>, location: Location) -> Option<ReadEvent> {
    let mut parts = text.splitn(3, ' ').map(Some).chain([None, None]);
    let mut part = || parts.next().flatten().unwrap_or_default();
    let (key, moment, object) = (part(), part(), part());
    let is_moment = moment.len() == 14 && moment.bytes().all(|byte| byte.is_ascii_digit());
    let (Ok(Json::Object(fields)), true) = (serde_json::from_str(object), is_moment) else {
        let message = "the line is not KEY TIMESTAMP {JSON}";
        return Some(Notice::refused(location, "bad-line", message).into());
    };
    let fields: Map<String, Json> = fields
        .into_iter()
        .map(|(name, value)| (name, into_text(value)))
        .collect();
    let field = |name| fields.get(name).and_then(Json::as_str).unwrap_or_default();
    if field("mime") == urldb_warc::cdxj::REVISIT_MIME || !is_http(field("url")) {
        return None;
    }
    if !matches!(field("status"), "200" | "") {
        let message = format!("{} was answered with {}", field("url"), field("status"));
        return Some(Notice::left_out(location, "status", message).into());
    }
    if let Some(method) = other_method(key, &fields) {
        return Some(other_request(location, field("url"), method).into());
    }
    if !matches!(field("truncated"), "" | "-") {
        let message = format!("{} was not captured whole", field("url"));
        return Some(Notice::left_out(location, "truncated", message).into());
    }
    match files.read(&fields, &location) {
        Some(Ok(found)) => return found,
        Some(Err(error)) => {
            return Some(Notice::refused(location, "archive", error.to_string()).into());
        }
        None => {}
    }
    let item = ListItem::new(location, field("url")).map(|mut item| {
        item.moment = Some(moment.to_owned());
        item.record.content_sha256 = field("digest")
            .parse()
            .ok()
            .and_then(|digest| sha256(&digest));
        item.record.content_length = field("content-length").parse().ok();
        set_variant(&mut item, Some(field("vary")));
        item
    });
    Some(item.into())
}

/// The text of a value, since some programs write numbers.
fn into_text(value: Json) -> Json {
    match value {
        Json::Number(number) => Json::from(number.to_string()),
        Json::Bool(true) => Json::from("true"),
        Json::Bool(false) | Json::Null => Json::from(""),
        other => other,
    }
}

/// The method of a line about the response to another request than GET. Such a line has a field for it, or it is a
/// parameter in the key.
fn other_method<'a>(key: &'a str, fields: &'a Map<String, Json>) -> Option<&'a str> {
    let stated = fields.get("method").and_then(Json::as_str);
    let in_key = || {
        let (_, query) = key.split_once('?')?;
        query
            .split('&')
            .find_map(|parameter| parameter.strip_prefix("__wb_method="))
    };
    let method = stated.filter(|stated| !stated.is_empty()).or_else(in_key)?;
    (!method.eq_ignore_ascii_case("GET")).then_some(method)
}

/// The archive files in the folder of an index.
struct StoredFiles<'a> {
    folder: &'a Root,
    /// The methods other than GET of each file, by the offset of the response.
    methods: HashMap<String, HashMap<u64, String>>,
}

impl StoredFiles<'_> {
    /// The capture that a line names, if its file is in the folder.
    fn read(
        &mut self,
        fields: &Map<String, Json>,
        location: &Location,
    ) -> Option<io::Result<Option<ReadEvent>>> {
        let name = fields.get("filename")?.as_str()?;
        let offset = fields.get("offset")?.as_str()?.parse().ok()?;
        let file = self.folder.file(name);
        // A name, not a way to somewhere else.
        if Path::new(name).file_name()? != name || !file.is_file() {
            return None;
        }
        let path = file.path();
        let found = capture_at(&path, offset, location.clone());
        Some(found.and_then(|mut found| {
            if let Some(found) = &mut found
                && let Some(method) = self.methods_in(name, &path)?.get(&offset)
            {
                leave_out(found, method);
            }
            Ok(found)
        }))
    }

    fn methods_in(&mut self, name: &str, path: &Path) -> io::Result<&HashMap<u64, String>> {
        if !self.methods.contains_key(name) {
            let mut reader = Reader::open(path).map_err(io::Error::other)?;
            let methods = other_methods(&mut reader).map_err(io::Error::other)?;
            self.methods.insert(name.to_owned(), methods);
        }
        self.methods
            .get(name)
            .ok_or_else(|| io::Error::other("the file was not read"))
    }
}

fn capture_at(path: &Path, offset: u64, location: Location) -> io::Result<Option<ReadEvent>> {
    let mut reader = Reader::open_at(path, offset).map_err(io::Error::other)?;
    let Some(mut record) = reader.next_record().map_err(io::Error::other)? else {
        return Err(io::Error::other(
            "there is no record at the offset that the line names",
        ));
    };
    let (header, length) = (record.header().clone(), record.block_length());
    capture(&header, (&mut record, length), location)
}

/// The index line for a record that promises a digest, so that a crawler can find known content by
/// URL and digest. The line names no archive file, because there is none.
pub fn cdxj_line(domain_record: &DomainRecord<'_>, moment: &str) -> Option<String> {
    let sha256 = domain_record
        .record
        .content_sha256
        .as_deref()
        .and_then(|text| digest::parse(text, Some(Algorithm::Sha256)).ok())?;
    let url = domain_record.url();
    let key = surt(url);
    if !key.bytes().all(|byte| byte.is_ascii_graphic()) {
        return None;
    }
    let mut fields = Map::new();
    let mime = domain_record
        .record
        .content_type
        .as_deref()
        .filter(|mime| mime.contains('/'));
    let length = domain_record
        .record
        .content_length
        .map(|length| length.to_string());
    for (name, value) in [
        ("url", Some(url.to_owned())),
        ("mime", Some(mime.unwrap_or("unk").to_owned())),
        ("status", Some("200".to_owned())),
        ("digest", Some(sha256.to_string())),
        ("content-length", length),
    ] {
        fields.extend(value.map(|value| (name.to_owned(), Json::from(value))));
    }
    Some(format!(
        "{key} {moment} {}",
        json::ascii(&Json::Object(fields))
    ))
}

/// Writes the lines of an index, sorted by their bytes.
pub fn write_cdxj(output: &mut impl Write, mut lines: Vec<String>) -> io::Result<()> {
    lines.sort();
    lines.iter().try_for_each(|line| writeln!(output, "{line}"))
}
