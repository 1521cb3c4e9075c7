//! A first SIGINT or SIGTERM ends a command soon, with 130.

use std::fmt::Write as _;
use std::fs;
use std::time::{Duration, Instant};

use crate::hook::Repository;
use crate::sandbox::{Sandbox, eventually};
use crate::site::{FILE, promises, sha256};
use crate::support::{Reply, Server};

/// The time in which a command ends; a debug build would read the lists for much longer.
const SOON: Duration = Duration::from_secs(6);

#[cfg(target_os = "linux")]
#[test]
fn signals_end_the_reading_of_lists() {
    let repository = Repository::of(Sandbox::new(
        "[source.x]\nformat = \"list\"\npath = [\"list.txt\"]\n",
    ));
    repository.write(FILE, promises(&[("/a", "x")]));
    repository.write("list.txt", "http://example.test/a\n");
    repository.git("add .");
    repository.git("commit -q -m base");
    let mut list = String::new();
    for number in 0..500_000 {
        writeln!(list, "http://h{number}.test/some/path").unwrap();
    }
    repository.write("list.txt", list);
    let path = fs::canonicalize(repository.path("list.txt")).unwrap();
    for (command, signal) in [
        ("check", "-INT"),
        ("check", "-TERM"),
        ("run", "-INT"),
        ("run", "-TERM"),
        ("run --shard 1/2 --to bundles", "-TERM"),
        ("check --changed-since HEAD", "-INT"),
        ("check list.txt", "-INT"),
    ] {
        let mut running = repository.start(command);
        eventually("the list is read", || running.has_open(&path));
        let sent = Instant::now();
        running.signal(signal);
        let status = running.end();
        assert_eq!(status.code(), Some(130), "{command} {signal}");
        assert!(
            sent.elapsed() < SOON,
            "{command} {signal}: {:?}",
            sent.elapsed()
        );
    }
    assert!(!repository.path("status").exists());
}

#[test]
fn interrupted_commands_say_so_by_their_exit_code() {
    let server = Server::new(|_| Reply::default().hang());
    let config = crate::site::network(server.address(), &["example.test"]);
    let sandbox = Sandbox::new(&config);
    let record = format!("---\n---\n_path: /a\ncontent-sha256: {}\n", sha256("x"));
    sandbox.write(FILE, &record);
    for command in [
        "get http://example.test/a -o out",
        "get http://example.test/a",
        "get --dry-run http://example.test/a",
        "accept --yes http://example.test/a",
        "check",
        "run",
    ] {
        for signal in ["-INT", "-TERM"] {
            let before = server.requests().len();
            let mut running = sandbox.start(command);
            eventually("the server is asked", || server.requests().len() > before);
            let sent = Instant::now();
            running.signal(signal);
            assert_eq!(running.end().code(), Some(130), "{command} {signal}");
            assert!(sent.elapsed() < SOON, "{command} {signal}");
        }
    }
    assert!(!sandbox.path("out").exists());
    sandbox.assert_file(FILE, &record);
}

/// What a killed `get` has read is nobody's file.
#[cfg(target_os = "linux")]
#[test]
fn a_killed_get_leaves_no_temporary_file() {
    let body = "x".repeat(1 << 20);
    let half = body.clone();
    let server = Server::new(move |_| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 1 << 20);
        Reply::raw(head).then(&half[..1 << 19]).hang()
    });
    let config = crate::site::network(server.address(), &["example.test"]);
    let sandbox = Sandbox::new(&config);
    let record = format!("---\n---\n_path: /a\ncontent-sha256: {}\n", sha256(&body));
    sandbox.write(FILE, &record);
    fs::create_dir(sandbox.path("out")).unwrap();
    for old in [None, Some("old")] {
        if let Some(old) = old {
            sandbox.write("out/file", old);
        }
        let before = server.requests().len();
        let mut running = sandbox.start("get http://example.test/a -o out/file");
        eventually("the server is asked", || server.requests().len() > before);
        std::thread::sleep(Duration::from_millis(500));
        running.signal("-KILL");
        running.end();
        let names: Vec<_> = sandbox.tree("out").into_keys().collect();
        assert_eq!(names.len(), usize::from(old.is_some()), "{names:?}");
    }
    sandbox.assert_file("out/file", "old");
}
