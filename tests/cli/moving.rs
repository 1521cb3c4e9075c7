//! `urldb mv`, and what the next run makes of a domain that moved.

use std::fs;

use crate::hook::Repository;
use crate::sandbox::{Case, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const NEW: &str = "urldb/new.test.yaml";

/// A repository of two promises after a run, and a site that answers for the old host and the new one.
fn after_run() -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let sandbox = Sandbox::new(&site.network_of(&["example.test", "new.test"]));
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    sandbox.urldb_at("2099-11-01T06:00:00Z", "run").code(0);
    (site, sandbox)
}

#[test]
fn the_memory_of_a_domain_follows_it() {
    let (site, sandbox) = after_run();
    sandbox
        .ok("mv example.test new.test")
        .says("moved 2 records of example.test to urldb/new.test.yaml");
    assert!(!sandbox.path(FILE).exists());
    let before = site.requests().len();
    let ran = sandbox.urldb_at("2099-11-02T06:00:00Z", "run").code(0);
    ran.says("example.test moved to new.test: what is known of 2 of its URLs goes with it");
    let asked = site.requests().split_off(before);
    assert!(asked.iter().all(|it| it.header("host") == Some("new.test")));
    // The captures go on: nothing is archived twice.
    let listed = sandbox
        .ok("archive list --format jsonl http://new.test/a")
        .out;
    assert_has(&listed, "\"revisit\"");
    assert_lacks(&listed, "\"response\"");
    assert_eq!(sandbox.ok("archive get http://new.test/a").out, "first");
    let status = sandbox.ok("status http://new.test/a").out;
    assert_has(&status, "since 2099-11-01");
    assert!(!sandbox.path("status/example.test.yaml").exists());
    assert_lacks(
        &sandbox.urldb_at("2099-11-03T06:00:00Z", "run").code(0).out,
        "moved to",
    );
    sandbox.ok("archive verify").says("0 errors, 0 warnings");
}

#[test]
fn the_history_of_a_domain_stays_under_its_former_name() {
    let (site, sandbox) = after_run();
    site.remove("/b");
    sandbox.urldb_at("2099-11-02T06:00:00Z", "run").code(1);
    site.serve("/b", Reply::ok("second"));
    sandbox.urldb_at("2099-11-03T06:00:00Z", "run").code(0);
    sandbox.ok("mv example.test new.test");
    sandbox.ok("log new.test").says("No events.");
    let former = sandbox.ok("log example.test");
    former.says(&["2099-11-02", "2099-11-03"]);
}

#[test]
fn a_failure_at_the_new_name_is_news_of_the_new_name() {
    let (site, sandbox) = after_run();
    site.remove("/b");
    sandbox.urldb_at("2099-11-02T06:00:00Z", "run").code(1);
    sandbox.ok("mv example.test new.test");
    let ran = sandbox.urldb_at("2099-11-03T06:00:00Z", "run").code(1);
    ran.says(&["what is known of 1 of its URLs goes with it", "new.test/b"]);
    let incidents = sandbox.files("status/incidents", ".yaml");
    let texts: Vec<String> = incidents
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let of = |host: &str| {
        let host = format!("host: {host}\n");
        texts.iter().find(|text| text.contains(&host)).unwrap()
    };
    assert_has(of("example.test"), "event: closed");
    assert_lacks(of("new.test"), "event: closed");
}

#[test]
fn another_host_with_the_same_layout_gets_no_memory_while_the_old_one_is_there() {
    let (_site, sandbox) = after_run();
    sandbox.write(NEW, promises(&[("/a", "first"), ("/b", "second")]));
    let ran = sandbox.urldb_at("2099-11-02T06:00:00Z", "run").code(0);
    assert_lacks(&ran.out, "moved to");
    sandbox
        .ok("status http://new.test/a")
        .says("since 2099-11-02");
}

#[test]
fn aliases_and_redirects_change_as_asked() {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    let text = promises(&[("/a", "x")]);
    let text = text.replacen("---\n", "# ours\n---\ncnames:\n- new.test\n- www.test\n", 1);
    sandbox.write("urldb/old.test.yaml", &text);
    let other = "---\n---\n_path: /away\nredirects-to: http://old.test:80/a?b\n---\n_path: /stays\nredirects-to: http://other.test/\n";
    sandbox.write("urldb/third.test.yaml", other);
    repository.git("config user.name A");
    repository.git("config user.email a@example.test");
    repository.git("add --all .");
    repository.git(&["commit", "-q", "-m", "base"]);
    sandbox
        .ok("mv old.test new.test --keep-alias --redirects --dry-run")
        .says(&[
            "would move 1 record of old.test to urldb/new.test.yaml",
            "urldb/third.test.yaml: 1 redirect to new.test",
        ]);
    assert_eq!(repository.git("status --porcelain").trim(), "");
    sandbox
        .ok("mv old.test new.test --keep-alias --redirects --commit")
        .complains("Move old.test to new.test");
    assert_eq!(repository.git("status --porcelain").trim(), "");
    let moved = sandbox.read(NEW);
    assert_has(&moved, &["# ours\n", "cnames:\n- old.test\n- www.test\n"]);
    assert_eq!(
        sandbox.read("urldb/third.test.yaml"),
        other.replace("old.test:80", "new.test")
    );
    sandbox
        .ok("diff HEAD~1..HEAD")
        .says("urldb/new.test.yaml (moved from old.test)");
}

/// A killed `mv --commit` leaves all new files, with the former one or without.
#[test]
fn a_move_without_its_commit_is_committed_by_the_same_command() {
    for (options, keeps_former) in [
        ("", false),
        ("", true),
        (" --redirects --keep-alias", false),
        (" --redirects", true),
    ] {
        let _case = Case(&format!("{options}, {keeps_former}"));
        let repository = Repository::without_hook();
        let text = promises(&[("/", "x"), ("/a", "x")]);
        repository.write("urldb/old.test.yaml", &text);
        let other = "---\n---\n_path: /away\nredirects-to: http://old.test/a\n";
        repository.write("urldb/third.test.yaml", other);
        repository.git("config user.name A");
        repository.git("config user.email a@example.test");
        repository.git("add --all .");
        repository.git(&["commit", "-q", "-m", "base"]);
        repository.ok(&format!("mv old.test new.test{options}"));
        if keeps_former {
            repository.git("checkout -q urldb/old.test.yaml");
        }
        repository.write("urldb/own.test.yaml", "---\n---\n_path: /own\n");
        let command = format!("mv old.test new.test{options} --commit");
        let words = if keeps_former {
            "moved 2"
        } else {
            "moved already: 2"
        };
        let ran = repository.ok(&command);
        ran.says(words).complains("Move old.test to new.test");
        assert_eq!(
            repository.git("status --porcelain"),
            "?? urldb/own.test.yaml\n"
        );
        // After its commit, the move is over.
        repository
            .exits(2, &command)
            .complains("urldb/old.test.yaml does not exist");
    }
}

#[test]
fn a_move_that_cannot_be_is_refused_before_anything_is_written() {
    let (_site, sandbox) = after_run();
    sandbox.write(NEW, promises(&[("/other", "x")]));
    let text = sandbox.read(FILE);
    for (command, problem) in [
        ("mv example.test new.test", "urldb/new.test.yaml exists"),
        (
            "mv gone.test other.test",
            "urldb/gone.test.yaml does not exist",
        ),
        (
            "mv example.test http://x.test/",
            "\"http://x.test/\" is no name of another host",
        ),
        ("mv example.test example.test", "is no name of another host"),
    ] {
        sandbox.exits(2, command).complains(problem);
    }
    assert_eq!(sandbox.read(FILE), text);
    // A move that was killed before its last step goes on.
    sandbox.write(NEW, &text);
    sandbox.ok("mv example.test new.test");
    assert!(!sandbox.path(FILE).exists());
    sandbox.write(FILE, "---\n---\n_path: [\n");
    sandbox
        .exits(2, "mv example.test other.test")
        .complains("correct it first");
}
