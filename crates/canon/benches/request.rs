//! Time per request: `cargo bench -p urldb-canon --bench request`.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use urldb_canon::{Compat, Request};

const URL: &str = "https://data.example.org/api/search?page=3";

const REQUESTS: [(&str, &str, &str); 4] = [
    (
        "JSON",
        "application/json",
        r#"{"query": {"name": "m51", "bands": ["u", "g", 35.7, true]}, "limit": 100, "name": null}"#,
    ),
    (
        "urlencoded form",
        "application/x-www-form-urlencoded",
        "name=m51&bands=u%2Cg&limit=100&note=a+b+%C3%A9",
    ),
    (
        "multipart form",
        "multipart/form-data; boundary=X",
        "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1 2\r\n--X--\r\n",
    ),
    (
        "binary",
        "application/octet-stream",
        "0123456789012345678901234567890123456789",
    ),
];

fn benches(criterion: &mut Criterion) {
    for (name, content_type, body) in REQUESTS {
        for compat in [Compat::Spec, Compat::Pywb] {
            let request = Request {
                method: "POST",
                content_type,
                body: body.as_bytes(),
            };
            criterion.bench_function(&format!("{name}, {compat:?}"), |bencher| {
                bencher.iter(|| black_box(request).append_to(black_box(URL), compat).len());
            });
        }
    }
}

criterion_group!(group, benches);
criterion_main!(group);
