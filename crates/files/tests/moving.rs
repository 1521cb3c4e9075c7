//! Files and folders are moved, linked and made within their boundary.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::symlink;

use urldb_files::{Root, RootFile, temporary_folder_in};

/// A root with the file `one`, the links `inner` to it, `out` to a file elsewhere and `away` to a folder
/// elsewhere.
fn root() -> (tempfile::TempDir, Root) {
    let top = tempfile::tempdir().unwrap();
    let (inside, outside) = (top.path().join("inside"), top.path().join("outside"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(inside.join("one"), "1").unwrap();
    fs::write(outside.join("secret"), "2").unwrap();
    symlink("one", inside.join("inner")).unwrap();
    symlink(outside.join("secret"), inside.join("out")).unwrap();
    symlink(&outside, inside.join("away")).unwrap();
    (top, Root::new(inside, "the root"))
}

/// What is tried with a file.
type Work<'a> = &'a dyn Fn(&RootFile) -> io::Result<()>;

fn refusal<T>(done: io::Result<T>) -> String {
    done.err().expect("refused").to_string()
}

#[test]
fn nothing_is_moved_linked_or_opened_across_the_boundary() {
    let (top, root) = root();
    let (one, out) = (root.file("one"), root.file("out"));
    let work: [Work<'_>; 7] = [
        &|file| file.metadata().map(drop),
        &|file| file.open_to_write().map(drop),
        &|file| file.rename(&root.file("new")),
        &|file| one.rename(file),
        &|file| file.hard_link(&root.file("new")),
        &|file| one.hard_link(file),
        &|file| file.write_new_with(|output| output.write_all(b"3")),
    ];
    for work in work {
        let file = "out is a link out of the root: replace it by a file";
        assert_eq!(refusal(work(&out)), file);
        let folder = "away is a link out of the root: replace it by a folder";
        assert_eq!(refusal(work(&root.file("away/secret"))), folder);
        let above = "../outside/secret is no path in the root";
        assert_eq!(refusal(work(&root.file("../outside/secret"))), above);
    }
    let (away, folder) = (root.folder("away"), root.folder("folder"));
    folder.make().unwrap();
    for (from, to) in [(&away, &folder), (&folder, &away)] {
        assert!(refusal(from.rename(to)).starts_with("away is a link out of the root"));
    }
    assert_eq!(fs::read(root.path().join("one")).unwrap(), b"1");
    let outside = top.path().join("outside");
    assert_eq!(fs::read(outside.join("secret")).unwrap(), b"2");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
}

#[test]
fn files_and_folders_get_other_paths() {
    let (_top, root) = root();
    let second = root.file("folder/second");
    // Behind a link, the file gets the second path, and not the link.
    root.file("inner").hard_link(&second).unwrap();
    assert!(!second.path().is_symlink());
    let error = root.file("one").hard_link(&second).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    second.open_to_write().unwrap().write_all(b"10").unwrap();
    assert_eq!(root.file("one").metadata().unwrap().len(), 2);
    root.file("one").rename(&root.file("new/third")).unwrap();
    assert!(!root.file("one").is_file());
    root.folder("new").rename(&root.folder("newer")).unwrap();
    assert_eq!(fs::read(root.path().join("newer/third")).unwrap(), b"10");
    let missing = root.file("absent").open_to_write().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
    let draft = temporary_folder_in(root.path()).unwrap();
    assert!(draft.path().starts_with(root.path()));
    let absent = temporary_folder_in(&root.path().join("absent")).unwrap_err();
    assert!(absent.to_string().starts_with("there is no folder "));
}
