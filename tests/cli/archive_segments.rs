//! Records longer than `segment-size`: each command treats all segments as one record.

use std::fs;
use std::thread;
use std::time::Duration;

use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, Site, promise, sha256};
use crate::support::Reply;

const URL: &str = "http://example.test/long";

/// A file for each segment.
const SMALL_FILES: &str = "[archive]\nsegment-size = \"2MB\"\nmax-size = \"1MB\"\nsl = true\n";

/// All segments in one file.
const ONE_FILE: &str = "[archive]\nsegment-size = \"2MB\"\nsl = true\n";

/// Text of this length that hardly compresses, and that differs by `seed`.
fn text(length: usize, seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'0' + state.to_be_bytes()[0] % 64)
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// A repository that promises a long body and a short one, and their site.
fn repository(settings: &str, long: &str) -> (Site, Sandbox) {
    let site = Site::with(&[("/long", long), ("/short", "short")]);
    let sandbox = Sandbox::new(&format!("{settings}{}", site.network()));
    sandbox.write(
        FILE,
        format!(
            "---\n{}{}",
            promise("/long", long),
            promise("/short", "short")
        ),
    );
    (site, sandbox)
}

fn verify(sandbox: &Sandbox) {
    sandbox
        .ok("archive verify")
        .says(": 0 errors, 0 warnings\n");
}

fn gets(sandbox: &Sandbox, text: &str) {
    let digest = sha256(text);
    sandbox.ok(&[
        "archive",
        "get",
        "--sha256",
        &digest[..12],
        URL,
        "-o",
        "got",
    ]);
    assert_eq!(sha256(fs::read(sandbox.path("got")).unwrap()), digest);
}

/// The next capture is of a later second than the last, so it is the one that `get` takes.
fn next_second() {
    thread::sleep(Duration::from_millis(1100));
}

fn archive_files(sandbox: &Sandbox) -> usize {
    sandbox.files("archive", ".warc.gz").len()
}

fn bytes_of_files(sandbox: &Sandbox) -> u64 {
    let files = sandbox.files("archive", ".warc.gz");
    files.iter().map(|it| it.metadata().unwrap().len()).sum()
}

#[test]
fn every_command_joins_segments() {
    let (first, second) = (text(5_000_000, 1), text(4_500_000, 2));
    let (site, sandbox) = repository(SMALL_FILES, &first);
    sandbox.ok("run");
    assert!(archive_files(&sandbox) >= 3);
    verify(&sandbox);
    gets(&sandbox, &first);
    // A revisit of it.
    sandbox.ok("run");
    assert_has(&sandbox.index(), "warc/revisit");
    gets(&sandbox, &first);
    site.serve("/long", Reply::ok(&second));
    sandbox.exits(1, "run");
    verify(&sandbox);
    gets(&sandbox, &second);
    sandbox.exits(1, &["archive", "diff", URL]);
    // An index that is made anew from the files has the same lines.
    let index = sandbox.index();
    sandbox.ok("archive index");
    assert_eq!(sandbox.index(), index);
    sandbox.ok("archive repair");
    assert_eq!(sandbox.index(), index);
    sandbox.ok("archive export --bagit bag");
    let exported = fs::read(sandbox.path("bag/data/example.test/long")).unwrap();
    assert_eq!(sha256(exported), sha256(&first));
    for selection in [&[][..], &[URL]] {
        sandbox.ok(&[&["archive", "export", "--wacz", "all.wacz"], selection].concat());
        let length = sandbox.path("all.wacz").metadata().unwrap().len();
        assert!(
            length > bytes_of_files(&sandbox) - 10_000,
            "no segment is left out"
        );
        fs::remove_file(sandbox.path("all.wacz")).unwrap();
    }
    // Joined with room for all, the files become one.
    let larger = sandbox.read("urldb.toml").replace("1MB", "400MB");
    sandbox.write("urldb.toml", &larger);
    sandbox.ok("archive compact");
    assert_eq!(archive_files(&sandbox), 1);
    verify(&sandbox);
    gets(&sandbox, &first);
    gets(&sandbox, &second);
}

#[test]
fn a_copy_in_another_version_has_the_segments() {
    let long = text(4_500_000, 3);
    let (_site, sandbox) = repository(SMALL_FILES, &long);
    sandbox.ok("run");
    let settings = sandbox.read("urldb.toml");
    for version in ["0.9", "1.0", "1.1"] {
        let copy = format!("copy-{version}");
        sandbox.ok(&["archive", "export", "--warc", &copy, "--version", version]);
        let path = format!("[archive]\npath = {copy:?}\n");
        sandbox.write("urldb.toml", settings.replace("[archive]\n", &path));
        verify(&sandbox);
        gets(&sandbox, &long);
        sandbox.write("urldb.toml", &settings);
    }
}

#[test]
fn a_pruned_record_leaves_no_segment() {
    let (first, second) = (text(4_500_000, 4), text(2_000_000, 5));
    let (site, sandbox) = repository(SMALL_FILES, &first);
    sandbox.ok("run");
    let before = bytes_of_files(&sandbox);
    sandbox.write(
        FILE,
        format!(
            "---\n{}{}",
            promise("/long", &second),
            promise("/short", "short")
        ),
    );
    site.serve("/long", Reply::ok(&second));
    next_second();
    sandbox.ok("run");
    let added = bytes_of_files(&sandbox) - before;
    sandbox
        .urldb_at("2099-01-01T00:00:00Z", "archive prune --older-than 30d")
        .code(0);
    verify(&sandbox);
    assert!(bytes_of_files(&sandbox) < added + 10_000);
    gets(&sandbox, &second);
}

/// A run that was killed before its last segment: the next run captures again. In one file, no segment is left; in
/// several files, `verify` names those that are left in finished ones.
#[test]
fn a_killed_run_leaves_no_half_record_that_counts() {
    let long = text(5_000_000, 6);
    for (settings, is_left) in [(ONE_FILE, false), (SMALL_FILES, true)] {
        let (_site, sandbox) = repository(settings, &long);
        let killed = sandbox.copy();
        sandbox.ok("run");
        let mut files = sandbox.files("archive", ".warc.gz");
        files.sort();
        // The file with the last segment is cut within that segment.
        let mut segments = files.clone();
        segments.retain(|it| it.metadata().unwrap().len() > 500_000);
        let last = segments.pop().unwrap();
        for file in files.iter().filter(|it| **it <= last) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let bytes = fs::read(file).unwrap();
            if *file == last {
                let cut = &bytes[..bytes.len() - 100_000];
                killed.write(&format!("archive/{name}.open"), cut);
            } else {
                killed.write(&format!("archive/{name}"), bytes);
            }
        }
        next_second();
        killed
            .ok("run")
            .says("an earlier run left an unfinished archive file");
        gets(&killed, &long);
        if is_left {
            killed
                .exits(1, "archive verify")
                .says(&["segment-missing", ": 1 error, 0 warnings\n"]);
        } else {
            verify(&killed);
        }
        killed.ok("run");
        gets(&killed, &long);
    }
}

/// The folder of the archive is only a cache: what is read comes from the place, by ranges.
#[test]
fn segments_are_in_a_place_of_the_archive() {
    let long = text(5_000_000, 8);
    let place = tempfile::tempdir().unwrap();
    let url = format!("file://{}", place.path().display());
    let stores = format!("stores = [{url:?}]\ncache-size = 0\n");
    let (_site, sandbox) = repository(&format!("{SMALL_FILES}{stores}"), &long);
    sandbox.ok("run");
    assert_eq!(archive_files(&sandbox), 0);
    verify(&sandbox);
    gets(&sandbox, &long);
    sandbox.ok("run");
    verify(&sandbox);
    sandbox.ok("archive export --bagit bag");
}

#[test]
fn segments_of_a_shard_enter_the_archive() {
    let long = text(5_000_000, 9);
    let (_site, sandbox) = repository(SMALL_FILES, &long);
    sandbox.ok("run --shard 1/1 --to bundle");
    sandbox.ok("run --from bundle");
    assert!(archive_files(&sandbox) >= 3);
    verify(&sandbox);
    gets(&sandbox, &long);
}

/// The ledger names the file of the first segment. A lost file with the others is noticed too: by a run, and by
/// `repair`, here and in a place.
#[test]
fn a_lost_segment_is_captured_again() {
    let long = text(5_000_000, 10);
    for (is_stored, first) in [(false, "run"), (true, "run"), (false, "archive repair")] {
        let place = tempfile::tempdir().unwrap();
        let url = format!("file://{}", place.path().display());
        let stores = format!("stores = [{url:?}]\ncache-size = 0\n");
        let stores = if is_stored { stores.as_str() } else { "" };
        let (_site, sandbox) = repository(&format!("{SMALL_FILES}{stores}"), &long);
        sandbox.ok("run");
        let folder = if is_stored {
            place.path().join("")
        } else {
            sandbox.path("archive")
        };
        // The files of the captures, and one that has the second segment only.
        let names = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path());
        let mut names: Vec<_> = names
            .filter(|it| it.extension().is_some_and(|end| end == "gz"))
            .collect();
        names.sort();
        let captures = sandbox.captures();
        let lost = names.iter().find(|it| {
            let name = it.file_name().unwrap().to_str().unwrap();
            it.metadata().unwrap().len() > 500_000 && !captures.contains(name)
        });
        fs::remove_file(lost.unwrap()).unwrap();
        if first != "run" {
            sandbox.ok(first);
        }
        next_second();
        sandbox.urldb("run");
        gets(&sandbox, &long);
        let again = sandbox.captures();
        sandbox.urldb("run");
        assert_eq!(sandbox.captures(), again, "captured again once");
    }
}

/// The beginning of a record does not hide an earlier capture of the same bytes.
#[test]
fn bytes_come_from_a_capture_with_all_segments() {
    let long = text(5_000_000, 11);
    let (_site, sandbox) = repository(SMALL_FILES, &long);
    let other = sandbox.copy();
    sandbox.ok("run");
    next_second();
    other.ok("run");
    let mut files = other.files("archive", ".warc.gz");
    files.sort();
    let first = files
        .iter()
        .find(|it| it.metadata().unwrap().len() > 500_000);
    fs::copy(first.unwrap(), sandbox.path("archive/urldb-late.warc.gz")).unwrap();
    sandbox.ok("archive index");
    sandbox.exits(1, "archive verify").says("segment-missing");
    gets(&sandbox, &long);
    sandbox.ok(&["archive", "get", URL, "-o", "got"]);
    sandbox.ok("archive export --bagit bag");
    sandbox.ok(&["get", URL, "-o", "copy"]);
}
