//! Web archives: each complete capture becomes a URL with the length and the SHA-256 of its body, so
//! that nothing needs to be fetched.
//!
//! The digest is that of the body as a server would send it to urldb today: without transfer coding,
//! and without gzip, which urldb does not request. Of several captures of a URL the latest counts.
//! Captures with another status than 200 promise nothing, and revisits repeat an earlier record.

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
use urldb_warc::http::{StoredBody, StoredHead};
use urldb_warc::reader::{ReadError as WarcError, ReadErrorKind};
use urldb_warc::{Digest, DigestAlgorithm, Header, Reader, RecordType, WarcDate};

use crate::digest;
use crate::input::{LimitedReader, LineReader, MAX_UNPACKED};
use crate::json;
use crate::model::{
    DomainRecord, ListItem, Location, Notice, Position, ReadError, ReadEvent, Sink,
};

/// Reads a WARC file, plain or with one gzip member for each record.
pub fn read_warc(path: &Path, shown: &Arc<str>, sink: &mut Sink<'_>) -> Result<(), ReadError> {
    let malformed = |error: &WarcError| ReadError::Malformed {
        location: at_byte(shown, error.offset),
        message: error.kind.to_string(),
    };
    let mut reader = Reader::open(path).map_err(|error| malformed(&error))?;
    loop {
        match next_capture(&mut reader, shown) {
            Ok(NextRecord::Capture(found)) => sink(found)?,
            Ok(NextRecord::Other) => {}
            Ok(NextRecord::End) => return Ok(()),
            Err(error) if error.is_damage() && !is_no_archive(&error) => {
                let message = format!("the record cannot be read: {}", error.kind);
                sink(Notice::refused(at_byte(shown, error.offset), "damaged", message).into())?;
                reader.skip_damage().map_err(|error| malformed(&error))?;
            }
            Err(error) => return Err(malformed(&error)),
        }
    }
}

fn is_no_archive(error: &WarcError) -> bool {
    matches!(error.kind, ReadErrorKind::NotAnArchive { .. })
}

enum NextRecord {
    /// A capture, taken or left out.
    Capture(ReadEvent),
    /// A record that is no capture.
    Other,
    /// The end of the file.
    End,
}

/// Reads the next record to its end, so that a damaged record is no capture.
fn next_capture(reader: &mut Reader<File>, shown: &Arc<str>) -> Result<NextRecord, WarcError> {
    let Some(mut record) = reader.next_record()? else {
        return Ok(NextRecord::End);
    };
    let location = at_byte(shown, record.offset());
    let header = record.header().clone();
    let found = capture(&header, &mut record, location).map_err(|error| record.fault(error))?;
    record.finish()?;
    Ok(found.map_or(NextRecord::Other, NextRecord::Capture))
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
    block: &mut impl BufRead,
    location: Location,
) -> io::Result<Option<ReadEvent>> {
    let Some(url) = header.target_uri() else {
        return Ok(None);
    };
    let left_out = |code: &str, why: String| {
        Ok(Some(
            Notice::left_out(location.clone(), code, format!("{url} was {why}")).into(),
        ))
    };
    let head = match header.record_type() {
        Some(RecordType::Resource) if is_http(url) => None,
        Some(RecordType::Response) if is_http(url) => match StoredHead::read(block)? {
            Some(head) if head.status == 200 => Some(head),
            Some(head) => return left_out("status", format!("answered with {}", head.status)),
            None => return left_out("no-http", "captured without an HTTP response".to_owned()),
        },
        _ => return Ok(None),
    };
    if header.get("WARC-Segment-Number").is_some() {
        return left_out("segmented", "captured in segments".to_owned());
    }
    if header.get("WARC-Truncated").is_some() {
        return left_out("truncated", "not captured whole".to_owned());
    }
    let (digest, length) = match payload(head.as_ref(), block) {
        Err(coding) => {
            return left_out(
                "coding",
                format!("captured in the coding {coding}, which is not undone"),
            );
        }
        Ok(mut payload) => match Digest::sha256_of(&mut payload) {
            Ok(digest) => digest,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return left_out("damaged", format!("captured with a damaged body: {error}"));
            }
            Err(error) => return Err(error),
        },
    };
    let date: Option<WarcDate> = header.get("WARC-Date").and_then(|date| date.parse().ok());
    let item = ListItem::new(location, url).map(|mut item| {
        item.moment = date.map(|date| date.to_timestamp14());
        item.record.content_length = Some(length);
        item.record.content_sha256 = sha256(&digest);
        item
    });
    Ok(Some(item.into()))
}

fn is_http(url: &str) -> bool {
    let starts = |scheme: &str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("http://") || starts("https://")
}

/// The body of a response without its codings; `Err` names the one that stays.
fn payload<'a>(
    head: Option<&StoredHead>,
    block: &'a mut impl BufRead,
) -> Result<Box<dyn Read + 'a>, String> {
    let value = |name| {
        let value = head.and_then(|head| head.get(name)).unwrap_or_default();
        String::from_utf8_lossy(value).trim().to_ascii_lowercase()
    };
    let whole: Box<dyn BufRead> = match value("Transfer-Encoding").as_str() {
        "chunked" => Box::new(BufReader::new(
            StoredBody::new(block, true).rejecting_broken_chunks(),
        )),
        _ => Box::new(block),
    };
    match value("Content-Encoding").as_str() {
        "" | "identity" => Ok(Box::new(whole)),
        "gzip" | "x-gzip" => {
            let unpacked = MultiGzDecoder::new(whole);
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
    let mut lines = LineReader::new(input);
    while let Some(line) = lines.next().map_err(ReadError::input(file))? {
        let location = Location::line(file, line.number);
        match line.text {
            Err(why) => sink(Notice::refused(location, "bad-line", why).into())?,
            // `!meta` and a first line ` CDX …` are about the index.
            Ok(text) if text.trim().is_empty() || text.starts_with(['!', ' ']) => {}
            Ok(text) => {
                if let Some(found) = parse_line(text, folder, location) {
                    sink(found)?;
                }
            }
        }
    }
    Ok(())
}

fn parse_line(text: &str, folder: &Root, location: Location) -> Option<ReadEvent> {
    let mut parts = text.splitn(3, ' ').skip(1);
    let (moment, object) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let is_moment = moment.len() == 14 && moment.bytes().all(|byte| byte.is_ascii_digit());
    let (Ok(Json::Object(fields)), true) = (serde_json::from_str(object), is_moment) else {
        let message = "the line is not KEY TIMESTAMP {JSON}";
        return Some(Notice::refused(location, "bad-line", message).into());
    };
    let field = |name| fields.get(name).and_then(Json::as_str).unwrap_or_default();
    if field("mime") == urldb_warc::cdxj::REVISIT_MIME || !is_http(field("url")) {
        return None;
    }
    if !matches!(field("status"), "200" | "") {
        let message = format!("{} was answered with {}", field("url"), field("status"));
        return Some(Notice::left_out(location, "status", message).into());
    }
    match read_stored(folder, &fields, &location) {
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
        item
    });
    Some(item.into())
}

/// The capture that a line names, if its file is in the folder of the index.
fn read_stored(
    folder: &Root,
    fields: &Map<String, Json>,
    location: &Location,
) -> Option<io::Result<Option<ReadEvent>>> {
    let name = fields.get("filename")?.as_str()?;
    let offset = fields.get("offset")?.as_str()?.parse().ok()?;
    let file = folder.file(name);
    // A name, not a way to somewhere else.
    if Path::new(name).file_name()? != name || !file.is_file() {
        return None;
    }
    Some(capture_at(&file.path(), offset, location.clone()))
}

fn capture_at(path: &Path, offset: u64, location: Location) -> io::Result<Option<ReadEvent>> {
    let mut reader = Reader::open_at(path, offset).map_err(io::Error::other)?;
    let Some(mut record) = reader.next_record().map_err(io::Error::other)? else {
        return Err(io::Error::other(
            "there is no record at the offset that the line names",
        ));
    };
    let header = record.header().clone();
    capture(&header, &mut record, location)
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
