//! What the archive lists, gives and compares.

use std::fs;

use data_encoding::HEXLOWER;
use insta::assert_snapshot;
use sha2::{Digest, Sha256};

use crate::sandbox::{Sandbox, assert_has};
use crate::shelf::{Shelf, Told, text};

pub(crate) const DATA: &str = "http://example.test/data.csv";

/// Data that changed in March, a revisit of it, and other things that may happen to a URL.
pub(crate) fn archive() -> Sandbox {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    let old = shelf.capture("2026-01-02T03:04:05Z", &text(DATA, "a,b\n1,2\n3,4\n"));
    shelf.revisit("2026-02-02T03:04:05Z", DATA, &old);
    shelf.capture(
        "2026-01-02T03:04:06Z",
        &text("https://example.test/data.csv", "secure"),
    );
    shelf.capture(
        "2026-01-05T00:00:00Z",
        &Told {
            url: "http://example.test/moved",
            head: "301 Moved\r\nLocation: /data.csv#part",
            body: b"",
        },
    );
    shelf.finish();
    let mut shelf = Shelf::new(&sandbox, "second.warc.gz");
    shelf.capture("2026-03-02T03:04:05Z", &text(DATA, "a,b\n1,2\n3,5\n"));
    shelf.half("2026-03-03T00:00:00Z", &text(DATA, "a,b"));
    let gone = Told {
        url: DATA,
        head: "404 Not Found",
        body: b"nothing here",
    };
    shelf.capture("2026-03-04T00:00:00Z", &gone);
    shelf.finish();
    sandbox
}

#[test]
fn all_urls_are_listed() {
    let sandbox = archive();
    assert_snapshot!(sandbox.ok("archive list").out, @r"
    http://example.test/data.csv
      5 captures, 4 contents, 2026-01-02T03:04:05Z to 2026-03-04T00:00:00Z
    https://example.test/data.csv
      1 capture, 1 content, 2026-01-02T03:04:06Z
    http://example.test/moved
      1 capture, 1 content, 2026-01-05T00:00:00Z
    ");
    let ran = sandbox.ok("archive list --format jsonl");
    assert_snapshot!(ran.out.lines().next().unwrap(), @r#"{"url":"http://example.test/data.csv","captures":5,"contents":4,"first":"2026-01-02T03:04:05Z","last":"2026-03-04T00:00:00Z"}"#);
}

#[test]
fn all_captures_of_a_url_are_listed() {
    let sandbox = archive();
    let ran = sandbox.ok(&["archive", "list", DATA]);
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r" +\d+  (first|second)", "  [bytes]  $1");
    settings.add_filter(r"gz:\d+", "gz:[offset]");
    settings.bind(|| {
        assert_snapshot!(ran.out, @r"
        http://example.test/data.csv
          2026-01-02T03:04:05Z  200  response  b94851485464  [bytes]  first.warc.gz:[offset]
          2026-02-02T03:04:05Z  200  revisit   b94851485464  [bytes]  first.warc.gz:[offset]
          2026-03-02T03:04:05Z  200  response  9b0bc5e9980d  [bytes]  second.warc.gz:[offset]
          2026-03-03T00:00:00Z  200  response  1eb7c54d5283  [bytes]  second.warc.gz:[offset]  truncated: disconnect
          2026-03-04T00:00:00Z  404  response  76c475039816  [bytes]  second.warc.gz:[offset]
        ");
    });
    let ran = sandbox.ok(&["archive", "list", DATA, "--format", "jsonl"]);
    let lines: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[1]["type"], "revisit");
    assert_eq!(lines[1]["status"], 200);
    assert_eq!(lines[0]["digest"], lines[1]["digest"]);
    assert_eq!(lines[0]["media_type"], "text/plain");
}

#[test]
fn the_last_good_bytes_are_taken() {
    let sandbox = archive();
    let get = |arguments: &[&str]| sandbox.urldb(&[&["archive", "get", DATA], arguments].concat());
    let ran = get(&[]).code(0);
    assert_eq!(ran.out, "a,b\n1,2\n3,5\n");
    ran.complains("passed over 2 later captures, up to 2026-03-04T00:00:00Z (status 404)");
    assert_eq!(get(&["--any"]).code(0).out, "nothing here");
    assert_eq!(get(&["--any", "--at", "2026-03-03"]).code(0).out, "a,b");
}

#[test]
fn get_at_a_date_takes_the_last_capture_until_its_end() {
    let sandbox = archive();
    let get = |at| sandbox.urldb(&["archive", "get", DATA, "--at", at]);
    let (old, new) = ("a,b\n1,2\n3,4\n", "a,b\n1,2\n3,5\n");
    assert_eq!(get("2026-01-02T03:04:05Z").code(0).out, old);
    // A revisit has the bytes of what it refers to.
    assert_eq!(get("2026-02").code(0).out, old);
    assert_eq!(get("20260302").code(0).out, new);
    assert_eq!(get("2026-03-02T03:04:04Z").code(0).out, old);
    get("2025")
        .code(2)
        .complains("was not captured by 2025; the first capture is of 2026-01-02T03:04:05Z");
    // January has to be 01: 2026-1-1 is not 2026-11.
    for text in [
        "yesterday",
        "2026-1-1",
        "2026-02-30",
        "2026-03-02T03:04:05+01:00",
    ] {
        get(text)
            .code(2)
            .complains("is not a date in UTC, such as 2026-11");
    }
}

#[test]
fn get_by_digest_takes_these_bytes_whatever_came_later() {
    let sandbox = archive();
    let get = |url: &str, digits: &str| sandbox.urldb(&["archive", "get", url, "--sha256", digits]);
    let digits = |bytes: &str| HEXLOWER.encode(&Sha256::digest(bytes));
    let (old, page) = ("a,b\n1,2\n3,4\n", "nothing here");
    let ran = get(DATA, &digits(old)[..12]).code(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), (old, ""));
    let whole = format!("sha256:{}", digits(old));
    assert_eq!(get(DATA, &whole).code(0).out, old);
    // An error page can be what a record promises.
    assert_eq!(get(DATA, &digits(page)[..8]).code(0).out, page);
    let moved = "http://example.test/moved";
    let ran = get(moved, &digits(old)[..12]).code(0);
    assert_eq!(ran.out, old);
    ran.complains("these are the bytes of http://example.test/data.csv");
    for url in [DATA, moved] {
        get(url, "0123456789ab").code(2).complains(
            "the archive has no bytes of http://example.test/data.csv with SHA-256 0123456789ab; \
             `urldb archive list http://example.test/data.csv` shows what it has",
        );
    }
    for text in ["0123456", "sha1:0123456789", "m51"] {
        get(DATA, text)
            .code(2)
            .complains("is no SHA-256: give 8 to 64 hexadecimal digits");
    }
}

#[test]
fn a_redirect_is_followed_to_what_it_led_to() {
    let sandbox = archive();
    let moved = "http://example.test/moved";
    let ran = sandbox.ok(&["archive", "get", moved]);
    assert_eq!(ran.out, "a,b\n1,2\n3,5\n");
    ran.complains("these are the bytes of http://example.test/data.csv");
    let early = sandbox.urldb(&["archive", "get", moved, "--at", "2026-01-05"]);
    assert_eq!(early.code(0).out, "a,b\n1,2\n3,4\n");
    assert_eq!(sandbox.ok(&["archive", "get", moved, "--any"]).out, "");
}

#[test]
fn a_file_is_written_whole_or_not_at_all() {
    let sandbox = archive();
    let mut shelf = Shelf::new(&sandbox, "third.warc.gz");
    shelf.wrong(
        "2026-05-01T00:00:00Z",
        &text("http://example.test/wrong", "not these"),
    );
    shelf.finish();
    sandbox.write("out", "before");
    let wrong = "http://example.test/wrong";
    sandbox
        .exits(2, &["archive", "get", wrong, "-o", "out"])
        .complains(&["out was not written", "the payload has the digest sha256:"]);
    sandbox.assert_file("out", "before");
    assert_eq!(sandbox.exits(2, &["archive", "get", wrong]).out, "");
    sandbox.ok(&["archive", "get", DATA, "-o", "out"]).says(&[
        "wrote out: 12 bytes with sha256:",
        "of 2026-03-02T03:04:05Z",
    ]);
    sandbox.assert_file("out", "a,b\n1,2\n3,5\n");
    let names: Vec<_> = fs::read_dir(&sandbox.root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert!(
        !names
            .iter()
            .any(|name| name.to_string_lossy().contains("tmp")),
        "{names:?}"
    );
}

#[test]
fn archive_get_reports_damage_and_writes_nothing() {
    let sandbox = archive();
    let file = sandbox.path("archive/second.warc.gz");
    let mut bytes = fs::read(&file).unwrap();
    // The trailer of the second member: its checksum is wrong then.
    let line = sandbox.index();
    let line = line
        .lines()
        .find(|line| line.contains("20260302030405"))
        .unwrap();
    let line = urldb_warc::CdxjLine::parse(line).unwrap();
    let end = usize::try_from(line.extent.offset + line.extent.length).unwrap();
    bytes[end - 8] ^= 1;
    fs::write(&file, bytes).unwrap();
    let ran = sandbox.exits(2, &["archive", "get", DATA, "--at", "2026-03-02"]);
    assert_eq!(ran.out, "");
    ran.complains(&["second.warc.gz", "does not have the checksum"]);
    fs::remove_file(sandbox.path("archive/first.warc.gz")).unwrap();
    sandbox
        .exits(2, &["archive", "get", DATA, "--at", "2026-02"])
        .complains(&[
            "the index has a capture in ",
            "first.warc.gz, which is not there: put",
        ]);
}

#[test]
fn a_revisit_without_its_original_gives_nothing() {
    let sandbox = Sandbox::new("");
    let mut other = Shelf::new(&sandbox, "lost.warc.gz");
    let original = other.capture("2026-01-01T00:00:00Z", &text(DATA, "lost"));
    fs::remove_file(other.finish()).unwrap();
    sandbox.remove_index();
    let mut shelf = Shelf::new(&sandbox, "kept.warc.gz");
    shelf.revisit("2026-02-01T00:00:00Z", DATA, &original);
    shelf.finish();
    sandbox.exits(2, &["archive", "get", DATA]).complains(&[
        "the capture of 2026-02-01T00:00:00Z has its bytes in that of",
        "of 2026-01-01T00:00:00Z, which is not in this archive",
    ]);
}

#[test]
fn an_index_leads_to_no_other_folder() {
    let sandbox = archive();
    let index = sandbox.index().replace("first.warc.gz", "../first.warc.gz");
    sandbox.write_index(index);
    sandbox
        .exits(2, &["archive", "get", DATA, "--at", "2026-01"])
        .complains("../first.warc.gz is no path in the archive");
}

#[test]
fn texts_are_compared_line_by_line() {
    let sandbox = archive();
    let ran = sandbox.exits(1, &["archive", "diff", DATA]);
    assert_snapshot!(ran.out, @r"
    --- http://example.test/data.csv of 2026-02-02T03:04:05Z
    +++ http://example.test/data.csv of 2026-03-02T03:04:05Z
    @@ -1,3 +1,3 @@
     a,b
     1,2
    -3,4
    +3,5
    ");
    let diff = |one, other| sandbox.urldb(&["archive", "diff", DATA, "--at", one, "--at", other]);
    diff("2026-01", "2026-02")
        .code(0)
        .says("the same bytes at 2026-01-02T03:04:05Z and 2026-02-02");
    diff("2026-03", "2026-01").code(1).says(&["-3,5", "+3,4"]);
    sandbox
        .exits(1, &["archive", "diff", DATA, "--at", "2026-01"])
        .says(&["-3,4", "+3,5"]);
    diff("2026-02", "2026-02-03")
        .code(0)
        .says("both are the capture of http://example.test/data.csv of 2026-02-02");
    let secure = "https://example.test/data.csv";
    sandbox
        .ok(&["archive", "diff", secure])
        .says("never changed");
}

#[test]
fn bytes_are_compared_around_the_first_difference() {
    let sandbox = Sandbox::new("");
    let url = "http://example.test/blob";
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    let mut body: Vec<u8> = (0..=255).collect();
    for date in ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"] {
        let told = Told {
            url,
            head: "200 OK",
            body: &body,
        };
        shelf.capture(date, &told);
        body[100] = 0xff;
        body.extend(b"more");
    }
    shelf.finish();
    let ran = sandbox.exits(1, &["archive", "diff", url]);
    assert_snapshot!(ran.out, @r"
    - http://example.test/blob of 2026-01-01T00:00:00Z: 256 bytes
    + http://example.test/blob of 2026-01-02T00:00:00Z: 260 bytes
    the first difference is at byte 100
      00000050  50 51 52 53 54 55 56 57 58 59 5a 5b 5c 5d 5e 5f  PQRSTUVWXYZ[\]^_
    - 00000060  60 61 62 63 64 65 66 67 68 69 6a 6b 6c 6d 6e 6f  `abcdefghijklmno
    + 00000060  60 61 62 63 ff 65 66 67 68 69 6a 6b 6c 6d 6e 6f  `abc.efghijklmno
      00000070  70 71 72 73 74 75 76 77 78 79 7a 7b 7c 7d 7e 7f  pqrstuvwxyz{|}~.
      00000080  80 81 82 83 84 85 86 87 88 89 8a 8b 8c 8d 8e 8f  ................
    ");
}

#[test]
fn long_texts_are_compared_as_bytes() {
    let lines = "\n".repeat(500_001);
    let line = "x".repeat((8 << 20) + 1);
    for text in [&lines, &line] {
        let sandbox = Sandbox::new("");
        let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
        shelf.capture("2026-01-01T00:00:00Z", &self::text(DATA, text));
        let longer = format!("{text}y");
        shelf.capture("2026-01-02T00:00:00Z", &self::text(DATA, &longer));
        shelf.finish();
        let ran = sandbox.exits(1, &["archive", "diff", DATA]);
        let first = format!("the first difference is at byte {}\n", text.len());
        ran.says(&[&first, "only texts of up to 8 MiB and 500000 lines are"]);
    }
}

#[test]
fn archive_diff_prints_no_control_characters_and_cuts_long_lines() {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    shelf.capture("2026-01-01T00:00:00Z", &text(DATA, "one\n"));
    let long = format!("\u{1b}]0;title\u{7}\ttwo\n{}\n", "x".repeat(5000));
    shelf.capture("2026-01-02T00:00:00Z", &text(DATA, &long));
    shelf.finish();
    let ran = sandbox.exits(1, &["archive", "diff", DATA]);
    assert!(!ran.out.contains(['\u{1b}', '\u{7}']), "{ran:?}");
    assert_has(&ran.out, "+\u{fffd}]0;title\u{fffd}\ttwo");
    assert!(ran.out.lines().all(|line| line.len() < 1100));
}

/// The clock went back between two captures, and a revisit is older than its original: what counts are
/// the dates that the records have.
#[test]
fn captures_need_not_stand_in_the_order_of_their_dates() {
    let sandbox = Sandbox::new("");
    let mut shelf = Shelf::new(&sandbox, "first.warc.gz");
    let original = shelf.capture("2026-03-01T00:00:00Z", &text(DATA, "one"));
    shelf.revisit("2026-01-01T00:00:00Z", DATA, &original);
    shelf.capture("2026-02-01T00:00:00Z", &text(DATA, "two"));
    shelf.finish();
    let given = |at| sandbox.ok(&["archive", "get", DATA, "--at", at]).out;
    assert_eq!(
        [given("2026-01"), given("2026-02"), given("2026-03")],
        ["one", "two", "one"]
    );
    sandbox.exits(2, &["archive", "get", DATA, "--at", "2025"]);
    sandbox.ok("archive verify");
}

/// Half a body between two whole ones is not compared, and that is said.
#[test]
fn archive_get_and_diff_name_truncated_captures_that_they_skip() {
    let sandbox = archive();
    let beginning = "of the capture of 2026-03-03T00:00:00Z the archive has only the beginning \
                     (truncated: disconnect)";
    for command in ["get", "diff"] {
        let ran = sandbox.urldb(&["archive", command, DATA]);
        ran.complains(beginning);
    }
    let diff = |dates: [&str; 2]| {
        let [one, other] = dates;
        sandbox.urldb(&["archive", "diff", DATA, "--at", one, "--at", other])
    };
    diff(["2026-03-02", "2026-03-03"]).code(2).complains(&[
        beginning,
        "cannot say whether",
        "--any compares what there is",
    ]);
    diff(["2026-01", "2026-03-03"]).code(1).complains(beginning);
    let json = sandbox.urldb(&["archive", "list", DATA, "--format", "jsonl"]);
    let halves = json.out.matches(r#""truncated":"disconnect""#).count();
    assert_eq!(halves, 1, "{json:?}");
}
