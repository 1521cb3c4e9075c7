//! Merges that `urldb push` makes: in repositories of each kind, signed, and without mistakes.

use std::fs;
use std::process::Command;

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has};
use crate::site::{FILE, promise, promises};

const MINE: &str = "/mine";
const THEIRS: &str = "/theirs";
const SHARED: &str = "/shared";

/// A repository with one domain file, and its clone in `../other`; `None` if git is too old for the options of
/// `git init`.
fn cloned(options: &str) -> Option<Repository> {
    let repository = Repository::of(Sandbox::new(""));
    fs::remove_dir_all(repository.path(".git")).unwrap();
    let init = format!("init -q -b main {options}");
    if !repository.try_git(&init).status.success() {
        eprintln!("skipped: git does not know {options}");
        return None;
    }
    repository.write(FILE, promises(&[(SHARED, "x")]));
    commit(&repository, ".", "base");
    repository.git(&format!("{init} --bare ../remote"));
    repository.git("remote add origin ../remote");
    repository.git("push -q -u origin main");
    repository.git("clone -q ../remote ../other");
    for machine in [".", "../other"] {
        repository.git(&["-C", machine, "config", "user.name", "Machine"]);
        repository.git(&["-C", machine, "config", "user.email", "m@example.test"]);
    }
    Some(repository)
}

fn commit(repository: &Repository, machine: &str, subject: &str) {
    repository.git(&["-C", machine, "add", "."]);
    repository.git(&["-C", machine, "commit", "-q", "-m", subject]);
}

/// Both sides add a record to the same file and a file of their own; theirs is pushed.
fn diverge(repository: &Repository) {
    let file = |path: &str| {
        let mut records = [(SHARED, "x"), (path, "y")];
        records.sort_unstable();
        promises(&records)
    };
    repository.write(FILE, file(MINE));
    repository.write("mine.txt", "mine");
    commit(repository, ".", "mine");
    repository.write(&format!("../other/{FILE}"), file(THEIRS));
    repository.write("../other/deep/theirs.txt", "theirs");
    commit(repository, "../other", "theirs");
    repository.git("-C ../other push -q");
}

fn assert_merged(repository: &Repository) {
    let merged = promises(&[(MINE, "y"), (SHARED, "x"), (THEIRS, "y")]);
    repository.assert_file(FILE, &merged);
    repository.assert_file("mine.txt", "mine");
    repository.assert_file("deep/theirs.txt", "theirs");
    let remote = repository.git(&["--git-dir=../remote", "show", &format!("main:{FILE}")]);
    assert_eq!(remote, merged);
}

#[test]
fn repositories_that_libgit2_does_not_read_are_merged() {
    for options in ["--object-format=sha256", "--ref-format=reftable", ""] {
        let Some(repository) = cloned(options) else {
            continue;
        };
        diverge(&repository);
        repository.ok("push").says(" to main");
        assert_merged(&repository);
        assert_eq!(repository.git("status --porcelain"), "", "{options}");
    }
}

#[test]
fn variables_that_name_the_repository_hold_for_the_merge() {
    let repository = cloned("").unwrap();
    diverge(&repository);
    fs::rename(repository.path(".git"), repository.path("../apart")).unwrap();
    let [dir, tree] = ["../apart", "."].map(|folder| {
        let folder = repository.path(folder).canonicalize().unwrap();
        folder.to_str().unwrap().to_owned()
    });
    let variables = [("GIT_DIR", dir.as_str()), ("GIT_WORK_TREE", &tree)];
    repository.urldb_with_env("push", &variables).code(0);
    assert_merged(&repository);
}

#[test]
fn a_sparse_index_and_a_split_index_are_merged() {
    let repository = cloned("").unwrap();
    diverge(&repository);
    repository.git("config core.splitIndex true");
    repository.git("sparse-checkout set --cone --sparse-index urldb");
    repository.ok("push");
    let remote = repository.git("--git-dir=../remote ls-tree -r --name-only main");
    assert_eq!(
        remote,
        format!("deep/theirs.txt\nmine.txt\nurldb.toml\n{FILE}\n")
    );
}

/// The merge has a signature where `git merge` would make one.
#[test]
fn a_merge_is_signed_as_other_commits_are() {
    for (value, is_signed) in [("yes", true), ("off", false)] {
        let repository = cloned("").unwrap();
        diverge(&repository);
        let signer = repository.write_program(
            "../signer",
            "#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\n\
             printf -- '-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n'\n",
        );
        repository.git(&["config", "gpg.program", signer.to_str().unwrap()]);
        repository.git(&["config", "commit.gpgSign", value]);
        repository.ok("push");
        let merge = repository.git("cat-file commit HEAD");
        assert_eq!(merge.matches("\nparent ").count(), 2);
        assert_eq!(merge.contains("\ngpgsig "), is_signed, "{merge}");
    }
}

#[test]
fn a_merge_that_cannot_be_signed_is_not_pushed() {
    let repository = cloned("").unwrap();
    diverge(&repository);
    let before = repository.git("--git-dir=../remote rev-parse main");
    repository.git("config gpg.program false");
    repository.git("config commit.gpgSign true");
    repository.exits(2, "push").complains("commit-tree");
    assert_eq!(repository.git("--git-dir=../remote rev-parse main"), before);
}

/// A domain file with this cname.
fn with_cname(cname: &str) -> String {
    format!("---\ncnames:\n- {cname}\n{}", promise("/", "x"))
}

#[test]
fn a_mistake_that_only_both_sides_together_make_is_not_pushed() {
    let repository = cloned("").unwrap();
    repository.write("urldb/mine.test.yaml", with_cname("www.shared.test"));
    commit(&repository, ".", "mine");
    repository.write(
        "../other/urldb/theirs.test.yaml",
        with_cname("www.shared.test"),
    );
    commit(&repository, "../other", "theirs");
    repository.git("-C ../other push -q");
    let before = repository.git("--git-dir=../remote rev-parse main");
    repository.exits(2, "push").complains(&[
        "both sides together make a mistake",
        "urldb/theirs.test.yaml:2:1: bad-cname: the cname `www.shared.test` is a cname of mine.test too",
        "git pull",
    ]);
    assert_eq!(repository.git("--git-dir=../remote rev-parse main"), before);
    // A person mends it.
    repository.git("pull -q --no-rebase --no-edit");
    repository.write("urldb/mine.test.yaml", with_cname("www.mine.test"));
    commit(&repository, ".", "mend");
    repository.ok("push");
}

/// A mistake that one side has alone stops nothing: it is told elsewhere.
#[test]
fn a_mistake_of_one_side_does_not_stop_a_push() {
    let repository = cloned("").unwrap();
    for host in ["one.test", "two.test"] {
        repository.write(
            &format!("../other/urldb/{host}.yaml"),
            with_cname("www.x.test"),
        );
    }
    commit(&repository, "../other", "theirs");
    repository.git("-C ../other push -q");
    repository.write("urldb/mine.test.yaml", with_cname("www.mine.test"));
    commit(&repository, ".", "mine");
    repository.ok("push");
}

/// Where both sides claim a page, or one a host that the other one calls a cname, both files are well by themselves.
#[test]
fn a_host_that_is_a_cname_of_the_other_side_is_not_pushed() {
    let repository = cloned("").unwrap();
    repository.write("urldb/a.test.yaml", with_cname("b.test"));
    commit(&repository, ".", "mine");
    repository.write("../other/urldb/b.test.yaml", promises(&[("/", "x")]));
    commit(&repository, "../other", "theirs");
    repository.git("-C ../other push -q");
    repository
        .exits(2, "push")
        .complains("the cname `b.test` has a domain file of its own");
}

#[test]
fn a_file_and_a_folder_of_the_same_name_are_not_merged() {
    for (mine, theirs) in [("x", "x/y/z"), ("x/y/z", "x")] {
        let repository = cloned("").unwrap();
        repository.write(mine, "mine");
        commit(&repository, ".", "mine");
        repository.write(&format!("../other/{theirs}"), "theirs");
        commit(&repository, "../other", "theirs");
        repository.git("-C ../other push -q");
        repository
            .exits(2, "push")
            .complains("is a file on one side and a folder on the other one");
        repository.assert_file(mine, "mine");
    }
}

/// Machines that push at the same time wait for each other, each a time of its own.
#[test]
fn many_machines_that_push_at_once_all_succeed() {
    let repository = cloned("").unwrap();
    let machines: Vec<String> = (0..8).map(|number| format!("../m{number}")).collect();
    for machine in &machines {
        repository.git(&["clone", "-q", "../remote", machine]);
        for (key, value) in [("user.name", "M"), ("user.email", "m@example.test")] {
            repository.git(&["-C", machine, "config", key, value]);
        }
        repository.write(&format!("{machine}/{}.txt", &machine[3..]), machine);
        commit(&repository, machine, machine);
    }
    let start = |machine: &String| {
        let mut push: Command = repository.urldb_command(&["-C", machine, "push"]);
        push.spawn().unwrap()
    };
    let running: Vec<_> = machines.iter().map(start).collect();
    for mut child in running {
        assert!(child.wait().unwrap().success());
    }
    let files = repository.git("--git-dir=../remote ls-tree --name-only main");
    let expected: Vec<_> = machines
        .iter()
        .map(|it| format!("{}.txt", &it[3..]))
        .collect();
    assert_has(
        &files,
        &expected.iter().map(String::as_str).collect::<Vec<_>>()[..],
    );
}
