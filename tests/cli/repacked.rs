//! Static content that changed, and is an archive before and after.

use std::io::Write;

use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::run::mailing;
use crate::sandbox::{Sandbox, assert_has};
use crate::shelf::{Shelf, Told};
use crate::site::{FILE, Site};
use crate::support::Reply;

const ARCHIVE: &str = "http://example.test/a.tar.gz";

/// A tar archive of files with these names and texts, all of one time.
fn tar(time: u64, files: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = vec![];
    for (name, text) in files {
        let mut header = [0_u8; 512];
        let fields = [
            (0, (*name).to_owned()),
            (100, "0000644".to_owned()),
            (124, format!("{:011o}", text.len())),
            (136, format!("{time:011o}")),
            (148, "        0".to_owned()),
            (257, "ustar\x0000".to_owned()),
        ];
        for (at, field) in fields {
            header[at..at + field.len()].copy_from_slice(field.as_bytes());
        }
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        archive.extend(header);
        archive.extend(text.as_bytes());
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

fn gzip(level: u32, content: &[u8]) -> Vec<u8> {
    let mut output = GzEncoder::new(vec![], Compression::new(level));
    output.write_all(content).unwrap();
    output.finish().unwrap()
}

fn packed(level: u32, time: u64, files: &[(&str, &str)]) -> Vec<u8> {
    gzip(level, &tar(time, files))
}

const OLD: [(&str, &str); 3] = [
    ("a-1/configure", "one\ntwo\n"),
    ("a-1/Makefile", "all:\n"),
    ("a-1/NEWS", "none\n"),
];
const SAME: [(&str, &str); 3] = [OLD[2], OLD[0], OLD[1]];
const NEW: [(&str, &str); 3] = [
    ("a-1/configure", "one\n2\n"),
    ("a-1/Makefile", "all:\n"),
    ("a-1/README", "new\n"),
];

/// The difference between two captures with these bodies, without its dump.
fn difference(old: &[u8], new: &[u8]) -> String {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    for (date, body) in [("2026-01-01T00:00:00Z", old), ("2026-01-02T00:00:00Z", new)] {
        let (url, head) = (ARCHIVE, "200 OK");
        shelf.capture(date, &Told { url, head, body });
    }
    shelf.finish();
    let out = sandbox.exits(1, &["archive", "diff", ARCHIVE]).out;
    let (_, dump) = out.split_once("the first difference is at byte ").unwrap();
    let is_dump = |line: &&str| line.get(2..10).is_some_and(|it| it.starts_with("000000"));
    let lines = dump.lines().skip(1).filter(|line| !is_dump(line));
    lines.collect::<Vec<&str>>().join("\n")
}

#[test]
fn archives_are_compared_by_their_files() {
    let old = packed(6, 1, &OLD);
    assert_snapshot!(difference(&old, &packed(9, 2, &SAME)), @"repacked: the 3 files in it are the same");
    assert_snapshot!(difference(&old, &packed(6, 1, &NEW)), @r"
    3 of 4 files differ: a-1/NEWS (gone), a-1/README (new), a-1/configure
    a-1/configure:
     one
    -two
    +2
    ");
    let old = gzip(9, b"a,b\n1,2\n");
    assert_snapshot!(difference(&old, &gzip(1, b"a,b\n1,2\n")), @"repacked: the file in it is the same");
    assert_snapshot!(difference(&old, &gzip(9, b"a,b\n1,3\n")), @r"
    the file in it differs
     a,b
    -1,2
    +1,3
    ");
}

#[test]
fn nothing_is_said_where_it_could_be_wrong() {
    let old = packed(6, 1, &OLD);
    let whole = packed(6, 2, &OLD);
    let cut = gzip(6, &tar(2, &OLD)[..1024]);
    let twice = packed(6, 1, &[OLD[0], (OLD[0].0, "other")]);
    let bomb = gzip(9, &vec![0; 10 << 20]);
    for new in [&whole[..whole.len() - 9], &cut, &twice, &bomb, b"\0"] {
        assert_eq!(difference(&old, new), "");
    }
}

/// A run after the content of a URL changed: its report, and the text of its mail.
fn changed(sandbox: &Sandbox, site: &Site, old: &[u8], new: &[u8]) -> (Value, String) {
    let sha256 = HEXLOWER.encode(&Sha256::digest(old));
    let promise = format!("---\n---\n_path: /a.tar.gz\ncontent-sha256: {sha256}\n");
    sandbox.write(FILE, promise);
    site.serve("/a.tar.gz", Reply::ok(old));
    sandbox.exits(0, "run");
    site.serve("/a.tar.gz", Reply::ok(new));
    let document = sandbox.exits(1, "run --format json").json();
    let incident = &document["incidents"][0];
    assert_eq!(incident["state"], "changed");
    let text = sandbox.mails()[0].text.clone();
    (incident["evidence"].clone(), text)
}

#[test]
fn the_evidence_of_a_changed_archive_is_its_files() {
    let site = Site::with(&[]);
    let sandbox = Sandbox::new(&mailing(&site));
    let (old, new) = (packed(6, 1, &OLD), packed(6, 1, &NEW));
    let (evidence, text) = changed(&sandbox, &site, &old, &new);
    let expected = json!({
        "files": 4,
        "differing": 3,
        "folders": 0,
        "members": [
            { "name": "a-1/NEWS", "change": "removed" },
            { "name": "a-1/README", "change": "added" },
            { "name": "a-1/configure", "change": "changed", "text": {
                "added": 1, "removed": 1, "lines": [" one", "-two", "+2"],
            } },
        ],
    });
    assert_eq!(evidence["contents"], expected);
    let sentence =
        "3 of 4 files differ: a-1/NEWS (gone), a-1/README (new),\n             a-1/configure";
    assert_has(&text, sentence);
    let file = &sandbox.files("status/incidents", ".yaml")[0];
    let text = std::fs::read_to_string(file).unwrap();
    assert_has(&text, "    differing: 3\n");
}

#[test]
fn the_evidence_of_a_repacked_file_is_that_it_is_the_same() {
    let site = Site::with(&[]);
    let sandbox = Sandbox::new(&mailing(&site));
    let (old, new) = (gzip(9, b"a\n1\n"), gzip(1, b"a\n1\n"));
    let (evidence, text) = changed(&sandbox, &site, &old, &new);
    let expected = json!({ "files": 1, "single": true, "differing": 0, "folders": 0 });
    assert_eq!(evidence["contents"], expected);
    assert_has(&text, "contents   repacked: the file in it is the same\n");
}
