//! Commands that a hook or an alias of another repository starts: git tells both which repository they serve.

use crate::commit::repository;
use crate::hook::Repository;
use crate::sandbox::{Case, assert_has};
use crate::site::{FILE, promises};

const URL: &str = "http://example.test/a";

/// A project, and beside it another repository with a linked work tree.
fn with_other() -> Repository {
    let repository = repository("");
    repository.write(FILE, promises(&[("/a", "x"), ("/b", "y"), ("/c", "z")]));
    repository.git("commit -q -a -m more");
    repository.git("init -q -b main ../other");
    repository.write("../other/notes.txt", "one\n");
    repository.git("-C ../other add .");
    repository.git("-C ../other commit -q -m notes");
    repository.git("-C ../other worktree add -q ../linked");
    repository
}

impl Repository {
    /// The subjects of a repository, the last one first.
    fn subjects(&self, folder: &str) -> String {
        self.git(&["-C", folder, "log", "--format=%s"])
    }

    /// The last commit removed the URL from the project, and from nothing else.
    fn assert_removed(&self, other: &str) {
        assert_has(&self.subjects("."), &format!("Remove {URL}\nmore\n"));
        assert_eq!(self.subjects("../other"), other);
        assert_eq!(self.git("status --porcelain"), "");
        assert_eq!(self.git("-C ../other status --porcelain"), "");
        assert_eq!(self.git("-C ../other fsck --no-dangling"), "");
    }
}

#[test]
fn an_alias_of_another_repository_commits_in_the_project() {
    for (folder, alias) in [
        ("../linked", "!cd ../promises && urldb"),
        ("../linked", "!urldb -C ../promises"),
        ("../other", "!cd ../promises && urldb"),
        ("../other", "!urldb -C ../promises"),
    ] {
        for options in [&[][..], &["--git-dir=.git", "--work-tree=."]] {
            let _case = Case(&format!("{folder}: {options:?} {alias}"));
            if folder == "../linked" && !options.is_empty() {
                continue;
            }
            let repository = with_other();
            repository.git(&["-C", "../other", "config", "alias.w", alias]);
            let words = [&["-C", folder][..], options, &["w", "rm", URL, "--commit"]];
            repository.git(&words.concat());
            repository.assert_removed("notes\n");
            // The setup too is that of the project.
            let words = [&["-C", folder][..], options, &["w", "hook", "install"]];
            repository.git(&words.concat());
            assert!(repository.path(".git/hooks/pre-commit").exists());
            assert!(!repository.path("../other/.git/hooks/pre-commit").exists());
        }
    }
}

#[test]
fn a_hook_of_another_repository_commits_in_the_project() {
    let scripts = [
        "cd ../promises && urldb rm $URL --commit",
        "urldb -C ../promises rm $URL --commit",
    ];
    let commits = [
        ("../other", "commit -q -a -m edited"),
        ("../other", "commit -q -m edited notes.txt"),
        (
            "../other",
            "--git-dir=.git --work-tree=. commit -q -a -m edited",
        ),
        ("../linked", "commit -q -a -m edited"),
    ];
    for ((folder, commit), script) in commits.into_iter().zip(scripts.iter().cycle()) {
        let _case = Case(&format!("{folder}: {commit}: {script}"));
        let repository = with_other();
        let script = script.replace("$URL", URL);
        repository.write_program("../other/.git/hooks/pre-commit", &script);
        repository.write(&format!("{folder}/notes.txt"), "two\n");
        let words: Vec<&str> = commit.split(' ').collect();
        repository.git(&[&["-C", folder][..], &words].concat());
        assert_eq!(repository.subjects(folder), "edited\nnotes\n");
        assert_eq!(repository.git(&["-C", folder, "status", "--porcelain"]), "");
        let other = if folder == "../other" {
            "edited\nnotes\n"
        } else {
            "notes\n"
        };
        repository.assert_removed(other);
    }
}

#[test]
fn a_project_of_no_repository_does_not_get_that_of_an_alias() {
    let repository = with_other();
    repository.write("../plain/urldb.toml", "");
    repository.write(&format!("../plain/{FILE}"), promises(&[("/a", "x")]));
    repository.git(&["-C", "../other", "config", "alias.w", "!urldb -C ../plain"]);
    let words = repository.git_fails(&["-C", "../linked", "w", "rm", URL, "--commit"]);
    assert_has(&words, "is in no git repository");
    assert_eq!(repository.subjects("../other"), "notes\n");
}

#[test]
fn variables_about_the_project_hold() {
    let repository = with_other();
    let env = |names: &[(&str, &str)], url: &str| {
        let ran = repository.urldb_with_env(&["rm", url, "--commit"], names);
        ran.code(0).complains("committed");
    };
    // A git folder apart from its work tree, which git does not find without variables.
    repository.git("config core.worktree ../promises");
    let (tree, dir) = (repository.path("."), repository.path("../apart"));
    std::fs::rename(repository.path(".git"), &dir).unwrap();
    let (tree, dir) = (tree.to_str().unwrap(), dir.to_str().unwrap());
    env(&[("GIT_DIR", dir), ("GIT_WORK_TREE", tree)], URL);
    env(&[("GIT_DIR", "../apart")], "http://example.test/b");
    let subjects = repository.git("--git-dir=../apart log --format=%s");
    // A linked work tree, whose aliases get its git folder alone, and a project below its top.
    repository.write("../linked/below/urldb.toml", "");
    let file = format!("../linked/below/{FILE}");
    repository.write(&file, promises(&[("/a", "x")]));
    repository.git("-C ../linked add .");
    repository.git("-C ../linked commit -q -m below");
    repository.git(&["-C", "../linked", "config", "alias.w", "!urldb -C below"]);
    repository.git(&["-C", "../linked", "w", "rm", URL, "--commit"]);
    assert_eq!(repository.git("-C ../linked status --porcelain"), "");
    let subjects_of_linked = format!("Remove {URL}\nbelow\nnotes\n");
    assert_eq!(repository.subjects("../linked"), subjects_of_linked);
    assert_has(
        &subjects,
        &format!("Remove http://example.test/b\nRemove {URL}\nmore\n"),
    );
}
