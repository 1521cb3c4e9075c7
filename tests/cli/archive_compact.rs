//! `archive compact` and `archive prune`: less in the archive, and everything that is needed still there.

use std::fs;

use insta::assert_snapshot;

use crate::sandbox::Sandbox;
use crate::shelf::{Shelf, text};
use crate::site::{FILE, promise};

const URL: &str = "http://example.test/a";

/// A response and a revisit a day, each in a file of its own, as daily runs write them.
fn quiet(config: &str, days: u8) -> Sandbox {
    let sandbox = Sandbox::new(config);
    sandbox.write(FILE, format!("---\n{}", promise("/a", "the bytes")));
    let mut shelf = Shelf::new(&sandbox, "urldb-00.warc.gz");
    let original = shelf.capture("2026-01-01T00:00:00Z", &text(URL, "the bytes"));
    shelf.finish();
    for day in 1..=days {
        let mut shelf = Shelf::with_ids(&sandbox, &format!("urldb-{day:02}.warc.gz"), day * 2);
        let date = jiff::civil::date(2026, 1, 1) + jiff::Span::new().days(i64::from(day));
        shelf.revisit(&format!("{date}T06:00:00Z"), URL, &original);
        shelf.finish();
    }
    sandbox
}

/// A closed incident.
const INCIDENT: &str = "\
---
closed: '2020-02-01T00:00:00Z'
format: 2
host: example.test
key: 0123456789abcdef
---
event: opened
evidence:
- observed:
    sha256: EVIDENCE
  url: http://example.test/incident
id: 20200108T000000Z-00000000
urls:
- file: urldb/example.test.yaml
  line: 2
  since: '2020-01-08T00:00:00Z'
  url: http://example.test/incident
---
event: closed
id: 20200201T000000Z-00000000
";

const MONTHLY: &str = "[archive]\nkeep-revisits = \"monthly\"\n";

fn dates(sandbox: &Sandbox) -> Vec<String> {
    let lines = sandbox.index();
    let date = |line: &str| line.split(' ').nth(1).unwrap()[..8].to_owned();
    lines.lines().map(date).collect()
}

fn verify(sandbox: &Sandbox) {
    sandbox
        .ok("archive verify")
        .says(": 0 errors, 0 warnings\n");
}

#[test]
fn compact_keeps_the_first_the_last_and_one_of_each_month() {
    let sandbox = quiet(MONTHLY, 70);
    let before = sandbox.tree("");
    sandbox.ok("archive compact --dry-run").says(&[
        "would join urldb-00.warc.gz to urldb-70.warc.gz, 71 files\n",
        "would leave out 66 captures of ",
        ", and make 1 file of 71\n",
    ]);
    assert_eq!(sandbox.tree(""), before);
    sandbox.ok("archive compact").says(&[
        "archive/urldb-joined-",
        "left out 66 captures, made 1 file of 71, ",
    ]);
    assert_eq!(
        dates(&sandbox),
        ["20260101", "20260102", "20260201", "20260301", "20260312"]
    );
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), 1);
    assert_eq!(sandbox.files("archive/index", "").len(), 3);
    verify(&sandbox);
    for at in ["2026-01-01", "2026-01-15", "2026-02-20", "2026-03-12"] {
        let got = sandbox.ok(&["archive", "get", URL, "--at", at]);
        assert_eq!(got.out, "the bytes");
    }
    // There is nothing more to do.
    let after = sandbox.tree("archive");
    let ran = sandbox.ok("archive compact");
    assert_eq!(ran.out, "nothing to leave out, and no files to join\n");
    assert_eq!(sandbox.tree("archive"), after);
}

#[test]
fn without_a_policy_compact_only_joins() {
    let sandbox = quiet("", 9);
    let lines = sandbox.index().lines().count();
    let ran = sandbox.ok("archive compact --format jsonl");
    let said: Vec<serde_json::Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(said[0]["kind"], "joined");
    assert_eq!(said[0]["left_out"], 0);
    assert_eq!(said[0]["records"], 20);
    assert_eq!(said[1]["kind"], "summary");
    assert_eq!(
        (said[1]["files"].as_u64(), said[1]["captures"].as_u64()),
        (Some(10), Some(0))
    );
    assert_eq!(sandbox.index().lines().count(), lines);
    verify(&sandbox);
}

#[test]
fn files_of_other_programs_and_damaged_files_stay_as_they_are() {
    let sandbox = quiet(MONTHLY, 40);
    let mut shelf = Shelf::with_ids(&sandbox, "other.warc.gz", 200);
    shelf.capture("2026-05-01T00:00:00Z", &text("http://example.test/b", "b"));
    let other = fs::read(shelf.finish()).unwrap();
    let damaged = sandbox.path("archive/urldb-20.warc.gz");
    let mut bytes = fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&damaged, &bytes).unwrap();
    sandbox.exits(1, "archive compact").complains(&[
        "urldb-20.warc.gz is damaged and stays as it is",
        "`urldb archive repair`",
    ]);
    assert_eq!(fs::read(&damaged).unwrap(), bytes);
    assert_eq!(
        fs::read(sandbox.path("archive/other.warc.gz")).unwrap(),
        other
    );
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), 3);
    let got = sandbox.ok(&["archive", "get", URL]);
    assert_eq!(got.out, "the bytes");
}

#[test]
fn files_have_at_most_the_configured_size() {
    let sandbox = quiet("[archive]\nmax-size = 4000\n", 20);
    sandbox.ok("archive compact");
    let files = sandbox.files("archive", ".warc.gz");
    assert!((3..15).contains(&files.len()), "{files:?}");
    assert!(
        files
            .iter()
            .all(|file| fs::metadata(file).unwrap().len() < 5000)
    );
    verify(&sandbox);
}

/// A run after it writes revisits as before, and the ledger finds its captures.
#[test]
fn runs_go_on_after_a_compaction() {
    let site = crate::site::Site::with(&[("/a", "the bytes")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, format!("---\n{}", promise("/a", "the bytes")));
    for _ in 0..3 {
        sandbox.ok("run");
    }
    sandbox.ok("archive compact");
    assert_eq!(sandbox.files("archive", ".warc.gz").len(), 1);
    sandbox.ok("run");
    verify(&sandbox);
    assert_eq!(sandbox.index().matches("warc/revisit").count(), 3);
    site.serve("/a", crate::support::Reply::ok("other"));
    sandbox.exits(1, "run").says("-the bytes");
}

/// What is older than the limit goes, unless something needs it.
#[test]
fn prune_keeps_what_is_needed() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, format!("---\n{}", promise("/a", "promised")));
    let mut old = Shelf::new(&sandbox, "urldb-0.warc.gz");
    let url = |name: &str| format!("http://example.test/{name}");
    // Promised bytes, though the URL has later ones; elsewhere, too.
    old.capture("2020-01-01T00:00:00Z", &text(URL, "promised"));
    old.capture("2020-01-02T00:00:00Z", &text(&url("copy"), "promised"));
    // Unneeded: there are later ones.
    old.capture("2020-01-03T00:00:00Z", &text(URL, "old"));
    old.capture("2020-01-03T00:00:00Z", &text(&url("copy"), "old"));
    // The original of a revisit that stays; and one whose revisits are old.
    let kept = old.capture("2020-01-04T00:00:00Z", &text(&url("kept"), "kept"));
    let gone = old.capture("2020-01-04T00:00:00Z", &text(&url("gone"), "gone"));
    old.revisit("2020-01-05T00:00:00Z", &url("kept"), &kept);
    old.revisit("2020-01-05T00:00:00Z", &url("gone"), &gone);
    // The only capture of a URL, and one that has only error pages after it.
    old.capture("2020-01-06T00:00:00Z", &text(&url("only"), "only"));
    old.capture("2020-01-06T00:00:00Z", &text(&url("failing"), "good"));
    // A URL of an incident.
    old.capture("2020-01-07T00:00:00Z", &text(&url("incident"), "before"));
    // What an incident observed, behind a redirect of its URL.
    old.capture("2020-01-08T00:00:00Z", &text(&url("behind"), "evidence"));
    old.finish();
    let mut new = Shelf::with_ids(&sandbox, "urldb-1.warc.gz", 100);
    for name in ["a", "copy", "kept", "gone", "incident", "behind"] {
        new.capture("2026-01-01T00:00:00Z", &text(&url(name), "new"));
    }
    new.revisit("2026-01-02T00:00:00Z", &url("kept"), &kept);
    let error = crate::shelf::Told {
        url: &url("failing"),
        head: "404 Not Found",
        body: b"none",
    };
    new.capture("2026-01-01T00:00:00Z", &error);
    new.finish();
    sandbox.write(
        "status/incidents/0a1b2c3d.yaml",
        INCIDENT.replace("EVIDENCE", &crate::site::sha256("evidence")),
    );
    verify(&sandbox);
    let before = sandbox.tree("");
    let ran = sandbox.ok("archive prune --older-than 2y --dry-run");
    assert_snapshot!(ran.out.replace(|c: char| c.is_ascii_digit(), "0"), @r"
    would rewrite urldb-0.warc.gz
    would leave out 0 captures of 0.00 KiB, and make 0 file of 0
    ");
    assert_eq!(sandbox.tree(""), before);
    sandbox
        .ok("archive prune --older-than 2y")
        .says("left out 5 captures");
    verify(&sandbox);
    let has = |name: &str, body: &str| {
        let all = sandbox
            .urldb(&["archive", "list", &url(name), "--format", "jsonl"])
            .out;
        let digest = crate::site::sha256(body);
        all.contains(&digest)
    };
    for (name, body) in [
        ("a", "promised"),
        ("copy", "promised"),
        ("kept", "kept"),
        ("only", "only"),
        ("failing", "good"),
        ("incident", "before"),
        ("behind", "evidence"),
    ] {
        assert!(has(name, body), "{name} {body}");
    }
    for (name, body) in [("a", "old"), ("copy", "old"), ("gone", "gone")] {
        assert!(!has(name, body), "{name} {body}");
    }
    sandbox.ok("archive export --bagit bag");
    sandbox.exits(2, "archive prune").complains("--older-than");
    sandbox
        .exits(2, "archive prune --older-than soon")
        .complains("no age of at least a day");
}
