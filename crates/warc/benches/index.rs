//! What writing, indexing and looking up cost: `cargo bench -p urldb-warc`.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use urldb_warc::draft::Exchange;
use urldb_warc::index::{CdxjIndex, index_lines_of, merge_into_index};
use urldb_warc::{CdxjLine, Compression, Digest, Extent, RecordDraft, RecordId, WarcDate, Writer};

const RECORDS: u32 = 1000;
const LINES: u32 = 100_000;

fn url(n: u32) -> String {
    format!("https://data.example.org/releases/2026/table-{n:06}.csv")
}

/// Numbers as text, 4 KiB, different in each record.
fn body(n: u32) -> Vec<u8> {
    let rows = (0..)
        .map(|row| format!("{n},{row},{}\n", u64::from(n + row).pow(3)))
        .flat_map(String::into_bytes);
    rows.take(4096).collect()
}

fn responses(date: &WarcDate) -> Vec<(RecordDraft, Vec<u8>)> {
    let response = |n: u32| {
        let (url, body) = (url(n), body(n));
        let exchange = Exchange {
            target_uri: &url,
            date,
            ip_address: None,
            protocols: &[],
        };
        let mut id = [0; 16];
        id[..4].copy_from_slice(&n.to_be_bytes());
        let head = b"HTTP/1.1 200 OK\r\ncontent-type: text/csv\r\ncontent-length: 4096\r\n\r\n";
        let digest = Digest::sha256_of(body.as_slice()).expect("in memory").0;
        let draft = exchange.response(&RecordId::from_random(id), head.to_vec(), &digest, None);
        (draft.expect("valid"), body)
    };
    (0..RECORDS).map(response).collect()
}

fn write(records: &[(RecordDraft, Vec<u8>)]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), Compression::Gzip);
    for (draft, body) in records {
        let length = body.len() as u64;
        writer
            .write_draft(draft, body.as_slice(), length)
            .expect("written");
    }
    writer.get_ref().clone()
}

fn line(n: u32) -> CdxjLine {
    CdxjLine {
        key: urldb_canon::surt(&url(n)),
        timestamp: "20261120060000".to_owned(),
        url: url(n),
        mime: "text/csv".to_owned(),
        status: Some(200),
        digest: "sha256:00".to_owned(),
        extent: Extent {
            offset: u64::from(n),
            length: 300,
        },
        filename: "a.warc.gz".to_owned(),
        request: None,
        vary: None,
        truncated: None,
    }
}

fn files(criterion: &mut Criterion, dir: &Path) {
    let date = "2026-11-20T06:00:00Z".parse().expect("a date");
    let records = responses(&date);
    let path = dir.join("a.warc.gz");
    std::fs::write(&path, write(&records)).expect("written");
    let mut group = criterion.benchmark_group("1000 responses of 4 KiB");
    group.throughput(Throughput::Elements(u64::from(RECORDS)));
    group.bench_function("write", |bencher| {
        bencher.iter(|| write(black_box(&records)));
    });
    group.bench_function("index", |bencher| {
        bencher.iter(|| index_lines_of(black_box(&path), &urldb_canon::surt).expect("good"));
    });
    group.finish();
}

fn index(criterion: &mut Criterion, dir: &Path) {
    let lines: Vec<CdxjLine> = (0..LINES).map(line).collect();
    merge_into_index(dir, &lines).expect("merged");
    let keys: Vec<String> = (0..LINES)
        .step_by(997)
        .map(|n| urldb_canon::surt(&url(n)))
        .collect();
    let mut opened = CdxjIndex::open(&dir).expect("an index");
    let mut keys = keys.iter().cycle();
    let mut group = criterion.benchmark_group("an index of 100,000 lines");
    group.bench_function("look a URL up", |bencher| {
        bencher.iter(|| {
            let key = keys.next().expect("endless");
            opened.captures(key).expect("looked up").count()
        });
    });
    group.sample_size(10);
    group.bench_function("add a line", |bencher| {
        bencher.iter(|| merge_into_index(black_box(dir), &lines[..1]).expect("merged"));
    });
    group.finish();
}

fn benches(criterion: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a directory");
    files(criterion, dir.path());
    index(criterion, dir.path());
}

criterion_group!(group, benches);
criterion_main!(group);
