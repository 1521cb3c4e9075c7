//! How fast a domain file is checked and read: `cargo bench -p urldb-format`.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use urldb_format::{DomainFile, DomainReader};

/// A canonical domain file of static records.
fn domain_file(records: usize) -> String {
    let digest = "fd3589aa8a72beb48939de884e3ee5324b510c145003f375c77cd4ecb1a79672";
    let mut text = "---\n".to_owned();
    for number in 0..records {
        write!(
            text,
            "---\n_path: /data/table-{number:07}.csv\ncontent-length: 15\ncontent-sha256: {digest}\ncontent-type: text/csv\n"
        )
        .expect("in memory");
    }
    text
}

fn bench(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("example.org.yaml");
    let plain = domain_file(20_000);
    // One record in two hundred is not plain.
    let mixed = plain.replace("00.csv\n", "00.csv\ncategories:\n- 'yes'\n");
    let categories = plain.replace(
        "content-length",
        "categories:\n- data\n- published\ncontent-length",
    );
    for (name, text) in [
        ("plain", plain),
        ("mixed", mixed),
        ("categories", categories),
    ] {
        fs::write(&path, &text).expect("written");
        let mut group = c.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.sample_size(20);
        group.bench_function("check", |b| {
            b.iter(|| black_box(DomainFile::is_canonical(&path).expect("readable")));
        });
        group.bench_function("documents", |b| {
            b.iter(|| {
                let mut reader = DomainReader::open(&path).expect("readable");
                let mut records = 0;
                while let Some(document) = reader.next().expect("readable") {
                    records += usize::from(document.to_entry().is_some());
                }
                records
            });
        });
        group.bench_function("whole", |b| {
            b.iter(|| black_box(DomainFile::read(&path).expect("readable")));
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
