//! Promised bytes that the archive lost, and that the server no longer sends: people are told once, until the archive has
//! them again or others are promised.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::mime::Mail;
use crate::sandbox::{Ran, Sandbox, assert_has};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const PAGES: [(&str, &str); 2] = [("/a", "first"), ("/b", "second")];

/// A repository whose archive lost the capture of `/a`: a machine ended before it had stored it.
struct Lost {
    site: Site,
    sandbox: Sandbox,
    /// The files that the machine had.
    files: Vec<PathBuf>,
    _folders: [TempDir; 2],
}

impl Lost {
    fn new() -> Self {
        let site = Site::with(&[]);
        for (path, body) in PAGES {
            site.serve(path, page(body));
        }
        let (disk, machine) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (store, away) = (disk.path().join("urldb"), disk.path().join("away"));
        fs::create_dir(&store).unwrap();
        let sandbox = Sandbox::new(&format!(
            "[check]\nrehash-every = 30\n[archive]\nstores = [\"file://{}\"]\n[notify.mail]\ntype = \"email\"\n\
             from = \"urldb@example.test\"\nto = [\"me@example.test\"]\nfolder = \"mail\"\non = [\"warning\"]\n\
             [notify.site]\ntype = \"html\"\npath = \"site\"\n{}",
            store.display(),
            site.network()
        ));
        sandbox.write(FILE, promises(&PAGES[1..]));
        sandbox.ok("run");
        fs::rename(&store, &away).unwrap();
        sandbox.write(FILE, promises(&PAGES));
        sandbox.ok("run").complains("not stored yet");
        fs::rename(&away, &store).unwrap();
        let files = sandbox
            .files("archive", ".warc.gz")
            .into_iter()
            .map(|file| {
                let copy = machine.path().join(file.file_name().unwrap());
                fs::copy(file, &copy).unwrap();
                copy
            });
        let files = files.collect();
        fs::remove_dir_all(sandbox.path("archive")).unwrap();
        Self {
            site,
            sandbox,
            files,
            _folders: [disk, machine],
        }
    }

    /// The mails of a run that ends with this code.
    fn run(&self, code: i32) -> (Ran, Vec<Mail>) {
        let ran = self.sandbox.exits(code, "run");
        (ran, self.sandbox.take_mails())
    }

    /// A run that tells of the loss, since the server sends other bytes.
    fn tell(&self) -> Mail {
        self.site.serve("/a", page("other"));
        let (ran, mut mails) = self.run(1);
        ran.says(&[
            "warning[evidence-lost]: example.test",
            "has promised bytes that the archive lost (1 of 2 URLs)",
            "lost      http://example.test/a, on ",
        ]);
        assert_eq!(mails.len(), 1);
        mails.remove(0)
    }
}

fn page(body: &str) -> Reply {
    let etag = format!("ETag: \"{body}\"");
    Reply::new("200 OK", &[&*etag], body)
}

const OVER: &str = "example.test no longer has promised bytes that the archive lacks";

#[test]
fn lost_promised_bytes_are_told_once_until_they_are_archived_again() {
    let lost = Lost::new();
    let before = lost.site.requests().len();
    let mail = lost.tell();
    assert_has(
        mail.header("Subject"),
        "example.test has promised bytes that the archive lost",
    );
    // Mail wraps lines.
    let words: Vec<&str> = mail.text.split_whitespace().collect();
    assert_has(
        &words.join(" "),
        &[
            "Put the lost file back into a place of the archive",
            "urldb archive repair",
            "urldb accept http://example.test/a",
        ],
    );
    let (text, _) = mail.text.split_once("\n-- \n").unwrap();
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let text = text.replace(&today, "TODAY");
    let (start, end) = text.split_once("since TODAY ").unwrap();
    assert_snapshot!(format!("{start}since TODAY HH:MM{}", &end[5..]));
    // Only the lost content is asked for without condition.
    let asked = lost.site.requests().split_off(before);
    for request in asked {
        let is_conditional = request.header("if-none-match").is_some();
        assert_eq!(is_conditional, request.target == "/b", "{}", request.target);
    }
    let pages = lost.sandbox.files("site/incidents", ".html");
    let pages = pages.iter().map(|page| fs::read_to_string(page).unwrap());
    assert_has(&pages.collect::<String>(), "bytes of 1 URL lost");
    let status = lost.sandbox.urldb("status");
    status.says("has promised bytes that the archive lost");
    let document = lost.sandbox.exits(1, "status --format json").json();
    assert_eq!(document["notices"].as_array().unwrap().len(), 1);
    assert_has(
        document["notices"][0]["title"].as_str().unwrap(),
        "has promised bytes that the archive lost",
    );

    // It stays without a further message, also in runs that show nothing about the URL.
    let report = lost
        .sandbox
        .exits(1, "run --format json")
        .json()
        .to_string();
    assert_has(&report, "\"kind\":\"evidence-lost\"");
    assert!(lost.sandbox.take_mails().is_empty());
    lost.sandbox.urldb(&["run", "http://example.test/b"]);
    assert!(lost.sandbox.take_mails().is_empty());
    lost.site
        .serve("/a", Reply::new("503 Service Unavailable", &[], ""));
    assert!(lost.run(1).1.is_empty());

    lost.site.serve("/a", page("first"));
    let (ran, mails) = lost.run(0);
    ran.says(&[OVER, "  archived  http://example.test/a, lost on "]);
    assert_eq!(mails.len(), 1);
    assert!(lost.run(0).1.is_empty());
}

#[test]
fn a_file_that_is_put_back_ends_the_notice() {
    let lost = Lost::new();
    lost.tell();
    for file in &lost.files {
        let name = file.file_name().unwrap().to_str().unwrap();
        fs::copy(file, lost.sandbox.path("archive").join(name)).unwrap();
    }
    lost.sandbox.ok("archive index");
    let (ran, mails) = lost.run(1);
    ran.says(&[OVER, "  archived  http://example.test/a, lost on "]);
    assert_eq!(mails.len(), 1);
}

#[test]
fn another_promise_or_none_ends_the_notice() {
    for (command, says) in [
        (
            &["accept", "--yes", "http://example.test/a"][..],
            "  accepted  http://example.test/a, lost on ",
        ),
        (
            &["rm", "http://example.test/a"][..],
            "  removed   http://example.test/a, lost on ",
        ),
    ] {
        let lost = Lost::new();
        lost.tell();
        lost.sandbox.ok(command);
        let (ran, mails) = lost.run(0);
        ran.says(&[OVER, says]);
        assert_eq!(mails.len(), 1);
        assert!(lost.run(0).1.is_empty());
    }
}
