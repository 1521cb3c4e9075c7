//! `urldb demo`, as a newcomer runs it. It tests itself as it goes along: what matters here is
//! that it comes to its end, shows what it should, and leaves nothing behind.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;

/// Far more than it needs; a demo that hangs must fail all the same.
const PATIENCE: Duration = Duration::from_mins(2);

/// The command, with `folder` for its temporary files.
fn demo(folder: &Path) -> Command {
    let mut command = Command::cargo_bin("urldb").expect("the binary is built");
    command.arg("demo").timeout(PATIENCE);
    for name in ["TMPDIR", "TMP", "TEMP"] {
        command.env(name, folder);
    }
    command
}

fn entries(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    entries
        .map(|entry| {
            entry
                .expect("it can be read")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect()
}

#[test]
fn it_shows_five_broken_promises_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // As in a hook of another repository, which must be left alone.
    let output = demo(folder.path())
        .env("GIT_DIR", folder.path().join("other"))
        .assert()
        .code(0)
        .get_output()
        .clone();
    let text = String::from_utf8(output.stdout).expect("the demo prints text");
    for line in [
        "$ urldb init",
        "$ urldb hook install",
        "$ urldb add --static",
        "map = [\"demo.example=127.0.0.1:",
        "urldb: normalized urldb/demo.example.yaml",
        "(exit code 0: all is as promised)",
        "4 captures, 0 revisits",
        "0 captures, 4 revisits",
        "(exit code 1: promises are broken)",
        "Subject: [urldb] 5 broken in promises",
        "/promises/site/index.html",
        "+state: truncated",
        "Five promises were broken, five were found",
    ] {
        assert!(text.contains(line), "{line:?} is missing in:\n{text}");
    }
    assert!(
        !text.contains('\u{1b}'),
        "colours only on a terminal:\n{text}"
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}

#[test]
fn it_keeps_its_folder_when_asked_to() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = demo(folder.path())
        .arg("--keep")
        .assert()
        .code(0)
        .get_output()
        .clone();
    let [kept] = entries(folder.path())
        .try_into()
        .expect("one folder is left");
    let kept = folder.path().join(kept);
    assert!(kept.join("promises/.git").is_dir());
    assert!(kept.join("promises/site/index.html").is_file());
    let text = String::from_utf8(output.stdout).expect("the demo prints text");
    assert!(
        text.contains(&format!("rm -r {}", kept.display())),
        "{text}"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_demo_leaves_nothing_behind() {
    use std::process::{Command, Stdio};
    use std::thread::sleep;
    use std::time::Instant;

    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("urldb"))
        .arg("demo")
        .env("TMPDIR", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary is built");
    let began = Instant::now();
    while entries(folder.path()).is_empty() && began.elapsed() < PATIENCE {
        sleep(Duration::from_millis(5));
    }
    let pid = child.id().to_string();
    let sent = Command::new("kill")
        .args(["-INT", &pid])
        .status()
        .expect("kill can be run");
    assert!(sent.success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}

#[test]
fn without_git_it_says_what_is_missing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = demo(folder.path())
        .env("PATH", folder.path())
        .assert()
        .code(2)
        .get_output()
        .clone();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(complaint.contains("cannot run `git`"), "{complaint}");
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}
