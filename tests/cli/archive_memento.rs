//! The captures of a URL as a `TimeMap` of Memento, read as a client of RFC 7089 does.

use std::collections::BTreeMap;

use crate::archive_reading::{DATA, archive};
use crate::sandbox::Sandbox;
use crate::shelf::{Shelf, text};

const SETTINGS: &str = "[archive]\nreplay-url = \"https://replay.example.org/data\"\n";

/// A link and its attributes.
type Link = (String, BTreeMap<String, String>);

/// Reads links (RFC 8288, section 3): `<URI>` and attributes with quoted values, between commas.
fn links(text: &str) -> Vec<Link> {
    let mut links = vec![];
    let mut rest = text.trim_start();
    while let Some(after) = rest.strip_prefix('<') {
        let (uri, after) = after.split_once('>').unwrap();
        let is_plain = |c: char| c.is_ascii_graphic() && !"<>\"".contains(c);
        assert!(uri.chars().all(is_plain), "{uri:?} is no URI");
        rest = after;
        let mut attributes = BTreeMap::new();
        while let Some(after) = rest.strip_prefix("; ") {
            let (name, after) = after.split_once("=\"").unwrap();
            let (value, after) = after.split_once('"').unwrap();
            assert!(
                attributes
                    .insert(name.to_owned(), value.to_owned())
                    .is_none()
            );
            rest = after;
        }
        links.push((uri.to_owned(), attributes));
        rest = match rest.strip_prefix(',') {
            Some(after) => after.trim_start(),
            None => rest,
        };
    }
    assert_eq!(rest, "\n", "{text}");
    links
}

/// The links, each as `rel URI datetime`.
fn described(text: &str) -> Vec<String> {
    let links = links(text).into_iter();
    let described = links.map(|(uri, attributes)| {
        let datetime = attributes.get("datetime").map_or("-", String::as_str);
        format!("{} | {uri} | {datetime}", attributes["rel"])
    });
    described.collect()
}

fn list(sandbox: &Sandbox, url: &str) -> Vec<String> {
    described(
        &sandbox
            .ok(&["archive", "list", url, "--format", "link"])
            .out,
    )
}

#[test]
fn captures_of_a_url_are_a_time_map() {
    let sandbox = archive();
    sandbox.write("urldb.toml", SETTINGS);
    assert_eq!(
        list(&sandbox, DATA),
        [
            "original | http://example.test/data.csv | -",
            "timegate | https://replay.example.org/data/http://example.test/data.csv | -",
            "first memento | https://replay.example.org/data/20260102030405/http://example.test/data.csv | Fri, 02 Jan 2026 03:04:05 GMT",
            "memento | https://replay.example.org/data/20260202030405/http://example.test/data.csv | Mon, 02 Feb 2026 03:04:05 GMT",
            "memento | https://replay.example.org/data/20260302030405/http://example.test/data.csv | Mon, 02 Mar 2026 03:04:05 GMT",
            "memento | https://replay.example.org/data/20260303000000/http://example.test/data.csv | Tue, 03 Mar 2026 00:00:00 GMT",
            "last memento | https://replay.example.org/data/20260304000000/http://example.test/data.csv | Wed, 04 Mar 2026 00:00:00 GMT",
        ]
    );
    let only = list(&sandbox, "http://example.test/moved");
    assert_eq!(only.len(), 3, "{only:?}");
    assert!(only[2].starts_with("first last memento | "), "{only:?}");
}

/// A replay tells seconds apart, and URLs are what anybody wrote into an archive.
#[test]
fn captures_of_one_second_are_one_memento_and_hostile_urls_stay_links() {
    let sandbox = Sandbox::new(SETTINGS);
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    shelf.capture("2026-01-01T00:00:00Z", &text(DATA, "one"));
    shelf.capture("2026-01-01T00:00:00Z", &text(DATA, "two"));
    shelf.finish();
    let url = "http://example.test/a>;rel=\"x\",<b|é";
    let block = "HTTP/1.1 200 OK\r\n\r\nthree";
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-0000000000ff>\r\n\
         WARC-Date: 2026-01-01T00:00:01Z\r\nWARC-Target-URI: {url}\r\n\
         Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    sandbox.write("archive/foreign.warc", record);
    sandbox.ok("archive index");
    assert_eq!(list(&sandbox, DATA).len(), 3);
    let escaped = "http://example.test/a%3E;rel=%22x%22,%3Cb%7C%C3%A9";
    let mementos = list(&sandbox, url);
    assert_eq!(mementos[0], format!("original | {escaped} | -"));
    assert_eq!(
        mementos[2],
        format!(
            "first last memento | https://replay.example.org/data/20260101000001/{escaped} | \
             Thu, 01 Jan 2026 00:00:01 GMT"
        )
    );
}

#[test]
fn a_time_map_needs_a_url_and_the_address_of_a_replay() {
    let sandbox = archive();
    sandbox
        .exits(2, &["archive", "list", DATA, "--format", "link"])
        .complains("`replay-url` in [archive]");
    sandbox.write("urldb.toml", SETTINGS);
    for arguments in [&[][..], &[DATA, "--method", "POST"]] {
        let command = [&["archive", "list", "--format", "link"], arguments].concat();
        sandbox
            .exits(2, &command)
            .complains("--format link lists the answers of one URL to GET");
    }
    for wrong in [
        "replay",
        "https://a:b@replay.example.org/",
        "https://replay.example.org/?x=1",
    ] {
        sandbox.write(
            "urldb.toml",
            format!("[archive]\nreplay-url = \"{wrong}\"\n"),
        );
        sandbox
            .exits(2, "archive list")
            .complains("urldb.toml:2:14: `replay-url` should be the URL of a server: ");
    }
}
