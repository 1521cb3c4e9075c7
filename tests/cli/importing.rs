//! Lists of URLs into the database.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::sandbox::{Sandbox, assert_has, eventually};
use crate::site::{FILE, Site, promise, sha256};
use crate::support::Reply;

fn sandbox_with(name: &str, text: &str) -> Sandbox {
    let sandbox = Sandbox::new("");
    sandbox.write(name, text);
    sandbox
}

#[test]
fn a_list_is_added_to_what_is_there_and_the_result_is_canonical() {
    let list = "http://example.test/b\nhttp://example.test/a\nhttps://secure.test/x\nhttp://example.test/b#again\n";
    let sandbox = sandbox_with("urls.txt", list);
    sandbox.write(FILE, "---\n---\n# mine\n_path: /b\nname: B\n");
    sandbox.ok("import list urls.txt -c new").says(&[
        "urldb/example.test.yaml: 1 added, 1 merged\n",
        "2 added, 1 merged\n",
    ]);
    sandbox.assert_file(FILE, "---\n---\n_path: /a\ncategories:\n- new\n---\n# mine\n_path: /b\ncategories:\n- new\nname: B\n");
    sandbox.assert_file(
        "urldb/secure.test.yaml",
        "---\nhttp: false\nhttps: true\n---\n_path: /x\ncategories:\n- new\n",
    );
    sandbox.ok("fmt --check");
    let before = sandbox.tree("urldb");
    sandbox.ok("import list urls.txt").says("3 known\n");
    assert_eq!(sandbox.tree("urldb"), before);
}

#[test]
fn each_url_is_asked_over_the_schemes_of_the_list() {
    let sandbox = sandbox_with(
        "urls.txt",
        "http://example.test/b\nhttps://example.test/a\n",
    );
    sandbox.ok("import list urls.txt");
    let https = "---\nhttp: false\nhttps: true\n---\n_path: /a\n---\n_path: /b\nschemes:\n- http\n";
    sandbox.assert_file(FILE, https);
    sandbox.ok("import list urls.txt").says("2 known\n");
    sandbox.assert_file(FILE, https);
    sandbox.write(FILE, "---\n---\n_path: /a\n");
    sandbox.ok("import list urls.txt").says("1 added, 1 merged");
    let both = "---\n---\n_path: /a\nschemes:\n- http\n- https\n---\n_path: /b\n";
    sandbox.assert_file(FILE, both);
    sandbox.ok("lint");
    let all = "http://example.test/a\nhttps://example.test/a\nhttp://example.test/b\n";
    assert_eq!(sandbox.ok("list").out, all);
}

#[test]
fn a_cname_goes_into_the_file_of_its_domain() {
    let sandbox = sandbox_with(
        "urls.txt",
        "http://www.example.test/b\nhttp://example.test/a\n",
    );
    sandbox.write(FILE, "---\ncnames:\n- www.example.test\n");
    sandbox.ok("import list urls.txt");
    sandbox.assert_file(
        FILE,
        "---\ncnames:\n- www.example.test\n---\n_path: /a\n---\n_path: /b\n",
    );
}

#[test]
fn one_refusal_keeps_everything_out_unless_told_otherwise() {
    let sandbox = sandbox_with(
        "urls.txt",
        "http://example.test/a\nftp://example.test/b\nhttp://u:secret@example.test/\n",
    );
    let before = sandbox.tree("");
    let ran = sandbox.exits(1, "import list urls.txt").complains(&[
        "refused: urls.txt:2: ",
        "(scheme)",
        "urls.txt:3: ",
        "(userinfo)",
        "--keep-going imports the rest",
    ]);
    assert!(!ran.err.contains("secret") && ran.out.is_empty(), "{ran:?}");
    assert_eq!(sandbox.tree(""), before);
    sandbox
        .exits(1, "import list urls.txt --keep-going")
        .says("1 added, 2 refused");
    sandbox.assert_file(FILE, "---\n---\n_path: /a\n");
}

#[test]
fn a_dry_run_says_all_and_writes_nothing() {
    let digest = sha256("x");
    let sandbox = sandbox_with("sums", &format!("{digest}  a\n{digest}  b\n{digest}  c\n"));
    sandbox.write(
        FILE,
        format!(
            "---\n---\n_path: /a\n{}---\n_path: /c\ncontent-sha256: {}\n",
            promise("/b", "x"),
            sha256("y")
        ),
    );
    let before = sandbox.tree("");
    sandbox
        .exits(
            1,
            "import sums sums --base http://example.test --dry-run --verbose",
        )
        .says(&[
            "merged http://example.test/a\n",
            "known http://example.test/b\n",
            "a dry run",
            "1 merged, 1 known, 1 refused",
        ])
        .complains("refused: sums:3: http://example.test/c is promised otherwise in urldb/example.test.yaml:9: `content-sha256` differs (contradiction)");
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn lists_contradict_themselves_too() {
    let sandbox = sandbox_with(
        "a.csv",
        "url,size,name\nhttp://example.test/,1,A\nhttp://example.test/,2,A\n",
    );
    sandbox
        .exits(1, "import table a.csv")
        .complains("refused: a.csv:3: http://example.test/ is promised otherwise in a.csv:2: `content-length` differs");
    // Either line may be right, so none is imported.
    sandbox.exits(1, "import table a.csv --keep-going");
    assert!(!sandbox.path(FILE).exists());
    sandbox.write(
        "a.csv",
        "url,size,name\nhttp://example.test/,1,A\nhttp://example.test/,,B\n",
    );
    sandbox
        .ok("import table a.csv")
        .complains("left out: a.csv:3: http://example.test/ is listed in a.csv:2 already; what differs was left out");
}

#[test]
fn every_digest_is_added_where_it_is_missing_and_compared_where_it_is_not() {
    let sandbox = Sandbox::new("");
    let lines = [("a", "1"), ("b", "2"), ("c", "3")];
    let lines = lines.map(|(name, digit)| format!("{}  {name}\n", digit.repeat(128)));
    sandbox.write("SHA512SUMS", lines.concat());
    let record = |path: &str, digit: &str| {
        let digest = digit.repeat(128);
        format!("---\n_path: {path}\ncontent-sha512: '{digest}'\n")
    };
    let known = format!("---\n---\n_path: /a\n{}", record("/b", "9"));
    sandbox.write(FILE, &known);
    let import = "import sums SHA512SUMS --base http://example.test/";
    sandbox.exits(1, import).complains(
        "SHA512SUMS:2: http://example.test/b is promised otherwise in urldb/example.test.yaml:5: `content-sha512` differs",
    );
    sandbox.assert_file(FILE, &known);
    sandbox
        .exits(1, &format!("{import} --keep-going"))
        .says("1 added, 1 merged, 1 refused");
    let all = [("/a", "1"), ("/b", "9"), ("/c", "3")];
    let all = all.map(|(path, digit)| record(path, digit)).concat();
    sandbox.assert_file(FILE, &format!("---\n{all}"));
}

#[test]
fn a_list_never_changes_what_is_asked() {
    let sandbox = sandbox_with(
        "a.jsonl",
        "{\"url\":\"http://example.test/a\",\"record\":{\"request-headers\":{\"Accept\":\"text/csv\"}}}\n",
    );
    let known = "---\n---\n_path: /a\n";
    sandbox.write(FILE, known);
    sandbox
        .exits(1, "import jsonl a.jsonl")
        .complains("urldb/example.test.yaml:3: `request-headers` differs");
    sandbox.assert_file(FILE, known);
}

#[test]
fn a_file_with_hidden_records_gets_no_others() {
    let sandbox = sandbox_with("urls.txt", "http://example.test/a\nhttp://a.test/\n");
    for (text, complaint) in [
        (
            "---\n---\n<<<<<<< ours\n_path: /a\n=======\n_path: /b\n>>>>>>> theirs\n",
            "urldb/example.test.yaml:3 has conflict markers: run `urldb resolve`",
        ),
        (
            "---\n---\n_path: /b\n_path: /a\n",
            "urldb/example.test.yaml:4: this key was already given on line 3; mend it first",
        ),
    ] {
        sandbox.write(FILE, text);
        sandbox
            .exits(2, "import list urls.txt")
            .complains(&["nothing was imported: ", complaint]);
        assert_eq!(sandbox.files("urldb", ""), [sandbox.path(FILE)]);
        sandbox.assert_file(FILE, text);
    }
}

#[test]
fn what_cannot_be_read_is_an_error_and_imports_nothing() {
    let sandbox = sandbox_with(
        "s.xml",
        "<urlset><url><loc>http://example.test/</loc></url><url>",
    );
    sandbox.write("c.uric", "URI: http://example.test/\r\nNAME: a\tb\r\n");
    let before = sandbox.tree("");
    for (arguments, complaint) in [
        (
            &["sitemap", "s.xml"][..],
            "nothing was imported: s.xml:1: the file ends before its elements do",
        ),
        (
            &["ssd3", "c.uric"],
            "c.uric:2: line 2 has the forbidden character 9",
        ),
        (&["sitemap", "-"], "cannot be read from standard input"),
        (&["sums", "s.xml"], "--base URL is needed"),
        (&["list", "absent"], "cannot read absent"),
        (&["list", "s.xml", "--max-urls", "x"], "invalid value"),
        (
            &["table", "s.xml", "--column", "color=Farbe"],
            "nothing that a column can hold",
        ),
        (&["bagit", "."], "SHA-256 manifest"),
    ] {
        let arguments: Vec<&str> = ["import"].iter().chain(arguments).copied().collect();
        sandbox.exits(2, &arguments).complains(complaint);
    }
    assert_eq!(sandbox.tree(""), before);
    sandbox
        .urldb_with_input(
            "import list - --max-urls 2",
            "http://a.test/1\nhttp://a.test/2\nhttp://a.test/3\n",
        )
        .code(2)
        .complains("there are more than 2 URLs; --max-urls takes more");
    assert_eq!(sandbox.tree(""), before);
}

#[test]
fn endless_refusals_are_not_all_shown() {
    let sandbox = Sandbox::new("");
    let ran = sandbox
        .urldb_with_input("import list -", &"nonsense\n".repeat(5000))
        .code(1);
    assert!(ran.err.lines().count() < 110, "{}", ran.err.len());
    assert_has(&ran.err, "5000 refusals");
}

#[test]
fn what_a_catalogue_discards_is_told_with_its_section() {
    let sandbox = sandbox_with(
        "c.uric",
        "URI: http://example.test/\r\nNAME: A\r\nDATE: 31/10/2007 19:03:34\r\nRATING: 9\r\n\r\nNAME: B\r\n\r\n\
         URI: ftp://a@example.test/\r\nNAME: C\r\nDATE: 31/10/2007 19:03:34\r\n",
    );
    sandbox.exits(1, "import ssd3 c.uric -k")
        .says("1 added, 2 left out, 1 refused")
        .complains(&["c.uric:4: the field is discarded: RATING must be an integer from 1 to 5 (invalid-field:value:RATING, section 3.6)",
            "c.uric:6: the record is discarded: it has no good URI (record-discarded, section 2.2)",
            "refused: c.uric:8: ", "section 3.1"]);
    sandbox.assert_file(
        FILE,
        "---\n---\n_path: /\ncatalogue:\n  date: 31/10/2007 19:03:34\n  position: '1'\nname: A\n",
    );
}

#[test]
fn an_import_of_which_every_url_is_left_out_exits_with_1() {
    let sandbox = sandbox_with(
        "c.uric",
        "NAME: B\r\nDATE: 31/10/2007 19:03:34\r\n\r\nNAME: C\r\n",
    );
    for option in ["--keep-going", "--dry-run", "--quiet"] {
        sandbox
            .exits(1, &["import", "ssd3", "c.uric", option])
            .complains(&["c.uric:1: the record is discarded", "record-discarded"]);
        assert!(!sandbox.path(FILE).exists());
    }
    // One record that is taken is enough.
    let good = "URI: http://example.test/\r\nNAME: A\r\nDATE: 31/10/2007 19:03:34\r\n";
    sandbox.write("d.uric", format!("NAME: B\r\n\r\n{good}"));
    sandbox.ok("import ssd3 d.uric").says("1 added, 1 left out");
}

#[test]
fn archives_of_urldb_itself_need_no_network() {
    let site = Site::with(&[("/a", "one"), ("/b", "two")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.ok("add --static http://example.test/a http://example.test/b");
    sandbox.ok("run");
    let promised = sandbox.read(FILE);
    drop(site);
    std::fs::remove_file(sandbox.path(FILE)).unwrap();
    let indexes = sandbox.files("archive/index", ".cdxj.gz");
    sandbox
        .ok(&["import", "cdxj", indexes[0].to_str().unwrap()])
        .says("2 added");
    sandbox.assert_file(FILE, &promised);
    let warcs = sandbox.files("archive", ".warc.gz");
    let warc = warcs[0].to_str().unwrap();
    sandbox.ok(&["import", "warc", warc]).says("2 known");
}

#[test]
fn the_latest_capture_counts() {
    let sandbox = Sandbox::new("");
    let line = |moment: &str, text: &str| {
        format!(
            "k {moment} {{\"url\": \"http://example.test/\", \"digest\": \"sha256:{}\"}}\n",
            sha256(text)
        )
    };
    let lines = [
        line("20260101000000", "a"),
        line("20260301000000", "c"),
        line("20260201000000", "b"),
    ];
    sandbox.write("i.cdxj", lines.concat());
    sandbox.ok("import cdxj i.cdxj");
    assert_has(&sandbox.read(FILE), &sha256("c"));
}

#[test]
fn bytes_are_promised_as_they_are_served_and_fetched_once() {
    let site = Site::with(&[("/a", "one"), ("/b", "two")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(
        "urls.txt",
        "http://example.test/a\nhttp://example.test/b\nhttp://example.test/gone\n",
    );
    sandbox
        .exits(1, "import list urls.txt --static")
        .says(&["3 added", "2 URLs of 3 promised"])
        .complains("http://example.test/gone has no digest: answers 404 Not Found");
    let expected = format!(
        "---\n{}{}---\n_path: /gone\n",
        promise("/a", "one"),
        promise("/b", "two")
    );
    sandbox.assert_file(FILE, &expected);
    site.serve("/a", Reply::ok("other"));
    site.serve("/gone", Reply::ok("back"));
    sandbox
        .ok("import list urls.txt --static")
        .says(&["3 known", "1 URL of 1 promised"]);
    sandbox.assert_file(
        FILE,
        &expected.replace("---\n_path: /gone\n", &promise("/gone", "back")),
    );
    sandbox.ok("fmt --check");
}

#[test]
fn an_interrupted_import_keeps_what_it_has_and_goes_on() {
    let site = Site::with(&[("/a", "one")]);
    site.serve(
        "/slow",
        Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal").hang(),
    );
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(
        "urls.txt",
        "http://example.test/a\nhttp://example.test/slow\n",
    );
    let mut running = sandbox.start("import list urls.txt --static");
    eventually("both are asked for", || {
        ["/slow", "/a"].iter().all(|path| {
            site.requests()
                .iter()
                .any(|request| request.target == *path)
        })
    });
    running.signal("-INT");
    assert_eq!(running.end().code(), Some(130));
    assert_eq!(sandbox.read(FILE).matches("_path").count(), 2);
    site.serve("/slow", Reply::ok("fast"));
    sandbox.ok("import list urls.txt --static");
    sandbox.assert_file(
        FILE,
        &format!("---\n{}{}", promise("/a", "one"), promise("/slow", "fast")),
    );
}

#[test]
fn a_file_that_cannot_be_written_leaves_all_as_they_were() {
    let sandbox = sandbox_with(
        "urls.txt",
        "http://a.test/\nhttp://example.test/\nhttp://z.test/\n",
    );
    // A file of that name cannot be made.
    std::fs::create_dir(sandbox.path(FILE)).unwrap();
    sandbox.exits(2, "import list urls.txt");
    assert_eq!(sandbox.files("urldb", ""), Vec::<std::path::PathBuf>::new());
}

#[test]
fn digests_that_are_exported_are_checked_by_others() {
    let sandbox = Sandbox::new("");
    for (name, text) in [("a b/x.txt", "one"), ("y\\z", "two")] {
        sandbox.write(&format!("www/{name}"), text);
    }
    sandbox.write(
        FILE,
        format!(
            "---\n{}{}---\n_path: /q?x\ncontent-sha256: {}\n",
            promise("/a%20b/x.txt", "one"),
            promise("/y%5Cz", "two"),
            sha256("q")
        ),
    );
    let ran = sandbox
        .ok("export sums --base http://example.test")
        .complains("1 record left out");
    let mut sums = Command::new("sha256sum")
        .args(["-c", "-"])
        .current_dir(sandbox.path("www"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    sums.stdin
        .take()
        .unwrap()
        .write_all(ran.out.as_bytes())
        .unwrap();
    let done = sums.wait_with_output().unwrap();
    assert!(done.status.success(), "{ran:?} {done:?}");
    assert_eq!(ran.out.lines().count(), 2);
}
