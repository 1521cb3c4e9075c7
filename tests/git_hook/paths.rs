//! Where the repository is, and where the user stands in it.

use std::fs;
use std::path::Path;

use urldb::git::env::LOCAL;
use urldb::git::{Repository, command};

use crate::sandbox::{Sandbox, command_in, env, run};

#[test]
fn outside_of_any_repository_there_is_none() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Repository::discover(dir.path(), env()).unwrap().is_none());
}

#[test]
fn a_bare_repository_is_refused_with_words() {
    let sandbox = Sandbox::init(&["--bare", "../bare.git"]);
    let bare = sandbox.top.parent().unwrap().join("bare.git");
    for env in [env(), env().with("GIT_DIR", &bare)] {
        let repo = Repository::discover(&bare, env).unwrap().unwrap();
        let error = repo.work_tree().unwrap_err().to_string();
        assert!(error.contains("it is a bare repository"), "{error}");
        assert!(repo.install_hooks(&bare).is_err());
    }
}

#[test]
fn from_a_subfolder_the_prefix_is_known() {
    let sandbox = Sandbox::new();
    let sub = sandbox.top.join("docs/deep");
    fs::create_dir_all(&sub).unwrap();
    let here = Repository::discover(&sub, env()).unwrap().unwrap();
    assert_eq!(here.work_tree().unwrap(), sandbox.top);
    assert_eq!(here.prefix(), Path::new("docs/deep"));
    let told = sandbox.repository_with(env().with("GIT_PREFIX", "docs/"));
    assert_eq!(told.prefix(), Path::new("docs/"));
}

#[test]
fn a_linked_work_tree_shares_the_common_folder() {
    let sandbox = Sandbox::new();
    sandbox.commit_unchecked("one");
    sandbox.git(&["worktree", "add", "-q", "../linked"]);
    let linked = sandbox.top.parent().unwrap().join("linked");
    let git_dir = sandbox.top.join(".git/worktrees/linked");
    for env in [env(), env().with("GIT_DIR", &git_dir)] {
        let repo = Repository::discover(&linked, env).unwrap().unwrap();
        assert_eq!(repo.work_tree().unwrap(), linked);
        assert_eq!(repo.git_dir(), git_dir);
        assert_eq!(repo.common_dir(), sandbox.top.join(".git"));
    }
}

#[test]
fn a_git_folder_and_work_tree_named_by_the_environment_are_obeyed() {
    let sandbox = Sandbox::init(&["--separate-git-dir", "../apart"]);
    let apart = sandbox.top.parent().unwrap().join("apart");
    let elsewhere = tempfile::tempdir().unwrap();
    let env = env()
        .with("GIT_DIR", &apart)
        .with("GIT_WORK_TREE", &sandbox.top);
    let repo = Repository::discover(elsewhere.path(), env)
        .unwrap()
        .unwrap();
    assert_eq!(repo.work_tree().unwrap(), sandbox.top);
    assert_eq!(repo.git_dir(), apart);
}

#[test]
fn the_list_of_local_variables_is_complete() {
    let sandbox = Sandbox::new();
    for name in sandbox.git(&["rev-parse", "--local-env-vars"]).lines() {
        assert!(LOCAL.contains(&name), "{name} is missing");
    }
}

#[test]
fn a_command_for_another_repository_is_not_sent_to_the_hooks_own() {
    let sandbox = Sandbox::new();
    let git = command(&sandbox.top);
    let removed: Vec<_> = git
        .get_envs()
        .filter(|(_, value)| value.is_none())
        .map(|(name, _)| name)
        .collect();
    assert!(LOCAL.iter().all(|name| removed.contains(&(*name).as_ref())));
    let top = run(command_in(&sandbox.top).args(["rev-parse", "--show-toplevel"]));
    assert_eq!(Path::new(top.trim_end()), sandbox.top);
}
