//! Bytes on standard output: all of them as they are, or an error.

use std::fs::File;
use std::process::{Command, Stdio};

use crate::sandbox::Sandbox;
use crate::site::{Site, sha256};
use crate::support::Reply;

const URL: &str = "http://example.test/a";

/// Every byte, and a text that is a secret of the environment.
fn content() -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..=255).cycle().take(2560).collect();
    bytes.extend(b"hunter2-the-token\r\n::error::x\n##[add-path]\x1b[2J\nno line end");
    bytes
}

/// A repository with an archive that has the content.
fn archived() -> (Site, Sandbox) {
    let site = Site::new();
    site.serve("/a", Reply::ok(content()));
    let sandbox = Sandbox::new(&site.network());
    let digest = sha256(content());
    let record = format!("---\n---\n_path: /a\ncontent-sha256: {digest}\n");
    sandbox.write("urldb/example.test.yaml", record);
    sandbox.ok("run");
    (site, sandbox)
}

fn with_secret(sandbox: &Sandbox, words: &[&str]) -> Command {
    let mut command = sandbox.urldb_command(words);
    command.env("GITHUB_TOKEN", "hunter2-the-token");
    command
}

#[test]
fn bytes_are_not_sanitized() {
    let (site, sandbox) = archived();
    let get = [&["get", URL, "-o", "-"][..], &["get", URL]];
    let archive_get = [
        &["archive", "get", URL][..],
        &["archive", "get", URL, "-o", "-"],
        &["archive", "get", URL, "--unverified"],
    ];
    for words in get.iter().chain(&archive_get) {
        let output = with_secret(&sandbox, words).output().unwrap();
        assert!(output.status.success(), "{words:?} {output:?}");
        assert!(output.stdout == content(), "{words:?}");
    }
    // From the archive too.
    site.remove("/a");
    for words in get {
        let output = with_secret(&sandbox, words).output().unwrap();
        assert!(output.stdout == content(), "{words:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let (_site, sandbox) = archived();
    let mut commands: Vec<Vec<&str>> = vec![
        vec!["get", URL],
        vec!["get", URL, "-o", "-"],
        vec!["archive", "get", URL],
        vec!["archive", "get", URL, "--unverified"],
        vec!["archive", "export", "--wacz", "-"],
        vec!["completions", "bash"],
        vec!["url", "normalize", "http://example.test/"],
        vec!["url", "surt", "http://example.test/"],
    ];
    for format in ["ssd3", "list", "sitemap", "table", "jsonl", "sums", "cdxj"] {
        commands.push(vec!["export", format]);
    }
    for words in commands {
        let mut command = sandbox.urldb_command(&words[..]);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = command
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {error}");
        let is_said = error.contains("No space left on device");
        assert!(is_said, "{words:?}: {error}");
    }
}
