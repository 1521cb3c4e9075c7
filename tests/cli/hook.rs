//! `git commit` with the installed hook.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, Texts, assert_has, assert_lacks};
use crate::site::{FILE, promise, promises};

/// A git repository whose hooks find the program on the PATH, as users have it.
#[derive(Debug)]
pub(crate) struct Repository {
    pub(crate) sandbox: Sandbox,
}

impl Deref for Repository {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Repository {
    fn new() -> Self {
        let repository = Self::without_hook();
        repository
            .ok("hook install")
            .says(&["installed", "pre-commit"]);
        repository
    }

    pub(crate) fn without_hook() -> Self {
        Self::of(Sandbox::new(""))
    }

    /// A git repository in this sandbox.
    pub(crate) fn of(mut sandbox: Sandbox) -> Self {
        let programs = sandbox.path("../programs");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_urldb"), programs.join("urldb")).unwrap();
        sandbox.search_path = format!("{}:{}", programs.display(), sandbox.search_path);
        let repository = Self { sandbox };
        repository.git("init -q -b main");
        repository
    }

    pub(crate) fn try_git(&self, arguments: &(impl Texts + ?Sized)) -> Output {
        let mut git = self.command("git");
        git.args(arguments.arguments())
            .env("GIT_EDITOR", "true")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "A U Thor");
            git.env(format!("GIT_{who}_EMAIL"), "author@example.test");
        }
        git.output().unwrap()
    }

    #[track_caller]
    pub(crate) fn git(&self, arguments: &(impl Texts + ?Sized)) -> String {
        let output = self.try_git(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Git refuses, or stops at a conflict; gives what it complains of.
    #[track_caller]
    pub(crate) fn git_fails(&self, arguments: &(impl Texts + ?Sized)) -> String {
        let output = self.try_git(arguments);
        assert!(!output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    /// A file as it is in the last commit.
    pub(crate) fn in_head(&self, file: &str) -> String {
        self.git(&["show", &format!("HEAD:{file}")])
    }

    /// A file as it is staged.
    pub(crate) fn in_index(&self, file: &str) -> String {
        self.git(&["show", &format!(":{file}")])
    }
}

#[test]
fn a_commit_is_put_in_order() {
    let repository = Repository::new();
    let shuffled = format!("---\n{}{}", promise("/b", "y"), promise("/a", "x"));
    repository.write(FILE, shuffled);
    repository.git("add .");
    repository.git("commit -q -m change");
    let canonical = promises(&[("/a", "x"), ("/b", "y")]);
    assert_eq!(repository.in_head(FILE), canonical);
    repository.assert_file(FILE, &canonical);
    assert_eq!(repository.git("status --porcelain"), "");
}

#[test]
fn a_commit_that_promises_nonsense_is_refused() {
    let repository = Repository::new();
    let text = "---\n---\n_path: /a\ncontent-sha256: abc\n";
    repository.write(FILE, text);
    repository.git("add .");
    let words = repository.git_fails("commit -q -m change");
    assert_has(&words, &format!("{FILE}:4:1"));
    assert_has(&words, "bad-digest");
    repository.git_fails("rev-parse -q --verify HEAD");
    repository.assert_file(FILE, &text);
}

#[test]
fn a_pointer_of_git_lfs_is_refused_and_called_that() {
    let repository = Repository::new();
    let oid = "a".repeat(64);
    let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12\n");
    repository.write(FILE, text);
    repository.git("add .");
    let words = repository.git_fails("commit -q -m change");
    assert_has(
        &words,
        &[
            &format!(
                "{FILE}:1:1: unreadable-file: the file cannot be read: it is a pointer of Git LFS"
            ),
            "`git lfs untrack`",
        ],
    );
}

#[test]
fn installing_twice_changes_nothing() {
    let repository = Repository::new();
    let before = repository.tree(".git/hooks");
    repository.ok("hook install").says("already there:");
    assert_eq!(repository.tree(".git/hooks"), before);
}

#[test]
fn hooks_need_a_repository_and_a_name() {
    let sandbox = Sandbox::new("");
    sandbox
        .exits(2, "hook install")
        .complains("is in no git repository");
    sandbox
        .exits(2, "hook run post-commit")
        .complains("hooks are pre-commit and pre-merge-commit");
}

#[test]
fn list_lint_hook_and_watch_agree_on_which_file_is_a_domain_file() {
    const BROKEN: &str = "---\n---\n_path: [\n";
    let names = [
        ("other.test.yaml", true),
        ("Odd_Name.yaml", true),
        (".x.test.yaml", false),
        (".urldb-tmp-abc.yaml", false),
        (".yaml", false),
        ("x.test.yml", false),
        ("x.test.yaml~", false),
    ];
    for (name, is_domain_file) in names {
        let repository = Repository::new();
        let file = format!("urldb/{name}");

        // The daemon reports changed files in the order of their names: the marker is the last.
        let marker = "urldb/zz.test.yaml";
        let mut watch = repository.start("watch");
        watch.expect("/urldb; urldb.toml has no [[schedule]] of runs");
        repository.write(&file, BROKEN);
        repository.write(marker, BROKEN);
        let first = watch.expect("has changed");
        // A name that was probably meant as that of a domain file is a mistake.
        let is_misnamed = Path::new(name).extension() == Some("yml".as_ref());
        let is_named = is_domain_file || is_misnamed;
        let expected = if is_named { &file } else { marker };
        assert!(first.contains(expected), "{name}: {first}");
        if is_misnamed {
            watch.expect(&format!("{file}:1:1: bad-file-name"));
        }
        drop(watch);
        fs::remove_file(repository.path(marker)).unwrap();

        let lint = repository.urldb("lint");
        assert_eq!(lint.out.contains(&file), is_named, "{lint:#?}");
        assert_eq!(lint.code, i32::from(is_named), "{lint:#?}");

        repository.git("add -A");
        let commit = repository.try_git("commit -q -m change");
        assert_eq!(commit.status.success(), !is_named, "{name}");
        let said = String::from_utf8_lossy(&commit.stderr);
        assert_eq!(
            said.contains("bad-file-name"),
            is_misnamed,
            "{name}: {said}"
        );

        repository.write(&file, promises(&[("/listed", "x")]));
        let listed = repository.ok("list");
        // A record in a file that is named after no host has no URL, and is named instead.
        let is_read = listed.out.contains("/listed") || listed.err.contains(&file);
        assert_eq!(is_read, is_domain_file, "{listed:#?}");
    }
}

#[test]
fn a_named_file_that_begins_with_a_dot_is_explained() {
    let sandbox = Sandbox::new("");
    sandbox.write("urldb/.x.test.yaml", promises(&[("/a", "x")]));
    sandbox.exits(1, "lint urldb/.x.test.yaml").says(&[
        "bad-file-name",
        "begins with a dot",
        "x.test.yaml",
    ]);
}

#[test]
fn a_project_below_the_top_is_checked() {
    let repository = Repository::without_hook();
    repository.write("deep/it's here/urldb.toml", "[database]\npath = \"data\"\n");
    let project = ["-C", "deep/it's here"];
    repository
        .ok(&[&project[..], &["hook", "install"]].concat())
        .says(&["installed", "pre-commit"]);
    let file = "deep/it's here/data/example.test.yaml";
    repository.write(
        file,
        format!("---\n{}{}", promise("/b", "y"), promise("/a", "x")),
    );
    repository.git("add .");
    repository.git("commit -q -m change");
    let canonical = promises(&[("/a", "x"), ("/b", "y")]);
    assert_eq!(repository.in_head(file), canonical);
    repository.write(file, "---\n---\n_path: [\n");
    repository.git_fails("commit -q -a -m change");
    repository
        .ok(&[&project[..], &["hook", "uninstall"]].concat())
        .says("removed");
    repository.git("commit -q -a -m change");
}

#[test]
fn a_broken_configuration_stops_only_commits_of_the_database() {
    let repository = Repository::new();
    repository.write(
        "urldb.toml",
        "[database]\npath = \"data\"\nno-such-key = 1\n[lint\n",
    );
    repository.write("data/note.txt", "not a file of the database\n");
    repository.write(FILE, "not the database either\n");
    repository.git("add .");
    repository.git("commit -q -m change");

    repository.write("data/example.test.yaml", promises(&[("/a", "x")]));
    repository.git("add .");
    let said = repository.git_fails("commit -q -m change");
    assert_has(
        &said,
        &[
            "the commit is stopped",
            "files of the database are staged",
            "urldb.toml:4:",
        ],
    );
    repository.write("urldb.toml", "[database]\npath = \"data\"\n");
    repository.git("commit -q -m change");
}

/// Another process has locked the database.
#[test]
fn a_commit_of_other_files_waits_for_no_lock() {
    let repository = Repository::new();
    let database = fs::File::open(repository.path("urldb")).unwrap();
    database.lock().unwrap();
    repository.write("note.txt", "one\n");
    repository.git("add note.txt");
    let begin = Instant::now();
    repository.git("commit -q -m change");
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_warning_that_stays_is_not_listed_as_normalized() {
    let repository = Repository::new();
    let record = promise("/b%7Ec", "y");
    repository.write(FILE, format!("---\n{record}{}", promise("/a", "x")));
    let lint = repository.urldb("lint");
    assert_has(&lint.out, "path-not-canonical");
    repository.git("add .");
    let output = repository.try_git("commit -q -m change");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said,
        format!("urldb: normalized {FILE} (unsorted records)\n")
    );
}

#[test]
fn the_hook_leaves_temporary_files_of_other_edits_alone() {
    let repository = Repository::new();
    repository.ok("init");
    let temporary = "urldb/.urldb-tmp-abc123";
    repository.write(temporary, "---\n");
    repository.write(FILE, promises(&[("/a", "x")]));
    // The line of .gitignore keeps the file out of the commit.
    repository.git("add -A");
    let staged = repository.git("ls-files");
    assert_lacks(&staged, temporary);
    repository.git(&["add", "-f", temporary]);
    repository.git("commit -q -m change");
    assert!(repository.path(temporary).is_file());
}

/// A repository with a file to normalize, and a `git` that does as `script` says before its command.
fn with_a_git_that(command: &str, script: &str) -> (Repository, String) {
    let repository = Repository::new();
    let shuffled = format!("---\n{}{}", promise("/b", "y"), promise("/a", "x"));
    repository.write(FILE, &shuffled);
    repository.git("add .");
    let programs = std::env::split_paths(&repository.search_path);
    let mut programs = programs.map(|folder| folder.join("git"));
    let git = programs.find(|program| program.is_file()).unwrap();
    let wrapper = format!(
        "case $1 in {command}) {script} ;; esac\nexec '{}' \"$@\"\n",
        git.display()
    );
    repository.write_program("../programs/git", &wrapper);
    (repository, shuffled)
}

#[test]
fn a_signal_leaves_neither_a_lock_nor_half_of_the_work() {
    for signal in ["TERM", "INT", "HUP"] {
        let (repository, _) =
            with_a_git_that("update-index", &format!("kill -{signal} $PPID; sleep 0.5"));
        repository
            .exits(130, "hook run pre-commit")
            .complains("urldb: normalized");
        assert!(!repository.path(".git/index.lock").exists());
        let canonical = promises(&[("/a", "x"), ("/b", "y")]);
        repository.assert_file(FILE, &canonical);
        assert_eq!(repository.in_index(FILE), canonical);
        assert_eq!(fs::read_dir(repository.path("urldb")).unwrap().count(), 1);
    }
}

/// Git may get the signal of a group before the hook does; a crash of git is a failure.
#[test]
fn a_git_that_a_signal_ends_is_an_interruption() {
    for (signal, code) in [("TERM", 130), ("INT", 130), ("HUP", 130), ("SEGV", 2)] {
        let (repository, _) = with_a_git_that("diff-index", &format!("kill -{signal} $$"));
        let ended = repository.exits(code, "hook run pre-commit");
        ended.complains("signal");
    }
}

/// Ctrl-C in a terminal reaches all processes of a group.
#[test]
fn ctrl_c_does_not_reach_git_at_work() {
    let (repository, _) = with_a_git_that("update-index", "ps -o pgid= -p $$ > group");
    repository.ok("hook run pre-commit");
    let ours = Command::new("ps")
        .args(["-o", "pgid=", "-p", &std::process::id().to_string()])
        .output()
        .unwrap();
    let ours = String::from_utf8(ours.stdout).unwrap();
    let group = repository.read("group");
    assert!(!ours.trim().is_empty());
    assert_ne!(group.trim(), ours.trim());
}

#[test]
fn a_hook_that_cannot_write_the_index_restores_the_files() {
    let (repository, shuffled) = with_a_git_that("update-index", "exit 1");
    repository
        .exits(2, "hook run pre-commit")
        .complains("update-index");
    repository.assert_file(FILE, &shuffled);
    assert_eq!(fs::read_dir(repository.path("urldb")).unwrap().count(), 1);
}

/// The file in the work tree is replaced before git updates the index.
#[test]
fn a_killed_hook_is_completed_by_the_next() {
    let (repository, shuffled) = with_a_git_that("update-index", "kill -KILL $PPID; exit 1");
    let mut hook = repository.urldb_command("hook run pre-commit");
    assert!(!hook.output().unwrap().status.success());
    let canonical = promises(&[("/a", "x"), ("/b", "y")]);
    repository.assert_file(FILE, &canonical);
    assert_eq!(repository.in_index(FILE), shuffled);
    fs::remove_file(repository.path("../programs/git")).unwrap();
    repository.git("commit -q -m change");
    assert_eq!(repository.in_head(FILE), canonical);
    assert_eq!(repository.git("status --porcelain urldb"), "");
}

/// One repository with two projects: what the other one uses stays.
#[test]
fn uninstalling_one_of_two_projects_leaves_the_other_alone() {
    let repository = Repository::without_hook();
    fs::remove_file(repository.path("urldb.toml")).unwrap();
    let projects = ["one", "deep/two"];
    for project in projects {
        repository.ok(&["-C", ".", "init", project]);
        repository.ok(&["-C", project, "hook", "install"]);
    }
    let driver = || repository.try_git("config merge.urldb.driver").status;
    let uninstall = |project| repository.ok(&["-C", project, "hook", "uninstall"]);
    uninstall(projects[0]).says(&["one/.gitattributes", "hooks/pre-commit"]);
    assert!(driver().success(), "deep/two still uses the driver");
    assert_lacks(&repository.read("one/.gitattributes"), "merge=urldb");
    let attributes = repository.read("deep/two/.gitattributes");
    assert_has(&attributes, "urldb/*.yaml merge=urldb");
    let hook = repository.read(".git/hooks/pre-commit");
    assert!(
        hook.contains("-C 'deep/two'") && !hook.contains("-C 'one'"),
        "{hook}"
    );
    uninstall(projects[0]).says("nothing of urldb is installed here");
    assert!(driver().success());

    uninstall(projects[1]).says(&["deep/two/.gitattributes", ".git/config"]);
    assert!(!driver().success());
    assert!(!repository.path(".git/hooks/pre-commit").exists());
}

#[test]
fn where_another_program_manages_the_hooks_the_driver_is_set() {
    let repository = Repository::without_hook();
    repository.git("config core.hooksPath .husky/_");
    repository
        .exits(2, "hook install")
        .says(&[
            "installed the merge driver in",
            "next: commit .gitattributes",
        ])
        .complains(
            "is managed by husky; add the line `urldb hook run pre-commit` to .husky/pre-commit",
        );
    assert_has(
        &repository.read(".gitattributes"),
        "urldb/*.yaml merge=urldb",
    );
    repository.git("config merge.urldb.driver");
    assert!(!repository.path(".husky").exists());
    repository
        .ok("hook uninstall")
        .says(&[".gitattributes", ".git/config"]);
    repository.git_fails("config merge.urldb.driver");
}
