//! `accept` of records that lists made: it edits the lists.

use std::fs::{self, File};
use std::time::SystemTime;

use data_encoding::BASE64;
use proptest::prelude::*;
use sha2::{Digest, Sha512};

use crate::hook::Repository;
use crate::sandbox::Sandbox;
use crate::site::{Site, sha256};
use crate::support::Reply;

fn integrity(text: &str) -> String {
    format!("sha512-{}", BASE64.encode(&Sha512::digest(text)))
}

/// A configuration with these sources, whose hosts are all one site.
fn config(site: &Site, sources: &[(&str, &str, &str)]) -> String {
    let network = site.network_of(&["a.test", "b.test"]);
    let sources = sources.iter().map(|(name, format, path)| {
        let base = "base = \"http://a.test/\"";
        format!("\n[source.{name}]\nformat = \"{format}\"\npath = [\"{path}\"]\n{base}\n")
    });
    format!("{network}{}", sources.collect::<String>())
}

/// The lists with the contents of `/x` and `/y`, in every format that can be edited; each spells digests in its own way.
fn lists(x: &str, y: &str) -> [(&'static str, String); 9] {
    let (upper, lower) = (sha256(x).to_uppercase(), sha256(y));
    [
        (
            "SHA256SUMS",
            // With a byte order mark, line ends of Windows, and no line end at the end.
            format!("\u{feff}{upper}  x\r\n# {upper}\r\n{lower} *y"),
        ),
        (
            "bsd.sha256",
            format!("SHA256 (x) = {}\nSHA256 (y) = {lower}\n", sha256(x)),
        ),
        (
            "a.csv",
            format!(
                "name,url,size,\"sha256\"\n\"one, two\",http://a.test/x,{},\"{}\"\nthree,http://a.test/y,{},{lower}\n",
                x.len(),
                sha256(x),
                y.len()
            ),
        ),
        (
            "url_checksums/d.txt",
            format!("http://a.test/x\t{}\t{}\n", x.len(), sha256(x)),
        ),
        (
            "modules/m/source.json",
            format!(
                "{{ \"url\" : \"http://a.test/x\",\n  \"integrity\": \"{}\" }}\n",
                integrity(x)
            ),
        ),
        (
            "conandata.yml",
            format!(
                "sources:\n  \"1\":  # {x}\n    url: http://a.test/x\n    sha256: '{}'\n  \"2\": {{url: http://a.test/y, sha256: {lower}}}\n",
                sha256(x)
            ),
        ),
        (
            "datapackage.json",
            format!(
                "{{\"resources\": [ {{\"bytes\" : {},\n\"hash\": \"SHA256:{upper}\", \"path\": \"x\"}} ] }}",
                x.len()
            ),
        ),
        (
            "crate.jsonld",
            format!(
                "{{\"contentUrl\": \"http://a.test/x\", \"contentSize\": \"{}\", \"sha256\":\n\"{upper}\"}}\n",
                x.len()
            ),
        ),
        (
            "x.meta4",
            format!(
                "<metalink><file name=\"x\">\n<hash type=\"sha-256\"> {upper}\r\n</hash><size>{}</size><url>http://a.test/x</url></file></metalink>",
                x.len()
            ),
        ),
    ]
}

const SOURCES: [(&str, &str, &str); 9] = [
    ("sums", "sums", "SHA256SUMS"),
    ("bsd", "sums", "bsd.sha256"),
    ("table", "table", "a.csv"),
    ("tfds", "tfds", "url_checksums/*.txt"),
    ("bazel", "bazel-registry", "modules/*/source.json"),
    ("conan", "conandata", "conandata.yml"),
    ("package", "datapackage", "datapackage.json"),
    ("crate", "jsonld", "crate.jsonld"),
    ("metalink", "metalink", "x.meta4"),
];

#[test]
fn each_list_is_edited_in_its_own_spelling_and_nothing_else() {
    let site = Site::with(&[("/x", "first"), ("/y", "other")]);
    let sandbox = Sandbox::new(&config(&site, &SOURCES));
    for (file, text) in lists("first", "other") {
        sandbox.write(file, text);
    }
    sandbox.ok("sync");
    sandbox.ok("check");
    site.serve("/x", Reply::ok("the second"));
    let accepted = sandbox.ok("accept -y http://a.test/x");
    accepted.says(&[
        "--> SHA256SUMS:1\n",
        "--> a.csv:2\n",
        "--> conandata.yml:4\n",
        "--> modules/m/source.json:2\n",
        &format!("+   \"integrity\": \"{}\" }}", integrity("the second")),
        "accepted http://a.test/x",
        "accepted 1",
    ]);
    let wanted = lists("the second", "other");
    for (file, text) in &wanted {
        let text = text.replace("# the second", "# first");
        let comment = format!("# {}", sha256("first").to_uppercase());
        let text = text.replace(
            &format!("# {}", sha256("the second").to_uppercase()),
            &comment,
        );
        assert_eq!(sandbox.read(file), text, "{file}");
    }
    sandbox.ok("sync --check").says("2 unchanged");
    sandbox.ok("check");
    sandbox.ok("fmt --check");
}

#[test]
fn urls_that_share_a_value_change_together() {
    let site = Site::with(&[("/x", "first")]);
    let sandbox = Sandbox::new(&config(&site, &[("conan", "conandata", "conandata.yml")]));
    let list = |text: &str| {
        let urls = "\n    - http://a.test/x\n    - http://b.test/x";
        format!(
            "sources:\n  \"1\":\n    url: {urls}\n    sha256: {}\n",
            sha256(text)
        )
    };
    sandbox.write("conandata.yml", list("first"));
    sandbox.ok("sync");
    site.serve("/x", Reply::ok("second"));
    sandbox
        .ok("accept -y http://a.test/x")
        .says("also the promise of 1 other URL\n");
    assert_eq!(sandbox.read("conandata.yml"), list("second"));
    sandbox.ok("sync --check");
    assert!(
        sandbox
            .read("urldb/b.test.yaml")
            .contains(&sha256("second"))
    );
    // Both at once.
    site.serve("/x", Reply::ok("third"));
    sandbox.ok("accept -y --all").says("accepted 2");
    assert_eq!(sandbox.read("conandata.yml"), list("third"));
    sandbox.ok("sync --check");
}

#[test]
fn one_list_that_cannot_be_edited_stops_the_acceptance_of_its_url() {
    let site = Site::with(&[("/x", "first"), ("/y", "one")]);
    let sources = [
        ("sums", "sums", "SHA256SUMS"),
        ("lines", "jsonl", "a.jsonl"),
    ];
    let sandbox = Sandbox::new(&config(&site, &sources));
    sandbox.write(
        "SHA256SUMS",
        format!("{}  x\n{}  y\n", sha256("first"), sha256("one")),
    );
    let record = format!(
        "{{\"url\":\"http://a.test/x\",\"record\":{{\"content-sha256\":\"{}\"}}}}\n",
        sha256("first")
    );
    sandbox.write("a.jsonl", record);
    sandbox.ok("sync");
    let before = sandbox.tree("");
    site.serve("/x", Reply::ok("second"));
    sandbox.exits(1, "accept -y --all").complains(&format!(
        "http://a.test/x: a.jsonl:1: accept cannot edit this value; write {} in place of {}",
        sha256("second"),
        sha256("first")
    ));
    assert_eq!(sandbox.tree(""), before);
    // Other URLs are accepted.
    site.serve("/y", Reply::ok("two"));
    sandbox
        .exits(1, "accept -y --all")
        .says("accepted 1, refused 1");
    sandbox.ok("sync --check");
    assert_eq!(
        sandbox.read("SHA256SUMS"),
        format!("{}  x\n{}  y\n", sha256("first"), sha256("two"))
    );
}

#[test]
fn a_list_that_is_ahead_of_the_database_is_synced_first() {
    let site = Site::with(&[("/x", "served")]);
    let sandbox = Sandbox::new(&config(&site, &[("sums", "sums", "SHA256SUMS")]));
    sandbox.write("SHA256SUMS", format!("{}  x\n", sha256("first")));
    sandbox.ok("sync");
    let newer = format!("{}  x\n", sha256("newer"));
    sandbox.write("SHA256SUMS", &newer);
    sandbox.exits(1, "accept -y --all").complains(
        "SHA256SUMS:1: `content-sha256` differs from the record; run `urldb sync` first",
    );
    assert_eq!(sandbox.read("SHA256SUMS"), newer);
    sandbox.write("SHA256SUMS", format!("{}  y\n", sha256("first")));
    sandbox
        .exits(1, "accept -y --all")
        .complains("no list of sums has it any more; run `urldb sync` first");
}

#[test]
fn a_promise_of_people_is_in_the_database_alone() {
    let site = Site::new();
    site.serve(
        "/x",
        Reply::new("200 OK", &["Content-Type: text/plain"], "first"),
    );
    let sandbox = Sandbox::new(&config(&site, &[("sums", "sums", "SHA256SUMS")]));
    let list = format!("{}  x\n", sha256("first"));
    sandbox.write("SHA256SUMS", &list);
    sandbox.ok("sync");
    let file = sandbox.read("urldb/a.test.yaml");
    sandbox.write(
        "urldb/a.test.yaml",
        file.replace("source:", "content-type: text/csv\nsource:"),
    );
    sandbox.ok("accept -y --all");
    assert_eq!(sandbox.read("SHA256SUMS"), list);
    assert!(
        sandbox
            .read("urldb/a.test.yaml")
            .contains("content-type: text/plain")
    );
}

#[test]
fn lists_are_committed_with_the_database() {
    let site = Site::with(&[("/x", "first")]);
    let sandbox = Sandbox::new(&config(&site, &[("sums", "sums", "SHA256SUMS")]));
    let repository = Repository::of(sandbox);
    repository.git("config user.name ada");
    repository.git("config user.email ada@example.test");
    let list = |text: &str| format!("{}  x\n", sha256(text));
    repository.write("SHA256SUMS", list("first"));
    repository.ok("sync");
    repository.git("add -A");
    repository.git("commit -q -m lists");
    site.serve("/x", Reply::ok("second"));
    // Changes of a person are no part of the commit.
    repository.write("SHA256SUMS", list("first") + "# mine\n");
    repository
        .exits(2, "accept -y --all --commit")
        .complains("SHA256SUMS has uncommitted changes; commit them first");
    // Git knows a file by its time; only its bytes count.
    repository.write("SHA256SUMS", list("first"));
    let touched = File::options()
        .write(true)
        .open(repository.path("SHA256SUMS"));
    touched
        .unwrap()
        .set_modified(SystemTime::UNIX_EPOCH)
        .unwrap();
    repository.ok("accept -y --all --commit");
    assert_eq!(repository.git("status --porcelain"), "");
    let changed = repository.git("show --format= --name-only");
    assert_eq!(changed.trim(), "SHA256SUMS\nurldb/a.test.yaml");
    assert_eq!(
        fs::read_to_string(repository.path("SHA256SUMS")).unwrap(),
        list("second")
    );
    site.serve("/x", Reply::ok("third"));
    repository.ok("accept -y --all");
    repository.ok("accept -y --commit http://a.test/x");
    assert_eq!(repository.git("status --porcelain"), "");
    assert_eq!(repository.in_head("SHA256SUMS"), list("third"));
}

#[test]
fn a_declined_edit_changes_nothing() {
    let site = Site::with(&[("/x", "first")]);
    let sandbox = Sandbox::new(&config(&site, &[("sums", "sums", "SHA256SUMS")]));
    sandbox.write("SHA256SUMS", format!("{}  x\n", sha256("first")));
    sandbox.ok("sync");
    let before = sandbox.tree("");
    site.serve("/x", Reply::ok("second"));
    sandbox
        .exits(2, "accept --all")
        .complains("--yes accepts without asking");
    assert_eq!(sandbox.tree(""), before);
}

/// A file of a site: the lists that promise it, by a bit for each, its content, and what it becomes.
type ListedFile = (u8, u8, Option<u8>);

/// The text of each list: digests of GNU, a table, checksums of TFDS.
fn texts(files: &[ListedFile], content: impl Fn(&ListedFile) -> u8) -> [(&'static str, String); 3] {
    let rows = |bit: u8, row: fn(usize, &str) -> String| -> String {
        let listed = files.iter().enumerate().filter(|(_, it)| it.0 & bit > 0);
        listed
            .map(|(number, it)| row(number, &content(it).to_string()))
            .collect()
    };
    let sums = rows(1, |number, text| {
        format!("{}  f{number}\n", sha256(text).to_uppercase())
    });
    let table = rows(2, |number, text| {
        format!("http://a.test/f{number},{},{}\n", text.len(), sha256(text))
    });
    let tfds = rows(4, |number, text| {
        let (length, digest) = (text.len(), sha256(text));
        format!("http://a.test/f{number}\t{length}\t{digest}\n")
    });
    [
        (
            "SHA256SUMS",
            format!("# the files\n{sums}{}  last\n", sha256("last")),
        ),
        (
            "a.csv",
            format!("url,size,sha256\n{table}http://a.test/last,,\n"),
        ),
        (
            "url_checksums/d.txt",
            format!("{tfds}http://a.test/last\t4\t{}\n", sha256("last")),
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever has changed, and wherever it is promised: after `accept`, the lists state what is served, and a sync
    /// changes nothing.
    #[test]
    fn what_is_accepted_is_what_the_lists_say(
        files in prop::collection::vec((1..8_u8, 100..255_u8, prop::option::of(0..10_u8)), 1..6),
    ) {
        // Each file has other bytes: `accept` refuses the same bytes at many URLs.
        let numbered = (0..).zip(files);
        let files: Vec<ListedFile> = numbered
            .map(|(number, (lists, before, after))| (lists, before, after.map(|it| 10 * number + it)))
            .collect();
        let site = Site::with(&[("/last", "last")]);
        let serve = |number: usize, content: u8| {
            site.serve(&format!("/f{number}"), Reply::ok(content.to_string()));
        };
        let sandbox = Sandbox::new(&config(&site, &[SOURCES[0], SOURCES[2], SOURCES[3]]));
        for (file, text) in texts(&files, |it| it.1) {
            sandbox.write(file, text);
        }
        for (number, (_, before, _)) in files.iter().enumerate() {
            serve(number, *before);
        }
        sandbox.ok("sync");
        for (number, (_, before, after)) in files.iter().enumerate() {
            serve(number, after.unwrap_or(*before));
        }
        sandbox.ok("accept -y --all");
        for (file, text) in texts(&files, |(_, before, after)| after.unwrap_or(*before)) {
            prop_assert_eq!(sandbox.read(file), text, "{}", file);
        }
        sandbox.ok("sync --check").says(&format!("{} unchanged", files.len() + 1));
        sandbox.ok("check");
    }
}
