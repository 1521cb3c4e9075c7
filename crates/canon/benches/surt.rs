//! Time per URL: `cargo bench -p urldb-canon`.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use urldb_canon::{identify, surt};

const URLS: [&str; 4] = [
    "http://example.org/",
    "https://www.data.example.org/releases/2024/catalogue-07.fits?format=raw&page=3",
    "http://example.org/a%20b/%C3%A9?z=1&a=2&PHPSESSID=0123456789abcdef0123456789abcdef",
    "http://b\u{fc}cher.example/stra\u{df}e/../index.html#top",
];

fn benches(criterion: &mut Criterion) {
    criterion.bench_function("identify, four URLs", |bencher| {
        bencher.iter(|| URLS.map(|url| identify(black_box(url)).is_ok()));
    });
    criterion.bench_function("surt, four URLs", |bencher| {
        bencher.iter(|| URLS.map(|url| surt(black_box(url))));
    });
}

criterion_group!(group, benches);
criterion_main!(group);
