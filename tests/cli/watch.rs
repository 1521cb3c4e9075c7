//! The daemon.

use crate::sandbox::{Running, Sandbox, eventually};
use crate::site::{Site, promise, promises};

const FILE: &str = "urldb/example.test.yaml";

fn watched(config: &str) -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&format!("{}{config}", site.network()));
    sandbox.write(FILE, promises(&[("/a", "first")]));
    (site, sandbox)
}

fn start(sandbox: &Sandbox) -> Running {
    let mut watch = sandbox.start(&["watch"]);
    watch.expect("watching 1 file in ");
    watch
}

#[test]
fn an_edit_is_looked_at_and_a_signal_ends_it() {
    let (site, sandbox) = watched("");
    let mut watch = start(&sandbox);
    let text = sandbox.read(FILE) + &promise("/b", "second") + &promise("/c", "third");
    sandbox.write(FILE, text);
    watch.expect("urldb/example.test.yaml has changed");
    watch.expect("Action needed: 1 of 2 URLs is not as promised.");
    watch.expect("broken[gone]: http://example.test/c");
    watch.expect("Checked 2 of 3 URLs");
    assert!(site.requests().iter().all(|request| request.target != "/a"));
    assert!(!sandbox.path("status").exists(), "it only looks");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn a_mistake_is_told_and_the_watch_goes_on() {
    let (_site, sandbox) = watched("");
    let mut watch = start(&sandbox);
    sandbox.write(FILE, "---\n---\n_path: /a\ncontent-sha256: abc\n");
    watch.expect("urldb/example.test.yaml:4:1: bad-digest");
    sandbox.write("urldb/other.test.yaml", "---\n---\n_path: [\n");
    watch.expect("urldb/other.test.yaml:3:");
    std::fs::remove_file(sandbox.path("urldb/other.test.yaml")).unwrap();
    watch.expect("urldb/other.test.yaml is gone");
    watch.signal("-INT");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn an_unreadable_file_hides_no_other_change() {
    let (_site, sandbox) = watched("");
    let mut watch = start(&sandbox);
    let outside = sandbox.root.parent().unwrap().join("outside.yaml");
    std::fs::write(&outside, "---\n---\n_path: /\n").unwrap();
    std::os::unix::fs::symlink(&outside, sandbox.path("urldb/a.test.yaml")).unwrap();
    sandbox.write(FILE, sandbox.read(FILE) + &promise("/c", "third"));
    watch.expect("urldb/a.test.yaml:1:1: unreadable-file");
    watch.expect("broken[gone]: http://example.test/c");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn a_change_of_metadata_checks_the_domain() {
    let (site, sandbox) = watched("");
    let config = sandbox.read("urldb.toml");
    let maps = [site.map("example.test"), site.map("www.example.test")];
    let config = config.replace(&format!("{:?}", [&maps[0]]), &format!("{maps:?}"));
    sandbox.write("urldb.toml", config);
    let mut watch = start(&sandbox);
    let text = sandbox.read(FILE);
    let with_cname = text.replacen("---\n", "---\ncnames:\n- www.example.test\n", 1);
    sandbox.write(FILE, with_cname);
    watch.expect("All good in example.test: all 2 URLs are as promised.");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn a_schedule_starts_runs() {
    let (_site, sandbox) = watched("[[schedule]]\ncron = \"* * * * * *\"\n");
    let mut watch = start(&sandbox);
    watch.expect("scheduled run (* * * * * *)");
    watch.expect("the URL is as promised");
    watch.expect("the URL is as promised");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
    assert!(sandbox.history().len() >= 2);
    assert!(sandbox.files("archive", ".open").is_empty());
}

#[test]
fn watch_and_run_exclude_each_other() {
    let (_site, sandbox) = watched("");
    let watch = start(&sandbox);
    for command in ["watch", "run"] {
        sandbox
            .urldb(&[command])
            .code(2)
            .complains(&["another urldb (", "owns this repository"]);
    }
    drop(watch);
    eventually("its right is given up", || {
        sandbox.urldb(&["run"]).code == 0
    });
}

#[test]
fn a_schedule_that_means_nothing_is_refused() {
    let (_site, sandbox) = watched("[[schedule]]\ncron = \"99 4 * * *\"\n");
    sandbox.urldb(&["watch"]).code(2).complains(&["99"]);
}
