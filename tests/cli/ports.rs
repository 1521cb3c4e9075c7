//! URLs with a port: a domain file of their own, from `add` to the archive and back.

use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

#[test]
fn a_host_with_a_port_is_a_domain_of_its_own() {
    let [plain, other] = ["plain", "other"].map(|text| Site::with(&[("/a", text)]));
    let (here, there) = (plain.map("example.test:80"), other.map("example.test:8080"));
    let sandbox = Sandbox::new(&format!("[network]\nmap = [{here:?}, {there:?}]\n"));
    let url = "http://example.test:8080/a";
    plain.serve("/to", Reply::redirect(301, url));
    sandbox.ok(&format!("add --static http://example.test:80/a {url}"));
    sandbox.assert_file(FILE, &promises(&[("/a", "plain")]));
    let file = "urldb/example.test+8080.yaml";
    sandbox.assert_file(file, &promises(&[("/a", "other")]));
    sandbox.ok("add --redirect http://example.test/to");
    sandbox.ok("run").says("URLs: 3 ok");
    sandbox.read("status/example.test+8080.yaml");
    other.serve("/a", Reply::ok("new"));
    let advice = format!("urldb accept {url}");
    sandbox.exits(1, "run").says(&advice);
    sandbox.exits(1, "status example.test:8080").says(url);
    sandbox
        .ok(&format!("accept -y {url}"))
        .says(" of example.test:8080\n");
    sandbox.ok("check -d example.test:8080").says("URLs: 1 ok");
    let captures = sandbox.ok(&format!("archive list {url}")).out;
    assert_eq!(captures.lines().count(), 3);
    sandbox.write("catalogue.uric", sandbox.ok("export ssd3").out);
    sandbox.ok(&format!("rm {url}"));
    sandbox.ok("import ssd3 catalogue.uric").says("1 added");
    sandbox.assert_file(file, &promises(&[("/a", "new")]));
    sandbox
        .ok("mv example.test:8080 new.test:8080 --redirects")
        .says("moved 1 record of example.test:8080 to urldb/new.test+8080.yaml");
    assert_has(&sandbox.read(FILE), "http://new.test:8080/a\n");
    plain.serve("/to", Reply::redirect(301, "http://new.test:8080/a"));
    let map = other.map("new.test");
    sandbox.ok(&format!("check --map {map}")).says("URLs: 3 ok");
}

/// A host with a port reads as in URLs, has the mapping of that port, and is itself where a redirect ends.
#[test]
fn messages_about_a_host_with_a_port_name_the_port() {
    let pages = ["/a", "/b", "/"];
    let site = Site::with(&pages.map(|path| (path, path)));
    let (plain, port) = (site.map("example.test"), site.map("example.test:8080"));
    let elsewhere = plain.replace("127.0.0.1", "127.0.0.2");
    let sandbox = Sandbox::new(&format!("[network]\nmap = [{elsewhere:?}, {port:?}]\n"));
    let [a, b, home] = pages.map(|path| format!("http://example.test:8080{path}"));
    sandbox.ok(&format!("add --static {a} {b}"));
    sandbox.ok("run").says("URLs: 2 ok");
    let archived = sandbox.ok(&format!("archive get {a}"));
    archived.says("/a");
    for path in ["/a", "/b"] {
        site.serve(path, Reply::redirect(302, &home));
    }
    let check = "check example.test:8080";
    sandbox.exits(1, check).says(&[
        "example.test:8080 redirects all 2 URLs to its home page",
        "(-d example.test:8080)",
    ]);
    site.remove("/a");
    site.remove("/b");
    let via = port.replace('=', ":");
    let title = "broken[gone]: example.test:8080 answers 404 Not Found (2 of 2 URLs)";
    let curl = format!("--connect-to {via} {a}\n");
    sandbox.exits(1, check).says(&[title, &curl]);
    sandbox.exits(1, "run");
    let status = sandbox.exits(1, "status example.test:8080");
    status.says(&["  /a\n", "urldb log example.test:8080\n"]);
    let log = sandbox.ok("log example.test:8080");
    assert_lacks(&log.out, ["+8080", "example.test: "].as_slice());
    log.says("example.test:8080, newest first");
    let suites = sandbox.exits(1, "check --format junit");
    suites.says("<testsuite name=\"example.test:8080\"");
}
