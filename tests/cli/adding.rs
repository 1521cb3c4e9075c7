//! What `add` promises of the answers that it sees.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::sandbox::{Sandbox, assert_lacks};
use crate::site::{FILE, Site, sha256};
use crate::support::{Reply, Server};

#[test]
fn add_records_the_content_type_and_the_redirect_when_asked() {
    let site = Site::with(&[]);
    let typed = |text: &str| Reply::new("200 OK", &[&format!("Content-Type: {text}")], "x");
    site.serve("/page", typed("Text/HTML; charset=utf-8"));
    site.serve("/moved", Reply::redirect(301, "/page#top"));
    site.serve("/found", Reply::redirect(302, "/page"));
    let sandbox = Sandbox::new(&site.network());
    let file = "urldb/example.test.yaml";
    let url = |path: &str| format!("http://example.test{path}");
    let add = |options: &[&str], paths: &[&str]| {
        let urls: Vec<String> = paths.iter().map(|path| url(path)).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        sandbox.urldb(&[&["add"], options, &urls].concat())
    };
    add(&[], &["/page"]).code(0).says("added");
    sandbox.assert_file(file, "---\n---\n_path: /page\n");
    add(&["--content-type"], &["/page", "/moved"])
        .code(0)
        .says(&[
            "updated http://example.test/page",
            "added http://example.test/moved",
        ]);
    add(&["--redirect"], &["/page", "/moved"]).code(0).says(&[
        "known http://example.test/page",
        "updated http://example.test/moved",
    ]);
    add(&["--static", "--content-type", "--redirect"], &["/found"])
        .code(0)
        .says("added");
    sandbox.assert_file(
        file,
        &format!(
            "---\n---\n_path: /found\ncontent-length: 1\ncontent-sha256: {}\n\
             content-type: Text/HTML\nredirects-to: http://example.test/page\n\
             ---\n_path: /moved\ncontent-type: X-301-Redirect\n\
             redirects-to: http://example.test/page#top\n\
             ---\n_path: /page\ncontent-type: Text/HTML\n",
            sha256("x")
        ),
    );
    sandbox.ok("lint");
    sandbox.ok("check").says("URLs: 3 ok");
    // Promises that are there stay.
    site.serve("/page", typed("text/plain"));
    add(&["--content-type"], &["/page"]).code(0).says("known");
    sandbox
        .exits(2, &["add", "--no-fetch", "--redirect", &url("/page")])
        .complains("--no-fetch");
}

#[test]
fn add_promises_no_type_and_no_redirect_that_is_odd() {
    let site = Site::with(&[("/untyped", "x"), ("/page", "x")]);
    let html = |status: &str| Reply::new(status, &["Content-Type: text/html"], "x");
    site.serve("/untyped", Reply::new("200 OK", &[], "x"));
    site.serve("/data.csv", html("200 OK"));
    site.serve("/later", html("202 Accepted"));
    site.serve("/login.csv", Reply::redirect(302, "/data.csv"));
    site.serve(
        "/secret",
        Reply::redirect(302, "http://u:pass@example.test/page"),
    );
    site.serve("/gone", Reply::redirect(302, "/nothing"));
    let blocked = ["Content-Type: text/html", "cf-mitigated: challenge"];
    site.serve("/blocked", Reply::new("200 OK", &blocked, "x"));
    let sandbox = Sandbox::new(&site.network());
    for (path, options, why) in [
        (
            "/untyped",
            &["--content-type"][..],
            "answers without a content type",
        ),
        (
            "/data.csv",
            &["--content-type"],
            "an HTML page in place of a file that ends in .csv",
        ),
        ("/later", &["--content-type"], "202"),
        ("/login.csv", &["--redirect"], "an HTML page in place of"),
        ("/secret", &["--redirect"], "credentials"),
        ("/gone", &["--content-type"], "404"),
        (
            "/blocked",
            &["--content-type", "--redirect"],
            "answers with",
        ),
    ] {
        let url = format!("http://example.test{path}");
        let ran = sandbox.urldb(&[&["add"], options, &[&url]].concat());
        let says = format!("{url} was not added: ");
        assert_lacks(&ran.err, "pass@");
        ran.code(1).complains(&[&says, why]);
    }
    assert!(!sandbox.path(FILE).exists());
}

#[test]
fn add_promises_no_type_and_no_redirect_that_differs_the_second_time() {
    for (option, replies, why) in [
        (
            "--content-type",
            ["text/a", "text/b"]
                .map(|kind| Reply::new("200 OK", &[&format!("Content-Type: {kind}")], "x")),
            "another content type from one fetch to the next",
        ),
        (
            "--redirect",
            ["/a", "/b"].map(|to| Reply::redirect(302, to)),
            "redirects elsewhere from one fetch to the next",
        ),
    ] {
        let asked = AtomicUsize::new(0);
        let server = Server::new(move |request| {
            if request.target != "/start" {
                return Reply::ok("end");
            }
            let number = asked.fetch_add(1, Ordering::Relaxed);
            replies[number % 2].clone()
        });
        let map = format!("example.test={}", server.address());
        let sandbox = Sandbox::new("");
        sandbox
            .exits(
                1,
                &["add", option, "--map", &map, "http://example.test/start"],
            )
            .complains(&["http://example.test/start was not added: ", why]);
    }
}
