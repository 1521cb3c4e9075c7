//! Our lines beside those of cdxj-indexer 1.5.0, for archives that other programs wrote.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use urldb_warc::CdxjLine;
use urldb_warc::index::index_lines_of;

/// Files whose lines after the first fault are missing, and the fault. The other program does not check
/// how a record ends, nor that a length is a number.
const DAMAGED: &[(&str, &str)] = &[
    ("bad.arc", "its Content-Length is missing or not a number"),
    ("example-space-in-url.arc", "it ends too soon"),
    ("example-trunc.warc", "it is not closed by two line ends"),
];

/// How many bytes close a record in a file that is not compressed. They belong to it (WARC/1.1 §4),
/// which is why our lengths are longer than the other program's there; with gzip both count the member.
fn closing(name: &str) -> u64 {
    match name.rsplit('.').next() {
        Some("gz") => 0,
        Some("arc") => 1,
        _ => 4,
    }
}

/// Takes the reason of a truncation out of a line: cdxj-indexer writes none. Three samples have one.
fn without_truncation(name: &str) -> impl Fn(CdxjLine) -> CdxjLine {
    let is_truncated = [
        "20130729-heritrix-revisit-with-http-headers.warc.gz",
        "20141124-heritrix-server-not-modified.warc.gz",
        "20141129-heritrix-revisit-with-http-headers-and-new-warc-headers.warc.gz",
    ]
    .contains(&name);
    move |line| {
        let expected = is_truncated.then_some("length");
        assert_eq!(line.truncated.as_deref(), expected, "{line:?}");
        CdxjLine {
            truncated: None,
            ..line
        }
    }
}

#[test]
fn lines_are_those_of_cdxj_indexer() {
    let samples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/warc-samples");
    if !samples.is_dir() {
        eprintln!("skipped: there is no {}", samples.display());
        return;
    }
    let mut compared = BTreeSet::new();
    for entry in fs::read_dir(samples.join("expected-cdxj")).expect("a directory") {
        let path = entry.expect("an entry").path();
        let file = path.file_name().and_then(|name| name.to_str());
        // The others have keys with requests in them: tests/cli/archive_expected.rs of the program.
        let Some(name) = file.and_then(|file| file.strip_suffix(".plain.cdxj")) else {
            continue;
        };
        let fault = DAMAGED.iter().find(|(file, _)| *file == name);
        let ours: Vec<CdxjLine> = match (
            index_lines_of(&samples.join(name), &urldb_canon::surt),
            fault,
        ) {
            (Ok(lines), None) => lines.into_iter().map(without_truncation(name)).collect(),
            (Err(error), Some((_, fault))) => {
                assert!(error.to_string().contains(fault), "{name}: {error}");
                continue;
            }
            (result, _) => panic!("{name}: {result:?}"),
        };
        let expected = fs::read_to_string(&path).expect("there");
        let expected: Vec<CdxjLine> = expected
            .lines()
            .map(|line| CdxjLine::parse(line).expect(line))
            .map(|mut line| {
                line.extent.length += closing(name);
                line
            })
            .collect();
        assert_eq!(ours, expected, "{name}");
        compared.insert(name.to_owned());
    }
    assert_eq!(compared.len(), 18, "{compared:?}");
}
