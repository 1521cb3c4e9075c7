//! Warnings of `lint` about static URLs.

use insta::assert_snapshot;

use crate::hook::Repository;
use crate::sandbox::Sandbox;

const SHA256: &str = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
const MD5: &str = "b1946ac92492d2347c6235b4d2611184";

/// A domain file with these paths, each with a record's further lines.
fn file(records: &[(&str, &str)]) -> String {
    let records = records.iter();
    let records = records.map(|(path, more)| format!("---\n_path: {path}\n{more}"));
    format!("---\n{}", records.collect::<String>())
}

/// A database with URLs of every kind.
fn every_kind() -> Sandbox {
    let sandbox = Sandbox::new("");
    let sha256 = format!("content-sha256: {SHA256}\n");
    let md5 = format!("content-md5: {MD5}\n");
    let of_source = format!("{md5}source:\n- recipes\n");
    let records = |paths: &[&str]| {
        let records: Vec<_> = paths.iter().map(|path| (*path, sha256.as_str())).collect();
        file(&records)
    };
    for (host, text) in [
        (
            "github.com",
            records(&[
                "/o/r/archive/v1.tar.gz",
                "/o/r/archive/v2.tar.gz",
                "/o/r/raw/main/a.csv",
                "/o/r/releases/download/v1/x.zip",
                "/o/r/releases/latest/download/x.zip",
            ]),
        ),
        (
            "www.dropbox.com",
            records(&["/s/abc/x.zip", "/s/abc/x.zip?dl=1"]),
        ),
        (
            "b.s3.test",
            records(&["/a?X-Amz-Signature=secret1", "/b?X-Amz-Signature=secret2"]),
        ),
        (
            "weak.test",
            file(&[("/1", &*md5), ("/2", &*of_source), ("/3", &*md5)]),
        ),
        (
            "weaker.test",
            file(&[("/1", &*of_source), ("/2", &*sha256)]),
        ),
        // A record without promised bytes may follow a branch.
        (
            "raw.githubusercontent.com",
            file(&[
                ("/o/r/main/a.csv", ""),
                ("/o/r/main/b.csv", "content-type: text/plain\n"),
            ]),
        ),
    ] {
        sandbox.write(&format!("urldb/{host}.yaml"), text);
    }
    sandbox
}

#[test]
fn static_urls_that_may_change_are_told_once_a_host() {
    let sandbox = every_kind();
    sandbox.ok("fmt --check");
    let lint = sandbox.ok("lint");
    assert!(!lint.out.contains("secret"), "{}", lint.out);
    assert_snapshot!(lint.out);
    // Other commands stay calm.
    assert_eq!(sandbox.ok("fmt --check").out.matches("moving").count(), 0);
}

#[test]
fn warnings_that_people_know_are_not_told() {
    let sandbox = every_kind();
    let all = [
        "expiring-url",
        "forge-archive",
        "moving-branch",
        "moving-name",
        "share-page",
        "weak-digest",
    ];
    for code in all {
        sandbox.write("urldb.toml", format!("[lint]\nallow = [\"{code}\"]\n"));
        let out = sandbox.ok("lint").out;
        for other in all {
            assert_eq!(out.contains(other), other != code, "{code}: {out}");
        }
    }
    sandbox.write("urldb.toml", format!("[lint]\nallow = {all:?}\n"));
    sandbox.ok("lint").says("6 files: 0 errors, 0 warnings");
    sandbox.write("urldb.toml", "[lint]\nallow = [\"bad-path\"]\n");
    sandbox
        .exits(2, "lint")
        .complains("no warning that `allow` can name is called \"bad-path\"; there are expiring-url, forge-archive,");
}

#[test]
fn each_changed_url_has_its_own_warning() {
    let repository = Repository::of(every_kind());
    repository.git("add -A");
    repository.git("commit -q --no-verify -m before");
    repository
        .ok("lint --changed-since HEAD")
        .says("0 errors, 0 warnings");
    let github = repository.read("urldb/github.com.yaml");
    let record = |path: &str| format!("---\n_path: {path}\ncontent-sha256: {SHA256}\n");
    let changed = github.replace(
        &record("/o/r/raw/main/a.csv"),
        &[
            record("/o/r/archive/v3.tar.gz"),
            record("/o/r/archive/v4.tar.gz"),
            record("/o/r/raw/main/a.csv"),
        ]
        .concat(),
    );
    repository.write("urldb/github.com.yaml", changed);
    let weak = repository.read("urldb/weak.test.yaml");
    repository.write(
        "urldb/weak.test.yaml",
        format!("{weak}---\n_path: /4\ncontent-md5: {MD5}\n"),
    );
    let lint = repository.ok("lint --changed-since HEAD");
    assert_eq!(lint.out.matches("forge-archive").count(), 2, "{}", lint.out);
    lint.says(&[
        "1 static URL of github.com is an archive",
        "1 record of weak.test promises only an MD5",
        "0 errors, 3 warnings",
    ]);
}
