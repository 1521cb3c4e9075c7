//! No file of a root is outside of its boundary.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;

use urldb_files::{Kind, Limit, Root};

const LIMIT: Limit = Limit::kib(1);

#[test]
fn a_link_out_of_the_boundary_is_neither_read_nor_written_nor_removed() {
    let top = tempfile::tempdir().unwrap();
    let (inside, outside) = (top.path().join("in"), top.path().join("out"));
    for folder in [&inside, &outside] {
        fs::create_dir_all(folder.join("a")).unwrap();
        fs::write(folder.join("a/file"), "text").unwrap();
    }
    symlink(&outside, inside.join("folder")).unwrap();
    symlink(outside.join("a/file"), inside.join("a/link")).unwrap();
    symlink("../../out/a", inside.join("a/up")).unwrap();
    symlink("absent", inside.join("a/nothing")).unwrap();
    symlink("file", inside.join("a/good")).unwrap();
    let root = Root::new(&inside, "the repository");
    let said = |link: &str, what: &str| {
        format!("{link} is a link out of the repository: replace it by a {what}")
    };
    for (path, message) in [
        ("folder/a/file", said("folder", "folder")),
        ("folder/new/file", said("folder", "folder")),
        ("a/link", said("a/link", "file")),
        ("a/up/file", said("a/up", "folder")),
        ("a/nothing", said("a/nothing", "file")),
        (
            "../out/a/file",
            "../out/a/file is no path in the repository".to_owned(),
        ),
        (
            "a/../../out/a/file",
            "a/../../out/a/file is no path in the repository".to_owned(),
        ),
        (
            "/etc/passwd",
            "/etc/passwd is no path in the repository".to_owned(),
        ),
    ] {
        let file = root.file(path);
        let errors = [
            file.read(LIMIT).unwrap_err(),
            file.replace(b"x").unwrap_err(),
            file.replace_unsynced(b"x").unwrap_err(),
            file.open_to_append().unwrap_err(),
            file.create_new().unwrap_err(),
            file.remove().unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.to_string(), message, "{path}");
        }
        assert_eq!(file.kind(), None, "{path}");
    }
    for folder in ["folder", "folder/a", "a/up", "../out", "/tmp"] {
        let folder = root.folder(folder);
        assert!(folder.check().is_err() && !folder.is_folder());
        assert!(folder.files().is_err() && folder.make().is_err());
        assert!(folder.remove_stray_files().is_err() && folder.unnamed_file().is_err());
        folder.remove_empty(2);
    }
    assert_eq!(fs::read(outside.join("a/file")).unwrap(), b"text");
    assert_eq!(root.file("a/good").read(LIMIT).unwrap(), b"text");
    root.folder("a").file("new/deep").replace(b"1").unwrap();
    assert_eq!(root.file("a/new").kind(), Some(Kind::Folder));
    assert!(root.file("a/new/deep").remove().unwrap());
    root.folder("a/new").remove_empty(5);
    assert_eq!(root.file("a/new").kind(), None);
    assert!(root.file("a/file").is_file());
    assert!(!root.file("a/absent").remove().unwrap());
    assert_eq!(root.folder("absent").files().unwrap(), []);
}

#[test]
fn a_file_is_read_up_to_its_limit_and_no_further() {
    let folder = tempfile::tempdir().unwrap();
    let file = Root::new(folder.path(), "the folder").file("file");
    for (length, is_read) in [(1023, true), (1024, true), (1025, false)] {
        file.replace(&vec![b'x'; length]).unwrap();
        for read in [file.read(LIMIT), urldb_files::read(&file.path(), LIMIT)] {
            assert_eq!(read.is_ok(), is_read);
            let Err(error) = read else { continue };
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            let said = "it has 1025 bytes, and urldb reads at most 1 KiB (1024 bytes)";
            assert_eq!(error.to_string(), said);
        }
        assert_eq!(file.open_within(LIMIT).is_ok(), is_read);
    }
}
