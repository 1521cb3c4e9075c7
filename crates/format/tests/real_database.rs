//! The database of the original project: read without findings, and a fixpoint of formatting.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::path::PathBuf;

use urldb_format::{Database, DomainFile, ParsedFile, lint};

/// The files of the database, or none where it is not at hand.
fn files() -> Vec<PathBuf> {
    let directory =
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/wwt-url-database");
    if !directory.exists() {
        eprintln!("skipped: {} is not here", directory.display());
        return Vec::new();
    }
    Database::open(&directory).unwrap().files().to_vec()
}

#[test]
fn is_without_findings_and_canonical() {
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        let parsed = DomainFile::read(&path).unwrap();
        assert_eq!(lint(&parsed, &[]), [], "{}", path.display());
        assert_eq!(parsed.file.text(), text);
        assert_eq!(parsed.file.canonical().unwrap(), text);
    }
}

#[test]
fn has_the_records_that_were_counted() {
    let files = files();
    if files.is_empty() {
        return;
    }
    let parsed: Vec<ParsedFile> = files
        .iter()
        .map(|path| DomainFile::read(path).unwrap())
        .collect();
    let records = || parsed.iter().flat_map(|parsed| parsed.file.records());
    assert_eq!((parsed.len(), records().count()), (8, 537));
    assert_eq!(
        records().filter(|entry| entry.record().is_static()).count(),
        348
    );
    assert_eq!(
        records()
            .filter(|entry| entry.record().has_category("coreapp"))
            .count(),
        308
    );
}

/// A small generator of numbers that are always the same.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }
}

/// The keys of a document with the lines that belong to each.
fn keys(document: &str) -> Vec<String> {
    let mut keys: Vec<String> = Vec::new();
    for line in document.split_inclusive('\n') {
        match keys.last_mut() {
            Some(key) if line.starts_with('-') => key.push_str(line),
            _ => keys.push(line.to_owned()),
        }
    }
    keys
}

#[test]
fn formatting_undoes_a_shuffle_of_records_and_keys() {
    let mut numbers = Numbers(20);
    for path in files() {
        let text = fs::read_to_string(&path).unwrap();
        let mut documents: Vec<&str> = text.split("---\n").skip(1).collect();
        for _ in 0..5 {
            numbers.shuffle(&mut documents[1..]);
            let mut shuffled = String::new();
            for document in &documents {
                let mut keys = keys(document);
                numbers.shuffle(&mut keys);
                shuffled.push_str("---\n");
                shuffled.push_str(&keys.concat());
            }
            let parsed = DomainFile::parse(&path, shuffled.as_bytes());
            assert_eq!(parsed.findings, []);
            assert_eq!(parsed.file.canonical().unwrap(), text, "{}", path.display());
        }
    }
}
