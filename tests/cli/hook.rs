//! `git commit` with the installed hook.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use crate::sandbox::Sandbox;
use crate::site::{promise, promises};

const FILE: &str = "urldb/example.test.yaml";

/// A git repository whose hooks find the program on the PATH, as users have it.
pub(crate) struct Repository {
    pub(crate) sandbox: Sandbox,
    /// `PATH`, with the program on it.
    pub(crate) path: String,
}

impl Repository {
    fn new() -> Self {
        let repository = Self::without_hook();
        repository
            .sandbox
            .urldb(&["hook", "install"])
            .code(0)
            .says(&["installed", "pre-commit"]);
        repository
    }

    pub(crate) fn without_hook() -> Self {
        Self::of(Sandbox::new(""))
    }

    /// A git repository in this sandbox.
    pub(crate) fn of(sandbox: Sandbox) -> Self {
        let programs = sandbox.path("../programs");
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_urldb"), programs.join("urldb")).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let repository = Self { sandbox, path };
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    pub(crate) fn try_git(&self, arguments: &[&str]) -> Output {
        self.try_git_with_path(arguments, &self.path)
    }

    pub(crate) fn try_git_with_path(&self, arguments: &[&str], path: &str) -> Output {
        let mut git = self.sandbox.command("git");
        git.args(arguments)
            .env("PATH", path)
            .env("GIT_EDITOR", "true")
            .env("GIT_CONFIG_SYSTEM", "/dev/null");
        for who in ["AUTHOR", "COMMITTER"] {
            git.env(format!("GIT_{who}_NAME"), "A U Thor");
            git.env(format!("GIT_{who}_EMAIL"), "author@example.test");
        }
        git.output().unwrap()
    }

    #[track_caller]
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = self.try_git(arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }
}

#[test]
fn a_commit_is_put_in_order() {
    let repository = Repository::new();
    let shuffled = format!("---\n{}{}", promise("/b", "y"), promise("/a", "x"));
    repository.sandbox.write(FILE, shuffled);
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "add two"]);
    let canonical = promises(&[("/a", "x"), ("/b", "y")]);
    assert_eq!(
        repository.git(&["show", &format!("HEAD:{FILE}")]),
        canonical
    );
    assert_eq!(repository.sandbox.read(FILE), canonical);
    assert_eq!(repository.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_commit_that_promises_nonsense_is_refused() {
    let repository = Repository::new();
    let text = "---\n---\n_path: /a\ncontent-sha256: abc\n";
    repository.sandbox.write(FILE, text);
    repository.git(&["add", "."]);
    let refused = repository.try_git(&["commit", "-q", "-m", "add one"]);
    assert!(!refused.status.success());
    let words = String::from_utf8_lossy(&refused.stderr);
    assert!(words.contains(&format!("{FILE}:4:1")), "{words}");
    assert!(words.contains("bad-digest"), "{words}");
    assert!(
        !repository
            .try_git(&["rev-parse", "-q", "--verify", "HEAD"])
            .status
            .success()
    );
    assert_eq!(repository.sandbox.read(FILE), text);
}

#[test]
fn a_pointer_of_git_lfs_is_refused_and_called_that() {
    let repository = Repository::new();
    let oid = "a".repeat(64);
    let text = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{oid}\nsize 12\n");
    repository.sandbox.write(FILE, text);
    repository.git(&["add", "."]);
    let refused = repository.try_git(&["commit", "-q", "-m", "add one"]);
    assert!(!refused.status.success());
    let words = String::from_utf8_lossy(&refused.stderr);
    for part in [
        &format!(
            "{FILE}:1:1: unreadable-file: the file cannot be read: it is a pointer of Git LFS"
        ),
        "`git lfs untrack`",
    ] {
        assert!(words.contains(part), "{words}");
    }
}

#[test]
fn installing_twice_changes_nothing() {
    let repository = Repository::new();
    let before = repository.sandbox.tree(".git/hooks");
    repository
        .sandbox
        .urldb(&["hook", "install"])
        .code(0)
        .says(&["already there:"]);
    assert_eq!(repository.sandbox.tree(".git/hooks"), before);
}

#[test]
fn hooks_need_a_repository_and_a_name() {
    let sandbox = Sandbox::new("");
    sandbox
        .urldb(&["hook", "install"])
        .code(2)
        .complains(&["is in no git repository"]);
    sandbox
        .urldb(&["hook", "run", "post-commit"])
        .code(2)
        .complains(&["hooks are pre-commit and pre-merge-commit"]);
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
        let sandbox = &repository.sandbox;
        let file = format!("urldb/{name}");

        // The daemon reports changed files in the order of their names: the marker is the last.
        let marker = "urldb/zz.test.yaml";
        let mut watch = sandbox.start(&["watch"]);
        watch.expect("watching 0 files in ");
        sandbox.write(&file, BROKEN);
        sandbox.write(marker, BROKEN);
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
        fs::remove_file(sandbox.path(marker)).unwrap();

        let lint = sandbox.urldb(&["lint"]);
        assert_eq!(lint.out.contains(&file), is_named, "{lint:#?}");
        assert_eq!(lint.code, i32::from(is_named), "{lint:#?}");

        repository.git(&["add", "-A"]);
        let commit = repository.try_git(&["commit", "-q", "-m", "add a file"]);
        assert_eq!(commit.status.success(), !is_named, "{name}");
        let said = String::from_utf8_lossy(&commit.stderr);
        assert_eq!(
            said.contains("bad-file-name"),
            is_misnamed,
            "{name}: {said}"
        );

        sandbox.write(&file, promises(&[("/listed", "x")]));
        let listed = sandbox.urldb(&["list"]).code(0);
        // A record in a file that is named after no host has no URL, and is named instead.
        let is_read = listed.out.contains("/listed") || listed.err.contains(&file);
        assert_eq!(is_read, is_domain_file, "{listed:#?}");
    }
}

#[test]
fn a_named_file_that_begins_with_a_dot_is_explained() {
    let sandbox = Sandbox::new("");
    sandbox.write("urldb/.x.test.yaml", promises(&[("/a", "x")]));
    sandbox
        .urldb(&["lint", "urldb/.x.test.yaml"])
        .code(1)
        .says(&["bad-file-name", "begins with a dot", "x.test.yaml"]);
}

#[test]
fn a_project_below_the_top_is_checked() {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    sandbox.write("deep/it's here/urldb.toml", "[database]\npath = \"data\"\n");
    let project = ["-C", "deep/it's here"];
    sandbox
        .urldb(&[&project[..], &["hook", "install"]].concat())
        .code(0)
        .says(&["installed", "pre-commit"]);
    let file = "deep/it's here/data/example.test.yaml";
    sandbox.write(
        file,
        format!("---\n{}{}", promise("/b", "y"), promise("/a", "x")),
    );
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "add two"]);
    let canonical = promises(&[("/a", "x"), ("/b", "y")]);
    assert_eq!(
        repository.git(&["show", &format!("HEAD:{file}")]),
        canonical
    );
    sandbox.write(file, "---\n---\n_path: [\n");
    let refused = repository.try_git(&["commit", "-q", "-a", "-m", "break it"]);
    assert!(!refused.status.success());
    sandbox
        .urldb(&[&project[..], &["hook", "uninstall"]].concat())
        .code(0)
        .says(&["removed"]);
    repository.git(&["commit", "-q", "-a", "-m", "break it"]);
}

#[test]
fn a_broken_configuration_stops_only_commits_of_the_database() {
    let repository = Repository::new();
    let sandbox = &repository.sandbox;
    sandbox.write(
        "urldb.toml",
        "[database]\npath = \"data\"\nno-such-key = 1\n[lint\n",
    );
    sandbox.write("data/note.txt", "not a file of the database\n");
    sandbox.write("urldb/example.test.yaml", "not the database either\n");
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "add other files"]);

    sandbox.write("data/example.test.yaml", promises(&[("/a", "x")]));
    repository.git(&["add", "."]);
    let refused = repository.try_git(&["commit", "-q", "-m", "add one"]);
    assert!(!refused.status.success());
    let said = String::from_utf8_lossy(&refused.stderr);
    for part in [
        "the commit is stopped",
        "files of the database are staged",
        "urldb.toml:4:",
    ] {
        assert!(said.contains(part), "{said}");
    }
    sandbox.write("urldb.toml", "[database]\npath = \"data\"\n");
    repository.git(&["commit", "-q", "-m", "add one"]);
}

/// Another process has locked the database.
#[test]
fn a_commit_of_other_files_waits_for_no_lock() {
    let repository = Repository::new();
    let sandbox = &repository.sandbox;
    let database = fs::File::open(sandbox.path("urldb")).unwrap();
    database.lock().unwrap();
    sandbox.write("note.txt", "one\n");
    repository.git(&["add", "note.txt"]);
    let begin = Instant::now();
    repository.git(&["commit", "-q", "-m", "add a note"]);
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn a_warning_that_stays_is_not_listed_as_normalized() {
    let repository = Repository::new();
    let record = promise("/b%7Ec", "y");
    repository
        .sandbox
        .write(FILE, format!("---\n{record}{}", promise("/a", "x")));
    let lint = repository.sandbox.urldb(&["lint"]);
    assert!(lint.out.contains("path-not-canonical"), "{lint:#?}");
    repository.git(&["add", "."]);
    let output = repository.try_git(&["commit", "-q", "-m", "add two"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said,
        format!("urldb: normalized {FILE} (unsorted records)\n")
    );
}

#[test]
fn the_hook_leaves_temporary_files_of_other_edits_alone() {
    let repository = Repository::new();
    let sandbox = &repository.sandbox;
    sandbox.urldb(&["init"]).code(0);
    let temporary = "urldb/.urldb-tmp-abc123";
    sandbox.write(temporary, "---\n");
    sandbox.write(FILE, promises(&[("/a", "x")]));
    // The line of .gitignore keeps the file out of the commit.
    repository.git(&["add", "-A"]);
    let staged = repository.git(&["ls-files"]);
    assert!(!staged.contains(temporary), "{staged}");
    repository.git(&["add", "-f", temporary]);
    repository.git(&["commit", "-q", "-m", "add one"]);
    assert!(sandbox.path(temporary).is_file());
}

/// A repository with a file to normalize, and a `git` that does as `script` says before it updates
/// the index.
fn with_a_git_that(script: &str) -> (Repository, String) {
    let repository = Repository::new();
    let shuffled = format!("---\n{}{}", promise("/b", "y"), promise("/a", "x"));
    repository.sandbox.write(FILE, &shuffled);
    repository.git(&["add", "."]);
    let path = std::env::var_os("PATH").unwrap();
    let mut programs = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let git = programs.find(|program| program.is_file()).unwrap();
    let wrapper = repository.sandbox.path("../programs/git");
    let text = format!(
        "#!/bin/sh\ncase $1 in update-index) {script} ;; esac\nexec '{}' \"$@\"\n",
        git.display()
    );
    fs::write(&wrapper, text).unwrap();
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).unwrap();
    (repository, shuffled)
}

#[test]
fn a_signal_leaves_neither_a_lock_nor_half_of_the_work() {
    for signal in ["TERM", "INT", "HUP"] {
        let (repository, _) = with_a_git_that(&format!("kill -{signal} $PPID; sleep 0.5"));
        let sandbox = &repository.sandbox;
        sandbox
            .urldb_with_env(
                &["hook", "run", "pre-commit"],
                &[("PATH", &repository.path)],
            )
            .code(130)
            .complains(&["urldb: normalized"]);
        assert!(!sandbox.path(".git/index.lock").exists());
        let canonical = promises(&[("/a", "x"), ("/b", "y")]);
        assert_eq!(sandbox.read(FILE), canonical);
        assert_eq!(repository.git(&["show", &format!(":{FILE}")]), canonical);
        assert_eq!(fs::read_dir(sandbox.path("urldb")).unwrap().count(), 1);
    }
}

/// Ctrl-C in a terminal reaches all processes of a group.
#[test]
fn ctrl_c_does_not_reach_git_at_work() {
    let (repository, _) = with_a_git_that("ps -o pgid= -p $$ > group");
    let sandbox = &repository.sandbox;
    let mut hook = sandbox.urldb_command(&["hook", "run", "pre-commit"]);
    hook.env("PATH", &repository.path);
    assert!(hook.output().unwrap().status.success());
    let ours = Command::new("ps")
        .args(["-o", "pgid=", "-p", &std::process::id().to_string()])
        .output()
        .unwrap();
    let ours = String::from_utf8(ours.stdout).unwrap();
    let group = sandbox.read("group");
    assert!(!ours.trim().is_empty());
    assert_ne!(group.trim(), ours.trim());
}

#[test]
fn a_hook_that_cannot_write_the_index_restores_the_files() {
    let (repository, shuffled) = with_a_git_that("exit 1");
    let sandbox = &repository.sandbox;
    sandbox
        .urldb_with_env(
            &["hook", "run", "pre-commit"],
            &[("PATH", &repository.path)],
        )
        .code(2)
        .complains(&["update-index"]);
    assert_eq!(sandbox.read(FILE), shuffled);
    assert_eq!(fs::read_dir(sandbox.path("urldb")).unwrap().count(), 1);
}

/// The file in the work tree is replaced before git updates the index.
#[test]
fn a_killed_hook_is_completed_by_the_next() {
    let (repository, shuffled) = with_a_git_that("kill -KILL $PPID; exit 1");
    let sandbox = &repository.sandbox;
    let mut hook = sandbox.urldb_command(&["hook", "run", "pre-commit"]);
    hook.env("PATH", &repository.path);
    assert!(!hook.output().unwrap().status.success());
    let canonical = promises(&[("/a", "x"), ("/b", "y")]);
    assert_eq!(sandbox.read(FILE), canonical);
    assert_eq!(repository.git(&["show", &format!(":{FILE}")]), shuffled);
    fs::remove_file(sandbox.path("../programs/git")).unwrap();
    repository.git(&["commit", "-q", "-m", "add two"]);
    assert_eq!(
        repository.git(&["show", &format!("HEAD:{FILE}")]),
        canonical
    );
    assert_eq!(repository.git(&["status", "--porcelain", "urldb"]), "");
}

/// One repository with two projects: what the other one uses stays.
#[test]
fn uninstalling_one_of_two_projects_leaves_the_other_alone() {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    fs::remove_file(sandbox.path("urldb.toml")).unwrap();
    let projects = ["one", "deep/two"];
    for project in projects {
        sandbox.urldb(&["-C", ".", "init", project]).code(0);
        sandbox.urldb(&["-C", project, "hook", "install"]).code(0);
    }
    let driver = || repository.try_git(&["config", "merge.urldb.driver"]).status;
    let uninstall = |project| sandbox.urldb(&["-C", project, "hook", "uninstall"]).code(0);
    uninstall(projects[0]).says(&["one/.gitattributes", "hooks/pre-commit"]);
    assert!(driver().success(), "deep/two still uses the driver");
    assert!(!sandbox.read("one/.gitattributes").contains("merge=urldb"));
    let attributes = sandbox.read("deep/two/.gitattributes");
    assert!(
        attributes.contains("urldb/*.yaml merge=urldb"),
        "{attributes}"
    );
    let hook = sandbox.read(".git/hooks/pre-commit");
    assert!(
        hook.contains("-C 'deep/two'") && !hook.contains("-C 'one'"),
        "{hook}"
    );
    uninstall(projects[0]).says(&["nothing of urldb is installed here"]);
    assert!(driver().success());

    uninstall(projects[1]).says(&["deep/two/.gitattributes", ".git/config"]);
    assert!(!driver().success());
    assert!(!sandbox.path(".git/hooks/pre-commit").exists());
}

#[test]
fn where_another_program_manages_the_hooks_the_driver_is_set() {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    repository.git(&["config", "core.hooksPath", ".husky/_"]);
    sandbox
        .urldb(&["hook", "install"])
        .code(2)
        .says(&[
            "installed the merge driver in",
            "next: commit .gitattributes",
        ])
        .complains(&[
            "is managed by husky; add the line `urldb hook run pre-commit` to .husky/pre-commit",
        ]);
    assert!(
        sandbox
            .read(".gitattributes")
            .contains("urldb/*.yaml merge=urldb")
    );
    repository.git(&["config", "merge.urldb.driver"]);
    assert!(!sandbox.path(".husky").exists());
    sandbox
        .urldb(&["hook", "uninstall"])
        .code(0)
        .says(&[".gitattributes", ".git/config"]);
    let driver = repository.try_git(&["config", "merge.urldb.driver"]);
    assert!(!driver.status.success());
}
