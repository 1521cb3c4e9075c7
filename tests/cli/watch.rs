//! The daemon.

use std::os::unix::net::UnixDatagram;

use serde_json::Value;

use crate::hook::Repository;
use crate::sandbox::{PATIENCE, Running, Sandbox, assert_has, eventually};
use crate::site::{FILE, Site, promise, promises};
use crate::support::{Reply, Server};

fn watched(config: &str) -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&format!("{}{config}", site.network()));
    sandbox.write(FILE, promises(&[("/a", "first")]));
    (site, sandbox)
}

fn start(sandbox: &Sandbox) -> Running {
    let mut watch = sandbox.start("watch");
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
    watch.expect("URLs: 1 broken, 1 ok");
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
    watch.expect("URLs: 2 ok");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn a_schedule_starts_runs() {
    let (_site, sandbox) = watched("[[schedule]]\ncron = \"* * * * * *\"\n");
    let mut watch = start(&sandbox);
    watch.expect("scheduled run (* * * * * *)");
    watch.expect("URLs: 1 ok");
    watch.expect("URLs: 1 ok");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
    assert!(sandbox.history().len() >= 2);
    assert!(sandbox.files("archive", ".open").is_empty());
}

#[test]
fn a_run_follows_the_lists_first() {
    let source = "[source.urls]\nformat = \"list\"\npath = [\"urls.txt\"]\n";
    let (_site, sandbox) = watched(&format!("[[schedule]]\ncron = \"* * * * * *\"\n{source}"));
    let list = "http://example.test/b\n";
    sandbox.write("urls.txt", list);
    let mut watch = start(&sandbox);
    watch.expect("URLs: 2 ok");
    assert_has(&sandbox.read(FILE), "_path: /b\nsource:\n- urls\n");
    sandbox.write("urls.txt", format!("{list}http://example.test/c\n"));
    watch.expect("broken[gone]: http://example.test/c");
    // A list that cannot be followed stops no run.
    sandbox.write("urls.txt", "<<<<<<< ours\n");
    watch.expect("not-synced");
    watch.expect("broken[gone]: http://example.test/c");
    watch.signal("-TERM");
    watch.end();
}

#[test]
fn watch_and_run_exclude_each_other() {
    let (_site, sandbox) = watched("");
    let watch = start(&sandbox);
    for command in ["watch", "run"] {
        sandbox
            .exits(2, &[command])
            .complains(&["another urldb (", "owns this repository"]);
    }
    drop(watch);
    eventually("its right is given up", || sandbox.urldb("run").code == 0);
}

#[test]
fn a_schedule_that_means_nothing_is_refused() {
    let (_site, sandbox) = watched("[[schedule]]\ncron = \"99 4 * * *\"\n");
    sandbox.exits(2, "watch").complains("99");
}

#[test]
fn an_edited_configuration_takes_effect_and_a_wrong_one_does_not() {
    let (site, sandbox) = watched("");
    let config = sandbox.read("urldb.toml");
    let mut watch = start(&sandbox);
    sandbox.write(
        "urldb.toml",
        format!("{config}[[schedule]]\ncron = \"* * * * * *\"\n"),
    );
    watch.expect("urldb.toml has changed: the new settings hold");
    watch.expect("scheduled run (* * * * * *)");
    watch.expect("URLs: 1 ok");
    sandbox.write("urldb.toml", "[check]\nretrys = 1\n");
    // The old schedule still holds.
    let before = site.requests().len();
    eventually("runs go on", || {
        watch.expect("scheduled run");
        site.requests().len() > before + 5
    });
    // Another database is followed.
    sandbox.write("promises/example.test.yaml", promises(&[("/a", "first")]));
    sandbox.write(
        "urldb.toml",
        format!("[database]\npath = \"promises\"\n{config}"),
    );
    watch.expect("watching 1 file in ");
    sandbox.write(
        "promises/example.test.yaml",
        promises(&[("/a", "first"), ("/b", "second")]),
    );
    watch.expect("promises/example.test.yaml has changed");
    watch.expect("URLs: 1 ok");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn the_log_can_be_json() {
    let (site, sandbox) = watched("[[schedule]]\ncron = \"* * * * * *\"\n");
    site.remove("/a");
    let mut watch = sandbox.start("watch --format jsonl");
    let mut lines = watch.lines_until("\"kind\":\"summary\"");
    sandbox.write("urldb/other.test.yaml", "---\n---\n_path: [\n");
    lines.extend(watch.lines_until("\"kind\":\"lint\""));
    let kinds: Vec<String> = lines
        .iter()
        .map(|line| {
            let line: Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            line["kind"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(kinds[..2], ["event", "event"], "{kinds:?}");
    for kind in ["finding", "summary", "lint"] {
        assert!(kinds.iter().any(|found| found == kind), "{kind}: {kinds:?}");
    }
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
}

#[test]
fn a_monitor_hears_of_each_run() {
    let monitor = Server::new(|request| {
        if request.target.contains("/fail") {
            Reply::new("500 Internal Server Error", &[], "")
        } else {
            Reply::ok("OK")
        }
    });
    let (site, sandbox) =
        watched("[[schedule]]\ncron = \"* * * * * *\"\n[watch]\nping-url-env = \"PING\"\n");
    sandbox
        .exits(2, "watch")
        .complains("[watch]: the environment variable PING is not set");
    let url = format!("http://{}/ping/secret-word/?x=1", monitor.address());
    let mut watch = sandbox.start_with_env("watch", &[("PING", &url)]);
    eventually("two runs", || monitor.requests().len() >= 4);
    site.remove("/a");
    watch.expect("broken[gone]");
    // The ledger is no folder: a run cannot do its work.
    std::fs::remove_dir_all(sandbox.path("status")).unwrap();
    sandbox.write("status", "");
    eventually("a failure", || {
        let requests = monitor.requests();
        requests
            .iter()
            .any(|request| request.target.contains("/fail"))
    });
    watch.signal("-TERM");
    watch.end();
    let requests = monitor.requests();
    let mut ids = vec![];
    for pair in requests.chunks_exact(2) {
        let [start, end] = pair else { unreachable!() };
        assert_eq!(
            (start.method.as_str(), end.method.as_str()),
            ("POST", "POST")
        );
        let id = start
            .target
            .strip_prefix("/ping/secret-word/start?x=1&rid=")
            .unwrap();
        assert_eq!(id.len(), 36);
        let is_success = end.target == format!("/ping/secret-word/?x=1&rid={id}");
        let is_failure = end.target == format!("/ping/secret-word/fail?x=1&rid={id}");
        assert!(is_success || is_failure, "{}", end.target);
        if is_success {
            let body = String::from_utf8(end.body.clone()).unwrap();
            assert!(
                ["exit code 0", "exit code 1"].contains(&body.as_str()),
                "{body}"
            );
        }
        assert!(!ids.contains(&id), "{id} came twice");
        ids.push(id);
    }
}

#[test]
fn metrics_are_written_after_each_run() {
    let config = "[[schedule]]\ncron = \"* * * * * *\"\n[watch]\nmetrics = \"urldb.prom\"\n\
         [notify.mail]\ntype = \"email\"\nfrom = \"a@example.test\"\nto = [\"b@example.test\"]\n\
         server = \"127.0.0.1\"\nport = 9\ntls = \"none\"\n";
    let (site, sandbox) = watched(config);
    sandbox.write(
        FILE,
        promises(&[("/a", "first"), ("/b", "second"), ("/c", "third")]),
    );
    let mut watch = start(&sandbox);
    let metrics = || sandbox.read("urldb.prom");
    assert!(
        metrics().contains("\nurldb_urls{state=\"unknown\"} 3\n"),
        "{}",
        metrics()
    );
    eventually("a run", || metrics().contains("urldb_last_run_exit_code "));
    site.remove("/b");
    eventually("another run", || {
        metrics().contains("\nurldb_urls{state=\"gone\"} 2\n")
    });
    watch.signal("-TERM");
    watch.end();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"seconds \d{10}\n", "seconds [time]\n");
    settings.bind(|| insta::assert_snapshot!(metrics()));
    // The form that the collector of Prometheus reads: each sample has a type, and no name comes twice.
    let mut types = std::collections::BTreeSet::new();
    for line in metrics().lines() {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            assert!(
                types.insert(rest.split(' ').next().unwrap().to_owned()),
                "{line}"
            );
        } else if !line.starts_with('#') {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(types.contains(name), "{line}");
        }
    }
}

#[test]
fn a_service_manager_hears_when_the_daemon_is_ready_and_alive() {
    let (_site, sandbox) = watched("");
    let socket = sandbox.path("../home/notify");
    let manager = UnixDatagram::bind(&socket).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let hear = || {
        let mut buffer = [0; 4096];
        let length = manager
            .recv(&mut buffer)
            .expect("the manager hears something");
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    };
    let env = [
        ("NOTIFY_SOCKET", socket.to_str().unwrap()),
        ("WATCHDOG_USEC", "300000"),
    ];
    let mut watch = sandbox.start_with_env("watch", &env);
    let mut heard = vec![];
    while heard
        .iter()
        .filter(|text: &&String| text.contains("WATCHDOG=1"))
        .count()
        < 3
        || !heard.iter().any(|text| text.contains("READY=1"))
    {
        heard.push(hear());
    }
    let ready = heard.iter().find(|text| text.contains("READY=1")).unwrap();
    assert_has(ready, "STATUS=watching 1 file in ");
    watch.signal("-TERM");
    assert_eq!(watch.end().code(), Some(0));
    manager.set_nonblocking(true).unwrap();
    let mut last = String::new();
    let mut buffer = [0; 4096];
    while let Ok(length) = manager.recv(&mut buffer) {
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if !text.contains("WATCHDOG=1") {
            last = text;
        }
    }
    assert_has(&last, "STOPPING=1");
}

/// A project that commits its runs, with a remote repository, and with a clone of that in `../other`.
fn published() -> (Site, Repository) {
    let (site, sandbox) = watched("[[schedule]]\ncron = \"* * * * * *\"\n[git]\ncommit = true\n");
    let repository = Repository::of(sandbox);
    let sandbox = &repository.sandbox;
    for (key, value) in [
        ("user.name", "Daemon"),
        ("user.email", "daemon@example.test"),
    ] {
        repository.git(&["config", key, value]);
    }
    sandbox.write(".gitignore", "/archive/\n");
    repository.git("add .");
    repository.git(&["commit", "-q", "-m", "Promise a URL"]);
    repository.git("init -q --bare -b main ../remote");
    repository.git("remote add origin ../remote");
    repository.git("push -q -u origin main");
    repository.git("clone -q ../remote ../other");
    (site, repository)
}

/// Another machine runs, and pushes what it has written, after `change`.
fn run_elsewhere(repository: &Repository, change: impl FnOnce(&Sandbox)) {
    repository.exits(1, "-C ../other run");
    change(repository);
    repository.git("-C ../other add .");
    repository.git(&["-C", "../other", "commit", "-q", "-m", "Record another run"]);
    repository.git("-C ../other push -q origin main");
}

#[test]
fn what_a_run_has_written_is_committed_and_pushed() {
    let (site, repository) = published();
    // Another machine sees the same news, and pushes first.
    site.remove("/a");
    run_elsewhere(&repository, |_| {});

    let mut watch = start(&repository);
    let pushed = || repository.git("--git-dir=../remote log --format=%B main");
    let merge = "Merge branch 'main'";
    eventually("both are merged", || pushed().contains(merge));
    watch.signal("-TERM");
    watch.end();
    let subjects = pushed();
    assert_has(&subjects, "Record another run\n");
    assert_has(&subjects, "\nRun 20");
    assert!(!repository.files("status", ".yaml").is_empty());
    repository.git("diff --quiet HEAD -- urldb");
    repository.exits(1, "status").says("answers 404 Not Found");
}

#[test]
fn a_merge_that_cannot_be_finished_stops_no_later_commit() {
    let (site, repository) = published();
    let sandbox = &repository.sandbox;
    site.remove("/a");
    run_elsewhere(&repository, |sandbox| {
        let ledger = "../other/status/example.test.yaml";
        let damaged = sandbox.read(ledger).replace("state: gone", "state: [");
        sandbox.write(ledger, damaged);
    });
    let pushed = || repository.git("--git-dir=../remote log --format=%s main");
    let before = pushed();
    let mut watch = start(sandbox);
    let commits = || repository.git("log --format=%B");
    eventually("two runs are committed", || {
        commits().matches("\nRun 20").count() > 1
    });
    watch.signal("-TERM");
    watch.end();
    assert!(!sandbox.path(".git/MERGE_HEAD").exists());
    assert_eq!(pushed(), before);
}
