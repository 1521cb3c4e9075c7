//! Thousands of generated documents: the readers find what an independent program in Python finds.

use std::fs;
use std::path::Path;
use std::process::Command;

use urldb_interchange::documents::{self, DocumentOptions, kind_of};

use crate::common::Taken;

#[test]
fn readers_agree_with_another_program() {
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lists/documents_corpus.py");
    let output = Command::new("python3")
        .arg(script)
        .arg(folder.path())
        .arg("3000")
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: there is no python3");
        return;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let expected = String::from_utf8(output.stdout).unwrap();
    let mut expected: Vec<String> = expected.lines().map(str::to_owned).collect();
    assert!(expected.len() > 20_000, "{}", expected.len());
    let mut found = vec![];
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let options = DocumentOptions {
            base: None,
            path: &name,
            is_local: &|_| false,
        };
        let bytes = fs::read(&path).unwrap();
        let kind = kind_of(&path).unwrap();
        let file = name.as_str().into();
        let taken = Taken::of(|sink| documents::read(&bytes[..], kind, &file, &options, sink));
        found.extend(taken.items.iter().map(|item| {
            let line = item.location.to_string();
            format!("{} {}", line.replace(':', " "), item.url().unwrap())
        }));
    }
    found.sort();
    expected.sort();
    let missing = expected.iter().find(|it| found.binary_search(it).is_err());
    let more = found.iter().find(|it| expected.binary_search(it).is_err());
    assert_eq!((missing, more), (None, None));
    assert_eq!(found, expected);
}
