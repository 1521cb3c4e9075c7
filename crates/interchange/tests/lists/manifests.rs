//! Descriptions of data sets and downloads: Data Packages, JSON-LD, Metalink, DVC and git-annex.

use proptest::prelude::*;
use urldb_format::Algorithm;
use urldb_interchange::{
    NoticeSeverity, ReadError, ReadEvent, Sink, annex, datapackage, dvc, jsonld, metalink,
};

use crate::common::{Taken, digest};

type Reader = fn(&[u8], &mut Sink<'_>) -> Result<(), ReadError>;

const PACKAGE: Reader =
    |bytes, sink| datapackage::read(bytes, &"p.json".into(), Some("https://b.test/d/"), sink);
const JSON_LD: Reader =
    |bytes, sink| jsonld::read(bytes, &"j.json".into(), Some("https://b.test/d/"), sink);
const METALINK: Reader = |bytes, sink| metalink::read(bytes, &"m.meta4".into(), sink);
const DVC: Reader = |bytes, sink| dvc::read(bytes, &"x.dvc".into(), sink);
const ANNEX: Reader = |bytes, sink| annex::read(bytes, &"a.json".into(), sink);

fn taken(read: Reader, text: &str) -> Taken {
    Taken::of(|sink| read(text.as_bytes(), sink))
}

fn error(read: Reader, text: &str) -> String {
    let (_, result) = Taken::with_result(|sink| read(text.as_bytes(), sink));
    result.unwrap_err().to_string()
}

/// The URL, the length and the names of the algorithms of each item.
fn facts(taken: &Taken) -> Vec<String> {
    let items = taken.items.iter();
    let facts = items.map(|item| {
        let algorithms = Algorithm::ALL.into_iter();
        let stated = algorithms.filter(|it| item.record.digest(*it).is_some());
        let names: Vec<&str> = stated.map(Algorithm::name).collect();
        let length = item.record.content_length;
        let length = length.map_or_else(|| "-".to_owned(), |length| length.to_string());
        format!("{} {length} {}", item.url().unwrap(), names.join(" "))
    });
    facts.map(|line| line.trim_end().to_owned()).collect()
}

fn left_out(taken: &Taken) -> Vec<String> {
    taken.codes(NoticeSeverity::LeftOut)
}

const MD5: &str = "b1946ac92492d2347c6235b4d2611184";

#[test]
fn resources_of_a_package_promise_their_bytes() {
    let sha256 = digest('a');
    let text = format!(
        "{{\"name\": \"\u{e9}\", \"resources\": [\n\
         {{\"path\": \"https://a.test/x\", \"bytes\": 6, \"hash\": \"{MD5}\"}},\n\
         {{\"path\": \"data/a b.csv\", \"hash\": \"sha256:{sha256}\", \"schema\": {{\"path\": 1}}}},\n\
         {{\"path\": [\"one.csv\", \"https://a.test/two\"], \"bytes\": 6, \"hash\": \"{MD5}\"}},\n\
         {{\"path\": [\"alone.csv\"], \"bytes\": 6}},\n\
         {{\"data\": [1]}},\n\
         {{\"path\": \"../x\"}}, {{\"path\": \"/x\"}}, {{}}, 7,\n\
         {{\"path\": \"y\", \"hash\": \"crc32c:aaaaaaaaa\", \"bytes\": 1}},\n\
         {{\"path\": \"y\", \"hash\": \"word\"}}, {{\"path\": \"y\", \"bytes\": 1.5}}, {{\"path\": 1}},\n\
         {{\"path\": \"ftp://a.test/x\"}}]}}"
    );
    let taken = taken(PACKAGE, &text);
    assert_eq!(
        facts(&taken),
        [
            "https://a.test/x 6 md5",
            "https://b.test/d/data/a%20b.csv - sha256",
            "https://b.test/d/one.csv -",
            "https://a.test/two -",
            "https://b.test/d/alone.csv 6",
            "https://b.test/d/y 1",
        ]
    );
    assert_eq!(
        left_out(&taken),
        ["p.json:4 parts", "p.json:6 inline", "p.json:8 algorithm"]
    );
    assert_eq!(
        taken.refused(),
        [
            "p.json:7 bad-name",
            "p.json:7 bad-name",
            "p.json:7 no-url",
            "p.json:7 bad-value",
            "p.json:9 bad-digest",
            "p.json:9 bad-length",
            "p.json:9 bad-value",
            "p.json:10 scheme",
        ]
    );
    let alone = Taken::of(|sink| {
        datapackage::read(
            &b"{\"resources\": [{\"path\": \"x\"}]}"[..],
            &"p".into(),
            None,
            sink,
        )
    });
    assert_eq!(left_out(&alone), ["p:1 relative"]);
    for text in ["[]", "{}", "{\"resources\": {}}", "{\"resources\": null}"] {
        assert_eq!(
            error(PACKAGE, text),
            "p.json:1: the file is not an object with the list `resources`"
        );
    }
}

#[test]
fn files_of_json_ld_are_found_at_any_depth() {
    let sha256 = digest('a');
    let text = format!(
        "{{\"@context\": {{\"contentUrl\": \"https://c.test/\"}}, \"@type\": \"sc:Dataset\", \"distribution\": [\n\
         {{\"@type\": \"cr:FileObject\", \"contentUrl\": \"https://a.test/x\", \"contentSize\": \"6\", \"sha256\": \"{sha256}\"}},\n\
         {{\"@type\": \"cr:FileObject\", \"contentUrl\": \"in/x\", \"containedIn\": {{\"@id\": \"x\"}}}},\n\
         {{\"@type\": \"cr:FileSet\", \"includes\": \"*.csv\"}},\n\
         {{\"@type\": \"cr:FileObject\", \"contentUrl\": \"https://a.test/y\", \"contentSize\": \"1 kB\"}},\n\
         {{\"@type\": \"cr:FileObject\", \"contentUrl\": \"https://a.test/r\", \"encodingFormat\": \"git+https\", \"sha256\": \"https://a.test/80\"}},\n\
         {{\"@type\": \"cr:FileObject\"}}],\n\
         \"@graph\": [{{\"@id\": \"https://a.test/f\", \"@type\": [\"File\", \"X\"], \"contentSize\": 7, \"md5\": \"{MD5}\", \"sha1\": null, \"sha512\": \"\"}},\n\
         {{\"@id\": \"data/a%20b\", \"@type\": \"File\"}}, {{\"@id\": \"#f\", \"@type\": \"File\"}},\n\
         {{\"@id\": \"https://a.test/no\", \"@type\": \"Dataset\", \"x\": {{\"schema:contentUrl\": [\"https://a.test/1\", {{\"@id\": \"https://a.test/2\"}}], \"https://schema.org/sha256\": \"{sha256}\"}}}},\n\
         {{\"contentUrl\": \"https://a.test/z\", \"sha256\": \"word\"}}, {{\"contentUrl\": [1, \"urn:x:y\"]}}, 1, -1, 1.5, true]}}"
    );
    let taken = taken(JSON_LD, &text);
    assert_eq!(
        facts(&taken),
        [
            "https://a.test/x 6 sha256",
            "https://a.test/y -",
            "https://a.test/f 7 md5",
            "https://b.test/d/data/a%20b -",
            "https://a.test/1 - sha256",
            "https://a.test/2 - sha256",
        ]
    );
    assert_eq!(
        left_out(&taken),
        [
            "j.json:3 contained",
            "j.json:4 file-set",
            "j.json:5 size",
            "j.json:6 git",
            "j.json:9 relative",
        ]
    );
    assert_eq!(
        taken.refused(),
        [
            "j.json:7 no-url",
            "j.json:11 bad-digest",
            "j.json:11 bad-value",
            "j.json:11 scheme",
        ]
    );
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    assert!(error(JSON_LD, &deep).starts_with("j.json:1: recursion limit exceeded"));
}

#[test]
fn a_metalink_has_mirrors() {
    let (sha256, other) = (digest('a'), digest('b'));
    let text = format!(
        "\u{feff}<?xml version=\"1.0\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\">\n\
         <file name=\"x\"><size>6</size><hash type=\"sha-256\">{sha256}</hash><hash type=\"md5\">{MD5}</hash>\n\
         <pieces length=\"1\" type=\"sha-1\"><hash>word</hash></pieces>\n\
         <url priority=\"1\">https://a.test/x?a&amp;b</url>\n\
         <url> <![CDATA[https://b.test/x]]><!-- c -->\n</url><metaurl mediatype=\"torrent\">https://a.test/t</metaurl>\n\
         <url>ftp://a.test/x</url></file>\n\
         <file><url>https://c.test/</url><hash type=\"crc\">1</hash></file>\n\
         <file><url>https://c.test/no</url><size>many</size></file>\n\
         <file><url>https://c.test/no</url><hash type=\"sha-256\">{sha256}</hash><hash type=\"sha-256\">{other}</hash></file>\n\
         <url>https://c.test/outside</url></metalink>\n"
    );
    let taken = taken(METALINK, &text);
    assert_eq!(
        facts(&taken),
        [
            "https://a.test/x?a&b 6 md5 sha256",
            "https://b.test/x 6 md5 sha256",
            "https://c.test/ -",
        ]
    );
    assert_eq!(
        left_out(&taken),
        ["m.meta4:7 metaurl", "m.meta4:9 algorithm"]
    );
    assert_eq!(
        taken.refused(),
        [
            "m.meta4:8 scheme",
            "m.meta4:10 bad-length",
            "m.meta4:11 contradiction",
        ]
    );
    for (text, message) in [
        ("", "m.meta4:1: this is no Metalink: it has no element"),
        (
            "<a/>",
            "m.meta4:1: this is no Metalink: its root is no `metalink`",
        ),
        (
            "\n<metalink version=\"3.0\"/>",
            "m.meta4:2: this is a Metalink of version 3; convert it to version 4 (RFC 5854)",
        ),
        (
            "<metalink xmlns=\"http://www.metalinker.org/\"/>",
            "m.meta4:1: this is a Metalink of version 3; convert it to version 4 (RFC 5854)",
        ),
        (
            "<metalink/><metalink/>",
            "m.meta4:1: there is more than one root element",
        ),
        (
            "<metalink>\n<file>",
            "m.meta4:2: the file ends before its elements do",
        ),
        (
            "<!DOCTYPE x><metalink/>",
            "m.meta4:1: a Metalink has no document type; entities are not expanded",
        ),
        (
            "<metalink><file><url>&x;</url></file></metalink>",
            "m.meta4:1: the entity is not one of XML's own",
        ),
    ] {
        assert_eq!(error(METALINK, text), message, "{text}");
    }
    let deep = format!("<metalink>{}", "<a>".repeat(40));
    assert!(error(METALINK, &deep).contains("nested too deeply"));
    let (pad, urls) = ("x".repeat(1 << 20), "<url>x</url>".repeat(100_001));
    let many = format!("<metalink pad='{pad}'><file>{urls}");
    assert_eq!(
        error(METALINK, &many),
        "m.meta4:1: a file has more than 100000 URLs"
    );
    let broken = error(METALINK, "<metalink>\n</file>");
    assert!(broken.contains("this is not XML as a Metalink"), "{broken}");
}

#[test]
fn imports_of_dvc_promise_what_came() {
    let import = |out: &str| {
        format!(
            "md5: x\nfrozen: true\ndeps:\n- path: https://a.test/x\n  etag: '\"1\"'\n  size: 6\nouts:\n- path: x\n{out}"
        )
    };
    let of = |text: &str| {
        let taken = taken(DVC, text);
        (
            facts(&taken).join(", "),
            left_out(&taken).join(", "),
            taken.refused().join(", "),
        )
    };
    let is = |items: &str, left_out: &str, refused: &str| {
        (items.to_owned(), left_out.to_owned(), refused.to_owned())
    };
    assert_eq!(
        of(&import(&format!("  md5: {MD5}\n  size: 6\n  hash: md5\n"))),
        is("https://a.test/x 6 md5", "", "")
    );
    assert_eq!(
        of(&import(&format!("  md5: {MD5}\n  size: 6\n"))),
        is("https://a.test/x 6", "x.dvc:9 text-digest", "")
    );
    assert_eq!(
        of(&import(&format!(
            "  md5: {MD5}.dir\n  size: 6\n  hash: md5\n"
        ))),
        is("", "x.dvc:9 folder", "")
    );
    assert_eq!(
        of(&import("  md5: word\n  hash: md5\n")),
        is("", "", "x.dvc:9 bad-digest")
    );
    assert_eq!(
        of(&import("  size: many\n")),
        is("", "", "x.dvc:9 bad-length")
    );
    assert_eq!(of("outs:\n- path: x\n"), is("", "x.dvc:1 no-url", ""));
    assert_eq!(
        of("cmd: make\ndeps:\n- path: https://a.test/x\n"),
        is("", "x.dvc:1 command", "")
    );
    let several = format!(
        "deps:\n- path: https://a.test/1\n- path: https://a.test/2\n- path: ../y\n- path: y\n  repo:\n    url: https://a.test/r\n- path: s3://b/x\n- x\nouts:\n- md5: {MD5}\n  hash: md5\n"
    );
    assert_eq!(
        of(&several),
        is(
            "https://a.test/1 -, https://a.test/2 -",
            "x.dvc:4 local, x.dvc:5 git",
            "x.dvc:8 scheme, x.dvc:1 bad-value"
        )
    );
    assert_eq!(of("- 1\n"), is("", "", "x.dvc:1 bad-value"));
    assert_eq!(
        error(DVC, "a: &x 1\nb: *x\n"),
        "x.dvc:2: an alias: write the value itself"
    );
}

#[test]
fn keys_of_git_annex_promise_bytes() {
    let sha256 = digest('a');
    let line = |key: &str, urls: &str| {
        format!(
            "{{\"command\":\"whereis\",\"key\":\"{key}\",\"file\":\"\u{e9}\",\"success\":true,\"whereis\":[{{\"here\":true,\"urls\":[]}},{{\"description\":\"web\",\"urls\":[{urls}]}}],\"untrusted\":[]}}\n"
        )
    };
    let (x, y) = ("\"https://a.test/x\"", "\"https://a.test/y\"");
    let text = [
        line(&format!("SHA256E-s6--{sha256}.tar.gz"), &format!("{x},{y}")),
        line("URL--https&c%%a.test%x", x),
        line("WORM-s7-m1--x", y),
        line(&format!("SHA256-s6-S4-C1--{sha256}"), y),
        line(
            "BLAKE2B256E-s8--00.x",
            &format!("\"yt:https://v.test/\",{y},7"),
        ),
        line("MD5-s1--x", ""),
        "\n[]\n{}\n{\"key\": null}\n".to_owned(),
        format!("{{\"key\":\"MD5E-s6--{MD5}.x\",\"untrusted\":[{{\"urls\":[{x}]}}]}}"),
    ];
    let taken = taken(ANNEX, &text.concat());
    assert_eq!(
        facts(&taken),
        [
            "https://a.test/x 6 sha256",
            "https://a.test/y 6 sha256",
            "https://a.test/x -",
            "https://a.test/y 7",
            "https://a.test/y -",
            "https://a.test/y 8",
            "https://a.test/x 6 md5",
        ]
    );
    assert_eq!(
        left_out(&taken),
        ["a.json:5 algorithm", "a.json:5 yt", "a.json:6 no-url"]
    );
    assert_eq!(
        taken.refused(),
        [
            "a.json:5 bad-value",
            "a.json:8 bad-line",
            "a.json:9 bad-line",
            "a.json:10 bad-line",
        ]
    );
    // A program writes the output, so `accept` must not edit it.
    assert!(taken.items.iter().all(|item| item.spans.is_empty()));
}

proptest! {
    #[test]
    fn no_text_makes_a_reader_of_descriptions_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"resources\"", "\"path\"", "\"hash\"", "\"bytes\"", "\"contentUrl\"", "\"@id\"", "\"@type\"", "\"File\"",
            "\"contentSize\"", "\"sha256\"", "\"key\"", "\"whereis\"", "\"urls\"", "\"https://a.test/\"", "\"\\u00e9\"", "\"\\ud800\"", "null", "true",
            "-1e9", "6", "<metalink>", "</metalink>", "<file>", "</file>", "<url>", "</url>", "<size>", "</size>", "<hash type='md5'>", "</hash>",
            "<!--", "-->", "<![CDATA[", "]]>", "&amp;", "&#0;", "&x;", "deps:", "outs:", "- path: ", "https://a.test/", "- ", "&a ", "*a", "\n", "\n  ",
            "\u{feff}", "\0", "\u{e9}", "\"", "'",
        ]), 0..40),
        frame in 0_u8..6,
    ) {
        let text = words.concat();
        let text = match frame {
            0 => format!("{{\"resources\": [{{\"path\": {text}}}]}}"),
            1 => format!("{{\"@graph\": [{{\"@type\": \"File\", \"@id\": {text}}}]}}"),
            2 => format!("<metalink><file><url>{text}</url></file></metalink>"),
            3 => format!("deps:\n- path: {text}\nouts:\n- md5: {text}\n"),
            4 => format!("{{\"key\": \"SHA256E-s6--{text}\", \"whereis\": [{{\"urls\": [{text}]}}]}}"),
            _ => text,
        };
        for read in [PACKAGE, JSON_LD, METALINK, DVC, ANNEX] {
            let _ = read(text.as_bytes(), &mut |event| {
                let location = match &event {
                    ReadEvent::Item(item) => &item.location,
                    ReadEvent::Notice(notice) => &notice.location,
                };
                assert!(location.line_number() <= 1 + text.matches('\n').count(), "{text:?}");
                Ok(())
            });
        }
    }
}
