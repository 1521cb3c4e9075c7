//! URIs that no run can check: they come in with lists, stay, and go out as they were.

use std::fmt::Write;

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_lacks};
use crate::site::{FILE, Site, promise, sha256};

const URIS: &str = "urldb/+uris.yaml";

/// What is said about the URIs of [`catalogue`].
const ALL_HELD: &str = "6 URIs are held, not checked (doi 1, ftp 2, ipv6 1, port 1, urn 1).";

/// A catalogue of URLs of one host, and of URIs of every kind.
fn catalogue() -> String {
    let mut text = String::new();
    let uris = [
        "ftp://ftp.example.test/pub/a.tar",
        "http://example.test/a",
        "urn:isbn:0451450523",
        "http://example.test:443/",
        "https://[2001:db8::1]/x#part",
        "FTP://ftp.example.test/pub/a.tar",
        "http://EXAMPLE.test/b#part",
        "doi:10.1000/182",
    ];
    for (number, uri) in (1..).zip(uris) {
        let separator = if number == 1 { "" } else { "\r\n" };
        write!(
            text,
            "{separator}URI: {uri}\r\nNAME: Number {number}\r\nID: {number}\r\nDATE: 21/11/2026 10:30:00\r\n\
             DESCRIPTION: one\r\nX-Mine: {number}\r\n"
        )
        .unwrap();
    }
    text
}

fn imported() -> Sandbox {
    let sandbox = Sandbox::new("");
    sandbox.write("c.uric", catalogue());
    sandbox.ok("import ssd3 c.uric").says(&[
        "urldb/+uris.yaml: 6 added\n",
        "urldb/example.test.yaml: 2 added\n",
        "8 added\n",
    ]);
    sandbox
}

/// A git repository with an author.
fn repository() -> Repository {
    let repository = Repository::without_hook();
    repository.git(&["config", "user.name", "A U Thor"]);
    repository.git("config user.email author@example.test");
    repository
}

#[test]
fn a_catalogue_with_uris_of_all_kinds_comes_back_byte_for_byte() {
    let sandbox = imported();
    assert_eq!(sandbox.ok("export ssd3").out, catalogue());
    sandbox.ok("lint").says("2 files: 0 errors, 0 warnings\n");
    sandbox.ok("fmt --check");
    sandbox.ok("import ssd3 c.uric").says("8 known\n");
    for format in ["ssd3", "jsonl", "table"] {
        let other = Sandbox::new("");
        other.write("list", sandbox.ok(&["export", format]).out);
        other.ok(&["import", format, "list"]).says("8 added\n");
        assert_eq!(other.tree("urldb"), sandbox.tree("urldb"), "{format}");
    }
}

#[test]
fn lists_of_urls_for_programs_have_no_held_uris() {
    let sandbox = imported();
    for format in ["list", "sitemap", "cdxj", "sums"] {
        let exported = sandbox.ok(&["export", format]);
        assert_lacks(&exported.out, &["ftp:", "urn:", "8080", "2001"]);
        exported.complains("records left out");
    }
    let listed = sandbox.ok("list");
    let uris: Vec<&str> = listed.out.lines().take(3).collect();
    assert_eq!(
        uris,
        [
            "FTP://ftp.example.test/pub/a.tar",
            "doi:10.1000/182",
            "ftp://ftp.example.test/pub/a.tar"
        ]
    );
    assert_eq!(listed.out.lines().count(), 8);
    let search = ["list", "--search", "number 3"];
    assert_eq!(sandbox.ok(&search).out, "urn:isbn:0451450523\n");
    let list = sandbox.ok("list -d +uris --path-prefix urn: --format jsonl");
    assert_eq!(list.json()["file"], URIS);
}

#[test]
fn a_check_says_what_it_does_not_check() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write("c.uric", catalogue());
    sandbox.ok("import ssd3 c.uric --static");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in ["check", "run", "status"] {
        let said = words(&sandbox.ok(command).out);
        assert!(said.ends_with(ALL_HELD), "{said}");
    }
    let requests = site.requests();
    assert!(requests.iter().all(|it| matches!(&*it.target, "/a" | "/b")));
    let json = sandbox.ok("check --format json").json();
    assert_eq!(json["summary"]["coverage"]["held"]["ftp"], 2);
    assert_eq!(json["summary"]["coverage"]["due"], 2);
    // A selection counts its own.
    assert_lacks(&sandbox.ok("check -d example.test").out, "held");
    let said = words(&sandbox.ok("check -d +uris --path-prefix urn:").out);
    assert!(
        said.ends_with("1 URI is held, not checked (urn 1)."),
        "{said}"
    );
    sandbox
        .exits(2, "check urn:isbn:0451450523")
        .complains("urn:isbn:0451450523 is held, not checked");
    sandbox
        .exits(1, "doctor")
        .says("urldb/: 2 domain files, 8 URLs, all canonical");
}

#[test]
fn a_url_that_a_run_can_check_is_a_mistake_among_held_uris() {
    let sandbox = imported();
    let text = sandbox.read(URIS)
        + "---\n_path: urn:x:y\nschemes: 3\n---\n_path: wais://a\n---\n_path: x://y/z\n";
    sandbox.write(URIS, format!("{text}---\n_path: z\n"));
    sandbox.write(
        "urldb/other.test.yaml",
        "---\ncnames:\n- a.test\n---\n_path: urn:x:y\n",
    );
    sandbox.exits(1, "lint").says(&[
        "schemes",
        "urldb/+uris.yaml:",
        "bad-path: the path is not a URI that can be held here",
        "urldb/other.test.yaml:5:8: bad-path: the path does not start with `/`",
    ]);
    sandbox.write(URIS, "---\n---\n_path: http://example.test/z\n");
    sandbox.exits(1, "lint").says(&[
        "urldb/+uris.yaml:3:1: bad-path: runs can check the URL in the file of its host",
        "move the record to example.test.yaml, with `_path: /z`",
    ]);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    // The file is no domain, and has no other names.
    let names = "---\ncnames:\n- other.test\n---\n_path: urn:x:y\n";
    sandbox.write("urldb/other.test.yaml", "---\n---\n_path: /\n");
    let text = sandbox.read(URIS);
    sandbox.write(URIS, names);
    sandbox.exits(1, "lint").says(&[
        "urldb/+uris.yaml:2:1: unknown-key: `cnames` means nothing here",
        "2 files: 1 error, 0 warnings",
    ]);
    sandbox.write(URIS, text);
    std::fs::remove_file(sandbox.path("urldb/other.test.yaml")).unwrap();
    sandbox
        .exits(1, "check")
        .says(&["mistake[bad-path]", "urldb/+uris.yaml:3"]);
    sandbox.exits(1, "status").says("; mistakes: 1");
}

#[test]
fn uris_are_removed_and_never_added_by_hand() {
    let repository = repository();
    repository.write("c.uric", catalogue());
    repository
        .ok("import ssd3 c.uric --commit")
        .complains("committed");
    repository.git("add --all");
    repository.git("commit -qm rest");
    repository
        .ok("rm urn:isbn:0451450523 http://example.test/a")
        .says(&[
            "removed urn:isbn:0451450523 from urldb/+uris.yaml\n",
            "removed example.test/a from urldb/example.test.yaml\n",
        ]);
    repository.ok("diff").says(&[
        "removed urn:isbn:0451450523",
        "removed http://example.test/a",
    ]);
    repository
        .ok("rm urn:isbn:0451450523 --commit")
        .says("removed already: urn:isbn:0451450523\n");
    repository
        .exits(2, "rm urn:isbn:0451450523")
        .complains("scheme `urn` is not supported");
    for (uri, why) in [
        ("ftp://a.test/", "scheme `ftp` is not supported"),
        ("http://a.test:443/", "port `443` cannot be watched"),
    ] {
        repository
            .exits(2, &["add", "--no-fetch", uri])
            .complains(&[
                why,
                "`urldb import` of ssd3, jsonl or table holds such a URI",
            ]);
    }
    repository
        .exits(2, "add --no-fetch http://u:p@a.test/")
        .complains("carries a user name or password");
}

#[test]
fn a_list_that_is_followed_holds_nothing() {
    let sandbox = Sandbox::new("\n[source.t]\nformat = \"table\"\npath = [\"t.csv\"]\n");
    let digest = sha256("a");
    let table = format!(
        "url,sha256\nhttp://example.test/a,{digest}\nftp://a.test/x,{digest}\nftp://a.test/y,{digest}\nhttp://a.test:443/,\n"
    );
    sandbox.write("t.csv", table);
    sandbox
        .ok("sync")
        .says(&["1 added\n", "left out: 2 ftp, 1 port\n"]);
    assert_eq!(sandbox.files("urldb", "").len(), 1);
}

#[test]
fn the_hook_and_the_merge_driver_know_the_file() {
    let repository = repository();
    repository.ok("hook install");
    repository.write("c.uric", catalogue());
    repository.ok("import ssd3 c.uric");
    let text = repository.read(URIS);
    repository.write(URIS, text.replace("name: Number 1\n", "name:   Number 1\n"));
    repository.git("add --all");
    repository.git("commit -qm first");
    repository.assert_file(URIS, &text);
    repository.git("checkout -q -b other");
    repository.ok("rm urn:isbn:0451450523 --commit");
    repository.git("checkout -q main");
    let changed = text.replace("name: Number 1\n", "name: Number one\n");
    repository.write(URIS, &changed);
    repository.git("commit -qam second");
    repository.git("merge -q --no-edit other");
    let merged = repository.read(URIS);
    assert_lacks(&merged, "urn:");
    assert!(changed.starts_with(&merged), "{merged}");
    repository.write(URIS, format!("{merged}---\n_path: /x\n"));
    repository.git("add --all");
    repository.git_fails("commit -qm third");
}

#[test]
fn the_daemon_counts_new_uris_and_checks_the_rest() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, format!("---\n{}", promise("/a", "first")));
    sandbox.write(URIS, "---\n---\n_path: urn:x:1\n");
    let mut watch = sandbox.start("watch");
    watch.expect("watching 2 files in ");
    sandbox.write(URIS, "---\n---\n_path: urn:x:1\n---\n_path: urn:x:2\n");
    watch.expect("urldb/+uris.yaml has changed");
    watch.expect("1 URI is held, not checked (urn 1).");
    sandbox.write(URIS, "---\n---\n_path: /x\n");
    watch.expect("urldb/+uris.yaml:3:1: bad-path");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn shards_count_held_uris_once() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write("c.uric", catalogue());
    sandbox.ok("import ssd3 c.uric");
    for shard in ["1", "2"] {
        let part = format!("{shard}/2");
        sandbox.ok(&["run", "--shard", &part, "--to", &format!("bundles/{shard}")]);
    }
    let said = sandbox.ok("run --from bundles/1 bundles/2").out;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("6 URIs are held, not checked (doi 1, ftp 2"),
        "{said}"
    );
}
