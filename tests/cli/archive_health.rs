//! An archive verified, damaged, repaired and exported in other versions.

use std::fs;
use std::io::Read;

use flate2::Compression;
use flate2::read::{GzEncoder, MultiGzDecoder};
use insta::assert_snapshot;
use urldb_warc::{Reader, Version};

use crate::sandbox::Sandbox;
use crate::shelf::{Shelf, text};
use crate::site::FILE;

const URL: &str = "http://example.test/a";

/// Two captures and a revisit in one file.
fn archive() -> Sandbox {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    let original = shelf.capture("2026-01-01T00:00:00Z", &text(URL, "the bytes"));
    shelf.capture("2026-01-02T00:00:00Z", &text(URL, "other bytes"));
    shelf.revisit("2026-01-03T00:00:00Z", URL, &original);
    shelf.finish();
    sandbox
}

/// Turns a bit of the record with this timestamp over, `from_end` bytes before its end.
fn damage(sandbox: &Sandbox, timestamp: &str, from_end: u64) {
    let index = sandbox.index();
    let line = index.lines().find(|line| line.contains(timestamp)).unwrap();
    let line = urldb_warc::CdxjLine::parse(line).unwrap();
    let file = sandbox.path("archive").join(&line.filename);
    let mut bytes = fs::read(&file).unwrap();
    let at = line.extent.offset + line.extent.length - from_end;
    bytes[usize::try_from(at).unwrap()] ^= 1;
    fs::write(file, bytes).unwrap();
}

#[test]
fn a_good_archive_is_verified() {
    let sandbox = archive();
    let ran = sandbox.ok("archive verify");
    assert!(
        ran.out.starts_with("verified 4 records in 1 file, "),
        "{ran:?}"
    );
    ran.says(": 0 errors, 0 warnings\n");
    assert_eq!(sandbox.ok("archive verify --quiet").out, "");
}

#[test]
fn what_a_run_writes_is_verified() {
    let site = crate::site::Site::with(&[("/a", "first")]);
    site.serve("/old", crate::support::Reply::redirect(301, "/a"));
    let sandbox = Sandbox::new(&site.network());
    let file = format!(
        "---\n{}{}{}",
        crate::site::promise("/a", "first"),
        crate::site::promise("/gone", "x"),
        crate::site::promise("/old", "first")
    );
    sandbox.write(FILE, file);
    for version in ["1.1", "1.0", "0.9"] {
        let config = format!(
            "{}[check]\nretry-wait = \"1ms\"\n[archive]\nversion = \"{version}\"\n",
            site.network()
        );
        sandbox.write("urldb.toml", config);
        sandbox.exits(1, "run");
    }
    sandbox
        .ok("archive verify")
        .says(&["in 3 files", "0 errors, 0 warnings"]);
}

#[test]
fn damage_is_named_by_file_and_offset() {
    let sandbox = archive();
    damage(&sandbox, "20260102000000", 8);
    let ran = sandbox.exits(1, "archive verify");
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"byte \d+", "byte [offset]");
    settings.add_filter(r"skipped \d+ bytes", "skipped [bytes] bytes");
    settings.add_filter(r"[\d.]+ (Ki)?B:", "[size]:");
    settings.add_filter(r"-[0-9a-f]{16}\.cdxj", "-[digest].cdxj");
    settings.bind(|| assert_snapshot!(ran.out, @r"
    archive/first.warc.gz
      at byte [offset], gzip-checksum: its gzip member is damaged: the content does not have the checksum that closes it
      at byte [offset], passed-over: the reader skipped [bytes] bytes to find the next record
    archive/index/20260103000000-[digest].cdxj.gz
      at byte [offset], index-stale: at byte [offset] of first.warc.gz no capture of http://example.test/a begins
    verified 3 records in 1 file, [size]: 3 errors, 0 warnings
    "));
    let ran = sandbox.exits(1, "archive verify --format jsonl");
    let lines: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines[0]["kind"], "finding");
    assert_eq!(lines[0]["code"], "gzip-checksum");
    assert_eq!(lines[0]["file"], "archive/first.warc.gz");
    assert!(lines[0]["offset"].is_u64());
    let summary = lines.last().unwrap();
    assert_eq!(
        (&summary["kind"], &summary["records"]),
        (&"summary".into(), &3.into())
    );
}

#[test]
fn what_is_damaged_is_set_aside_and_the_rest_is_good() {
    let sandbox = archive();
    damage(&sandbox, "20260102000000", 8);
    sandbox.ok("archive repair").says(&[
        "archive/first.warc.gz: repaired, 3 records kept",
        "  set aside in archive/first.warc.gz.at-",
    ]);
    assert_eq!(sandbox.files("archive", ".damaged").len(), 1);
    sandbox.ok("archive verify");
    assert_eq!(sandbox.ok(&["archive", "get", URL]).out, "the bytes");
    sandbox.ok("archive repair").says("no damage was found");
    // Without its original, a revisit stands for nothing; that cannot be repaired.
    damage(&sandbox, "20260101000000", 8);
    sandbox.ok("archive repair");
    sandbox
        .exits(1, "archive verify")
        .says("revisit-unresolved");
}

#[test]
fn an_archive_is_converted_there_and_back() {
    let sandbox = archive();
    for (from, to, version) in [
        ("archive", "0.9", Version::Warc09),
        ("copy-0.9", "1.0", Version::Warc10),
        ("copy-1.0", "1.1", Version::Warc11),
    ] {
        sandbox.write("urldb.toml", format!("[archive]\npath = \"{from}\"\n"));
        let target = format!("copy-{to}");
        sandbox
            .ok(&["archive", "export", "--warc", &target, "--version", to])
            .says("exported 1 file with 4 records, to copy-");
        let mut reader = Reader::open(&sandbox.path(&target).join("first.warc.gz")).unwrap();
        assert_eq!(reader.next_record().unwrap().unwrap().version(), version);
        sandbox.write("urldb.toml", format!("[archive]\npath = \"{target}\"\n"));
        sandbox.ok("archive verify");
        assert_eq!(sandbox.ok(&["archive", "get", URL]).out, "the bytes");
    }
    sandbox.exits(2, "archive export --warc x --version 2.0");
}

/// Hides where records begin, which differs with the compression.
fn without_offsets() -> insta::internals::SettingsBindDropGuard {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\.at-\d+", ".at-[offset]");
    settings.add_filter(r"at byte [1-9]\d*", "at byte [offset]");
    settings.bind_to_scope()
}

#[test]
fn a_repair_is_told_line_by_line() {
    let sandbox = archive();
    let good = fs::read(sandbox.path("archive/first.warc.gz")).unwrap();
    // All records in one gzip member, which ends too soon.
    let mut plain = vec![];
    MultiGzDecoder::new(good.as_slice())
        .read_to_end(&mut plain)
        .unwrap();
    let mut shared = vec![];
    GzEncoder::new(plain.as_slice(), Compression::default())
        .read_to_end(&mut shared)
        .unwrap();
    sandbox.write("archive/shared.warc.gz", &shared[..shared.len() - 9]);
    // Left by a process that died: all but the end of the last record, and next to nothing.
    sandbox.write("archive/left.warc.gz.open", &good[..good.len() - 9]);
    sandbox.write("archive/nothing.warc.gz.open", &good[..9]);
    damage(&sandbox, "20260102000000", 8);
    let ran = sandbox.ok("archive repair --format jsonl");
    let _guard = without_offsets();
    assert_snapshot!(ran.out, @r#"
    {"kind":"recovered","file":"archive/left.warc.gz","records":3,"damaged":["archive/left.warc.gz.at-[offset].damaged"],"faults":["the record at byte [offset] cannot be read: it ends too soon: the file was cut off, or its length is wrong"]}
    {"kind":"recovered","records":0,"damaged":["archive/nothing.warc.gz.at-[offset].damaged"],"faults":["the record at byte 0 cannot be read: it ends too soon: the file was cut off, or its length is wrong"]}
    {"kind":"repaired","file":"archive/first.warc.gz","records":3,"damaged":["archive/first.warc.gz.at-[offset].damaged"],"faults":["the record at byte [offset] cannot be read: its gzip member is damaged: the content does not have the checksum that closes it"]}
    {"kind":"repaired","file":"archive/shared.warc.gz","records":4,"damaged":["archive/shared.warc.gz.at-[offset].damaged"],"faults":["the record at byte 0 cannot be read: it ends too soon: the file was cut off, or its length is wrong"]}
    {"kind":"summary","recovered":2,"repaired":2,"left":0}
    "#);
    let ran = sandbox.urldb("archive repair --format jsonl");
    assert_snapshot!(ran.code(0).out, @r#"{"kind":"summary","recovered":0,"repaired":0,"left":0}"#);
}

/// A copy has a name of its own, is made into a new folder, and lacks what is damaged.
#[test]
fn files_that_cannot_be_copied_are_named() {
    let sandbox = archive();
    let good = fs::read(sandbox.path("archive/first.warc.gz")).unwrap();
    sandbox.write("archive/second.warc", "WARC/1.0\r\nhalf a header");
    let mut plain = vec![];
    MultiGzDecoder::new(good.as_slice())
        .read_to_end(&mut plain)
        .unwrap();
    sandbox.write("archive/first.warc", plain);
    let before = sandbox.tree("archive");
    let export = |folder| sandbox.urldb(&["archive", "export", "--warc", folder]);
    let ran = export("copy").code(1);
    ran.says("exported 1 file with 4 records, to copy")
        .complains(&[
            "archive/second.warc is left out",
            "`urldb archive repair` sets aside",
            " is left out: ",
        ]);
    assert_eq!(sandbox.files("copy", ".warc.gz").len(), 1);
    for folder in ["copy", "archive", "./archive/../archive"] {
        export(folder).code(2).complains("not an empty folder");
    }
    assert_eq!(sandbox.tree("archive"), before);
    // The folder of an archive whose files are in a store.
    sandbox.write("urldb.toml", "[archive]\npath = \"empty\"\n");
    fs::create_dir(sandbox.path("empty")).unwrap();
    export("empty").code(2);
    assert!(sandbox.files("empty", ".warc.gz").is_empty());
}

/// A kill between the repair and its report: the next repair tells what the first one did.
#[test]
fn the_report_of_a_killed_repair_is_told_by_the_next() {
    let sandbox = archive();
    damage(&sandbox, "20260102000000", 8);
    let told = sandbox.ok("archive repair").out;
    assert!(told.contains("set aside in"), "{told}");
    // As a kill leaves it: the file is mended, and its lines have left the index.
    sandbox.remove_index();
    sandbox.ok("archive repair").says(&[
        "an earlier repair has mended the file, and ended before it could tell",
        "set aside in",
    ]);
    sandbox
        .ok("archive repair")
        .says("no damage was found; the index is new");
}
