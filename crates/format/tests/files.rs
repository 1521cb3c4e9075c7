//! Files on disk: atomic writes, and the listing of a database.
#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use urldb_format::{
    Database, DomainFile, Error, Metadata, Record, remove_stray_files, write_atomically,
};

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_write_keeps_mode_and_symlink_and_leaves_nothing_behind() {
    let directory = tempfile::tempdir().unwrap();
    let (target, link) = (
        directory.path().join("target"),
        directory.path().join("link"),
    );
    fs::write(&target, "old").unwrap();
    fs::set_permissions(&target, Permissions::from_mode(0o640)).unwrap();
    symlink("target", &link).unwrap();
    write_atomically(&link, b"new").unwrap();
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert_eq!(mode(&target), 0o640);
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn a_new_file_gets_what_the_umask_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, plain) = (
        directory.path().join("ours"),
        directory.path().join("plain"),
    );
    write_atomically(&ours, b"x").unwrap();
    fs::write(&plain, b"x").unwrap();
    assert_eq!(mode(&ours), mode(&plain) & 0o644);
}

#[test]
fn a_failed_write_leaves_old_bytes_and_no_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    // A directory cannot be replaced by a file, so the rename fails.
    let path = directory.path().join("taken");
    fs::create_dir(&path).unwrap();
    assert!(write_atomically(&path, b"x").is_err());
    assert!(write_atomically(&directory.path().join("missing/file"), b"x").is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn stray_files_are_removed_and_others_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let stray = directory.path().join(".urldb-tmp-abc123");
    fs::write(&stray, "").unwrap();
    fs::write(directory.path().join("example.com.yaml"), "---\n").unwrap();
    assert_eq!(remove_stray_files(directory.path()).unwrap(), [stray]);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

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
    let error = Database::open(inside.path()).unwrap_err().to_string();
    assert!(
        error.contains("b.org.yaml") && error.contains("outside of the database"),
        "{error}"
    );
}
