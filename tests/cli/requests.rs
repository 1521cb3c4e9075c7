//! Records that ask with more than GET, from add to archive.

use crate::archive::records;
use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, Site, sha256};

const FORM: &str = "http://example.test/form";

#[test]
fn a_request_is_added_with_its_body() {
    let site = Site::with(&[("/form", "answer")]);
    let network = site.network();
    let sandbox = Sandbox::new(&format!("[check]\nunsafe-methods = true\n{network}"));
    sandbox.write("query.json", "{\"a\": [1, \"x\"]}\n");
    let add = |more: &[&str]| {
        let data = ["add", "--static", "--data", "@query.json", FORM];
        sandbox.urldb(&[&data, more].concat())
    };
    let json = ["--request-content-type", "application/json"];
    let token = ["--header", "X-Token: one: two"];
    add(&[json, token].concat())
        .code(0)
        .says("added POST http://example.test/form in urldb/example.test.yaml");
    let asked = &site.requests()[0];
    assert_eq!(asked.method, "POST");
    assert_eq!(asked.body, b"{\"a\": [1, \"x\"]}\n");
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.header("x-token"), Some("one: two"));
    let record = format!(
        "_path: /form\ncontent-length: 6\ncontent-sha256: {}\nmethod: POST\n\
         request-body: '{{\"a\": [1, \"x\"]}}\n\n  '\nrequest-content-type: application/json\n\
         request-headers:\n  X-Token: 'one: two'\n",
        sha256("answer")
    );
    let file = format!("---\n---\n{record}");
    sandbox.assert_file(FILE, &file);
    add(&json).code(0).says("known POST");
    // Another content type, and so another request.
    add(&[]).code(0).says("added POST");
    sandbox.ok("lint");
    sandbox.ok(&["add", FORM]).says("added http");
    assert_eq!(sandbox.ok("list").out.lines().count(), 3);
    sandbox.ok("check").says("URLs: 3 ok");
}

#[test]
fn a_body_may_come_from_anywhere_as_long_as_it_is_text() {
    let sandbox = Sandbox::new("");
    let add = |data, input: &str| {
        let command = ["add", "--no-fetch", "--method", "PUT", "--data", data, FORM];
        sandbox.urldb_with_input(&command, input)
    };
    add("@-", "line\r\n\u{1}\u{85}\u{feff}é").code(0);
    sandbox.ok("lint");
    add("@-", "line\r\n\u{1}\u{85}\u{feff}é")
        .code(0)
        .says("known PUT");
    add("text", "").code(0).says("added PUT");
    sandbox.write("binary", b"ab\xff");
    let before = sandbox.tree("urldb");
    add("@binary", "")
        .code(2)
        .complains(&["binary is not UTF-8 (byte 3)", "binary data"]);
    add("@missing", "")
        .code(2)
        .complains("cannot read the body from missing");
    add("@-", &"x".repeat((1 << 20) + 1))
        .code(2)
        .complains("standard input is too large");
    assert_eq!(sandbox.tree("urldb"), before);
}

#[test]
fn add_refuses_contradictory_request_options() {
    let sandbox = Sandbox::new("");
    let before = sandbox.tree("");
    for (options, complaint) in [
        (&["--method", "post"][..], "upper case, such as POST"),
        (&["--method", "GET", "--data", "a"], "a GET sends no body"),
        (&["--request-content-type", "text/plain"], "--data <DATA>"),
        (&["--header", "no colon"], "is no header"),
        (
            &["--header", "A: 1", "--header", "A: 2"],
            "the header A is given twice",
        ),
        (&["--header", "A: 1\n2"], "control character"),
        (&["--data", "@-", "-"], "standard input is either"),
        (
            &[
                "--data",
                "a",
                "--request-content-type",
                "text/plain",
                "--header",
                "Content-Type: b/c",
            ],
            "given twice",
        ),
    ] {
        let command = [&["add", "--no-fetch", FORM][..], options].concat();
        sandbox.exits(2, &command).complains(complaint);
    }
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn unsafe_requests_are_added_but_not_sent_without_unsafe_methods() {
    let site = Site::with(&[("/form", "answer")]);
    let sandbox = Sandbox::new(&site.network());
    let add = ["add", "--data", "a=b", FORM];
    sandbox
        .exits(1, &add)
        .complains(&["was not added", "unsafe-methods = true"]);
    sandbox
        .ok(&[&add[..], &["--no-fetch"]].concat())
        .says("added POST")
        .complains(&[
            "POST may change something on example.test",
            "is not sent before",
        ]);
    assert!(site.requests().is_empty());
}

#[test]
fn answers_are_archived_under_their_requests() {
    let site = Site::with(&[("/form", "answer")]);
    let network = site.network();
    let sandbox = Sandbox::new(&format!("[check]\nunsafe-methods = true\n{network}"));
    let form = [
        "--request-content-type",
        "application/x-www-form-urlencoded",
    ];
    for data in ["q=a%20b", "q=c"] {
        let command = [&["add", "--static", "--data", data, FORM][..], &form].concat();
        sandbox.ok(&command);
    }
    sandbox.ok(&["add", "--static", FORM]);
    for _ in 0..2 {
        sandbox.ok("run");
    }
    let index = sandbox.index();
    let lines: Vec<urldb_warc::CdxjLine> = index
        .lines()
        .map(|line| urldb_warc::CdxjLine::parse(line).unwrap())
        .collect();
    let keys: Vec<&str> = lines.iter().map(|line| line.key.as_str()).collect();
    let [get, ab, c] = [
        "test,example)/form",
        "test,example)/form?__wb_method=post&q=a%20b",
        "test,example)/form?__wb_method=post&q=c",
    ];
    assert_eq!(keys, [get, get, ab, ab, c, c]);
    let asked = lines[2].request.as_ref().unwrap();
    assert_eq!(
        (asked.method.as_str(), asked.body.as_str()),
        ("POST", "q=a b")
    );
    assert!(lines[0].request.is_none());
    assert!(lines.iter().all(|line| line.url == FORM));

    let files = sandbox.files("archive", ".warc.gz");
    let all: Vec<_> = files.iter().flat_map(|file| records(file)).collect();
    let mut refers_to: Vec<&str> = all
        .iter()
        .filter_map(|record| record.header.get("WARC-Refers-To-Target-URI"))
        .collect();
    // They are archived as they come in.
    refers_to.sort_unstable();
    let base = "http://example.test/form?__wb_method=POST";
    assert_eq!(
        refers_to,
        [FORM, &format!("{base}&q=a%20b"), &format!("{base}&q=c")]
    );
    let sent = |body: &str| {
        let posts = all
            .iter()
            .filter(|record| record.field("WARC-Type") == "request");
        posts
            .filter(|record| record.block.ends_with(body.as_bytes()))
            .count()
    };
    assert_eq!((sent("q=a%20b"), sent("q=c")), (2, 2));
    sandbox.ok("archive index");
    assert_eq!(sandbox.index(), index);
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
    let ledger = sandbox.read("status/example.test.yaml");
    assert_has(&ledger, "request: __wb_method=POST&__wb_post_data=q%3Dc");
}
