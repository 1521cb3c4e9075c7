//! Bags of promised bytes, and an index made anew.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, assert_has};
use crate::shelf::{Shelf, Told, text};
use crate::site::{FILE, promise, sha256};

/// Three static records, two of which the archive has the bytes of.
fn archive() -> Sandbox {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    shelf.capture(
        "2026-01-01T00:00:00Z",
        &text("http://example.test/a", "the promised bytes"),
    );
    shelf.capture(
        "2026-02-01T00:00:00Z",
        &text("http://example.test/a", "other bytes"),
    );
    // The same bytes elsewhere will do.
    shelf.capture(
        "2026-01-01T00:00:00Z",
        &text("http://mirror.test/copy", "copied"),
    );
    shelf.capture(
        "2026-01-01T00:00:00Z",
        &text("http://example.test/length", "12345"),
    );
    shelf.finish();
    let mut file = "---\n---\n_path: /\n".to_owned();
    file += &promise("/a", "the promised bytes");
    file += &promise("/a/b%20c?d=e", "copied");
    file += "---\n_path: /length\ncontent-length: 5\n";
    file += &promise("/lost", "never seen");
    sandbox.write(FILE, file);
    sandbox
}

#[test]
fn a_bag_holds_the_promised_bytes() {
    let sandbox = archive();
    let ran = sandbox.exits(1, "archive export --bagit bag");
    assert_snapshot!(ran.out, @"exported 3 of 4 static records, 29 bytes, to bag");
    ran.complains("not in the archive: http://example.test/lost");
    sandbox.assert_file("bag/data/example.test/a=2", "the promised bytes");
    sandbox.assert_file("bag/data/example.test/a/b=2520c=3Fd=3De", "copied");
    sandbox.assert_file("bag/data/example.test/length", "12345");
    let lines = [
        ("copied", "a/b=2520c=3Fd=3De"),
        ("the promised bytes", "a=2"),
        ("12345", "length"),
    ];
    let manifest =
        lines.map(|(body, name)| format!("{}  data/example.test/{name}\n", sha256(body)));
    sandbox.assert_file("bag/manifest-sha256.txt", &manifest.concat());
    for line in sandbox.read("bag/tagmanifest-sha256.txt").lines() {
        let (digest, name) = line.split_once("  ").unwrap();
        assert_eq!(digest, sha256(sandbox.read(&format!("bag/{name}"))));
    }
    assert_snapshot!(sandbox.read("bag/bagit.txt"), @r"
    BagIt-Version: 1.0
    Tag-File-Character-Encoding: UTF-8
    ");
    assert_has(&sandbox.read("bag/bag-info.txt"), "\nPayload-Oxum: 29.3\n");
    let urls = sandbox.read("bag/urls.tsv");
    assert_eq!(urls.lines().count(), 4);
    assert!(
        urls.contains("\nhttp://example.test/a\tdata/example.test/a=2\t2026-01-01T00:00:00Z\n")
    );
}

#[test]
fn a_bag_may_be_of_some_records_only() {
    let sandbox = archive();
    sandbox
        .ok("archive export --path-prefix /a --bagit bag")
        .says("exported 2 of 2 static records");
}

#[test]
fn export_refuses_a_target_that_exists() {
    let sandbox = archive();
    sandbox.write("bag/mine", "kept");
    sandbox
        .exits(2, "archive export --bagit bag")
        .complains("is there already");
    assert_eq!(sandbox.tree("bag").len(), 1);
    sandbox
        .exits(2, "archive export --bagit no/such/bag")
        .complains(&["there is no folder ", "/promises/no/such\n"]);
}

#[test]
fn wrong_bytes_are_not_put_into_a_bag() {
    let sandbox = archive();
    let mut shelf = Shelf::new(&sandbox, "wrong.warc.gz");
    shelf.wrong(
        "2026-01-01T00:00:00Z",
        &text("http://example.test/lost", "damaged"),
    );
    shelf.finish();
    sandbox.write(
        FILE,
        format!(
            "---\n{}{}",
            promise("/a", "the promised bytes"),
            promise("/lost", "other bytes")
        ),
    );
    let mut shelf = Shelf::new(&sandbox, "copy.warc.gz");
    shelf.capture(
        "2026-03-01T00:00:00Z",
        &text("http://mirror.test/a", "the promised bytes"),
    );
    shelf.finish();
    let before = files_but_index(&sandbox);
    // The capture of those very bytes is taken; once it is gone, the damaged one is refused.
    sandbox.remove_index();
    fs::rename(
        sandbox.path("archive/first.warc.gz"),
        sandbox.path("elsewhere"),
    )
    .unwrap();
    sandbox.ok("archive index");
    sandbox
        .exits(1, "archive export --bagit bag")
        .says("exported 1 of 2 static records")
        .complains(&[
            "not in the archive: http://example.test/lost: the record at byte",
            "the payload has the digest sha256:",
        ]);
    let files: Vec<_> = sandbox.tree("bag/data").into_keys().collect();
    assert_eq!(files, [Path::new("bag/data/example.test/a")]);
    assert_has(&sandbox.read("bag/urls.tsv"), "\t2026-03-01");
    // Nothing else is left behind.
    fs::remove_dir_all(sandbox.path("bag")).unwrap();
    assert_eq!(files_but_index(&sandbox), before);
}

/// The number of all files, without those of the index.
fn files_but_index(sandbox: &Sandbox) -> usize {
    let files = sandbox.tree("").into_keys();
    files
        .filter(|path| !path.starts_with("archive/index"))
        .count()
}

#[test]
fn export_takes_an_intact_capture_in_place_of_a_damaged_one() {
    let sandbox = archive();
    let mut shelf = Shelf::new(&sandbox, "copy.warc.gz");
    let copy = text("http://mirror.test/a", "the promised bytes");
    shelf.capture("2026-03-01T00:00:00Z", &copy);
    shelf.finish();
    // The index names a file that is gone, and one that is cut off.
    let export = || sandbox.urldb("archive export --path-prefix /a --bagit bag");
    let first = sandbox.path("archive/first.warc.gz");
    let bytes = fs::read(&first).unwrap();
    for damaged in [Some(&bytes[..bytes.len() / 2]), None] {
        match damaged {
            Some(half) => fs::write(&first, half).unwrap(),
            None => fs::remove_file(&first).unwrap(),
        }
        export().code(1).complains(&[
            "not in the archive: http://example.test/a/b%20c?d=e: ",
            "archive/first.warc.gz",
        ]);
        let bag = sandbox.read("bag/data/example.test/a=2");
        assert_eq!(bag, "the promised bytes");
        fs::remove_dir_all(sandbox.path("bag")).unwrap();
    }
}

#[test]
fn the_index_is_made_of_the_files_that_are_there() {
    let sandbox = archive();
    let mut shelf = Shelf::new(&sandbox, "second.warc.gz");
    let told = Told {
        url: "http://example.test/gone",
        head: "404 Not Found",
        body: b"",
    };
    shelf.capture("2026-03-01T00:00:00Z", &told);
    let second = shelf.finish();
    let index = sandbox.index();
    sandbox.remove_index();
    sandbox
        .exits(2, "archive list")
        .complains("`urldb archive index` makes one");
    sandbox.ok("archive index").says("indexed 2 files");
    assert_eq!(sandbox.index(), index);
    // Damaged and disordered lines, and those of a file that is gone, are not kept.
    fs::remove_file(&second).unwrap();
    sandbox.write_index(format!("no line\n{index}{index}"));
    sandbox
        .exits(2, "archive list")
        .complains("the index is damaged");
    sandbox.ok("archive index");
    let lines: Vec<&str> = index
        .lines()
        .filter(|line| !line.contains("second.warc.gz"))
        .collect();
    assert_eq!(sandbox.index().lines().collect::<Vec<_>>(), lines);
    // Of a damaged file there is what can be read of it.
    let first = sandbox.path("archive/first.warc.gz");
    let bytes = fs::read(&first).unwrap();
    fs::write(&first, &bytes[..bytes.len() - 10]).unwrap();
    sandbox.exits(1, "archive index").complains("first.warc.gz");
    assert_eq!(sandbox.index().lines().count(), lines.len() - 1);
    fs::remove_file(first).unwrap();
    sandbox.ok("archive index").says("indexed 0 files");
    assert_eq!(sandbox.index(), "");
}
