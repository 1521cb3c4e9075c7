//! Writes a small archive: a capture, a revisit of it a day later, another for which the server said
//! that nothing has changed, and their index.
//!
//! `cargo run -p urldb-warc --example capture -- DIRECTORY`; other programs can then be asked what
//! they think of it: docs/archive.md says how.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::error::Error;
use std::io;
use std::path::PathBuf;

use urldb_warc::cdxj::RecordLocation;
use urldb_warc::draft::{Exchange, OriginalCapture, warcinfo};
use urldb_warc::files::archive_file_name;
use urldb_warc::http::{HttpVersion, ResponseHead, StoredHead, render_request_head};
use urldb_warc::index::merge_into_index;
use urldb_warc::writer::ArchiveFile;
use urldb_warc::{CdxjLine, Digest, DigestAlgorithm, RecordDraft, RecordId, WarcDate};

const URL: &str = "https://data.example.org/catalogue.csv";
const KEY: &str = "org,example,data)/catalogue.csv";
const BODY: &[u8] = b"name,ra,dec\nM31,10.68,41.27\nM33,23.46,30.66\n";

fn main() -> Result<(), Box<dyn Error>> {
    let dir = PathBuf::from(
        std::env::args_os()
            .nth(1)
            .ok_or("usage: capture DIRECTORY")?,
    );
    let original = OriginalCapture {
        record_id: RecordId::from_random([1; 16]),
        target_uri: URL.to_owned(),
        date: "2026-11-20T06:00:00.123456Z".parse()?,
        payload_digest: Digest::sha256_of(BODY)?.0,
    };
    let mut lines = vec![capture(&dir, &original)?];
    lines.push(revisit(
        &dir,
        &original,
        &"2026-11-21T06:00:00.5Z".parse()?,
    )?);
    lines.push(not_modified(
        &dir,
        &original,
        &"2026-11-22T06:00:00Z".parse()?,
    )?);
    merge_into_index(&dir, &lines)?;
    Ok(())
}

fn capture(dir: &std::path::Path, original: &OriginalCapture) -> Result<CdxjLine, Box<dyn Error>> {
    let exchange = Exchange {
        target_uri: URL,
        date: &original.date,
        ip_address: Some([192, 0, 2, 7].into()),
        protocols: &[],
    };
    let mut file = create(dir, &original.date, 1)?;
    let asked = render_request_head(
        "GET",
        "/catalogue.csv",
        &[("Host".into(), b"data.example.org".into())],
    )?;
    let request = exchange.request(&RecordId::from_random([2; 16]), &original.record_id, asked)?;
    let fields = [
        ("Content-Type".into(), b"text/csv; charset=utf-8".into()),
        ("Transfer-Encoding".into(), b"chunked".into()),
        ("ETag".into(), b"\"5f3a-1\"".into()),
    ];
    let body_length = BODY.len() as u64;
    let head = ResponseHead {
        version: HttpVersion::Http11,
        status: 200,
        reason: "OK",
        fields: &fields,
        body_length,
    };
    let mut response = exchange.response(
        &original.record_id,
        head.render()?,
        &original.payload_digest,
        None,
    )?;
    response.add_block_digest(DigestAlgorithm::Sha256, BODY)?;
    file.append(&request, io::empty(), 0)?;
    let line = append(&mut file, &response, BODY)?;
    file.finish()?;
    Ok(line)
}

fn revisit(
    dir: &std::path::Path,
    original: &OriginalCapture,
    date: &WarcDate,
) -> Result<CdxjLine, Box<dyn Error>> {
    let exchange = Exchange {
        target_uri: URL,
        date,
        ip_address: Some([192, 0, 2, 7].into()),
        protocols: &[],
    };
    let mut file = create(dir, date, 2)?;
    let revisit =
        exchange.revisit_identical(&RecordId::from_random([3; 16]), original, Vec::new())?;
    let line = append(&mut file, &revisit, b"")?;
    file.finish()?;
    Ok(line)
}

fn not_modified(
    dir: &std::path::Path,
    original: &OriginalCapture,
    date: &WarcDate,
) -> Result<CdxjLine, Box<dyn Error>> {
    let exchange = Exchange {
        target_uri: URL,
        date,
        ip_address: Some([192, 0, 2, 7].into()),
        protocols: &[],
    };
    let mut file = create(dir, date, 3)?;
    let id = RecordId::from_random([4; 16]);
    let revisit = exchange.revisit_not_modified(&id, original)?;
    let line = append(&mut file, &revisit, b"")?;
    let head = b"HTTP/1.1 304 Not Modified\r\netag: \"5f3a-1\"\r\n\r\n";
    let beside = exchange.not_modified_head(&RecordId::from_random([5; 16]), &id, head)?;
    file.append(&beside, io::empty(), 0)?;
    file.finish()?;
    Ok(line)
}

fn create(
    dir: &std::path::Path,
    date: &WarcDate,
    serial: u32,
) -> Result<ArchiveFile, Box<dyn Error>> {
    let name = archive_file_name("urldb", date, serial, "example");
    let id = RecordId::from_random([u8::try_from(serial)? + 9; 16]);
    let info = warcinfo(
        &id,
        date,
        &name,
        &[("software", "urldb"), ("format", "WARC File Format 1.1")],
    )?;
    Ok(ArchiveFile::create(dir, &name, &info)?)
}

fn append(
    file: &mut ArchiveFile,
    draft: &RecordDraft,
    body: &[u8],
) -> Result<CdxjLine, Box<dyn Error>> {
    let extent = file.append(draft, body, body.len() as u64)?;
    let head = StoredHead::read(&mut draft.head.as_slice())?;
    let place = RecordLocation {
        filename: file.name(),
        extent,
    };
    let line = CdxjLine::of_record(&draft.header, head.as_ref(), place, |_| KEY.to_owned());
    line.ok_or_else(|| "the record is not about a capture".into())
}
