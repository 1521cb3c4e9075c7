//! An archive in an object store: what runs bring there, and what machines without a copy read.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::fake_s3::{BUCKET, FakeS3, Fault};
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::shelf::{Shelf, text};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const SECRET: &str = "wJalrXUtnFEMI-K7MDENG";

const URL: &str = "http://example.test/a";

/// A repository whose archive is in a store.
struct Stored {
    site: Site,
    server: FakeS3,
    sandbox: Sandbox,
}

impl Deref for Stored {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Stored {
    fn new(keys: &str) -> Self {
        let site = Site::with(&[("/a", "first"), ("/b", "second")]);
        let server = FakeS3::start();
        let sandbox = repository(&site, &server, keys);
        Self {
            site,
            server,
            sandbox,
        }
    }

    /// After so many runs.
    fn after_runs(runs: usize, keys: &str) -> Self {
        let stored = Self::new(keys);
        for _ in 0..runs {
            stored.ok("run");
        }
        stored
    }

    /// A second machine with the same records and the same store.
    fn other_machine(&self, keys: &str) -> Sandbox {
        repository(&self.site, &self.server, keys)
    }

    /// The folder of the archive is gone, as on a new machine.
    fn forget_copies(&self) {
        fs::remove_dir_all(self.sandbox.path("archive")).unwrap();
    }

    /// The names of the WARC files in the store.
    fn files(&self) -> Vec<String> {
        let objects = self.server.objects().into_iter().map(|(key, _)| key);
        objects.filter(|key| key.ends_with(".warc.gz")).collect()
    }

    fn copies(&self) -> Vec<PathBuf> {
        self.sandbox.files("archive", ".warc.gz")
    }
}

fn repository(site: &Site, server: &FakeS3, keys: &str) -> Sandbox {
    let store = format!(
        "[archive]\nstores = [{{ url = \"s3://{BUCKET}/project\", endpoint = \"{}\" }}]\n{keys}",
        server.endpoint()
    );
    let mut sandbox = Sandbox::new(&format!("{}{store}", site.network()));
    sandbox.env = vec![
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", SECRET),
    ];
    sandbox.secret = Some(SECRET);
    let pages = [("/a", "first"), ("/b", "second")];
    sandbox.write(FILE, promises(&pages));
    sandbox
}

#[test]
fn a_machine_without_copies_reads_the_archive() {
    let stored = Stored::new("");
    stored.ok("run").says("in s3://evidence/project");
    // An archive has no order within a second.
    thread::sleep(Duration::from_millis(1100));
    stored.site.serve("/a", Reply::ok("changed"));
    stored.exits(1, "run");
    assert_eq!(stored.files().len(), 2);
    stored.forget_copies();

    let got = stored.ok(&["archive", "get", "--at", "2999", URL]);
    assert_eq!(got.out, "changed");
    stored
        .exits(1, &["archive", "diff", URL])
        .says(&["-first", "+changed"]);
    stored.ok("archive list").says(&[URL, "2 contents"]);
    stored.verify();
    stored.ok("archive export --bagit bag");
    stored.assert_file("bag/data/example.test/a", "first");
    // Reading leaves only a cache.
    let is_cached = |file: &PathBuf| file.parent().unwrap().ends_with("archive/.cache");
    assert!(stored.copies().iter().all(is_cached));
}

#[test]
fn an_unchanged_archive_costs_few_requests() {
    let stored = Stored::after_runs(1, "");
    stored.forget_copies();
    stored.server.recover();
    stored.ok(&["archive", "get", URL]);
    let first = stored.server.requests().len();
    // The manifest, the index, and the file.
    assert!((3..=5).contains(&first), "{:?}", stored.server.requests());
    stored.ok(&["archive", "get", URL]);
    // Copies of small files are kept.
    assert_eq!(stored.server.requests().len(), first + 1);
}

#[test]
fn a_run_changes_the_manifest_once() {
    let stored = Stored::new("");
    // The first run also tries whether the store heeds conditions.
    stored.ok("run");
    for _ in 0..2 {
        stored.server.recover();
        stored.ok("run");
        // The archive file and its lines in the index count from the same moment on.
        let requests = stored.server.requests();
        let changes = requests
            .iter()
            .filter(|seen| seen.method == "PUT" && seen.target.ends_with("manifest.json"));
        assert_eq!(changes.count(), 1, "{requests:?}");
    }
}

#[test]
fn the_next_run_makes_up_for_a_lost_connection() {
    let stored = Stored::new("");
    stored.server.fail(|_| Some(Fault::Status(503)));
    let ran = stored.ok("run");
    assert_eq!(stored.server.objects(), []);
    assert_has(&ran.err, "503 SlowDown");
    assert_has(&ran.err, "which the next run makes up for");

    stored.server.recover();
    stored.ok("run");
    assert_eq!(stored.files().len(), 2);
    stored.verify();
    stored.forget_copies();
    stored.verify();
    // Nothing was captured twice.
    assert_eq!(kinds(&stored), ["response", "revisit"]);
}

#[test]
fn what_a_lost_machine_never_stored_is_captured_again() {
    let stored = Stored::new("");
    stored.server.fail(|_| Some(Fault::Status(503)));
    stored.ok("run");
    stored.forget_copies();
    stored.server.recover();
    stored.ok("run").says("no place ever had");
    stored.forget_copies();
    assert_eq!(stored.ok(&["archive", "get", URL]).out, "first");
    stored.ok("archive verify");
    // The next run has nothing to mend.
    let ran = stored.ok("run");
    assert_lacks(&ran.out, "no place ever had");
}

#[test]
fn without_credentials_nothing_is_asked() {
    let mut stored = Stored::new("");
    stored.sandbox.env.clear();
    for arguments in [&["run"][..], &["archive", "list"], &["archive", "get", URL]] {
        stored
            .exits(2, arguments)
            .complains(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    }
    assert_eq!(stored.server.requests(), []);
    assert_eq!(stored.site.requests().len(), 0);
}

#[test]
fn a_refusal_is_for_a_person_to_mend() {
    let stored = Stored::new("");
    stored.server.fail(|_| Some(Fault::Status(403)));
    stored.exits(2, "run").complains("403 AccessDenied");
    // The checks were made all the same.
    assert_has(&stored.read("status/example.test.yaml"), "ok");
    stored
        .exits(2, "archive list")
        .complains("403 AccessDenied");
    stored.server.recover();
    stored.ok("run");
    stored.ok("archive verify");
}

#[test]
fn copies_beyond_the_size_of_the_cache_are_removed() {
    let stored = Stored::after_runs(3, "cache-size = \"1kB\"\n");
    assert!(stored.copies().len() < 2, "{:?}", stored.copies());
    assert_eq!(stored.files().len(), 3);
    assert_eq!(stored.ok(&["archive", "get", URL]).out, "first");
    stored
        .ok("archive verify")
        .says(&["verified", "in 3 files"]);
    // Removed copies are not captured again.
    let ran = stored.ok("run");
    assert_lacks(&ran.out, "no place ever had");
}

#[test]
fn what_this_machine_has_seen_is_read_offline() {
    let stored = Stored::after_runs(1, "");
    stored.ok("archive list");
    stored.server.fail(|_| Some(Fault::Status(503)));
    stored
        .ok(&["archive", "get", URL])
        .says("first")
        .complains("as this machine has last seen it");
    let seen = stored.path("archive/.cache/.manifest.json");
    let elsewhere = stored.path("elsewhere");
    std::fs::rename(&seen, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &seen).unwrap();
    stored
        .exits(2, "archive list")
        .complains(".cache/.manifest.json is a link out of the archive: replace it by a file");
    stored.forget_copies();
    stored
        .exits(2, &["archive", "get", URL])
        .complains("503 SlowDown");
}

#[test]
fn two_machines_write_to_one_store() {
    let stored = Stored::new("");
    let other = stored.other_machine("");
    for _ in 0..2 {
        stored.ok("run");
        other.ok("run");
    }
    assert_eq!(stored.files().len(), 4);
    for sandbox in [&stored.sandbox, &other] {
        sandbox.ok(&["archive", "list", URL]);
        sandbox
            .ok("archive verify")
            .says(&["in 4 files", "0 errors, 0 warnings"]);
    }
}

#[test]
fn damage_in_the_store_and_in_copies_is_found() {
    let stored = Stored::after_runs(1, "");
    let [key] = &stored.files()[..] else {
        panic!("one file")
    };
    let good = stored.server.object(key).unwrap();
    let copy = &stored.copies()[0];

    // A damaged copy is removed by a repair: the store has the file.
    let mut bad = good.clone();
    bad[100] ^= 1;
    fs::write(copy, &bad).unwrap();
    stored.exits(1, "archive verify").says("file-damaged");
    stored
        .ok("archive repair")
        .complains("a place has the file");
    assert!(!copy.exists());
    stored.verify();

    // An object with other bytes is never taken for the file.
    stored.forget_copies();
    stored.server.set(key, &bad);
    stored.exits(1, "archive verify").says("file-damaged");
    stored
        .exits(2, &["archive", "get", URL])
        .complains("another SHA-256");
    stored.server.set(key, &good[1..]);
    stored.exits(1, "archive verify").says("file-damaged");
    stored.server.remove(key);
    stored.exits(1, "archive verify").says("file-lost");
    stored.server.set(key, &good);
    stored.ok("archive verify");
}

#[test]
fn a_cache_that_cannot_be_written_stops_no_reading() {
    let stored = Stored::after_runs(1, "");
    stored.forget_copies();
    // A file in the place of its folder refuses writes, as a full disk does.
    stored.write("archive/.cache", "");
    assert_eq!(stored.ok(&["archive", "get", URL]).out, "first");
    stored.ok("archive list").says(&[URL]);
}

#[test]
fn a_store_without_conditions_gets_no_file() {
    let stored = Stored::new("");
    stored.server.ignore_conditions();
    stored.exits(2, "run").complains("If-None-Match");
    assert_eq!(stored.server.objects(), []);
    let requests = stored.server.requests().into_iter();
    let mut writes = requests.filter(|seen| seen.method == "PUT");
    assert!(writes.all(|seen| seen.target.contains("manifest.json")));
}

#[test]
fn a_list_without_end_ends_the_verification() {
    let stored = Stored::after_runs(1, "");
    stored.server.answer(|seen| {
        let body = "<ListBucketResult><Name>evidence</Name><IsTruncated>true</IsTruncated>\
                    <NextContinuationToken>same</NextContinuationToken></ListBucketResult>";
        let head = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        seen.target
            .contains("list-type")
            .then(|| (head + body).into_bytes())
    });
    stored.exits(1, "archive verify").says(&[
        "list-incomplete",
        "the conversation ended after 100 requests",
    ]);
}

#[test]
fn compact_makes_room_in_a_full_manifest() {
    let stored = Stored::new(MONTHLY);
    // Each file that is removed makes about 40 bytes of room, and what is made takes about 600.
    for n in 10..30 {
        let name = format!("urldb-202001010000{n}-00000-x.warc.gz");
        let mut shelf = Shelf::with_ids(&stored.sandbox, &name, 2 * n);
        shelf.capture(&format!("2020-01-01T00:00:{n}Z"), &text(URL, "first"));
        shelf.finish();
    }
    stored.ok("run");
    // Names of removed files fill the manifest but for a few bytes.
    let key = "project/manifest.json";
    let manifest = String::from_utf8(stored.server.object(key).unwrap()).unwrap();
    let room = (16 << 20) - manifest.len() - 100;
    let names = (0..room / 212).map(|n| format!("\n  \"{n:0>200}\": null"));
    let last = "x".repeat((room % 212).saturating_sub(12).max(1));
    let names: Vec<String> = names.chain([format!("\n  \"{last}\": null")]).collect();
    let removed = format!("\"removed\": {{{}", names.join(","));
    let full = manifest.replace("\"removed\": {}", &format!("{removed}\n }}"));
    assert_ne!(full, manifest);
    stored.server.set(key, full.as_bytes());
    stored
        .exits(2, "run")
        .complains("has too many files: `urldb archive compact` joins them");
    stored.ok("archive compact").says("made 1 file of 22");
    stored.ok("run");
}

#[test]
fn doctor_names_the_store_and_only_reads() {
    let mut stored = Stored::new("");
    let ran = stored.urldb("doctor");
    ran.says("s3://evidence/project: its credentials are set");
    stored.sandbox.env.clear();
    let ran = stored.urldb("doctor");
    ran.says(&["s3://evidence/project: ", "export AWS_ACCESS_KEY_ID=…"]);
    let requests = stored.server.requests().into_iter();
    assert!(
        requests
            .map(|seen| seen.method)
            .all(|method| method == "GET")
    );
}

#[test]
fn a_hostile_manifest_is_refused() {
    let stored = Stored::after_runs(1, "");
    stored.server.set(
        "project/manifest.json",
        br#"{"format": "urldb-archive-2", "serial": 1, "files": [{"name": "../../x.warc.gz", "length": 1, "sha256": "00"}], "removed": {}, "lost": []}"#,
    );
    for (code, arguments) in [(0, "archive list"), (1, "archive verify"), (2, "run")] {
        stored
            .exits(code, arguments)
            .complains(&["manifest.json", "../../x.warc.gz"]);
    }
    // A machine that knows no other manifest reads nothing.
    stored.forget_copies();
    stored.exits(2, "archive list").complains("../../x.warc.gz");
}

#[test]
fn mistakes_in_the_keys_are_shown() {
    let sandbox = Sandbox::new(
        "[archive]\nstores = [\n\"https://evidence/x\",\n{ url = \"s3://evidence/x\", endpoint = \"minio\" },\n\
         { endpoint = \"https://minio.example.org\" },\n{ url = \"file:///mnt/x\", region = \"x\" },\n5,\n\
         { url = \"s3://evidence/y\", env-prefix = \"b-\", region-name = \"x\" },\n]\ncache-size = \"much\"\n",
    );
    sandbox.exits(2, "check").complains(&[
        "urldb.toml:5:1: a place of the archive should be such as \"s3://BUCKET/PREFIX\" or \"file:///FOLDER\": it should begin with s3:// or file://\n",
        "urldb.toml:6:39: `endpoint` should be the URL of a server: it is no URL: relative URL without a base\n",
        "urldb.toml:7:1: [archive.stores]: the `url` is missing, such as \"s3://BUCKET/PREFIX\"\n",
        "urldb.toml:8:35: `region` has no effect for a folder\n",
        "urldb.toml:9:1: `stores` should be a list of texts or tables\n",
        "urldb.toml:10:41: `env-prefix` should have capital letters, digits and _, such as \"B_\"\n",
        "urldb.toml:10:47: unknown key `region-name` in [archive.stores]; known are url, endpoint, region, env-prefix\n",
        "urldb.toml:12:14: `cache-size` should be a size",
    ]);
    for (settings, problem) in [
        (
            "cache-size = \"1GB\"",
            "4:14: `cache-size` has no effect without `stores`\n",
        ),
        (
            "stores = \"s3://evidence/x\"",
            "4:10: `stores` should be a list of texts or tables\n",
        ),
        (
            "stores = [\"s3://evidence/x\", \"s3://evidence/x/\"]",
            "4:10: s3://evidence/x is a place twice\n",
        ),
    ] {
        let sandbox = Sandbox::new(&format!("[archive]\n{settings}\n"));
        sandbox
            .exits(2, "check")
            .complains(&format!("urldb.toml:{problem}"));
    }
}

#[test]
fn segments_of_the_index_that_a_run_merges_are_replaced_in_the_store() {
    let stored = Stored::after_runs(18, "");
    let objects = stored.server.objects().into_iter().map(|(key, _)| key);
    let segments = objects
        .filter(|key| Path::new(key).extension() == Some("idx".as_ref()))
        .count();
    assert!(segments < 10, "{segments} segments");
    assert_eq!(stored.files().len(), 18);
    for _ in 0..2 {
        stored
            .ok("archive verify")
            .says(&["in 18 files", "0 errors, 0 warnings"]);
        stored.forget_copies();
    }
    // The copies of this machine are gone, and nothing of the index with them.
    stored.ok("run");
    assert_eq!(kinds(&stored).len(), 19);
}

const MONTHLY: &str = "keep-revisits = \"monthly\"\n";

/// The types of the captures of [`URL`], oldest first.
fn kinds(sandbox: &Sandbox) -> Vec<String> {
    let listed = sandbox
        .ok(&["archive", "list", URL, "--format", "jsonl"])
        .json_lines();
    let kinds = listed.iter().map(|line| line["type"].as_str().unwrap());
    kinds.map(str::to_owned).collect()
}

impl Stored {
    /// The store has one WARC file, one segment of the index, and nothing else but the manifest.
    fn is_compact(&self) {
        let objects = self.server.objects();
        assert_eq!(objects.len(), 5, "{objects:?}");
        assert!(self.files()[0].contains("urldb-joined-"), "{objects:?}");
        for _ in 0..2 {
            assert_eq!(
                kinds(&self.sandbox),
                ["response", "revisit", "revisit"],
                "the first and the last revisit"
            );
            self.verify();
            assert_eq!(self.ok(&["archive", "get", URL]).out, "first");
            self.forget_copies();
        }
    }

    fn verify(&self) {
        self.ok("archive verify").says("0 errors, 0 warnings");
    }
}

#[test]
fn compact_replaces_the_files_in_the_store() {
    let stored = Stored::after_runs(5, MONTHLY);
    let before = stored.server.objects();
    stored.ok("archive compact --dry-run");
    assert_eq!(stored.server.objects(), before);
    stored
        .ok("archive compact")
        .says("left out 4 captures, made 1 file of 5");
    assert_eq!(stored.copies().len(), 1);
    stored.is_compact();
    // The files that the ledger names are gone, and their records are not.
    let ran = stored.ok("run");
    assert_lacks(&ran.out, "no place ever had");
    assert_eq!(kinds(&stored).len(), 4);
    stored.verify();
}

#[test]
fn a_machine_without_copies_compacts_the_store() {
    let stored = Stored::after_runs(5, MONTHLY);
    stored.forget_copies();
    stored.ok("archive compact");
    stored.is_compact();
    let ran = stored.ok("archive compact");
    assert_eq!(ran.out, "nothing to leave out, and no files to join\n");
    assert_eq!(stored.server.objects().len(), 5);
}

#[test]
fn a_machine_with_copies_of_replaced_files_goes_on() {
    let stored = Stored::new(MONTHLY);
    let other = stored.other_machine(MONTHLY);
    for _ in 0..3 {
        stored.ok("run");
        other.ok("run");
    }
    stored.ok("archive compact");
    let captures = kinds(&stored);
    assert_eq!(kinds(&other), captures);
    other
        .ok("archive verify")
        .says(&["in 1 file", "0 errors, 0 warnings"]);
    other.ok("run");
    for sandbox in [&other, &stored.sandbox] {
        assert_eq!(kinds(sandbox).len(), captures.len() + 1);
        sandbox
            .ok("archive verify")
            .says(&["in 2 files", "0 errors, 0 warnings"]);
    }
    let copies = other.files("archive", ".warc.gz");
    let own = copies
        .iter()
        .filter(|path| path.parent().unwrap().ends_with("archive"));
    assert_eq!(own.count(), 1, "{copies:?}");
}

#[test]
fn prune_removes_old_captures_from_the_store() {
    let stored = Stored::new("");
    let mut shelf = Shelf::new(&stored.sandbox, "urldb-20200101000000-00000-x.warc.gz");
    shelf.capture("2020-01-01T00:00:00Z", &text(URL, "of then"));
    shelf.finish();
    stored.ok("run");
    stored.forget_copies();
    assert_eq!(kinds(&stored), ["response", "response"]);
    stored
        .ok("archive prune --older-than 365d")
        .says("left out 1 capture");
    for _ in 0..2 {
        assert_eq!(kinds(&stored), ["response"]);
        assert_eq!(stored.ok(&["archive", "get", URL]).out, "first");
        stored.verify();
        stored.forget_copies();
    }
}

#[test]
fn a_store_that_refuses_a_rewrite_loses_nothing() {
    let stored = Stored::after_runs(5, MONTHLY);
    let (before, objects) = (kinds(&stored), stored.server.objects());
    stored.server.fail(|_| Some(Fault::Status(403)));
    stored
        .exits(2, "archive compact")
        .complains(&["cannot be rewritten while files are not stored: ", "403"]);
    // The new file is written, and the manifest is not.
    stored.server.fail(|seen| {
        let is_change = seen.method == "PUT" && seen.target.contains("manifest.json");
        is_change.then_some(Fault::Status(403))
    });
    stored
        .exits(2, "archive compact")
        .complains("403 AccessDenied");
    stored.server.recover();
    assert_eq!(kinds(&stored), before);
    stored.verify();
    assert!(stored.server.objects().len() > objects.len());
    // The next run deletes the objects that do not count.
    stored.ok("run");
    assert_eq!(stored.server.objects().len(), objects.len() + 4);
    // The manifest is written, and the old objects stay.
    stored
        .server
        .fail(|seen| (seen.method == "DELETE").then_some(Fault::Status(403)));
    stored
        .exits(2, "archive compact")
        .complains("403 AccessDenied");
    stored.server.recover();
    stored.verify();
    stored.ok("archive compact");
    stored.is_compact();
}

#[test]
fn the_index_is_made_anew_of_files_in_the_store() {
    let stored = Stored::after_runs(3, "");
    stored.forget_copies();
    stored.ok("archive index").says("indexed 3 files");
    // Three files, the three files of one segment, and the manifest.
    assert_eq!(stored.server.objects().len(), 7);
    for _ in 0..2 {
        assert_eq!(kinds(&stored).len(), 3);
        stored.verify();
        stored.forget_copies();
    }
}
