//! Indexes of Debian archives: paragraphs, fields, and what is refused.

use std::fmt::Write as _;

use proptest::prelude::*;
use urldb_format::Algorithm;
use urldb_interchange::{NoticeSeverity, ReadError, ReadEvent, debian_sources};

use crate::common::{Taken, digest};

fn with_result(text: &str) -> (Taken, Result<(), ReadError>) {
    let base = "http://a.test/debian/";
    Taken::with_result(|sink| debian_sources::read(text.as_bytes(), &"Sources".into(), base, sink))
}

fn read(text: &str) -> Taken {
    let (taken, result) = with_result(text);
    result.unwrap();
    taken
}

fn sources() -> String {
    let (md5, sha256) = ("a".repeat(32), digest('b'));
    format!(
        "Package: x\nBinary: y,\n z\nDirectory: pool/main/x\nFiles:\n {md5} 7 x_1+b~2.dsc\n {md5} 8 x_1.tar.xz\n\
         Checksums-Sha256:\n {sha256} 7 x_1+b~2.dsc\n {sha256} 8 x_1.tar.xz\nChecksums-Blake3:\n {sha256} 7 x_1+b~2.dsc\n\n\n\
         # comment\nPackage: flat\r\ndirectory: .\r\nchecksums-sha512:\r\n {} 9 flat.dsc\r\n",
        "c".repeat(128)
    )
}

#[test]
fn each_file_of_a_source_has_its_length_and_its_digests() {
    let taken = read(&sources());
    assert_eq!(
        taken.urls(),
        [
            "http://a.test/debian/pool/main/x/x_1+b~2.dsc",
            "http://a.test/debian/pool/main/x/x_1.tar.xz",
            "http://a.test/debian/flat.dsc"
        ]
    );
    let lines = taken.items.iter().map(|item| item.location.line_number());
    assert_eq!(lines.collect::<Vec<_>>(), [6, 7, 19]);
    let first = &taken.items[0].record;
    assert_eq!(first.content_length, Some(7));
    assert_eq!(first.digest(Algorithm::Md5), Some(&*"a".repeat(32)));
    assert_eq!(first.content_sha256, Some(digest('b')));
    assert_eq!(
        taken.items[2].record.digest(Algorithm::Sha512),
        Some(&*"c".repeat(128))
    );
    assert!(taken.items.iter().all(|item| item.spans.is_empty()));
    assert_eq!(
        taken.codes(NoticeSeverity::LeftOut),
        ["Sources:11 algorithm"]
    );
    assert!(taken.refused().is_empty());
}

#[test]
fn each_package_is_a_file() {
    let text = format!(
        "Package: x\nFilename: pool/x.deb\nSize: 9\nSHA256: {}\nDescription: y\n  Filename: z\n\nFilename: ./y.deb\nMD5sum: {}\n",
        digest('a'),
        "b".repeat(32)
    );
    let taken = read(&text);
    assert_eq!(
        taken.urls(),
        [
            "http://a.test/debian/pool/x.deb",
            "http://a.test/debian/y.deb"
        ]
    );
    assert_eq!(taken.items[0].record.content_length, Some(9));
    assert_eq!(taken.items[0].record.content_sha256, Some(digest('a')));
    assert_eq!(taken.items[1].record.content_length, None);
    assert_eq!(taken.items[1].location.line_number(), 8);
}

#[test]
fn mistakes_are_refused_at_their_lines_and_the_rest_is_read() {
    let (a, b) = (digest('a'), digest('b'));
    for (paragraph, refused, items) in [
        (
            format!("Directory: p\nChecksums-Sha256:\n {a} 1 x\n {b} 1 x\n {a} 1 y\n {a} 1 x"),
            "4 contradiction",
            1,
        ),
        (
            format!(
                "Directory: p\nFiles:\n {} 2 x\nChecksums-Sha256:\n {a} 1 x",
                "c".repeat(32)
            ),
            "5 contradiction",
            0,
        ),
        (
            format!("Directory: p\nChecksums-Sha256:\n word 1 x\n {a} 1 y"),
            "3 bad-digest",
            1,
        ),
        (
            format!("Directory: p\nChecksums-Sha256:\n {a} -1 x"),
            "3 bad-length",
            0,
        ),
        (
            format!("Directory: p\nChecksums-Sha256:\n {a} 1\n {a} 1 y"),
            "3 bad-line",
            1,
        ),
        (
            format!("Directory: p\nChecksums-Sha256:\n {a} 1 x y\n {a} 1 y"),
            "3 bad-line",
            1,
        ),
        (
            format!("Directory: p\nChecksums-Sha256:\n {a} 1 ../x"),
            "3 bad-name",
            0,
        ),
        (format!("Checksums-Sha256:\n {a} 1 x"), "1 no-url", 0),
        ("Package: x".to_owned(), "1 no-url", 0),
        (format!("word\nFilename: x\nSHA256: {a}"), "1 bad-line", 1),
        ("Filename: x\nSHA256: word".to_owned(), "2 bad-digest", 0),
        ("Filename: x\nSize: many".to_owned(), "2 bad-length", 0),
        ("Filename: /x".to_owned(), "1 bad-name", 0),
    ] {
        let taken = read(&paragraph);
        assert_eq!(
            taken.refused(),
            [format!("Sources:{refused}")],
            "{paragraph}"
        );
        assert_eq!(taken.items.len(), items, "{paragraph}");
    }
}

#[test]
fn a_paragraph_has_a_limit() {
    let mut text = "Directory: p\nFiles:\n".to_owned();
    for number in 0..30_000 {
        writeln!(text, " {number:032} 1 {number}").unwrap();
    }
    let (_, result) = with_result(&text);
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("the files of the paragraph take more than 1 MiB"),
        "{error}"
    );
    // A field that is not kept has none.
    let text = format!("{}Binary:\n{}", sources(), " x\n".repeat(1 << 20));
    assert_eq!(read(&text).items.len(), 3);
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "Directory: p\n", "Files:", "Checksums-Sha1:", "Checksums-X:", "Filename: x", "Size: 1", "SHA256: ", " aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 1 x\n",
            " aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 2 x\n", "\n", "\n\n", " ", ":", "#", "\t", "\r\n", "\u{e9}", "\u{feff}", "..", "/", "\0",
        ]), 0..40),
    ) {
        let text = words.concat();
        let _ = debian_sources::read(text.as_bytes(), &"Sources".into(), "http://a.test/", &mut |event| {
            let location = match &event {
                ReadEvent::Item(item) => &item.location,
                ReadEvent::Notice(notice) => &notice.location,
            };
            assert!(location.line_number() <= 1 + text.matches('\n').count(), "{text:?}");
            Ok(())
        });
    }
}
