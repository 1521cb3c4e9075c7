//! `urldb resolve` after git stopped, and as git's merge driver.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::Stdio;

use crate::hook::Repository;
use crate::sandbox::{Case, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

const BASE: &str = "---\nhttps: true\n---\n_path: /a\nname: one\n---\n_path: /m\n---\n_path: /z\n";

/// A domain file with these further records after `/m`.
fn with_records(paths: &[&str]) -> String {
    let records = paths.iter().flat_map(|path| ["---\n_path: ", path, "\n"]);
    let records: String = records.collect();
    BASE.replace("---\n_path: /z\n", &format!("{records}---\n_path: /z\n"))
}

impl Repository {
    fn commit(&self, text: &str) {
        self.sandbox.write(FILE, text);
        self.commit_all();
    }

    fn commit_all(&self) {
        self.git("add --all");
        self.git("commit -q --no-verify --allow-empty -m change");
    }

    /// `BASE`, `ours` on the branch main, `theirs` on the branch other.
    fn with_branches(self, ours: &str, theirs: &str) -> Self {
        self.commit(BASE);
        self.git("checkout -q -b other");
        self.commit(theirs);
        self.git("checkout -q main");
        self.commit(ours);
        self
    }

    /// One more record on each side: `/p` on main, and `/q` on other.
    fn with_additions(self) -> Self {
        self.with_branches(&with_records(&["/p"]), &with_records(&["/q"]))
    }

    /// Git stops at a merge of these additions.
    fn stopped_at_additions() -> Self {
        Self::stopped(&with_records(&["/p"]), &with_records(&["/q"]))
    }

    /// Everything is merged, with both additions.
    #[track_caller]
    fn assert_has_both(&self) {
        self.assert_file(FILE, &with_records(&["/p", "/q"]));
        assert_eq!(self.unmerged(), "");
    }

    /// A merge of `other` into main, at which git stopped.
    pub(crate) fn stopped(ours: &str, theirs: &str) -> Self {
        let repository = Self::without_hook().with_branches(ours, theirs);
        repository.git_fails("merge -q other");
        repository
    }

    fn unmerged(&self) -> String {
        self.git("ls-files --unmerged")
    }
}

#[test]
fn additions_that_git_takes_for_a_conflict_are_resolved() {
    let repository = Repository::stopped(&with_records(&["/p"]), &with_records(&["/o", "/q"]));
    repository
        .ok("resolve --dry-run")
        .says("would merge: urldb/example.test.yaml");
    assert_has(&repository.read(FILE), "<<<<<<<");
    let merged = repository.urldb("resolve");
    merged.code(0).says("merged: urldb/example.test.yaml");
    let wanted = with_records(&["/o", "/p", "/q"]);
    repository.assert_file(FILE, &wanted);
    assert_eq!(repository.in_index(FILE), wanted);
    assert_eq!(repository.unmerged(), "");
    repository.git("commit -q --no-edit");
    assert_eq!(repository.git("status --porcelain"), "");
    repository.ok("resolve").says("no unmerged files");
}

#[test]
fn git_undoes_a_resolved_merge() {
    let ours = with_records(&["/p"]);
    let repository = Repository::stopped(&ours, &with_records(&["/q"]));
    repository.ok("resolve");
    repository.git("merge --abort");
    repository.assert_file(FILE, &ours);
    assert_eq!(repository.git("status --porcelain"), "");
}

#[test]
fn rebase_cherry_pick_and_stash_are_resolved_too() {
    let (ours, theirs) = (with_records(&["/p"]), with_records(&["/q"]));
    for (begin, end) in [
        ("rebase -q other", "rebase --continue"),
        ("cherry-pick other", "cherry-pick --continue"),
    ] {
        let repository = Repository::without_hook().with_branches(&ours, &theirs);
        repository.git_fails(begin);
        repository.ok("resolve");
        repository.git(end);
        repository.assert_has_both();
        assert_eq!(repository.git("status --porcelain"), "");
    }
    let repository = Repository::without_hook();
    repository.commit(BASE);
    repository.write(FILE, &theirs);
    repository.git("stash -q");
    repository.commit(&ours);
    repository.git_fails("stash pop -q");
    repository.ok("resolve");
    repository.assert_has_both();
}

#[test]
fn a_conflict_stays_around_its_record_and_cannot_be_committed() {
    let ours = with_records(&["/p"]).replace("name: one", "name: two");
    let theirs = with_records(&["/q"]).replace("name: one", "name: three");
    let repository = Repository::stopped(&ours, &theirs);
    repository.ok("hook install");
    for _ in 0..2 {
        repository.exits(1, "resolve").says(&[
            "urldb/example.test.yaml:3:1: conflict-marker: both sides changed `name` of /a",
            "0 files merged, 1 with conflicts",
        ]);
        let text = repository.read(FILE);
        assert_eq!(
            text,
            "---\nhttps: true\n<<<<<<< ours\n---\n_path: /a\nname: two\n=======\n---\n_path: /a\nname: three\n>>>>>>> theirs\n---\n_path: /m\n---\n_path: /p\n---\n_path: /q\n---\n_path: /z\n"
        );
        assert!(repository.unmerged().contains(FILE));
    }
    repository
        .exits(1, "lint")
        .says("urldb/example.test.yaml:3:1: conflict-marker");
    repository.git(&["add", FILE]);
    let words = repository.git_fails("commit --no-edit");
    assert_has(&words, "conflict-marker");
}

#[test]
fn the_base_is_shown_where_git_is_configured_to() {
    let (ours, theirs) = (BASE.replace("one", "two"), BASE.replace("one", "three"));
    let repository = Repository::without_hook().with_branches(&ours, &theirs);
    repository.git("config merge.conflictStyle zdiff3");
    repository.git_fails("merge other");
    repository.exits(1, "resolve");
    let text = repository.read(FILE);
    assert_has(&text, "||||||| base\n---\n_path: /a\nname: one\n=======\n");
}

#[test]
fn work_of_a_person_is_left_alone() {
    let (ours, theirs) = (with_records(&["/p"]), with_records(&["/q"]));
    let repository = Repository::stopped(&ours, &theirs);
    let edited = repository.read(FILE).replace("/q", "/quite");
    repository.write(FILE, &edited);
    repository.exits(1, "resolve").says(&[
        "the file was edited since the merge",
        "git checkout --merge -- urldb/example.test.yaml",
    ]);
    repository.assert_file(FILE, &edited);
    assert!(repository.unmerged().contains(FILE));
    repository.git(&["checkout", "-q", "--merge", "--", FILE]);
    repository.ok("resolve");
    repository.assert_has_both();
    // A file that is gone has no work in it.
    let repository = Repository::stopped(&ours, &theirs);
    fs::remove_file(repository.path(FILE)).unwrap();
    repository.ok(&["resolve", FILE]);
    repository.assert_has_both();
}

#[test]
fn a_file_that_one_side_removed() {
    for (changed, is_removed) in [
        (BASE.replace("name: one", "name: 'one'"), true),
        (BASE.replace("name: one", "name: two"), false),
    ] {
        let repository = Repository::without_hook();
        repository.write("urldb/other.test.yaml", BASE);
        let repository = repository.with_branches(&changed, BASE);
        repository.git("checkout -q other");
        repository.git(&["rm", "-q", FILE]);
        repository.commit_all();
        repository.git("checkout -q main");
        repository.git_fails("merge other");
        let resolved = repository.urldb("resolve");
        if is_removed {
            resolved.code(0).says("removed: urldb/example.test.yaml");
            assert!(!repository.path(FILE).exists());
            assert_eq!(repository.unmerged(), "");
        } else {
            resolved
                .code(1)
                .says("their side removed the file, our side changed it");
            repository.assert_file(FILE, &changed);
            assert!(repository.unmerged().contains(FILE));
        }
    }
}

const OLD: &str = "urldb/old.test.yaml";
const NEW: &str = "urldb/new.test.yaml";
const TWO: &str = "urldb/two.test.yaml";

impl Repository {
    /// A file that is renamed on two branches, in the second case with a further record, and removed on
    /// a third.
    fn with_renames() -> Self {
        let repository = Self::without_hook();
        repository.write(OLD, BASE);
        repository.commit_all();
        for (branch, name) in [("new", NEW), ("two", TWO)] {
            repository.git(&["checkout", "-q", "-b", branch, "main"]);
            repository.git(&["mv", OLD, name]);
            repository.commit_all();
        }
        repository.git("checkout -q -b reformatted main");
        repository.git(&["mv", OLD, NEW]);
        let text = BASE.replace("name: one", "name: 'one'");
        repository.write(NEW, text);
        repository.commit_all();
        repository.git("checkout -q -b removed main");
        repository.git(&["rm", "-q", OLD]);
        repository.write("notes.txt", "x");
        repository.commit_all();
        repository
    }

    /// Begins an operation on `branch` at which git stops. `stash` pops the changes of `other`, and `am`
    /// applies them.
    fn stop(&self, branch: &str, operation: &str, other: &str) {
        let arguments = match operation {
            "stash" => {
                self.git("checkout -q main");
                self.git(&["checkout", "-q", other, "--", "."]);
                self.git(&["rm", "-q", "--ignore-unmatch", OLD]);
                self.git("stash -q");
                vec!["stash", "pop"]
            }
            "am" => {
                self.git(&format!("format-patch -q --no-renames -1 -o .. {other}"));
                vec!["am", "-q", "-3", "../0001-change.patch"]
            }
            "revert" => {
                // The reverse of a commit that undoes the changes of `other`.
                self.git(&["checkout", "-q", other]);
                self.git("revert --no-edit HEAD");
                self.git("tag undone");
                vec!["revert", "--no-edit", "undone"]
            }
            _ => vec![operation, other],
        };
        self.git(&["checkout", "-q", branch]);
        self.git_fails(&arguments);
        assert_ne!(self.unmerged(), "");
    }

    /// Runs a command as it was printed.
    #[track_caller]
    pub(crate) fn run_as_printed(&self, command: &str) {
        let mut shell = self.sandbox.command("sh");
        let done = shell.args(["-c", command]).output().unwrap();
        assert!(done.status.success(), "{command}: {done:?}");
    }
}

/// The commands of a help, each between backticks, in their order.
fn commands_of(help: &str) -> Vec<String> {
    let commands = help.split('`').skip(1).step_by(2);
    commands.map(str::to_owned).collect()
}

#[test]
fn a_file_that_one_side_renamed_and_the_other_removed_is_left_to_a_person() {
    let operations = ["merge", "rebase", "cherry-pick", "revert", "stash", "am"];
    let branches = [
        ("removed", "new", true),
        ("removed", "reformatted", false),
        ("new", "removed", false),
        ("reformatted", "removed", true),
    ];
    for (number, operation) in operations.into_iter().enumerate() {
        let (branch, other, keeps) = branches[number % branches.len()];
        let _case = Case((operation, other, branch));
        let repository = Repository::with_renames();
        repository.stop(branch, operation, other);
        let text = repository.read(NEW);
        let mut help = String::new();
        for arguments in ["resolve --dry-run", "resolve"] {
            let left = repository.exits(1, arguments);
            let left = left.says("renamed");
            let lines = left.out.lines();
            help = lines.filter(|line| line.contains("help: ")).collect();
            repository.assert_file(NEW, &text);
            assert!(repository.unmerged().contains(NEW));
        }
        let [keep, remove] = &commands_of(&help)[..] else {
            panic!("{help}");
        };
        repository.run_as_printed(if keeps { keep } else { remove });
        assert_eq!(repository.unmerged(), "");
        assert_eq!(repository.path(NEW).exists(), keeps);
        repository.ok("resolve");
        repository.git("commit -q --allow-empty --no-verify -m done");
        let files = repository.git("ls-tree -r --name-only HEAD");
        assert_eq!(files.contains(NEW), keeps);
    }
}

#[test]
fn a_conflict_of_names_says_what_each_side_did() {
    let (gone, renamed) = ("removed urldb/old.test.yaml", "side renamed to this name");
    for (branch, other, message) in [
        (
            "removed",
            "new",
            format!("our side {gone}, which their {renamed}"),
        ),
        (
            "reformatted",
            "removed",
            format!("their side {gone}, which our {renamed}"),
        ),
    ] {
        let repository = Repository::with_renames();
        repository.stop(branch, "merge", other);
        let help = "keep the file with `git add urldb/new.test.yaml`, or remove it with \
                    `git rm urldb/new.test.yaml`";
        repository.exits(1, "resolve").says(&[&*message, help]);
    }
}

#[test]
fn a_file_with_two_new_names_is_left_to_a_person() {
    for operation in ["merge", "rebase", "cherry-pick", "revert", "stash", "am"] {
        let _case = Case(operation);
        let repository = Repository::with_renames();
        repository.stop("new", operation, "two");
        // A rebase applies our commit to theirs.
        let (our, their) = if operation == "rebase" {
            (TWO, NEW)
        } else {
            (NEW, TWO)
        };
        let before = repository.unmerged();
        for _ in 0..2 {
            let left = repository.exits(1, "resolve");
            let expected = [
                format!(
                    "{OLD}:1:1: unmerged-file: our side renamed this file to {our}, their side to {their}"
                ),
                format!("decide about the new names, and remove this one with `git rm {OLD}`"),
                format!(
                    "{our}:1:1: unmerged-file: our side renamed a file to this name, their side renamed it to {their}"
                ),
                format!(
                    "{their}:1:1: unmerged-file: their side renamed a file to this name, our side renamed it to {our}"
                ),
                format!("keep the file with `git add {our}`, or remove it with `git rm {our}`"),
                format!("keep the file with `git add {their}`, or remove it with `git rm {their}`"),
            ];
            left.says(&expected);
            assert_eq!(repository.unmerged(), before);
        }
        repository.run_as_printed(&format!("git add {NEW}"));
        repository.run_as_printed(&format!("git rm {TWO}"));
        if operation == "merge" {
            // With the new names settled, both sides lack the old one.
            repository
                .ok("resolve")
                .says("removed: urldb/old.test.yaml");
        } else {
            repository.run_as_printed(&format!("git rm {OLD}"));
        }
        assert_eq!(repository.unmerged(), "");
        repository.assert_file(NEW, &BASE);
        assert!(!repository.path(TWO).exists());
    }
}

#[test]
fn commands_of_conflicts_work_below_the_project_and_with_odd_names() {
    for folder in ["a b", "-x", ":x"] {
        let repository = Repository::without_hook();
        let toml = format!("[database]\npath = {folder:?}\n");
        repository.write("urldb.toml", toml);
        let file = format!("{folder}/example.test.yaml");
        repository.write(&file, BASE);
        repository.commit_all();
        repository.git("checkout -q -b other");
        repository.git(&["rm", "-q", "--", &format!("./{file}")]);
        repository.commit_all();
        repository.git("checkout -q main");
        let changed = BASE.replace("one", "two");
        repository.write(&file, changed);
        repository.commit_all();
        repository.git_fails("merge other");
        fs::create_dir(repository.path("below")).unwrap();
        let left = repository
            .urldb_command("resolve")
            .current_dir(repository.path("below"))
            .output()
            .unwrap();
        let said = String::from_utf8(left.stdout).unwrap();
        let commands = commands_of(said.lines().find(|line| line.contains("help: ")).unwrap());
        let mut shell = repository.command("sh");
        shell.current_dir(repository.path("below"));
        let done = shell.args(["-c", &commands[0]]).output().unwrap();
        assert!(done.status.success(), "{commands:?}: {done:?}");
        assert_eq!(repository.unmerged(), "", "{folder}");
    }
}

/// Names of ledger files are hosts too, and no person is asked.
#[test]
fn a_renamed_file_of_the_ledger_is_kept() {
    let repository = Repository::without_hook();
    let ledger = "status/other.test.yaml";
    repository.write(LEDGER, entry("ok", 1));
    repository.commit(BASE);
    repository.git("checkout -q -b other");
    repository.git(&["rm", "-q", LEDGER]);
    repository.commit_all();
    repository.git("checkout -q main");
    repository.git(&["mv", LEDGER, ledger]);
    repository.commit_all();
    repository.git_fails("merge other");
    repository.ok("resolve");
    repository.assert_file(ledger, &entry("ok", 1));
    assert_eq!(repository.unmerged(), "");
}

#[test]
fn what_rerere_resolved_is_not_called_an_edit() {
    let repository = Repository::without_hook();
    repository.git("config rerere.enabled true");
    let (ours, theirs) = (BASE.replace("one", "two"), BASE.replace("one", "three"));
    let repository = repository.with_branches(&ours, &theirs);
    repository.git_fails("merge other");
    repository.commit(&BASE.replace("one", "four"));
    repository.git("reset -q --hard HEAD~1");
    repository.git_fails("merge other");
    repository.assert_file(FILE, &BASE.replace("one", "four"));
    let left = repository.exits(1, "resolve");
    let left = left.says("`git rerere` has resolved the file as in an earlier merge");
    let help = left
        .out
        .lines()
        .find(|line| line.contains("help: "))
        .unwrap();
    let [add, again] = &commands_of(help)[..] else {
        panic!("{help}");
    };
    repository.run_as_printed(add);
    assert_eq!(repository.unmerged(), "");
    repository.run_as_printed(again);
    let edited = repository.read(FILE).replace("three", "five");
    repository.write(FILE, edited);
    repository.exits(1, "resolve");
}

#[test]
fn a_version_with_mistakes_is_merged_by_lines_and_named() {
    let broken = BASE.replace("_path: /z", "_path: [/z");
    let repository =
        Repository::stopped(&broken.replace("one", "two"), &BASE.replace("one", "three"));
    repository.exits(1, "resolve").says(
        "urldb/example.test.yaml:5:1: unmerged-file: ours cannot be merged by record: line 9",
    );
    let text = repository.read(FILE);
    assert_has(
        &text,
        "<<<<<<< ours\nname: two\n=======\nname: three\n>>>>>>> theirs\n",
    );
}

#[test]
fn another_process_has_locked_the_index() {
    let repository = Repository::stopped_at_additions();
    repository.write(".git/index.lock", "");
    repository
        .exits(2, "resolve")
        .complains(&["not staged", "index.lock"]);
    fs::remove_file(repository.path(".git/index.lock")).unwrap();
    repository.ok("resolve");
    repository.assert_has_both();
}

#[test]
fn a_link_out_of_the_repository_is_not_followed() {
    let repository = Repository::stopped_at_additions();
    let outside = repository.path("../outside.yaml");
    let text = repository.read(FILE);
    fs::write(&outside, &text).unwrap();
    fs::remove_file(repository.path(FILE)).unwrap();
    symlink(&outside, repository.path(FILE)).unwrap();
    repository.exits(2, "resolve").complains("no regular file");
    assert_eq!(fs::read_to_string(&outside).unwrap(), text);
}

#[test]
fn line_ends_of_the_work_tree_are_gits() {
    let repository = Repository::stopped_at_additions();
    repository.git("config core.autocrlf true");
    let text = repository.read(FILE).replace('\n', "\r\n");
    repository.write(FILE, text);
    repository.ok("resolve");
    let wanted = with_records(&["/p", "/q"]);
    repository.assert_file(FILE, &wanted.replace('\n', "\r\n"));
    assert_eq!(repository.in_index(FILE), wanted);
    assert_eq!(repository.git("diff --name-only"), "");
}

#[test]
fn files_of_others_are_not_touched() {
    let repository = Repository::without_hook();
    let write = |text: &str| {
        repository.write("notes.yaml", text);
        repository.write("urldb/deeper/notes.yaml", text);
    };
    write("a\n");
    repository.commit(BASE);
    repository.git("checkout -q -b other");
    write("b\n");
    repository.commit_all();
    repository.git("checkout -q main");
    write("c\n");
    repository.commit_all();
    repository.git_fails("merge other");
    let before = repository.tree(".");
    repository.ok("resolve").says("no unmerged files");
    repository
        .exits(2, "resolve notes.yaml")
        .complains("notes.yaml is no file of the database or the ledger");
    assert_eq!(repository.tree("."), before);
}

const LEDGER: &str = "status/example.test.yaml";

fn entry(state: &str, day: u8) -> String {
    format!("---\n---\n_path: /a\nsince: '2026-11-0{day}T00:00:00Z'\nstate: {state}\n")
}

const HISTORY: &str = "status/history/2026-11.jsonl";

/// Both sides saw the same news.
fn diverged_ledger(repository: &Repository) {
    let write = |state, day: u8| {
        repository.write(LEDGER, entry(state, day));
        let lines = if day == 1 {
            "1\n"
        } else {
            &format!("1\n{day}\n")
        };
        repository.write(HISTORY, lines);
    };
    write("ok", 1);
    repository.commit(BASE);
    repository.git("checkout -q -b other");
    write("gone", 3);
    repository.commit_all();
    repository.git("checkout -q main");
    write("gone", 2);
    repository.commit_all();
}

#[test]
fn the_ledger_merges_by_its_own_rule() {
    for (branch, other) in [("main", "other"), ("other", "main")] {
        let repository = Repository::without_hook();
        diverged_ledger(&repository);
        repository.git(&["checkout", "-q", branch]);
        repository.git_fails(&["merge", other]);
        repository.ok("resolve").says(&[LEDGER, HISTORY]);
        repository.assert_file(LEDGER, &entry("gone", 2));
        repository.assert_file(HISTORY, "1\n2\n3\n");
        assert_eq!(repository.unmerged(), "");
    }
}

#[test]
fn the_daemon_resolves_the_ledger_before_a_run() {
    let repository = Repository::without_hook();
    diverged_ledger(&repository);
    repository.git_fails("merge other");
    let schedule = "[[schedule]]\ncron = \"* * * * * *\"\ncategory = \"none\"\n";
    repository.write("urldb.toml", schedule);
    let mut watch = repository.start("watch");
    watch.expect("merged: status/example.test.yaml");
    watch.signal("-TERM");
    watch.end();
    repository.assert_file(LEDGER, &entry("gone", 2));
    assert_eq!(repository.unmerged(), "");
}

#[test]
fn the_daemon_needs_no_repository_or_no_git() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, BASE);
    let schedule = "[[schedule]]\ncron = \"* * * * * *\"\ncategory = \"none\"\n";
    sandbox.write("urldb.toml", schedule);
    sandbox
        .exits(2, "resolve")
        .complains("is in no git repository");
    for is_repository in [false, true] {
        if is_repository {
            sandbox
                .command("git")
                .args(["init", "-q"])
                .status()
                .unwrap();
        }
        let mut command = sandbox.urldb_command("watch");
        if is_repository {
            command.env("PATH", "");
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let runs = lines.filter(|line| line.as_ref().unwrap().contains("scheduled run"));
        assert_eq!(runs.take(2).count(), 2, "the daemon has ended");
        let kill = ["-TERM", &child.id().to_string()].map(str::to_owned);
        sandbox.command("kill").args(kill).status().unwrap();
        let output = child.wait_with_output().unwrap();
        let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_lacks(&complaints, "git");
    }
}

#[test]
fn the_ledger_may_be_a_work_tree_of_its_own() {
    let repository = Repository::without_hook();
    repository.commit(BASE);
    let ledger = |state, day| repository.write(LEDGER, entry(state, day));
    let git = |arguments: &str| repository.git(&format!("-C status {arguments}"));
    repository.git("worktree add -q --orphan -b state status");
    ledger("ok", 1);
    git("add --all");
    git("commit -q -m one");
    git("checkout -q -b rival");
    ledger("gone", 3);
    git("commit -q -a -m change");
    git("checkout -q state");
    ledger("gone", 2);
    git("commit -q -a -m three");
    repository.git_fails("-C status rebase rival");
    repository
        .ok("resolve")
        .says("merged: status/example.test.yaml");
    git("rebase --continue");
    repository.assert_file(LEDGER, &entry("gone", 2));
}

#[test]
fn git_merges_with_the_driver_and_as_before_without_it() {
    let repository = Repository::without_hook();
    let config = repository.read(".git/config");
    repository.write(".gitattributes", "* text=auto");
    repository.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    repository
        .ok("hook install")
        .says(&["installed the merge driver in", ".gitattributes"]);
    repository.assert_file(".gitattributes", "* text=auto\nurldb/*.yaml merge=urldb\nstatus/**/*.yaml merge=urldb\nstatus/history/*.jsonl merge=union\n");
    let again = repository.ok("hook install");
    assert_lacks(&again.out, "merge driver");
    let repository = repository.with_additions();
    repository.git("merge -q --no-edit other");
    repository.assert_has_both();
    diverge_again(&repository);
    let words = repository.git_fails("merge rival");
    assert_has(
        &words,
        "urldb/example.test.yaml:3:1: conflict-marker: both sides changed `name` of /a",
    );
    assert_has(
        &repository.read(FILE),
        "<<<<<<< ours\n---\n_path: /a\nname: two\n",
    );
    repository.git("merge --abort");

    repository.ok("hook uninstall").says("removed urldb from");
    repository.assert_file(".git/config", &config);
    repository.assert_file(
        ".gitattributes",
        "* text=auto\nstatus/history/*.jsonl merge=union\n",
    );
    repository.assert_file(".git/hooks/pre-commit", "#!/bin/sh\n");
    assert!(!repository.path(".git/hooks/pre-merge-commit").exists());
    let nothing = repository.urldb("hook uninstall");
    nothing.code(0).says("nothing of urldb is installed here");
}

/// Changes one key on main and on `rival` in different ways.
fn diverge_again(repository: &Repository) {
    let text = repository.read(FILE);
    repository.git("checkout -q -b rival");
    repository.commit(&text.replace("one", "three"));
    repository.git("checkout -q main");
    repository.commit(&text.replace("one", "two"));
}

#[test]
fn without_urldb_the_driver_merges_lines_and_loses_no_side() {
    let repository = Repository::without_hook();
    repository.ok("hook install");
    let mut repository = repository.with_additions();
    repository.sandbox.search_path = std::env::var("PATH").unwrap();
    repository.git_fails("merge other");
    let text = repository.read(FILE);
    assert_has(
        &text,
        "<<<<<<< ours\n_path: /p\n=======\n_path: /q\n>>>>>>> theirs\n",
    );
    repository.ok("resolve");
    repository.assert_has_both();
}

/// Graphical programs often start git with a short PATH.
#[test]
fn the_driver_is_found_where_the_hook_is() {
    for folder in [".local/bin", ".cargo/bin"] {
        let repository = Repository::without_hook();
        repository.ok("hook install");
        let mut repository = repository.with_additions();
        let programs = repository.path("../home").join(folder);
        fs::create_dir_all(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_urldb"), programs.join("urldb")).unwrap();
        repository.sandbox.search_path = std::env::var("PATH").unwrap();
        let mut merge = repository.command("git");
        let who = ["-c", "user.name=A", "-c", "user.email=a@example.test"];
        merge
            .args(who)
            .args(["merge", "--no-edit", "--no-verify", "other"])
            .env("HOME", repository.path("../home"))
            .env_remove("CARGO_HOME");
        let merged = merge.output().unwrap();
        assert!(merged.status.success(), "{folder}: {merged:?}");
        repository.assert_has_both();
    }
}

#[test]
fn the_driver_merges_lines_of_a_version_with_mistakes() {
    let repository = Repository::without_hook();
    repository.ok("hook install");
    let broken = BASE.replace("_path: /z", "_path: [/z");
    let repository = repository.with_branches(&broken, &BASE.replace("https: true", "https: yes"));
    let merged = repository.try_git("merge --no-edit --no-verify other");
    let words = String::from_utf8_lossy(&merged.stderr);
    assert!(merged.status.success(), "{words}");
    assert_has(&words, "cannot be merged by record: line 9");
    repository.assert_file(FILE, &broken.replace("https: true", "https: yes"));
}

/// Two sides promise different bytes, and a run has seen those of one of them.
fn disputed_content(site: &Site) -> Repository {
    let repository = Repository::without_hook();
    repository.sandbox.write("urldb.toml", site.network());
    for (day, content) in [(20, "before"), (24, "after")] {
        site.serve(
            "/a",
            Reply::new("200 OK", &["Content-Type: text/plain"], content),
        );
        repository.sandbox.write(FILE, promises(&[("/a", content)]));
        let at = format!("2099-11-{day}T06:00:00Z");
        repository.sandbox.urldb_at(&at, "run").code(0);
    }
    let repository = repository.with_branches(
        &promises(&[("/a", "before")]),
        &promises(&[("/a", "after")]),
    );
    repository.git_fails("merge -q other");
    repository
}

#[test]
fn evidence_stands_beside_a_conflict_and_settles_it_if_asked() {
    let site = Site::with(&[]);
    let repository = disputed_content(&site);
    let sentence = "a run saw the content of theirs last";
    repository
        .exits(1, "resolve")
        .says(&format!("help: {sentence}\n"));
    repository.git("config user.name ada");
    repository.git("config user.email ada@example.test");
    repository.ok("resolve --by-evidence --commit").says(&[
        format!("http://example.test/a: took theirs: {sentence}").as_str(),
        "merged: urldb/example.test.yaml",
        "Merge branch 'other'",
    ]);
    repository.assert_file(FILE, &promises(&[("/a", "after")]));
    assert_eq!(repository.unmerged(), "");
    let message = repository.git("log -1 --format=%B");
    assert_lacks(&message, "# Conflicts");
    assert_has(
        &message,
        &format!("http://example.test/a: took theirs: {sentence}"),
    );
    assert_has(&message, "Merge branch 'other'");
}

#[test]
fn a_rebase_goes_on_after_each_resolved_commit() {
    let repository =
        Repository::without_hook().with_branches(&with_records(&["/p"]), &with_records(&["/q"]));
    repository.git("config user.name ada");
    repository.git("config user.email ada@example.test");
    repository.commit(&with_records(&["/p", "/r"]));
    repository.git_fails("rebase -q other");
    // Both commits add records beside those of the other side.
    let ran = repository.urldb("resolve --commit");
    if ran.code == 2 {
        ran.complains("`git rebase --continue` stopped");
        repository.ok("resolve --commit").says("committed ");
    }
    assert!(!repository.path(".git/rebase-merge").exists());
    repository.assert_file(FILE, &with_records(&["/p", "/q", "/r"]));
    assert_eq!(repository.git("status --porcelain"), "");
    repository.ok("resolve --commit").says("no unmerged files");
}

#[test]
fn a_conflict_that_is_left_is_not_committed() {
    let repository =
        Repository::stopped(&promises(&[("/a", "ours")]), &promises(&[("/a", "theirs")]));
    repository.exits(1, "resolve --commit");
    assert!(repository.path(".git/MERGE_HEAD").exists());
    // Files of others are git's to judge.
    repository.git("merge --abort");
    for (branch, text) in [("other", "theirs"), ("main", "ours")] {
        repository.git(&["checkout", "-q", branch]);
        repository.write("notes.txt", text);
        repository.write(FILE, with_records(&[&format!("/{text}")]));
        repository.git("add .");
        repository.git(&["commit", "-q", "-m", text]);
    }
    repository.git_fails("merge -q other");
    repository
        .exits(2, "resolve --commit")
        .complains("`git merge --continue` stopped");
    assert!(repository.path(".git/MERGE_HEAD").exists());
    assert_eq!(repository.unmerged().lines().count(), 2);
}

#[test]
fn without_evidence_nothing_is_taken() {
    let site = Site::with(&[]);
    let repository = disputed_content(&site);
    fs::remove_dir_all(repository.path("status")).unwrap();
    let ran = repository.exits(1, "resolve --by-evidence");
    assert_lacks(&ran.out, "took");
    assert_has(&repository.read(FILE), "<<<<<<< ours");
}

/// An edit would be taken for the work of a person.
#[test]
fn edits_of_a_file_with_a_conflict_are_refused_first() {
    let edits = [
        "add --no-fetch http://example.test/zz",
        "rm http://example.test/a",
        "mv example.test other.test",
    ];
    let repository = Repository::stopped_at_additions();
    let before = repository.read(FILE);
    for edit in edits {
        repository
            .exits(2, edit)
            .complains(&["urldb/example.test.yaml", "conflict"]);
        repository.assert_file(FILE, &before);
    }
    repository.ok("resolve");
    repository.assert_has_both();
    // Git writes no markers if a side removed the file.
    let repository = Repository::without_hook().with_branches(&with_records(&["/p"]), BASE);
    repository.git("checkout -q other");
    repository.git("rm -q urldb/example.test.yaml");
    repository.git("commit -q -m remove");
    repository.git("checkout -q main");
    repository.git_fails("merge -q other");
    for edit in edits {
        repository.exits(2, edit).complains("has a conflict");
    }
}
