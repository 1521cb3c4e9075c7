//! Our index beside that of cdxj-indexer 1.5.0 with `--post-append`, for archives that other programs
//! wrote. Without that option: crates/warc, which knows no keys of requests.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use urldb_warc::CdxjLine;

use crate::sandbox::Sandbox;

/// The digest of no bytes. With `--post-append` the other program gives it for every record that states
/// none, since it has read the payload before; without, it gives the right one.
const OF_NOTHING: &str = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ";

/// A file whose only record is cut short, which the other program does not notice.
const DAMAGED: &str = "example-space-in-url.arc";

fn lines(text: &str) -> Vec<CdxjLine> {
    let lines = text.lines().map(|line| CdxjLine::parse(line).unwrap());
    lines.collect()
}

/// What `urldb archive index` makes of one file.
fn indexed(file: &Path, name: &str) -> Vec<CdxjLine> {
    let sandbox = Sandbox::new("");
    sandbox.write(&format!("archive/{name}"), fs::read(file).unwrap());
    let code = i32::from(name == DAMAGED);
    sandbox.exits(code, "archive index");
    lines(&sandbox.index())
}

/// What it should make of it, by the lines of the other program.
fn expected(folder: &Path, name: &str) -> Vec<CdxjLine> {
    let read = |kind| fs::read_to_string(folder.join(format!("{name}.{kind}.cdxj"))).unwrap();
    let plain = lines(&read("plain")).into_iter();
    let digests: BTreeMap<u64, String> = plain
        .map(|line| (line.extent.offset, line.digest))
        .collect();
    // What closes a record that is not compressed belongs to it (WARC/1.1 §4).
    let closing = match name.rsplit('.').next() {
        Some("gz") => 0,
        Some("arc") => 1,
        _ => 4,
    };
    let right = |mut line: CdxjLine| {
        line.extent.length += closing;
        if line.digest == OF_NOTHING {
            line.digest = digests[&line.extent.offset].clone();
        }
        line
    };
    let mut lines: Vec<CdxjLine> = lines(&read("post")).into_iter().map(right).collect();
    lines.sort_by_key(|line| line.render().unwrap());
    lines
}

#[test]
fn keys_with_requests_are_those_of_cdxj_indexer() {
    let samples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/warc-samples");
    if !samples.is_dir() {
        eprintln!("skipped: there is no {}", samples.display());
        return;
    }
    let folder = samples.join("expected-cdxj");
    let mut compared = vec![];
    for entry in fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(name) = name.strip_suffix(".post.cdxj") else {
            continue;
        };
        let ours = indexed(&samples.join(name), name);
        if name == DAMAGED {
            assert_eq!(ours, [] as [CdxjLine; 0]);
            continue;
        }
        assert_eq!(ours, expected(&folder, name), "{name}");
        compared.extend(ours);
    }
    assert_eq!(compared.len(), 18, "{compared:?}");
    let asked = compared.iter().filter_map(|line| line.request.as_ref());
    let bodies: Vec<&str> = asked.map(|asked| asked.body.as_str()).collect();
    assert_eq!(bodies, ["A=1&B=[]&C=3", "data=^", "foo=bar&test=abc"]);
}
