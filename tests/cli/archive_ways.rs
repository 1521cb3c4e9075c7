//! What is kept besides good answers: redirects, failures, bodies that are too long.

use crate::archive::{Stored, records};
use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, Site, promise, sha256};
use crate::support::Reply;

/// `/old` redirects to `/mid`, and that to `/new`, where the bytes are.
fn redirected(config: &str) -> (Site, Sandbox) {
    let site = Site::with(&[("/new", "the bytes")]);
    site.serve("/old", Reply::redirect(301, "/mid"));
    site.serve("/mid", Reply::redirect(302, "/new"));
    let sandbox = Sandbox::new(&format!("{}{config}", site.network()));
    let file = format!("---\n{}", promise("/old", "the bytes"));
    sandbox.write(FILE, file);
    (site, sandbox)
}

/// What a run adds to the archive.
fn run(sandbox: &Sandbox, code: i32) -> Vec<Stored> {
    let before = sandbox.files("archive", ".warc.gz");
    sandbox.exits(code, "run");
    let mut after = sandbox.files("archive", ".warc.gz");
    after.retain(|file| !before.contains(file));
    after.iter().flat_map(|file| records(file)).collect()
}

/// Types and paths, without the warcinfo.
fn kinds(records: &[Stored]) -> Vec<String> {
    let records = records
        .iter()
        .filter(|record| record.field("WARC-Type") != "warcinfo");
    let kind = |record: &Stored| {
        let path = record
            .field("WARC-Target-URI")
            .replace("http://example.test", "");
        format!("{} {path}", record.field("WARC-Type"))
    };
    records.map(kind).collect()
}

#[test]
fn each_redirect_is_a_capture_of_its_own() {
    let (_site, sandbox) = redirected("");
    let all = run(&sandbox, 0);
    assert_eq!(
        kinds(&all),
        [
            "response /old",
            "request /old",
            "response /mid",
            "request /mid",
            "response /new",
            "request /new"
        ]
    );
    let old = String::from_utf8_lossy(&all[1].block);
    assert!(old.starts_with("HTTP/1.1 301 Moved\r\n"), "{old}");
    assert_has(&old, "\r\nlocation: /mid\r\n");
    assert!(old.ends_with("\r\n\r\nelsewhere"), "{old}");
    assert_eq!(all[1].header.get("WARC-Truncated"), None);
    assert_eq!(
        all[1].field("WARC-Payload-Digest"),
        format!("sha256:{}", sha256("elsewhere"))
    );
    assert_eq!(
        all[2].field("WARC-Concurrent-To"),
        all[1].field("WARC-Record-ID")
    );
    sandbox
        .ok("archive list http://example.test/mid")
        .says("  302  response  ");
    let get = sandbox.ok("archive get http://example.test/old");
    assert_eq!(get.out, "the bytes");
}

#[test]
fn redirects_are_archived_again_only_when_they_change() {
    let (site, sandbox) = redirected("");
    run(&sandbox, 0);
    let ledger = || sandbox.read("status/example.test.yaml") + &sandbox.captures();
    let before = ledger();
    assert_has(&before, "\nredirects: sha256:");
    assert_eq!(kinds(&run(&sandbox, 0)), ["revisit /new"]);
    assert_eq!(ledger(), before);
    site.serve("/new2", Reply::ok("the bytes"));
    site.serve("/mid", Reply::redirect(302, "/new2"));
    assert_eq!(
        kinds(&run(&sandbox, 0)),
        [
            "response /old",
            "request /old",
            "response /mid",
            "request /mid",
            "revisit /new2"
        ]
    );
    assert_eq!(kinds(&run(&sandbox, 0)), ["revisit /new2"]);
    site.serve("/old", Reply::ok("the bytes"));
    assert_eq!(kinds(&run(&sandbox, 0)), ["revisit /old"]);
    assert!(!ledger().contains("redirects"));
}

#[test]
fn a_long_page_of_a_redirect_is_cut() {
    let (site, sandbox) = redirected("");
    let page = "x".repeat(100_000);
    site.serve("/old", Reply::new("301 Moved", &["Location: /new"], page));
    let all = run(&sandbox, 0);
    assert_eq!(all[1].field("WARC-Truncated"), "length");
    assert!(all[1].block.len() < 20_000);
    assert_eq!(
        sandbox.ok("archive get http://example.test/old").out,
        "the bytes"
    );
}

#[test]
fn a_failure_without_an_answer_leaves_its_reason() {
    let (site, sandbox) = redirected("");
    site.serve("/mid", Reply::raw("").close());
    let all = run(&sandbox, 3);
    assert_eq!(
        kinds(&all),
        ["response /old", "request /old", "metadata /mid"]
    );
    let fields = String::from_utf8_lossy(&all[3].block);
    assert!(
        fields.starts_with("failure: disconnected\r\ndetail: "),
        "{fields}"
    );
    assert_eq!(all[3].field("Content-Type"), "application/warc-fields");
    // Once is enough, as long as it goes on; and then there are the bytes.
    assert_eq!(kinds(&run(&sandbox, 1)), [""; 0]);
    site.serve("/mid", Reply::redirect(302, "/new"));
    let all = run(&sandbox, 0);
    assert_eq!(kinds(&all).last().unwrap(), "request /new");
}

#[test]
fn refused_addresses_leave_no_capture() {
    let sandbox = Sandbox::new("");
    // A private address, which may not be asked.
    sandbox.write(
        "urldb/127.0.0.1.yaml",
        format!("---\n{}", promise("/a", "text")),
    );
    assert_eq!(kinds(&run(&sandbox, 3)), [""; 0]);
}

#[test]
fn a_body_over_the_cap_is_kept_up_to_it_and_once() {
    let site = Site::with(&[("/long", "1234567890")]);
    let sandbox = Sandbox::new(&format!("[check]\nmax-body = 4\n{}", site.network()));
    let digest = sha256("1234567890");
    sandbox.write(
        FILE,
        format!("---\n---\n_path: /long\ncontent-sha256: {digest}\n"),
    );
    let all = run(&sandbox, 3);
    assert_eq!(kinds(&all), ["response /long", "request /long"]);
    assert_eq!(all[1].field("WARC-Truncated"), "length");
    let block = String::from_utf8_lossy(&all[1].block);
    assert_has(&block, "\r\nX-Archive-Orig-content-length: 10\r\n");
    assert!(block.ends_with("\r\n\r\n12345"), "{block}");
    assert_eq!(kinds(&run(&sandbox, 3)), ["revisit /long"]);
}

#[test]
fn requests_beside_revisits_are_kept_where_they_are_wanted() {
    let (_site, sandbox) = redirected("[archive]\nrequests = \"all\"\n");
    run(&sandbox, 0);
    let all = run(&sandbox, 0);
    assert_eq!(kinds(&all), ["revisit /new", "request /new"]);
    assert_eq!(
        all[2].field("WARC-Concurrent-To"),
        all[1].field("WARC-Record-ID")
    );
}

#[test]
fn a_changed_body_is_a_capture_beside_the_old_one() {
    let (site, sandbox) = redirected("");
    run(&sandbox, 0);
    site.serve("/new", Reply::ok("THE BYTES"));
    assert_eq!(kinds(&run(&sandbox, 1)), ["response /new", "request /new"]);
    let get = |arguments: &[&str]| sandbox.ok(&[&["archive", "get"], arguments].concat()).out;
    assert_eq!(get(&["http://example.test/new"]), "THE BYTES");
    sandbox
        .exits(1, "archive diff http://example.test/new")
        .says(&["-the bytes", "+THE BYTES"]);
}
