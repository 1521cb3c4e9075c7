//! An archive in an object store: what runs bring there, and what machines without a copy read.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::fake_s3::{BUCKET, FakeS3, Fault};
use crate::sandbox::{Ran, Sandbox};
use crate::shelf::{Shelf, text};
use crate::site::{Site, promises};
use crate::support::Reply;

const SECRET: &str = "wJalrXUtnFEMI-K7MDENG";

const ENVIRONMENT: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "id"),
    ("AWS_SECRET_ACCESS_KEY", SECRET),
];

const URL: &str = "http://example.test/a";

/// A repository whose archive is in a store.
struct Stored {
    site: Site,
    server: FakeS3,
    sandbox: Sandbox,
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

    fn urldb(&self, arguments: &[&str]) -> Ran {
        in_store(&self.sandbox, arguments)
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
        "[archive]\nstore = \"s3://{BUCKET}/project\"\nstore-endpoint = \"{}\"\n{keys}",
        server.endpoint()
    );
    let sandbox = Sandbox::new(&format!("{}{store}", site.network()));
    let pages = [("/a", "first"), ("/b", "second")];
    sandbox.write("urldb/example.test.yaml", promises(&pages));
    sandbox
}

fn in_store(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let ran = sandbox.urldb_with_env(arguments, &ENVIRONMENT);
    assert!(!format!("{ran:?}").contains(SECRET), "{ran:?}");
    ran
}

#[test]
fn a_machine_without_copies_reads_the_archive() {
    let stored = Stored::new("");
    stored
        .urldb(&["run"])
        .code(0)
        .says(&["in s3://evidence/project"]);
    // An archive has no order within a second.
    thread::sleep(Duration::from_millis(1100));
    stored.site.serve("/a", Reply::ok("changed"));
    stored.urldb(&["run"]).code(1);
    assert_eq!(stored.files().len(), 2);
    stored.forget_copies();

    let got = stored
        .urldb(&["archive", "get", "--at", "2999", URL])
        .code(0);
    assert_eq!(got.out, "changed");
    stored
        .urldb(&["archive", "diff", URL])
        .code(1)
        .says(&["-first", "+changed"]);
    stored
        .urldb(&["archive", "list"])
        .code(0)
        .says(&[URL, "2 contents"]);
    stored
        .urldb(&["archive", "verify"])
        .code(0)
        .says(&["0 errors, 0 warnings"]);
    stored
        .urldb(&["archive", "export", "--bagit", "bag"])
        .code(0);
    assert_eq!(stored.sandbox.read("bag/data/example.test/a"), "first");
    // Reading leaves only a cache.
    let is_cached = |file: &PathBuf| file.parent().unwrap().ends_with("archive/.cache");
    assert!(stored.copies().iter().all(is_cached));
}

#[test]
fn an_unchanged_archive_costs_few_requests() {
    let stored = Stored::new("");
    stored.urldb(&["run"]).code(0);
    stored.forget_copies();
    stored.server.recover();
    stored.urldb(&["archive", "get", URL]).code(0);
    let first = stored.server.requests().len();
    // The manifest, the index, and the file.
    assert!((3..=5).contains(&first), "{:?}", stored.server.requests());
    stored.urldb(&["archive", "get", URL]).code(0);
    // Copies of small files are kept.
    assert_eq!(stored.server.requests().len(), first + 1);
}

#[test]
fn a_run_changes_the_manifest_once() {
    let stored = Stored::new("");
    // The first run also tries whether the store heeds conditions.
    stored.urldb(&["run"]).code(0);
    for _ in 0..2 {
        stored.server.recover();
        stored.urldb(&["run"]).code(0);
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
    let ran = stored.urldb(&["run"]).code(0);
    assert_eq!(stored.server.objects(), []);
    assert!(ran.err.contains("503 SlowDown"), "{ran:?}");
    assert!(
        ran.err.contains("which the next run makes up for"),
        "{ran:?}"
    );

    stored.server.recover();
    stored.urldb(&["run"]).code(0);
    assert_eq!(stored.files().len(), 2);
    stored
        .urldb(&["archive", "verify"])
        .code(0)
        .says(&["0 errors, 0 warnings"]);
    stored.forget_copies();
    stored
        .urldb(&["archive", "verify"])
        .code(0)
        .says(&["0 errors, 0 warnings"]);
    // Nothing was captured twice.
    let listed = stored
        .urldb(&["archive", "list", URL, "--format", "jsonl"])
        .code(0)
        .out;
    let kinds: Vec<_> = listed
        .lines()
        .map(|line| line.contains("\"revisit\""))
        .collect();
    assert_eq!(kinds, [false, true], "{listed}");
}

#[test]
fn what_a_lost_machine_never_stored_is_captured_again() {
    let stored = Stored::new("");
    stored.server.fail(|_| Some(Fault::Status(503)));
    stored.urldb(&["run"]).code(0);
    stored.forget_copies();
    stored.server.recover();
    stored
        .urldb(&["run"])
        .code(0)
        .says(&["never reached the store"]);
    stored.forget_copies();
    assert_eq!(stored.urldb(&["archive", "get", URL]).code(0).out, "first");
    stored.urldb(&["archive", "verify"]).code(0);
    // The next run has nothing to mend.
    let ran = stored.urldb(&["run"]).code(0);
    assert!(!ran.out.contains("never reached"), "{ran:?}");
}

#[test]
fn without_credentials_nothing_is_asked() {
    let stored = Stored::new("");
    for arguments in [&["run"][..], &["archive", "list"], &["archive", "get", URL]] {
        stored
            .sandbox
            .urldb(arguments)
            .code(2)
            .complains(&["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]);
    }
    assert_eq!(stored.server.requests(), []);
    assert_eq!(stored.site.requests().len(), 0);
}

#[test]
fn a_refusal_is_for_a_person_to_mend() {
    let stored = Stored::new("");
    stored.server.fail(|_| Some(Fault::Status(403)));
    stored
        .urldb(&["run"])
        .code(2)
        .complains(&["403 AccessDenied"]);
    // The checks were made all the same.
    assert!(
        stored
            .sandbox
            .read("status/example.test.yaml")
            .contains("ok")
    );
    stored
        .urldb(&["archive", "list"])
        .code(2)
        .complains(&["403 AccessDenied"]);
    stored.server.recover();
    stored.urldb(&["run"]).code(0);
    stored.urldb(&["archive", "verify"]).code(0);
}

#[test]
fn copies_beyond_the_size_of_the_cache_are_removed() {
    let stored = Stored::new("cache-size = \"1kB\"\n");
    for _ in 0..3 {
        stored.urldb(&["run"]).code(0);
    }
    assert!(stored.copies().len() < 2, "{:?}", stored.copies());
    assert_eq!(stored.files().len(), 3);
    assert_eq!(stored.urldb(&["archive", "get", URL]).code(0).out, "first");
    stored
        .urldb(&["archive", "verify"])
        .code(0)
        .says(&["verified", "in 3 files"]);
    // Removed copies are not captured again.
    let ran = stored.urldb(&["run"]).code(0);
    assert!(!ran.out.contains("never reached"), "{ran:?}");
}

#[test]
fn what_this_machine_has_seen_is_read_offline() {
    let stored = Stored::new("");
    stored.urldb(&["run"]).code(0);
    stored.urldb(&["archive", "list"]).code(0);
    stored.server.fail(|_| Some(Fault::Status(503)));
    stored
        .urldb(&["archive", "get", URL])
        .code(0)
        .says(&["first"])
        .complains(&["as this machine has last seen it"]);
    let seen = stored.sandbox.path("archive/.cache/.manifest.json");
    let elsewhere = stored.sandbox.path("elsewhere");
    std::fs::rename(&seen, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &seen).unwrap();
    stored
        .urldb(&["archive", "list"])
        .code(2)
        .complains(&[".cache/.manifest.json is a link out of the archive: replace it by a file"]);
    stored.forget_copies();
    stored
        .urldb(&["archive", "get", URL])
        .code(2)
        .complains(&["503 SlowDown"]);
}

#[test]
fn two_machines_write_to_one_store() {
    let stored = Stored::new("");
    let other = repository(&stored.site, &stored.server, "");
    for _ in 0..2 {
        stored.urldb(&["run"]).code(0);
        in_store(&other, &["run"]).code(0);
    }
    assert_eq!(stored.files().len(), 4);
    for sandbox in [&stored.sandbox, &other] {
        in_store(sandbox, &["archive", "list", URL]).code(0);
        in_store(sandbox, &["archive", "verify"])
            .code(0)
            .says(&["in 4 files", "0 errors, 0 warnings"]);
    }
}

#[test]
fn damage_in_the_store_and_in_copies_is_found() {
    let stored = Stored::new("");
    stored.urldb(&["run"]).code(0);
    let [key] = &stored.files()[..] else {
        panic!("one file")
    };
    let good = stored.server.object(key).unwrap();
    let copy = &stored.copies()[0];

    // A damaged copy is removed by a repair: the store has the file.
    let mut bad = good.clone();
    bad[100] ^= 1;
    fs::write(copy, &bad).unwrap();
    stored
        .urldb(&["archive", "verify"])
        .code(1)
        .says(&["store-bytes"]);
    stored
        .urldb(&["archive", "repair"])
        .code(0)
        .complains(&["the store has the file"]);
    assert!(!copy.exists());
    stored
        .urldb(&["archive", "verify"])
        .code(0)
        .says(&["0 errors, 0 warnings"]);

    // An object with other bytes is never taken for the file.
    stored.forget_copies();
    stored.server.set(key, &bad);
    stored
        .urldb(&["archive", "verify"])
        .code(1)
        .says(&["store-bytes"]);
    stored
        .urldb(&["archive", "get", URL])
        .code(2)
        .complains(&["another SHA-256"]);
    stored.server.set(key, &good[1..]);
    stored
        .urldb(&["archive", "verify"])
        .code(1)
        .says(&["store-bytes"]);
    stored.server.remove(key);
    stored
        .urldb(&["archive", "verify"])
        .code(1)
        .says(&["store-missing"]);
    stored.server.set(key, &good);
    stored.urldb(&["archive", "verify"]).code(0);
}

#[test]
fn a_cache_that_cannot_be_written_stops_no_reading() {
    let stored = Stored::new("");
    stored.urldb(&["run"]).code(0);
    stored.forget_copies();
    // A file in the place of its folder refuses writes, as a full disk does.
    stored.sandbox.write("archive/.cache", "");
    assert_eq!(stored.urldb(&["archive", "get", URL]).code(0).out, "first");
    stored.urldb(&["archive", "list"]).code(0).says(&[URL]);
}

#[test]
fn a_store_without_conditions_gets_no_file() {
    let stored = Stored::new("");
    stored.server.ignore_conditions();
    stored.urldb(&["run"]).code(2).complains(&["If-None-Match"]);
    assert_eq!(stored.server.objects(), []);
    let requests = stored.server.requests().into_iter();
    let mut writes = requests.filter(|seen| seen.method == "PUT");
    assert!(writes.all(|seen| seen.target.contains("manifest.json")));
}

#[test]
fn a_list_without_end_ends_the_verification() {
    let stored = Stored::new("");
    stored.urldb(&["run"]).code(0);
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
    stored
        .urldb(&["archive", "verify"])
        .code(2)
        .complains(&["the conversation ended after 100 requests"]);
}

#[test]
fn compact_makes_room_in_a_full_manifest() {
    let stored = Stored::new(MONTHLY);
    // Each file that is removed makes about 100 bytes of room, and what is made takes about 700.
    for _ in 0..9 {
        stored.urldb(&["run"]).code(0);
    }
    // Names of removed files fill the manifest but for a few bytes.
    let key = "project/manifest.json";
    let manifest = String::from_utf8(stored.server.object(key).unwrap()).unwrap();
    let room = (16 << 20) - manifest.len() - 100;
    let names = (0..room / 206).map(|n| format!("\n  \"{n:0>200}\""));
    let last = "x".repeat((room % 206).saturating_sub(6));
    let names: Vec<String> = names.chain([format!("\n  \"{last}\"")]).collect();
    let removed = format!("\"removed\": [{}", names.join(","));
    let full = manifest.replace("\"removed\": []", &format!("{removed}\n ]"));
    assert_ne!(full, manifest);
    stored.server.set(key, full.as_bytes());
    stored
        .urldb(&["run"])
        .code(2)
        .complains(&["has too many files: `urldb archive compact` joins them"]);
    stored
        .urldb(&["archive", "compact"])
        .code(0)
        .says(&["made 1 file of 10"]);
    stored.urldb(&["run"]).code(0);
    stored.verify();
}

#[test]
fn doctor_names_the_store_and_contacts_nobody() {
    let stored = Stored::new("");
    let ran = stored.urldb(&["doctor"]);
    ran.says(&["s3://evidence/project: its credentials are set"]);
    let ran = stored.sandbox.urldb(&["doctor"]);
    ran.says(&["s3://evidence/project: ", "export AWS_ACCESS_KEY_ID=…"]);
    assert_eq!(stored.server.requests(), []);
}

#[test]
fn a_hostile_manifest_is_refused() {
    let stored = Stored::new("");
    stored.urldb(&["run"]).code(0);
    stored.server.set(
        "project/manifest.json",
        br#"{"format": "urldb-archive-1", "files": [{"name": "../../x.warc.gz", "length": 1, "sha256": "00"}]}"#,
    );
    for arguments in [&["archive", "list"][..], &["archive", "verify"], &["run"]] {
        stored
            .urldb(arguments)
            .code(2)
            .complains(&["manifest.json", "../../x.warc.gz"]);
    }
}

#[test]
fn mistakes_in_the_keys_are_shown() {
    let sandbox = Sandbox::new(
        "[archive]\nstore = \"https://evidence/x\"\nstore-endpoint = \"minio\"\ncache-size = \"much\"\n",
    );
    sandbox.urldb(&["check"]).code(2).complains(&[
        "urldb.toml:4:9: `store` should be such as \"s3://BUCKET/PREFIX\": it should begin with s3://\n",
        "urldb.toml:5:18: `store-endpoint` should be the URL of a server: it is no URL: relative URL without a base\n",
        "urldb.toml:6:14: `cache-size` should be a size",
    ]);
    let sandbox = Sandbox::new("[archive]\nstore-region = \"x\"\n");
    sandbox
        .urldb(&["check"])
        .code(2)
        .complains(&["urldb.toml:4:16: `store-region` has no effect without `store`\n"]);
}

#[test]
fn segments_of_the_index_that_a_run_merges_are_replaced_in_the_store() {
    let stored = Stored::new("");
    for _ in 0..18 {
        stored.urldb(&["run"]).code(0);
    }
    let objects = stored.server.objects().into_iter().map(|(key, _)| key);
    let segments = objects
        .filter(|key| Path::new(key).extension() == Some("idx".as_ref()))
        .count();
    assert!(segments < 10, "{segments} segments");
    assert_eq!(stored.files().len(), 18);
    for _ in 0..2 {
        stored
            .urldb(&["archive", "verify"])
            .code(0)
            .says(&["in 18 files", "0 errors, 0 warnings"]);
        stored.forget_copies();
    }
    // The copies of this machine are gone, and nothing of the index with them.
    stored.urldb(&["run"]).code(0);
    let listed = stored
        .urldb(&["archive", "list", URL, "--format", "jsonl"])
        .code(0)
        .out;
    assert_eq!(listed.lines().count(), 19);
}

const MONTHLY: &str = "keep-revisits = \"monthly\"\n";

/// The types of the captures of [`URL`], oldest first.
fn kinds(sandbox: &Sandbox) -> Vec<String> {
    let listed = in_store(sandbox, &["archive", "list", URL, "--format", "jsonl"]).code(0);
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    let kinds = listed.out.lines().map(line);
    kinds
        .map(|line| line["type"].as_str().unwrap().to_owned())
        .collect()
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
            assert_eq!(self.urldb(&["archive", "get", URL]).code(0).out, "first");
            self.forget_copies();
        }
    }

    fn verify(&self) {
        self.urldb(&["archive", "verify"])
            .code(0)
            .says(&["0 errors, 0 warnings"]);
    }
}

#[test]
fn compact_replaces_the_files_in_the_store() {
    let stored = Stored::new(MONTHLY);
    for _ in 0..5 {
        stored.urldb(&["run"]).code(0);
    }
    let before = stored.server.objects();
    stored.urldb(&["archive", "compact", "--dry-run"]).code(0);
    assert_eq!(stored.server.objects(), before);
    stored
        .urldb(&["archive", "compact"])
        .code(0)
        .says(&["left out 4 captures, made 1 file of 5"]);
    assert_eq!(stored.copies().len(), 1);
    stored.is_compact();
    // The files that the ledger names are gone, and their records are not.
    let ran = stored.urldb(&["run"]).code(0);
    assert!(!ran.out.contains("never reached"), "{ran:?}");
    assert_eq!(kinds(&stored.sandbox).len(), 4);
    stored.verify();
}

#[test]
fn a_machine_without_copies_compacts_the_store() {
    let stored = Stored::new(MONTHLY);
    for _ in 0..5 {
        stored.urldb(&["run"]).code(0);
    }
    stored.forget_copies();
    stored.urldb(&["archive", "compact"]).code(0);
    stored.is_compact();
    let ran = stored.urldb(&["archive", "compact"]).code(0);
    assert_eq!(ran.out, "nothing to leave out, and no files to join\n");
    assert_eq!(stored.server.objects().len(), 5);
}

#[test]
fn a_machine_with_copies_of_replaced_files_goes_on() {
    let stored = Stored::new(MONTHLY);
    let other = repository(&stored.site, &stored.server, MONTHLY);
    for _ in 0..3 {
        stored.urldb(&["run"]).code(0);
        in_store(&other, &["run"]).code(0);
    }
    stored.urldb(&["archive", "compact"]).code(0);
    let captures = kinds(&stored.sandbox);
    assert_eq!(kinds(&other), captures);
    in_store(&other, &["archive", "verify"])
        .code(0)
        .says(&["in 1 file", "0 errors, 0 warnings"]);
    in_store(&other, &["run"]).code(0);
    for sandbox in [&other, &stored.sandbox] {
        assert_eq!(kinds(sandbox).len(), captures.len() + 1);
        in_store(sandbox, &["archive", "verify"])
            .code(0)
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
    stored.urldb(&["run"]).code(0);
    stored.forget_copies();
    assert_eq!(kinds(&stored.sandbox), ["response", "response"]);
    let prune = ["archive", "prune", "--older-than", "365d"];
    stored.urldb(&prune).code(0).says(&["left out 1 capture"]);
    for _ in 0..2 {
        assert_eq!(kinds(&stored.sandbox), ["response"]);
        assert_eq!(stored.urldb(&["archive", "get", URL]).code(0).out, "first");
        stored.verify();
        stored.forget_copies();
    }
}

#[test]
fn a_store_that_refuses_a_rewrite_loses_nothing() {
    let stored = Stored::new(MONTHLY);
    for _ in 0..5 {
        stored.urldb(&["run"]).code(0);
    }
    let (before, objects) = (kinds(&stored.sandbox), stored.server.objects());
    stored.server.fail(|_| Some(Fault::Status(403)));
    stored
        .urldb(&["archive", "compact"])
        .code(2)
        .complains(&["cannot be rewritten while files are not stored: ", "403"]);
    // The new file is written, and the manifest is not.
    stored.server.fail(|seen| {
        let is_change = seen.method == "PUT" && seen.target.contains("manifest.json");
        is_change.then_some(Fault::Status(403))
    });
    stored
        .urldb(&["archive", "compact"])
        .code(2)
        .complains(&["403 AccessDenied"]);
    stored.server.recover();
    assert_eq!(kinds(&stored.sandbox), before);
    stored.verify();
    assert!(stored.server.objects().len() > objects.len());
    // The next run deletes the objects that do not count.
    stored.urldb(&["run"]).code(0);
    assert_eq!(stored.server.objects().len(), objects.len() + 4);
    // The manifest is written, and the old objects stay.
    stored
        .server
        .fail(|seen| (seen.method == "DELETE").then_some(Fault::Status(403)));
    stored
        .urldb(&["archive", "compact"])
        .code(2)
        .complains(&["403 AccessDenied"]);
    stored.server.recover();
    stored.verify();
    stored.urldb(&["archive", "compact"]).code(0);
    stored.is_compact();
}

#[test]
fn the_index_is_made_anew_of_files_in_the_store() {
    let stored = Stored::new("");
    for _ in 0..3 {
        stored.urldb(&["run"]).code(0);
    }
    stored.forget_copies();
    stored
        .urldb(&["archive", "index"])
        .code(0)
        .says(&["indexed 3 files"]);
    // Three files, the three files of one segment, and the manifest.
    assert_eq!(stored.server.objects().len(), 7);
    for _ in 0..2 {
        assert_eq!(kinds(&stored.sandbox).len(), 3);
        stored.verify();
        stored.forget_copies();
    }
}
