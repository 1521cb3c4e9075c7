//! One hostile record and one hostile server, against every output of every command.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::mime::mail_of;
use crate::sandbox::{Ran, Sandbox};
use crate::site::{Site, promise};
use crate::support::Reply;

/// What a terminal, GitHub's runner, a mail program or a browser would obey.
const HOSTILE: &str =
    "\\e]0;title\\a\\e[2J\\n::error::now\\n##[set-env name=A]b\\u202E<script>alert(1)</script>";

/// The same in a header, which has no controls.
const HEADER: &str = "##[set-env name=A]b ::stop-commands::x \u{202e}<script>alert(1)</script>";

const HOST: &str = "example.test";

fn hostile() -> (Site, Sandbox) {
    let site = Site::new();
    let status = format!("200 {HEADER}");
    site.serve(
        "/served",
        Reply::new(
            &status,
            &[
                &format!("Content-Type: text/{HEADER}"),
                &format!("Server: {HEADER}"),
                &format!("Retry-After: {HEADER}"),
            ],
            "first\n",
        ),
    );
    site.serve(
        "/coded",
        Reply::new(&status, &[&format!("Content-Encoding: {HEADER}")], "x"),
    );
    site.serve(
        "/away",
        Reply::new(
            "302 ##[set-env name=A]b",
            &[&format!("Location: /to##[error]{HEADER}")],
            "x",
        ),
    );
    let sandbox = Sandbox::new(&format!(
        "[check]\nretries = 0\n{}[notify.mail]\ntype = \"email\"\nfrom = \"a@example.test\"\n\
         to = [\"b@example.test\"]\nfolder = \"mail\"\n\
         [notify.page]\ntype = \"html\"\npath = \"site\"\n",
        site.network()
    ));
    sandbox.write(&format!("urldb/{HOST}.yaml"), database());
    (site, sandbox)
}

fn database() -> String {
    let mut text = "---\n".to_owned();
    for path in ["/served", "/coded", "/away"] {
        text.push_str(&promise(path, "first\n").replace("first\n", "first"));
    }
    text + &format!(
        "---\n_path: \"/gone##[set-env name=A]b\"\nname: \"{HOSTILE}\"\n\
         ---\n_path: \"/p{HOSTILE}\"\nname: \"{HOSTILE}\"\n\"{HOSTILE}\": x\n\
         content-type: \"{HOSTILE}\"\ncategories: [\"{HOSTILE}\"]\n"
    )
}

/// Every command, as `urldb --help` names it, with arguments that make it print what is hostile;
/// or the reason why it prints nothing from outside.
const COMMANDS: [(&str, Result<&[&str], &str>); 25] = [
    ("init", Err("prints names of its own files")),
    (
        "add",
        Ok(&[
            "add",
            "http://example.test/##[set-env name=A]b\u{202e}\u{1b}]0;x",
        ]),
    ),
    (
        "rm",
        Ok(&["rm", "http://example.test/##[set-env name=A]b\u{202e}"]),
    ),
    ("list", Ok(&["list"])),
    (
        "url explain",
        Ok(&[
            "url",
            "explain",
            "http://example.test/##[error]\u{202e}\u{1b}]0;x",
        ]),
    ),
    (
        "url normalize",
        Err("prints URLs as bytes, one a line, for programs"),
    ),
    (
        "url surt",
        Err("prints keys as bytes, one a line, for programs"),
    ),
    ("import", Ok(&["import", "list", "hostile.txt"])),
    ("export", Err("prints a list as bytes, for programs")),
    ("fmt", Ok(&["fmt", "--check", "--diff"])),
    ("lint", Ok(&["lint"])),
    ("check", Ok(&["-v", "check"])),
    ("run", Ok(&["-v", "run"])),
    ("accept", Ok(&["accept", "--force", "--all", "--yes"])),
    ("archive list", Ok(&["archive", "list"])),
    ("archive get", Err("prints the bytes of a capture")),
    (
        "archive diff",
        Ok(&["archive", "diff", "http://example.test/served"]),
    ),
    (
        "archive export",
        Ok(&["archive", "export", "--bagit", "bag"]),
    ),
    ("archive index", Ok(&["archive", "index"])),
    ("archive verify", Ok(&["archive", "verify"])),
    ("archive repair", Ok(&["archive", "repair"])),
    (
        "archive convert",
        Ok(&["archive", "convert", "--to", "1.0", "converted"]),
    ),
    ("hook install", Err("prints the path of the hook")),
    ("hook run", Ok(&["hook", "run", "pre-commit"])),
    (
        "watch",
        Err("prints through check and run; its log is in watched_files_are_told_of"),
    ),
];

/// Commands whose output has nothing from outside: text of our own.
const OWN: [&str; 2] = ["demo", "completions"];

#[test]
fn every_command_is_in_the_table() {
    let mut found = BTreeSet::new();
    let commands = |arguments: &[&str]| -> Vec<String> {
        let help = Command::new(env!("CARGO_BIN_EXE_urldb"))
            .args(arguments)
            .arg("--help")
            .output();
        let help = String::from_utf8(help.unwrap().stdout).unwrap();
        let Some((_, list)) = help.split_once("Commands:\n") else {
            return vec![];
        };
        let lines = list.lines().take_while(|line| !line.is_empty());
        let names =
            lines.filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
        names
            .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
            .collect()
    };
    for command in commands(&[]) {
        match commands(&[&command]) {
            none if none.is_empty() => drop(found.insert(command)),
            below => found.extend(below.iter().map(|name| format!("{command} {name}"))),
        }
    }
    let known = COMMANDS.iter().map(|(name, _)| (*name).to_owned());
    let known: BTreeSet<String> = known.chain(OWN.map(str::to_owned)).collect();
    assert_eq!(
        found, known,
        "a new command belongs into the table of this test"
    );
}

#[test]
fn no_output_controls_a_terminal_or_a_runner() {
    let (_site, sandbox) = hostile();
    sandbox.write(
        "hostile.txt",
        "http://example.test/\u{202e}##[set-env name=A]b\nno ##[error] URL \u{1b}]0;x\n",
    );
    git(&sandbox);
    for (name, arguments) in COMMANDS {
        let Ok(arguments) = arguments else { continue };
        for extra in [&[][..], &["--color", "always"], &["--format", "json"]] {
            let arguments = [arguments, extra].concat();
            let ran = sandbox.urldb(&arguments);
            assert_harmless(name, &ran);
        }
    }
    for quiet in [&["run"][..], &["check", "--format", "json"]] {
        assert_harmless("again", &sandbox.urldb(quiet));
    }
}

#[test]
fn annotations_and_the_summary_are_all_that_a_runner_obeys() {
    let (_site, sandbox) = hostile();
    let summary = sandbox.path("summary.md");
    let env = [
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("GITHUB_ACTIONS", "true"),
    ];
    let ran = sandbox.urldb_with_env(&["-v", "run", "--github"], &env);
    let mut stopped: Option<String> = None;
    let mut annotations = 0;
    for line in ran.out.lines() {
        assert!(!line.contains("##["), "{line:?}");
        if let Some(token) = line.strip_prefix("::stop-commands::") {
            assert!(stopped.is_none() && token.len() > 30, "{line:?}");
            stopped = Some(token.to_owned());
        } else if stopped
            .as_ref()
            .is_some_and(|token| *line == format!("::{token}::"))
        {
            stopped = None;
        } else if stopped.is_none() {
            let ours = line.starts_with("::error file=") || line.starts_with("::warning file=");
            assert!(ours, "{line:?} stands outside of stop-commands");
            annotations += 1;
        }
    }
    assert!(stopped.is_none(), "commands stay stopped");
    assert!(annotations > 0, "{ran:#?}");
    assert_harmless_text("annotations", &ran.out, |line| line.starts_with("::"));
    let summary = fs::read_to_string(summary).unwrap();
    assert_harmless_text("summary", &summary, |_| false);
    // Markup of others stands within code.
    for line in summary.lines().filter(|line| line.contains("<script>")) {
        assert!(line.contains("`` "), "{line}");
    }
}

#[test]
fn mail_and_page_are_harmless() {
    let (_site, sandbox) = hostile();
    sandbox.urldb(&["run"]);
    sandbox.urldb(&["run"]);
    let mails = sandbox.files("mail", ".eml");
    assert!(!mails.is_empty());
    for file in mails {
        let mail = mail_of(&fs::read(file).unwrap());
        assert_harmless_text("mail", &mail.text, |_| false);
        assert_harmless_text("mail", &mail.html, |_| false);
        assert!(!mail.html.contains("<script>alert"), "{}", mail.html);
    }
    let page = sandbox.read("site/index.html");
    assert_harmless_text("page", &page, |_| false);
    assert!(!page.contains("<script>alert"), "{page}");
}

#[test]
fn watched_files_are_told_of() {
    let (_site, sandbox) = hostile();
    let mut watch = sandbox.start(&["watch"]);
    watch.expect("watching ");
    sandbox.write(
        &format!("urldb/{HOST}.yaml"),
        database() + &promise("/new##[error]", "x"),
    );
    let lines = watch.lines_until("checked ");
    assert_harmless_text("watch", &lines.join("\n"), |_| false);
    watch.signal("-TERM");
    watch.end();
}

/// Makes the sandbox a repository, and stages everything.
fn git(sandbox: &Sandbox) {
    for arguments in [&["init", "-q"][..], &["add", "urldb"]] {
        assert!(
            sandbox
                .command("git")
                .args(arguments)
                .status()
                .unwrap()
                .success()
        );
    }
}

#[track_caller]
fn assert_harmless(name: &str, ran: &Ran) {
    assert_harmless_text(name, &ran.out, |_| false);
    assert_harmless_text(name, &ran.err, |_| false);
}

/// No line controls a terminal, but by colours, and no line but `ours` is a workflow command.
#[track_caller]
fn assert_harmless_text(name: &str, text: &str, ours: impl Fn(&str) -> bool) {
    let plain = anstream::adapter::strip_str(text).to_string();
    assert!(!plain.contains("##["), "{name}: {plain}");
    for line in plain.lines() {
        let is_command = line.trim_start().starts_with("::");
        assert!(!is_command || ours(line), "{name}: {line:?} in {plain}");
    }
    // What `strip_str` takes out besides colours would be missing here.
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        let style = rest[at..].strip_prefix("\x1b[").unwrap_or_default();
        let end = style.find(|char: char| !char.is_ascii_digit() && char != ';');
        assert!(
            end.is_some_and(|end| style[end..].starts_with('m')),
            "{name}: {:?}",
            &rest[at..]
        );
        rest = &rest[at + 1..];
    }
    let is_unsafe =
        |char: char| urldb_text::is_unsafe(char) && !matches!(char, '\n' | '\t' | '\r' | '\x1b');
    assert!(!text.contains(is_unsafe), "{name}: {text:?}");
}
