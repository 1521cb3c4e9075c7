//! Domain files with mistakes: what is still checked, and who hears of it.

use crate::run::mailing;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promise, promises};
use crate::support::Reply;
use crate::words::stable;

const LEDGER: &str = "status/example.test.yaml";
const BAD: &str = "---\n_path: /c\ncontent-length: five\n";

/// Two promises that are kept.
fn watched() -> (Site, Sandbox) {
    let pages = [("/a", "first"), ("/b", "second")];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(FILE, promises(&pages));
    site.serve("/c", Reply::ok("third"));
    site.serve("/d", Reply::ok("fourth"));
    (site, sandbox)
}

/// The subjects of the mails since the last call.
fn subjects(sandbox: &Sandbox) -> Vec<String> {
    let mails = sandbox.take_mails();
    let subjects = mails.iter().map(|mail| mail.header("Subject").to_owned());
    let mut subjects: Vec<_> = subjects.collect();
    subjects.sort();
    subjects
}

#[test]
fn a_record_that_cannot_be_read_keeps_the_others_going() {
    let (site, sandbox) = watched();
    sandbox.ok("run");
    let ledger = sandbox.read(LEDGER);
    let broken = promise("/a", "first").replace("_path: /a", "_path: [/a");
    sandbox.write(FILE, format!("---\n{broken}{}", promise("/b", "second")));
    let place = format!("{FILE}:3");
    let asked = site.requests().len();
    sandbox
        .exits(1, "check")
        .says(&["Checked 1 of 1 URL", &place, "mistake[syntax-error]"]);
    sandbox
        .exits(1, "check --format json")
        .complains(&[&place])
        .json();
    sandbox
        .exits(1, "run")
        .says(&["Checked 1 of 1 URL", &place]);
    let again = site.requests().split_off(asked);
    assert!(!again.is_empty() && again.iter().all(|request| request.target == "/b"));
    assert_eq!(sandbox.read(LEDGER), ledger, "what is known of /a is kept");
}

#[test]
fn a_promise_with_an_invalid_value_is_a_mistake_and_not_ok() {
    let (_site, sandbox) = watched();
    for (bad, code) in [
        ("content-sha256: abc", "bad-digest"),
        ("content-length: five", "bad-content-length"),
        ("status: 2000", "bad-status"),
    ] {
        sandbox.write(FILE, format!("---\n---\n_path: /a\n{bad}\n"));
        let place = format!("--> {FILE}:4\n");
        let code = format!("mistake[{code}]: ");
        sandbox.exits(1, "check").says(&[&code, &place]);
        sandbox.exits(1, "run").says(&[&code, &place]);
    }
}

#[test]
fn a_mistake_in_a_domain_file_is_in_json_mail_and_page() {
    let (site, sandbox) = watched();
    site.remove("/b");
    let page = "[notify.page]\ntype = \"html\"\npath = \"public\"\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + page);
    let bad = "---\n_path: /c\ncontent-length: five\n";
    sandbox.write(FILE, sandbox.read(FILE) + bad);
    site.serve("/c", Reply::ok("third"));
    let json = sandbox
        .exits(1, "run --format json")
        .complains("bad-content-length")
        .json();
    assert_eq!(json["mistakes"][0]["code"], "bad-content-length");
    let mails = sandbox.mails();
    let mail = (&mails[0].text, format!("{FILE}, line 12"));
    let page = sandbox.read("public/index.html");
    for (text, place) in [mail, (&page, format!("{FILE}, line 12"))] {
        let text = text.replace("&#x2f;", "/");
        assert_has(&text, &place);
        assert_has(&text, "should be a number of bytes");
    }
}

#[test]
fn a_mistake_is_news_once_and_again_when_it_is_mended() {
    let (_site, sandbox) = watched();
    let good = sandbox.read(FILE);
    sandbox.ok("run");
    assert!(subjects(&sandbox).is_empty());

    sandbox.write(FILE, format!("{good}{BAD}"));
    sandbox.exits(1, "run");
    let mails = sandbox.mails();
    insta::assert_snapshot!("mail_of_a_mistake", cut(&mails[0].text));
    assert_eq!(
        subjects(&sandbox),
        ["mistake: urldb/example.test.yaml, line 12 [promises]"]
    );
    let before = sandbox.tree("status");
    sandbox.exits(1, "run");
    assert!(subjects(&sandbox).is_empty(), "it is known");
    assert_eq!(
        sandbox.read(LEDGER).as_bytes(),
        before[&std::path::PathBuf::from(LEDGER)].0
    );

    // It moves, and is the same; another one is not.
    let comment = "# all of them\n";
    sandbox.write(FILE, format!("{comment}{good}{BAD}"));
    sandbox.exits(1, "run");
    assert!(subjects(&sandbox).is_empty());
    let another = "---\n_path: /d\ncontent-sha256: abc\n";
    sandbox.write(FILE, format!("{good}{BAD}{another}"));
    sandbox.exits(1, "run");
    let two = "mistake: urldb/example.test.yaml, line 15, and 1 more [promises]";
    assert_eq!(subjects(&sandbox), [two]);

    sandbox.write(FILE, &good);
    let mended = [
        "solved: urldb/example.test.yaml is corrected",
        "bad-content-length",
        "content-length: five",
    ];
    sandbox.ok("run").says(&mended);
    let mails = sandbox.mails();
    stable().bind(|| insta::assert_snapshot!("mail_of_mended_mistakes", cut(&mails[0].text)));
    let end = "solved: urldb/example.test.yaml is corrected [promises]";
    assert_eq!(subjects(&sandbox), [end]);
    sandbox.ok("run --format json").says(r#""fixed": [],"#);
    assert!(subjects(&sandbox).is_empty());
    sandbox.write(FILE, format!("{good}{BAD}"));
    sandbox.exits(1, "run");
    sandbox.write(FILE, &good);
    let lines = sandbox.ok("run --format jsonl");
    lines.says(r#"{"kind":"fixed","#);
}

/// A mail without its times and its footer.
fn cut(text: &str) -> String {
    let (text, _footer) = text.split_once("\n-- ").unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("promises, "));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_same_mistake_twice_is_two() {
    let (_site, sandbox) = watched();
    let good = sandbox.read(FILE);
    sandbox.write(FILE, format!("{good}{BAD}"));
    sandbox.exits(1, "run");
    sandbox.write(FILE, format!("{good}{BAD}{}", BAD.replace("/c", "/d")));
    subjects(&sandbox);
    sandbox.exits(1, "run");
    assert_eq!(
        subjects(&sandbox),
        ["mistake: urldb/example.test.yaml, line 15, and 1 more [promises]"]
    );
}

#[test]
fn a_run_over_other_domains_neither_sees_nor_forgets_mistakes() {
    let (site, sandbox) = watched();
    let network = sandbox.read("urldb.toml");
    let map = format!("map = [\"{}\", ", site.map("other.test"));
    sandbox.write("urldb.toml", network.replace("map = [", &map));
    sandbox.write("urldb/other.test.yaml", promises(&[("/a", "first")]));
    sandbox.write(FILE, sandbox.read(FILE) + BAD);
    sandbox.ok("run -d other.test");
    assert!(subjects(&sandbox).is_empty());
    sandbox.exits(1, "run");
    assert_eq!(subjects(&sandbox).len(), 1);
    sandbox.ok("run -d other.test");
    sandbox.exits(1, "run");
    assert!(subjects(&sandbox).is_empty());
    // Looking remembers nothing.
    let json = sandbox.exits(1, "check --format json").json();
    assert_eq!(json["mistakes"][0]["text"], "content-length: five");
    assert_eq!(json["mistakes"][0]["new"], serde_json::Value::Null);
}

#[test]
fn of_two_records_for_one_request_the_first_is_checked() {
    let (site, sandbox) = watched();
    site.serve("/b", Reply::new("503 Busy", &[], ""));
    let (first, second) = (promise("/a", "first"), promise("/a", "other"));
    let busy = promise("/b", "second");
    sandbox.write(FILE, format!("---\n{first}{second}{busy}{busy}"));
    let place = format!("--> {FILE}:7\n");
    for doubt in [
        "unconfirmed[server-error]: http",
        "broken[server-error]: http",
    ] {
        sandbox.exits(1, "run").says(&[
            &place,
            "mistake[duplicate-record]",
            "they differ: keep the right one",
            "Checked 2 of 2 URLs",
            doubt,
        ]);
    }
    let ledger = sandbox.read(LEDGER);
    assert_eq!(ledger.matches("\n_path: /a").count(), 1, "{ledger}");
    assert_eq!(
        subjects(&sandbox),
        [
            "broken: example.test/b fails (503 Service Unavailable) [promises]",
            "mistake: urldb/example.test.yaml, line 7 [promises]",
        ]
    );
}

#[test]
fn mistakes_in_unusual_lines_are_news_only_once() {
    let (_site, sandbox) = watched();
    let good = sandbox.read(FILE);
    let long = "x".repeat(300);
    for line in [
        format!("content-length: \"{long}\""),
        "content-length: '# \u{e9} \u{1f600}'".to_owned(),
        "content-length: \u{7}".to_owned(),
        "<<<<<<< ours".to_owned(),
    ] {
        sandbox.write(FILE, format!("{good}---\n_path: /c\n{line}\n"));
        sandbox.exits(1, "run");
        assert_eq!(subjects(&sandbox).len(), 1, "{line}");
        sandbox.exits(1, "run");
        assert!(subjects(&sandbox).is_empty(), "{line}");
        sandbox.write(FILE, &good);
        sandbox.ok("run");
        subjects(&sandbox);
    }
    let mut bytes = good.clone().into_bytes();
    bytes.extend(b"---\n_path: /c\xff\n");
    sandbox.write(FILE, bytes);
    sandbox.exits(1, "run");
    assert_eq!(subjects(&sandbox).len(), 1);
    sandbox.exits(1, "run");
    assert!(subjects(&sandbox).is_empty());
}

#[test]
fn an_unreadable_file_is_a_mistake_and_the_others_are_checked() {
    let (site, sandbox) = watched();
    let outside = sandbox.root.parent().unwrap().join("outside.yaml");
    std::fs::write(&outside, "---\n---\n_path: /c\n").unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.path("urldb/linked.test.yaml")).unwrap();
    sandbox.write("urldb/misnamed.test.yml", "---\n---\n_path: /d\n");
    let found = [
        "Checked 2 of 2 URLs",
        "mistake[unreadable-file]",
        "--> urldb/linked.test.yaml:1\n",
        "mistake[bad-file-name]",
        "--> urldb/misnamed.test.yml:1\n",
    ];
    sandbox.exits(1, "check").says(&found);
    sandbox.exits(1, "lint").says(&[
        "urldb/linked.test.yaml:1:1: unreadable-file",
        "urldb/misnamed.test.yml:1:1: bad-file-name",
    ]);
    sandbox.exits(1, "run").says(&found);
    assert_eq!(subjects(&sandbox).len(), 1, "people are told");
    sandbox.exits(1, "run").says(&found);
    assert_eq!(subjects(&sandbox), [""; 0], "and told once");
    for command in ["check", "list"] {
        sandbox.ok(&[command, "-d", "example.test"]);
    }
    sandbox.ok("check http://example.test/a").says("URLs: 1 ok");
    let asked = site.requests();
    assert!(
        asked
            .iter()
            .all(|request| request.target == "/a" || request.target == "/b")
    );
}

#[test]
fn a_misspelled_promise_is_an_error_that_stops_commits_and_is_not_fetched() {
    let (site, sandbox) = watched();
    let text = "---\n---\n_path: /a\ncontent-sha265: x\n---\n_path: /b\ncategories:\n- redirect_ok\n---\n_path: /c\n";
    sandbox.write(FILE, text);
    let found = [
        "urldb/example.test.yaml:4:1: unknown-key",
        "urldb/example.test.yaml:6:1: unknown-category",
    ];
    // The list is on the line of its key.
    let found = [found[0], &found[1].replace(":6:", ":7:")].map(str::to_owned);
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    sandbox.exits(1, "lint").says(&found);
    for command in ["check", "run"] {
        sandbox
            .exits(1, &[command])
            .says("Checked 1 of 1 URL")
            .says(&[
                "mistake[unknown-key]",
                "--> urldb/example.test.yaml:4\n",
                "mistake[unknown-category]",
                "--> urldb/example.test.yaml:7\n",
            ]);
    }
    assert!(site.requests().iter().all(|request| request.target == "/c"));
    let declared = format!(
        "{}\n[lint]\nkeys = [\"content-sha265\"]\n",
        sandbox.read("urldb.toml")
    );
    sandbox.write("urldb.toml", declared);
    sandbox.write(FILE, text.replace("redirect_ok", "redirect-ok"));
    sandbox.ok("lint");
    sandbox.ok("check").says("URLs: 3 ok");
}

#[test]
fn a_path_without_slash_never_becomes_part_of_a_host() {
    let site = Site::with(&[("/x", "stolen")]);
    let maps = ["a.test", "a.test.other.test", "other.test"].map(|host| site.map(host));
    let sandbox = Sandbox::new(&format!("[network]\nmap = {maps:?}\n"));
    sandbox.write(
        "urldb/a.test.yaml",
        "---\ncnames:\n- a.test@other.test\n---\n_path: .other.test/x\n---\n_path: '@other.test/x'\n",
    );
    sandbox.write("urldb/b.test@other.test.yaml", "---\n---\n_path: /x\n");
    for command in ["check", "run"] {
        sandbox.exits(1, &[command]).says(&[
            "mistake[bad-cname]",
            "--> urldb/a.test.yaml:3\n",
            "mistake[bad-path]",
            "--> urldb/a.test.yaml:5\n",
            "--> urldb/a.test.yaml:7\n",
            "mistake[bad-file-name]",
            "--> urldb/b.test@other.test.yaml:1\n",
        ]);
    }
    assert_eq!(site.requests().len(), 0);
}

#[test]
fn no_command_names_the_url_of_another_host_for_a_path_without_slash() {
    let sandbox = Sandbox::new("");
    let promised =
        "content-sha256: '1111111111111111111111111111111111111111111111111111111111111111'\n";
    sandbox.write(
        "urldb/a.test.yaml",
        format!("---\n---\n_path: .other.test/x\n{promised}---\n_path: /good\n{promised}"),
    );
    sandbox.write("urldb/b.test@other.test.yaml", "---\n---\n_path: /x\n");
    sandbox.write("urldb/rules/a.test.rules", "main {};\n");
    sandbox.write_index("");
    let warnings = [
        "urldb/a.test.yaml:3: the record has no valid URL; `urldb lint` names the mistake",
        "urldb/b.test@other.test.yaml:3: the record has no valid URL",
    ];
    for format in ["human", "jsonl"] {
        let list = sandbox.ok(&["list", "--format", format]);
        assert_eq!(list.out.lines().count(), 1, "{list:#?}");
        list.complains(&warnings).says("http://a.test/good");
    }
    for format in ["list", "jsonl", "table", "ssd3", "sums", "cdxj", "sitemap"] {
        let export = sandbox.ok(&["export", format]);
        assert!(!export.out.contains("other.test"), "{format}: {export:#?}");
        assert!(export.out.contains("good"), "{format}: {export:#?}");
        export.complains(&["2 records left out", "no valid URL"]);
    }
    sandbox
        .exits(1, "archive export --bagit bag")
        .says("exported 0 of 2 static records")
        .complains(&[warnings[0], "not in the archive: http://a.test/good"]);
    let lint = sandbox.exits(1, "lint");
    assert_lacks(&lint.out, "a.test.other.test");
}
