//! `urldb demo`, as a newcomer runs it: what it prints, what its runs leave in the repository, and
//! that nothing else is left behind.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process;
use std::time::Duration;

use assert_cmd::Command;
use mail_parser::MessageParser;
use serde_json::Value;
use urldb_warc::{Reader, RecordType};

/// The URLs that break, each with the state that the third run must find.
const BROKEN: [(&str, &str); 5] = [
    ("http://demo.example/data/m31.fits", "truncated"),
    ("http://demo.example/data/m51.csv", "changed"),
    ("http://demo.example/docs/manual.txt", "gone"),
    ("http://demo.example/id/m51", "redirected"),
    ("http://demo.example/search?q=m51", "unreachable"),
];

/// Far more than the demo needs; a demo that hangs must fail all the same.
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
        "  200  response  ",
        "  200  revisit   ",
        "(exit code 1: promises are broken)",
        "Subject: broken: demo.example/data/m31.fits breaks off",
        "/promises/site/index.html",
        "+state: truncated",
        "Five promises were broken, five were found",
    ] {
        assert!(text.contains(line), "{line:?} is missing in:\n{text}");
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    let offer = "`urldb demo --serve` shows it in a browser.";
    assert!(words.join(" ").contains(offer), "{text}");
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

/// The third run, as the demo prints it.
fn third_run(text: &str) -> String {
    let runs: Vec<&str> = text.split("\n  $ urldb run\n").collect();
    let end = "    (exit code 1: promises are broken)\n";
    let (run, _) = runs[3]
        .split_once(end)
        .expect("the third run ends with exit code 1");
    format!("  $ urldb run\n{run}{end}")
}

/// The lines up to the archive file, without dates and times, and the words after it without paths and
/// numbers.
fn stable(run: &str) -> (Vec<String>, Vec<&str>) {
    let (lines, rest) = run
        .split_once("    archived  ")
        .expect("a run that archives");
    let is_time = |word: &str| {
        let mut chars = word.chars();
        matches!(word.len(), 5 | 10)
            && chars.all(|char| char.is_ascii_digit() || "-:".contains(char))
    };
    // The id of an incident.
    let is_id = |word: &str| word.len() == 8 && word.chars().all(|char| char.is_ascii_hexdigit());
    let timeless = |line: &str| {
        let words = line.split(' ');
        let words = words.map(|word| {
            if is_time(word) || is_id(word) {
                "~"
            } else {
                word
            }
        });
        words.collect::<Vec<_>>().join(" ")
    };
    let is_same = |word: &&str| {
        !word.contains(['/', '~']) && !word.contains(|char: char| char.is_ascii_digit())
    };
    (
        lines.lines().map(timeless).collect(),
        rest.split_whitespace().filter(is_same).collect(),
    )
}

/// The run with one of its incidents.
fn excerpt(run: &str) -> String {
    let blocks: Vec<&str> = run.split("\n\n").collect();
    let is_told = |block: &&str| block.contains("broken[changed]");
    let told = blocks.iter().copied().find(is_told);
    let told = told.expect("a changed file");
    let [head, .., end] = blocks[..] else {
        panic!("no blocks in {run}");
    };
    let others = format!("    ({} more incidents)", blocks.len() - 3);
    [head, told, &others, end].join("\n\n")
}

/// README shows a part of the third run. `UPDATE_README=1` writes it anew.
#[test]
fn the_readme_shows_what_it_prints() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = demo(folder.path()).assert().code(0).get_output().clone();
    let printed = third_run(&String::from_utf8(output.stdout).expect("the demo prints text"));
    let printed = excerpt(&printed);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = read(&file);
    let (begin, end) = (
        "<!-- taken from `urldb demo` -->\n```\n",
        "```\n<!-- end -->",
    );
    let (before, rest) = readme
        .split_once(begin)
        .expect("README has a part of the demo");
    let (shown, after) = rest.split_once(end).expect("the part has an end");
    if std::env::var_os("UPDATE_README").is_some() {
        let printed = printed.replace(&folder.path().display().to_string(), "/tmp");
        fs::write(&file, format!("{before}{begin}{printed}{end}{after}"))
            .expect("README can be written");
        return;
    }
    assert_eq!(
        stable(&printed),
        stable(shown),
        "write README anew with UPDATE_README=1"
    );
}

/// A request on a port of this machine, and the whole answer.
fn ask(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("the demo listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("the demo reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("the demo answers");
    answer
}

#[cfg(unix)]
#[test]
fn it_serves_its_status_site_to_this_machine_only() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = process::Command::new(env!("CARGO_BIN_EXE_urldb"))
        .args(["demo", "--serve"])
        .env("TMPDIR", folder.path())
        .stdout(process::Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let address = lines
        .find_map(|line| {
            let line = line.expect("the demo prints text");
            Some(
                line.trim()
                    .strip_prefix("| http://127.0.0.1:")?
                    .trim_end_matches('/')
                    .to_owned(),
            )
        })
        .expect("the demo names an address");
    let address = format!("127.0.0.1:{address}");
    let page = ask(&address, "/");
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/html"),
        "{page}"
    );
    assert!(page.contains("demo.example"), "{page}");
    for outside in [
        "/../urldb.toml",
        "/%2e%2e/urldb.toml",
        "//etc/passwd",
        "/../../../../etc/passwd",
    ] {
        let answer = ask(&address, outside);
        assert!(answer.starts_with("HTTP/1.1 404"), "{outside}: {answer}");
    }
    let pid = child.id().to_string();
    let sent = process::Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.expect("kill runs").success());
    drop(lines);
    assert_eq!(child.wait().expect("the demo ends").code(), Some(0));
    assert_eq!(entries(folder.path()), Vec::<String>::new());
}

/// What the three runs have left, held against what each of them should have done.
#[test]
fn its_runs_archive_remember_and_notify_exactly_what_happened() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    demo(folder.path()).arg("--keep").assert().code(0);
    let [kept] = entries(folder.path())
        .try_into()
        .expect("one folder is left");
    let repository = folder.path().join(kept).join("promises");

    let runs: usize = files(&repository.join("status/history"), "jsonl")
        .iter()
        .map(|month| read(month).lines().count())
        .sum();
    assert_eq!(runs, 3);
    let expected: BTreeMap<String, String> = BROKEN
        .iter()
        .map(|(url, state)| ((*url).to_owned(), (*state).to_owned()))
        .collect();
    assert_eq!(broken(&repository), expected);
    for commit in ["HEAD~1", "HEAD"] {
        let committed = git(
            &repository,
            &["ls-tree", "-r", "--name-only", commit, "status"],
        );
        assert!(committed.contains("status/history/"), "{committed}");
        assert!(!committed.contains("status/incidents/"), "{committed}");
    }

    let [first, second, third] = archive(&repository)
        .try_into()
        .expect("each run archives into a file of its own");
    assert_eq!(first, (4, 0), "captures and revisits of the first run");
    assert_eq!(second, (0, 4), "captures and revisits of the second run");
    let (captures, revisits) = third;
    assert!(captures > 0, "the third run captures what has changed");
    assert_eq!(
        revisits, 1,
        "of four static files, only docs/licence.txt is unchanged"
    );

    let [mail] = files(&repository.join("mail"), "eml")
        .try_into()
        .expect("only the third run has news, and sends one mail");
    let mail = read_mail(&fs::read(&mail).expect("the mail can be read"));
    let subject = "Subject: broken: demo.example/data/m31.fits breaks off";
    let head = format!("To: maintainer@demo.example\n{subject}");
    assert!(mail.starts_with(&head), "{mail}");
    assert!(mail.contains(", and 4 more [promises]\n"), "{mail}");
    for (url, _) in BROKEN {
        assert!(mail.contains(url), "{url} is missing in:\n{mail}");
    }
    assert!(repository.join("site/index.html").is_file());
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every URL of an incident, with its state.
fn broken(repository: &Path) -> BTreeMap<String, String> {
    let mut log = Command::cargo_bin("urldb").expect("the binary is built");
    let log = log
        .arg("-C")
        .arg(repository)
        .args(["log", "--format", "jsonl"]);
    let output = log.output().expect("urldb runs").stdout;
    let lines = String::from_utf8(output).expect("the log is text");
    lines
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).expect("a line of the log is JSON");
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            (text(&line["evidence"]["url"]), text(&line["state"]))
        })
        .collect()
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = process::Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(arguments)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("the history is text")
}

/// How many captures and revisits each WARC file of the archive has, the oldest file first.
fn archive(repository: &Path) -> Vec<(u64, u64)> {
    let count = |path: &PathBuf| {
        let mut reader = Reader::open(path).expect("a WARC file");
        let (mut captures, mut revisits) = (0, 0);
        while let Some(record) = reader.next_record().expect("a whole record") {
            match record.header().record_type() {
                Some(RecordType::Response) => captures += 1,
                Some(RecordType::Revisit) => revisits += 1,
                _ => {}
            }
        }
        (captures, revisits)
    };
    files(&repository.join("archive"), "gz")
        .iter()
        .map(count)
        .collect()
}

/// The files of a folder with this extension, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = entries(folder)
        .into_iter()
        .map(|name| folder.join(name))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    files
}

/// Recipient, subject and plain text of a mail, decoded.
fn read_mail(mail: &[u8]) -> String {
    let message = MessageParser::default().parse(mail).expect("a mail");
    let to = message.to().and_then(|to| to.first());
    let to = to.and_then(|to| to.address()).expect("a recipient");
    let subject = message.subject().expect("a subject");
    let text = message.body_text(0).expect("a text");
    format!(
        "To: {to}\nSubject: {subject}\n\n{}",
        text.replace("\r\n", "\n").trim_end()
    )
}

#[test]
fn a_mail_is_decoded() {
    let mail = "From: a@b.example\r\nTo: c@d.example\r\n\
        Subject: [urldb] 1 broken: =?utf-8?b?4oCm?=\r\n\
        Content-Type: multipart/alternative; boundary=\"=_x\"\r\n\r\n\
        --=_x\r\nContent-Type: text/plain; charset=utf-8\r\n\
        Content-Transfer-Encoding: quoted-printable\r\n\r\n\
        a long=\r\n line, 1 =3D 1\r\n\
        --=_x\r\nContent-Type: text/html\r\n\r\n<p>no\r\n--=_x--\r\n";
    insta::assert_snapshot!(read_mail(mail.as_bytes()), @r"
    To: c@d.example
    Subject: [urldb] 1 broken: …

    a long line, 1 = 1
    ");
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
