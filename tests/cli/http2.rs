//! A host that speaks only HTTP/2: its URLs are not checked, and people are told once.

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
    sandbox
        .exits(3, "run")
        .says(&["warning[needs-http2]: secure.test", "(2 of 2 URLs)"]);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(mails[0].header("Subject"), "secure.test: only HTTP/2");
    assert_has(&mails[0].text, "secure.test speaks only HTTP/2");
    assert_has(&mails[0].text, "urldb check -d secure.test");
    let pages = sandbox.files("site/incidents", ".html");
    let page = std::fs::read_to_string(&pages[0]).unwrap();
    assert_has(&page, "which urldb does not check (2 of 2 URLs)");
    // Nothing is believed of its URLs, and nothing more is told.
    sandbox.exits(3, "run");
    assert!(sandbox.take_mails().is_empty());

    write(&older);
    sandbox.ok("run").says("secure.test accepts HTTP/1.1 again");
    assert_eq!(sandbox.take_mails().len(), 1);
    sandbox.ok("run");
    assert!(sandbox.take_mails().is_empty());

    // The same notice again, which ends with the last record over https.
    write(&newer);
    sandbox.exits(3, "run").says("speaks only HTTP/2");
    assert_eq!(sandbox.take_mails().len(), 1);
    assert_eq!(sandbox.files("status/incidents", ".yaml").len(), 1);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    sandbox
        .ok("run")
        .says("secure.test has no URL over https any more");
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
    let line = "curl -sSL -r 0-0 -D - -o /dev/null --http1.1 https://secure.test/a";
    assert_has(&mails[0].text, line);
}
