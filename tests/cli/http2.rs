//! Hosts that need what urldb lacks, such as HTTP/2: their URLs are not checked, and people are told once. And the
//! certificates of authorities between a host and the trusted one.

use crate::advice::{commands_of, without_map};
use crate::certificates::{Authority, Kind};
use crate::sandbox::{Sandbox, assert_has};
use crate::site::{network, promises};
use crate::support::{Reply, Server};

const FILE: &str = "urldb/secure.test.yaml";

/// A server over TLS that speaks these protocols.
fn server(authority: &Authority, protocols: &[&[u8]]) -> Server {
    let mut tls = authority.server(&[Kind::Good], "secure.test");
    tls.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Server::tls(tls, |_| Reply::ok("first"))
}

fn config(authority: &Authority, server: &Server) -> String {
    let ca_file = authority.file().to_str().unwrap();
    format!(
        "[check]\nretry-wait = \"1ms\"\n[notify.mail]\ntype = \"email\"\n\
         from = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\n\
         [notify.site]\ntype = \"html\"\npath = \"site\"\n{}ca-file = {ca_file:?}\n",
        network(server.address(), &["secure.test"])
    )
}

#[test]
fn a_host_that_speaks_only_http2_is_told_once() {
    let authority = Authority::new();
    let newer = server(&authority, &[b"h2"]);
    let older = server(&authority, &[b"h2", b"http/1.1"]);
    let sandbox = Sandbox::new("");
    let write = |server: &Server| sandbox.write("urldb.toml", config(&authority, server));
    let record = promises(&[("/a", "first"), ("/b", "first")]);
    let record = record.replacen("---\n", "---\nhttp: false\nhttps: true\n", 1);
    sandbox.write(FILE, record);

    write(&newer);
    sandbox.exits(3, "check").says(&[
        "secure.test speaks only HTTP/2",
        "which urldb does not check",
    ]);
    // The second run in a row is news.
    sandbox.exits(3, "run").says("speaks only HTTP/2");
    assert!(sandbox.take_mails().is_empty());
    sandbox.exits(3, "run").says(&[
        "warning[impaired]: the run is impaired by secure.test (2 of 2 URLs)",
        "2 of 2 URLs of secure.test were not checked: secure.test speaks only HTTP/2",
    ]);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(mails[0].header("Subject"), "is impaired by secure.test");
    let reason = "speaks only HTTP/2, which urldb does not check";
    assert_has(&mails[0].text, &[reason, "urldb check -d secure.test"]);
    let pages = sandbox.files("site/incidents", ".html");
    let page = std::fs::read_to_string(&pages[0]).unwrap();
    assert_has(&page, "the run is impaired by secure.test (2 of 2 URLs)");
    // Nothing is believed of its URLs, and nothing more is told.
    sandbox.exits(3, "run");
    assert!(sandbox.take_mails().is_empty());

    write(&older);
    sandbox
        .ok("run")
        .says("the run is no longer impaired by secure.test");
    assert_eq!(sandbox.take_mails().len(), 1);
    sandbox.ok("run");
    assert!(sandbox.take_mails().is_empty());

    // The same notice again, which ends with the last record.
    write(&newer);
    sandbox.exits(3, "run");
    sandbox.exits(3, "run").says("speaks only HTTP/2");
    assert_eq!(sandbox.take_mails().len(), 1);
    assert_eq!(sandbox.files("status/incidents", ".yaml").len(), 1);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    sandbox
        .ok("run")
        .says("the run is no longer impaired by secure.test");
    assert_eq!(sandbox.take_mails().len(), 1);
}

/// A server over TLS with such a certificate.
fn showing(authority: &Authority, kind: Kind) -> Server {
    Server::tls(authority.server(&[kind], "secure.test"), |_| {
        Reply::ok("first")
    })
}

fn https_record() -> String {
    let record = promises(&[("/a", "first"), ("/b", "first")]);
    record.replacen("---\n", "---\nhttp: false\nhttps: true\n", 1)
}

#[test]
fn a_host_that_needs_other_tls_is_told_once() {
    let authority = Authority::new();
    let (newer, usual) = (
        showing(&authority, Kind::Unsupported),
        showing(&authority, Kind::Good),
    );
    let sandbox = Sandbox::new("");
    let write = |server: &Server| sandbox.write("urldb.toml", config(&authority, server));
    sandbox.write(FILE, https_record());

    write(&newer);
    let need = "needs ECDSA with SHA-512, which urldb does not support";
    sandbox
        .exits(3, "check")
        .says(&["needs TLS that urldb does not support", need]);
    sandbox
        .exits(3, "run")
        .says(&["warning[unsupported-tls]: secure.test", "(2 of 2 URLs)"]);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(mails[0].header("Subject"), "secure.test needs ECDSA with");
    assert_has(&mails[0].text.replace('\n', " "), need);
    let pages = sandbox.files("site/incidents", ".html");
    let page = std::fs::read_to_string(&pages[0]).unwrap();
    assert_has(&page, &format!("{need} (2 of 2 URLs)"));
    sandbox.exits(3, "run");
    assert!(sandbox.take_mails().is_empty());

    write(&usual);
    sandbox
        .ok("run")
        .says("secure.test accepts TLS as urldb supports it again");
    assert_eq!(sandbox.take_mails().len(), 1);
}

#[test]
fn an_expired_intermediate_certificate_is_named() {
    let authority = Authority::new();
    let sandbox = Sandbox::new("");
    let server = showing(&authority, Kind::ExpiredIntermediate);
    sandbox.write("urldb.toml", config(&authority, &server));
    sandbox.write(FILE, https_record());
    sandbox.exits(3, "run");
    let said = sandbox.exits(1, "run").out;
    let mails = sandbox.take_mails();
    for text in [&said, &mails[0].text] {
        assert_has(text, "has an expired intermediate certificate");
        assert_has(text, "2020-01-01");
        assert_has(text, "The intermediate");
        assert!(!text.contains("ca-file"), "{text}");
    }
}

#[test]
fn people_are_warned_before_an_intermediate_certificate_ends() {
    let authority = Authority::new();
    let sandbox = Sandbox::new("");
    let server = showing(&authority, Kind::OfIntermediate);
    sandbox.write("urldb.toml", config(&authority, &server));
    sandbox.write(FILE, https_record());
    sandbox.urldb_at("2899-12-01T06:00:00Z", "run").code(0);
    assert!(sandbox.take_mails().is_empty());
    sandbox
        .urldb_at("2899-12-25T06:00:00Z", "run")
        .code(0)
        .says("has an intermediate certificate that ends ");
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(&mails[0].text, "The intermediate");
    // Its end was announced, and is believed at once.
    sandbox
        .urldb_at("2900-01-02T06:00:00Z", "run")
        .code(1)
        .says("has an expired intermediate certificate");
    assert_eq!(sandbox.take_mails().len(), 1);
}

/// A server may also agree on TLS without a protocol, and close the connection. By itself, curl would speak HTTP/2 with
/// it, and find nothing wrong.
#[test]
fn connections_that_are_closed_over_tls_are_tried_with_http1() {
    let authority = Authority::new();
    let tls = authority.server(&[Kind::Good], "secure.test");
    let server = Server::tls(tls, |_| Reply::raw("").close());
    let sandbox = Sandbox::new("");
    sandbox.write("urldb.toml", config(&authority, &server));
    let record = promises(&[("/a", "first"), ("/b", "first")]);
    let record = record.replacen("---\n", "---\nhttp: false\nhttps: true\n", 1);
    sandbox.write(FILE, record);
    sandbox.exits(3, "run");
    sandbox
        .exits(1, "run")
        .says(&["closes the connection without an answer"]);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    let found = commands_of(&mails[0].text).into_iter();
    let found: Vec<String> = found.map(without_map).collect();
    let line = "curl -sSL -r 0-0 -D - -o /dev/null --http1.1 https://secure.test/a";
    assert!(found.iter().any(|it| it == line), "{found:?}");
}
