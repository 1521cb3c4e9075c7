//! Sitemaps and their indexes.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use urldb_files::Root;
use urldb_interchange::budget::Budget;
use urldb_interchange::{input, sitemap};

use crate::common::Taken;

fn document(root: &str, entry: &str, locs: &[&str]) -> String {
    let entries = locs.iter().map(|loc| {
        format!("<{entry}>\n<lastmod>2026-11-21</lastmod><loc> {loc}\n</loc></{entry}>")
    });
    format!(
        "<?xml version=\"1.0\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{}</{root}>",
        entries.collect::<String>()
    )
}

fn urlset(locs: &[&str]) -> String {
    document("urlset", "url", locs)
}

/// What is found in a sitemap of the folder.
fn read(folder: &Path, name: &str) -> Taken {
    let root = Root::new(folder, "the folder");
    let input = input::open(&root.file(name), &Budget::default()).unwrap();
    Taken::of(|sink| sitemap::read(input, &root, &name.into(), &Budget::default(), sink))
}

/// What is found, or the message of the error.
fn parse(text: &[u8]) -> Result<Vec<String>, String> {
    let mut locs = Vec::new();
    let result = sitemap::parse(text, &"s.xml".into(), &mut |_, location, loc| {
        locs.push(format!("{location} {loc}"));
        Ok(())
    });
    result.map(|()| locs).map_err(|error| error.to_string())
}

#[test]
fn the_text_of_each_loc_is_taken() {
    let text = urlset(&[
        "http://a.test/?a=1&amp;b=%20&#38;&#x63;",
        "<![CDATA[http://a.test/&]]>",
    ]);
    assert_eq!(
        parse(text.as_bytes()).unwrap(),
        [
            "s.xml:3 http://a.test/?a=1&b=%20&c",
            "s.xml:5 http://a.test/&"
        ]
    );
    let extended = "<s:urlset xmlns:s='x' xmlns:i='y'><s:url><i:image><i:loc>http://no.test/</i:loc></i:image><s:loc>http://a.test/</s:loc><loc/></s:url></s:urlset>";
    assert_eq!(
        parse(extended.as_bytes()).unwrap(),
        ["s.xml:1 http://a.test/"]
    );
}

#[test]
fn an_empty_loc_does_not_take_the_text_of_the_next_element() {
    let text = "<urlset><url><loc/><lastmod>2026-11-21</lastmod></url><url><loc>http://a.test/</loc></url></urlset>";
    assert_eq!(parse(text.as_bytes()).unwrap(), ["s.xml:1 http://a.test/"]);
}

#[test]
fn what_is_no_sitemap_is_refused() {
    let bomb = "<!DOCTYPE x [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;\">]><urlset><url><loc>&b;</loc></url></urlset>";
    assert!(
        parse(bomb.as_bytes())
            .unwrap_err()
            .contains("no document type")
    );
    let custom = urlset(&["http://a.test/&b;"]);
    assert!(
        parse(custom.as_bytes())
            .unwrap_err()
            .contains("not one of XML's own")
    );
    let deep = format!("<urlset>{}", "<a>".repeat(100_000));
    assert!(
        parse(deep.as_bytes())
            .unwrap_err()
            .contains("nested too deeply")
    );
    for (text, why) in [
        ("<html></html>", "no sitemap"),
        ("", "no sitemap"),
        ("<urlset><url><loc>http://a.test/", "ends before"),
        ("<urlset></urlset><urlset></urlset>", "more than one root"),
        ("<urlset><url></urlset>", "not XML"),
    ] {
        let error = parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(parse(b"<urlset>\xff</urlset>").is_err());
    let huge = format!("<urlset>{}", " ".repeat(65 << 20));
    assert!(parse(huge.as_bytes()).unwrap_err().contains("64 MiB"));
}

#[test]
fn a_loc_without_end_is_refused_as_a_url() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.xml");
    fs::write(
        &path,
        urlset(&[&format!("http://a.test/{}", "a&amp;".repeat(100_000))]),
    )
    .unwrap();
    let taken = read(folder.path(), "s.xml");
    assert_eq!(taken.refused(), ["s.xml:3 control-character"]);
}

fn write_gzip(path: &Path, text: &str) {
    let mut encoder = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap();
}

#[test]
fn an_index_leads_to_the_sitemaps_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("b.test/maps")).unwrap();
    let locs = [
        "https://a.test/deep/one.xml.gz",
        "https://b.test/maps/one.xml.gz",
        "https://a.test/packed.xml",
        "https://a.test/missing.xml",
        "https://a.test/packed.xml?again",
        "https://a.test/%2e%2e/%2E%2E/etc/passwd",
        "https://a.test/index.xml",
    ];
    fs::write(at("index.xml"), document("sitemapindex", "sitemap", &locs)).unwrap();
    write_gzip(&at("one.xml.gz"), &urlset(&["http://a.test/1"]));
    write_gzip(&at("b.test/maps/one.xml.gz"), &urlset(&["http://b.test/1"]));
    write_gzip(&at("packed.xml.gz"), &urlset(&["http://a.test/2"]));
    let taken = read(folder.path(), "index.xml");
    assert_eq!(
        taken.urls(),
        ["http://a.test/1", "http://b.test/1", "http://a.test/2"]
    );
    let refused = taken.refused();
    assert_eq!(
        refused[..2],
        [
            "index.xml:9 sitemap-not-found",
            "index.xml:13 sitemap-not-found"
        ]
    );
    assert!(refused[2].ends_with(":3 index-in-index"), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn an_index_leads_to_no_sitemap_behind_a_link_out_of_the_folder() {
    use std::os::unix::fs::symlink;
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    fs::write(
        outside.path().join("s.xml"),
        urlset(&["http://a.test/secret"]),
    )
    .unwrap();
    fs::write(at("here.xml"), urlset(&["http://a.test/here"])).unwrap();
    symlink(outside.path().join("s.xml"), at("file.xml")).unwrap();
    symlink(outside.path(), at("maps")).unwrap();
    symlink("here.xml", at("inside.xml")).unwrap();
    let read = |loc| {
        fs::write(at("index.xml"), document("sitemapindex", "sitemap", &[loc])).unwrap();
        let root = Root::new(folder.path(), "the folder");
        let input = input::open(&root.file("index.xml"), &Budget::default()).unwrap();
        Taken::with_result(|sink| {
            sitemap::read(input, &root, &"index.xml".into(), &Budget::default(), sink)
        })
    };
    for (loc, link) in [
        ("https://a.test/file.xml", "file.xml"),
        ("https://a.test/maps/s.xml", "maps"),
        // Links out are refused alike, whether something is there or not.
        ("https://a.test/maps/absent.xml", "maps"),
    ] {
        let (taken, result) = read(loc);
        let message = result.unwrap_err().to_string();
        assert!(taken.items.is_empty());
        let said = format!("{link} is a link out of the folder");
        assert!(message.contains(&said), "{message}");
    }
    let (taken, _) = read("https://a.test/inside.xml");
    assert_eq!(taken.urls(), ["http://a.test/here"]);
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end(text in "(<urlset>|<url>|<loc>|</loc>|</url>|</urlset>|&amp;|&x;|<!--|-->|<\\?|\\PC|\n){0,20}") {
        let _ = parse(text.as_bytes());
    }
}
