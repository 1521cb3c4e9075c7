//! What people read, as snapshots: help, reports, mail.

use std::collections::BTreeSet;

use insta::{Settings, assert_snapshot};

use crate::advice::assert_commands_work;
use crate::run::mailing;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, closed_address, promise};
use crate::support::Reply;

/// The command that acknowledges an incident, whose id and date differ.
pub(crate) const ACK: (&str, &str) = (
    r"urldb ack [0-9a-f]{8} --until \d{4}-\d\d-\d\d",
    "urldb ack [id] --until [day]",
);

/// Takes out what is different each time.
pub(crate) fn stable() -> Settings {
    let mut settings = Settings::clone_current();
    for (pattern, name) in [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "[time]"),
        (r"\d{1,2} \w+ \d{4}, \d\d:\d\d UTC", "[moment]"),
        (
            r"\d{4}-\d\d-\d\d \d\d:\d\d(?: UTC|(?P<row>  ))",
            "[moment]$row",
        ),
        (r"since \d{4}-\d\d-\d\d", "since [day]"),
        ACK,
        (r"urldb-[0-9a-f]{32}\.eml", "[message].eml"),
        (r"os error \d+", "os error [number]"),
        (r"\(\d+ B\)", "([bytes])"),
        (r"\d+ bytes in", "[bytes] in"),
        (r#""bytes": \d+"#, "\"bytes\": \"[bytes]\""),
        (r#"" time="\d+\.\d+""#, "\" time=\"[seconds]\""),
        (r"\d{8}T\d{6}Z-[0-9a-f]{8}", "[run]"),
        (r"urldb-\d{14}-\d{5}-\S+\.warc\.gz", "[archive file]"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
        (r"\b\d+(\.\d+)? m?s after", "[duration] after"),
        (r"took \d+(\.\d+)? m?s", "took [duration]"),
        (r"\+\d+(\.\d+)? m?s ", "+[duration] "),
        // Where the line breaks depends on the number.
        (
            r"in \d+(\.\d+)? ?m?s\.\s+Not\s+checked:\s+1\s+with\s+a\s+mistake",
            "in [seconds]. Not checked: 1 with a mistake",
        ),
        (r"in \d+(\.\d+)? ?m?s\b", "in [seconds]"),
        (
            r#""milliseconds": \d+"#,
            "\"milliseconds\": \"[milliseconds]\"",
        ),
        (r"/\S+/promises", "[root]"),
        (r"urldb/\d+\.\d+\.\d+", "urldb/[version]"),
        (r"urldb \d+\.\d+\.\d+", "urldb [version]"),
        (
            r#""version": "\d+\.\d+\.\d+""#,
            "\"version\": \"[version]\"",
        ),
    ] {
        settings.add_filter(pattern, name);
    }
    settings
}

/// A site that breaks its promises in one way each.
pub(crate) fn broken() -> (Site, Sandbox) {
    let site = Site::with(&[
        ("/kept", "as promised"),
        ("/changed", "NEW"),
        ("/longer", "longer"),
    ]);
    site.serve("/busy", Reply::new("503 Busy", &["Retry-After: 0"], ""));
    site.serve("/secret", Reply::new("403 Forbidden", &[], ""));
    site.serve(
        "/limit",
        Reply::new("429 Too Many Requests", &["Retry-After: 0"], ""),
    );
    site.serve("/moved", Reply::redirect(301, "/kept"));
    site.serve("/loop", Reply::redirect(302, "/loop"));
    site.serve(
        "/page",
        Reply::new("200 OK", &["Content-Type: text/plain"], "x"),
    );
    site.serve(
        "/cut",
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal").close(),
    );
    site.serve("/way-to-gone", Reply::redirect(302, "/gone"));
    // One after the other: the host has answered nothing before `/busy`, so that its refusals are attempts.
    let check = "[check]\nhost-concurrency = 1\n";
    let sandbox = Sandbox::new(&format!("{check}{}", mailing(&site)));
    let lengths = ["/busy", "/limit", "/loop", "/secret"]
        .map(|path| format!("---\n_path: {path}\ncontent-length: 3\n"));
    let bytes = [
        ("/changed", "old"),
        ("/cut", "half a cut"),
        ("/gone", "x"),
        ("/kept", "as promised"),
        ("/longer", "long"),
    ]
    .map(|(path, body)| promise(path, body));
    let others = "---\n_path: /moved\nredirects-to: http://example.test/elsewhere\n\
                  ---\n_path: /page\ncontent-type: text/html\n\
                  ---\n_path: /way-to-gone\n\
                  ---\n_path: /worse\ncontent-sha256: abc\n";
    let file = format!("---\n{}{}{others}", lengths.concat(), bytes.concat());
    site.serve("/worse", Reply::ok("x"));
    sandbox.write(FILE, file);
    sandbox.urldb("fmt");
    (site, sandbox)
}

#[test]
fn the_commands_of_messages_work_as_printed() {
    let (_site, sandbox) = broken();
    let check = sandbox.exits(1, "check --verbose").out;
    let run = sandbox.exits(1, "run").out;
    let mail = sandbox.take_mails().remove(0).text;
    let again = sandbox.urldb("run").out;
    let commands = assert_commands_work(&[check, run, mail, again].join("\n"), &sandbox, &[]);
    assert!(commands.len() > 10, "{commands:?}");
}

#[test]
fn help() {
    let sandbox = Sandbox::empty();
    let main = sandbox.ok("--help").out;
    let (_, after) = main.split_once("\nPromises:\n").expect("groups");
    let (groups, _) = after.split_once("\nOptions:\n").expect("options");
    let commands: Vec<&str> = groups
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|command| !command.is_empty())
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    assert_snapshot!("help", main);
    for command in commands {
        let text = sandbox.ok(&["help", command]).out;
        assert_snapshot!(format!("help_{command}"), text);
    }
    let archive = [
        "list", "get", "diff", "export", "index", "verify", "repair", "compact", "prune",
    ];
    let url = ["explain", "normalize", "surt"];
    let below = archive.map(|command| ("archive", command)).into_iter();
    for (above, command) in below.chain(url.map(|command| ("url", command))) {
        let text = sandbox.ok(&[above, command, "--help"]).out;
        assert_snapshot!(format!("help_{above}_{command}"), text);
    }
}

/// A command without a page would be missing from every package.
#[test]
fn each_command_has_a_manual_page() {
    let sandbox = Sandbox::empty();
    sandbox.ok("man pages/man1");
    let pages = sandbox.files("pages/man1", ".1");
    let names: BTreeSet<String> = pages
        .iter()
        .map(|page| page.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    // A page lists the pages of its subcommands.
    let mut listed: BTreeSet<String> = ["urldb".to_owned()].into();
    for name in &names {
        let page = sandbox
            .read(&format!("pages/man1/{name}.1"))
            .replace("\\-", "-");
        assert_has(&page, &format!(".TH {name} 1 \" \" \"urldb "));
        assert_has(&page, "\n.SH DESCRIPTION\n");
        let references = page.lines().filter_map(|line| line.strip_suffix("(1)"));
        listed.extend(references.map(str::to_owned));
    }
    assert_eq!(listed, names);
    for name in ["urldb-add", "urldb-archive-get", "urldb-url-surt"] {
        assert!(names.contains(name), "{names:?}");
    }
    let example = sandbox.read("pages/man1/urldb-archive-get.1");
    assert_has(&example, "Example");
}

#[test]
fn check_output_for_people() {
    let (_site, sandbox) = broken();
    let ran = sandbox.exits(1, "check");
    stable().bind(|| assert_snapshot!(ran.out));
}

#[test]
fn check_output_as_json() {
    let (_site, sandbox) = broken();
    let ran = sandbox.exits(1, "check --format json --path-prefix /c");
    stable().bind(|| assert_snapshot!(ran.out));
}

#[test]
fn what_a_run_says_and_mails() {
    let (site, sandbox) = broken();
    let ran = sandbox.exits(1, "run");
    let first = sandbox.take_mails().remove(0);
    stable().bind(|| {
        assert_snapshot!("run", ran.out);
        assert_snapshot!("mail_subject", first.header("Subject"));
        assert_snapshot!("mail_text", first.text);
    });

    site.serve("/changed", Reply::ok("old"));
    let ran = sandbox.exits(1, "run");
    let second = sandbox.take_mails().remove(0);
    stable().bind(|| {
        assert_snapshot!("run_again", ran.out);
        assert_snapshot!("mail_text_again", second.text);
    });
}

#[test]
fn check_output_when_no_host_answers() {
    let address = closed_address();
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, "---\n---\n_path: /\n");
    let ran = sandbox.exits(1, &["check", "--map", &format!("example.test={address}")]);
    stable().bind(|| assert_snapshot!(ran.out));
}

/// So many URLs of a host where nobody listens, and its promises kept elsewhere.
fn dead_host(urls: usize) -> (Site, Sandbox) {
    let address = closed_address();
    let site = Site::with(&[("/a", "x")]);
    let maps = [site.map("example.test"), format!("dead.test={address}")];
    let sandbox = Sandbox::new(&format!("[network]\nmap = {maps:?}\n"));
    let records: Vec<String> = (0..urls)
        .map(|number| format!("---\n_path: /{number:03}\n"))
        .collect();
    sandbox.write("urldb/dead.test.yaml", format!("---\n{}", records.concat()));
    let kept = promise("/a", "x");
    sandbox.write(
        FILE,
        format!("---\n{kept}---\n_path: /b\ncategories:\n- deprecated\n"),
    );
    (site, sandbox)
}

#[test]
fn a_dead_host_is_one_block() {
    let (_site, sandbox) = dead_host(12);
    let ran = sandbox.exits(1, "check");
    stable().bind(|| assert_snapshot!(ran.out));
    let ran = sandbox.exits(1, "check --verbose");
    let (_, block) = ran
        .out
        .split_once("\nbroken[unreachable]: ")
        .expect("a block");
    // All URLs of the host are in one block, so the file says which.
    assert_has(block, "(12 of 12 URLs)\n  --> urldb/dead.test.yaml\n");
    assert_lacks(block, "more");
}

#[test]
fn verbose_output_of_a_url() {
    let (_site, sandbox) = broken();
    let story = |path: &str| {
        let url = format!("http://example.test{path}");
        let ran = sandbox.urldb(&["check", "-v", &url]);
        let (story, _) = ran.out.split_once("\nURLs: ").unwrap_or((&ran.out, ""));
        story.to_owned()
    };
    let paths = ["/kept", "/changed", "/cut", "/way-to-gone", "/busy"];
    let stories = paths.map(story).concat();
    stable().bind(|| assert_snapshot!(stories));
}

#[test]
fn verbose_output_names_only_what_is_not_as_promised() {
    let (_site, sandbox) = dead_host(2);
    let ran = sandbox.exits(1, "check -v");
    assert!(
        ran.out.starts_with("GET http://dead.test/000\n"),
        "{}",
        ran.out
    );
    assert_lacks(&ran.out, "GET http://example.test");
    let ran = sandbox.exits(1, "check -v --format json");
    assert_eq!(ran.json()["summary"]["coverage"]["deprecated"], 1);
    assert!(ran.err.starts_with("GET http://dead.test/000\n"));
}

#[test]
fn text_of_servers_gives_the_terminal_no_orders() {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    site.serve(
        "/a",
        Reply::raw("HTTP/1.1 500 \u{9b}2J\r\nContent-Length: 0\r\nServer: \u{9b}1m\r\n\r\n"),
    );
    sandbox.write(FILE, "---\n---\n_path: /a\n");
    let ran = sandbox.exits(1, "check -v");
    assert!(!ran.out.contains('\u{9b}'), "{}", ran.out);
    assert!(ran.out.contains('\u{fffd}'), "{}", ran.out);
}
