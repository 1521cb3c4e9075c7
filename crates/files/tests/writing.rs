//! Files are replaced in one step, and stay what they were.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use urldb_files::{
    PendingWrite, remove_stray_files, replace_unsynced, sync_directory, unsynced_folder,
    write_atomically, write_atomically_with, write_new_atomically_with,
};

type WriteBytes = fn(&Path, &[u8]) -> std::io::Result<()>;

fn mode(path: &Path) -> u32 {
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
    for (write, text) in [
        (write_atomically as WriteBytes, "new"),
        (replace_unsynced, "newer"),
    ] {
        write(&link, text.as_bytes()).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), text);
        assert_eq!(mode(&target), 0o640);
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_new_file_is_like_any_other() {
    let directory = tempfile::tempdir().unwrap();
    let (ours, plain) = (
        directory.path().join("ours"),
        directory.path().join("plain"),
    );
    write_atomically(&ours, b"x").unwrap();
    fs::write(&plain, b"x").unwrap();
    assert_eq!(mode(&ours), mode(&plain));
}

#[test]
fn a_new_file_replaces_none() {
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("new"), directory.path().join("link"));
    let write = |path: &Path| write_new_atomically_with(path, |file| file.write_all(b"new"));
    write(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    // A link that leads nowhere is something too.
    symlink("nowhere", &link).unwrap();
    for taken in [&path, &link] {
        assert_eq!(write(taken).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
    // A file that appears while the new one is written is kept too.
    let late = directory.path().join("late");
    let error = write_new_atomically_with(&late, |_| fs::write(&late, b"first")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    assert_eq!(fs::read(&late).unwrap(), b"first");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3);
}

#[test]
fn a_failed_write_leaves_old_bytes_and_no_temporary_file() {
    let directory = tempfile::tempdir().unwrap();
    // A directory is not replaced by a file.
    let path = directory.path().join("taken");
    fs::create_dir(&path).unwrap();
    assert!(write_atomically(&path, b"x").is_err());
    let missing = directory.path().join("missing");
    let error = write_atomically(&missing.join("file"), b"x").unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("there is no folder {}", missing.display())
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn only_old_stray_files_are_removed_where_several_processes_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path(".urldb-tmp-folder")).unwrap();
    fs::write(path(".urldb-tmp-folder/copy"), "x").unwrap();
    for name in [".urldb-tmp-old", ".urldb-tmp-new", "other"] {
        fs::write(path(name), "x").unwrap();
    }
    let day = Duration::from_hours(24);
    for name in [".urldb-tmp-folder", ".urldb-tmp-old", "other"] {
        let file = File::open(path(name)).unwrap();
        file.set_modified(SystemTime::now() - day).unwrap();
    }
    urldb_files::remove_old_stray_files(folder.path(), day).unwrap();
    let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
    names.sort_by_key(fs::DirEntry::file_name);
    let names: Vec<_> = names.iter().map(fs::DirEntry::file_name).collect();
    assert_eq!(names, [".urldb-tmp-new", "other"]);
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
fn a_link_that_leads_nowhere_is_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("link");
    symlink("missing", &link).unwrap();
    let error = write_atomically(&link, b"x").unwrap_err().to_string();
    assert!(
        error.contains("a symbolic link that cannot be followed"),
        "{error}"
    );
    assert!(link.symlink_metadata().unwrap().is_symlink());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn what_is_written_meanwhile_is_as_secret_as_what_it_replaces() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("secret");
    fs::write(&path, "old").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    write_atomically_with(&path, |file| {
        assert_eq!(file.metadata()?.permissions().mode() & 0o777, 0o600);
        file.write_all(b"new")
    })
    .unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[test]
fn of_several_files_none_changes_before_all_are_on_disk() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("one");
    fs::write(&path, "old").unwrap();
    let staged = PendingWrite::new(&path, b"new").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"old");
    drop(staged);
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    PendingWrite::new(&path, b"new").unwrap().commit().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
}

#[cfg(target_os = "linux")]
#[test]
fn a_folder_whose_file_system_has_no_fsync_is_passed_over_and_remembered() {
    let directory = tempfile::tempdir().unwrap();
    sync_directory(directory.path()).unwrap();
    assert!(unsynced_folder().is_none());
    // The kernel answers EINVAL for folders of such file systems.
    let folder = Path::new("/proc/self");
    assert_eq!(
        File::open(folder).unwrap().sync_all().unwrap_err().kind(),
        ErrorKind::InvalidInput
    );
    sync_directory(folder).unwrap();
    assert_eq!(unsynced_folder().unwrap().path, folder);
    let missing = sync_directory(&directory.path().join("none")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}
