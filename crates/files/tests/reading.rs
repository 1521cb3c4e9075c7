//! Only regular files are read; all else is said to be what it is.
#![cfg(unix)]
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::channel;
use std::time::Duration;

use urldb_files::{Limit, open, read, read_to_string, write_atomically};

const LIMIT: Limit = Limit::kib(1);

/// What `work` comes to, unless it hangs.
fn at_once<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, done) = channel();
    std::thread::spawn(move || sender.send(work()));
    done.recv_timeout(Duration::from_mins(1)).expect("it hangs")
}

fn pipe_in(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    path
}

#[test]
fn a_file_is_read_through_links() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    fs::write(folder.path().join("file"), "text").unwrap();
    symlink("file", &link).unwrap();
    assert_eq!(read(&link, LIMIT).unwrap(), b"text");
    assert_eq!(read_to_string(&link, LIMIT).unwrap(), "text");
    fs::write(folder.path().join("file"), b"\xff").unwrap();
    assert_eq!(
        read_to_string(&link, LIMIT).unwrap_err().kind(),
        ErrorKind::InvalidData
    );
    let missing = open(&folder.path().join("missing")).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

#[test]
fn what_is_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (path, what) in [
        (pipe_in(folder.path()), "a named pipe"),
        (socket, "a socket"),
        ("/dev/zero".into(), "a device"),
        (folder.path().to_owned(), "a folder"),
    ] {
        let error = at_once(move || read(&path, LIMIT)).unwrap_err().to_string();
        assert_eq!(error, format!("it is {what}, not a regular file"));
    }
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = pipe_in(folder.path());
    let error = at_once(move || write_atomically(&path, b"x")).unwrap_err();
    assert!(error.to_string().contains("a named pipe"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}
