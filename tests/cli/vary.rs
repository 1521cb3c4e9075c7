//! Records of one URL that differ in `Accept`, from check to message.

use std::sync::{Arc, Mutex};

use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, network, sha256};
use crate::support::{Reply, Request, Server};

const URL: &str = "http://example.test/ns/a";

/// A server that answers `/ns/a` by `Accept`, and a domain file with a record for each media type.
fn world(vary: &str) -> (Server, Arc<Mutex<&'static str>>, Sandbox) {
    let turtle = Arc::new(Mutex::new("turtle"));
    let served = Arc::clone(&turtle);
    let server = Server::new(move |request: &Request| match request.header("accept") {
        Some("text/turtle") => Reply::new("200 OK", &[], *served.lock().unwrap()),
        Some("application/rdf+xml") => Reply::new("200 OK", &[], "xml"),
        _ => Reply::new("200 OK", &[], "page"),
    });
    let network = network(server.address(), &["example.test"]);
    let sandbox = Sandbox::new(&format!("[check]\nretries = 0\nprobes = false\n{network}"));
    sandbox.write(FILE, file(vary, "turtle"));
    (server, turtle, sandbox)
}

fn file(vary: &str, turtle: &str) -> String {
    let record = |body: &str, accept: &str| {
        let promise = format!(
            "content-length: {}\ncontent-sha256: {}\n",
            body.len(),
            sha256(body)
        );
        format!("---\n_path: /ns/a\n{promise}{accept}")
    };
    let accept = |media_type| format!("request-headers:\n  Accept: {media_type}\n");
    format!(
        "---\n{vary}{}{}{}",
        record("page", ""),
        record("xml", &accept("application/rdf+xml")),
        record(turtle, &accept("text/turtle")),
    )
}

const VARY: &str = "vary:\n- accept\n";

#[test]
fn each_variant_is_a_url_of_its_own() {
    let (server, turtle, sandbox) = world(VARY);
    sandbox.ok("lint");
    sandbox.ok("check").says("all 3 URLs are as promised");
    assert_eq!(server.requests().len(), 3);
    sandbox.ok("run");
    let known = sandbox.captures();
    let variants = [
        "variant: 'accept: application/rdf+xml'",
        "variant: 'accept: text/turtle'",
    ];
    assert_has(&known, &variants);
    for body in ["page", "xml", "turtle"] {
        assert_has(&known, &sha256(body));
    }
    *turtle.lock().unwrap() = "other!";
    sandbox
        .exits(1, &["check", URL])
        .says("2 of 3 URLs are as promised");
}

#[test]
fn lint_says_how_records_that_differ_in_a_header_are_told_apart() {
    let (_server, _, sandbox) = world("");
    let ran = sandbox.exits(1, "lint");
    ran.says("add `vary: [accept]` to the metadata");
}
