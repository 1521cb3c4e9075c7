//! Full disks, damaged files, kills and signals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::archive::records;
use crate::run::mailing;
use crate::sandbox::{Content, PATIENCE, Sandbox, assert_has, assert_lacks, eventually};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const LEDGER: &str = "status/example.test.yaml";

/// Two promises that are kept.
fn watched() -> (Site, Sandbox) {
    let pages = [("/a", "first"), ("/b", "second")];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(FILE, promises(&pages));
    (site, sandbox)
}

/// Makes `/b` answer with a part of its bytes, and then nothing.
fn hang(site: &Site) {
    let part = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsec";
    site.serve("/b", Reply::raw(part).hang());
}

fn asked_for(site: &Site, path: &str) -> bool {
    site.requests().iter().any(|request| request.target == path)
}

#[test]
fn without_an_archive_people_still_hear_what_was_seen() {
    let (site, sandbox) = watched();
    site.remove("/b");
    sandbox.write("archive", "a file where the folder should be");
    sandbox
        .exits(2, "run")
        .says("broken[gone]: http://example.test/b answers 404 Not Found")
        .complains(&["http://example.test/a: cannot be archived", "archive"]);
    assert_eq!(sandbox.mails().len(), 1);
    assert_has(&sandbox.read(LEDGER), "state: gone");
    // Once there is a folder again, the bytes that were not kept are captured.
    std::fs::remove_file(sandbox.path("archive")).unwrap();
    sandbox.exits(1, "run");
    let file = sandbox.files("archive", ".warc.gz").remove(0);
    let captured = records(&file)
        .iter()
        .any(|record| record.block.ends_with(b"first"));
    assert!(captured);
}

/// So many bytes that no compression makes much smaller.
fn noise(seed: u64, length: usize) -> String {
    let mut state = seed;
    let chars = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + u8::try_from(state >> 58).unwrap())
    });
    chars.take(length).collect()
}

/// Whether the file that the ledger names for a path has a capture with this body.
fn is_captured(sandbox: &Sandbox, path: &str, body: &str) -> bool {
    let captures = sandbox.captures();
    let mut entries = captures.split("---\n");
    let of_path = format!("_path: {path}\n");
    let ledger = sandbox.read(LEDGER);
    assert_has(&ledger, &of_path);
    let entry = entries.find(|entry| entry.starts_with(&of_path));
    let entry = entry.unwrap_or_default();
    let Some((_, id)) = entry.split_once("  record: ") else {
        assert!(!entry.contains("capture"), "{captures}");
        return false;
    };
    let id = id.lines().next().unwrap();
    let (_, file) = entry.split_once("  file: ").unwrap();
    let file = sandbox.path(&format!("archive/{}", file.lines().next().unwrap()));
    let records = records(&file);
    let record = records.iter().find(|record| {
        record
            .header
            .get("WARC-Record-ID")
            .is_some_and(|found| found.contains(id))
    });
    let record = record.unwrap_or_else(|| panic!("{} has no {id}", file.display()));
    assert!(record.block.ends_with(body.as_bytes()));
    true
}

#[test]
fn a_disk_that_fills_up_costs_no_more_than_what_did_not_fit() {
    let big = [noise(1, 60_000), noise(2, 60_000)];
    let pages = [
        ("/a", "first"),
        ("/b", &big[0]),
        ("/c", &big[1]),
        ("/d", "last"),
    ];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(FILE, promises(&pages));
    // No file may have more than 32 KiB: what is beyond fails as on a full disk.
    let limited = "trap '' XFSZ; ulimit -f 64; exec \"$0\" run";
    let mut limited_run = sandbox.command("sh");
    limited_run.args(["-c", limited, env!("CARGO_BIN_EXE_urldb")]);
    let output = limited_run.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert_eq!(said.matches("cannot be archived").count(), 1, "{said}");
    assert_has(&said, "File too large");
    let captured = pages.map(|(path, body)| is_captured(&sandbox, path, body));
    assert_eq!(captured, [true, false, false, true]);
    sandbox.ok("archive verify");
    // With room again, what is missing is captured, and nothing else.
    sandbox.ok("run");
    let captured = pages.map(|(path, body)| is_captured(&sandbox, path, body));
    assert_eq!(captured, [true; 4]);
    let revisits = sandbox.index().matches("warc/revisit").count();
    assert_eq!(revisits, 2);
}

#[test]
fn bodies_for_which_there_is_no_room_meanwhile_are_judged_and_told_of() {
    let big = noise(3, 70_000);
    let pages = [("/a", "first"), ("/b", &*big)];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(FILE, promises(&pages));
    let nowhere = [("TMPDIR", "/no/such/folder")];
    sandbox
        .urldb_with_env("run", &nowhere)
        .code(2)
        .says("URLs: 2 ok")
        .complains("http://example.test/b: cannot be archived: there was no room");
    assert!(is_captured(&sandbox, "/a", "first"));
    assert!(!is_captured(&sandbox, "/b", &big));
    sandbox.ok("run");
    assert!(is_captured(&sandbox, "/b", &big));
}

/// A run whose archive file vanishes before it is finished.
fn run_and_lose_captures(site: &Site, sandbox: &Sandbox) {
    hang(site);
    let mut run = sandbox.start("run");
    eventually("something is archived", || {
        let open = sandbox.files("archive", ".open");
        open.first().is_some_and(|file| records_so_far(file) >= 3)
    });
    for file in sandbox.files("archive", ".open") {
        std::fs::remove_file(file).unwrap();
    }
    run.signal("-INT");
    assert_eq!(run.end().code(), Some(130));
    site.serve("/b", Reply::ok("second"));
}

#[test]
fn captures_in_a_file_that_cannot_be_finished_are_made_again() {
    let (site, sandbox) = watched();
    run_and_lose_captures(&site, &sandbox);
    assert!(!is_captured(&sandbox, "/a", "first"));
    sandbox.ok("run");
    assert!(is_captured(&sandbox, "/a", "first"));
    assert!(is_captured(&sandbox, "/b", "second"));
}

#[test]
fn error_pages_in_a_file_that_cannot_be_finished_are_archived_again() {
    let (site, sandbox) = watched();
    site.serve("/a", Reply::new("403 Forbidden", &[], "keep out"));
    run_and_lose_captures(&site, &sandbox);
    assert_lacks(&sandbox.read(LEDGER), "bad-response");
    sandbox.exits(1, "run");
    let ledger = sandbox.read(LEDGER);
    let (_, file) = ledger.split_once("\nbad-response-file: ").unwrap();
    let file = sandbox.path(&format!("archive/{}", file.lines().next().unwrap()));
    let mut records = records(&file).into_iter();
    assert!(records.any(|record| record.block.ends_with(b"keep out")));
}

#[test]
fn news_stays_news_when_the_ledger_cannot_be_written() {
    let (site, sandbox) = watched();
    sandbox.ok("run");
    let ledger = sandbox.read(LEDGER);
    site.remove("/b");
    sandbox.write("status/outbox", "a file where the folder should be");
    sandbox
        .exits(2, "run")
        .says("broken[gone]: http://example.test/b answers 404 Not Found")
        .complains(&["cannot write", "status/outbox/mail"]);
    assert_eq!(sandbox.read(LEDGER), ledger, "it is not believed yet");
    std::fs::remove_file(sandbox.path("status/outbox")).unwrap();
    sandbox.exits(1, "run");
    assert_eq!(sandbox.mails().len(), 1);
}

#[test]
fn a_damaged_ledger_is_not_forgotten_in_silence() {
    let (site, sandbox) = watched();
    sandbox.ok("run");
    let whole = sandbox.read(LEDGER);
    for damaged in [
        whole.replace("state: ok", "state: fine"),
        whole.replace("_path: ", "_path "),
        format!("<<<<<<< ours\n{whole}"),
    ] {
        sandbox.write(LEDGER, &damaged);
        let (before, asked) = (sandbox.tree(""), site.requests().len());
        sandbox
            .exits(2, "run")
            .complains(&["cannot use ", LEDGER, "line "]);
        assert_eq!(sandbox.tree(""), before);
        assert_eq!(site.requests().len(), asked, "it is said before any work");
    }
    std::fs::remove_dir_all(sandbox.path("status")).unwrap();
    sandbox.write("status", "a file");
    sandbox
        .exits(2, "run")
        .complains(&["cannot read ", "/promises/status/"]);
}

#[test]
fn a_second_run_waits_for_nobody_and_says_who_works() {
    let (site, sandbox) = watched();
    hang(&site);
    let first = sandbox.start("run");
    eventually("the first run asks", || asked_for(&site, "/b"));
    sandbox
        .exits(2, "run")
        .complains(&["another urldb (", "owns this repository", "urldb.lock"]);
    // Looking is free.
    sandbox.ok("check http://example.test/a");
    first.signal("-KILL");
    drop(first);
    site.serve("/b", Reply::ok("second"));
    sandbox.ok("run");
}

#[test]
fn a_killed_run_loses_nothing_that_was_whole() {
    let (site, sandbox) = watched();
    hang(&site);
    let run = sandbox.start("run");
    eventually("something is archived", || {
        let open = sandbox.files("archive", ".open");
        open.first()
            .is_some_and(|file| asked_for(&site, "/b") && records_so_far(file) >= 3)
    });
    run.signal("-KILL");
    drop(run);
    let left = sandbox.tree("archive");
    assert_eq!(left.len(), 1, "no index yet: {left:?}");

    site.serve("/b", Reply::ok("second"));
    sandbox
        .ok("run")
        .says("an earlier run left an unfinished archive file: 3 records kept in ");
    assert!(sandbox.files("archive", ".open").is_empty());
    let files = sandbox.files("archive", ".warc.gz");
    assert_eq!(files.len(), 2);
    assert_eq!(records(&files[0]).len(), 3);
    let index = sandbox.index();
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert_eq!(index.matches(name).count(), 1, "{index}");
    let again = sandbox.ok("run");
    assert_lacks(&again.out, "unfinished");
}

/// How many whole records a file has that is being written.
fn records_so_far(file: &std::path::Path) -> usize {
    let Ok(mut reader) = urldb_warc::Reader::open(file) else {
        return 0;
    };
    let mut count = 0;
    while let Ok(Some(record)) = reader.next_record() {
        if record.finish().is_err() {
            break;
        }
        count += 1;
    }
    count
}

#[test]
fn an_interrupted_run_ends_soon_and_believes_nothing() {
    let (site, sandbox) = watched();
    sandbox.ok("run");
    let ledger = sandbox.read(LEDGER);
    hang(&site);
    for command in ["run", "check"] {
        let asked = site.requests().len();
        let mut running = sandbox.start(&[command]);
        eventually("it asks", || {
            let requests = site.requests().split_off(asked);
            requests.iter().any(|request| request.target == "/b")
        });
        let signalled = Instant::now();
        running.signal("-INT");
        running.expect("URLs: 1 not checked, 1 ok");
        running.expect("unknown[inconclusive]: http://example.test/b");
        assert_eq!(running.end().code(), Some(130));
        assert!(signalled.elapsed() < Duration::from_secs(20));
        sandbox.assert_file(LEDGER, &ledger);
    }
    assert!(sandbox.mails().is_empty());
    let history = sandbox.history();
    assert_eq!(history.len(), 2);
    assert_eq!(history[1]["base"], history[0]["run"]);
    assert_eq!(history[0]["incomplete"], Value::Null);
    assert_eq!(history[1]["incomplete"], true);
    let unverified = history[1]["became-unverified"].as_array().unwrap();
    assert!(unverified.contains(&"http://example.test/b".into()));
}

/// Such a run is not one of the ten that make a window, although its selection has all URLs.
#[test]
fn a_run_that_its_limits_end_is_incomplete() {
    for limit in [
        "deadline = \"2s\"\n",
        "byte-budget = 1\nhost-concurrency = 1\n",
    ] {
        let (site, sandbox) = watched();
        sandbox.ok("run");
        let config = sandbox.read("urldb.toml");
        sandbox.write(
            "urldb.toml",
            config.replacen("[check]\n", &format!("[check]\n{limit}"), 1),
        );
        if limit.starts_with("deadline") {
            hang(&site);
        }
        sandbox.urldb("run").says("the run ended first");
        let history = sandbox.history();
        let incomplete: Vec<&Value> = history.iter().map(|line| &line["incomplete"]).collect();
        assert_eq!(incomplete, [&Value::Null, &Value::Bool(true)], "{limit}");
    }
}

#[test]
fn an_interrupted_run_writes_no_ledger_entry_for_unanswered_urls() {
    let (site, sandbox) = watched();
    hang(&site);
    let mut run = sandbox.start("run");
    eventually("it asks", || asked_for(&site, "/b"));
    run.signal("-INT");
    assert_eq!(run.end().code(), Some(130));
    let ledger = std::fs::read_to_string(sandbox.path(LEDGER)).unwrap_or_default();
    assert_lacks(&ledger, "_path: /b");
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let (_site, sandbox) = watched();
    let strays = [
        "status/.urldb-tmp-abc123",
        "status/captures/.urldb-tmp-abc123",
        "status/outbox/mail/.urldb-tmp-abc123",
        "mail/.urldb-tmp-abc123",
    ];
    for stray in strays {
        sandbox.write(stray, "half a fi");
    }
    sandbox.ok("check");
    assert!(strays.iter().all(|stray| sandbox.path(stray).exists()));
    sandbox.ok("run");
    for stray in strays {
        assert!(!sandbox.path(stray).exists(), "{stray}");
    }
}

#[test]
fn captures_that_a_killed_run_did_not_index_are_indexed_by_the_next() {
    let (_site, sandbox) = watched();
    sandbox.ok("run");
    let index = sandbox.index();
    sandbox.remove_index();
    sandbox.write("archive/damaged.warc.gz", "no archive");
    sandbox
        .ok("run")
        .says(&["an archive file is not indexed", "damaged.warc.gz"]);
    let healed = sandbox.index();
    assert!(!index.is_empty());
    for line in index.lines() {
        assert!(healed.contains(line), "{line} is not in {healed}");
    }
}

/// The number of domain files that a killed command has to write.
const FILES: usize = 100;

type Tree = BTreeMap<PathBuf, Content>;

/// The arguments of a command about these URLs.
fn with<'a>(command: &[&'a str], urls: &'a [String]) -> Vec<&'a str> {
    let urls = urls.iter().map(String::as_str);
    command.iter().copied().chain(urls).collect()
}

/// A sandbox with these domain files, and a list of a new URL for each.
fn with_domains(hosts: &[String]) -> Sandbox {
    let sandbox = Sandbox::new("");
    for host in hosts {
        let text = "---\n---\n_path: /b\n---\n_path: /a\n";
        sandbox.write(&format!("urldb/{host}.yaml"), text);
    }
    let list: Vec<String> = hosts
        .iter()
        .map(|host| format!("http://{host}/c\n"))
        .collect();
    sandbox.write("list", list.concat());
    sandbox
}

/// Kills a command after it has replaced the first of the files. Returns the files as it left them.
fn kill_at_work(sandbox: &Sandbox, arguments: &[&str], first: &str) -> Tree {
    let first = sandbox.path(first);
    let old = std::fs::read(&first).unwrap();
    let mut command = sandbox.start(arguments);
    let until = Instant::now() + PATIENCE;
    while std::fs::read(&first).unwrap() == old {
        assert!(Instant::now() < until, "never: the first file is replaced");
        std::thread::yield_now();
    }
    command.signal("-KILL");
    command.end();
    sandbox.tree("urldb")
}

#[test]
fn a_kill_between_two_files_tears_none_and_the_command_can_be_given_again() {
    let hosts: Vec<String> = (0..FILES).map(|n| format!("host{n:03}.test")).collect();
    let names: Vec<PathBuf> = hosts
        .iter()
        .map(|host| Path::new("urldb").join(format!("{host}.yaml")))
        .collect();
    let urls = |path| hosts.iter().map(move |host| format!("http://{host}{path}"));
    let (known, new): (Vec<_>, Vec<_>) = (urls("/b").collect(), urls("/d").collect());
    for arguments in [
        vec!["fmt"],
        vec!["import", "list", "list"],
        with(&["rm"], &known),
        with(&["add", "--no-fetch"], &new),
    ] {
        let whole = with_domains(&hosts);
        let before = whole.tree("urldb");
        whole.ok(&arguments);
        let wanted = whole.tree("urldb");
        let is_new = |tree: &Tree, name: &PathBuf| tree[name] == wanted[name];
        // A kill may come late on a busy machine: then it hits nothing, and another is tried.
        let killed = (0..20).find_map(|_| {
            let sandbox = with_domains(&hosts);
            let after = kill_at_work(&sandbox, &arguments, "urldb/host000.test.yaml");
            for name in &names {
                let is_whole = is_new(&after, name) || after[name] == before[name];
                assert!(is_whole, "{arguments:?}: {} is torn", name.display());
            }
            let is_between = names.iter().any(|name| !is_new(&after, name));
            is_between.then_some((sandbox, after))
        });
        let (sandbox, after) = killed.expect("a kill between two files");
        // `rm` refuses a URL that is gone already, so the rest is given again.
        let is_left = |argument: &&str| {
            let of = |host: &String| argument.contains(&format!("/{host}/"));
            let file = hosts.iter().position(of).map(|index| &names[index]);
            arguments[0] != "rm" || file.is_none_or(|name| !is_new(&after, name))
        };
        let again: Vec<&str> = arguments.iter().copied().filter(is_left).collect();
        sandbox.ok(&again);
        assert_eq!(sandbox.tree("urldb"), wanted, "{}", arguments[0]);
    }
}
