//! Verdicts that need more than one URL, or what a page begins with.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::sandbox::{Case, Ran, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, closed_address, network, promise, promises, sha256};
use crate::support::{Reply, Request, Server};

#[test]
fn a_parking_page_is_not_taken_for_the_site() {
    let site = Site::new();
    let page = "<html data-adblockkey=\"x\"><p>Buy me";
    let parked = Reply::new("200 OK", &["Content-Type: text/html; charset=utf-8"], page);
    site.serve("/plain", parked.clone());
    site.serve("/static", parked.clone());
    site.serve("/kept", parked);
    let sandbox = Sandbox::new(&site.network());
    let kept = promises(&[("/kept", page), ("/static", "the data")]);
    let plain = "---\n_path: /plain\n";
    let (first, second) = kept.split_once("---\n_path: /static").unwrap();
    sandbox.write(FILE, format!("{first}{plain}---\n_path: /static{second}"));
    sandbox.exits(1, "check").says(&[
        "broken[gone]: example.test offers its domain for sale (2 of 3 URLs)",
        "answers with a parking page",
        "  /plain",
        "  /static",
    ]);
    // It is news when another run sees it too.
    sandbox.exits(3, "run").says("unconfirmed[gone]");
    sandbox
        .exits(1, "run")
        .says("broken[gone]: example.test offers its domain for sale");
    assert_has(&sandbox.read("status/example.test.yaml"), "reason: parked");
}

#[test]
fn an_alias_that_differs_is_asked_until_it_is_mended() {
    let pages = [("/a", "first"), ("/b", "second"), ("/c", "third")];
    let (site, mirror) = (Site::with(&pages), Site::with(&pages));
    let map = [site.map("example.test"), mirror.map("www.example.test")];
    let sandbox = Sandbox::new(&format!("[network]\nmap = {map:?}\n"));
    let promised = promises(&pages).replacen("---\n", "---\ncnames:\n- www.example.test\n", 1);
    sandbox.write(FILE, promised);
    sandbox.ok("run").says("URLs: 4 ok");
    let ledger = sandbox.read("status/example.test.yaml");
    assert_lacks(&ledger, "alias");
    assert_eq!(mirror.requests().len(), 1);
    let turn = mirror.requests()[0].target.clone();
    assert_eq!(
        mirror.requests()[0].header("host"),
        Some("www.example.test")
    );

    mirror.serve(&turn, Reply::ok("stale"));
    let url = format!("broken[alias-differs]: http://www.example.test{turn}");
    let ran = sandbox.exits(1, "run");
    let ran = ran.says(&[
        &url,
        "serves other bytes than example.test",
        "URLs: 1 broken (1 new), 3 ok",
    ]);
    assert_lacks(&ran.out, "[changed]");
    let ledger = sandbox.read("status/example.test.yaml");
    assert_has(&ledger, "alias: www.example.test");
    // It is nothing to accept.
    sandbox.ok("accept --all --yes");
    sandbox.ok("check http://example.test/a").says("URLs: 1 ok");

    mirror.serve(
        &turn,
        Reply::ok(pages.iter().find(|page| page.0 == turn).unwrap().1),
    );
    sandbox.ok("run").says("recovered: http://www.example.test");
    assert_lacks(&sandbox.read("status/example.test.yaml"), "alias");
}

#[test]
fn each_scheme_is_judged_by_itself_and_named() {
    // A server without TLS.
    let site = Site::with(&[("/a", "first")]);
    let impatient = "[check]\nretries = 0\nconnect-timeout = \"200ms\"\n";
    let sandbox = Sandbox::new(&format!("{impatient}{}", site.network()));
    let promised = promises(&[("/a", "first")]).replacen("---\n", "---\nhttps: true\n", 1);
    sandbox.write(FILE, &promised);
    sandbox.exits(1, "check").says(&[
        "broken[unreachable]: https://example.test/a",
        "URLs: 1 broken, 1 ok",
    ]);
    sandbox.write(FILE, promised.replace("https: true", "http: false"));
    let document = sandbox.exits(1, "check --format json").json();
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["url"], "https://example.test/a");
}

#[test]
fn pages_are_asked_for_their_official_url() {
    let site = Site::new();
    let html = |page: &str| Reply::new("200 OK", &["Content-Type: text/html"], page);
    let other = "<link rel=canonical href=/elsewhere>";
    site.serve("/good", html("<link rel=canonical href=/good>"));
    site.serve("/none", html("<p>hello"));
    site.serve("/other", html(other));
    site.serve("/static", html(other));
    site.serve("/text", Reply::ok(other));
    site.serve("/to-other", Reply::redirect(302, "/other"));
    let sandbox = Sandbox::new(&format!("[check]\ncanonical = true\n{}", site.network()));
    let records = ["/good", "/none", "/other"].map(|path| format!("---\n_path: {path}\n"));
    let rest = ["/text", "/to-other"].map(|path| format!("---\n_path: {path}\n"));
    let bytes = promise("/static", other);
    sandbox.write(
        FILE,
        format!("---\n{}{bytes}{}", records.concat(), rest.concat()),
    );
    let ran = sandbox.ok("check").says(&[
        "warning[canonical-missing]: http://example.test/none names no official URL",
        "its official one is\n            http://example.test/none",
        "warning[canonical-differs]: http://example.test/other",
        "names http://example.test/elsewhere as canonical",
        "warning[canonical-differs]: http://example.test/static",
        "URLs: 6 ok",
    ]);
    assert_eq!(ran.out.matches("canonical-").count(), 3, "{}", ran.out);
    let ran = sandbox.ok("check --format json").json();
    assert_eq!(ran["summary"]["counts"]["warnings"], 3);
    assert_eq!(ran["results"][1]["warnings"][0], "canonical-missing");
    // What was read for that alone is not taken for content.
    sandbox.ok("run");
    let captures = sandbox.captures();
    assert_eq!(captures.matches("digest").count(), 1, "{captures}");

    let quiet = "[check.host.\"example.test\"]\ncanonical = false\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + quiet);
    let ran = sandbox.ok("check");
    assert_lacks(&ran.out, "canonical");
}

#[test]
fn a_run_in_which_no_host_answers_is_inconclusive() {
    let sandbox = Sandbox::new(&network(closed_address(), &["example.test", "other.test"]));
    let promised = promises(&[("/a", "first")]);
    sandbox.write(FILE, &promised);
    sandbox.write("urldb/other.test.yaml", &promised);
    for _ in 0..3 {
        sandbox.exits(3, "run").says(&[
            "URLs: 2 not checked, 0 ok",
            "unknown[inconclusive]: 2 hosts could not be reached (2 of 2 URLs)",
            "our own network",
        ]);
    }
    sandbox
        .exits(1, "check -d example.test")
        .says("broken[unreachable]: http://example.test/a");

    let site = Site::with(&[("/a", "first")]);
    sandbox
        .exits(1, &["check", "--map", &site.map("other.test")])
        .says("URLs: 1 broken, 1 ok");
}

#[test]
fn add_and_accept_blame_no_host_when_nobody_answers() {
    let sandbox = Sandbox::new(&network(closed_address(), &["example.test", "other.test"]));
    let (here, there) = ("http://example.test/a", "http://other.test/a");
    let cause = "no host answered in this run, so it may be our own network";
    sandbox
        .exits(1, &["add", "--static", here, there])
        .complains(&[
            &format!("{here} was not added: {cause}"),
            &format!("{there} was not added: {cause}"),
        ]);
    // Of a single host nobody can tell.
    let alone = sandbox.exits(1, &["add", "--static", here]);
    assert_lacks(&alone.err, "our own network");

    sandbox.write("urls.txt", format!("{here}\n{there}\n"));
    sandbox
        .exits(1, "import list urls.txt --static")
        .complains(&[
            &format!("{here} has no digest: {cause}"),
            &format!("{there} has no digest: {cause}"),
        ]);
    sandbox.exits(1, "accept --all --yes").complains(&format!(
        "{here} is inconclusive, which cannot be accepted: {cause}"
    ));
}

#[test]
fn files_that_we_may_not_open_are_no_failure_of_servers() {
    let site = Site::new();
    // Each connection is held for a while, and not kept.
    let slow = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nfirst";
    let pause = std::time::Duration::from_millis(300);
    site.serve("/a", Reply::default().pause(pause).then(slow).close());
    let hosts: Vec<_> = (0..60).map(|number| format!("h{number}.test")).collect();
    let network = site.network_of(&hosts);
    let check = |settings: &str, files: u32| {
        let sandbox = Sandbox::new(&format!("{settings}{network}"));
        for host in &hosts {
            sandbox.write(&format!("urldb/{host}.yaml"), promises(&[("/a", "first")]));
        }
        sandbox.urldb_with_limit(&format!("-n {files}"), "check")
    };
    let ran = check("[check]\nconcurrency = 32\n", 24).code(3);
    let ran = ran.says("too many open files");
    assert_lacks(&ran.out, "unreachable");
    // Without a number of its own, a run keeps to what it may open.
    check("", 64).code(0);
}

/// A database that is read a second time while fetching goes on, and the answers of its server.
fn read_twice(server: &Server) -> Sandbox {
    let hosts: Vec<_> = (0..1_100)
        .map(|number| format!("h{number:04}.test"))
        .collect();
    let network = network(server.address(), &hosts);
    let sandbox = Sandbox::new(&format!("[check]\nhost-interval = \"0s\"\n{network}"));
    for host in &hosts {
        sandbox.write(&format!("urldb/{host}.yaml"), promises(&[("/a", "first")]));
    }
    sandbox
}

/// Checks a database with few open files, so that few of its files are read at the same time.
fn check_with_few_files(sandbox: &Sandbox) -> Ran {
    sandbox.urldb_with_limit("-n 200", "check")
}

#[test]
fn more_hosts_than_files_that_we_may_open_are_all_asked() {
    let server = Server::new(|_| Reply::ok("first"));
    check_with_few_files(&read_twice(&server))
        .code(0)
        .says(&["URLs: 1,100 ok", "Checked 1,100 of 1,100 URLs"]);
}

#[test]
fn a_file_that_cannot_be_read_a_second_time_is_no_success() {
    let database: Arc<OnceLock<PathBuf>> = Arc::default();
    let folder = Arc::clone(&database);
    let was_asked = AtomicBool::new(false);
    let server = Server::new(move |_| {
        if !was_asked.swap(true, Ordering::SeqCst) {
            let last = folder.get().unwrap().join("h1099.test.yaml");
            std::fs::remove_file(&last).unwrap();
            std::fs::create_dir(&last).unwrap();
        }
        Reply::ok("first")
    });
    let sandbox = read_twice(&server);
    database.set(sandbox.path("urldb")).unwrap();
    let trouble = "urldb/h1099.test.yaml was read before the first request, and not a second time";
    check_with_few_files(&sandbox)
        .code(2)
        .says(&[
            "URLs: 1 not checked, 1,099 ok",
            "Checked 1,099 of 1,100 URLs",
        ])
        .complains(trouble);
}

/// A sandbox with a static record of each host, all of which one server answers.
fn hosts_behind(server: &Server, hosts: &[&str], text: &str) -> Sandbox {
    let sandbox = Sandbox::new(&network(server.address(), hosts));
    for host in hosts {
        sandbox.write(&format!("urldb/{host}.yaml"), promises(&[("/a", text)]));
    }
    sandbox
}

#[test]
fn a_page_that_answers_for_all_hosts_is_no_news_at_once() {
    let is_portal = Arc::new(AtomicBool::new(true));
    let (portal, hosts) = (
        Arc::clone(&is_portal),
        ["one.test", "two.test", "three.test"],
    );
    let server = Server::new(move |_| {
        if portal.load(Ordering::SeqCst) {
            Reply::new(
                "200 OK",
                &["Content-Type: text/html"],
                "<title>Log in</title>",
            )
        } else {
            Reply::ok("first")
        }
    });
    let sandbox = hosts_behind(&server, &hosts, "first");
    sandbox
        .exits(3, "check")
        .says("Probably the network of this machine failed.");
    sandbox.exits(3, "run");
    assert!(
        sandbox
            .history()
            .iter()
            .all(|run| run["changes"].as_array().is_none_or(Vec::is_empty))
    );
    // Home again: nothing has happened.
    is_portal.store(false, Ordering::SeqCst);
    sandbox.ok("run");
    // A page that stays is told.
    is_portal.store(true, Ordering::SeqCst);
    sandbox.exits(3, "run");
    sandbox.exits(1, "run");
    let ledger = sandbox.read("status/one.test.yaml");
    assert_has(&ledger, "state: changed");
}

/// A portal also keeps the promise of a record without bytes.
#[test]
fn a_page_that_answers_for_all_hosts_keeps_no_promise() {
    let page = "<title>Log in</title>".to_owned() + &" ".repeat(2000);
    let server = Server::new(move |_| Reply::new("200 OK", &["Content-Type: text/html"], &page));
    let sandbox = hosts_behind(&server, &["one.test", "two.test", "three.test"], "first");
    for host in ["two", "three"] {
        sandbox.write(
            &format!("urldb/{host}.test.yaml"),
            "---\n---\n_path: /any\n",
        );
    }
    for command in ["check", "run"] {
        sandbox.exits(3, &[command]).says(&[
            "our own network",
            "hosts of 3 domains",
            "Probably the network of this machine failed.",
            "(3 of 3 URLs)",
        ]);
    }
    // The static record is news when another run agrees; what is believed of the others stays.
    sandbox.exits(1, "run").says(&[
        "our own network",
        "2 hosts gave the same page as other hosts",
    ]);
    let ledger = sandbox.read("status/one.test.yaml");
    assert_has(&ledger, "state: changed");
    assert!(!sandbox.path("status/two.test.yaml").exists());
    // Without a promise of bytes, nobody can tell such a page from the default page of a server.
    std::fs::remove_file(sandbox.path("urldb/one.test.yaml")).unwrap();
    sandbox.ok("check").says("URLs: 2 ok");
}

#[test]
fn what_a_coding_hides_is_promised_decoded() {
    let plain = "plain text, plain text, plain text, plain text, plain text";
    let gzip = |text: &str| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    let coded = |coding: &str, bytes: Vec<u8>| {
        Reply::new("200 OK", &[&format!("Content-Encoding: {coding}")], bytes)
    };
    site.serve("/a", coded("gzip", gzip(plain)));
    let a = "http://example.test/a";
    sandbox.ok(&["add", "--static", a]);
    sandbox.assert_file(FILE, &promises(&[("/a", plain)]));
    let other = plain.replace("plain", "other");
    site.serve("/a", coded("gzip", gzip(&other)));
    sandbox.exits(1, "check").says(&format!(
        "served    {} bytes, SHA-256 {}",
        other.len(),
        &sha256(&other)[..12]
    ));
    sandbox.ok(&["accept", "--yes", a]);
    sandbox.assert_file(FILE, &promises(&[("/a", &other)]));

    site.serve("/b", coded("br", gzip(plain)));
    site.serve("/c", coded("gzip", gzip(plain)[..20].to_vec()));
    for path in ["/b", "/c"] {
        let url = format!("http://example.test{path}");
        sandbox
            .exits(1, &["add", "--static", &url])
            .complains(&["was not added", "coding"]);
    }
    site.serve("/a", coded("br", gzip(plain)));
    sandbox.exits(1, &["accept", "--yes", "--force", a]);
    sandbox.assert_file(FILE, &promises(&[("/a", &other)]));
}

#[test]
fn one_odd_answer_is_never_promised() {
    let count = AtomicUsize::new(0);
    let html = ["Content-Type: text/html"];
    let server = Server::new(move |request: &Request| match request.target.as_str() {
        "/odd" if count.fetch_add(1, Ordering::SeqCst) == 0 => Reply::ok("odd"),
        "/odd" => Reply::ok("content"),
        "/later" => Reply::new("202 Accepted", &[], "later"),
        "/data.csv" => Reply::new("200 OK", &html, "<title>Back soon</title>"),
        _ => Reply::new("200 OK", &["cf-mitigated: challenge"], "are you human?"),
    });
    let sandbox = Sandbox::new(&network(server.address(), &["example.test"]));
    for (path, cause) in [
        ("odd", "content-unstable"),
        ("later", "202"),
        (
            "data.csv",
            "an HTML page in place of a file that ends in .csv",
        ),
        ("challenge", "challenge"),
    ] {
        let url = format!("http://example.test/{path}");
        sandbox
            .exits(1, &["add", "--static", &url])
            .complains(&["was not added", cause]);
    }
    assert!(!sandbox.path(FILE).exists());
    let old = promises(&[("/data.csv", "a,b"), ("/later", "old")]);
    sandbox.write(FILE, &old);
    sandbox.exits(1, "accept --yes --all").complains(&[
        "/data.csv",
        "an HTML page",
        "/later",
        "202",
    ]);
    sandbox.assert_file(FILE, &old);
}

#[test]
fn one_odd_redirect_is_never_accepted() {
    let count = AtomicUsize::new(0);
    let server = Server::new(move |request: &Request| match request.target.as_str() {
        "/a" if count.fetch_add(1, Ordering::SeqCst) == 0 => Reply::redirect(302, "/maintenance"),
        "/a" => Reply::redirect(302, "/new"),
        _ => Reply::ok("x"),
    });
    let sandbox = Sandbox::new(&network(server.address(), &["example.test"]));
    let record = "---\n---\n_path: /a\nredirects-to: http://example.test/old\n";
    sandbox.write(FILE, record);
    sandbox
        .exits(1, "accept --yes --all")
        .complains("redirects elsewhere from one fetch to the next");
    sandbox.assert_file(FILE, &record);
}

#[test]
fn head_compares_the_announced_length_and_has_no_digest() {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    site.serve(
        "/a",
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"),
    );
    let record =
        |length: u64| format!("---\n---\n_path: /a\ncontent-length: {length}\nmethod: HEAD\n");
    sandbox.write(FILE, record(12));
    sandbox.ok("check");
    sandbox.write(FILE, record(13));
    sandbox
        .exits(1, "check")
        .says(&["promised  13 bytes", "announces 12 bytes"]);
    sandbox.ok("accept --yes --all");
    sandbox.assert_file(FILE, &record(12));
    let digest = format!("content-sha256: {}\nmethod", sha256("x"));
    sandbox.write(FILE, record(12).replace("method", &digest));
    sandbox.exits(1, "lint").says(&["bad-digest", "HEAD"]);
}

/// Too few files for a run at all: the program says so, and calls no URL unreachable.
#[test]
fn a_tiny_limit_of_open_files_is_named() {
    let site = Site::with(&[("/a", "first")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first")]));
    for limit in [8, 12, 15, 17] {
        let _case = Case(limit);
        let ran = sandbox.urldb_with_limit(&format!("-n {limit}"), "check");
        let ran = ran.code(2).complains(&["open files", "ulimit -n"]);
        assert_lacks(&ran.err, "ca-certificates");
    }
}

/// A site with pages of documentation, two of which are about challenges, and a run that saw them.
fn site_about_challenges() -> (Site, Sandbox) {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    for (path, text) in ABOUT_CHALLENGES {
        site.serve(path, html("200 OK", &[], text));
    }
    sandbox.write(FILE, promises(&ABOUT_CHALLENGES));
    sandbox.ok("run");
    let ledger = sandbox.read("status/example.test.yaml");
    let known = ledger.matches("text-of-challenge: true").count();
    assert_eq!(known, 2, "{ledger}");
    (site, sandbox)
}

const ABOUT_CHALLENGES: [(&str, &str); 3] = [
    (
        "/cookies",
        "<title>Enable cookies</title> Requires cookies.",
    ),
    ("/other", "<p>Nothing of the kind."),
    (
        "/script",
        "<p>The page sets <code>window._cf_chl_opt</code>.",
    ),
];

fn html(status: &str, headers: &[&str], text: &str) -> Reply {
    Reply::new(
        status,
        &[&["Content-Type: text/html"], headers].concat(),
        text,
    )
}

/// The promised bytes have the same words. It stays so until the promise is kept or changed.
#[test]
fn an_edited_page_about_challenges_is_changed() {
    let (site, sandbox) = site_about_challenges();
    for (path, text) in ABOUT_CHALLENGES {
        site.serve(path, html("200 OK", &[], &format!("{text} Edited.")));
    }
    for _ in 0..3 {
        let ran = sandbox.exits(1, "run");
        assert_has(&ran.out, "URLs: 3 broken");
        assert_lacks(&ran.out, "blocked");
    }
}

/// An error has no promised bytes, a header is no text, and nobody has seen such words on the third page.
#[test]
fn a_challenge_in_place_of_a_page_about_challenges_is_one() {
    let (site, sandbox) = site_about_challenges();
    let mark = ["CF-Mitigated: challenge"];
    site.serve("/cookies", html("200 OK", &mark, "Enable cookies"));
    site.serve("/other", html("200 OK", &[], ABOUT_CHALLENGES[0].1));
    site.serve("/script", html("503 Wait", &[], "window._cf_chl_opt = {}"));
    sandbox
        .exits(3, "run")
        .says(&["unconfirmed[blocked]", "3 of 3 URLs"]);
}
