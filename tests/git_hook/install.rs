//! Where the shim goes, and whom it leaves alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use urldb::git::{Hook, Installation};

use crate::sandbox::{Sandbox, command_in, env, git_executable, make_executable};

#[test]
fn installed_once_it_stays() {
    let sandbox = Sandbox::new();
    let hook = sandbox.top.join(".git/hooks/pre-commit");
    let repo = sandbox.repository();
    assert_eq!(
        repo.install_hook(Hook::PreCommit).unwrap(),
        Installation::New(hook.clone())
    );
    assert_eq!(
        fs::metadata(&hook).unwrap().permissions().mode() & 0o777,
        0o755
    );
    let edited = fs::read_to_string(&hook).unwrap() + "# my own line\n";
    fs::write(&hook, &edited).unwrap();
    assert_eq!(
        repo.install_hook(Hook::PreCommit).unwrap(),
        Installation::Existing(hook.clone())
    );
    assert_eq!(fs::read_to_string(&hook).unwrap(), edited);
}

/// Git runs the shim with a stand-in for urldb on PATH.
#[test]
fn the_shim_runs_the_hook_that_was_there_first() {
    let sandbox = Sandbox::new();
    sandbox.write("bin/urldb", "#!/bin/sh\necho \"urldb $*\" >> log\n");
    make_executable(&sandbox.top.join("bin/urldb"));
    sandbox.write_hook(
        "pre-commit",
        "#!/bin/sh\necho before >> log\ntest ! -e stop\n",
    );
    let installed = sandbox.repository().install_hook(Hook::PreCommit).unwrap();
    let before = sandbox.top.join(".git/hooks/pre-commit.before-urldb");
    assert!(matches!(installed, Installation::Chained { before: b, .. } if b == before));

    let path = format!(
        "{}:{}",
        sandbox.top.join("bin").display(),
        std::env::var("PATH").unwrap()
    );
    let commit = || {
        let mut git = command_in(&sandbox.top);
        git.env("PATH", &path)
            .args(["commit", "-q", "--allow-empty", "-m", "one"]);
        git.output().unwrap().status.success()
    };
    assert!(commit());
    assert_eq!(sandbox.read("log"), "before\nurldb hook run pre-commit\n");
    sandbox.write("stop", "");
    assert!(!commit());
    assert_eq!(
        sandbox.read("log"),
        "before\nurldb hook run pre-commit\nbefore\n"
    );
}

#[test]
fn without_urldb_the_commit_is_stopped_with_words() {
    let sandbox = Sandbox::new();
    sandbox.repository().install_hook(Hook::PreCommit).unwrap();
    let git_and_no_more = sandbox.top.join("bin");
    fs::create_dir(&git_and_no_more).unwrap();
    std::os::unix::fs::symlink(git_executable(), git_and_no_more.join("git")).unwrap();
    let mut git = command_in(&sandbox.top);
    git.env("CARGO_HOME", &sandbox.top)
        .env("PATH", &git_and_no_more);
    let output = git
        .args(["commit", "-q", "--allow-empty", "-m", "one"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    insta::assert_snapshot!(String::from_utf8_lossy(&output.stderr), @r"
    urldb: not found on PATH, so this commit was not checked and is stopped;
    urldb: install it with `cargo install urldb`, or commit with --no-verify
    ");
}

#[test]
fn a_third_hook_is_not_lost() {
    let sandbox = Sandbox::new();
    sandbox.write_hook("pre-commit", "#!/bin/sh\n# one\n");
    sandbox.write_hook("pre-commit.before-urldb", "#!/bin/sh\n# two\n");
    let error = sandbox
        .repository()
        .install_hook(Hook::PreCommit)
        .unwrap_err();
    assert!(
        error.to_string().contains("join them into one file"),
        "{error}"
    );
    assert_eq!(sandbox.read(".git/hooks/pre-commit"), "#!/bin/sh\n# one\n");
    assert_eq!(
        sandbox.read(".git/hooks/pre-commit.before-urldb"),
        "#!/bin/sh\n# two\n"
    );
}

#[test]
fn the_repositorys_own_hooks_path_is_used() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.hooksPath", ".githooks"]);
    let installed = sandbox.repository().install_hook(Hook::PreCommit).unwrap();
    assert_eq!(
        installed,
        Installation::New(sandbox.top.join(".githooks/pre-commit"))
    );
}

#[test]
fn a_linked_work_tree_installs_for_all() {
    let sandbox = Sandbox::new();
    sandbox.commit_unchecked("one");
    sandbox.git(&["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.top.parent().unwrap().join("linked");
    let repo = urldb::git::Repository::discover(&linked, env())
        .unwrap()
        .unwrap();
    let installed = repo.install_hook(Hook::PreMergeCommit).unwrap();
    assert_eq!(
        installed,
        Installation::New(sandbox.top.join(".git/hooks/pre-merge-commit"))
    );
}

#[test]
fn hooks_managed_by_others_are_left_to_them() {
    let sandbox = Sandbox::new();
    let said = |sandbox: &Sandbox| {
        sandbox
            .repository()
            .install_hook(Hook::PreCommit)
            .unwrap_err()
            .to_string()
    };

    sandbox.git(&["config", "core.hooksPath", "../shared"]);
    let error = said(&sandbox);
    assert!(
        error.contains("serve other repositories too; add the line"),
        "{error}"
    );
    assert!(!sandbox.top.parent().unwrap().join("shared").exists());

    sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
    let error = said(&sandbox);
    assert!(
        error.ends_with(
            "is managed by husky; add the line `urldb hook run pre-commit` to .husky/pre-commit"
        ),
        "{error}"
    );

    sandbox.git(&["config", "--unset", "core.hooksPath"]);
    let script = "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n";
    sandbox.write_hook("pre-commit", script);
    let error = said(&sandbox);
    assert!(
        error.contains("is managed by pre-commit; add urldb-fmt"),
        "{error}"
    );
    assert_eq!(sandbox.read(".git/hooks/pre-commit"), script);
}
