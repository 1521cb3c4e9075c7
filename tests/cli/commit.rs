//! `--commit`: what a command has written becomes a commit, and nothing else does.

use std::fs;

use crate::hook::Repository;
use crate::hostile::assert_harmless;
use crate::sandbox::{Case, assert_has, assert_lacks};
use crate::site::{FILE, Site, promise, promises, sha256};
use crate::support::Reply;

/// A repository with a first commit of everything but the folders of this test, and an author.
pub(crate) fn repository(config: &str) -> Repository {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    let toml = sandbox.read("urldb.toml");
    sandbox.write("urldb.toml", format!("{toml}{config}"));
    repository.git(&["config", "user.name", "A U Thor"]);
    repository.git("config user.email author@example.test");
    sandbox.write(FILE, promises(&[("/a", "x")]));
    repository.git("add .");
    repository.git("commit -q -m base");
    repository
}

/// The names of files, with `MONTH` in place of the month of the history.
fn with_any_month(files: &[String]) -> Vec<String> {
    let name = |file: &String| match file.split_once("history/") {
        Some((folder, _)) => format!("{folder}history/MONTH.jsonl"),
        None => file.clone(),
    };
    files.iter().map(name).collect()
}

impl Repository {
    /// The subject and the files of the last commit.
    fn last(&self) -> (String, Vec<String>) {
        let shown = self.git("show --format=%s --name-status -z HEAD");
        let (subject, files) = shown.split_once('\0').unwrap();
        let words = files.trim_start().split('\0');
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let files = words.chunks(2).map(|words| words.join(" "));
        (subject.trim().to_owned(), files.collect())
    }

    fn head(&self) -> String {
        self.git("rev-parse HEAD")
    }

    fn status(&self) -> String {
        self.git("status --porcelain --untracked-files=all")
    }
}

#[test]
fn exactly_the_written_files_are_committed() {
    let repository = repository("");
    repository.write("staged.txt", "mine");
    repository.write("urldb/staged.test.yaml", promises(&[("/s", "x")]));
    repository.git("add .");
    repository.write("urldb.toml", repository.read("urldb.toml") + "# mine\n");
    repository.write("urldb/untracked.test.yaml", promises(&[("/u", "x")]));
    repository
        .ok("add --no-fetch --commit http://example.test/b http://new.test/n")
        .says("added http://example.test/b")
        .complains(&["committed", "Add 2 URLs of 2 hosts (2 files)"]);
    let files = ["M urldb/example.test.yaml", "A urldb/new.test.yaml"].map(str::to_owned);
    assert_eq!(
        repository.last(),
        ("Add 2 URLs of 2 hosts".to_owned(), files.to_vec())
    );
    let left =
        " M urldb.toml\nA  staged.txt\nA  urldb/staged.test.yaml\n?? urldb/untracked.test.yaml\n";
    let sorted = |status: &str| {
        let mut lines: Vec<String> = status.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&repository.status()), sorted(left));
}

#[test]
fn messages_name_the_change() {
    let site = Site::with(&[("/a", "new"), ("/b", "new"), ("/c", "x")]);
    let repository = repository(&site.network());
    let assert_subject = |arguments: &str, subject: &str| {
        repository.ok(arguments).complains("committed");
        assert_eq!(repository.last().0, subject);
    };
    assert_subject(
        "add --static --commit http://example.test/b",
        "Add http://example.test/b",
    );
    assert_subject(
        "add --commit -c x http://example.test/b http://example.test/c",
        "Add http://example.test/c, update http://example.test/b",
    );
    let own = "#1: as agreed\n\nLong.\n";
    repository.ok(&["accept", "--all", "--yes", "--commit", "-m", own]);
    assert_eq!(repository.last().0, "#1: as agreed");
    site.serve("/a", Reply::ok("newer"));
    site.serve("/b", Reply::ok("newer"));
    assert_subject(
        "accept --all --yes --commit",
        "Accept what 2 URLs of example.test serve",
    );
    assert_subject(
        "rm --commit -d example.test",
        "Remove 3 URLs of example.test",
    );
    repository.write("list.txt", "http://example.test/c\nhttp://a.test/\n");
    assert_subject("import list list.txt --commit", "Import 2 URLs of 2 hosts");
    // Nothing is served at a.test.
    let map = site.map("a.test");
    let fill = format!("import list list.txt --static --commit --map {map}");
    repository.urldb(&fill).complains("committed");
    assert_eq!(
        repository.last().0,
        "Promise what is served: http://example.test/c"
    );
    repository.exits(2, "add -m x http://example.test/z");
    repository.exits(2, &["rm", "--commit", "-m", "", "http://example.test/c"]);
}

#[test]
fn hostile_text_stays_text() {
    let repository = repository("");
    let url = "http://example.test/a\u{202e}`$(touch x)`##[error]";
    let ran = repository.ok(&["add", "--no-fetch", "--commit", url]);
    assert_harmless("add", &ran);
    let (subject, _) = repository.last();
    assert!(
        !subject.contains('\u{202e}') && !subject.contains("##["),
        "{subject:?}"
    );
    assert!(!repository.path("x").exists());

    // Names of folders that mean something to git.
    for folder in [":(exclude)x", "-x", "a b", "*", "[a]", "!x"] {
        repository.write("urldb.toml", format!("[database]\npath = {folder:?}\n"));
        fs::create_dir_all(repository.path(folder)).unwrap();
        repository.ok("add --no-fetch --commit http://example.test/b");
        let files = repository.last().1;
        assert_eq!(files, [format!("A {folder}/example.test.yaml")]);
    }
}

#[test]
fn nothing_written_is_no_commit() {
    let repository = repository("");
    repository
        .ok("add --no-fetch --commit http://example.test/a")
        .says("known")
        .complains("nothing to commit: the files are as in the last commit");
    repository
        .ok("rm --commit --changed-since HEAD")
        .says("no selected record has changed")
        .complains("nothing to commit");
    repository
        .ok("rm --commit --dry-run -d example.test")
        .says("would remove example.test/a");
    repository
        .ok("add --no-fetch --commit -n -c x http://example.test/a http://new.test/")
        .says(&[
            "would update http://example.test/a",
            "would add http://new.test/",
        ]);
    repository.write("list.txt", "http://example.test/new\n");
    repository
        .ok("import list list.txt --commit --dry-run")
        .says("1 added");
    assert_eq!(repository.status(), "?? list.txt\n");
    // What is written is what the last commit has.
    repository.write(FILE, "---\n");
    let sums = format!("{}  a\n", sha256("x"));
    repository.write("list.txt", sums);
    let import = "import sums list.txt --base http://example.test/ --commit";
    let first = repository.ok(import);
    assert_has(&first.err, "committed");
    let before = repository.head();
    repository.write(FILE, "---\n");
    repository
        .ok(import)
        .complains("nothing to commit: the files are as in the last commit");
    assert_eq!(repository.head(), before);
}

#[test]
fn our_own_hook_runs_within_and_normalizes() {
    let repository = repository("");
    repository.ok("hook install");
    repository.git("add .");
    repository.git("commit -q -m driver");
    let shuffled = format!("---\n{}{}", promise("/z", "x"), promise("/a", "x"));
    repository.write(FILE, shuffled);
    repository
        .ok("add --no-fetch --commit http://example.test/b http://new.test/")
        .complains(&["urldb: normalized urldb/example.test.yaml", "committed"]);
    assert_eq!(repository.status(), "");
    let listed = repository.read(FILE);
    let paths: Vec<&str> = listed
        .lines()
        .filter_map(|line| line.strip_prefix("_path: "))
        .collect();
    assert_eq!(paths, ["/a", "/b", "/z"]);
}

#[test]
fn a_hook_that_refuses_leaves_the_files_and_the_index() {
    let repository = repository("");
    let hook = "printf 'not on \\033[2Jmy watch\\n'\n::error::x\nexit 1\n";
    repository.write_program(".git/hooks/pre-commit", hook);
    repository.write("staged.txt", "mine");
    repository.git("add staged.txt");
    let before = repository.head();
    let ran = repository.urldb("add --no-fetch --commit http://example.test/b http://new.test/");
    assert_harmless("hook", &ran);
    ran.code(2)
        .says("added http://new.test/")
        .complains(&["the files are written, but not committed", "my watch"]);
    assert_eq!(repository.head(), before);
    assert_eq!(
        repository.status(),
        "A  staged.txt\n M urldb/example.test.yaml\n?? urldb/new.test.yaml\n"
    );
    assert_has(&repository.read(FILE), "/b");
}

#[test]
fn a_commit_that_cannot_be_made_is_refused_before_anything_is_written() {
    let repository = repository("");
    let add = "add --no-fetch --commit http://example.test/b";
    let before = repository.read(FILE);

    repository.git("config user.useConfigOnly true");
    repository.git("config --unset user.email");
    repository
        .exits(2, add)
        .complains("git cannot make a commit here");
    repository.git("config user.email author@example.test");

    let nothing = repository.path("../nothing");
    fs::create_dir(&nothing).unwrap();
    let empty = [("PATH", nothing.to_str().unwrap())];
    repository
        .urldb_with_env(add, &empty)
        .code(2)
        .complains("cannot run `git`; is it installed");
    repository.assert_file(FILE, &before);

    // Only git knows whether it ignores a file: this is found out at the end.
    repository.write(".gitignore", "urldb/ignored*\n");
    repository
        .exits(2, "add --no-fetch --commit http://ignored.test/")
        .complains(&["git ignores urldb/ignored.test.yaml", "not committed"]);
    assert!(repository.path("urldb/ignored.test.yaml").exists());
    repository.write(".gitignore", "status/\n");
    repository
        .exits(2, "run --commit")
        .complains("git ignores status");
    assert!(!repository.path("status").exists());

    fs::remove_dir_all(repository.path(".git")).unwrap();
    repository
        .exits(2, add)
        .complains("is in no git repository");
    repository.assert_file(FILE, &before);
}

impl Repository {
    /// A file `notes.txt` with another text in each commit of `main` and of the branch `other`, which
    /// therefore cannot be joined.
    fn with_conflicts(&self) {
        let write = |text: &str| {
            self.sandbox.write("notes.txt", text);
            self.git("add notes.txt");
            self.git(&["commit", "-q", "-m", text]);
        };
        write("base");
        self.git("switch -q -c other");
        write("theirs");
        write("theirs again");
        self.git("switch -q main");
        write("ours");
        write("ours again");
    }

    /// What git knows of the operation in progress.
    fn state(&self) -> Vec<String> {
        let is_state = |name: &String| {
            let known = ["_HEAD", "MSG", "BISECT_LOG", "rebase-", "sequencer"];
            known.iter().any(|part| name.contains(part)) && !name.contains("COMMIT_EDITMSG")
        };
        let files = self.sandbox.tree(".git").into_keys();
        let names = files.map(|path| path.display().to_string());
        names.filter(is_state).collect()
    }
}

/// Operations that git stops in, each with how urldb names it, and a command that ends it.
const OPERATIONS: [(&str, &[&str], &str, &str); 11] = [
    (
        "merge",
        &["merge other"],
        "a merge is in progress: finish it with `git merge --continue`, or give it up with `git merge --abort`",
        "git merge --abort",
    ),
    (
        "revert",
        &["revert --no-edit HEAD~1"],
        "a revert is in progress: finish it with `git revert --continue`",
        "git revert --abort",
    ),
    (
        "revert -n",
        &["revert -n HEAD"],
        "a revert is in progress",
        "git revert --abort",
    ),
    (
        "cherry-pick",
        &["cherry-pick other"],
        "a cherry-pick is in progress: finish it with `git cherry-pick --continue`",
        "git cherry-pick --abort",
    ),
    (
        "sequencer",
        &[
            "cherry-pick main..other",
            "checkout --ours notes.txt",
            "add notes.txt",
            "commit -q --allow-empty -m picked",
        ],
        "a cherry-pick is in progress",
        "git cherry-pick --abort",
    ),
    (
        "sequencer of reverts",
        &[
            "revert --no-edit HEAD~1 HEAD~2",
            "checkout --ours notes.txt",
            "add notes.txt",
            "commit -q --allow-empty -m reverted",
        ],
        "a revert is in progress",
        "git revert --abort",
    ),
    (
        "rebase",
        &["rebase other"],
        "a rebase is in progress: finish it with `git rebase --continue`",
        "git rebase --abort",
    ),
    (
        "rebase --apply",
        &["rebase --apply other"],
        "a rebase is in progress",
        "git rebase --abort",
    ),
    (
        "am",
        &[
            "format-patch -q -1 -o .. other",
            "am -q ../0001-theirs-again.patch",
        ],
        "`git am` is in progress: finish it with `git am --continue`",
        "git am --abort",
    ),
    (
        "bisect",
        &["bisect start HEAD HEAD~2"],
        "a bisection is in progress: end it with `git bisect reset`",
        "git bisect reset",
    ),
    (
        "stash",
        &[
            "checkout -q other -- notes.txt",
            "stash -q",
            "rm -q notes.txt",
            "commit -q -m removed",
            "stash pop",
        ],
        "files have unresolved conflicts: resolve each (`git status` lists them), and `git add` it",
        "git add notes.txt",
    ),
];

#[test]
fn a_commit_waits_for_the_end_of_another_operation_and_the_files_are_written() {
    for (name, begin, message, end) in OPERATIONS {
        let _case = Case(name);
        let repository = repository("");
        repository.with_conflicts();
        for arguments in begin {
            repository.try_git(arguments);
        }
        let (head, state) = (repository.head(), repository.state());
        assert!(name == "stash" || !state.is_empty());
        let rm = "rm --commit http://example.test/a";
        repository
            .exits(2, rm)
            .says("removed example.test/a")
            .complains(&[
                "the files are written, but not committed; the same command commits them later",
                message,
            ]);
        assert_lacks(&repository.read(FILE), "/a");
        assert_eq!((repository.head(), repository.state()), (head, state));
        repository.run_as_printed(end);
        repository
            .ok(rm)
            .complains("Remove http://example.test/a (1 file)");
        assert_eq!(repository.last().1, ["M urldb/example.test.yaml"]);
    }
}

/// Nobody reads what an unattended run says at once: it checks all the same, and the next run makes up for
/// the commit.
#[test]
fn a_run_in_the_middle_of_another_operation_is_complete_but_for_its_commit() {
    let site = Site::with(&[("/a", "x")]);
    let repository = repository(&site.network());
    repository.with_conflicts();
    repository.try_git("revert --no-edit HEAD~1");
    let (head, state) = (repository.head(), repository.state());
    repository
        .exits(2, "run --commit")
        .says("Checked 1 of 1 URL")
        .complains(&["not committed", "a revert is in progress"]);
    assert!(repository.path("status/example.test.yaml").exists());
    assert_eq!((repository.head(), repository.state()), (head, state));
    repository.git("revert --abort");
    repository.ok("run --commit");
    let files = repository.last().1;
    assert_has(&files.join("\n"), "A status/example.test.yaml");
}

/// A command without `--commit` has written its files. The same command has nothing to write then, and commits them.
#[test]
fn what_a_command_has_written_is_committed_by_the_same_command() {
    let site = Site::with(&[("/a", "new"), ("/b", "y"), ("/c", "z")]);
    let two = "http://example.test/b http://example.test/c";
    let list = format!("{two}\n").replace(' ', "\n");
    let sums = format!("{}  a\n{}  b\n", sha256("x"), sha256("y"));
    let import = "import sums sums --base http://example.test/ --keep-going";
    for (command, subject) in [
        (
            "add --no-fetch http://example.test/b",
            "Add http://example.test/b",
        ),
        (
            "add --static http://example.test/b http://new.test/",
            "Add http://example.test/b",
        ),
        (
            "add --no-fetch -c x http://example.test/a",
            "Add http://example.test/a",
        ),
        (
            "accept --yes http://example.test/a",
            "Accept what http://example.test/a serves",
        ),
        ("rm http://example.test/a", "Remove http://example.test/a"),
        (
            "rm http://example.test/a http://example.test/d",
            "Remove 2 URLs of example.test",
        ),
        ("rm --path-prefix /d", "Remove http://example.test/d"),
        ("rm -d example.test", "Remove 2 URLs of example.test"),
        ("import list list.txt", "Import 2 URLs of example.test"),
        (
            "import list list.txt --static",
            "Import 2 URLs of example.test",
        ),
        (import, "Import 2 URLs of example.test"),
    ] {
        let _case = Case(command);
        let repository = repository(&site.network());
        repository.write(FILE, promises(&[("/a", "x"), ("/d", "x")]));
        repository.git("commit -q -a -m change");
        repository.write("list.txt", &list);
        repository.write("sums", &sums);
        // A file that the user has changed, and none of the commands.
        repository.write("urldb/mine.test.yaml", promises(&[("/m", "x")]));
        repository.urldb(command);
        let written = repository.read(FILE);
        let again = match command.split_once(' ').unwrap() {
            ("import", _) => format!("{command} --commit"),
            (verb, rest) => format!("{verb} --commit {rest}"),
        };
        repository.urldb(&again).complains(&["committed", subject]);
        let expected = vec!["M urldb/example.test.yaml".to_owned()];
        assert_eq!(repository.last(), (subject.to_owned(), expected));
        repository.assert_file(FILE, &written);
        assert!(repository.status().contains("?? urldb/mine.test.yaml"));
        let done = repository.urldb(&again);
        if command.starts_with("rm ") {
            done.code(2);
        } else {
            done.complains("nothing to commit: the files are as in the last commit");
        }
    }
}

#[test]
fn commits_are_signed_as_the_user_wants() {
    let repository = repository("");
    let script = "cat >/dev/null\necho '-----BEGIN PGP SIGNATURE-----'\n\
                  echo '[GNUPG:] SIG_CREATED x' >&2\n";
    let program = repository.write_program("../programs/sign", script);
    repository.git("config commit.gpgSign true");
    repository.git(&["config", "gpg.program", program.to_str().unwrap()]);
    repository.ok("add --no-fetch --commit http://example.test/b");
    let commit = repository.git("cat-file commit HEAD");
    assert_has(&commit, "gpgsig -----BEGIN PGP SIGNATURE-----");
}

#[test]
fn many_files_are_one_commit() {
    let repository = repository("");
    let urls: Vec<_> = (0..600)
        .map(|number| format!("http://h{number}.test/\n"))
        .collect();
    repository.write("list.txt", urls.concat());
    repository.write("staged.txt", "mine");
    repository.git("add staged.txt");
    repository
        .ok("import list list.txt --commit")
        .complains("(600 files)");
    assert_eq!(repository.last().1.len(), 600);
    assert_eq!(repository.status(), "A  staged.txt\n?? list.txt\n");
    // One file of another origin, and each file is named alone.
    repository.write("urldb/mine.test.yaml", promises(&[("/m", "x")]));
    repository.ok("rm --path-prefix / --commit -d h1.test");
    repository.ok("add --no-fetch --commit -c x http://h2.test/");
    assert_eq!(repository.last().1, ["M urldb/h2.test.yaml"]);
    assert!(repository.status().contains("?? urldb/mine.test.yaml"));
}

#[test]
fn a_run_commits_the_ledger_and_a_tracked_archive() {
    let site = Site::with(&[("/a", "x")]);
    let repository = repository(&site.network());
    repository.write("notes.txt", "mine");
    repository.write("status/notes.txt", "mine");
    repository.git("add notes.txt");
    repository.ok("run").complains(
        "note: git does not track status/: `git add status` adds it to the next commit\n",
    );
    let ran = repository
        .ok("run --commit --format json")
        .complains("committed");
    ran.json();
    let (subject, files) = repository.last();
    assert_eq!(subject, "URLs: 1 ok");
    let expected = [
        "A status/captures/example.test-9b263fbc.yaml",
        "A status/example.test.yaml",
        "A status/history/MONTH.jsonl",
    ];
    assert_eq!(with_any_month(&files), expected);
    assert!(repository.status().contains("A  notes.txt\n"));
    assert!(repository.status().contains("?? status/notes.txt\n"));
    assert!(repository.status().contains("?? archive/"));

    // Somebody commits the archive: from then on runs do.
    repository.git("add :(glob)archive/*.warc.gz");
    repository.git("commit -q -m archive archive");
    site.serve("/a", Reply::ok("y"));
    repository.exits(1, "run --commit -m mine");
    let (subject, files) = repository.last();
    assert_eq!(subject, "mine");
    let files = with_any_month(&files).join("\n") + "\n";
    let checks = "A archive/.checked.yaml\n";
    assert_has(&files, &[".warc.gz\n", "history/MONTH.jsonl\n", checks]);
    assert_lacks(&files.replace(checks, ""), &["archive/index", "/."]);
    assert!(repository.status().contains("A  notes.txt\n"));

    // A domain that is gone takes its ledger file along.
    fs::remove_file(repository.path(FILE)).unwrap();
    repository.write("urldb/other.test.yaml", "---\n");
    repository.urldb("run --commit");
    let files = repository.last().1.join("\n");
    assert_has(&files, "D status/example.test.yaml");
}

#[test]
fn a_ledger_on_a_branch_of_its_own_is_committed_there() {
    let site = Site::with(&[("/a", "x")]);
    let repository = repository(&site.network());
    repository.git("worktree add -q --orphan -b ledger status");
    let before = repository.head();
    repository.ok("run --commit").complains("committed");
    assert_eq!(repository.ok("run").err, "");
    assert_eq!(repository.head(), before);
    let files = repository.git("ls-tree --name-only -r ledger");
    let files: Vec<String> = files.lines().map(str::to_owned).collect();
    let expected = [
        "captures/example.test-9b263fbc.yaml",
        "example.test.yaml",
        "history/MONTH.jsonl",
    ];
    assert_eq!(with_any_month(&files), expected);
}

#[test]
fn an_acknowledgement_is_committed_alone() {
    let site = Site::with(&[("/a", "other")]);
    let repository = repository(&site.network());
    repository.exits(1, "run --commit");
    repository.write("urldb.toml", repository.read("urldb.toml") + "# mine\n");
    let acknowledged =
        repository.ok("ack http://example.test/a --until 2999-01-01 --because known --commit");
    assert_lacks(&acknowledged.out, "commit it");
    let (subject, files) = repository.last();
    let [file] = files.as_slice() else {
        panic!("{files:?}");
    };
    let id = file.strip_prefix("M status/incidents/").unwrap();
    let id = id.strip_suffix(".yaml").unwrap();
    assert_eq!(
        subject,
        format!("Acknowledge incident {id} of example.test until 2999-01-01")
    );
    let left = repository.status();
    let left: Vec<&str> = left.lines().filter(|it| !it.contains("archive/")).collect();
    assert_eq!(left, [" M urldb.toml"]);
}
