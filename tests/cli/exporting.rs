//! The database as lists, and searching it.

use std::path::Path;

use crate::sandbox::Sandbox;
use crate::site::FILE;

/// A catalogue of a few sites.
const CATALOGUE: &str = "\
URI: http://example.test/z\r\nNAME: Zebra\r\nID: 10\r\nDATE: 01/01/2007 00:00:00\r\nCATEGORY: Animals\r\nDESCRIPTION: striped\r\nRATING: 2\r\nLANGUAGE: en-gb\r\nTYPE: text/html\r\n\r\n\
URI: http://example.test/a\r\nNAME: mammoth\r\nID: 9\r\nDATE: 01/01/2009 00:00:00\r\nCATEGORY: Animals\r\nDESCRIPTION: gone\r\nRATING: 5\r\nLANGUAGE: en\r\nTYPE: image/png\r\n\r\n\
URI: http://example.test/m\r\nNAME: Mars\r\nDATE: 01/01/2008 00:00:00\r\nCATEGORY: Planets\r\nDESCRIPTION: red, no zebra\r\nTYPE: text/plain\r\nX-Moons: 2\r\n";

fn catalogue() -> Sandbox {
    let sandbox = Sandbox::new("");
    sandbox.write("c.uric", CATALOGUE);
    sandbox.ok("import ssd3 c.uric");
    sandbox
}

#[test]
fn a_catalogue_comes_back_in_its_own_order() {
    let sandbox = catalogue();
    assert_eq!(sandbox.ok("export ssd3").out, CATALOGUE);
    // What was added since comes after it, with its file's date.
    sandbox.ok("add --no-fetch http://example.test/0");
    let out = sandbox.ok("export ssd3").out;
    let added = out.strip_prefix(CATALOGUE).unwrap();
    assert!(
        added
            .starts_with("\r\nURI: http://example.test/0\r\nNAME: http://example.test/0\r\nDATE: "),
        "{added}"
    );
    assert!(
        added.ends_with("X-DB-Synthesized: NAME, DATE, POSITION\r\n"),
        "{added}"
    );
}

#[test]
fn what_a_uri_says_is_not_said_again() {
    let record = |uri: &str| {
        format!("URI: {uri}\r\nNAME: a name\r\nDATE: 01/01/2007 00:00:00\r\nDESCRIPTION: x\r\n")
    };
    for uris in [
        &["https://example.test/a", "http://example.test/b"][..],
        &[
            "http://example.test/a",
            "https://example.test/b",
            "http://example.test/c",
        ],
        &[
            "https://example.test/a",
            "https://example.test/b",
            "http://example.test/c",
        ],
        &[
            "HTTP://Example.test:80/a",
            "https://example.test/b",
            "http://other.test/",
        ],
        &[
            "https://example.test/",
            "ftp://example.test/",
            "http://example.test/c",
        ],
    ] {
        let catalogue = uris
            .iter()
            .map(|uri| record(uri))
            .collect::<Vec<_>>()
            .join("\r\n");
        let sandbox = Sandbox::new("");
        sandbox.write("c.uric", &catalogue);
        sandbox.ok("import ssd3 c.uric");
        assert_eq!(sandbox.ok("export ssd3").out, catalogue);
        sandbox.ok("import ssd3 c.uric");
        assert_eq!(sandbox.ok("export ssd3").out, catalogue);
    }
}

#[test]
fn schemes_of_domain_and_record_come_back() {
    for metadata in [
        "",
        "https: true\n",
        "http: false\nhttps: true\n",
        "cnames:\n- www.example.test\n",
    ] {
        let path = |path: &str, schemes: &str| format!("---\n_path: {path}\n{schemes}");
        let records = match metadata {
            "https: true\n" => [
                path("/a", "schemes:\n- http\n"),
                path("/b", "schemes:\n- https\n"),
                path("/c", ""),
            ],
            "http: false\nhttps: true\n" => [
                path("/a", "schemes:\n- http\n"),
                path("/b", "schemes:\n- http\n"),
                path("/c", "schemes:\n- http\n- https\n"),
            ],
            _ => [
                path("/a", "schemes:\n- https\n"),
                path("/b", "schemes:\n- http\n- https\n"),
                path("/c", ""),
            ],
        };
        let text = format!("---\n{metadata}{}", records.concat());
        let sandbox = Sandbox::new("");
        sandbox.write(FILE, &text);
        for format in ["ssd3", "jsonl", "table"] {
            let list = sandbox.ok(&["export", format]).out;
            let other = Sandbox::new("");
            other.write("list", list);
            other.ok(&["import", format, "list"]);
            other.assert_file(FILE, &text);
        }
    }
}

#[test]
fn a_date_that_is_missing_is_that_of_the_last_commit() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, "---\n---\n_path: /\n");
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=A",
            "-c",
            "user.email=a@example.test",
            "commit",
            "-qm",
            "x",
        ],
    ] {
        let mut git = sandbox.command("git");
        git.args(arguments)
            .env("GIT_COMMITTER_DATE", "1193857414 +0100")
            .env("GIT_AUTHOR_DATE", "1193857414 +0100");
        assert!(git.status().unwrap().success());
    }
    sandbox
        .ok("export ssd3")
        .says("DATE: 31/10/2007 19:03:34\r\n");
}

#[test]
fn records_are_searched_as_the_specification_allows() {
    let sandbox = catalogue();
    let list = |arguments: &[&str]| {
        let arguments: Vec<&str> = ["list"].iter().chain(arguments).copied().collect();
        let out = sandbox.ok(&arguments).out;
        out.lines()
            .map(|line| line.trim_start_matches("http://example.test").to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(list(&["--search", "ZEBRA"]), ["/m", "/z"]);
    assert_eq!(list(&["--search", "zebra animals"]), ["/z"]);
    assert_eq!(list(&["--search", "example.test"]), Vec::<String>::new());
    assert_eq!(list(&["--language", "EN"]), ["/a", "/z"]);
    assert_eq!(list(&["--language", "en-gb"]), ["/z"]);
    assert_eq!(list(&["--type", "text/*"]), ["/m", "/z"]);
    assert_eq!(list(&["--type", "image/PNG"]), ["/a"]);
    assert_eq!(list(&["--rating", "3.."]), ["/a"]);
    assert_eq!(list(&["--rating", "2"]), ["/z"]);
    assert_eq!(list(&["--sort", "name"]), ["/a", "/m", "/z"]);
    assert_eq!(list(&["--sort", "date"]), ["/z", "/m", "/a"]);
    assert_eq!(list(&["--sort", "rating"]), ["/a", "/z", "/m"]);
    assert_eq!(list(&["--sort", "id"]), ["/a", "/z", "/m"]);
    assert_eq!(
        list(&["--group", "category", "--sort", "date"]),
        ["# Animals", "/z", "/a", "# Planets", "/m"]
    );
    assert_eq!(
        list(&["--group", "rating"]),
        ["# 2", "/z", "# 5", "/a", "# none", "/m"]
    );
    let json = sandbox
        .ok("list --group category --search red --format jsonl")
        .json();
    assert_eq!(
        (&json["group"], &json["name"]),
        (&"Planets".into(), &"Mars".into())
    );
}

#[test]
fn what_the_specification_forbids_is_refused() {
    let sandbox = catalogue();
    for arguments in [
        "--sort uri",
        "--sort description",
        "--sort language",
        "--group url",
        "--group id",
    ] {
        let ran = sandbox.exits(2, &format!("list {arguments}"));
        ran.complains("possible values: ");
    }
    let rating = sandbox.exits(2, "list --rating 0..");
    rating.complains("a RATING is an integer from 1 to 5 (SSD3 3.6): write 3, 3.., ..2 or 2..4");
}

#[test]
fn a_sitemap_has_fifty_thousand_urls_at_most() {
    let sandbox = Sandbox::new("");
    let numbers = 10_000..60_001;
    let records: Vec<String> = numbers.map(|n| format!("---\n_path: /{n}\n")).collect();
    sandbox.write(FILE, format!("---\n{}", records.concat()));
    sandbox
        .exits(2, "export sitemap")
        .complains("50,000 URLs at most");
    let few = sandbox.ok("export sitemap --path-prefix /2").out;
    assert_eq!(few.matches("<loc>").count(), 10_000);
}

/// A domain file without keys that begin like this, and their lists.
fn without(text: &str, keys: &[&str]) -> String {
    let mut is_dropped = false;
    let lines = text.lines().filter(|line| {
        if !line.starts_with("- ") {
            is_dropped = keys.iter().any(|key| line.starts_with(key));
        }
        !is_dropped
    });
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn urls(text: &str) -> String {
    without(
        text,
        &[
            "case-sensitive-paths",
            "cnames",
            "http:",
            "https: false",
            "categories",
            "content-",
        ],
    )
}

/// The records with a digest, with their lengths or without.
fn digests(text: &str, lengths: bool) -> Vec<String> {
    let dropped = if lengths {
        &["categories", "content-type"][..]
    } else {
        &["categories", "content-type", "content-length"]
    };
    let text = without(text, dropped);
    let records = text
        .split("---\n")
        .skip(2)
        .filter(|record| record.contains("content-sha256"));
    records.map(str::to_owned).collect()
}

#[test]
fn the_real_database_goes_through_each_format_as_far_as_it_can() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data/wwt-url-database");
    if !folder.exists() {
        eprintln!("skipped: {} is not here", folder.display());
        return;
    }
    let original = Sandbox::new("");
    let database = urldb_format::Database::open(&folder).unwrap();
    let name = |file: &Path| format!("urldb/{}", file.file_name().unwrap().to_str().unwrap());
    let names: Vec<String> = database.files().iter().map(|file| name(file)).collect();
    for (file, name) in database.files().iter().zip(&names) {
        original.write(name, std::fs::read(file).unwrap());
    }
    for format in ["ssd3", "jsonl", "table", "list", "sitemap", "sums", "cdxj"] {
        let copy = Sandbox::new("");
        let list = original.ok(&["export", format]).out;
        copy.write("list", &list);
        // Names begin with hosts, all of which are asked over http.
        copy.ok(&["import", format, "list", "--base", "http://"]);
        copy.ok("fmt --check");
        let mut records = 0;
        for name in &names {
            let there = original.read(name);
            let back = if copy.path(name).exists() {
                copy.read(name)
            } else {
                String::new()
            };
            records += back.matches("\n_path: ").count();
            match format {
                "list" => assert_eq!(back, urls(&there), "{format} {name}"),
                // A sitemap has one scheme for each page.
                "sitemap" => {
                    assert_eq!(back, without(&urls(&there), &["https:"]), "{format} {name}");
                }
                "cdxj" => assert_eq!(
                    digests(&back, true),
                    digests(&there, true),
                    "{format} {name}"
                ),
                "sums" => {
                    let there = digests(&there, false);
                    let stray = digests(&back, false)
                        .into_iter()
                        .find(|record| !there.contains(record));
                    assert_eq!(stray, None, "{format} {name}");
                }
                _ => assert_eq!(back, there, "{format} {name}"),
            }
        }
        let expected = match format {
            "cdxj" => 348,
            // Those with a query are no files.
            "sums" => list.lines().count(),
            _ => 537,
        };
        assert_eq!(records, expected, "{format}");
        assert!(records > 50, "{format}: {records}");
    }
}

/// A list has each URL that runs request, as `urldb list` has.
#[test]
fn a_list_has_both_schemes_of_a_domain() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, "---\nhttps: true\n---\n_path: /a\n---\n_path: /b\n");
    let list = sandbox.ok("export list").out;
    assert_eq!(
        list,
        "http://example.test/a\nhttps://example.test/a\n\
         http://example.test/b\nhttps://example.test/b\n"
    );
    assert_eq!(sandbox.ok("list").out, list);
    // What is imported again asks the same URLs.
    let copy = Sandbox::new("");
    copy.write("list", list.as_str());
    copy.ok("import list list");
    copy.assert_file(FILE, &sandbox.read(FILE));
}

#[test]
fn digests_go_out_as_sums_of_each_algorithm() {
    let sandbox = Sandbox::new("");
    let sha256 = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let md5 = "b1946ac92492d2347c6235b4d2611184";
    sandbox.write(
        "urldb/a.test.yaml",
        format!(
            "---\nhttps: true\n---\n_path: /\n---\n_path: /d/a%20b.txt\ncontent-md5: {md5}\ncontent-sha256: {sha256}\nschemes:\n- https\n---\n_path: /other\ncontent-md5: {md5}\nschemes:\n- https\n"
        ),
    );
    sandbox.write(
        "urldb/b.test.yaml",
        format!("---\n---\n_path: /a%20b.txt?x&y\ncontent-length: 6\ncontent-sha256: {sha256}\n"),
    );
    let sums = sandbox
        .ok("export sums --algorithm md5 --base https://a.test/")
        .complains("2 records left out");
    assert_eq!(sums.out, format!("{md5}  d/a b.txt\n{md5}  other\n"));
    sandbox
        .exits(2, "export sums --algorithm crc")
        .complains("write md5, sha1, sha256, sha384 or sha512");
}
