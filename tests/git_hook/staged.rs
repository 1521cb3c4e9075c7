//! Which staged files the hook checks, and what it writes back.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use proptest::prelude::*;
use urldb::git::{EntryKind, GitEnv, Hook, PreCommitOutcome, WorkTreeUpdate};

use crate::sandbox::{Sandbox, check_staged, env};

const FILE: &str = "urldb/example.com.yaml";

fn passed_with_nothing(sandbox: &Sandbox) -> bool {
    sandbox.pre_commit() == PreCommitOutcome::Passed(Vec::new())
}

#[test]
fn a_partly_staged_file_is_fixed_in_the_index_only() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "b\na\n");
    sandbox.git(&["add", "."]);
    sandbox.write(FILE, "b\na\nbad, but not staged\n");
    insta::assert_snapshot!(sandbox.report(), @"urldb: normalized urldb/example.com.yaml (lines sorted) in the commit only: the file has unstaged changes");
    assert_eq!(sandbox.staged_text(FILE), "a\nb\n");
    assert_eq!(sandbox.read(FILE), "b\na\nbad, but not staged\n");
    assert!(passed_with_nothing(&sandbox));
}

#[test]
fn the_file_keeps_its_mode_and_no_temporary_file_stays() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "b\na\n");
    fs::set_permissions(sandbox.top.join(FILE), fs::Permissions::from_mode(0o750)).unwrap();
    sandbox.git(&["add", "."]);
    sandbox.report();
    let mode = fs::metadata(sandbox.top.join(FILE))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o750);
    assert_eq!(sandbox.status(), "A  urldb/example.com.yaml\n");
    assert!(sandbox.git(&["ls-files", "-s"]).starts_with("100755 "));
}

#[test]
fn a_file_missing_from_the_work_tree_stays_missing() {
    let sandbox = Sandbox::new();
    sandbox.stage("100644", OsStr::new(FILE), "b\na\n");
    let PreCommitOutcome::Passed(fixed) = sandbox.pre_commit() else {
        panic!("stopped");
    };
    assert_eq!(fixed[0].work_tree, WorkTreeUpdate::LeftAlone);
    assert_eq!(sandbox.staged_text(FILE), "a\nb\n");
    assert!(!sandbox.top.join(FILE).exists());
}

#[test]
fn a_file_that_became_a_link_is_not_written_through() {
    let sandbox = Sandbox::new();
    sandbox.stage("100644", OsStr::new(FILE), "b\na\n");
    sandbox.write("elsewhere", "b\na\n");
    std::os::unix::fs::symlink("../elsewhere", sandbox.top.join(FILE)).unwrap();
    sandbox.report();
    assert_eq!(sandbox.read("elsewhere"), "b\na\n");
}

#[test]
fn only_domain_files_that_differ_from_head_are_checked() {
    let sandbox = Sandbox::new();
    sandbox.write("urldb/committed.example.yaml", "bad\n");
    sandbox.write("urldb/deleted.example.yaml", "bad\n");
    sandbox.commit_unchecked("one");
    fs::remove_file(sandbox.top.join("urldb/deleted.example.yaml")).unwrap();
    sandbox.write("urldb/README.md", "bad\n");
    sandbox.write("urldb/.hidden.yaml", "bad\n");
    sandbox.write("urldb/folder.yaml/nested.yaml", "bad\n");
    sandbox.write("urldb2/example.com.yaml", "bad\n");
    sandbox.git(&["add", "-A"]);
    sandbox.write("urldb/intended.example.yaml", "bad\n");
    sandbox.git(&["add", "-N", "urldb/intended.example.yaml"]);
    sandbox.write("urldb/untracked.example.yaml", "bad\n");
    assert!(passed_with_nothing(&sandbox));
    let by_git = check_staged(
        &sandbox.repository_with(sandbox.env_for_git()),
        &sandbox.top.join("urldb"),
    );
    assert_eq!(by_git.unwrap(), PreCommitOutcome::Passed(Vec::new()));
}

/// Its entry has the blob of an empty file, which is not what will be committed.
#[test]
fn a_file_intended_to_be_added_is_not_staged() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "b\na\n");
    sandbox.git(&["add", "-N", FILE]);
    for env in [env(), sandbox.env_for_git()] {
        let staged = sandbox.repository_with(env).staged(&[Path::new("urldb")]);
        assert_eq!(staged.unwrap(), []);
    }
}

#[test]
fn a_renamed_file_is_checked() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "b\na\n");
    sandbox.commit_unchecked("one");
    sandbox.git(&["mv", FILE, "urldb/example.org.yaml"]);
    insta::assert_snapshot!(sandbox.report(), @"urldb: normalized urldb/example.org.yaml (lines sorted)");
}

#[test]
fn with_autocrlf_the_file_keeps_its_line_ends() {
    let sandbox = Sandbox::new();
    sandbox.git(&["config", "core.autocrlf", "true"]);
    sandbox.write(FILE, "b\r\na\r\n");
    sandbox.git(&["add", "."]);
    insta::assert_snapshot!(sandbox.report(), @"urldb: normalized urldb/example.com.yaml (lines sorted)");
    assert_eq!(sandbox.staged_text(FILE), "a\nb\n");
    assert_eq!(sandbox.read(FILE), "a\r\nb\r\n");
    assert_eq!(sandbox.status(), "A  urldb/example.com.yaml\n");
}

#[test]
fn links_and_submodules_are_refused_with_words() {
    let sandbox = Sandbox::new();
    sandbox.stage(
        "120000",
        OsStr::new("urldb/link.example.yaml"),
        "example.com.yaml",
    );
    sandbox.commit_unchecked_index("index");
    sandbox.stage(
        "120000",
        OsStr::new("urldb/link.example.yaml"),
        "example.org.yaml",
    );
    let head = sandbox.git(&["rev-parse", "HEAD"]);
    let gitlink = format!("160000,{},urldb/module.example.yaml", head.trim());
    sandbox.git(&["update-index", "--add", "--cacheinfo", &gitlink]);
    insta::assert_snapshot!(sandbox.report(), @r"
    urldb/link.example.yaml:1:1: not-a-file: is a symbolic link; a file of the database must be a regular file
    urldb/module.example.yaml:1:1: not-a-file: is a submodule; a file of the database must be a regular file
    urldb: commit stopped; no file of this project was changed
    ");
}

#[test]
fn any_file_name_is_fixed_and_shown_safely() {
    let names: [&[u8]; 5] = [
        b"urldb/a b.yaml",
        b"urldb/quote\"d'.yaml",
        b"urldb/line\nfeed\x1b[31m.yaml",
        b"urldb/not\xffutf8.yaml",
        b"urldb/:(glob)*.yaml",
    ];
    let sandbox = Sandbox::new();
    for env in [env(), sandbox.env_for_git()] {
        for name in names {
            sandbox.stage("100644", OsStr::from_bytes(name), "b\na\n");
        }
        let outcome =
            check_staged(&sandbox.repository_with(env), &sandbox.top.join("urldb")).unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome.render(Hook::PreCommit, Path::new("urldb")), @r#"
            urldb: normalized :(glob)*.yaml (lines sorted) in the commit only: the file has unstaged changes
            urldb: normalized a b.yaml (lines sorted) in the commit only: the file has unstaged changes
            urldb: normalized line�feed�[31m.yaml (lines sorted) in the commit only: the file has unstaged changes
            urldb: normalized not�utf8.yaml (lines sorted) in the commit only: the file has unstaged changes
            urldb: normalized quote"d'.yaml (lines sorted) in the commit only: the file has unstaged changes
            "#);
        }
        assert!(passed_with_nothing(&sandbox));
    }
}

/// Those that libgit2 refuses are served by git, with the same outcome.
#[test]
fn every_kind_of_repository() {
    let kinds: [(&[&str], &[&[&str]]); 5] = [
        (&["--object-format=sha256"], &[]),
        (&["--ref-format=reftable"], &[]),
        (&[], &[&["update-index", "--split-index"]]),
        (
            &[],
            &[&[
                "sparse-checkout",
                "set",
                "--cone",
                "--sparse-index",
                "urldb",
            ]],
        ),
        (&[], &[&["update-index", "--index-version", "4"]]),
    ];
    for (options, setup) in kinds {
        let sandbox = Sandbox::init(options);
        sandbox.write("elsewhere/deep/file", "1\n");
        sandbox.write("urldb/example.org.yaml", "a\n");
        sandbox.commit_unchecked("one");
        for args in setup {
            sandbox.git(args);
        }
        sandbox.add_hook(Hook::PreCommit);
        sandbox.write(FILE, "b\na\n");
        sandbox.git(&["add", "."]);
        sandbox.git(&["commit", "-q", "-m", "two"]);
        assert_eq!(
            sandbox.git(&["show", &format!("HEAD:{FILE}")]),
            "a\nb\n",
            "{options:?} {setup:?}"
        );
        sandbox.write(FILE, "c\nb\na\n");
        sandbox.git(&["commit", "-q", "-m", "three", "--", FILE]);
        assert_eq!(
            sandbox.git(&["show", &format!("HEAD:{FILE}")]),
            "a\nb\nc\n",
            "{options:?} {setup:?}"
        );
        assert_eq!(sandbox.status(), "", "{options:?} {setup:?}");
        sandbox.write(FILE, "bad\n");
        assert!(
            !sandbox
                .try_git(&["commit", "-a", "-m", "four"])
                .status
                .success(),
            "{options:?} {setup:?}"
        );
    }
}

#[test]
fn in_an_unborn_repository_of_any_kind_everything_is_new() {
    for options in [
        &[][..],
        &["--object-format=sha256"],
        &["--ref-format=reftable"],
    ] {
        let sandbox = Sandbox::init(options);
        sandbox.write(FILE, "a\n");
        assert_eq!(
            sandbox.repository().staged(&[Path::new("urldb")]).unwrap(),
            [],
            "{options:?}"
        );
        sandbox.git(&["add", "."]);
        let staged = sandbox.repository().staged(&[Path::new("urldb")]).unwrap();
        assert_eq!(staged.len(), 1, "{options:?}");
        assert_eq!(staged[0].kind(), EntryKind::File);
    }
}

#[test]
fn the_top_can_be_the_database() {
    let sandbox = Sandbox::new();
    sandbox.write("example.com.yaml", "b\na\n");
    sandbox.write("sub/example.com.yaml", "bad\n");
    sandbox.git(&["add", "."]);
    for env in [env(), sandbox.env_for_git()] {
        let outcome = check_staged(&sandbox.repository_with(env), &sandbox.top).unwrap();
        assert!(matches!(outcome, PreCommitOutcome::Passed(_)));
    }
    assert_eq!(sandbox.staged_text("example.com.yaml"), "a\nb\n");
}

#[test]
fn a_database_outside_of_the_repository_is_an_error() {
    let sandbox = Sandbox::new();
    let error = check_staged(&sandbox.repository(), sandbox.top.parent().unwrap()).unwrap_err();
    assert!(
        error.to_string().contains("is outside of the repository"),
        "{error}"
    );
}

/// One file's state in HEAD and in the index: absent, or mode and contents.
type State = Option<(bool, u8)>;

fn state() -> impl Strategy<Value = State> {
    prop::option::weighted(0.7, (any::<bool>(), 0..3_u8))
}

/// One of them is in a folder, which stands between the others: `-` and `.` come before `/`, `0` after it.
const NAMES: [&str; 5] = ["a-b.yaml", "a.yaml", "a/b.yaml", "a0.yaml", "b.yaml"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// libgit2 and git see the same things staged, and those that differ.
    #[test]
    fn both_backends_agree(states in prop::collection::vec((state(), state()), 1..6)) {
        let sandbox = Sandbox::new();
        let stage = |pick: &dyn Fn(&(State, State)) -> State| {
            sandbox.git(&["read-tree", "--empty"]);
            for (n, both) in states.iter().enumerate() {
                if let Some((executable, content)) = pick(both) {
                    let mode = if executable { "100755" } else { "100644" };
                    sandbox.stage(mode, OsStr::new(&format!("urldb/{}", NAMES[n])), &content.to_string());
                }
            }
        };
        stage(&|both| both.0);
        sandbox.commit_unchecked_index("index");
        stage(&|both| both.1);
        let by = |env: GitEnv| sandbox.repository_with(env).staged(&[Path::new("urldb")]).unwrap();
        let by_lib = by(env());
        prop_assert_eq!(&by_lib, &by(sandbox.env_for_git()));
        let files = states.iter().zip(NAMES).filter(|(_, name)| !name.contains('/'));
        let differing = files.filter(|((head, index), _)| index.is_some() && head != index).count();
        prop_assert_eq!(by_lib.len(), differing);
    }
}

#[test]
fn flags_of_the_index_survive() {
    for by_git in [false, true] {
        let sandbox = Sandbox::new();
        let names = ["urldb/-a.yaml", "urldb/b c.yaml", "urldb/d.yaml"];
        for name in names {
            sandbox.stage("100644", OsStr::new(name), "b\na\n");
        }
        sandbox.git(&["update-index", "--skip-worktree", names[0], names[1]]);
        sandbox.git(&["update-index", "--assume-unchanged", names[1]]);
        let before = sandbox.git(&["ls-files", "-v"]);
        assert_eq!(
            before,
            "S urldb/-a.yaml\ns urldb/b c.yaml\nH urldb/d.yaml\n"
        );
        let env = if by_git { sandbox.env_for_git() } else { env() };
        let repository = sandbox.repository_with(env);
        let outcome = check_staged(&repository, &sandbox.top.join("urldb")).unwrap();
        assert!(matches!(outcome, PreCommitOutcome::Passed(files) if files.len() == 3));
        assert_eq!(sandbox.git(&["ls-files", "-v"]), before, "{by_git}");
        for name in names {
            assert_eq!(sandbox.staged_text(name), "a\nb\n");
        }
    }
}

#[test]
fn flags_of_a_database_at_the_top_survive() {
    let sandbox = Sandbox::new();
    sandbox.stage("100644", OsStr::new("-a.yaml"), "b\na\n");
    sandbox.git(&["update-index", "--skip-worktree", "--", "-a.yaml"]);
    check_staged(&sandbox.repository(), &sandbox.top).unwrap();
    assert_eq!(sandbox.git(&["ls-files", "-v"]), "S -a.yaml\n");
    assert_eq!(sandbox.staged_text("./-a.yaml"), "a\nb\n");
}

/// As after a kill between the two writes.
#[test]
fn a_file_that_was_normalized_already_is_up_to_date() {
    let sandbox = Sandbox::new();
    sandbox.stage("100644", OsStr::new(FILE), "b\na\n");
    sandbox.write(FILE, "a\nb\n");
    insta::assert_snapshot!(sandbox.report(), @"urldb: normalized urldb/example.com.yaml (lines sorted)");
    assert_eq!(sandbox.status(), "A  urldb/example.com.yaml\n");
}

#[test]
fn without_the_index_no_file_is_changed() {
    let sandbox = Sandbox::new();
    sandbox.write(FILE, "b\na\n");
    sandbox.write("urldb/example.org.yaml", "b\na\n");
    sandbox.git(&["add", "."]);
    // Another git is at work.
    sandbox.write(".git/index.lock", "");
    let error = check_staged(&sandbox.repository(), &sandbox.top.join("urldb")).unwrap_err();
    assert!(error.to_string().contains("index.lock"), "{error}");
    for file in [FILE, "urldb/example.org.yaml"] {
        assert_eq!(sandbox.read(file), "b\na\n");
        assert_eq!(sandbox.staged_text(file), "b\na\n");
    }
    let files = fs::read_dir(sandbox.top.join("urldb")).unwrap();
    assert_eq!(files.count(), 2);
}

/// Their entries stand before, within and behind those of the folder.
#[test]
fn neighbours_of_the_folder_are_told_apart() {
    let sandbox = Sandbox::new();
    for name in [
        "a.yaml",
        "urldb-x/a.yaml",
        "urldb.yaml",
        "urldb/a.yaml",
        "urldb/a/b.yaml",
        "urldb/rules-x/a.rules",
        "urldb/rules/a.rules",
        "urldb/z.yaml",
        "urldb0/a.yaml",
        "z.yaml",
    ] {
        sandbox.stage("100644", OsStr::new(name), "a\n");
    }
    let dirs = [
        Path::new("urldb"),
        Path::new("urldb/rules"),
        Path::new("no"),
    ];
    for env in [env(), sandbox.env_for_git()] {
        let staged = sandbox.repository_with(env).staged(&dirs).unwrap();
        let names: Vec<_> = staged
            .iter()
            .map(|file| file.path.to_str().unwrap())
            .collect();
        assert_eq!(
            names,
            ["urldb/a.yaml", "urldb/z.yaml", "urldb/rules/a.rules"]
        );
    }
}
