//! What is set up, and the commands that mend the rest.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::Value;

use crate::hook::Repository;
use crate::run::mailing;
use crate::sandbox::{Ran, Sandbox};
use crate::site::{Site, promise, promises};
use crate::words::stable;

const WORKFLOW: &str = ".github/workflows/urldb.yml";

/// A notifier that tells people.
const CHAT: &str = "[notify.chat]\ntype = \"command\"\ncommand = [\"true\"]\n";

/// A project in which nothing is missing, after one run.
fn complete() -> (Site, Repository) {
    let pages = [("/a", "first"), ("/b", "second")];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&format!("{}{CHAT}", mailing(&site)));
    sandbox.write("urldb/example.test.yaml", promises(&pages));
    let repository = Repository::of(sandbox);
    for arguments in [
        &["init", "--github"][..],
        &["hook", "install"],
        &["run", "-q"],
    ] {
        repository.sandbox.urldb(arguments).code(0);
    }
    // This project commits its ledger, whatever the workflow does.
    let ignored = repository.sandbox.read(".gitignore");
    repository
        .sandbox
        .write(".gitignore", ignored.replace("/status/\n", ""));
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "begin"]);
    (site, repository)
}

/// `urldb doctor` with the program on its PATH.
fn doctor(repository: &Repository, arguments: &[&str]) -> Ran {
    doctor_with(repository, arguments, &[])
}

fn doctor_with(repository: &Repository, arguments: &[&str], env: &[(&str, &str)]) -> Ran {
    let path = [("PATH", repository.path.as_str())];
    let arguments = [&["doctor"], arguments].concat();
    repository
        .sandbox
        .urldb_with_env(&arguments, &[&path, env].concat())
}

/// The check of this name, and the exit code.
#[track_caller]
fn check(repository: &Repository, name: &str) -> (Value, i32) {
    let ran = doctor(repository, &["--format", "json"]);
    let document = ran.json();
    let mut checks = document["checks"].as_array().unwrap().iter();
    let found = checks.find(|check| check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no {name} in {document:#}"));
    (found.clone(), ran.code)
}

/// Runs the first command of a check, as people do.
#[track_caller]
fn mend(repository: &Repository, check: &Value) {
    let command = check["remedies"][0]["command"].as_str().unwrap();
    let mut shell = repository.sandbox.command("sh");
    shell.args(["-c", command]).env("PATH", &repository.path);
    let done = shell.output().unwrap();
    assert!(done.status.success(), "{command}: {done:?}");
}

fn make_old(file: &Path) {
    let past = SystemTime::now() - Duration::from_hours(3 * 24 + 1);
    File::options()
        .write(true)
        .open(file)
        .and_then(|file| file.set_modified(past))
        .unwrap();
}

fn set_mode(file: &Path, mode: u32) {
    fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn nothing_is_missing() {
    let (_site, repository) = complete();
    let before = repository.sandbox.tree("");
    let ran = doctor(&repository, &[]).code(0);
    let mut settings = stable();
    settings.add_filter(r"\d+\.\d+ kB", "[size]");
    settings.bind(|| assert_snapshot!(ran.out));
    assert_eq!(ran.err, "");
    let all = doctor(&repository, &["--verbose"]).code(0);
    for name in ["git", "conflicts", "ignored", "locks", "run", "leftovers"] {
        assert!(all.out.contains(&format!("  ok    {name} ")), "{}", all.out);
    }
    assert_eq!(doctor(&repository, &["--quiet"]).code(0).out, "");
    assert_eq!(
        repository.sandbox.tree(""),
        before,
        "doctor changes nothing"
    );
}

#[test]
fn a_new_repository_is_told_how_to_begin() {
    let repository = Repository::of(Sandbox::empty());
    fs::remove_dir(repository.sandbox.path("urldb")).unwrap();
    let ran = doctor(&repository, &[]).code(1);
    stable().bind(|| assert_snapshot!(ran.out));
    let (config, _) = check(&repository, "config");
    mend(&repository, &config);
    let ran = doctor(&repository, &[]).code(1);
    stable().bind(|| assert_snapshot!("after_init", ran.out));
}

#[test]
fn without_git_the_rest_is_examined() {
    let sandbox = Sandbox::new("");
    sandbox.urldb(&["doctor"]).code(1).says(&[
        "is in no git repository",
        "git init",
        "no URLs yet",
    ]);
}

/// Each thing is broken, named, and mended by the command that doctor prints.
#[test]
fn each_command_mends() {
    let (_site, repository) = complete();
    let git_dir = repository.sandbox.path(".git");
    let write = |path: &str, text: &str| repository.sandbox.write(path, text);
    let append = |path: &str, text: &str| {
        let before = repository.sandbox.read(path);
        write(path, &(before + text));
    };
    let old = |path: &str| {
        write(path, "");
        make_old(&repository.sandbox.path(path));
    };
    let remove = |path: &str| fs::remove_file(repository.sandbox.path(path)).unwrap();
    let hook = git_dir.join("hooks/pre-commit");
    let cases: [(&str, &str, &str, &dyn Fn()); 16] = [
        ("hook", "advice", "no hook", &|| {
            for name in ["pre-commit", "pre-merge-commit"] {
                remove(&format!(".git/hooks/{name}"));
            }
        }),
        ("hook", "advice", "one of two hooks", &|| {
            remove(".git/hooks/pre-merge-commit");
        }),
        ("hook", "fault", "is not executable", &|| {
            set_mode(&hook, 0o644);
        }),
        ("hook", "advice", "another version of urldb", &|| {
            let text = fs::read_to_string(&hook).unwrap();
            fs::write(&hook, text.replace("exit 1", "exit 0")).unwrap();
        }),
        ("hook", "advice", "one of two hooks does not serve", &|| {
            let text = fs::read_to_string(&hook).unwrap();
            fs::write(&hook, text.replace("-C '.'", "-C 'elsewhere'")).unwrap();
        }),
        ("merges", "advice", "no merge driver", &|| {
            repository.git(&["config", "--remove-section", "merge.urldb"]);
        }),
        ("merges", "advice", "another version", &|| {
            repository.git(&["config", "merge.urldb.driver", "urldb merge"]);
        }),
        ("merges", "advice", ".gitattributes does not name", &|| {
            write(".gitattributes", "* text=auto\n");
        }),
        ("ignored", "advice", "urldb/.urldb-tmp-*", &|| {
            write(".gitignore", "/archive/\n");
        }),
        (
            "archive",
            "advice",
            "neither ignored nor committed",
            &|| {
                write(".gitignore", ".urldb-tmp-*\n");
            },
        ),
        (
            "locks",
            "fault",
            "3 days ago, and no process uses it",
            &|| {
                old(".git/index.lock");
            },
        ),
        (
            "locks",
            "fault",
            ".git/refs/heads/topic/one.lock stops git",
            &|| {
                old(".git/refs/heads/topic/one.lock");
            },
        ),
        ("leftovers", "advice", "2 temporary files", &|| {
            old("urldb/.urldb-tmp-x'y z");
            old("status/incidents/.urldb-tmp-b");
        }),
        ("database", "advice", "is not canonical", &|| {
            append("urldb/example.test.yaml", &promise("/0", "first"));
        }),
        ("config", "advice", "there is no urldb.toml", &|| {
            remove("urldb.toml");
        }),
        ("ledger", "advice", "not committed", &|| {
            repository.git(&["rm", "-q", "-r", "--cached", "status"]);
            remove(WORKFLOW);
        }),
    ];
    for (name, outcome, sentence, break_it) in cases {
        break_it();
        let (broken, code) = check(&repository, name);
        assert_eq!(broken["outcome"], outcome, "{broken:#}");
        let said = broken["sentence"].as_str().unwrap();
        assert!(said.contains(sentence), "{sentence:?} in {broken:#}");
        assert_eq!(code, 1);
        mend(&repository, &broken);
        let (mended, _) = check(&repository, name);
        assert_eq!(mended["outcome"], "ok", "after {sentence:?}: {mended:#}");
    }
}

/// Runs make the index of a committed archive anew, so only its captures belong in a commit.
#[test]
fn the_index_of_a_committed_archive_is_ignored() {
    let (_site, repository) = complete();
    repository
        .sandbox
        .write(".gitignore", ".urldb-tmp-*\n/site/\n/mail/\n");
    for file in repository.sandbox.files("archive", ".warc.gz") {
        repository.git(&["add", file.to_str().unwrap()]);
    }
    let archive = check(&repository, "archive").0;
    let said = archive["sentence"].as_str().unwrap();
    assert!(said.ends_with(", committed"), "{said}");
    let (ignored, code) = check(&repository, "ignored");
    assert_eq!(
        (&ignored["sentence"], code),
        (
            &Value::from("git does not ignore archive/.*, archive/index/*"),
            1
        )
    );
    mend(&repository, &ignored);
    assert_eq!(check(&repository, "ignored").0["outcome"], "ok");
    let lines = ".urldb-tmp-*\n/site/\n/mail/\n/archive/index/\n/archive/.*\n";
    assert_eq!(repository.sandbox.read(".gitignore"), lines);
}

#[test]
fn mistakes_are_named() {
    let (_site, repository) = complete();
    let sandbox = &repository.sandbox;
    sandbox.write("urldb/other.test.yaml", "---\n---\n_path: [\n");
    let (database, _) = check(&repository, "database");
    assert_eq!(
        database["sentence"],
        "urldb/: 2 domain files, 2 URLs; 1 file with mistakes"
    );
    assert_eq!(database["remedies"][0]["command"], "urldb lint");
    sandbox.write("urldb.toml", "[databse]\n[check]\ntimeout = 1\n");
    let ran = doctor(&repository, &[]).code(1);
    stable().bind(|| assert_snapshot!(ran.out));
    sandbox
        .urldb(&["doctor", "--config", "none.toml"])
        .code(1)
        .says(&["fail  config", "none.toml"]);
}

#[test]
fn a_conflict_is_resolved() {
    let (_site, repository) = complete();
    repository.git(&["config", "--remove-section", "merge.urldb"]);
    let file = "urldb/example.test.yaml";
    let pages = [("/a", "first"), ("/b", "second")];
    for (branch, new) in [("one", ("/c", "x")), ("two", ("/d", "y"))] {
        repository.git(&["checkout", "-q", "-b", branch, "main"]);
        let records = [pages[0], pages[1], new];
        repository.sandbox.write(file, promises(&records));
        repository.git(&["commit", "-q", "-a", "-m", branch]);
    }
    assert!(!repository.try_git(&["merge", "one"]).status.success());
    let (conflicts, _) = check(&repository, "conflicts");
    assert_eq!(conflicts["outcome"], "fault");
    assert_eq!(
        conflicts["sentence"],
        "1 file has an unresolved conflict: urldb/example.test.yaml"
    );
    mend(&repository, &conflicts);
    let (conflicts, _) = check(&repository, "conflicts");
    assert_eq!(conflicts["outcome"], "ok");
}

#[test]
fn a_lock_in_use_is_left_alone() {
    let (_site, repository) = complete();
    let path = repository.sandbox.path(".git/index.lock");
    let _held = File::create(&path).unwrap();
    let (locks, code) = check(&repository, "locks");
    assert_eq!((&locks["outcome"], code), (&Value::from("ok"), 0));
    let said = locks["sentence"].as_str().unwrap();
    // A child of another test has the file open too, until it executes its program.
    assert!(said.contains("git is at work (process "), "{said}");
    assert_eq!(locks["remedies"], Value::Array(vec![]));
}

#[test]
fn an_unfinished_archive_file_is_completed() {
    let (_site, repository) = complete();
    let file = repository
        .sandbox
        .path("archive/urldb-20260101000000-00000-x.warc.gz.open");
    fs::write(&file, "").unwrap();
    make_old(&file);
    let (leftovers, _) = check(&repository, "leftovers");
    assert_eq!(
        leftovers["sentence"],
        "1 unfinished file of a killed run in the archive"
    );
    mend(&repository, &leftovers);
    assert_eq!(check(&repository, "leftovers").0["outcome"], "ok");
}

#[test]
fn other_programs_may_manage_the_hooks() {
    let (_site, repository) = complete();
    let sandbox = &repository.sandbox;
    let generated = |line: &str| {
        for name in ["pre-commit", "pre-merge-commit"] {
            let hook = sandbox.path(".git/hooks").join(name);
            fs::write(&hook, format!("#!/bin/sh\n{line}\n")).unwrap();
            set_mode(&hook, 0o755);
        }
    };
    for (line, file, text) in [
        (
            "# File generated by pre-commit: https://pre-commit.com",
            ".pre-commit-config.yaml",
            "repos:\n- repo: x\n  hooks:\n  - id: urldb-fmt\n",
        ),
        (
            "call_lefthook run \"pre-commit\" \"$@\"",
            "lefthook.yml",
            "pre-commit:\n  jobs:\n    - run: urldb hook run pre-commit\n",
        ),
    ] {
        generated(line);
        let (hook, code) = check(&repository, "hook");
        let said = hook["sentence"].as_str().unwrap();
        assert!(
            said.contains("manages the hooks and does not run urldb: add"),
            "{said}"
        );
        assert_eq!(code, 1);
        let commented = format!("# {}\n", text.replace('\n', "\n# "));
        sandbox.write(file, commented);
        assert_eq!(check(&repository, "hook").0["outcome"], "advice");
        sandbox.write(file, text);
        let (hook, code) = check(&repository, "hook");
        let said = hook["sentence"].as_str().unwrap();
        assert!(
            said.ends_with(&format!("runs urldb: {file} says so")),
            "{said}"
        );
        assert_eq!(code, 0);
        fs::remove_file(sandbox.path(".git/hooks/pre-commit")).unwrap();
        fs::remove_file(sandbox.path(".git/hooks/pre-merge-commit")).unwrap();
        let (hook, _) = check(&repository, "hook");
        let said = hook["sentence"].as_str().unwrap();
        assert!(said.contains("has no hooks in this clone"), "{said}");
        fs::remove_file(sandbox.path(file)).unwrap();
    }
    repository.git(&["config", "core.hooksPath", ".husky/_"]);
    sandbox.write(
        ".husky/pre-commit",
        "# urldb hook run pre-commit\nnpm test\n",
    );
    let (hook, _) = check(&repository, "hook");
    assert_eq!(hook["outcome"], "advice");
    mend(&repository, &hook);
    assert_eq!(check(&repository, "hook").0["outcome"], "ok");

    repository.git(&["config", "core.hooksPath", ""]);
    let (hook, _) = check(&repository, "hook");
    assert_eq!(hook["outcome"], "fault");
    let said = hook["sentence"].as_str().unwrap();
    assert!(said.contains("core.hooksPath is empty"), "{said}");
}

#[test]
fn the_hook_needs_the_program() {
    let (_site, repository) = complete();
    let git = repository.sandbox.path("../only-git");
    fs::create_dir(&git).unwrap();
    let path = std::env::var("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let found = found.into_iter().find(|file| file.exists()).unwrap();
    std::os::unix::fs::symlink(found, git.join("git")).unwrap();
    let env = [("PATH", git.to_str().unwrap())];
    doctor_with(&repository, &[], &env)
        .code(1)
        .says(&["fail  hook", "urldb is not on PATH"]);
}

const MAIL: &str = "[notify.maintainers]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
    to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\nport = 9\ntls = \"none\"\n";

#[test]
fn secrets_are_looked_for_and_not_shown() {
    let (_site, repository) = complete();
    let sandbox = &repository.sandbox;
    let login = "user = \"urldb\"\npassword-env = \"SMTP_PASSWORD\"\n";
    sandbox.write("urldb.toml", format!("{MAIL}{login}"));
    doctor(&repository, &[]).code(1).says(&[
        "note  mail",
        "SMTP_PASSWORD is not set",
        "export SMTP_PASSWORD=…",
    ]);
    let set = [("SMTP_PASSWORD", "hunter2")];
    let ran = doctor_with(&repository, &["-v"], &set).code(0);
    assert!(
        ran.out
            .contains("  ok    mail          maintainers: 127.0.0.1:9"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("hunter2"), "{ran:?}");

    let workflow = sandbox.read(WORKFLOW);
    let env = "env:\n  SMTP_PASSWORD: ${{ secrets.SMTP_PASSWORD }}\n";
    sandbox.write(WORKFLOW, workflow + env);
    doctor(&repository, &[]).code(0);
    let (mail, _) = check(&repository, "mail");
    assert_eq!(
        mail["sentence"],
        "maintainers: SMTP_PASSWORD comes from .github/workflows/urldb.yml; nothing is waiting"
    );
}

#[test]
fn waiting_messages_are_named() {
    let (site, repository) = complete();
    let sandbox = &repository.sandbox;
    sandbox.write("urldb.toml", format!("{MAIL}{}", site.network()));
    site.remove("/a");
    sandbox.urldb(&["run", "-q"]).code(1);
    let (mail, code) = check(&repository, "mail");
    assert_eq!(code, 1);
    let mail = serde_json::to_string_pretty(&mail).unwrap();
    stable().bind(|| assert_snapshot!(mail));
    sandbox.write("urldb.toml", site.network());
    let (outbox, code) = check(&repository, "outbox");
    assert_eq!((&outbox["outcome"], code), (&Value::from("fault"), 1));
    mend(&repository, &outbox);
    let (notify, code) = check(&repository, "notify");
    assert_eq!((&notify["outcome"], code), (&Value::from("advice"), 1));
    assert_eq!(
        notify["sentence"],
        "urldb.toml has no [notify.NAME], so nobody is told about broken promises, \
         except by a failed job of .github/workflows/urldb.yml"
    );
}

/// A notifier that only writes files tells nobody.
#[test]
fn a_project_that_tells_nobody_is_told_so() {
    let (site, repository) = complete();
    let sandbox = &repository.sandbox;
    let page = "[notify.page]\ntype = \"html\"\npath = \"site\"\n";
    for (config, lack) in [
        (
            site.network(),
            "urldb.toml has no [notify.NAME], so nobody is told",
        ),
        (
            mailing(&site),
            "[notify.mail] only writes files, so nobody is told",
        ),
        (
            mailing(&site) + page,
            "[notify.mail], [notify.page] only write files, so nobody is told",
        ),
    ] {
        sandbox.write("urldb.toml", config);
        let (notify, code) = check(&repository, "notify");
        assert_eq!((&notify["outcome"], code), (&Value::from("advice"), 1));
        let said = notify["sentence"].as_str().unwrap();
        assert!(said.starts_with(lack), "{said}");
        assert_eq!(notify["remedies"][0]["purpose"], "to add one");
    }
    // On GitHub, issues need no account.
    repository.git(&["remote", "add", "origin", "git@github.com:ada/sky.git"]);
    let (notify, _) = check(&repository, "notify");
    mend(&repository, &notify);
    let document = doctor(&repository, &["--format", "json"]).json();
    let checks = document["checks"].as_array().unwrap();
    assert!(
        checks.iter().all(|check| check["name"] != "notify"),
        "{document:#}"
    );
}

#[test]
fn written_mails_should_be_ignored() {
    let (_site, repository) = complete();
    let ignored = repository.sandbox.read(".gitignore");
    repository
        .sandbox
        .write(".gitignore", ignored.replace("/mail/\n", ""));
    let (ignored, code) = check(&repository, "ignored");
    assert_eq!(
        (&ignored["sentence"], code),
        (&Value::from("git does not ignore mail/"), 1)
    );
    mend(&repository, &ignored);
    assert_eq!(check(&repository, "ignored").0["outcome"], "ok");
}

/// Without a workflow, other files say what runs urldb.
#[test]
fn a_schedule_is_found() {
    let (_site, repository) = complete();
    let sandbox = &repository.sandbox;
    let workflow = sandbox.read(WORKFLOW);
    let said = || {
        check(&repository, "schedule").0["sentence"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let unscheduled = workflow.replace("    - cron:", "    # - cron:");
    sandbox.write(WORKFLOW, &unscheduled);
    assert_eq!(
        said(),
        ".github/workflows/urldb.yml runs urldb, but has no schedule"
    );
    fs::remove_file(sandbox.path(WORKFLOW)).unwrap();
    assert!(said().starts_with("nothing runs urldb regularly"));

    let root = sandbox.root.to_str().unwrap();
    let crontab = sandbox.path("../programs/crontab");
    let line = format!("17 4 * * * cd '{root}' && urldb run -q");
    let table = |line: &str| {
        fs::write(&crontab, format!("#!/bin/sh\ncat <<'END'\n{line}\nEND\n")).unwrap();
        set_mode(&crontab, 0o755);
    };
    table(&format!("# {line}"));
    assert!(said().starts_with("nothing runs urldb regularly"));
    table(&line.replace(root, &format!("{root}-other")));
    assert!(said().starts_with("nothing runs urldb regularly"));
    table(&line);
    assert_eq!(said(), "your crontab runs urldb");
    fs::remove_file(&crontab).unwrap();

    let units = "../home/.config/systemd/user";
    sandbox.write(
        &format!("{units}/promises.timer"),
        "[Timer]\nOnCalendar=daily\n",
    );
    let service = format!("[Service]\nExecStart=/usr/bin/urldb -C {root} run\n");
    sandbox.write(&format!("{units}/promises.service"), service);
    assert!(said().ends_with("/promises.timer runs urldb"), "{}", said());
    fs::remove_dir_all(sandbox.path(units)).unwrap();

    sandbox.write(".gitlab-ci.yml", "check:\n  script: [urldb run]\n");
    assert_eq!(
        said(),
        ".gitlab-ci.yml: as GitLab's settings of the project say"
    );
    fs::remove_file(sandbox.path(".gitlab-ci.yml")).unwrap();

    let config = sandbox.read("urldb.toml");
    let schedule = "[[schedule]]\ncron = \"30 4 * * *\"\ntimezone = \"Europe/Berlin\"\n";
    sandbox.write("urldb.toml", config + schedule);
    let times = "urldb.toml: every day at 04:30 Europe/Berlin";
    assert_eq!(
        said(),
        format!("{times}, but no `urldb watch` is at work here")
    );
    let mut watch = sandbox.start(&["watch"]);
    watch.expect("watching");
    assert_eq!(said(), times);
}

#[test]
fn a_run_that_is_overdue_is_named() {
    let (_site, repository) = complete();
    let sandbox = &repository.sandbox;
    let line = |day: u32| {
        format!(
            "{{\"kind\":\"run\",\"run\":\"2026010{day}T041700Z-0000000{day}\",\
             \"at\":\"2026-01-0{day}T04:17:00Z\",\"due\":1,\"states\":{{}},\"unverified\":[]}}\n"
        )
    };
    let history: String = (1..=5).map(line).collect();
    for month in sandbox.files("status/history", ".jsonl") {
        fs::remove_file(month).unwrap();
    }
    sandbox.write("status/history/2026-01.jsonl", history);
    let (ledger, code) = check(&repository, "ledger");
    assert_eq!((&ledger["outcome"], code), (&Value::from("advice"), 1));
    let said = ledger["sentence"].as_str().unwrap();
    assert!(
        said.starts_with("status/: committed; last run 2026-01-05 04:17 UTC, ")
            && said.ends_with(" days ago, and runs usually begin every 24 hours"),
        "{said}"
    );
    mend(&repository, &ledger);
    assert_eq!(check(&repository, "ledger").0["outcome"], "ok");
}

/// Everything is as well below the top of the repository, in a folder that a shell must quote.
#[test]
fn a_project_below_the_top_is_examined() {
    let repository = Repository::without_hook();
    repository.git(&["remote", "add", "origin", "git@github.com:ada/sky.git"]);
    let sandbox = &repository.sandbox;
    let project = "deep/it's here";
    let urldb = |arguments: &[&str]| {
        let path = [("PATH", repository.path.as_str())];
        sandbox.urldb_with_env(&[&["-C", project], arguments].concat(), &path)
    };
    for arguments in [
        &["init", "--github"][..],
        &["add", "--no-fetch", "http://example.test/a"],
        &["hook", "install"],
    ] {
        urldb(arguments).code(0);
    }
    let ran = urldb(&["doctor"]).code(0);
    stable().bind(|| assert_snapshot!(ran.out));
    let workflow = sandbox.read(WORKFLOW);
    assert!(
        workflow.contains("          working-directory: 'deep/it''s here'\n")
            && workflow.contains("          archive: artifact\n"),
        "{workflow}"
    );
}

#[test]
fn a_shallow_clone_and_a_ledger_elsewhere_are_named() {
    let (_site, repository) = complete();
    let sandbox = &repository.sandbox;
    repository.git(&["commit", "-q", "--allow-empty", "-m", "two"]);
    let clone = sandbox.path("../clone");
    let url = format!("file://{}", sandbox.root.display());
    repository.git(&["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    let path = [("PATH", repository.path.as_str())];
    let in_clone = |arguments: &[&str]| {
        sandbox.urldb_with_env(&[&["-C", "../clone"], arguments].concat(), &path)
    };
    in_clone(&["doctor"]).code(1).says(&[
        "this clone is shallow",
        "git fetch --unshallow",
        "no hook",
    ]);

    fs::remove_file(sandbox.path(WORKFLOW)).unwrap();
    repository.git(&["rm", "-q", "-r", "--cached", "status"]);
    let ignored = sandbox.read(".gitignore");
    sandbox.write(".gitignore", format!("{ignored}/status/\n"));
    let (ledger, _) = check(&repository, "ledger");
    let said = ledger["sentence"].as_str().unwrap();
    assert!(
        said.contains("a new clone knows nothing of earlier runs"),
        "{said}"
    );
    repository.git(&["update-ref", "refs/remotes/origin/urldb-status", "HEAD"]);
    let (ledger, _) = check(&repository, "ledger");
    let said = ledger["sentence"].as_str().unwrap();
    assert!(said.contains("ignored by git, kept on a branch"), "{said}");
}
