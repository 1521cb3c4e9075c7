//! A small archive to test with, always the same.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::Path;

use flate2::write::GzEncoder;
use urldb_warc::draft::{Exchange, OriginalCapture, warcinfo};
use urldb_warc::header::InvalidField;
use urldb_warc::http::{HttpVersion, ResponseHead, render_request_head};
use urldb_warc::index::{CdxjIndex, INDEX_DIRECTORY};
use urldb_warc::reader::ReadError;
use urldb_warc::segment::SegmentHeaders;
use urldb_warc::{
    CdxjLine, Digest, Extent, FindingCode, Header, Reader, RecordDraft, RecordId, WarcDate,
};

pub(crate) const URL: &str = "https://data.example.org/catalogue.csv";
pub(crate) const BODY: &[u8] = b"name,ra,dec\nM31,10.68,41.27\n";

/// All lines of the index, in order.
pub(crate) fn index_text(dir: &Path) -> String {
    let index = CdxjIndex::open(&dir).expect("an index");
    let lines = index.into_lines().expect("an index");
    let text = |line: CdxjLine| line.render().expect("valid") + "\n";
    lines.map(|line| text(line.expect("read"))).collect()
}

/// Makes the index one segment with these lines, valid or not, in this order.
pub(crate) fn write_index(dir: &Path, text: &str) {
    let index = dir.join(INDEX_DIRECTORY);
    let _ = fs::remove_dir_all(&index);
    fs::create_dir(&index).expect("made");
    let data = gzip(text.as_bytes());
    let key: Vec<&str> = text
        .lines()
        .next()
        .unwrap_or_default()
        .splitn(3, ' ')
        .collect();
    let key = key[..key.len().min(2)].join(" ");
    let idx = format!("{key}\tcdxj\t0\t{}\t1\n", data.len());
    for (suffix, bytes) in [
        (".cdxj.gz", data),
        (".loc", b"cdxj\tsegment.cdxj.gz\n".to_vec()),
        (".idx", idx.into_bytes()),
    ] {
        fs::write(index.join(format!("segment{suffix}")), bytes).expect("written");
    }
}

/// Whether a file name ends like this, in this case.
pub(crate) fn is_named(name: &str, end: &str) -> bool {
    name.ends_with(end)
}

/// The names of the files in the directory of the index, without locks.
pub(crate) fn index_files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir.join(INDEX_DIRECTORY))
        .into_iter()
        .flatten();
    let names = entries.map(|entry| {
        entry
            .expect("there")
            .file_name()
            .into_string()
            .expect("text")
    });
    let mut names: Vec<String> = names.filter(|name| name != ".lock").collect();
    names.sort();
    names
}

pub(crate) fn date(text: &str) -> WarcDate {
    text.parse().expect("a date")
}

pub(crate) fn id(n: u8) -> RecordId {
    RecordId::from_random([n; 16])
}

pub(crate) fn fields(fields: &[(&str, &str)]) -> Vec<(String, Vec<u8>)> {
    fields
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
        .collect()
}

pub(crate) fn original() -> OriginalCapture {
    OriginalCapture {
        record_id: id(2),
        target_uri: URL.to_owned(),
        date: date("2026-11-20T06:00:00.123456Z"),
        payload_digest: Digest::sha256_of(BODY).expect("in memory").0,
    }
}

/// A warcinfo, a request with its response, and a revisit; each with the body that follows its head.
pub(crate) fn drafts() -> Vec<(RecordDraft, &'static [u8])> {
    let original = original();
    let first = Exchange {
        target_uri: URL,
        date: &original.date,
        ip_address: Some([192, 0, 2, 7].into()),
        protocols: &[],
    };
    let again_date = date("2026-11-21T06:00:00Z");
    let again = Exchange {
        date: &again_date,
        ..first
    };
    let head = ResponseHead {
        version: HttpVersion::Http11,
        status: 200,
        reason: "OK",
        fields: &fields(&[
            ("Content-Type", "text/csv; charset=utf-8"),
            ("Transfer-Encoding", "chunked"),
        ]),
        body_length: BODY.len() as u64,
    };
    let head = head.render().expect("a head");
    let asked = render_request_head(
        "GET",
        "/catalogue.csv",
        &fields(&[("Host", "data.example.org")]),
    );
    let info = warcinfo(
        &id(1),
        &original.date,
        "a.warc.gz",
        &[("software", "urldb"), ("format", "WARC/1.1")],
    );
    vec![
        (info.expect("valid"), b""),
        (
            first
                .request(&id(3), &id(2), asked.expect("a head"))
                .expect("valid"),
            b"",
        ),
        (
            first
                .response(&id(2), head, &original.payload_digest, None)
                .expect("valid"),
            BODY,
        ),
        (
            again
                .revisit_identical(&id(4), &original, Vec::new())
                .expect("valid"),
            b"",
        ),
    ]
}

/// Reads everything there is, up to the first fault.
pub(crate) fn read_all(bytes: &[u8]) -> (Vec<(Header, Vec<u8>)>, Option<ReadError>) {
    let mut records = Vec::new();
    let fault = read_into(bytes, &mut records).err();
    (records, fault)
}

fn read_into(bytes: &[u8], records: &mut Vec<(Header, Vec<u8>)>) -> Result<(), ReadError> {
    let mut reader = Reader::new(bytes)?;
    while let Some(mut record) = reader.next_record()? {
        let (header, mut block) = (record.header().clone(), Vec::new());
        record
            .read_to_end(&mut block)
            .map_err(|error| record.fault(error))?;
        record.finish()?;
        records.push((header, block));
    }
    Ok(())
}

/// A record of a version with named fields.
pub(crate) fn named(version: &str, n: usize) -> Vec<u8> {
    let block = "b".repeat(n * 7);
    format!(
        "WARC/{version}\r\nWARC-Type: resource\r\nWARC-Target-URI: http://example.org/{n}\r\n\
         WARC-Date: 2008-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:x:{n}>\r\n\
         Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    )
    .into_bytes()
}

/// A gzip member.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

/// After each fault, what comes next.
pub(crate) fn read_around(bytes: &[u8]) -> (Vec<String>, Vec<FindingCode>) {
    let mut reader = Reader::new(Cursor::new(bytes)).expect("readable");
    let (mut ids, mut faults) = (Vec::new(), Vec::new());
    loop {
        match next_id(&mut reader) {
            Ok(Some(id)) => ids.push(id),
            Ok(None) => return (ids, faults),
            Err(error) => {
                faults.push(error.kind.code());
                let gap = reader.skip_damage().expect("in memory").expect("damage");
                assert!(gap.length > 0);
            }
        }
    }
}

fn next_id<R: Read>(reader: &mut Reader<R>) -> Result<Option<String>, ReadError> {
    let Some(record) = reader.next_record()? else {
        return Ok(None);
    };
    let id = record
        .header()
        .get("WARC-Record-ID")
        .unwrap_or("?")
        .to_owned();
    record.finish()?;
    Ok(Some(id))
}

/// A line about a record at byte `n`.
pub(crate) fn line(key: &str, n: u64) -> CdxjLine {
    CdxjLine {
        key: key.to_owned(),
        timestamp: format!("{:014}", 20_261_120_060_000 + n),
        url: URL.to_owned(),
        mime: "text/csv".to_owned(),
        status: Some(200),
        digest: "sha256:00".to_owned(),
        extent: Extent {
            offset: n,
            length: 300,
        },
        filename: "a.warc.gz".to_owned(),
        request: None,
        vary: None,
        truncated: None,
    }
}

/// Splits a record into segments with blocks of at most `limit` bytes (at least one). `write` gets the
/// header of each segment, its block, and the length of the block; a record that fits is passed on
/// unchanged. `new_id` makes the ids of the continuations.
pub(crate) fn split_record<E: From<InvalidField>>(
    header: &Header,
    (mut block, block_length): (impl Read, u64),
    limit: u64,
    mut new_id: impl FnMut() -> RecordId,
    mut write: impl FnMut(&Header, &mut dyn Read, u64) -> Result<(), E>,
) -> Result<(), E> {
    let mut headers = SegmentHeaders::new(header.clone(), block_length, limit);
    while let Some((segment, length)) = headers.next_segment(&mut new_id)? {
        write(&segment, &mut (&mut block).take(length), length)?;
    }
    Ok(())
}
