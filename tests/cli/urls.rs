//! Questions about URLs, for pipes and for people.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::sandbox::Sandbox;

#[test]
fn arguments_are_answered_a_line_each() {
    let sandbox = Sandbox::empty();
    let urls = [
        "HTTP://Example.TEST:80/%7Ea/../b?#c",
        "https://bücher.example",
    ];
    let ran = sandbox
        .urldb(&["url", "normalize", urls[0], urls[1]])
        .code(0);
    assert_eq!(
        ran.out,
        "http://example.test/b\nhttps://xn--bcher-kva.example/\n"
    );
    let ran = sandbox
        .urldb(&["url", "surt", urls[0], "no URL", "dns:example.test"])
        .code(0);
    assert_eq!(ran.out, "test,example)/b\nno%20url)/\ndns:example.test\n");
    let ran = sandbox
        .urldb(&["url", "normalize", "example.test/x", urls[1]])
        .code(1);
    assert_eq!(ran.out, "\nhttps://xn--bcher-kva.example/\n");
    ran.complains(&[
        "argument 1: `example.test/x` is not",
        "`http://example.test/x`?",
    ]);
}

#[test]
fn lines_stay_beside_each_other() {
    let sandbox = Sandbox::empty();
    let long = format!("http://example.test/{}", "x".repeat(1 << 20));
    let input =
        format!("http://a.test\r\n\nftp://b.test\n{long}\n  http://c.test/%61  \nhttp://d.test");
    let ran = sandbox
        .urldb_with_input(&["url", "normalize"], &input)
        .code(1);
    assert_eq!(
        ran.out,
        "http://a.test/\n\n\n\nhttp://c.test/a\nhttp://d.test/\n"
    );
    let ran = ran.complains(&["line 3: scheme `ftp`", "line 4: longer than any URL"]);
    assert_eq!(ran.err.lines().count(), 2);
    let ran = sandbox.urldb_with_input(&["url", "surt"], "").code(0);
    assert_eq!(ran.out, "");
    // No secrets, and no orders to the terminal.
    let input = "http://user:hunter2@example.test/\nhttp://\u{1b}[2J.test/\n";
    let ran = sandbox
        .urldb_with_input(&["url", "normalize"], input)
        .code(1);
    assert!(
        !ran.err.contains("hunter2") && !ran.err.contains('\u{1b}'),
        "{ran:?}"
    );
}

#[test]
fn lines_are_answered_as_they_come() {
    let sandbox = Sandbox::empty();
    let mut command = sandbox.urldb_command(&["url", "normalize"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for name in ["a", "b", "c"] {
        writeln!(stdin, "http://{name}.test").unwrap();
        let answer = answers.next().unwrap().unwrap();
        assert_eq!(answer, format!("http://{name}.test/"));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn bytes_that_are_no_text_are_told_of() {
    let sandbox = Sandbox::empty();
    sandbox.write("urls", b"http://a.test/\n\xff\xfe\nhttp://b.test/\n");
    let mut command = sandbox.urldb_command(&["url", "normalize"]);
    let input = std::fs::File::open(sandbox.path("urls")).unwrap();
    let output = command.stdin(input).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stdout, b"http://a.test/\n\nhttp://b.test/\n");
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("line 2: not UTF-8")
    );
}
