//! Files on disk, and the listing of a database.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::os::unix::fs::symlink;

use urldb_format::{Database, DomainFile, Error, Metadata, Record, lint_misnamed};
use urldb_text::Code;

#[test]
fn a_file_is_created_written_and_listed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("example.com.yaml");
    let mut file = DomainFile::create(
        &path,
        Metadata {
            https: true,
            ..Metadata::default()
        },
    )
    .unwrap();
    file.insert(Record::new("/")).unwrap();
    file.write().unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "---\nhttps: true\n---\n_path: /\n"
    );
    assert!(matches!(
        DomainFile::create(&path, Metadata::default()),
        Err(Error::FileExists { .. })
    ));
    fs::create_dir(directory.path().join("rules")).unwrap();
    fs::create_dir(directory.path().join("folder.yaml")).unwrap();
    fs::write(directory.path().join("README.md"), "").unwrap();
    fs::write(directory.path().join("a.org.yaml"), "---\n").unwrap();
    let database = Database::open(directory.path()).unwrap();
    assert_eq!(
        database.files(),
        [directory.path().join("a.org.yaml"), path]
    );
    assert_eq!(
        database
            .read()
            .filter_map(Result::ok)
            .map(|parsed| parsed.file.records().count())
            .sum::<usize>(),
        1
    );
    assert_eq!(database.path_of("../evil"), None);
}

#[test]
fn a_symlink_out_of_the_database_is_refused() {
    let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = outside.path().join("b.org.yaml");
    fs::write(&target, "---\n").unwrap();
    fs::write(inside.path().join("a.org.yaml"), "---\n").unwrap();
    symlink("a.org.yaml", inside.path().join("alias.org.yaml")).unwrap();
    assert_eq!(Database::open(inside.path()).unwrap().files().len(), 2);
    symlink(&target, inside.path().join("b.org.yaml")).unwrap();
    let database = Database::open(inside.path()).unwrap();
    assert_eq!(database.files().len(), 3, "the other files can be read");
    let link = inside.path().join("b.org.yaml");
    let error = DomainFile::read(&link).unwrap_err().to_string();
    assert!(
        error.contains("b.org.yaml") && error.contains("is a link out of the database"),
        "{error}"
    );
    let parsed = DomainFile::read_or_report(&link);
    let codes: Vec<_> = parsed.findings.iter().map(|finding| finding.code).collect();
    assert_eq!(codes, [Code::UnreadableFile]);
    assert!(parsed.file.canonical().is_err());
    symlink("nowhere", inside.path().join("c.org.yaml")).unwrap();
    fs::write(inside.path().join("d.org.yml"), "---\n").unwrap();
    let database = Database::open(inside.path()).unwrap();
    assert_eq!(database.read().filter(Result::is_err).count(), 2);
    assert_eq!(database.misnamed(), [inside.path().join("d.org.yml")]);
    let findings = lint_misnamed(&database.misnamed()[0]);
    assert_eq!(findings[0].help.as_deref(), Some("name it d.org.yaml"));
}
