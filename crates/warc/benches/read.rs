//! How fast an archive is read, verified and indexed: `cargo bench -p urldb-warc`.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Cursor;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use urldb_warc::index::index_lines_of;
use urldb_warc::verify::Verifier;
use urldb_warc::{Compression, Digest, DigestAlgorithm, Header, Reader, RecordType, Writer};

/// Responses of 1 to 40 KiB of something like text, with SHA-1 digests of block and payload.
fn archive() -> Vec<u8> {
    let mut chance = 7u64;
    let mut next = |below: u64| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (chance >> 33) % below
    };
    let mut writer = Writer::new(Vec::new(), Compression::Gzip);
    for n in 0..500 {
        let mut body = String::new();
        let length = 1024 + next(40 * 1024);
        while (body.len() as u64) < length {
            let (class, word) = (next(9), next(1 << 20));
            write!(body, "<p class={class}>{word:x} ").expect("in memory");
        }
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let block = format!("{head}{body}");
        let digest = |bytes: &str| {
            Digest::of(DigestAlgorithm::Sha1, bytes.as_bytes())
                .expect("in memory")
                .0
                .to_string()
        };
        let mut header = Header::new(RecordType::Response);
        for (name, value) in [
            (
                "WARC-Record-ID",
                format!("<urn:uuid:00000000-0000-4000-8000-{n:012}>"),
            ),
            ("WARC-Date", "2026-11-21T10:00:00Z".to_owned()),
            ("WARC-Target-URI", format!("https://data.example.org/{n}")),
            (
                "Content-Type",
                "application/http;msgtype=response".to_owned(),
            ),
            ("WARC-Payload-Digest", digest(&body)),
            ("WARC-Block-Digest", digest(&block)),
        ] {
            header.push(name, value).expect("valid");
        }
        writer
            .write_record(&header, Cursor::new(&block), block.len() as u64)
            .expect("in memory");
    }
    writer.get_ref().clone()
}

fn benches(criterion: &mut Criterion) {
    let bytes = archive();
    let dir = tempfile::tempdir().expect("a directory");
    let source = dir.path();
    let path = source.join("a.warc.gz");
    std::fs::write(&path, &bytes).expect("written");
    let mut group = criterion.benchmark_group("archive");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.bench_function("read", |bencher| {
        bencher.iter(|| {
            let mut reader = Reader::new(black_box(bytes.as_slice())).expect("readable");
            while let Some(record) = reader.next_record().expect("good") {
                record.finish().expect("good");
            }
        });
    });
    group.bench_function("verify", |bencher| {
        bencher.iter(|| {
            let mut report = |finding| panic!("{finding}");
            let mut verifier = Verifier::new(&source, &urldb_canon::surt, &mut report);
            verifier.file("a.warc.gz", &path);
            verifier.finish()
        });
    });
    group.bench_function("index", |bencher| {
        bencher.iter(|| index_lines_of(&path, &|url: &str| url.to_owned()).expect("good"));
    });
}

criterion_group!(group, benches);
criterion_main!(group);
