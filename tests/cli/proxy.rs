//! Proxies: the one that is configured, and those that the environment names.

use crate::sandbox::Sandbox;
use crate::site::{FILE, Site, promises};
use crate::support::{Reply, Server};

const PASSWORD: &str = "hunter2-never-shown";

/// `ada:hunter2-never-shown`, as it is sent.
const SENT: &str = "Basic YWRhOmh1bnRlcjItbmV2ZXItc2hvd24=";

#[test]
fn the_configured_proxy_gets_its_password_and_nobody_else_sees_it() {
    let proxy = Server::new(|request| match request.header("proxy-authorization") {
        Some(SENT) => Reply::ok("x"),
        _ => Reply::new("407 Who are you", &["Proxy-Authenticate: Basic"], ""),
    });
    let sandbox = Sandbox::new(&format!(
        "[network]\nproxy = \"http://{}\"\nproxy-user = \"ada\"\n\
         proxy-password-env = \"URLDB_PROXY_PASSWORD\"\n",
        proxy.address()
    ));
    sandbox.write(FILE, promises(&[("/a", "x")]));
    let env = [("URLDB_PROXY_PASSWORD", PASSWORD)];
    let runs = [
        sandbox.urldb_with_env("-v run", &env).code(0),
        sandbox.urldb_with_env("check --format json", &env).code(0),
        sandbox
            .urldb_with_env("-v check", &[("URLDB_PROXY_PASSWORD", "wrong")])
            .code(1),
        sandbox.exits(2, "check").complains(
            "the proxy's password should be in the environment variable URLDB_PROXY_PASSWORD",
        ),
    ];
    let shown = |ran: &str| ran.contains(PASSWORD) || ran.contains(SENT);
    for ran in runs {
        assert!(!shown(&ran.out) && !shown(&ran.err), "{ran:#?}");
    }
    assert_eq!(proxy.requests()[0].target, "http://example.test/a");
    for (path, content) in sandbox.tree("") {
        let gzip = flate2::read::MultiGzDecoder::new(&content.0[..]);
        let plain = std::io::read_to_string(gzip).unwrap_or_default();
        let text = String::from_utf8_lossy(&content.0);
        assert!(!shown(&plain) && !shown(&text), "{}", path.display());
    }
}

#[test]
fn proxies_of_the_environment_are_not_asked() {
    let trap = Server::new(|_| Reply::ok("from the proxy"));
    let site = Site::with(&[("/a", "x")]);
    let allow = "[network]\nallow = [\"127.0.0.1/32\"]\n";
    let direct = Sandbox::new(allow);
    let mapped = Sandbox::new(&site.network());
    let url = format!("http://{}", trap.address());
    let names = [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
    ];
    let env = names.map(|name| (name, url.as_str()));
    mapped.write(FILE, promises(&[("/a", "x")]));
    mapped
        .urldb_with_env("check", &env)
        .code(0)
        .says("URLs: 1 ok");
    // Of an address that is not permitted, nobody is asked either.
    direct.write("urldb/127.0.0.2.yaml", promises(&[("/a", "x")]));
    direct
        .urldb_with_env("check", &env)
        .code(3)
        .says("was not checked: urldb's rules forbid it");
    assert_eq!(trap.connections(), 0);
}
