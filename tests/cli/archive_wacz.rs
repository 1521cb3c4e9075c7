//! Captures as a file for players in a browser.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Cursor, Read};

use flate2::read::{GzDecoder, MultiGzDecoder};
use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::Value;
use urldb::archive::wacz::{PackageDescription, WaczExport, WaczSelection};
use urldb::archive::{ArchiveFiles, Catalogue};
use urldb_warc::{CdxjLine, Extent, Reader};

use crate::sandbox::{Sandbox, assert_has};
use crate::shelf::{Shelf, Told, text};
use crate::site::{FILE, promise, sha256};

/// The files of a package.
pub(crate) struct Package(BTreeMap<String, Vec<u8>>);

impl Package {
    fn read(bytes: &[u8]) -> Self {
        let archive = rawzip::ZipArchive::from_slice(bytes).unwrap();
        let mut entries = archive.entries();
        let mut files = BTreeMap::new();
        while let Some(entry) = entries.next_entry().unwrap() {
            let name = String::from_utf8(entry.file_path().as_bytes().to_vec()).unwrap();
            assert_eq!(entry.compression_method(), rawzip::CompressionMethod::STORE);
            let content = archive.get_entry(entry.wayfinder()).unwrap();
            let content = content.data().to_vec();
            assert!(files.insert(name, content).is_none());
        }
        Self(files)
    }

    pub(crate) fn in_sandbox(sandbox: &Sandbox, name: &str) -> Self {
        let package = Self::read(&fs::read(sandbox.path(name)).unwrap());
        package.check();
        package
    }

    /// The URIs of all records.
    pub(crate) fn records(&self) -> impl Iterator<Item = String> {
        let files = self.0.iter();
        let files = files.filter(|(name, _)| name.starts_with("archive/"));
        files.flat_map(|(_, bytes)| {
            let mut reader = Reader::new(Cursor::new(bytes.clone())).unwrap();
            let mut uris = vec![];
            while let Some(record) = reader.next_record().unwrap() {
                let (_, header) = record.finish_with_header().unwrap();
                uris.extend(header.target_uri().map(str::to_owned));
            }
            uris
        })
    }

    fn text(&self, name: &str) -> &str {
        str::from_utf8(&self.0[name]).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.0[name]).unwrap()
    }

    fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    pub(crate) fn lines(&self) -> Vec<CdxjLine> {
        let mut index = String::new();
        let gzip = &self.0["indexes/index.cdx.gz"];
        if !gzip.is_empty() {
            let mut lines = MultiGzDecoder::new(gzip.as_slice());
            lines.read_to_string(&mut index).unwrap();
        }
        let lines: Vec<&str> = index.lines().collect();
        assert!(lines.is_sorted_by(|a, b| a < b), "{lines:#?}");
        let lines = lines.into_iter();
        lines.map(|line| CdxjLine::parse(line).unwrap()).collect()
    }

    fn urls(&self) -> Vec<String> {
        self.lines().into_iter().map(|line| line.url).collect()
    }

    /// The digests are right, each line of the index leads to its record, and each revisit has its
    /// original.
    fn check(&self) {
        let package = self.json("datapackage.json");
        let mut listed = BTreeSet::from(["datapackage.json", "datapackage-digest.json"]);
        let mut names = BTreeSet::new();
        for resource in package["resources"].as_array().unwrap() {
            let path = resource["path"].as_str().unwrap();
            let content = &self.0[path];
            assert_eq!(resource["hash"], format!("sha256:{}", sha256(content)));
            assert_eq!(resource["bytes"], content.len());
            assert!(listed.insert(path));
            let name = resource["name"].as_str().unwrap();
            let is_plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            assert!(names.insert(name) && name.chars().all(is_plain), "{name}");
        }
        assert_eq!(listed.into_iter().collect::<Vec<_>>(), self.names());
        let digest = self.json("datapackage-digest.json");
        let expected = format!("sha256:{}", sha256(&self.0["datapackage.json"]));
        assert_eq!(digest["hash"], expected);
        self.check_blocks();
        let lines = self.lines();
        for line in &lines {
            self.check_line(line, &lines);
        }
    }

    /// Each line of the list of blocks names a gzip member of the index.
    fn check_blocks(&self) {
        let mut blocks = self.text("indexes/index.idx").lines();
        assert_eq!(
            blocks.next().unwrap(),
            r#"!meta 0 {"format":"cdxj-gzip-1.0","filename":"index.cdx.gz"}"#
        );
        let index = &self.0["indexes/index.cdx.gz"];
        let mut end = 0;
        for block in blocks {
            let (first, position) = block.split_at(block.find(" {").unwrap());
            let position: Value = serde_json::from_str(position).unwrap();
            let number = |key| usize::try_from(position[key].as_u64().unwrap()).unwrap();
            let member = &index[number("offset")..number("offset") + number("length")];
            assert_eq!(position["digest"], format!("sha256:{}", sha256(member)));
            let mut text = String::new();
            GzDecoder::new(member).read_to_string(&mut text).unwrap();
            assert!(text.starts_with(first));
            assert_eq!(number("offset"), end);
            end += number("length");
        }
        assert_eq!(end, index.len());
    }

    fn check_line(&self, line: &CdxjLine, lines: &[CdxjLine]) {
        let Extent { offset, length } = line.extent;
        let mut file = Cursor::new(&self.0[&format!("archive/{}", line.filename)]);
        file.set_position(offset);
        let mut reader = Reader::new_at(file, offset).unwrap();
        let record = reader.next_record().unwrap().unwrap();
        let header = record.header().clone();
        assert_eq!(header.target_uri(), Some(line.url.as_str()));
        assert_eq!(record.finish().unwrap(), Extent { offset, length });
        if line.mime == "warc/revisit" {
            let url = header.get("WARC-Refers-To-Target-URI").unwrap();
            let date = header.get("WARC-Refers-To-Date").unwrap();
            let timestamp: String = date.chars().filter(char::is_ascii_digit).collect();
            let is_original = |it: &&CdxjLine| it.url == url && it.timestamp == timestamp;
            assert!(lines.iter().any(|it| is_original(&it)), "{line:?}");
        }
    }
}

fn html<'a>(url: &'a str, body: &'a str) -> Told<'a> {
    Told {
        url,
        head: "200 OK\r\nContent-Type: text/html; charset=utf-8",
        body: body.as_bytes(),
    }
}

/// A page with a revisit, a table with a name, a redirect to it, an error page, and a revisit of another
/// URL's bytes.
fn archive() -> Sandbox {
    let sandbox = Sandbox::new(
        "[project]\nname = \"Mirrors\"\n\n[archive]\ndescription = \"Of *all* mirrors\"\n",
    );
    let mut first = Shelf::new(&sandbox, "first.warc.gz");
    let page = html("http://example.test/", "<p>the page");
    let original = first.capture("2026-01-01T00:00:00Z", &page);
    first.request("2026-01-01T00:00:00Z", page.url, &original);
    first.capture(
        "2026-01-01T00:00:01Z",
        &text("http://example.test/table.csv", "a,b"),
    );
    first.capture(
        "2026-01-01T00:00:02Z",
        &Told {
            url: "http://example.test/old",
            head: "301 Moved Permanently\r\nLocation: /table.csv#top",
            body: b"",
        },
    );
    first.finish();
    let mut second = Shelf::new(&sandbox, "Second.warc.gz");
    second.revisit("2026-02-01T00:00:00Z", page.url, &original);
    second.revisit("2026-02-01T00:00:00Z", "http://mirror.test/", &original);
    second.capture(
        "2026-02-02T00:00:00Z",
        &Told {
            url: "http://example.test/gone",
            head: "404 Not Found\r\nContent-Type: text/html",
            body: b"<p>gone",
        },
    );
    second.finish();
    let mut file = "---\n---\n_path: /\n".to_owned();
    file += &promise("/table.csv", "a,b").replace("_path", "name: A table\n_path");
    file += &promise("/lost", "never seen");
    sandbox.write(FILE, file);
    sandbox
}

#[test]
fn a_package_has_the_whole_archive() {
    let sandbox = archive();
    let ran = sandbox.ok("archive export --wacz all.wacz");
    assert_snapshot!(ran.out, @"exported 6 captures of 5 URLs, 2 pages of them, to all.wacz");
    assert_eq!(ran.err, "");
    let package = Package::in_sandbox(&sandbox, "all.wacz");
    assert_eq!(
        package.names(),
        [
            "archive/Second.warc.gz",
            "archive/first.warc.gz",
            "datapackage-digest.json",
            "datapackage.json",
            "indexes/index.cdx.gz",
            "indexes/index.idx",
            "pages/pages.jsonl",
        ]
    );
    for name in ["first.warc.gz", "Second.warc.gz"] {
        let original = fs::read(sandbox.path(&format!("archive/{name}"))).unwrap();
        assert_eq!(package.0[&format!("archive/{name}")], original);
    }
    assert_snapshot!(package.text("pages/pages.jsonl"), @r#"
    {"format":"json-pages-1.0","id":"pages","title":"All Pages"}
    {"id":"6b68f7353d92f79a","url":"http://example.test/","ts":"2026-01-01T00:00:00Z"}
    {"id":"2ad754608d6e9a10","url":"http://example.test/table.csv","ts":"2026-01-01T00:00:01Z","title":"A table"}
    "#);
    let about = package.json("datapackage.json");
    assert_eq!(about["profile"], "data-package");
    assert_eq!(about["wacz_version"], "1.1.1");
    assert_eq!(about["title"], "Mirrors");
    assert_eq!(about["description"], "Of *all* mirrors");
    assert_eq!(
        about["software"],
        concat!("urldb/", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(about.get("mainPageUrl"), None);
}

/// The files of the package, without their folder, and a new index.
#[test]
fn a_package_becomes_an_archive_again() {
    let sandbox = archive();
    sandbox.ok("archive export --wacz all.wacz");
    let package = Package::in_sandbox(&sandbox, "all.wacz");
    let other = Sandbox::new("");
    for name in package.names() {
        if let Some(base) = name.strip_prefix("archive/") {
            other.write(&format!("archive/{base}"), &package.0[name]);
        }
    }
    other.ok("archive index").says("indexed 2 files");
    assert_eq!(other.ok("archive list").out, sandbox.ok("archive list").out);
    let mirrored = other.ok("archive get http://mirror.test/");
    assert_eq!(mirrored.out, "<p>the page");
}

#[test]
fn a_package_of_a_url_has_what_its_replay_needs() {
    let sandbox = archive();
    let export = |name: &str, url: &str| {
        sandbox.ok(&["archive", "export", "--wacz", name, url]);
        Package::in_sandbox(&sandbox, name)
    };
    // The original of the revisit is a capture of another URL. Its request comes with it.
    let mirror = export("mirror.wacz", "http://mirror.test/");
    assert_eq!(
        mirror.urls(),
        ["http://mirror.test/", "http://example.test/"]
            .map(str::to_owned)
            .into_iter()
            .rev()
            .collect::<Vec<_>>()
    );
    let mut reader = Reader::new(mirror.0["archive/first.warc.gz"].as_slice()).unwrap();
    let mut kinds = vec![];
    while let Some(record) = reader.next_record().unwrap() {
        kinds.push(record.header().get("WARC-Type").unwrap().to_owned());
    }
    assert_eq!(kinds, ["warcinfo", "response", "request"]);
    let about = mirror.json("datapackage.json");
    assert_eq!(
        about.get("mainPageUrl"),
        None,
        "a revisit alone tells no status"
    );

    let old = export("old.wacz", "http://example.test/old");
    assert_eq!(
        old.urls(),
        ["http://example.test/old", "http://example.test/table.csv"]
    );
    let about = old.json("datapackage.json");
    for key in ["mainPageUrl", "mainPageURL"] {
        assert_eq!(about[key], "http://example.test/old");
    }
    assert_eq!(about["mainPageDate"], "2026-01-01T00:00:02Z");
}

#[test]
fn a_package_of_records_names_those_without_a_capture() {
    let sandbox = archive();
    sandbox
        .exits(1, "archive export -d example.test --wacz some.wacz")
        .says("exported 3 captures of 2 URLs, 2 pages")
        .complains("warning: not in the archive: http://example.test/lost");
    let package = Package::in_sandbox(&sandbox, "some.wacz");
    let urls: BTreeSet<String> = package.urls().into_iter().collect();
    assert_eq!(
        Vec::from_iter(urls),
        ["http://example.test/", "http://example.test/table.csv"]
    );
    sandbox
        .exits(
            2,
            "archive export --wacz none.wacz http://example.test/never",
        )
        .complains(&[
            "not in the archive: http://example.test/never",
            "there is nothing to export",
        ]);
    assert!(!sandbox.path("none.wacz").exists());
}

#[test]
fn export_replaces_no_file() {
    let sandbox = archive();
    sandbox.write("all.wacz", "mine");
    sandbox
        .exits(2, "archive export --wacz all.wacz")
        .complains("all.wacz is there already: name a new file");
    sandbox.assert_file("all.wacz", "mine");
    sandbox
        .exits(2, "archive export --wacz no/such/all.wacz")
        .complains(&["no/such/all.wacz was not written", "there is no folder"]);
    sandbox
        .exits(2, "archive export --wacz a.wacz --bagit b")
        .complains("cannot be used with");
    sandbox
        .exits(2, "archive export")
        .complains("--bagit <DIR>|--wacz <FILE>");
}

#[test]
fn equal_archives_give_equal_packages() {
    let sandbox = archive();
    let config = urldb::config::discover(&sandbox.root).unwrap();
    let about = PackageDescription {
        title: "Mirrors".to_owned(),
        description: None,
        created: "2026-11-20T06:00:00Z".parse().unwrap(),
    };
    let titles = HashMap::from([("test,example)/".to_owned(), "A page".to_owned())]);
    let write = || {
        let catalogue = Catalogue::open(ArchiveFiles::open(&config).unwrap()).unwrap();
        let mut warn = |warning| panic!("{warning}");
        let export = WaczExport::prepare(&catalogue, &WaczSelection::Everything, &mut warn);
        export.unwrap().write(&about, &titles, vec![]).unwrap().0
    };
    assert_eq!(write(), write());
}

#[test]
fn an_index_with_other_keys_loses_only_their_lines() {
    let sandbox = archive();
    let mut lines = vec![];
    for name in ["first.warc.gz", "Second.warc.gz"] {
        let file = sandbox.path(&format!("archive/{name}"));
        let found = urldb_warc::index::index_lines_of(&file, &urldb_canon::surt).unwrap();
        lines.extend(found.iter().map(|line| line.render().unwrap() + "\n"));
    }
    let index = lines.concat();
    let foreign = index.replace("test,example)/gone ", "test,example)/gön ");
    assert_ne!(foreign, index);
    // The index of another program, in place of ours.
    sandbox.write_index(foreign);
    sandbox
        .exits(1, "archive export --wacz all.wacz")
        .says("exported 5 captures")
        .complains("warning: 1 capture of the index cannot be exported");
    assert_eq!(Package::in_sandbox(&sandbox, "all.wacz").lines().len(), 5);
}

#[test]
fn a_package_goes_to_standard_output() {
    let sandbox = archive();
    let mut command = sandbox.urldb_command("archive export --wacz -");
    let output = command.output().unwrap();
    assert!(output.status.success());
    let package = Package::read(&output.stdout);
    package.check();
    assert_eq!(package.lines().len(), 6);
}

#[test]
fn hostile_archives_make_a_valid_package() {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "good.warc.gz");
    let url = "http://example.test/\u{202e}\"%00'<b>{}&x=é";
    shelf.capture("2026-01-01T00:00:00Z", &html(url, "x"));
    let head = format!(
        "200 OK\r\nContent-Type: text/html\r\nX-Long: {}",
        "x".repeat(200_000)
    );
    shelf.capture(
        "2026-01-02T00:00:00Z",
        &Told {
            url: "http://example.test/long",
            head: &head,
            body: b"y",
        },
    );
    let good = fs::read(shelf.finish()).unwrap();
    // A damaged middle, an ARC file, records in one gzip member, and names that are no paths elsewhere.
    let mut damaged = good.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0x55;
    sandbox.write("archive/..evil\\ name\n.warc.gz", &damaged);
    sandbox.write("archive/GOOD.warc.gz", &good);
    let block = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n";
    let controls = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:x:1>\r\nWARC-Date: 2026-01-03T00:00:00Z\r\n\
         WARC-Target-URI: http://example.test/\u{1b}[31m\u{7f}\u{1}\r\nContent-Type: application/http\r\n\
         Content-Length: {}\r\n\r\n{block}\r\n\r\n",
        block.len()
    );
    sandbox.write("archive/controls.warc", controls);
    let version = "1 0 test\nURL IP-address Archive-date Content-type Archive-length\n";
    let length = version.len();
    let arc = format!("filedesc://a.arc 0.0.0.0 20260101000000 text/plain {length}\n{version}\n");
    sandbox.write("archive/a.arc", arc);
    sandbox.write("archive/empty.warc.gz", "");
    let mut member = String::new();
    MultiGzDecoder::new(good.as_slice())
        .read_to_string(&mut member)
        .unwrap();
    let mut gzip = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, member.as_bytes()).unwrap();
    sandbox.write("archive/shared.warc.gz", gzip.finish().unwrap());
    sandbox.urldb("archive index");
    let ran = sandbox.exits(1, "archive export --wacz all.wacz");
    assert_has(
        &ran.err,
        "a.arc is left out: players read WARC from 0.17 on, and this is ARC",
    );
    assert_has(
        &ran.err,
        "shared.warc.gz is left out: its records share gzip members",
    );
    assert_has(&ran.err, "damaged, and so left out");
    let package = Package::in_sandbox(&sandbox, "all.wacz");
    let files: Vec<&str> = package
        .names()
        .into_iter()
        .filter(|name| name.starts_with("archive/"))
        .collect();
    assert_eq!(
        files,
        [
            "archive/GOOD.warc.gz",
            "archive/controls.warc",
            "archive/evil__name_.warc.gz",
            "archive/good-2.warc.gz"
        ]
    );
    assert!(package.lines().len() >= 5);
    let pages = package.text("pages/pages.jsonl");
    assert!(
        pages.contains(r"\u001b[31m") && !pages.contains('\u{1b}'),
        "{pages}"
    );
}

#[test]
fn an_index_that_is_wrong_is_not_exported() {
    let sandbox = archive();
    let other = sandbox.path("archive/first.warc.gz");
    let bytes = fs::read(&other).unwrap();
    // The first record is gone, so all others have moved.
    let mut reader = Reader::new(bytes.as_slice()).unwrap();
    let first = reader.next_record().unwrap().unwrap().finish().unwrap();
    let rest = usize::try_from(first.length).unwrap();
    fs::write(&other, &bytes[rest..]).unwrap();
    sandbox
        .exits(
            2,
            "archive export --wacz one.wacz http://example.test/table.csv",
        )
        .complains(&[
            "1 captures are not where the index says",
            "there is nothing to export",
        ]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_selection_can_be_replayed(
        captures in prop::collection::vec((0u8..5, 0u8..3, prop::option::of(0usize..9), any::<bool>()), 1..16),
        chosen in 0u8..5,
    ) {
        let sandbox = Sandbox::new("");
        let urls: Vec<String> = (0..5).map(|n| format!("http://example.test/{n}")).collect();
        let mut shelves = [Shelf::new(&sandbox, "a.warc.gz"), Shelf::new(&sandbox, "b.warc.gz")];
        let mut originals = vec![];
        let mut has_chosen = false;
        for (second, (url, body, of, in_second)) in captures.into_iter().enumerate() {
            let date = format!("2026-01-01T00:00:{second:02}Z");
            let shelf = &mut shelves[usize::from(in_second)];
            has_chosen |= url == chosen;
            let url = &urls[usize::from(url)];
            if let Some(original) = of.and_then(|of| originals.get(of)) {
                shelf.revisit(&date, url, original);
            } else {
                let body = format!("body {body}");
                let original = shelf.capture(&date, &text(url, &body));
                shelf.request(&date, url, &original);
                originals.push(original);
            }
        }
        for shelf in shelves {
            shelf.finish();
        }
        let url = &urls[usize::from(chosen)];
        let ran = sandbox.urldb(&["archive", "export", "--wacz", "one.wacz", url]);
        prop_assert_eq!(ran.code, if has_chosen { 0 } else { 2 }, "{:?}", ran);
        if has_chosen {
            let package = Package::in_sandbox(&sandbox, "one.wacz");
            prop_assert!(package.urls().contains(url));
        }
    }
}
