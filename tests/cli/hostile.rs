//! One hostile record and one hostile server, against every output of every command.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::hook::Repository;
use crate::mime::mail_of;
use crate::sandbox::{Ran, Sandbox, assert_has, assert_lacks};
use crate::site::{Site, promise};
use crate::support::{Reply, Server};
use crate::tracker::Tracker;

/// What a terminal, GitHub's runner, a mail program or a browser would obey.
const HOSTILE: &str =
    "\\e]0;title\\a\\e[2J\\n::error::now\\n##[set-env name=A]b\\u202E<script>alert(1)</script>";

/// The same in a header, which has no controls.
const HEADER: &str = "##[set-env name=A]b @evil ::stop-commands::x \u{202e}<script>alert(1)</script> \
    <!evil> ![y](http://evil.test/y.png) [x](http://evil.test/) :evil: fixes#1 ]]></x> %0A::error::evil";

const HOST: &str = "example.test";

pub(crate) fn hostile() -> (Site, Sandbox) {
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

/// Stands for text in an argument that is hostile.
const EVIL: (&str, &str) = ("EVIL", "##[set-env name=A]b\u{202e}\u{1b}]0;x");

/// Every command, as `urldb --help` names it, with arguments that make it print what is hostile;
/// or the reason why it prints nothing from outside.
const COMMANDS: [(&str, Result<&str, &str>); 43] = [
    ("init", Err("prints names of its own files")),
    ("add", Ok("add http://example.test/EVIL")),
    ("rm", Ok("rm http://example.test/EVIL")),
    ("mv", Ok("mv EVIL new.test")),
    ("list", Ok("list")),
    ("url explain", Ok("url explain http://example.test/EVIL")),
    ("url normalize", Err("prints URLs as bytes, for programs")),
    ("url surt", Err("prints keys as bytes, for programs")),
    ("import", Ok("import list hostile.txt")),
    ("export", Err("prints a list as bytes, for programs")),
    ("sync", Ok("-v sync")),
    ("fmt", Ok("fmt --check --diff")),
    ("lint", Ok("lint")),
    ("diff", Ok("-v diff")),
    ("check", Ok("-v check")),
    ("run", Ok("-v run")),
    ("push", Err("prints a commit and the user's branch")),
    ("accept", Ok("accept --force --all --yes")),
    ("get", Ok("get http://example.test/EVIL -o EVIL")),
    (
        "ack",
        Ok("ack http://example.test/EVIL --until 2999-01-01 --because EVIL"),
    ),
    ("status", Ok("-v status")),
    ("log", Ok("log")),
    ("site build", Err("prints a folder and numbers")),
    ("notify list", Ok("notify list")),
    ("notify test", Ok("notify test")),
    ("notify retry", Ok("notify retry")),
    ("notify skip", Ok("notify skip EVIL")),
    (
        "notify explain",
        Ok("notify explain http://example.test/EVIL"),
    ),
    ("archive list", Ok("archive list")),
    ("archive get", Err("prints the bytes of a capture")),
    ("archive compact", Ok("archive compact --dry-run")),
    (
        "archive prune",
        Ok("archive prune --older-than 1d --dry-run"),
    ),
    (
        "archive diff",
        Ok("archive diff http://example.test/served"),
    ),
    ("archive export", Ok("archive export --bagit bag")),
    ("archive index", Ok("archive index")),
    ("archive verify", Ok("archive verify")),
    ("archive repair", Ok("archive repair")),
    ("resolve", Err("resolve_names_hostile_records_harmlessly")),
    ("hook install", Err("prints the path of the hook")),
    ("hook uninstall", Err("prints the path of the hook")),
    ("doctor", Ok("doctor")),
    ("hook run", Ok("hook run pre-commit")),
    ("watch", Err("watch_reports_hostile_files_harmlessly")),
];

/// Commands whose output has nothing from outside: text of our own.
const OWN: [&str; 4] = ["demo", "explain", "completions", "man"];

#[test]
fn every_command_is_in_the_table() {
    let mut found = BTreeSet::new();
    let commands = |arguments: &[&str]| -> Vec<String> {
        let help = Command::new(env!("CARGO_BIN_EXE_urldb"))
            .args(arguments)
            .arg("--help")
            .output();
        let help = String::from_utf8(help.unwrap().stdout).unwrap();
        let list = match help.split_once("Commands:\n") {
            Some((_, list)) => list.split("\n\n").next().unwrap(),
            None if arguments.is_empty() => {
                let (_, list) = help.split_once("\nPromises:\n").unwrap();
                list.split_once("\nOptions:\n").unwrap().0
            }
            None => return vec![],
        };
        let lines = list.lines();
        let names =
            lines.filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
        names
            .filter_map(|line| Some(line.split_whitespace().next()?.to_owned()))
            .filter(|name| name != "help")
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
        let formats = "json jsonl junit sarif markdown".split(' ');
        let formats = formats.map(|format| format!("--format {format}"));
        for extra in [String::new(), "--color always".to_owned()]
            .into_iter()
            .chain(formats)
        {
            let words = format!("{arguments} {extra}");
            let words = words.split_whitespace();
            let words: Vec<_> = words.map(|it| it.replace(EVIL.0, EVIL.1)).collect();
            let ran = sandbox.urldb(&words);
            assert_harmless(name, &ran);
            if ran.err.contains("unexpected argument '--format'") {
                break;
            }
        }
    }
    for quiet in ["run", "check --format json"] {
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
    let ran = sandbox.urldb_with_env("-v run --github", &env);
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
    assert_inert_markdown(&summary);
}

/// Markdown without its code spans and fences.
fn outside_code(text: &str) -> String {
    let mut outside = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('`') {
        outside.push_str(&rest[..start]);
        let fence = rest[start..].len() - rest[start..].trim_start_matches('`').len();
        let inside = &rest[start + fence..];
        let mut at = 0;
        let end = loop {
            let next = at + inside[at..].find('`').expect("the code span ends");
            let run = inside[next..].len() - inside[next..].trim_start_matches('`').len();
            if run == fence {
                break next;
            }
            at = next + run;
        };
        rest = &inside[end + fence..];
    }
    outside + rest
}

/// Text of others stands within code.
#[track_caller]
fn assert_inert_markdown(text: &str) {
    let outside = outside_code(text);
    for active in ["evil", "<script", "##[", "fixes#1"] {
        assert!(!outside.contains(active), "{active}: {outside}");
    }
}

/// No markup and no link of others.
#[track_caller]
fn assert_inert_html(text: &str) {
    for active in [
        "<script>alert",
        "<!evil",
        "=\"http://evil",
        "='http://evil",
        "]]></x>",
    ] {
        assert!(!text.contains(active), "{active}: {text}");
    }
}

/// Text that is shown as it is.
#[track_caller]
fn assert_inert_text(text: &str) {
    assert_harmless_text("text", text, |_| false);
}

/// One workflow command a line, which no text of others ends.
#[track_caller]
fn assert_inert_annotations(text: &str) {
    for line in text.lines() {
        let is_ours = line.starts_with("::error ") || line.starts_with("::warning ");
        assert!(is_ours, "{line}");
        assert_lacks(line, &["%0A::", "##["]);
    }
}

/// All strings of a JSON document, without escapes.
fn strings(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| strings(field, found)),
        _ => {}
    }
}

/// A document that is safe to print, and whose strings are one line each.
#[track_caller]
fn assert_inert_json(text: &str) {
    assert_inert_text(text);
    serde_json::from_str::<Value>(text).unwrap();
}

#[track_caller]
fn assert_inert_lines(text: &str) {
    text.lines().for_each(assert_inert_json);
}

/// SARIF takes `[text](target)` for a link.
#[track_caller]
fn assert_inert_sarif(text: &str) {
    assert_inert_json(text);
    let document: Value = serde_json::from_str(text).unwrap();
    for result in document["runs"][0]["results"].as_array().unwrap() {
        let message = result["message"]["text"].as_str().unwrap();
        assert_lacks(message, "](");
    }
}

#[track_caller]
fn assert_inert_junit(text: &str) {
    assert_inert_text(text);
    let suites = crate::formats::junit(text);
    assert_eq!(suites.count("script"), 0);
    assert!(suites.count("testcase") > 3);
}

/// Slack obeys `<!channel>` and `<http://…|text>`, but not in plain text.
#[track_caller]
fn assert_inert_slack(text: &str) {
    assert_inert_json(text);
    let body: Value = serde_json::from_str(text).unwrap();
    assert!(!body["text"].as_str().unwrap().contains('<'), "{body}");
    for block in body["blocks"].as_array().unwrap() {
        let mut texts = vec![];
        if block["text"]["type"] != "plain_text" {
            strings(block, &mut texts);
        }
        for text in texts {
            assert_lacks(&text, &["<!evil", "<http://evil"]);
        }
    }
}

#[track_caller]
fn assert_inert_mattermost(text: &str) {
    assert_inert_json(text);
    let body: Value = serde_json::from_str(text).unwrap();
    assert_inert_markdown(body["text"].as_str().unwrap());
}

/// Asserts that a text is harmless.
type Check = fn(&str);

/// One hostile record and server, through every format of a report.
#[test]
fn one_hostile_report_is_inert_in_every_format() {
    let (site, sandbox) = hostile();
    let (tracker, chat) = (Tracker::new(), Server::new(|_| Reply::ok("ok")));
    let mut config = sandbox.read("urldb.toml");
    for template in ["slack", "mattermost", "ntfy"] {
        let section = format!(
            "[notify.{template}]\ntype = \"webhook\"\nurl = \"http://{}/{template}\"\n\
             template = \"{template}\"\nvariables = {{ topic = \"sky\" }}\n",
            chat.address()
        );
        config.push_str(&section);
    }
    config.push_str("[notify.tracker]\n");
    config.push_str(&tracker.keys());
    sandbox.write("urldb.toml", config);
    // What is behind the hostile redirect is another content, so that titles show its address.
    site.serve("/to", Reply::ok("other bytes"));
    let summary = sandbox.path("summary.md");
    let env = [
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("TRACKER_TOKEN", "secret"),
    ];
    let run = |arguments: &[&str]| sandbox.urldb_with_env(arguments, &env);
    let human = run(&["run", "--github"]);
    let (terminal, annotations) = human.out.rsplit_once("::urldb-").unwrap();
    let (terminal, annotations) = (
        terminal.split_once('\n').unwrap().1.to_owned(),
        annotations.split_once('\n').unwrap().1.to_owned(),
    );
    let format = |format: &str| run(&["run", "--format", format]).out;
    let bodies = chat.requests();
    let body = |template: &str| {
        let request = bodies
            .iter()
            .find(|request| request.target.ends_with(template));
        String::from_utf8(request.unwrap().body.clone()).unwrap()
    };
    let mails = sandbox.files("mail", ".eml");
    let mail = mail_of(&fs::read(&mails[0]).unwrap());
    let issues = tracker.take_writes();
    let titles: Vec<&str> = issues
        .iter()
        .filter_map(|issue| issue.lines().next())
        .collect();
    let bodies_of_issues: Vec<String> = issues
        .iter()
        .map(|issue| issue.lines().skip(1).collect::<Vec<_>>().join("\n"))
        .collect();
    let formats: [(&str, String, Check); 18] = [
        ("terminal", terminal, assert_inert_text),
        ("annotations", annotations, assert_inert_annotations),
        (
            "--format github",
            format("github"),
            assert_inert_annotations,
        ),
        (
            "summary",
            fs::read_to_string(&summary).unwrap(),
            assert_inert_markdown,
        ),
        (
            "--format markdown",
            format("markdown"),
            assert_inert_markdown,
        ),
        ("--format json", format("json"), assert_inert_json),
        ("--format jsonl", format("jsonl"), assert_inert_lines),
        ("--format junit", format("junit"), assert_inert_junit),
        ("--format sarif", format("sarif"), assert_inert_sarif),
        (
            "subject",
            mail.header("Subject").to_owned(),
            assert_inert_text,
        ),
        ("mail", mail.text.clone(), assert_inert_text),
        ("mail in HTML", mail.html.clone(), assert_inert_html),
        ("page", sandbox.read("site/index.html"), assert_inert_html),
        ("slack", body("slack"), assert_inert_slack),
        ("mattermost", body("mattermost"), assert_inert_mattermost),
        ("ntfy", body("ntfy"), assert_inert_json),
        ("titles of issues", titles.join("\n"), assert_inert_text),
        (
            "bodies of issues",
            bodies_of_issues.join("\n"),
            assert_inert_markdown,
        ),
    ];
    for (name, text, assert_inert) in formats {
        // A subject and a title are too short to show everything.
        let is_short = ["subject", "ntfy", "titles of issues"].contains(&name);
        assert!(
            is_short || text.contains("evil"),
            "{name} shows nothing hostile: {text}"
        );
        let checked = std::panic::catch_unwind(|| assert_inert(&text));
        assert!(checked.is_ok(), "{name}");
    }
    drop(site);
}

#[test]
fn mail_and_page_are_harmless() {
    let (_site, sandbox) = hostile();
    sandbox.urldb("run");
    sandbox.urldb("run");
    let mails = sandbox.files("mail", ".eml");
    assert!(!mails.is_empty());
    for file in mails {
        let mail = mail_of(&fs::read(file).unwrap());
        assert_harmless_text("mail", &mail.text, |_| false);
        assert_harmless_text("mail", &mail.html, |_| false);
        assert_lacks(&mail.html, "<script>alert");
    }
    let page = sandbox.read("site/index.html");
    assert_harmless_text("page", &page, |_| false);
    assert_lacks(&page, "<script>alert");
}

#[test]
fn watch_reports_hostile_files_harmlessly() {
    let (_site, sandbox) = hostile();
    let mut watch = sandbox.start("watch");
    watch.expect("watching ");
    sandbox.write(
        &format!("urldb/{HOST}.yaml"),
        database() + &promise("/new##[error]", "x"),
    );
    let lines = watch.lines_until("Checked ");
    assert_harmless_text("watch", &lines.join("\n"), |_| false);
    watch.signal("-TERM");
    watch.end();
}

#[test]
fn resolve_names_hostile_records_harmlessly() {
    let file = |value: &str| format!("---\n---\n_path: \"/p{HOSTILE}\"\n\"{HOSTILE}\": {value}\n");
    let repository = Repository::stopped(&file("ours"), &file("theirs"));
    let ran = repository.exits(1, "resolve");
    assert_has(&ran.out, "both sides changed");
    assert_harmless("resolve", &ran);
}

/// Makes the sandbox a repository, and stages everything.
fn git(sandbox: &Sandbox) {
    for arguments in [["init", "-q"], ["add", "urldb"]] {
        let done = sandbox.command("git").args(arguments).status();
        assert!(done.unwrap().success());
    }
}

#[track_caller]
pub(crate) fn assert_harmless(name: &str, ran: &Ran) {
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

/// Text that a file on disk can hold in any place, without line ends.
const RAW: &str = "\u{1b}]0;title\u{7}\u{1b}[2J##[set-env name=A]b ::error::now \u{202e}<script>alert(1)</script>";

/// Site rules that say what is hostile: as names, texts and comments, in good rules and in bad ones.
fn hostile_rules() -> Vec<String> {
    let name = "##[error]\u{202e}\u{1b}]0;x";
    vec![
        // Good rules, whose defaults become part of pages.
        format!("# {RAW}\nmain {{\n  path x = group(\"a\", \"{RAW}\");\n}};\n"),
        format!("main {{\n  query optional q = flag(\".*\", \"{RAW}\");\n}};\n"),
        "main {\n  query optional q = flag(\".*\");\n};\n".to_owned(),
        // Bad ones.
        format!("main {{ {RAW} }};\n"),
        format!("{name} {{ path x = group(\"a\"); }};\n"),
        format!("main {{ path x = {name}(\"{RAW}\"); }};\n"),
        format!("main {{ path x = group(\"({RAW}\"); }};\n"),
        format!("main {{\n  protocol = \"{RAW}\";\n  website w = \"{RAW}\";\n}};\n"),
        RAW.to_owned(),
        format!("\"{RAW}"),
    ]
}

#[test]
fn site_rules_control_neither_a_terminal_nor_a_runner() {
    let url = "http://example.test/a?q=##[set-env name=A]b\u{202e}\u{1b}]0;x";
    let encoded = "http://example.test/a?q=%23%23[set-env%20name=A]b%E2%80%AE%1B]0;x::error::now";
    let mut taken = 0;
    for rules in hostile_rules() {
        for (name, is_alone) in [
            ("example.test.rules", true),
            ("example.test.website.rules", true),
            ("example.test.website.rules", false),
        ] {
            let sandbox = Sandbox::new("");
            sandbox.write(&format!("urldb/rules/{name}"), &rules);
            if !is_alone {
                sandbox.write("urldb/rules/##[error]\u{202e}\u{1b}]0;x.rules", RAW);
            }
            sandbox.write(&format!("urldb/{HOST}.yaml"), database());
            sandbox.write("list", format!("{encoded}\n{url}\n"));
            for arguments in [
                &["lint"][..],
                &["url", "explain", encoded],
                &["url", "explain", url],
                &["url", "explain", "--format", "json", encoded],
                &["add", "--no-fetch", encoded],
                &["add", "--no-fetch", url],
                &["import", "list", "list", "--keep-going", "-v"],
                &["list"],
                &["check", encoded],
                &["rm", encoded],
            ] {
                let ran = sandbox.urldb(&[arguments, &["--color", "always"]].concat());
                assert_harmless(&format!("{arguments:?} with {rules:?}"), &ran);
                taken += usize::from(ran.out.contains("to the site rules"));
            }
        }
    }
    assert!(taken > 0, "no hostile rule took effect");
}

/// An archive of another program, in which every field says what is hostile.
fn hostile_archive() -> String {
    let record = |kind: &str, uri: &str, fields: &str, block: &str| {
        format!(
            "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <urn:uuid:{RAW}>\r\n\
             WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: {uri}\r\n{fields}\
             Content-Length: {}\r\n\r\n{block}\r\n\r\n",
            block.len()
        )
    };
    let http = "Content-Type: application/http; msgtype=response\r\n";
    let head = format!(
        "HTTP/1.1 200 {RAW}\r\nContent-Type: {RAW}\r\nContent-Encoding: {RAW}\r\n\
         Location: /{RAW}\r\nTransfer-Encoding: {RAW}\r\n\r\n"
    );
    let hostile_uri = format!("http://example.test/{RAW}");
    let served = "http://example.test/served";
    let digest = format!("{http}WARC-Payload-Digest: {RAW}\r\nWARC-Block-Digest: {RAW}:{RAW}\r\n");
    let cut = format!("{http}WARC-Truncated: {RAW}\r\nWARC-Identified-Payload-Type: {RAW}\r\n");
    let revisit = format!("{http}WARC-Profile: {RAW}\r\nWARC-Refers-To-Target-URI: {RAW}\r\n");
    let post = "Content-Type: application/http; msgtype=request\r\n";
    [
        record("warcinfo", RAW, &format!("WARC-Filename: {RAW}\r\n"), RAW),
        record("response", &hostile_uri, http, &format!("{head}one")),
        record("response", served, http, &format!("{head}one")),
        record("response", served, &cut, &format!("{head}{RAW}\ntwo")),
        record("response", served, &digest, &format!("{head}{RAW}\nthree")),
        record(
            "request",
            served,
            post,
            &format!("POST /{RAW} HTTP/1.1\r\n\r\n{RAW}"),
        ),
        record("revisit", served, &revisit, &head),
        record(RAW, &hostile_uri, "", RAW),
        record(
            "response",
            served,
            &format!("{RAW}: {RAW}\r\n{RAW}\r\n"),
            RAW,
        ),
        format!("WARC/1.0\r\n{RAW}\r\nContent-Length: {RAW}\r\n\r\n"),
        format!("{RAW}\n"),
    ]
    .concat()
}

#[test]
fn foreign_archives_control_neither_a_terminal_nor_a_runner() {
    let sandbox = Sandbox::new("");
    sandbox.write(&format!("urldb/{HOST}.yaml"), database());
    let served = "http://example.test/served";
    let hostile_uri = format!("http://example.test/{RAW}");
    let name = "##[error]\u{202e}\u{1b}]0;x.warc";
    sandbox.write(&format!("archive/{name}"), hostile_archive());
    sandbox.write("archive/other.warc.zst", RAW);
    let line = |url: &str, more: &str| {
        let url = serde_json::Value::from(url);
        format!(
            "test,example)/served 20260101000000 {{\"url\": {url}, \"mime\": {0}, \"status\": {0}, \
             \"digest\": {0}, \"length\": \"10\", \"offset\": \"0\", \"filename\": {0}{more}}}\n",
            serde_json::Value::from(RAW)
        )
    };
    let mine = line(served, "") + &line(&hostile_uri, ", \"method\": \"POST\"") + RAW + "\n";
    let mut told = 0;
    // First with the index of a stranger, then with one that is made of the files.
    for index in [Some(mine), None] {
        if let Some(index) = &index {
            sandbox.write_index(index);
        }
        let cdxj = sandbox.files("archive/index", ".cdxj.gz").remove(0);
        let cdxj = cdxj.to_str().unwrap().to_owned();
        for arguments in [
            &["archive", "verify"][..],
            &["-v", "archive", "verify"],
            &["archive", "list"],
            &["archive", "list", served],
            &["archive", "list", &hostile_uri],
            &["archive", "list", "--format", "jsonl"],
            &["archive", "diff", served],
            &["archive", "diff", &hostile_uri],
            &["archive", "diff", "--unverified", served],
            &["archive", "export", "--bagit", "bag"],
            &["archive", "export", "--warc", "old", "--version", "0.9"],
            &["archive", "export", "--warc", "new"],
            &[
                "import",
                "warc",
                &format!("archive/{name}"),
                "-k",
                "-n",
                "-v",
            ],
            &["import", "cdxj", &cdxj, "-k", "-n", "-v"],
            &["archive", "index"],
        ] {
            let ran = sandbox.urldb(&[arguments, &["--color", "always"]].concat());
            assert_harmless(&format!("{arguments:?}"), &ran);
            told += usize::from(ran.out.contains("alert(1)"));
        }
        // What `get` writes is the capture; what it says of it is ours.
        for arguments in [
            &["archive", "get", served][..],
            &["archive", "get", "--unverified", served],
            &["archive", "get", "--unverified", &hostile_uri],
        ] {
            let ran = sandbox.urldb(arguments);
            assert_harmless_text(&format!("{arguments:?}"), &ran.err, |_| false);
        }
    }
    for arguments in ["archive repair", "archive verify"] {
        assert_harmless(&format!("{arguments:?}"), &sandbox.urldb(arguments));
    }
    assert!(told > 5, "the hostile text is shown {told} times only");
}
