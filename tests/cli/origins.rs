//! The records about who answered, in archives, ledgers and lists.

use std::collections::BTreeSet;

use crate::archive::{Stored, records};
use crate::archive_wacz::Package;
use crate::certificates::{Authority, Kind};
use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, network, promises};
use crate::support::{Reply, Server};

const PAGES: [(&str, &str); 2] = [("/a", "first"), ("/b", "second")];

/// A server over TLS whose certificate is new each time.
fn server(authority: &Authority) -> Server {
    let tls = authority.server(&[Kind::Good], "example.test");
    Server::tls(tls, |request| {
        let page = PAGES.iter().find(|(path, _)| *path == request.target);
        page.map_or_else(
            || Reply::new("404 Not Found", &[], ""),
            |(_, text)| Reply::ok(text).close(),
        )
    })
}

fn sandbox(authority: &Authority, server: &Server) -> Sandbox {
    let sandbox = Sandbox::new("");
    switch(&sandbox, authority, server);
    let file = promises(&PAGES).replacen("---\n", "---\nhttp: false\nhttps: true\n", 1);
    sandbox.write(FILE, file);
    sandbox
}

fn switch(sandbox: &Sandbox, authority: &Authority, server: &Server) {
    let network = network(server.address(), &["example.test"]);
    let file = authority.file().display();
    let config = format!("{network}ca-file = \"{file}\"\n[check]\nhost-interval = \"0s\"\n");
    sandbox.write("urldb.toml", config);
}

fn all(sandbox: &Sandbox) -> Vec<Stored> {
    let files = sandbox.files("archive", ".warc.gz");
    files.iter().flat_map(|file| records(file)).collect()
}

fn certificates(all: &[Stored]) -> Vec<&Stored> {
    let is_chain =
        |it: &&Stored| it.header.get("Content-Type") == Some("application/pem-certificate-chain");
    all.iter().filter(is_chain).collect()
}

#[test]
fn certificates_are_archived_once_and_after_each_change() {
    let authority = Authority::new();
    let first = server(&authority);
    let sandbox = sandbox(&authority, &first);
    sandbox.ok("run");
    let known = sandbox.tree("status/origins");
    assert_eq!(known.len(), 1, "{known:?}");
    sandbox.ok("run");
    assert_eq!(sandbox.tree("status/origins"), known, "a quiet day");
    let second = server(&authority);
    switch(&sandbox, &authority, &second);
    sandbox.ok("run");
    switch(&sandbox, &authority, &first);
    sandbox.ok("run");

    let stored = all(&sandbox);
    let chains = certificates(&stored);
    assert_eq!(chains.len(), 3);
    // Their order is that of the changes, even within a second.
    let dates: Vec<&str> = chains.iter().map(|it| it.field("WARC-Date")).collect();
    assert!(dates[0] < dates[1] && dates[1] < dates[2], "{dates:?}");
    for chain in &chains {
        assert_eq!(chain.field("WARC-Type"), "metadata");
        assert_eq!(chain.field("WARC-Target-URI"), "tls:example.test:443");
        assert_eq!(chain.field("WARC-Protocol"), "tls/1.3");
        assert_eq!(chain.field("WARC-IP-Address"), "127.0.0.1");
        assert!(chain.block.starts_with(b"-----BEGIN CERTIFICATE-----\n"));
        // The capture that showed it first names it.
        let is_named = |it: &&Stored| {
            it.header.get("WARC-Concurrent-To") == Some(chain.field("WARC-Record-ID"))
                && it.field("WARC-Target-URI").starts_with("https:")
        };
        assert!(stored.iter().any(|it| is_named(&it)));
    }
    assert_eq!(chains[0].block, chains[2].block);
    assert_ne!(chains[0].block, chains[1].block);
    assert!(
        !stored.iter().any(|it| it.field("WARC-Type") != "warcinfo"
            && it.field("WARC-Target-URI").starts_with("dns:"))
    );

    // Each capture leads to the chain of its day.
    let lines = sandbox.ok("archive list --origin --format jsonl https://example.test/a");
    let lines = lines.json_lines();
    let led: Vec<&serde_json::Value> = lines
        .iter()
        .map(|line| &line["origin"]["records"][0]["date"])
        .collect();
    assert_eq!(led, [dates[0], dates[0], dates[1], dates[2]]);
    assert_eq!(lines[0]["origin"]["address"], "127.0.0.1");
    let list = sandbox.ok("archive list --origin https://example.test/a");
    list.says(&format!("      tls:example.test:443  {}  CN=", dates[1]));
    let of_then = format!("archive get --at {} tls:example.test:443", dates[1]);
    let pem = sandbox.ok(&of_then).out;
    assert_eq!(pem.as_bytes(), chains[1].block);
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
}

#[test]
fn records_about_hosts_survive_prune_and_compact_and_go_with_exported_captures() {
    let authority = Authority::new();
    let servers = [server(&authority), server(&authority)];
    let sandbox = sandbox(&authority, &servers[0]);
    for day in 1..=6 {
        switch(&sandbox, &authority, &servers[day / 3 % 2]);
        let at = format!("2026-0{day}-01T06:00:00Z");
        sandbox.urldb_at(&at, "run").code(0);
    }
    let before = all(&sandbox);
    let ids = |all: &[Stored]| -> BTreeSet<String> {
        let chains = certificates(all).into_iter();
        chains
            .map(|it| it.field("WARC-Record-ID").to_owned())
            .collect()
    };
    let known = ids(&before);
    assert_eq!(known.len(), 3);
    sandbox.ok("archive export --wacz page.wacz https://example.test/b");
    let package = Package::in_sandbox(&sandbox, "page.wacz");
    let lines = package.lines().into_iter();
    let exported = lines.filter(|line| line.url.starts_with("tls:"));
    assert_eq!(exported.count(), known.len());
    // The other URL, whose first capture names the first record, stays where it is.
    let others = package.records().filter(|uri| uri.ends_with("/a")).count();
    assert_eq!(others, 0);
    sandbox
        .urldb_at("2026-12-01T06:00:00Z", "archive prune --older-than 1d")
        .code(0);
    sandbox.ok("archive compact");
    assert_eq!(ids(&all(&sandbox)), known);
    sandbox.ok("archive verify").says("0 errors");
}

#[test]
fn a_lost_record_about_a_host_is_made_again() {
    let authority = Authority::new();
    let server = server(&authority);
    let sandbox = sandbox(&authority, &server);
    sandbox.ok("run");
    let files = sandbox.files("archive", ".warc.gz");
    std::fs::remove_file(&files[0]).unwrap();
    sandbox.urldb("run");
    sandbox.urldb("archive repair");
    sandbox.ok("run");
    assert_eq!(certificates(&all(&sandbox)).len(), 1);
    // The ledger's file goes with the domain file.
    assert_eq!(sandbox.tree("status/origins").len(), 1);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    sandbox.write("urldb/empty.test.yaml", "---\n");
    sandbox.ok("run");
    assert_eq!(sandbox.tree("status/origins").len(), 0);
}

#[test]
fn over_http_there_are_no_certificates() {
    let site = Site::with(&PAGES);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&PAGES));
    sandbox.ok("run");
    let list = sandbox
        .ok("archive list --origin http://example.test/a")
        .out;
    assert!(list.contains("      127.0.0.1  http/1.1\n"), "{list}");
    assert!(!sandbox.path("status/origins").exists());
}
