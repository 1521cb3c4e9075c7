//! Questions about URLs, for pipes and for people.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;

#[test]
fn arguments_are_answered_a_line_each() {
    let sandbox = Sandbox::empty();
    let urls = [
        "HTTP://Example.TEST:80/%7Ea/../b?#c",
        "https://bücher.example",
    ];
    let ran = sandbox.ok(&["url", "normalize", urls[0], urls[1]]);
    assert_eq!(
        ran.out,
        "http://example.test/b\nhttps://xn--bcher-kva.example/\n"
    );
    let ran = sandbox.ok(&["url", "surt", urls[0], "no URL", "dns:example.test"]);
    assert_eq!(ran.out, "test,example)/b\nno%20url)/\ndns:example.test\n");
    let ran = sandbox.exits(1, &["url", "normalize", "example.test/x", urls[1]]);
    assert_eq!(ran.out, "\nhttps://xn--bcher-kva.example/\n");
    ran.complains(&[
        "argument 1: `example.test/x` is not",
        "`http://example.test/x`?",
    ]);
}

#[test]
fn url_normalize_writes_one_line_for_each_input_line() {
    let sandbox = Sandbox::empty();
    let long = format!("http://example.test/{}", "x".repeat(1 << 20));
    let input =
        format!("http://a.test\r\n\nftp://b.test\n{long}\n  http://c.test/%61  \nhttp://d.test");
    let ran = sandbox.urldb_with_input("url normalize", &input).code(1);
    assert_eq!(
        ran.out,
        "http://a.test/\n\n\n\nhttp://c.test/a\nhttp://d.test/\n"
    );
    let ran = ran.complains(&["line 3: scheme `ftp`", "line 4: longer than any URL"]);
    assert_eq!(ran.err.lines().count(), 2);
    let ran = sandbox.urldb_with_input("url surt", "").code(0);
    assert_eq!(ran.out, "");
    // No secrets, and no orders to the terminal.
    let input = "http://user:hunter2@example.test/\nhttp://\u{1b}[2J.test/\n";
    let ran = sandbox.urldb_with_input("url normalize", input).code(1);
    assert!(
        !ran.err.contains("hunter2") && !ran.err.contains('\u{1b}'),
        "{ran:?}"
    );
}

#[test]
fn lines_are_answered_as_they_come() {
    let sandbox = Sandbox::empty();
    let mut command = sandbox.urldb_command("url normalize");
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
    let mut command = sandbox.urldb_command("url normalize");
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

/// The rules that the specification of site rules has for examples, put together.
fn with_rules() -> Sandbox {
    let sandbox = Sandbox::new("");
    let domain = r#"short_form {
  optional canonalize::language = flag("(en|fr|de)\.");
  optional version = flag("([0-9]+\.[0-9]+)\.", "1.0");
  optional www = website("w{1,4}\.", "www.");
};

// Any host, with the official place of the language.
long_form {
  required host = "[a-z0-9]+\.";
  optional version = flag("[0-9]+\.[0-9]+\.", "1.0.");
  required www = website("w{1,4}", "www");
  namespace canonalize {
    optional language = flag("[a-z][a-z]", "");
  };
};
"#;
    sandbox.write("urldb/rules/example.com.rules", domain);
    let website = r#"secure {
  protocol = "HTTPS";
  path optional size = flag("u/");
};

admin {
  port = "8080";
};

main {
  protocol = "any";
  path optional size = flag("u/");
  query optional sort = flag("[a-z]+", "date");
};
"#;
    sandbox.write("urldb/rules/www.example.com.website.rules", website);
    sandbox
}

#[test]
fn a_url_is_explained_to_whoever_has_not_read_the_specification() {
    let sandbox = with_rules();
    let explain = |url: &str| sandbox.urldb(&["url", "explain", url]);
    let ran = explain("http://en.3.5.example.com:8080/software/snap?page=1").code(0);
    assert_snapshot!("explain", ran.out);
    sandbox.ok("add --no-fetch http://example.com/software/snap?page=1");
    let ran = explain("http://fr.example.com/u/software/snap?page=1&sort=name").code(0);
    assert_snapshot!("explain_a_record", ran.out);
    let ran = explain("http://stars.fr.3.5.example.com/").code(1);
    assert_snapshot!("explain_what_is_not_admitted", ran.out);
}

#[test]
fn a_url_without_rules_is_explained_too() {
    let sandbox = Sandbox::empty();
    let explain = |url: &str| sandbox.urldb(&["url", "explain", url]);
    let ran = explain("HTTPS://Data.Example.co.uk/%7Ea/../m51.csv#top").code(0);
    assert_snapshot!("explain_without_rules", ran.out);
    std::fs::remove_dir_all(sandbox.path("urldb")).unwrap();
    explain("http://example.com/x")
        .code(0)
        .says("there is no database here");
    let ran = explain("ftp://user:hunter2@example.com/").code(1);
    assert!(
        ran.out.starts_with("scheme: ") && !ran.out.contains("hunter2"),
        "{ran:?}"
    );
}

#[test]
fn programs_are_explained_the_same() {
    let sandbox = with_rules();
    let explain = ["url", "explain", "--format", "json"];
    let ran = sandbox.urldb(&[&explain[..], &["http://fr.example.com/u/x?sort=name"]].concat());
    assert_snapshot!("explain_for_programs", ran.code(0).out);
    let ran = sandbox.ok(&[&explain[..], &["http://fr.example.com:8080/x"]].concat());
    let explained = ran.json();
    let tried = explained["website_rules"].as_array().unwrap();
    let taken = tried.iter().find(|rule| rule["result"] == "matched");
    assert_eq!(taken.unwrap()["rule"]["name"], "admin");
    let file = &explained["record"]["file"];
    assert_eq!(file, "urldb/www.example.com+8080.yaml");
}
