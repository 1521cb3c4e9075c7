//! One owner at a time, and none left behind.

use std::path::Path;
use std::time::Duration;

use urldb::schedule::{LockError, RepositoryLock};

use crate::child::{Other, argument};

#[test]
fn the_second_is_told_who_the_first_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let first = RepositoryLock::acquire(&path).unwrap();
    let Err(refused) = RepositoryLock::acquire(&path) else {
        panic!("two owners");
    };
    let LockError::Taken { holder, .. } = &refused else {
        panic!("{refused}");
    };
    #[cfg(unix)]
    assert_eq!(holder.unwrap().pid, std::process::id());
    let _ = holder;
    assert!(
        refused.to_string().contains("owns this repository"),
        "{refused}"
    );
    drop(first);
    RepositoryLock::acquire(&path).unwrap();
}

#[test]
fn a_stale_file_is_no_obstacle() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    std::fs::write(
        &path,
        "1 2020-01-01T00:00:00Z\nand much more than fits a line",
    )
    .unwrap();
    let _owner = RepositoryLock::acquire(&path).unwrap();
    #[cfg(unix)]
    {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.starts_with(&format!("{} ", std::process::id())),
            "{text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    }
}

#[test]
fn without_a_folder_the_message_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing").join("lock");
    let Err(LockError::Io { path: named, .. }) = RepositoryLock::acquire(&path) else {
        panic!("locked a file in a folder that is not there");
    };
    assert_eq!(named, path);
}

#[test]
fn who_is_killed_owns_nothing() {
    if let Some(path) = argument() {
        let _owner = RepositoryLock::acquire(Path::new(&path)).unwrap();
        println!("locked");
        std::thread::sleep(Duration::from_mins(1));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let mut other = Other::start("lock::who_is_killed_owns_nothing", path.to_str().unwrap());
    other.expect("locked");
    assert!(matches!(
        RepositoryLock::acquire(&path),
        Err(LockError::Taken { .. })
    ));
    drop(other);
    RepositoryLock::acquire(&path).unwrap();
}
