//! `git commit` runs the hook: each way of committing hands it another index.

use std::path::Path;

use urldb::git::{GitEnv, Hook, Repository};

use crate::sandbox::{SETTINGS, Sandbox, check_staged, command_in, git_executable, run};

const FILE: &str = "urldb/example.com.yaml";

/// Not a test of its own: what the hook of [`Sandbox::with_hook`] runs.
#[test]
#[ignore = "git runs it, as the hook of the other tests"]
#[expect(
    clippy::print_stderr,
    reason = "the hook's report, as the user sees it"
)]
fn as_the_hook() {
    let Ok(name) = std::env::var("URLDB_TEST_HOOK") else {
        return;
    };
    let hook = Hook::named(&name).unwrap();
    let repo = Repository::discover(Path::new("."), GitEnv::from_process())
        .unwrap()
        .unwrap();
    let database = repo.work_tree().unwrap().join("urldb");
    let outcome = check_staged(&repo, &database).unwrap();
    eprint!("{}", outcome.render(hook, repo.prefix()));
    std::process::exit(i32::from(!outcome.lets_commit(hook)));
}

/// The file is `text` in the last commit, in the index and in the work tree.
fn assert_committed(sandbox: &Sandbox, text: &str) {
    assert_eq!(
        sandbox.git(&["cat-file", "blob", &format!("HEAD:{FILE}")]),
        text
    );
    assert_eq!(sandbox.read(FILE), text);
    assert_eq!(sandbox.status(), "");
}

#[test]
fn first_commit() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "b\na\n");
    sandbox.git(&["add", "."]);
    let output = sandbox.try_git(&["commit", "-q", "-m", "one"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("urldb: normalized urldb/example.com.yaml (lines sorted)\n"),
        "{said}"
    );
    assert_committed(&sandbox, "a\nb\n");
}

#[test]
fn all_changes() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "a\n");
    sandbox.commit_unchecked("one");
    sandbox.write(FILE, "c\nb\na\n");
    sandbox.git(&["commit", "-q", "-a", "-m", "two"]);
    assert_committed(&sandbox, "a\nb\nc\n");
}

#[test]
fn one_path_while_another_is_staged() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "a\n");
    sandbox.write("other.txt", "1\n");
    sandbox.commit_unchecked("one");
    sandbox.write("other.txt", "1\n2\n");
    sandbox.git(&["add", "other.txt"]);
    sandbox.write(FILE, "c\nb\na\n");
    sandbox.git(&["commit", "-q", "-m", "two", "--", FILE]);
    assert_eq!(
        sandbox.git(&["cat-file", "blob", &format!("HEAD:{FILE}")]),
        "a\nb\nc\n"
    );
    assert_eq!(sandbox.read(FILE), "a\nb\nc\n");
    assert_eq!(sandbox.status(), "M  other.txt\n");
}

#[test]
fn a_commit_of_one_path_checks_what_that_commit_has() {
    let sandbox = Sandbox::with_hook();
    sandbox.write("urldb/staged.example.yaml", "bad\n");
    sandbox.git(&["add", "."]);
    sandbox.write("note.txt", "1\n");
    sandbox.git(&["add", "-N", "note.txt"]);
    sandbox.git(&["commit", "-q", "-m", "one", "--", "note.txt"]);
    assert_eq!(sandbox.status(), "A  urldb/staged.example.yaml\n");
}

#[test]
fn a_refused_file_stops_the_commit_and_changes_nothing() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "b\na\n");
    sandbox.write("urldb/example.org.yaml", "a\nbad\n");
    sandbox.git(&["add", "."]);
    let output = sandbox.try_git(&["commit", "-q", "-m", "one"]);
    assert!(!output.status.success());
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    urldb/example.org.yaml:2:1: syntax-error: a bad line
    urldb: commit stopped; no file of this project was changed
    ");
    assert_eq!(sandbox.read(FILE), "b\na\n");
    assert_eq!(sandbox.staged_text(FILE), "b\na\n");
}

#[test]
fn from_a_subfolder() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "bad\n");
    sandbox.write("docs/deep/note.txt", "1\n");
    sandbox.git(&["add", "."]);
    let mut git = command_in(&sandbox.top.join("docs/deep"));
    let output = git.args(["commit", "-q", "-m", "one"]).output().unwrap();
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    ../../urldb/example.com.yaml:1:1: syntax-error: a bad line
    urldb: commit stopped; no file of this project was changed
    ");
}

/// As graphical programs start git: it puts itself on the hook's PATH.
#[test]
fn with_an_empty_path() {
    let sandbox = Sandbox::with_hook();
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.write(FILE, "b\r\na\r\n");
    sandbox.git(&["add", "."]);
    let mut git = std::process::Command::new(git_executable());
    git.env_clear()
        .envs(SETTINGS)
        .env("PATH", "")
        .current_dir(&sandbox.top);
    run(git.args(["commit", "-q", "-m", "one"]));
    assert_eq!(sandbox.git(&["show", &format!("HEAD:{FILE}")]), "a\nb\n");
}

#[test]
fn amended() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "a\n");
    sandbox.commit_unchecked("one");
    sandbox.write(FILE, "c\nb\na\n");
    sandbox.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert_committed(&sandbox, "a\nb\nc\n");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD"]), "1\n");
}

#[test]
fn in_a_linked_work_tree() {
    let sandbox = Sandbox::with_hook();
    sandbox.commit_unchecked("one");
    sandbox.git(&["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.top.parent().unwrap().join("linked");
    std::fs::create_dir(linked.join("urldb")).unwrap();
    std::fs::write(linked.join(FILE), "b\na\n").unwrap();
    run(command_in(&linked).args(["add", "."]));
    run(command_in(&linked).args(["commit", "-q", "-m", "two"]));
    assert_eq!(
        run(command_in(&linked).args(["show", &format!("HEAD:{FILE}")])),
        "a\nb\n"
    );
    assert_eq!(run(command_in(&linked).args(["status", "--porcelain"])), "");
    assert_eq!(sandbox.status(), "");

    std::fs::write(linked.join(FILE), "c\nb\na\n").unwrap();
    run(command_in(&linked).args(["commit", "-q", "-m", "three", "--", FILE]));
    assert_eq!(
        run(command_in(&linked).args(["show", &format!("HEAD:{FILE}")])),
        "a\nb\nc\n"
    );
    assert_eq!(run(command_in(&linked).args(["status", "--porcelain"])), "");
}

#[test]
fn on_a_detached_head() {
    let sandbox = Sandbox::with_hook();
    sandbox.commit_unchecked("one");
    sandbox.git(&["checkout", "-q", "--detach"]);
    sandbox.write(FILE, "b\na\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "-m", "two"]);
    assert_committed(&sandbox, "a\nb\n");
}

#[test]
fn a_resolved_merge() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "m\n");
    sandbox.commit_unchecked("base");
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.write(FILE, "m\nside\n");
    sandbox.commit_unchecked("side");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.write(FILE, "m\nmain\n");
    sandbox.commit_unchecked("main");
    assert!(!sandbox.try_git(&["merge", "-q", "side"]).status.success());
    insta::assert_snapshot!(sandbox.report(), @r"
    urldb/example.com.yaml:1:1: unmerged-file: has a conflict; resolve it and `git add` the file
    urldb: commit stopped; no file of this project was changed
    ");
    sandbox.write(FILE, "m\nside\nmain\n");
    sandbox.git(&["add", "."]);
    sandbox.git(&["commit", "-q", "--no-edit"]);
    assert_committed(&sandbox, "m\nmain\nside\n");
    assert_eq!(sandbox.git(&["rev-list", "--count", "HEAD^2"]), "2\n");
}

#[test]
fn a_merge_without_conflict() {
    let sandbox = Sandbox::new();
    sandbox.add_hook(Hook::PreMergeCommit);
    sandbox.write(FILE, "b\nm\n");
    sandbox.commit_unchecked("base");
    sandbox.git(&["checkout", "-q", "-b", "side"]);
    sandbox.write(FILE, "b\nm\na, out of order\n");
    sandbox.commit_unchecked("side");
    sandbox.git(&["checkout", "-q", "main"]);
    sandbox.commit_unchecked("main");
    let output = sandbox.try_git(&["merge", "-q", "--no-edit", "side"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        said.contains("run `git commit` to finish the merge"),
        "{said}"
    );
    sandbox.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(
        sandbox.git(&["rev-parse", "HEAD^2"]),
        sandbox.git(&["rev-parse", "side"])
    );
    assert_committed(&sandbox, "a, out of order\nb\nm\n");
}

#[test]
fn with_configuration_on_the_command_line() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "b\r\na\r\n");
    sandbox.git(&["-c", "core.autocrlf=true", "add", "."]);
    sandbox.git(&["-c", "core.autocrlf=true", "commit", "-q", "-m", "one"]);
    assert_eq!(sandbox.staged_text(FILE), "a\nb\n");
    assert_eq!(sandbox.read(FILE), "a\r\nb\r\n");
}

/// The amended commit keeps none of the files of the commit that it replaces unchecked.
#[test]
fn an_amended_commit_is_checked_whole() {
    for root in [true, false] {
        let sandbox = Sandbox::with_hook();
        if !root {
            sandbox.commit_unchecked("one");
        }
        sandbox.write(FILE, "b\na\n");
        sandbox.commit_unchecked("two");
        sandbox.write("note.txt", "1\n");
        sandbox.git(&["add", "note.txt"]);
        sandbox.git(&["commit", "-q", "--amend", "--no-edit"]);
        assert_committed(&sandbox, "a\nb\n");

        sandbox.write(FILE, "bad\n");
        sandbox.git(&["add", "."]);
        sandbox.git(&["commit", "-q", "--no-verify", "--amend", "--no-edit"]);
        let output = sandbox.try_git(&["commit", "-q", "--amend", "-m", "three"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success());
        assert!(said.contains("urldb/example.com.yaml:1:1"), "{said}");
    }
}

/// It is not the author's business.
#[test]
fn a_commit_after_a_bad_one_is_checked_alone() {
    let sandbox = Sandbox::with_hook();
    sandbox.write(FILE, "bad\n");
    sandbox.git(&["add", "."]);
    let date = "--date=2020-02-02T02:02:02+0530";
    sandbox.git(&["commit", "-q", "--no-verify", "-m", "one", date]);
    sandbox.write("note.txt", "1\n");
    sandbox.git(&["add", "note.txt"]);
    sandbox.git(&["commit", "-q", "-m", "two"]);
}

#[test]
fn both_backends_know_an_amended_commit() {
    for options in [&[][..], &["--object-format=sha256"]] {
        for zone in ["+0000", "-0330", "+0545"] {
            let sandbox = Sandbox::init(options);
            sandbox.add_hook(Hook::PreCommit);
            sandbox.commit_unchecked("one");
            sandbox.write(FILE, "b\na\n");
            sandbox.git(&["add", "."]);
            let date = format!("--date=2020-02-02T02:02:02{zone}");
            sandbox.git(&["commit", "-q", "--no-verify", "-m", "two", &date]);
            sandbox.git(&["commit", "-q", "--amend", "--no-edit"]);
            assert_committed(&sandbox, "a\nb\n");
        }
    }
}

/// The parent of its oldest commit is not there, and neither is the rest of what it changed.
#[test]
fn an_amended_commit_of_a_shallow_clone_is_checked_for_changes() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "bad\n");
    sandbox.commit_unchecked("one");
    sandbox.commit_unchecked("two");
    let clone = sandbox.top.parent().unwrap().join("clone");
    let url = format!("file://{}", sandbox.top.display());
    run(command_in(&sandbox.top)
        .args(["clone", "-q", "--depth=1", &url])
        .arg(&clone));
    let repo = |env| Repository::discover(&clone, env).unwrap().unwrap();
    let author = run(command_in(&clone).args(["log", "-1", "--date=raw", "--format=@%ad"]));
    let env = crate::sandbox::env().with("GIT_AUTHOR_DATE", author.trim());
    let by_git = env.clone().with("GIT_DIR", clone.join(".git"));
    for env in [env, by_git] {
        assert_eq!(repo(env).staged(&[Path::new("urldb")]).unwrap(), []);
    }
}
