//! Repositories with odd names, with a git that warns, and without their last domain file.

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, promises};

fn commit(repository: &Repository, subject: &str) {
    repository.git("add --all");
    repository.git(&["commit", "-q", "-m", subject]);
}

/// A warning of git is no failure.
#[test]
fn a_git_that_warns_does_not_fail() {
    let repository = Repository::without_hook();
    repository.write(FILE, promises(&[("/a", "x")]));
    commit(&repository, "first");
    for arguments in ["doctor", "diff HEAD", "log"] {
        let ran = repository.urldb_with_env(arguments, &[("GIT_TRACE", "1")]);
        assert_lacks(&format!("{}{}", ran.out, ran.err), "failed:");
    }
}

/// Git writes such names in quotes.
#[test]
fn the_site_links_the_last_commit_of_each_domain_file() {
    for name in ["quo\"te", "back\\slash", "ta\tb", "sp ace", "\u{e9}\u{1}"] {
        let repository = Repository::of(Sandbox::new(""));
        repository.write(&format!("{name}/urldb.toml"), "");
        repository.git("remote add origin https://github.com/a/b");
        let file = format!("{name}/{FILE}");
        repository.write(&file, promises(&[("/a", "x")]));
        commit(&repository, "promise a page");
        let of_file = repository.git("rev-parse HEAD");
        let other = format!("{name}/other.test.yaml");
        repository.write(&other, promises(&[("/a", "x")]));
        commit(&repository, "promise another page");
        repository.ok(&["-C", name, "site", "build", "public"]);
        let page = repository.read(&format!("{name}/public/hosts/example.test.html"));
        assert_has(&page, of_file.trim());
    }
}

#[test]
fn after_the_last_domain_file_is_removed_the_difference_is_told() {
    let repository = Repository::without_hook();
    repository.write(FILE, promises(&[("/a", "x")]));
    commit(&repository, "first");
    // Git removes the folder too.
    repository.git(&["rm", "-q", FILE]);
    repository
        .ok("diff")
        .says(&["example.test.yaml (file removed)", "1 record removed"]);
    let ran = repository.urldb("log");
    assert_lacks(&ran.err, "is it installed");
}

#[test]
fn quiet_setup_prints_nothing() {
    let repository = Repository::of(Sandbox::empty());
    for arguments in ["-q init", "-q hook install", "-q hook uninstall"] {
        let ran = repository.ok(arguments);
        assert_eq!(
            (ran.out.as_str(), ran.err.as_str()),
            ("", ""),
            "{arguments}"
        );
    }
}

/// The records of lists are in a folder that the user never sees.
#[test]
fn a_selection_that_no_list_has_names_no_temporary_folder() {
    let sandbox = Sandbox::new("");
    sandbox.write("urls.txt", "http://a.test/x\n");
    for (selection, problem) in [
        ("-d nope.example", "no list has a URL of nope.example"),
        (
            "-d b.test",
            "no list has a URL of b.test; did you mean a.test?",
        ),
    ] {
        let ran = sandbox.exits(2, &format!("check list:urls.txt {selection}"));
        assert_has(&ran.err, problem);
        assert_lacks(&ran.err, &["/tmp", "urldb add", "database"]);
    }
}
