//! Control characters, which no reader takes as a part of a text.

use std::fs;

use urldb_files::Root;
use urldb_interchange::budget::Budget;
use urldb_interchange::documents::{self, DocumentKind, DocumentOptions, lychee};
use urldb_interchange::htaccess::HtaccessTree;
use urldb_interchange::table::Columns;
use urldb_interchange::{
    NoticeSeverity, ReadError, Sink, annex, archive, bag, bazel_registry, brew_json, conandata,
    datapackage, debian_sources, dvc, jsonl, jsonld, list, metalink, nix_sources, redirects,
    schemastore, sitemap, ssd3, sums, table, tfds,
};

use crate::common::{Taken, digest};

/// The control characters that no text has.
const CONTROLS: &[u8] = b"\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f";

type Read = dyn Fn(&[u8], &mut Sink<'_>) -> Result<(), ReadError>;

const BASE: &str = "http://a.test/";

/// A format, a file of it, and its reader.
fn formats() -> Vec<(&'static str, String, Box<Read>)> {
    let folder = || Root::new(std::path::Path::new("nowhere"), "the folder");
    let document = |kind| -> Box<Read> {
        Box::new(move |bytes, sink| {
            let options = DocumentOptions {
                base: None,
                path: "f",
                is_local: &|_| false,
            };
            documents::read(bytes, kind, &"f".into(), &options, sink)
        })
    };
    let a = digest('a');
    let sri = "sha256-WJG1tSLV3whtD/CxEPvZ0hu0/HFjrzTQgoai6Eb2vgM=";
    vec![
        ("list", "http://a.test/1\n# x\nhttp://a.test/2\n".to_owned(), Box::new(|bytes, sink| list::read(bytes, &"f".into(), sink))),
        ("jsonl", "{\"url\": \"http://a.test/1\"}\n{\"url\": \"http://a.test/2\", \"record\": {\"name\": \"x\"}}\n".to_owned(), Box::new(|bytes, sink| jsonl::read(bytes, &"f".into(), sink))),
        ("csv", "url,name\nhttp://a.test/1,x\nhttp://a.test/2,\"y z\"\n".to_owned(), Box::new(|bytes, sink| table::read(bytes, &"f".into(), &Columns::default(), sink))),
        ("tsv", "url\tname\nhttp://a.test/1\tx\n".to_owned(), Box::new(|bytes, sink| table::read(bytes, &"f".into(), &Columns::default(), sink))),
        ("sums", format!("# x\n{a}  b/c.txt\nSHA256 (d) = {a}\ne.txt sha256:{a}\n"), Box::new(|bytes, sink| sums::read(bytes, &"f".into(), BASE, sink))),
        ("tfds", format!("http://a.test/1\t2\t{a}\tx\nhttp://a.test/2 3 {a}\n"), Box::new(|bytes, sink| tfds::read(bytes, &"f".into(), sink))),
        ("bazel-registry", format!("{{\n\"url\": \"http://a.test/1\", \"integrity\": \"{sri}\"\n}}\n"), Box::new(|bytes, sink| bazel_registry::read(bytes, &"f".into(), None, sink))),
        ("conandata", format!("sources:\n  \"1\":\n    url: http://a.test/1\n    sha256: {a}\n# x\n"), Box::new(|bytes, sink| conandata::read(bytes, &"f".into(), sink))),
        ("nix-sources", format!("{{\"sources\": [\n{{\"type\": \"url\", \"urls\": [\"http://a.test/1\"], \"integrity\": \"{sri}\"}}\n]}}\n"), Box::new(|bytes, sink| nix_sources::read(bytes, &"f".into(), sink))),
        ("brew-json", format!("[{{\"urls\": {{\"stable\": {{\n\"url\": \"http://a.test/1\", \"checksum\": \"{a}\"}}}}}}]\n"), Box::new(|bytes, sink| brew_json::read(bytes, &"f".into(), sink))),
        ("debian-sources", format!("Package: x\nFilename: pool/x.deb\nSize: 1\nSHA256: {a}\n\n"), Box::new(|bytes, sink| debian_sources::read(bytes, &"f".into(), BASE, sink))),
        ("schemastore", "{\"schemas\": [\n{\"url\": \"http://a.test/1\"}]}\n".to_owned(), Box::new(|bytes, sink| schemastore::read(bytes, &"f".into(), sink))),
        ("datapackage", format!("{{\"resources\": [\n{{\"path\": \"http://a.test/1\", \"hash\": \"sha256:{a}\"}}]}}\n"), Box::new(|bytes, sink| datapackage::read(bytes, &"f".into(), None, sink))),
        ("jsonld", format!("{{\"@graph\": [\n{{\"contentUrl\": \"http://a.test/1\", \"sha256\": \"{a}\"}}]}}\n"), Box::new(|bytes, sink| jsonld::read(bytes, &"f".into(), None, sink))),
        ("metalink", format!("<?xml version=\"1.0\"?>\n<metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"x\">\n<url>http://a.test/1</url><hash type=\"sha-256\">{a}</hash></file></metalink>\n"), Box::new(|bytes, sink| metalink::read(bytes, &"f".into(), sink))),
        ("dvc", "deps:\n- path: http://a.test/1\nouts:\n- md5: b1946ac92492d2347c6235b4d2611184\n  hash: md5\n  path: x\n".to_owned(), Box::new(|bytes, sink| dvc::read(bytes, &"f".into(), sink))),
        ("annex", format!("{{\"key\": \"SHA256-s6--{a}\", \"whereis\": [{{\"urls\": [\"http://a.test/1\"]}}]}}\n"), Box::new(|bytes, sink| annex::read(bytes, &"f".into(), sink))),
        ("redirects", "# x\n/a /b 301\n/c http://d.test/ 302\n".to_owned(), Box::new(|bytes, sink| redirects::read(bytes, &"f".into(), BASE, &Budget::default(), sink))),
        ("htaccess", "# x\nRewriteEngine on\nRewriteRule ^a$ http://b.test/ [R=301,L]\nRedirect /c http://d.test/\n".to_owned(), Box::new(|bytes, sink| {
            let mut tree = HtaccessTree::new(&Budget::default());
            tree.add(bytes, "", &"f".into())?;
            tree.read(BASE, sink)
        })),
        ("sitemap", "<?xml version=\"1.0\"?>\n<urlset><url>\n<loc>http://a.test/1</loc></url></urlset>\n".to_owned(), Box::new(move |bytes, sink| sitemap::read(bytes, &folder(), &"f".into(), &Budget::default(), sink))),
        ("cdxj", "test,a)/1 20260101000000 {\"url\": \"http://a.test/1\", \"status\": \"200\", \"digest\": \"sha256:x\"}\n".to_owned(), Box::new(move |bytes, sink| archive::read_cdxj(bytes, &folder(), &"f".into(), sink))),
        ("lychee", "http://a.test/1 (x.md)\nhttp://a.test/2\n".to_owned(), Box::new(|bytes, sink| lychee::read(bytes, &"f".into(), sink))),
        ("Markdown", "# x\nhttp://a.test/1 [x](http://a.test/2)\n".to_owned(), document(DocumentKind::Markdown)),
        ("HTML", "<p>\n<a href='http://a.test/1'>x</a>\n".to_owned(), document(DocumentKind::Html)),
        ("BibTeX", "@misc{x,\n url = {http://a.test/1}}\n".to_owned(), document(DocumentKind::Bibtex)),
        ("CSL-JSON", "[{\"URL\":\n\"http://a.test/1\"}]\n".to_owned(), document(DocumentKind::CslJson)),
        ("notebook", "{\"cells\": [\n{\"cell_type\": \"markdown\", \"source\": \"http://a.test/1\"}]}\n".to_owned(), document(DocumentKind::Notebook)),
        ("ssd3", "URI: http://a.test/1\r\nNAME: a\r\nDATE: 31/10/2007 19:03:34\r\nCATEGORY: x\r\nTYPE: text/plain\r\n".to_owned(), Box::new(|bytes, sink| ssd3::read(std::io::Cursor::new(bytes.to_vec()), &"f".into(), sink))),
    ]
}

/// The lines at which a reader refuses something.
fn refused(read: &Read, bytes: &[u8]) -> Vec<usize> {
    let (taken, result) = Taken::with_result(|sink| read(bytes, sink));
    let notices = taken.notices.iter();
    let notices = notices.filter(|it| it.severity == NoticeSeverity::Refused);
    let mut lines: Vec<usize> = notices.map(|it| it.location.line_number()).collect();
    if let Err(error) = result {
        let text = error.to_string();
        let line = text.split(':').nth(1).and_then(|it| it.parse().ok());
        lines.push(line.unwrap_or_else(|| panic!("an error without a line: {text}")));
    }
    lines
}

#[test]
fn each_reader_refuses_a_control_character_at_its_line() {
    for (name, text, read) in formats() {
        assert_eq!(refused(&*read, text.as_bytes()), [0; 0], "{name}");
        for at in 0..text.len() {
            // All at one place would take minutes.
            let control = CONTROLS[at % CONTROLS.len()];
            for control in [0, 0x1b, control] {
                let mut bytes = text.clone().into_bytes();
                bytes.insert(at, control);
                let line = 1 + text[..at].matches('\n').count();
                let lines = refused(&*read, &bytes);
                assert!(
                    lines.contains(&line),
                    "{name}: {control:#x} at {at}, line {line}: {lines:?}"
                );
            }
        }
    }
}

#[test]
fn each_reader_refuses_a_carriage_return_inside_of_a_line() {
    for (name, text, read) in formats() {
        if name == "ssd3" {
            continue;
        }
        let crlf = text.replace('\n', "\r\n");
        assert_eq!(refused(&*read, crlf.as_bytes()), [0; 0], "{name}");
        let at = text.find("test/").unwrap_or(2);
        let mut bytes = text.clone().into_bytes();
        bytes.insert(at, b'\r');
        let line = 1 + text[..at].matches('\n').count();
        let lines = refused(&*read, &bytes);
        assert!(lines.contains(&line), "{name}: {lines:?}");
        // Lines of an old Macintosh.
        let cr = text.trim_end().replace('\n', "\r");
        if cr.contains('\r') {
            assert!(!refused(&*read, cr.as_bytes()).is_empty(), "{name}");
        }
    }
}

#[test]
fn a_bag_with_a_control_character_is_refused_at_its_line() {
    for name in ["fetch.txt", "manifest-sha256.txt"] {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("fetch.txt", "http://a.test/1 - data/1\n");
        write("manifest-sha256.txt", &format!("{}  data/1\n", digest('a')));
        let text = fs::read_to_string(folder.path().join(name)).unwrap();
        write(name, &format!("{text}{}", text.replace('1', "2\u{7}")));
        let bag = Root::new(folder.path(), "the bag");
        let read = |sink: &mut Sink<'_>| bag::read(&bag, "bag", None, &Budget::default(), sink);
        let (taken, result) = Taken::with_result(read);
        let place = format!("bag/{name}:2");
        assert!(result.is_ok() && taken.refused()[0].starts_with(&place));
    }
}
