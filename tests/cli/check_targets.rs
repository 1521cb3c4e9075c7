//! `urldb check` of URLs, hosts, files and folders, and of several of them.

use std::fs;
use std::time::Instant;

use serde_json::Value;

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, closed_address, promise, promises, sha256};
use crate::support::Reply;

/// A folder without a database.
fn newcomer(site: &Site) -> Sandbox {
    let sandbox = Sandbox::new(&format!(
        "[check]\nretries = 0\n{}",
        site.network_of(&["a.test", "b.test", "www.a.test"])
    ));
    fs::remove_dir(sandbox.path("urldb")).unwrap();
    sandbox
}

/// URL, file and line of each result.
fn results(report: &Value) -> Vec<String> {
    let results = report["results"].as_array().unwrap().iter();
    let shown = results.map(|it| {
        let text = |key: &str| it[key].to_string().replace('"', "");
        format!("{} {}:{}", text("url"), text("file"), text("line"))
    });
    shown.collect()
}

#[test]
fn a_url_without_a_promise_is_shown_with_its_length_and_digest() {
    let site = Site::with(&[("/x", "hello"), ("/z", "z")]);
    site.serve("/y", Reply::redirect(302, "http://a.test/x"));
    let sandbox = newcomer(&site);
    let before = sandbox.tree("");
    let ran = sandbox.ok("check http://a.test/x http://a.test/y");
    let digest = format!("  sha256    {}\n", sha256("hello"));
    ran.says(&[
        &format!("http://a.test/x answers 200 with 5 bytes\n{digest}http://a.test/y"),
        "  from      http://a.test/x\nURLs: 2 ok",
    ]);
    assert_eq!(sandbox.ok("check -q http://a.test/x").out, "");
    let found = sandbox.ok("check --format json http://a.test/x").json();
    let observed = &found["results"][0]["observed"];
    assert_eq!(
        (&observed["length"], &observed["sha256"]),
        (&5.into(), &sha256("hello").into())
    );
    sandbox
        .exits(1, "check http://a.test/x http://a.test/gone")
        .says(&["a.test/x answers 200", "--> command line:2"]);
    assert_eq!(sandbox.tree(""), before);
    // Beside a database, a note says that the URL is not in it.
    sandbox.write(FILE, promises(&[("/x", "hello")]));
    sandbox
        .ok("check http://a.test/z")
        .says("answers 200 with 1 byte\n")
        .complains("note: http://a.test/z is not in the database; `urldb add` adds it");
}

#[test]
fn urls_hosts_files_and_folders_are_checked_together() {
    let site = Site::with(&[("/x", "x"), ("/y", "y"), ("/z", "z")]);
    let sandbox = newcomer(&site);
    sandbox.write("docs/one.md", "http://a.test/x\nhttp://b.test/z\n");
    sandbox.write("more/docs.md", "\nhttp://a.test/y\n");
    fs::create_dir(sandbox.path("urldb")).unwrap();
    let muted = "mute-until: '2999-01-01'\nmute-reason: known\n";
    let a = promise("/x", "other") + "---\n_path: /gone\n" + muted;
    sandbox.write(
        "urldb/a.test.yaml",
        format!("---\ncnames:\n- www.a.test\n{a}"),
    );
    let hidden = "---\n_path: /old\ncategories:\n- deprecated\n";
    let b = format!("---\nhttps: false\n{}{hidden}", promise("/z", "z"));
    sandbox.write("urldb/b.test.yaml", b);
    let both = sandbox.ok("check docs more/docs.md http://a.test/gone b.test --format json");
    assert_eq!(
        results(&both.json()),
        [
            "http://a.test/x docs/one.md:1",
            "http://b.test/z docs/one.md:2",
            "http://a.test/y more/docs.md:2",
            "http://a.test/gone urldb/a.test.yaml:9",
        ]
    );
    // The promise of the database holds beside the list; a muted URL breaks nothing.
    let promised = &both.json()["results"][1]["promised"];
    assert_eq!(promised["sha256"], sha256("z"));
    let one = sandbox.exits(1, "check http://b.test/old b.test --format json");
    assert_eq!(
        results(&one.json()).len(),
        2,
        "a deprecated URL is asked if it is named"
    );
    let alias = sandbox.exits(1, "check http://www.a.test/x b.test --format json");
    assert_eq!(
        results(&alias.json())[0],
        "http://www.a.test/x urldb/a.test.yaml:5"
    );
    let narrow = sandbox.ok("check b.test docs -d b.test --format json");
    assert_eq!(results(&narrow.json()), ["http://b.test/z docs/one.md:2"]);
    let repository = Repository::of(sandbox);
    repository.git("add -A");
    repository.git("-c user.name=a -c user.email=a@b.test commit -q -m all");
    let since =
        repository.ok("check more http://a.test/y b.test --changed-since HEAD --format json");
    assert_eq!(
        results(&since.json()),
        ["http://a.test/y command line:2"],
        "a URL that is named is asked"
    );
    let host = repository.ok("check b.test").says("URLs: 1 ok");
    assert!(host.out.contains("-d b.test"), "{host:?}");
}

#[test]
fn urls_are_left_out_by_patterns_and_a_fetch_has_a_limit() {
    let site = Site::with(&[("/x", "x"), ("/sub/y", "y")]);
    site.serve(
        "/slow",
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal").hang(),
    );
    let sandbox = newcomer(&site);
    sandbox.write(
        "a.md",
        "http://a.test/x\nhttp://a.test/sub/y\nhttp://b.test/z\n",
    );
    let asked = |options: &str| {
        let ran = sandbox.ok(&format!("check a.md --format json {options}"));
        results(&ran.json()).join(" ")
    };
    assert_eq!(
        asked("--exclude *://a.test/* --exclude http://b.test/**"),
        "http://a.test/sub/y a.md:2"
    );
    // In a database too, where the report counts what is left out.
    sandbox.write(
        "urldb/a.test.yaml",
        promises(&[("/x", "x"), ("/sub/y", "y")]),
    );
    sandbox
        .ok("check --exclude **/sub/*")
        .says("Checked 1 of 2 URLs");
    sandbox
        .exits(2, "check --exclude *sub*")
        .complains("a pattern is for whole URLs: *://example.org/**, **/draft/*");
    let begun = Instant::now();
    let slow = "http://a.test/slow answers 200, but only 3 bytes of its body could be read";
    sandbox
        .ok("check http://a.test/slow --timeout 1")
        .says(&[slow]);
    assert!(
        begun.elapsed().as_secs() < 20,
        "no pause of 30 s is waited for"
    );
}

#[test]
fn a_report_is_written_into_a_file_at_once() {
    let site = Site::with(&[("/x", "hello")]);
    let sandbox = newcomer(&site);
    let check = "check http://a.test/x http://a.test/gone";
    for format in [
        "human", "json", "jsonl", "junit", "sarif", "markdown", "github",
    ] {
        let printed = sandbox.exits(1, &format!("{check} --format {format}")).out;
        let options = format!("{check} --format {format} -o report --color always");
        assert_eq!(sandbox.exits(1, &options).out, "", "{format}");
        let report = sandbox.read("report");
        assert_eq!(report.lines().count(), printed.lines().count(), "{format}");
        assert!(
            report.contains("a.test/gone") && !report.contains('\x1b'),
            "{format}"
        );
    }
    // Annotations are for the runner.
    let ran = sandbox.exits(1, &format!("{check} -o report --github"));
    assert!(
        ran.out.starts_with("::error file=command line,line=2,"),
        "{ran:?}"
    );
    let before = sandbox.tree("");
    sandbox.exits(2, "check nothing -o report");
    sandbox
        .exits(2, &format!("{check} -o no/folder"))
        .complains("cannot write");
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn a_text_that_is_no_target_is_refused_with_a_suggestion() {
    let sandbox = newcomer(&Site::new());
    sandbox.write("docs/x.md", "[relative](../y.md) <mailto:a@b.test>\n");
    sandbox.write("SHA256SUMS", "");
    sandbox.write("pictures/x.svg", "");
    for (arguments, words) in [
        ("", "name something to check, as in `urldb check docs/`"),
        (
            "doc",
            "there is no file, no folder and no host doc; did you mean docs?",
        ),
        ("docs/y.md", "did you mean docs/x.md?"),
        ("a.test/x", "a URL has a scheme: https://a.test/x"),
        (
            "nothing",
            "name a URL, a host of the database, a file or a folder",
        ),
        ("../nothing", "name a URL, a host of the database"),
        ("pictures", "there is no document (.md, "),
        (
            "sum:SHA256SUMS",
            "no reader is called \"sum\"; did you mean \"sums\"?",
        ),
        (
            "http://a.test/x --base http://a.test/",
            "name a file or a folder",
        ),
        (
            "docs",
            "no URL to check is in docs\n  docs/x.md:1: 1 is no URL to watch: an e-mail address",
        ),
    ] {
        sandbox
            .exits(2, &format!("check {arguments}"))
            .complains(&[words]);
    }
    sandbox.write("urldb/a.test.yaml", promises(&[("/x", "x")]));
    let similar = "there is no file, no folder and no host a.tset; did you mean a.test?";
    sandbox.exits(2, "check a.tset").complains(&[similar]);
    sandbox.write("urldb/b.test+8080.yaml", promises(&[("/x", "x")]));
    for typed in ["b.test", "-d b.test", "-d b.tset:8080"] {
        let refused = sandbox.exits(2, &format!("check {typed}"));
        refused.complains("; did you mean b.test:8080?");
    }
    // A file without a URL stops no other.
    sandbox.write("z.md", "http://b.test/z\n");
    sandbox
        .exits(1, "check docs z.md")
        .complains("note: no URL to check is in docs");
    // Where no host answers, the network may be at fault; `urldb check` alone would not read the list.
    sandbox.write("two.md", "http://a.test/x http://b.test/z\n");
    let closed = closed_address();
    let offline = format!("check two.md --map a.test={closed} --map b.test={closed}");
    let offline = sandbox.exits(3, &offline).out;
    assert_has(&offline, "to test the network");
    assert_lacks(&offline, "to run again");
    sandbox.write("urldb.toml", "[network]\nallow = \"127.0.0.1\"\n");
    let list = "`allow` should be a list of ranges such as [\"127.0.0.1/32\"]";
    sandbox.exits(2, "check").complains(list);
}
