//! The loop over several runs: archive, ledger, history, mail, doubt.

use crate::archive::records;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises, sha256};
use crate::support::Reply;

const LEDGER: &str = "status/example.test.yaml";

/// A configuration that mails into a folder.
pub(crate) fn mailing(site: &Site) -> String {
    format!(
        "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"me@example.test\"]\nfolder = \"mail\"\n{}",
        site.network()
    )
}

/// A repository that promises what the site serves at these paths.
fn watched(pages: &[(&str, &str)]) -> (Site, Sandbox) {
    let site = Site::with(pages);
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(FILE, promises(pages));
    (site, sandbox)
}

#[test]
fn a_run_that_brings_nothing_new_adds_one_line() {
    let (_site, sandbox) = watched(&[("/a", "first"), ("/b", "second")]);
    sandbox.ok("run").says("URLs: 2 ok");
    let ledger = sandbox.read(LEDGER) + &sandbox.captures();
    assert_eq!(sandbox.history().len(), 1);
    let first = sandbox.files("archive", ".warc.gz");
    assert_eq!(first.len(), 1);

    sandbox.ok("run");
    assert_eq!(sandbox.read(LEDGER) + &sandbox.captures(), ledger);
    let history = sandbox.history();
    assert_eq!(history.len(), 2);
    assert_eq!(history[1]["due"], 2);
    let line = history[1].to_string();
    let fields: Vec<&String> = history[1].as_object().unwrap().keys().collect();
    let expected = ["run", "at", "base", "due", "verified", "states"];
    assert_eq!(fields, expected, "{line}");
    assert_eq!(history[1]["base"], history[0]["run"]);
    assert_eq!(history[1]["verified"], 2);
    assert_eq!(history[0]["unverified"], serde_json::json!([]));
    let mut files = sandbox.files("archive", ".warc.gz");
    files.retain(|file| !first.contains(file));
    assert_eq!(files.len(), 1);
    let kinds: Vec<String> = records(&files[0])
        .iter()
        .map(|record| record.field("WARC-Type").to_owned())
        .collect();
    assert_eq!(kinds, ["warcinfo", "revisit", "revisit"]);
    assert!(sandbox.mails().is_empty());
    assert!(!sandbox.path("status/outbox").exists());
}

#[test]
fn news_is_told_once_and_recovery_too() {
    let (site, sandbox) = watched(&[("/a", "first"), ("/b", "second"), ("/c", "third")]);
    sandbox.ok("run");

    site.serve("/a", Reply::ok("other"));
    site.remove("/b");
    sandbox.exits(1, "run").says(&[
        "broken[changed]: http://example.test/a",
        "broken[gone]: http://example.test/b",
    ]);
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 1);
    assert_eq!(mails[0].header("To"), "me@example.test");
    for part in [
        "http://example.test/a",
        "http://example.test/b",
        "URLs: 2 broken (2 new), 1 ok",
    ] {
        assert!(mails[0].text.contains(part), "{}", mails[0].text);
    }
    assert!(!mails[0].text.contains("http://example.test/c"));
    let ledger = sandbox.read(LEDGER);
    sandbox.exits(1, "run");
    assert_eq!(sandbox.mails().len(), 1, "nothing is news any more");
    sandbox.assert_file(LEDGER, &ledger);

    site.serve("/a", Reply::ok("first"));
    site.serve("/b", Reply::ok("second"));
    sandbox.ok("run").says("recovered: http://example.test/a");
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 2);
    assert!(
        mails
            .iter()
            .any(|mail| mail.text.matches("recovered: http").count() == 2)
    );
}

#[test]
fn a_server_error_is_news_only_when_confirmed() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    sandbox.ok("run");
    site.serve("/a", Reply::new("500 Oh No", &[], ""));
    sandbox
        .exits(3, "run")
        .says("unconfirmed[server-error]: http://example.test/a");
    assert!(sandbox.mails().is_empty());
    assert_has(&sandbox.read(LEDGER), "pending: server-error");
    sandbox
        .exits(1, "run")
        .says("broken[server-error]: http://example.test/a");
    assert_eq!(sandbox.mails().len(), 1);
    assert_lacks(&sandbox.read(LEDGER), "pending");
}

#[test]
fn a_doubtful_state_that_is_not_confirmed_is_no_news() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    sandbox.ok("run");
    let ledger = sandbox.read(LEDGER);
    for _ in 0..2 {
        site.serve("/a", Reply::new("503 Busy", &["Retry-After: 0"], ""));
        sandbox.exits(3, "run");
        site.serve("/a", Reply::ok("first"));
        sandbox.ok("run");
    }
    // Only the runs that failed are remembered.
    let after = sandbox.read(LEDGER);
    let (before_breaks, rest) = after.split_once("breaks:\n").unwrap();
    let failures = rest.lines().take_while(|line| line.starts_with("- 2"));
    assert_eq!(failures.count(), 2, "{after}");
    let rest = rest.lines().filter(|line| !line.starts_with("- 2"));
    let lines = before_breaks.lines().chain(rest);
    let dated = |line: &&str| !line.starts_with("updated: ");
    let before: Vec<&str> = ledger.lines().filter(dated).collect();
    assert_eq!(lines.filter(dated).collect::<Vec<_>>(), before);
    assert!(sandbox.mails().is_empty());
}

#[test]
fn blocked_urls_are_no_news_at_first() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    sandbox.ok("run");
    site.serve("/a", Reply::new("429 Slow Down", &["Retry-After: 0"], ""));
    for _ in 0..3 {
        sandbox.exits(3, "run").says("blocked");
    }
    assert!(sandbox.mails().is_empty());
    let history = sandbox.history();
    assert_eq!(history.len(), 4);
    for (line, before) in history[1..].iter().zip(&history) {
        assert_eq!(line["base"], before["run"]);
        assert_eq!(line["verified"], 0);
    }
}

#[test]
fn a_partial_run_forgets_nothing() {
    let (_site, sandbox) = watched(&[("/a", "first"), ("/b", "second")]);
    sandbox.ok("run");
    let ledger = sandbox.read(LEDGER);
    sandbox
        .ok("run http://example.test/b")
        .says("Checked 1 of 2 URLs (");
    sandbox.assert_file(LEDGER, &ledger);
    sandbox.ok("rm http://example.test/b");
    sandbox.ok("run");
    assert!(!sandbox.read(LEDGER).contains("/b"), "its record is gone");
}

#[test]
fn the_json_document_of_a_run_has_what_is_news() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    site.remove("/a");
    let document = sandbox.exits(1, "run --format json").json();
    assert_eq!(
        document["incidents"][0]["urls"][0]["url"],
        "http://example.test/a"
    );
    assert_eq!(document["incidents"][0]["state"], "gone");
    assert_eq!(
        document["results"][0]["promised"]["sha256"],
        sha256("first")
    );
}

#[test]
fn a_workflow_gets_annotations_and_a_summary() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    site.remove("/a");
    let bad = sandbox.read(FILE) + "---\n_path: /b\ncontent-length: five\n";
    sandbox.write(FILE, bad);
    site.serve("/b", Reply::ok("x"));
    let summary = sandbox.path("summary.md");
    sandbox
        .urldb_with_env("run --github",
            &[("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())],
        )
        .code(1)
        .says(&[
            "::error file=urldb/example.test.yaml,line=3,title=example.test/a answers 404 Not Found::",
            "::error file=urldb/example.test.yaml,line=8,title=`content-length` should be a number of bytes",
        ]);
    let summary = sandbox.read("summary.md");
    let gone = "### broken: `http://example.test/a` answers 404 Not Found\n";
    assert_has(&summary, gone);
    let mistake = "- **record:** urldb/example.test.yaml, line 8\n";
    assert_has(&summary, mistake);
}

#[test]
fn a_run_that_is_late_says_so() {
    let (_site, sandbox) = watched(&[("/a", "first")]);
    let line = |start: &str| {
        format!(
            "{{\"run\":\"{start}\",\"at\":\"{start}\",\"due\":1,\"verified\":1,\
             \"states\":{{\"ok\":1}},\"unverified\":[]}}\n"
        )
    };
    let daily = (1..6).map(|day| line(&format!("2026-10-0{day}T04:00:00Z")));
    sandbox.write("status/history/2026-10.jsonl", daily.collect::<String>());
    let summary = sandbox.path("summary.md");
    let late = "this run is late: the run before began";
    let usually = "at 2026-10-05 04:00 UTC, and runs usually begin every 24 hours";
    let env = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    // A run of a part of the database is no run that was due.
    let part = sandbox.urldb_with_env("run --path-prefix /a", &env);
    assert_lacks(&part.code(0).out, "late");
    let ran = sandbox.urldb_with_env("run --github", &env);
    ran.code(0).says(&[late, usually]);
    let summary = sandbox.read("summary.md");
    assert!(
        summary.contains(late) && summary.contains(usually),
        "{summary}"
    );
    assert_lacks(&sandbox.ok("run").out, "late");
}

#[test]
fn truncated_bodies_are_archived_as_truncated_and_not_in_the_ledger() {
    let site = Site::new();
    // Nothing is read beyond the promise.
    let archive = "[archive]\nmax-capture = 0\n";
    let sandbox = Sandbox::new(&format!("{}{archive}", site.network()));
    site.serve(
        "/cut",
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf").close(),
    );
    site.serve(
        "/endless",
        Reply::raw("HTTP/1.1 200 OK\r\n\r\n")
            .then([b'x'; 1000])
            .hang(),
    );
    let pages = [("/cut", "whole"), ("/endless", "right")];
    sandbox.write(FILE, promises(&pages));
    sandbox.exits(1, "run").says(&["truncated", "changed"]);
    let file = sandbox.files("archive", ".warc.gz").remove(0);
    let all = records(&file);
    for (path, truncated, end) in [
        ("/cut", "disconnect", "half"),
        ("/endless", "length", "xxxxxx"),
    ] {
        let response = all.iter().find(|record| {
            record.header.get("WARC-Type") == Some("response")
                && record.field("WARC-Target-URI").ends_with(path)
        });
        let response = response.unwrap();
        assert_eq!(response.field("WARC-Truncated"), truncated);
        assert!(
            response
                .block
                .ends_with(format!("\r\n\r\n{end}").as_bytes())
        );
    }
    let captures = sandbox.captures();
    let (broken_off, given_up) = captures.split_once("_path: /endless").unwrap();
    assert!(!broken_off.contains("digest"), "{captures}");
    // Where it is always given up at the same point, it need not be captured each time.
    assert!(given_up.contains("capture:"), "{captures}");
}

#[test]
fn failing_and_blocked_in_turns_is_news() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    let busy = Reply::new("503 Busy", &["Retry-After: 0"], "");
    let away = Reply::new("429 Enough", &["Retry-After: 0"], "");
    for reply in [&busy, &away] {
        site.serve("/a", reply.clone());
        sandbox.exits(3, "run");
    }
    let ledger = sandbox.read("status/example.test.yaml");
    for part in [
        "pending: blocked\n",
        "pending-count: 1\n",
        "pending-other-count: 1\n",
    ] {
        assert!(ledger.contains(part), "no {part:?} in {ledger}");
    }
    assert!(sandbox.mails().is_empty());
    site.serve("/a", busy);
    sandbox.exits(1, "run");
    assert_eq!(sandbox.mails().len(), 1);
    let ledger = sandbox.read("status/example.test.yaml");
    assert_lacks(&ledger, "pending");
}

#[test]
fn a_server_that_accepts_and_closes_accepts_connections() {
    let (site, sandbox) = watched(&[("/a", "first")]);
    site.serve("/a", Reply::default().close());
    let run = sandbox.exits(3, "run");
    assert_lacks(&run.out, "accepts no connection");
    run.says("closes the connection without an answer");
    let results = sandbox.urldb("check --format json").json();
    assert_eq!(results["results"][0]["reason"], "disconnected");
}

#[test]
fn no_url_is_broken_beside_a_mistake() {
    let (_site, sandbox) = watched(&[("/a", "first")]);
    let file = "urldb/example.test.yaml";
    let mistake = "---\n_path: /b\ncontent-length: five\n";
    sandbox.write(file, sandbox.read(file) + mistake);
    sandbox.exits(1, "run");
    let said = "URLs: 1 ok; mistakes: 1";
    sandbox.exits(1, "run").says(said);
}
