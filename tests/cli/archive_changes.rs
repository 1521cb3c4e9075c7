//! Content that is other than promised: archived whole, and said to be cut where it is not.

use std::thread;
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::Value;

use crate::archive::records;
use crate::sandbox::{Ran, Sandbox, assert_has};
use crate::site::{FILE, Site, promise, sha256};
use crate::support::Reply;

const URL: &str = "http://example.test/a";

const LEDGER: &str = "status/example.test.yaml";

/// A repository that promises `first` at `/a`.
fn promised(config: &str) -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&format!("{}{config}", site.network()));
    let file = format!("---\n{}", promise("/a", "first"));
    sandbox.write(FILE, file);
    (site, sandbox)
}

/// A run in a second of its own: captures are found by the second.
fn run(sandbox: &Sandbox, code: i32) -> Ran {
    if sandbox.path("archive").exists() {
        thread::sleep(Duration::from_millis(1100));
    }
    sandbox.exits(code, "run --format json")
}

/// The only result of a run.
fn result(ran: &Ran) -> Value {
    ran.json()["results"][0].clone()
}

fn get(sandbox: &Sandbox, options: &[&str]) -> Ran {
    sandbox.urldb(&[&["archive", "get", URL], options].concat())
}

/// The capture lines of the URL in `archive list --format jsonl`.
fn captures(sandbox: &Sandbox) -> Vec<Value> {
    let ran = sandbox.urldb(&["archive", "list", URL, "--format", "jsonl"]);
    let lines = ran.code(0).out;
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    lines.collect()
}

fn dates(sandbox: &Sandbox) -> Vec<String> {
    let date = |capture: &Value| capture["date"].as_str().unwrap().to_owned();
    captures(sandbox).iter().map(date).collect()
}

#[test]
fn a_file_that_grows_shrinks_and_changes_is_archived_whole_each_time() {
    let (site, sandbox) = promised("");
    run(&sandbox, 0);
    let contents = ["first", "first and more", "1st", "other"];
    for content in &contents[1..] {
        site.serve("/a", Reply::ok(content));
        let result = result(&run(&sandbox, 1));
        assert_eq!(result["state"], "changed");
        assert_eq!(result["observed"]["length"], content.len());
        assert_eq!(result["observed"]["sha256"], sha256(content));
        assert_eq!(result.get("not_archived"), None);
        assert_eq!(get(&sandbox, &["--at", "9999"]).code(0).out, *content);
        assert_eq!(get(&sandbox, &[]).code(0).out, "first", "as promised");
    }
    let dates = dates(&sandbox);
    assert_eq!(dates.len(), contents.len());
    for (date, content) in dates.iter().zip(contents) {
        assert_eq!(get(&sandbox, &["--at", date]).code(0).out, content);
    }
    sandbox
        .exits(1, &["archive", "diff", URL])
        .says(&["-1st", "+other"]);
    sandbox
        .exits(
            1,
            &["archive", "diff", URL, "--at", &dates[0], "--at", &dates[1]],
        )
        .says(&["-first", "+first and more"]);
    sandbox.ok("archive verify");
}

/// It is a capture once, and revisits of it then.
#[test]
fn a_file_that_grew_is_archived_once() {
    let (site, sandbox) = promised("");
    run(&sandbox, 0);
    site.serve("/a", Reply::ok("first and more"));
    run(&sandbox, 1);
    run(&sandbox, 1);
    let kinds: Vec<Value> = captures(&sandbox)
        .iter()
        .map(|capture| capture["type"].clone())
        .collect();
    assert_eq!(kinds, ["response", "response", "revisit"]);
    assert_eq!(
        get(&sandbox, &["--at", "9999"]).code(0).out,
        "first and more"
    );
}

#[test]
fn a_capture_that_is_cut_says_so_everywhere() {
    let (site, sandbox) = promised("[archive]\nmax-capture = 10\n");
    run(&sandbox, 0);
    let long = "first".repeat(20);
    site.serve("/a", Reply::ok(&long));
    let ran = run(&sandbox, 1);
    let cut = "only its first 16 bytes: more is not read (max-capture, max-body)";
    assert_eq!(result(&ran)["not_archived"], cut);
    assert_eq!(ran.json()["findings"][0]["not_archived"], cut);
    // Each run that sees the same says what the archive lacks, and archives it no second time.
    assert_eq!(result(&run(&sandbox, 1))["not_archived"], cut);
    sandbox.exits(1, "run").says(&[
        "served        more than 15 bytes",
        "not archived  only its first 16 bytes: more is not read (max-capture,\n",
        "                max-body)\n",
    ]);
    let captures = captures(&sandbox);
    assert_eq!(captures.len(), 2);
    assert_eq!(captures[0].get("truncated"), None);
    assert_eq!(captures[1]["truncated"], "length");
    sandbox
        .ok(&["archive", "list", URL])
        .says("  truncated: length\n");
    let date = captures[1]["date"].as_str().unwrap();
    let beginning =
        format!("of the capture of {date} the archive has only the beginning (truncated: length)");
    let ran = get(&sandbox, &["--at", "9999"]).code(0);
    assert_eq!(ran.complains(&[&beginning]).out, "first");
    let ran = get(&sandbox, &["--any"]).code(0).complains(&[&beginning]);
    assert_eq!(ran.out, long[..16]);
    // What was cut may be the same or another: that is not for diff to say.
    sandbox
        .exits(2, &["archive", "diff", URL])
        .complains(&[&beginning, "--any"]);
    sandbox
        .exits(2, &["archive", "diff", URL, "--at", date])
        .complains(&[&beginning]);
    sandbox
        .exits(1, &["archive", "diff", URL, "--any"])
        .complains(&[&beginning]);
    // The index made anew knows as much.
    sandbox.ok("archive index");
    assert_eq!(self::captures(&sandbox), captures);
}

#[test]
fn a_file_that_grew_and_never_ends_is_changed_and_cut() {
    let (site, sandbox) = promised("[check]\nidle-timeout = \"300ms\"\n");
    run(&sandbox, 0);
    let endless = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\nfirst and more");
    site.serve("/a", endless.hang());
    let result = result(&run(&sandbox, 1));
    assert_eq!(result["state"], "changed");
    assert_snapshot!(result["not_archived"].as_str().unwrap(), @"only its first 14 bytes: no data came within 300ms (idle-timeout) after 14 bytes of the body");
    assert_eq!(captures(&sandbox)[1]["truncated"], "time");
}

/// A POST is sent once, so that its first answer is all there is.
#[test]
fn the_first_other_answer_to_a_post_is_archived_whole() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&format!(
        "[check]\nunsafe-methods = true\n{}",
        site.network()
    ));
    let asked = ["--data", "q=1", "--request-content-type", "text/plain"];
    sandbox.ok(&[&["add", "--static", URL][..], &asked].concat());
    run(&sandbox, 0);
    let long = "first and more ".repeat(10_000);
    for content in ["first and more", long.as_str()] {
        site.serve("/a", Reply::ok(content));
        let result = result(&run(&sandbox, if content == long { 1 } else { 3 }));
        assert_eq!(result["observed"]["sha256"], sha256(content));
        assert_eq!(result.get("not_archived"), None);
        assert_eq!(get(&sandbox, &asked).code(0).out, content);
    }
}

/// A 403 is not repeated, so that its first body is all there is.
#[test]
fn an_error_page_is_archived_though_the_file_is_known() {
    let (site, sandbox) = promised("");
    run(&sandbox, 0);
    let page = "keep out ".repeat(20_000);
    site.serve("/a", Reply::new("403 Forbidden", &[], &page));
    let result = result(&run(&sandbox, 3));
    assert_eq!(result["state"], "forbidden");
    assert_eq!(result["observed"]["sha256"], sha256(&page));
    assert_eq!(result.get("not_archived"), None);
    assert_eq!(get(&sandbox, &["--any"]).code(0).out, page);
}

/// An error page with the bytes of the file is another response all the same.
#[test]
fn an_empty_error_page_is_no_revisit_of_an_empty_file() {
    let site = Site::with(&[("/a", "")]);
    let sandbox = Sandbox::new(&site.network());
    let file = format!("---\n{}", promise("/a", ""));
    sandbox.write(FILE, file);
    run(&sandbox, 0);
    site.serve("/a", Reply::new("403 Forbidden", &[], ""));
    run(&sandbox, 3);
    let captures = captures(&sandbox);
    assert_eq!(captures[1]["type"], "response");
    assert_eq!(captures[1]["status"], 403);
}

/// The archive has an alias under the name of its domain.
#[test]
fn an_alias_that_serves_the_same_takes_no_room() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&site.network_of(&["example.test", "alias.test"]));
    let file = format!("---\ncnames:\n- alias.test\n{}", promise("/a", "first"));
    sandbox.write(FILE, file);
    for _ in 0..2 {
        let ran = run(&sandbox, 0).json();
        let mut results = ran["results"].as_array().unwrap().iter();
        let alias = results.find(|result| result["url"] == "http://alias.test/a");
        let reason = alias.unwrap()["not_archived"].as_str().unwrap();
        assert_has(reason, "under the name of its domain");
    }
    let files = sandbox.files("archive", ".warc.gz");
    let mut all = files.iter().flat_map(|file| records(file));
    assert!(!all.any(|record| record.header.target_uri() == Some("http://alias.test/a")));
}

/// A redirect turned the POST into a GET at first: the answer to the POST is no revisit of that one.
#[test]
fn an_answer_to_a_post_is_no_revisit_of_an_answer_to_a_get() {
    let site = Site::with(&[("/target", "first")]);
    let sandbox = Sandbox::new(&format!(
        "[check]\nunsafe-methods = true\n{}",
        site.network()
    ));
    let file = promise("/a", "first") + "method: POST\nrequest-body: q\n";
    sandbox.write(FILE, format!("---\n{file}"));
    site.serve("/a", Reply::redirect(302, "/target"));
    run(&sandbox, 0);
    site.serve("/a", Reply::ok("first"));
    run(&sandbox, 0);
    assert_eq!(get(&sandbox, &["--data", "q"]).code(0).out, "first");
    run(&sandbox, 0);
    assert_eq!(get(&sandbox, &["--data", "q"]).code(0).out, "first");
    let site_url = "http://example.test/target";
    sandbox.ok(&["archive", "get", site_url]);
}

/// What a server sends while a state lasts is archived whenever it differs from what is archived.
#[test]
fn each_other_error_page_of_a_state_is_archived() {
    let (site, sandbox) = promised("");
    run(&sandbox, 0);
    let fine = sandbox.read(LEDGER);
    for (page, code, archived) in [
        ("keep out", 3, 2),
        ("keep out", 1, 2),
        ("keep out!", 1, 3),
        ("keep out!", 1, 3),
        ("keep out", 1, 4),
    ] {
        site.serve("/a", Reply::new("403 Forbidden", &[], page));
        let result = result(&run(&sandbox, code));
        assert_eq!(result["observed"]["sha256"], sha256(page));
        assert_eq!(result.get("not_archived"), None, "{page}");
        assert_eq!(get(&sandbox, &["--any"]).code(0).out, page);
        assert_eq!(captures(&sandbox).len(), archived, "{page}");
    }
    assert_has(&sandbox.read(LEDGER), "\nbad-response: sha256:");
    // The ledger of a URL that is fine has no more than before, but for the run in which it broke.
    site.serve("/a", Reply::ok("first"));
    run(&sandbox, 0);
    let now = sandbox.read(LEDGER);
    assert_eq!(now.lines().count(), fine.lines().count() + 2, "{now}");
    site.serve("/a", Reply::new("403 Forbidden", &[], "keep out"));
    run(&sandbox, 3);
    assert_eq!(get(&sandbox, &["--any"]).code(0).out, "keep out");
}

#[test]
fn each_other_incomplete_body_of_a_state_is_archived() {
    let (site, sandbox) = promised("");
    run(&sandbox, 0);
    for (start, archived) in [("fi", 2), ("fi", 2), ("fir", 3), ("other", 4)] {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_owned();
        let reply = Reply::raw(head + start).pause(Duration::from_millis(5));
        site.serve("/a", reply.close());
        let result = result(&run(&sandbox, 1));
        assert_eq!(result["state"], "truncated");
        let cause = result["not_archived"].as_str().unwrap();
        let expected = format!("only its first {} bytes: ", start.len());
        assert!(cause.starts_with(&expected), "{cause}");
        assert_eq!(get(&sandbox, &["--any"]).code(0).out, start);
        assert_eq!(captures(&sandbox).len(), archived, "{start}");
    }
}

/// Many servers write a number of their own into each error page.
#[test]
fn error_pages_that_always_differ_fill_neither_archive_nor_ledger() {
    let (site, sandbox) = promised("");
    for number in 0..8 {
        site.serve(
            "/a",
            Reply::new("403 Forbidden", &[], format!("request {number}")),
        );
        let ran = sandbox.urldb("run --format json");
        assert_eq!(result(&ran).get("not_archived"), None, "{number}");
    }
    let ledger = sandbox.read(LEDGER);
    let files = sandbox.files("archive", ".warc.gz").len();
    let enough = "8 other error pages or incomplete bodies of this URL are archived since it came \
                  into this state";
    for page in ["one more", "another"] {
        site.serve("/a", Reply::new("403 Forbidden", &[], page));
        let ran = sandbox.urldb("run --format json");
        assert_eq!(result(&ran)["not_archived"], enough);
    }
    sandbox.assert_file(LEDGER, &ledger);
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), files);
    // Another state begins anew.
    site.serve("/a", Reply::new("410 Gone", &[], "no more"));
    let ran = sandbox.urldb("run --format json");
    assert_eq!(result(&ran).get("not_archived"), None);
}
