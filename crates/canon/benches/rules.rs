//! Time per URL of site rules: `cargo bench -p urldb-canon --bench rules`.
//!
//! A million URLs are combined from hosts, paths and queries; each iteration resolves the next thousand.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::hint::black_box;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use urldb_canon::rules::{DomainScript, SiteRules, WebsiteScript};

const DOMAIN: &str = r#"
archive { required old = website("(?:old|archive)\.", "archive"); };
main {
  optional version = flag("([0-9]+\.[0-9]+)\.", "1.0");
  optional language = flag("(en|fr|de|es)\.");
  optional www = website("w{1,4}\.", "www");
};
"#;

const WEBSITE: &str = r#"
admin { port = "8080"; };
blog { required site = website("(?:weblog|blog)/", "blog"); };
main {
  path optional canonalize::language = flag("(en|fr|de|es)/");
  query optional language = flag("en|fr|de|es");
  query optional sort = flag("[a-z]+");
};
"#;

const HOSTS: [&str; 10] = [
    "",
    "www.",
    "en.",
    "fr.www.",
    "3.5.",
    "10.12.de.w.",
    "old.",
    "archive.",
    "ww.",
    "unknown.",
];
const FOLDERS: [&str; 10] = [
    "",
    "en/",
    "fr/",
    "blog/",
    "weblog/",
    "data/",
    "EN/",
    "releases/2024/",
    "a/b/c/d/e/f/",
    "de/",
];
const QUERIES: [&str; 10] = [
    "",
    "?language=en",
    "?page=1",
    "?sort=name&page=2",
    "?a=1&language=fr&b=2",
    "?format=raw",
    "?q=%C3%A9t%C3%A9",
    "?utm_source=x&utm_medium=y",
    "?sort=Name",
    "?x",
];

fn url(number: usize) -> String {
    let of = |list: [&'static str; 10], unit: usize| list[number / unit % 10];
    format!(
        "http://{}example.org/{}catalogue-{number}.fits{}",
        of(HOSTS, 1),
        of(FOLDERS, 10),
        of(QUERIES, 100)
    )
}

fn rules() -> SiteRules {
    let mut rules = SiteRules::new();
    let script = DomainScript::compile(DOMAIN).script.expect("good");
    rules.insert_domain("example.org", script);
    for website in ["www.example.org", "archive.example.org"] {
        let script = WebsiteScript::compile(WEBSITE).script.expect("good");
        rules.insert_website(website, script);
    }
    rules
}

fn benches(criterion: &mut Criterion) {
    let urls: Vec<String> = (0..1_000_000).map(url).collect();
    let mut group = criterion.benchmark_group("a thousand of a million URLs");
    group.throughput(Throughput::Elements(1000));
    for (name, rules) in [("no rules", SiteRules::new()), ("rules", rules())] {
        let mut thousands = urls.chunks(1000).cycle();
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || thousands.next().unwrap_or_default(),
                |urls| {
                    let admitted = |url: &&String| rules.resolve(black_box(url)).is_ok();
                    urls.iter().filter(admitted).count()
                },
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
    criterion.bench_function("compile both scripts", |bencher| bencher.iter(rules));
}

criterion_group!(group, benches);
criterion_main!(group);
