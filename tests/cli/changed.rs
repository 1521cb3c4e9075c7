//! `--changed-since`: only what differs from a commit.

use crate::hook::Repository;
use crate::sandbox::assert_lacks;
use crate::site::{FILE, promise, promises};

/// A repository whose commit `base` has three records; one of them was changed since, and one added.
fn changed() -> Repository {
    let repository = Repository::without_hook();
    repository.write(FILE, promises(&[("/a", "x"), ("/b", "y"), ("/d", "z")]));
    repository.write("urldb/other.test.yaml", promises(&[("/o", "x")]));
    repository.git("add .");
    repository.git("commit -q -m base");
    repository.git("tag base");
    repository.write(FILE, promises(&[("/a", "x"), ("/b", "new"), ("/c", "y")]));
    repository.write("urldb/untracked.test.yaml", promises(&[("/u", "x")]));
    repository
}

#[test]
fn list_names_changed_and_new_records() {
    let repository = changed();
    let expected = "http://example.test/b\nhttp://example.test/c\nhttp://untracked.test/u\n";
    let list = |revision: &str| repository.ok(&["list", "--changed-since", revision]).out;
    assert_eq!(list("base"), expected);
    repository.git("add .");
    repository.git("commit -q -m change");
    assert_eq!(list("base"), expected);
    assert_eq!(list("HEAD~1"), expected);
    assert_eq!(list("HEAD"), "");

    // Formatting and comments are no change, and metadata change every record.
    let text = repository.read(FILE);
    repository.write(FILE, text.replacen("_path", "# why\n_path", 1));
    assert_eq!(list("HEAD"), "");
    repository.write(FILE, text.replacen("---\n", "---\nhttps: true\n", 1));
    let listed = list("HEAD");
    assert_eq!(listed.lines().count(), 6, "{listed}");
    let narrowed = repository.urldb("list --changed-since base -d untracked.test");
    assert_eq!(narrowed.out, "http://untracked.test/u\n");
}

#[test]
fn a_revision_that_is_none_is_an_error() {
    let repository = changed();
    for revision in ["nowhere", "@{upstream}", "--all", "base:urldb", ""] {
        let option = format!("--changed-since={revision}");
        repository
            .exits(2, &["list", &option])
            .complains("names no commit");
    }
    std::fs::remove_dir_all(repository.path(".git")).unwrap();
    repository
        .exits(2, "list --changed-since base")
        .complains("is in no git repository");
}

#[test]
fn check_fetches_only_what_has_changed() {
    let repository = changed();
    // Nothing listens there.
    let map = [
        "--map",
        "example.test=127.0.0.1:9",
        "--map",
        "untracked.test=127.0.0.1:9",
    ];
    let check = |revision: &str| {
        let options = ["check", "--format", "json", "--changed-since", revision];
        let ran = repository.urldb(&[&options[..], &map].concat());
        let results = ran.json()["results"].as_array().unwrap().clone();
        let mut urls: Vec<String> = results
            .iter()
            .map(|result| result["url"].as_str().unwrap().to_owned())
            .collect();
        urls.sort();
        (ran.code, urls)
    };
    let (code, urls) = check("base");
    assert_ne!(code, 0);
    assert_eq!(
        urls,
        [
            "http://example.test/b",
            "http://example.test/c",
            "http://untracked.test/u"
        ]
    );
    repository.git("add .");
    repository.git("commit -q -m change");
    assert_eq!(check("HEAD"), (0, vec![]));
}

#[test]
fn lint_names_new_mistakes_only() {
    let repository = Repository::without_hook();
    let bad = |path: &str| format!("---\n_path: {path}\ncontent-sha256: abc\n");
    let text = format!("---\n{}{}", bad("/a"), promise("/b", "y"));
    repository.write(FILE, &text);
    repository.write("urldb/other.test.yaml", format!("---\n{}", bad("/o")));
    repository.git("add .");
    repository.git("commit -q -m base");
    let lint = || repository.urldb("lint --changed-since HEAD");
    repository.exits(1, "lint").says(&["4:", "other.test"]);
    lint().code(0);

    // An old mistake that only moves is not new, and neither is that of another file.
    repository.write(FILE, format!("---\n{}{}", promise("/0", "x"), &text[4..]));
    lint().code(0);
    repository.write(FILE, format!("{text}{}", bad("/c")));
    let found = lint().code(1);
    assert_eq!(found.out.matches("bad-digest").count(), 1, "{found:#?}");
    assert_lacks(&found.out, "other.test");
    // A second record of one URL.
    repository.write(FILE, format!("---\n{}{}", promise("/b", "0"), &text[4..]));
    lint().code(1).says("/b");
}

#[test]
fn rm_removes_only_what_has_changed() {
    let repository = changed();
    let ran = repository.ok("rm --changed-since base");
    assert_eq!(ran.out.lines().count(), 3, "{ran:?}");
    let left = repository.ok("list").out;
    assert_eq!(left, "http://example.test/a\nhttp://other.test/o\n");
}
