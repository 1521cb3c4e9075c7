//! Merges of domain files in histories as people have them, each by `urldb resolve` after git stopped, and by
//! git with the merge driver. Nothing is lost, and no conflict is needless.

use std::fs;

use crate::hook::Repository;
use crate::sandbox::{Case, assert_has, assert_lacks};
use crate::site::FILE;

const DOORS: [&str; 2] = ["resolve", "driver"];

/// A file with `name` in its first record, and with these further records, which are in one gap.
fn file(name: &str, paths: &[&str]) -> String {
    let mut paths = paths.to_vec();
    paths.sort_unstable();
    let records = paths.iter().flat_map(|path| ["---\n_path: ", path, "\n"]);
    let records: String = records.collect();
    format!("---\nhttps: true\n---\n_path: /a\nname: {name}\n{records}---\n_path: /z\n")
}

/// A repository with a first commit, in which git merges with the driver, or as if there were no urldb.
fn begin(door: &str) -> Repository {
    let repository = Repository::without_hook();
    if door == "driver" {
        repository.ok("hook install");
    }
    repository.commit_as(&file("one", &[]));
    repository
}

impl Repository {
    fn commit_as(&self, text: &str) {
        self.write(FILE, text);
        self.git("add --all");
        self.git("commit -q --no-verify --allow-empty -m change");
    }

    /// A new branch that begins at `start`, with a commit of this text.
    fn branch(&self, name: &str, start: &str, text: &str) {
        self.git(&["checkout", "-q", "-b", name, start]);
        self.commit_as(text);
    }

    /// A merge of `other`, as a person made it: with this text.
    fn merged_by_hand(&self, other: &str, text: &str) {
        self.git(&[
            "merge",
            "-q",
            "-s",
            "ours",
            "--no-edit",
            "--no-verify",
            other,
        ]);
        self.write(FILE, text);
        self.git("add --all");
        self.git("commit -q --no-verify --amend --no-edit");
    }

    fn is_stopped(&self) -> bool {
        !self.git("ls-files --unmerged").is_empty()
    }

    /// Runs an operation of git to its end; `continue_` follows each stop. Only without the driver git stops, and
    /// `urldb resolve` then resolves everything.
    #[track_caller]
    fn completes(&self, door: &str, operation: &[&str], continue_: &[&str]) {
        let mut done = self.try_git(operation);
        let mut stops = 0;
        while self.is_stopped() {
            stops += 1;
            assert!(stops <= 40, "{operation:?}");
            assert_eq!(door, "resolve", "{operation:?}: {done:?}");
            self.ok("resolve").says("merged: ");
            assert!(!self.is_stopped());
            done = self.try_git(continue_);
        }
        assert!(done.status.success(), "{operation:?}: {done:?}");
        assert_eq!(stops > 0, door == "resolve", "{operation:?}");
        assert_eq!(self.git("status --porcelain"), "");
    }

    #[track_caller]
    fn merges(&self, door: &str, other: &str) {
        let merge = ["merge", "--no-edit", "--no-verify", other];
        self.completes(door, &merge, &["commit", "-q", "--no-edit", "--no-verify"]);
    }

    /// Two branches of which each has merged an early state of the other one, with these texts.
    fn criss_cross(&self, bases: [&str; 2], merges: [&str; 2], tips: [&str; 2]) {
        self.branch("left", "main", bases[0]);
        self.branch("right", "main", bases[1]);
        self.criss_cross_again(merges);
        for (branch, text) in ["left", "right"].into_iter().zip(tips) {
            self.git(&["checkout", "-q", branch]);
            self.commit_as(text);
        }
        self.git("checkout -q left");
    }

    fn criss_cross_again(&self, merges: [&str; 2]) {
        self.git("tag -f left-before left");
        self.git("checkout -q left");
        self.merged_by_hand("right", merges[0]);
        let right = self.git("rev-parse right");
        self.git("checkout -q right");
        assert_eq!(self.git("rev-parse HEAD"), right);
        self.merged_by_hand("left-before", merges[1]);
    }
}

#[test]
fn ancestors_that_agree_are_one() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        let merged = file("one", &["/g", "/h"]);
        repository.criss_cross(
            [&file("one", &["/g"]), &file("one", &["/h"])],
            [&merged, &merged],
            [
                &file("one", &["/g", "/h", "/p"]),
                &file("one", &["/h", "/q"]),
            ],
        );
        repository.merges(door, "right");
        repository.assert_file(FILE, &file("one", &["/h", "/p", "/q"]));
    }
}

#[test]
fn ancestors_that_dispute_a_key_are_one() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        repository.criss_cross(
            [&file("two", &["/g"]), &file("three", &["/h"])],
            [&file("two", &["/g", "/h"]), &file("two", &["/g", "/h"])],
            [
                &file("two", &["/g", "/h", "/p"]),
                &file("two", &["/g", "/q"]),
            ],
        );
        repository.merges(door, "right");
        repository.assert_file(FILE, &file("two", &["/g", "/p", "/q"]));
    }
}

#[test]
fn ancestors_that_dispute_a_record_and_a_file_are_one() {
    const OTHER: &str = "urldb/other.test.yaml";
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        repository.write(OTHER, file("one", &["/m"]));
        let changed = |path: &str, key: &str| {
            let record = format!("_path: {path}\n");
            file("one", &["/m", path]).replace(&record, &format!("{record}{key}\n"))
        };
        repository.commit_as(&file("one", &["/m"]));
        // One ancestor removed `/m` and the other file; the other ancestor changed both.
        repository.git("checkout -q -b left");
        repository.git(&["rm", "-q", OTHER]);
        repository.commit_as(&file("one", &[]));
        repository.git("checkout -q -b right main");
        repository.write(OTHER, file("three", &["/m"]));
        repository.commit_as(&file("one", &["/m"]).replace("/m\n", "/m\nstatus: 200\n"));
        let merged = changed("/n", "status: 200").replace("---\n_path: /m\n", "");
        repository.write(OTHER, file("three", &["/m"]));
        repository.criss_cross_again([&merged, &merged]);
        repository.write(OTHER, file("three", &["/m", "/q"]));
        repository.commit_as(&merged.replace("status: 200", "status: 200\ntitle: x"));
        repository.git("checkout -q left");
        repository.write(OTHER, file("three", &["/m", "/p"]));
        repository.commit_as(&merged.replace("status: 200", "name: n\nstatus: 200"));
        repository.merges(door, "right");
        let wanted = merged.replace("status: 200", "name: n\nstatus: 200\ntitle: x");
        repository.assert_file(FILE, &wanted);
        repository.assert_file(OTHER, &file("three", &["/m", "/p", "/q"]));
    }
}

#[test]
fn ancestors_may_have_two_ancestors_again() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        let names = |name| file(name, &["/g", "/h"]);
        repository.criss_cross(
            [&file("two", &["/g"]), &file("three", &["/h"])],
            [&names("two"), &names("three")],
            [&names("two"), &names("four")],
        );
        repository.criss_cross_again([&names("two"), &names("two")]);
        let with = |keys: &str, paths: &[&str]| file(&format!("two\n{keys}"), paths);
        repository.commit_as(&with("title: x", &["/g", "/q"]));
        repository.git("checkout -q left");
        repository.commit_as(&with("status: 200", &["/g", "/h", "/p"]));
        repository.merges(door, "right");
        let wanted = with("status: 200\ntitle: x", &["/g", "/p", "/q"]);
        repository.assert_file(FILE, &wanted);
    }
}

#[test]
fn a_true_conflict_after_a_criss_cross_stays_around_its_record() {
    for (door, style) in DOORS.iter().zip(["diff3", "zdiff3"]) {
        let _case = Case(door);
        let repository = begin(door);
        repository.git(&["config", "merge.conflictStyle", style]);
        let merged = file("one", &["/g", "/h"]);
        repository.criss_cross(
            [&file("one", &["/g"]), &file("one", &["/h"])],
            [&merged, &merged],
            [
                &file("two", &["/g", "/h", "/p"]),
                &file("three", &["/h", "/q"]),
            ],
        );
        repository.git_fails("merge --no-verify right");
        if *door == "resolve" {
            repository.exits(1, "resolve");
        }
        let dispute = "---\nhttps: true\n<<<<<<< ours\n---\n_path: /a\nname: two\n||||||| base\n---\n_path: /a\nname: one\n=======\n---\n_path: /a\nname: three\n>>>>>>> theirs\n";
        let begin = "---\nhttps: true\n---\n_path: /a\nname: one\n";
        let wanted = file("one", &["/h", "/p", "/q"]).replace(begin, dispute);
        repository.assert_file(FILE, &wanted);
    }
}

/// Git makes longer markers there, as in a merge of ancestors.
#[test]
fn a_conflict_in_a_file_with_two_new_names_or_longer_markers_is_not_lost() {
    let repository = begin("driver");
    for (branch, name) in [("other", "three"), ("main", "two")] {
        repository.git(&["checkout", "-q", "-B", branch, "main"]);
        let new = format!("urldb/{name}.test.yaml");
        repository.git(&["mv", FILE, &new]);
        repository.write(&new, file(name, &["/m"]));
        repository.git("commit -q --no-verify -a -m change");
    }
    repository.git_fails("merge --no-verify other");
    for name in ["two", "three"] {
        let text = repository.read(&format!("urldb/{name}.test.yaml"));
        assert_has(
            &text,
            &["<<<<<<<< ours", "name: two", "========\n", "name: three"],
        );
    }
    let repository = begin("driver");
    let attributes = repository.read(".gitattributes");
    repository.write(
        ".gitattributes",
        attributes + "*.yaml conflict-marker-size=20\n",
    );
    repository.commit_as(&file("one", &[]));
    repository.branch("other", "main", &file("three", &[]));
    repository.git("checkout -q main");
    repository.commit_as(&file("two", &[]));
    repository.git_fails("merge --no-verify other");
    assert_has(
        &repository.read(FILE),
        &[&"<".repeat(20), "name: two", "name: three"],
    );
}

#[test]
fn an_octopus_is_resolved() {
    let repository = begin("resolve");
    repository.branch("first", "main", &file("two", &[]));
    repository.branch("second", "main", &file("one\nstatus: 200", &["/q"]));
    repository.git("checkout -q main");
    repository.commit_as(&file("one", &["/p"]));
    repository.git_fails("merge -q first second");
    assert!(repository.is_stopped());
    repository.ok("resolve").says("merged: ");
    repository.git("commit -q --no-edit --no-verify");
    repository.assert_file(FILE, &file("two\nstatus: 200", &["/p", "/q"]));
    assert_eq!(
        repository
            .git("log -1 --format=%P")
            .split_whitespace()
            .count(),
        3
    );
}

const NEW: &str = "urldb/new.test.yaml";

#[test]
fn changes_follow_a_renamed_file() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        repository.commit_as(&file("one", &["/m", "/n"]));
        repository.branch("other", "main", &file("one", &["/m", "/n", "/q"]));
        repository.git("checkout -q main");
        repository.git(&["mv", FILE, NEW]);
        repository.write(NEW, file("two", &["/n", "/p"]));
        repository.git("commit -q --no-verify -a -m change");
        repository.merges(door, "other");
        repository.assert_file(NEW, &file("two", &["/n", "/p", "/q"]));
        assert!(!repository.path(FILE).exists());
    }
}

#[test]
fn two_equal_renames_are_one() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        for (branch, path) in [("other", "/q"), ("main", "/p")] {
            repository.git(&["checkout", "-q", "-B", branch, "main"]);
            repository.git(&["mv", FILE, NEW]);
            repository.write(NEW, file("one", &[path]));
            repository.git("commit -q --no-verify -a -m change");
        }
        repository.merges(door, "other");
        repository.assert_file(NEW, &file("one", &["/p", "/q"]));
    }
}

#[test]
fn a_removed_file_of_which_the_other_side_removed_records_is_removed() {
    let repository = begin("resolve");
    repository.commit_as(&file("one", &["/m", "/n"]));
    repository.branch("thinned", "main", &file("one", &["/n"]));
    repository.git("checkout -q -b removed main");
    repository.git(&["rm", "-q", FILE]);
    repository.git("commit -q --no-verify -m change");
    for (branch, other) in [("removed", "thinned"), ("thinned", "removed")] {
        repository.git(&["checkout", "-q", branch]);
        repository.git_fails(&["merge", "-q", other]);
        repository.ok("resolve").says("removed: ");
        assert!(!repository.is_stopped());
        assert!(!repository.path(FILE).exists());
        repository.git("reset -q --hard");
    }
}

/// Twenty commits on each of two branches, which add records in one gap.
fn with_twenty(door: &str) -> (Repository, [Vec<String>; 2]) {
    let repository = begin(door);
    let added = ["p", "q"].map(|letter| {
        let paths = (0..20).map(|number| format!("/{letter}{number:02}"));
        paths.collect::<Vec<_>>()
    });
    for (branch, added) in ["other", "main"].into_iter().zip(&added) {
        repository.git(&["checkout", "-q", "-B", branch, "main"]);
        for count in 1..=added.len() {
            let paths: Vec<&str> = added[..count].iter().map(String::as_str).collect();
            repository.commit_as(&file("one", &paths));
        }
    }
    (repository, added)
}

#[test]
fn twenty_commits_are_rebased_and_picked() {
    let operations = [("rebase", "other"), ("cherry-pick", "main..other")];
    for (door, (operation, commits)) in DOORS.into_iter().zip(operations) {
        let _case = Case((door, operation));
        let (repository, added) = with_twenty(door);
        repository.completes(door, &[operation, commits], &[operation, "--continue"]);
        let paths: Vec<&str> = added.iter().flatten().map(String::as_str).collect();
        repository.assert_file(FILE, &file("one", &paths));
        let count = repository.git("rev-list --count HEAD");
        assert_eq!(count.trim(), "41");
    }
}

#[test]
fn a_commit_below_others_is_reverted() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        repository.commit_as(&file("one", &["/p"]));
        repository.git("tag added");
        repository.commit_as(&file("one", &["/p", "/q"]));
        let revert = ["revert", "--no-edit", "added"];
        repository.completes(door, &revert, &["revert", "--continue"]);
        repository.assert_file(FILE, &file("one", &["/q"]));
    }
}

#[test]
fn a_stash_and_a_patch_are_applied() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        repository.write(FILE, file("one", &["/q"]));
        repository.git("stash -q");
        repository.commit_as(&file("one", &["/p"]));
        let popped = repository.try_git("stash pop");
        assert_eq!(popped.status.success(), door == "driver", "{popped:?}");
        if door == "resolve" {
            repository.ok("resolve").says("merged: ");
        }
        repository.assert_file(FILE, &file("one", &["/p", "/q"]));

        let repository = begin(door);
        repository.branch("other", "main", &file("one", &["/q"]));
        repository.git("format-patch -q -1 -o ..");
        repository.git("checkout -q main");
        repository.commit_as(&file("one", &["/p"]));
        let patch = ["am", "-q", "-3", "../0001-change.patch"];
        repository.completes(door, &patch, &["am", "--continue"]);
        repository.assert_file(FILE, &file("one", &["/p", "/q"]));
    }
}

#[test]
fn rerere_repeats_what_urldb_resolved() {
    let repository = begin("resolve");
    repository.git("config rerere.enabled true");
    repository.branch("other", "main", &file("one", &["/q"]));
    repository.git("checkout -q main");
    repository.commit_as(&file("one", &["/p"]));
    let wanted = file("one", &["/p", "/q"]);
    for _ in 0..2 {
        repository.merges("resolve", "other");
        repository.assert_file(FILE, &wanted);
        repository.git("reset -q --hard HEAD~1");
    }
    repository.git_fails("merge -q other");
    repository.assert_file(FILE, &wanted);
}

#[test]
fn line_ends_of_the_work_tree_stay() {
    for door in DOORS {
        let _case = Case(door);
        let repository = begin(door);
        repository.branch("other", "main", &file("one", &["/q"]));
        repository.git("checkout -q main");
        repository.commit_as(&file("one", &["/p"]));
        repository.git("config core.autocrlf true");
        fs::remove_file(repository.path(FILE)).unwrap();
        repository.git("checkout -q -- .");
        repository.merges(door, "other");
        let wanted = file("one", &["/p", "/q"]);
        assert_eq!(repository.in_head(FILE), wanted);
        repository.assert_file(FILE, &wanted.replace('\n', "\r\n"));
        assert_lacks(&repository.git("ls-files --eol urldb"), "mixed");
    }
}
