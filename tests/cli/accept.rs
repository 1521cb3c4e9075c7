//! Promises made anew.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, network, promise, promises};
use crate::support::{Reply, Server};

fn changed() -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "new and longer"), ("/b", "NEW"), ("/c", "same")]);
    let sandbox = Sandbox::new(&site.network());
    let old = [("/a", "old"), ("/b", "old"), ("/c", "same")];
    sandbox.write(FILE, promises(&old));
    (site, sandbox)
}

#[test]
fn what_is_served_becomes_the_promise() {
    let (_site, sandbox) = changed();
    sandbox.exits(1, "check");
    sandbox
        .ok("accept --yes http://example.test/a")
        .says("accepted http://example.test/a");
    sandbox.assert_file(
        FILE,
        &promises(&[("/a", "new and longer"), ("/b", "old"), ("/c", "same")]),
    );
    sandbox.ok("accept --yes --all");
    sandbox.assert_file(
        FILE,
        &promises(&[("/a", "new and longer"), ("/b", "NEW"), ("/c", "same")]),
    );
    sandbox.ok("fmt --check");
    sandbox.ok("check");
}

#[test]
fn a_shuffled_file_gets_each_promise_where_it_belongs() {
    let (_site, sandbox) = changed();
    let shuffled = format!(
        "---\n\n\n{}# about a\n{}{}",
        promise("/c", "same"),
        promise("/b", "old"),
        promise("/a", "old")
    );
    sandbox.write(FILE, shuffled);
    sandbox.ok("accept --yes --all");
    sandbox.ok("check").says("URLs: 3 ok");
    let ran = sandbox.ok("list");
    assert_eq!(ran.out.lines().count(), 3);
}

#[test]
fn a_record_that_moves_while_its_url_is_fetched_gets_its_own_promise() {
    let sandbox = Sandbox::new("");
    let file = sandbox.path(FILE);
    // Another program adds a record, which is then on the line of the first.
    let server = Server::new(move |_| {
        fs::write(&file, promises(&[("/a", "a"), ("/b", "old")])).unwrap();
        Reply::ok("new")
    });
    let map = format!("example.test={}", server.address());
    sandbox.write(FILE, promises(&[("/b", "old")]));
    sandbox
        .ok(&["accept", "--yes", "--all", "--map", &map])
        .says("accepted http://example.test/b");
    sandbox.assert_file(FILE, &promises(&[("/a", "a"), ("/b", "new")]));
}

#[test]
fn redirects_and_types_are_accepted_as_what_they_are() {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    site.serve("/from", Reply::redirect(302, "/new"));
    site.serve("/new", Reply::ok("x"));
    site.serve(
        "/page",
        Reply::new("200 OK", &["Content-Type: text/plain"], "x"),
    );
    sandbox.write(
        FILE,
        "---\n---\n_path: /from\nredirects-to: http://example.test/old\n---\n_path: /page\n\
         content-type: text/html\n",
    );
    sandbox.ok("accept --yes --all");
    sandbox.assert_file(
        FILE,
        "---\n---\n_path: /from\nredirects-to: http://example.test/new\n---\n_path: /page\n\
         content-type: text/plain\n",
    );
    sandbox.ok("check");
}

#[test]
fn a_location_that_is_no_url_of_the_web_is_never_accepted() {
    for location in [
        "javascript:alert(1)",
        "data:text/html,x",
        "ftp://example.test/x",
        "file:///etc/passwd",
        "mailto:a@example.test",
        "http://",
        "http://a b.test/",
    ] {
        let site = Site::new();
        site.serve("/from", Reply::redirect(301, location));
        let rules = "/from /to 301\n";
        let source = "\n[source.rules]\nformat = \"redirects\"\npath = [\"_redirects\"]\nbase = \"http://example.test/\"\n";
        let sandbox = Sandbox::new(&format!("{}{source}", site.network()));
        sandbox.write("_redirects", rules);
        sandbox.ok("sync");
        let synced = sandbox.read(FILE);
        for command in ["accept -y --all", "accept -y --all --force"] {
            sandbox
                .exits(1, command)
                .complains("http://example.test/from redirects to no URL of http or https");
            assert_eq!(sandbox.read("_redirects"), rules, "{location}");
            sandbox.assert_file(FILE, &synced);
        }
        // Without a list.
        let sandbox = Sandbox::new(&site.network());
        let own = "---\n---\n_path: /from\nredirects-to: http://example.test/to\n";
        sandbox.write(FILE, own);
        sandbox.exits(1, "accept -y --all --force");
        sandbox.assert_file(FILE, own);
    }
}

#[test]
fn bytes_that_did_not_arrive_whole_cannot_be_accepted() {
    let (site, sandbox) = changed();
    let config = sandbox
        .read("urldb.toml")
        .replace("[check]\n", "[check]\nmax-body = 1000\n");
    sandbox.write("urldb.toml", config);
    site.serve("/a", Reply::ok("x".repeat(2000)));
    let before = sandbox.read(FILE);
    sandbox
        .exits(1, "accept --yes http://example.test/a")
        .complains("cannot be accepted");
    sandbox.assert_file(FILE, &before);
}

#[test]
fn nothing_is_accepted_without_being_asked() {
    let (_site, sandbox) = changed();
    let before = sandbox.read(FILE);
    sandbox
        .exits(2, "accept http://example.test/a")
        .complains("--yes");
    sandbox
        .ok("accept --yes")
        .says("no URL that the last run saw changed can be accepted");
    sandbox.assert_file(FILE, &before);
}

#[test]
fn without_a_target_all_that_the_last_run_saw_is_shown() {
    let (site, sandbox) = changed();
    for content in ["one\ntwo\n", "one\n2\n"] {
        site.serve("/a", Reply::ok(content));
        sandbox.write(FILE, promises(&[("/a", "one\ntwo\n"), ("/c", "same")]));
        sandbox.urldb("run");
    }
    let before = sandbox.read(FILE);
    let shown = "  differs\n    - two\n    + 2\nwould accept 1\n`urldb accept URL` accepts";
    sandbox.ok("accept").says(shown);
    sandbox.ok("accept -n --all").says("would accept 1, as");
    sandbox.assert_file(FILE, &before);
    sandbox
        .ok("accept --yes --all")
        .says("accepted 1, as promised 1\nthe next run closes incident ");
    sandbox
        .ok("run")
        .says("closed: http://example.test/a (1 accepted)");
}

#[test]
fn old_and_new_are_shown_and_counted() {
    let (site, sandbox) = changed();
    site.remove("/b");
    let ran = sandbox.exits(1, "accept --yes --all");
    assert_snapshot!(ran.out);
    assert_eq!(sandbox.exits(1, "accept --yes --all -q").out, "");
    let unknown = sandbox.exits(2, "accept http://example.test/none");
    unknown.complains("/none is not in the database");
}

#[test]
fn another_state_is_accepted_only_by_force_and_only_with_something_to_promise() {
    let (site, sandbox) = changed();
    let challenge = ["Cf-Mitigated: challenge", "Server: cloudflare"];
    site.serve("/a", Reply::new("200 OK", &challenge, "looks like one"));
    site.remove("/b");
    let before = sandbox.read(FILE);
    sandbox
        .exits(1, "accept --yes --all")
        .complains("/a is blocked, which only --force accepts")
        .says("accepted 0, refused 2, as promised 1");
    sandbox.assert_file(FILE, &before);
    sandbox
        .exits(1, "accept --yes --all --force")
        .complains("/b is gone, which cannot be accepted")
        .says("accepted 1, refused 1, as promised 1");
    sandbox.assert_file(
        FILE,
        &promises(&[("/a", "looks like one"), ("/b", "old"), ("/c", "same")]),
    );
}

#[test]
fn content_that_differs_each_time_is_accepted_only_by_force() {
    let count = AtomicUsize::new(100);
    let server =
        Server::new(move |_| Reply::ok(format!("{}", count.fetch_add(1, Ordering::SeqCst))));
    let sandbox = Sandbox::new(&network(server.address(), &["example.test"]));
    sandbox.write(FILE, promises(&[("/a", "old")]));
    sandbox
        .exits(1, "accept --yes --all")
        .complains("(content-unstable)")
        .says("accepted 0, refused 1");
    sandbox.assert_file(FILE, &promises(&[("/a", "old")]));
    sandbox.ok("accept --yes --all --force").says("accepted 1");
    sandbox.assert_file(FILE, &promises(&[("/a", "105")]));
}
