//! Files of opam: sections, texts, comments, and what is left out.

use proptest::prelude::*;
use urldb_format::Algorithm;
use urldb_interchange::{NoticeSeverity, ReadEvent, opam};

use crate::common::{Taken, digest};

fn read(text: &str) -> Taken {
    Taken::of(|sink| opam::read(text.as_bytes(), &"opam".into(), sink))
}

#[test]
fn each_source_of_a_package_has_its_checksums() {
    let md5 = "a".repeat(32);
    let text = format!(
        "opam-version: \"2.0\"\ndepends: [ \"ocaml\" {{>= \"4.14\"}} url {{with-test}} ]\nbuild: [[\"make\" \"url\" {{os = \"linux\"}}]]\n\
         # url {{ src: \"https://comment.test/\" }}\n(* url (* nested *) {{ *)\nurl {{\n  src:\n    \"https://a.test/x.tgz\" # the file\n  \
         checksum: [\n    \"sha256={}\"\n    \"md5={md5}\" ]\n  mirrors: [\"https://b.test/x.tgz\" \"git+https://c.test/x\" {{\"https://filter.test/\"}}]\n}}\n\
         extra-source \"a.patch\" {{\n  src: \"\"\"https://a.test/a\\\n     .patch\"\"\"\n  checksum: \"{md5}\"\n}}\nextra-files: [[\"x\" \"md5={md5}\"]]\n",
        digest('e')
    );
    let taken = read(&text);
    assert_eq!(
        taken.urls(),
        [
            "https://a.test/x.tgz",
            "https://b.test/x.tgz",
            "https://a.test/a.patch"
        ]
    );
    let lines = taken.items.iter().map(|item| item.location.line_number());
    assert_eq!(lines.collect::<Vec<_>>(), [8, 12, 15]);
    for item in &taken.items {
        assert_eq!(item.record.digest(Algorithm::Md5), Some(&*md5));
    }
    assert_eq!(taken.items[1].record.content_sha256, Some(digest('e')));
    assert_eq!(taken.items[2].record.content_sha256, None);
    assert_eq!(taken.codes(NoticeSeverity::LeftOut), ["opam:12 git"]);
    assert!(taken.refused().is_empty());
}

#[test]
fn what_is_no_file_on_the_web_is_left_out_by_its_kind() {
    for (url, code) in [
        ("git+https://a.test/x", "git"),
        ("git://a.test/x", "git"),
        ("https://a.test/x.git#v1", "git"),
        ("hg+http://a.test/", "hg"),
        ("darcs+https://a.test/", "darcs"),
        ("./local", "local"),
        ("file:///x", "local"),
        ("rsync://a.test/x", "local"),
    ] {
        let taken = read(&format!("url {{ src: \"{url}\" }}"));
        let code = format!("opam:1 {code}");
        assert_eq!(taken.codes(NoticeSeverity::LeftOut), [code], "{url}");
        assert!(taken.items.is_empty() && taken.refused().is_empty());
    }
}

#[test]
fn sources_of_opam_1_are_read_or_left_out() {
    let md5 = "a".repeat(32);
    for (field, code) in [
        ("http", ""),
        ("archive", ""),
        ("src", ""),
        ("git", "git"),
        ("hg", "hg"),
        ("darcs", "darcs"),
        ("local", "local"),
    ] {
        let fields = format!("{field}: \"https://a.test/x\"\nchecksum: \"{md5}\"\n");
        for text in [fields.clone(), format!("url {{ {fields} }}\n")] {
            let taken = read(&text);
            assert_eq!(taken.refused(), [""; 0], "{text}");
            let left_out = taken.codes(NoticeSeverity::LeftOut);
            if code.is_empty() {
                assert_eq!(taken.urls(), ["https://a.test/x"], "{text}");
                assert_eq!(taken.items[0].record.digest(Algorithm::Md5), Some(&*md5));
                assert!(left_out.is_empty());
            } else {
                assert!(taken.items.is_empty(), "{text}");
                assert_eq!(left_out, [format!("opam:1 {code}")], "{text}");
            }
        }
    }
    let taken = read(
        "http: \"https://a.test/x\" mirrors: [\"https://b.test/x\"]\nbuild: [[\"git\" {http: \"https://c.test/\"}]]\n",
    );
    assert_eq!(taken.urls(), ["https://a.test/x", "https://b.test/x"]);
}

#[test]
fn texts_are_read_with_their_escapes() {
    let taken = read("url { src: \"https://a.test/\\x41\\066\\\"\\n\\\\\" }");
    // A control character is no part of a URL.
    assert!(!taken.refused().is_empty());
    let taken = read(
        "url { src: \"https:\\/\\/a.test/\\x41\\066\\\n   c\" checksum: \"sha\\x32\\x35\\x36=\" }",
    );
    assert_eq!(taken.refused(), ["opam:2 bad-digest"]);
    let text = format!(
        "url {{ src: \"https://a.test/\\x41\\066\" checksum: \"\\{}\" }}",
        digest('b')
    );
    let taken = read(&text);
    assert_eq!(taken.refused(), ["opam:1 bad-digest"]);
    let text = text.replace("\"\\b", "\"\\x62");
    let taken = read(&text);
    assert_eq!(taken.urls(), ["https://a.test/AB"]);
    assert_eq!(taken.items[0].record.content_sha256, Some(digest('b')));
    // The bytes of the file are not the digest.
    assert!(taken.items[0].spans.is_empty());
}

#[test]
fn a_section_without_a_source_or_a_checksum_that_is_none_is_refused() {
    for (section, code) in [
        ("checksum: \"md5=1\"", "no-url"),
        (
            "src: \"https://a.test/\" checksum: [\"md5=1\"]",
            "bad-digest",
        ),
        ("src: \"https://a.test/\" checksum: word", ""),
        (
            "src: \"https://a.test/\" checksum: [\"md5=00000000000000000000000000000000\" \"md5=00000000000000000000000000000001\"]",
            "bad-digest",
        ),
        ("src: \"ftp://a.test/\"", "scheme"),
    ] {
        let taken = read(&format!("url {{\n{section} }}\n"));
        let refused = taken.refused();
        match refused.first() {
            Some(first) => assert!(
                !code.is_empty() && first.ends_with(code),
                "{section}: {first}"
            ),
            None => assert!(code.is_empty() && taken.items.len() == 1, "{section}"),
        }
    }
    let taken = read(&format!(
        "url {{ src: \"https://a.test/\" checksum: [\"sha224=00000000\" \"sha256={}\"] }}",
        digest('c')
    ));
    assert_eq!(taken.codes(NoticeSeverity::LeftOut), ["opam:1 algorithm"]);
    assert_eq!(taken.items[0].record.content_sha256, Some(digest('c')));
}

#[test]
fn a_file_that_breaks_off_is_an_error_at_its_line() {
    for (text, message) in [
        (
            "\nurl {\nsrc: \"https://a.test/\"\n",
            "opam:2: the section has no end",
        ),
        ("\n\nx: \"abc", "opam:3: the text has no end"),
        ("\"\"\"a\"\"\nb", "opam:1: the text has no end"),
        ("\n(* (* *)", "opam:2: the comment has no end"),
    ] {
        let (_, result) =
            Taken::with_result(|sink| opam::read(text.as_bytes(), &"opam".into(), sink));
        assert_eq!(result.unwrap_err().to_string(), message);
    }
}

#[test]
fn hostile_files_end() {
    for (start, more) in [
        ("", "(*"),
        (
            "",
            "url{src:\"https://a.test/\"checksum:\"md5=00000000000000000000000000000000\"}",
        ),
        ("url{mirrors:[", "\"https://a.test/\"\n"),
        ("url{checksum:[", "\"md5=00000000000000000000000000000000\""),
        ("", "{"),
        ("", "\"\"\""),
    ] {
        let text = start.to_owned() + &more.repeat((1 << 20) / more.len() - 20);
        let _ = Taken::with_result(|sink| opam::read(text.as_bytes(), &"opam".into(), sink));
    }
    let text = " ".repeat((1 << 20) + 1);
    let (_, result) = Taken::with_result(|sink| opam::read(text.as_bytes(), &"opam".into(), sink));
    assert!(result.unwrap_err().to_string().contains("more than 1 MiB"));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "url {", "extra-source \"x\" {", "src:", "checksum:", "mirrors:", "\"https://a.test/\u{e9}\"", "\"md5=00000000000000000000000000000000\"", "\"sha256=",
            "\"", "\"\"\"", "\\", "\\x4", "\\06", "\\\u{e9}", "\\\n", "(*", "*)", "#", "\n", "\n", "[", "]", "{", "}", ":", " ", "word", "\u{feff}", "\u{1f600}", "\0",
        ]), 0..40),
    ) {
        let text = words.concat();
        let _ = opam::read(text.as_bytes(), &"opam".into(), &mut |event| {
            let location = match &event {
                ReadEvent::Item(item) => {
                    for span in &item.spans {
                        let range = usize::try_from(span.range.start).unwrap()..usize::try_from(span.range.end).unwrap();
                        assert!(text.get(range).is_some_and(|text| text.starts_with("md5=")));
                    }
                    &item.location
                }
                ReadEvent::Notice(notice) => &notice.location,
            };
            assert!(location.line_number() <= 1 + text.matches('\n').count(), "{text:?}");
            Ok(())
        });
    }
}
