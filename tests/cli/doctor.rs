//! What is set up, and the commands that mend the rest.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::Value;

use crate::hook::Repository;
use crate::run::mailing;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::setup::ACTION;
use crate::site::{FILE, Site, promise, promises};
use crate::words::stable;

const WORKFLOW: &str = ".github/workflows/urldb.yml";

/// A notifier that tells people.
const CHAT: &str = "[notify.chat]\ntype = \"command\"\ncommand = [\"true\"]\n";

/// A project in which nothing is missing, after one run.
fn complete() -> (Site, Repository) {
    let pages = [("/a", "first"), ("/b", "second")];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&format!("{}{CHAT}", mailing(&site)));
    sandbox.write(FILE, promises(&pages));
    let repository = Repository::of(sandbox);
    repository.ok(&["init", "--github", "--action", ACTION]);
    for command in ["hook install", "run -q"] {
        repository.ok(command);
    }
    // This project commits its ledger, whatever the workflow does.
    let ignored = repository.read(".gitignore");
    repository.write(".gitignore", ignored.replace("/status/\n", ""));
    repository.git("add .");
    repository.git("commit -q -m begin");
    (site, repository)
}

/// One check of `urldb doctor`, and the exit code of all.
#[derive(Debug)]
struct Check<'a> {
    repository: &'a Repository,
    value: Value,
    code: i32,
}

impl<'a> Check<'a> {
    #[track_caller]
    fn new(repository: &'a Repository, name: &str) -> Self {
        let ran = repository.urldb("doctor --format json");
        let document = ran.json();
        let mut checks = document["checks"].as_array().unwrap().iter();
        let found = checks.find(|check| check["name"] == name);
        let value = found.unwrap_or_else(|| panic!("no {name} in {document:#}"));
        Self {
            repository,
            value: value.clone(),
            code: ran.code,
        }
    }

    #[track_caller]
    fn is(self, outcome: &str, code: i32) -> Self {
        assert_eq!(self.value["outcome"], outcome, "{:#}", self.value);
        assert_eq!(self.code, code, "{:#}", self.value);
        self
    }

    fn sentence(&self) -> &str {
        self.value["sentence"].as_str().unwrap()
    }

    #[track_caller]
    fn says(self, part: &str) -> Self {
        assert_has(self.sentence(), part);
        self
    }

    /// Runs the first command, as people do.
    #[track_caller]
    fn obey(&self) {
        let command = self.value["remedies"][0]["command"].as_str().unwrap();
        self.repository.run_as_printed(command);
    }

    /// Runs the first command; then all is well.
    #[track_caller]
    fn mend(&self) {
        self.obey();
        let mended = Self::new(self.repository, self.value["name"].as_str().unwrap());
        let mended = &mended.value;
        assert_eq!(
            mended["outcome"], "ok",
            "after {:#}: {mended:#}",
            self.value
        );
    }
}

impl Repository {
    #[track_caller]
    fn check(&self, name: &str) -> Check<'_> {
        Check::new(self, name)
    }
}

fn make_old(file: &Path) {
    let past = SystemTime::now() - Duration::from_hours(3 * 24 + 1);
    File::options()
        .write(true)
        .open(file)
        .and_then(|file| file.set_modified(past))
        .unwrap();
}

#[test]
fn nothing_is_missing() {
    let (_site, repository) = complete();
    let before = repository.tree("");
    let ran = repository.ok("doctor");
    let mut settings = stable();
    settings.add_filter(r"\d+\.\d+ kB", "[size]");
    settings.bind(|| assert_snapshot!(ran.out));
    assert_eq!(ran.err, "");
    let all = repository.ok("doctor --verbose");
    for name in ["git", "conflicts", "ignored", "locks", "run", "leftovers"] {
        assert_has(&all.out, &format!("  ok    {name} "));
    }
    assert_eq!(repository.ok("doctor --quiet").out, "");
    assert_eq!(repository.tree(""), before, "doctor changes nothing");
}

#[test]
fn a_new_repository_is_told_how_to_begin() {
    let repository = Repository::of(Sandbox::empty());
    fs::remove_dir(repository.path("urldb")).unwrap();
    let ran = repository.exits(1, "doctor");
    stable().bind(|| assert_snapshot!(ran.out));
    repository.check("config").obey();
    let ran = repository.exits(1, "doctor");
    stable().bind(|| assert_snapshot!("after_init", ran.out));
}

#[test]
fn without_git_the_rest_is_examined() {
    let sandbox = Sandbox::new("");
    sandbox
        .exits(1, "doctor")
        .says(&["is in no git repository", "git init", "no URLs yet"]);
}

/// Each thing is broken, named, and mended by the command that doctor prints.
#[test]
fn each_command_mends() {
    let (_site, repository) = complete();
    let git_dir = repository.path(".git");
    let write = |path: &str, text: &str| repository.write(path, text);
    let append = |path: &str, text: &str| {
        let before = repository.read(path);
        write(path, &(before + text));
    };
    let old = |path: &str| {
        write(path, "");
        make_old(&repository.path(path));
    };
    let remove = |path: &str| fs::remove_file(repository.path(path)).unwrap();
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
            fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
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
            repository.git("config --remove-section merge.urldb");
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
            "is 3 days old and stops git: if no git command runs, remove it",
            &|| {
                old(".git/index.lock");
            },
        ),
        (
            "locks",
            "fault",
            ".git/refs/heads/topic/one.lock is 3 days old",
            &|| {
                old(".git/refs/heads/topic/one.lock");
            },
        ),
        ("leftovers", "advice", "2 temporary files", &|| {
            old("urldb/.urldb-tmp-x'y z");
            old("status/incidents/.urldb-tmp-b");
        }),
        ("database", "advice", "is not canonical", &|| {
            append(FILE, &promise("/0", "first"));
        }),
        ("config", "advice", "there is no urldb.toml", &|| {
            remove("urldb.toml");
        }),
        ("ledger", "advice", "not committed", &|| {
            repository.git("rm -q -r --cached status");
            remove(WORKFLOW);
        }),
    ];
    for (name, outcome, sentence, break_it) in cases {
        break_it();
        let broken = repository.check(name).is(outcome, 1).says(sentence);
        broken.mend();
    }
}

/// Runs make the index of a committed archive anew, so only its captures belong in a commit.
#[test]
fn the_index_of_a_committed_archive_is_ignored() {
    let (_site, repository) = complete();
    repository.write(".gitignore", ".urldb-tmp-*\n/site/\n/mail/\n");
    for file in repository.files("archive", ".warc.gz") {
        repository.git(&["add", file.to_str().unwrap()]);
    }
    let archive = repository.check("archive");
    assert!(archive.sentence().ends_with(", committed"), "{archive:?}");
    let ignored = repository.check("ignored").is("advice", 1);
    assert_eq!(
        ignored.sentence(),
        "git does not ignore archive/.*, archive/index/*"
    );
    ignored.mend();
    let lines = ".urldb-tmp-*\n/site/\n/mail/\n/archive/index/\n/archive/.*\n";
    repository.assert_file(".gitignore", &lines);
}

#[test]
fn mistakes_are_named() {
    let (_site, repository) = complete();
    repository.write("urldb/other.test.yaml", "---\n---\n_path: [\n");
    let database = repository.check("database").value;
    assert_eq!(
        database["sentence"],
        "urldb/: 2 domain files, 2 URLs; 1 file with mistakes"
    );
    assert_eq!(database["remedies"][0]["command"], "urldb lint");
    repository.write("urldb.toml", "[databse]\n[check]\ntimeout = 1\n");
    let ran = repository.exits(1, "doctor");
    stable().bind(|| assert_snapshot!(ran.out));
    repository
        .exits(1, "doctor --config none.toml")
        .says(&["fail  config", "none.toml"]);
}

#[test]
fn a_conflict_is_resolved() {
    let (_site, repository) = complete();
    repository.git("config --remove-section merge.urldb");
    let file = "urldb/example.test.yaml";
    let pages = [("/a", "first"), ("/b", "second")];
    for (branch, new) in [("one", ("/c", "x")), ("two", ("/d", "y"))] {
        repository.git(&["checkout", "-q", "-b", branch, "main"]);
        let records = [pages[0], pages[1], new];
        repository.write(file, promises(&records));
        repository.git(&["commit", "-q", "-a", "-m", branch]);
    }
    repository.git_fails("merge one");
    let conflicts = repository.check("conflicts").is("fault", 1);
    assert_eq!(
        conflicts.sentence(),
        "1 file has an unresolved conflict: urldb/example.test.yaml"
    );
    conflicts.mend();
}

/// A git at work has a lock that is seconds old.
#[test]
fn a_new_lock_is_left_alone() {
    let (_site, repository) = complete();
    File::create(repository.path(".git/index.lock")).unwrap();
    repository.check("locks").is("ok", 0);
}

#[test]
fn an_unfinished_archive_file_is_completed() {
    let (_site, repository) = complete();
    let file = repository.path("archive/urldb-20260101000000-00000-x.warc.gz.open");
    fs::write(&file, "").unwrap();
    make_old(&file);
    let leftovers = repository.check("leftovers");
    assert_eq!(
        leftovers.sentence(),
        "1 unfinished file of a killed run in the archive"
    );
    leftovers.mend();
}

#[test]
fn other_programs_may_manage_the_hooks() {
    let (_site, repository) = complete();
    let generated = |line: &str| {
        for name in ["pre-commit", "pre-merge-commit"] {
            repository.write_program(&format!(".git/hooks/{name}"), &format!("{line}\n"));
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
        let hook = || repository.check("hook");
        hook()
            .is("advice", 1)
            .says("manages the hooks and does not run urldb: add");
        let commented = format!("# {}\n", text.replace('\n', "\n# "));
        repository.write(file, commented);
        hook().is("advice", 1);
        repository.write(file, text);
        let managed = hook().is("ok", 0);
        let end = format!("runs urldb: {file} says so");
        assert!(managed.sentence().ends_with(&end), "{managed:?}");
        fs::remove_file(repository.path(".git/hooks/pre-commit")).unwrap();
        fs::remove_file(repository.path(".git/hooks/pre-merge-commit")).unwrap();
        hook().says("has no hooks in this clone");
        fs::remove_file(repository.path(file)).unwrap();
    }
    repository.git("config core.hooksPath .husky/_");
    let commented = "# urldb hook run pre-commit\nnpm test\n";
    repository.write(".husky/pre-commit", commented);
    repository.check("hook").is("advice", 1).mend();

    repository.git(&["config", "core.hooksPath", ""]);
    let hook = repository.check("hook").is("fault", 1);
    hook.says("core.hooksPath is empty");
}

#[test]
fn the_hook_needs_the_program() {
    let (_site, repository) = complete();
    let git = repository.path("../only-git");
    fs::create_dir(&git).unwrap();
    let path = std::env::var("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join("git"));
    let found = found.into_iter().find(|file| file.exists()).unwrap();
    std::os::unix::fs::symlink(found, git.join("git")).unwrap();
    let env = [("PATH", git.to_str().unwrap())];
    repository
        .urldb_with_env("doctor", &env)
        .code(1)
        .says(&["fail  hook", "urldb is not on PATH"]);
}

const MAIL: &str = "[notify.maintainers]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
    to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\nport = 9\ntls = \"none\"\n";

#[test]
fn secrets_are_looked_for_and_not_shown() {
    let (_site, repository) = complete();
    let login = "user = \"urldb\"\npassword-env = \"SMTP_PASSWORD\"\n";
    repository.write("urldb.toml", format!("{MAIL}{login}"));
    repository.exits(1, "doctor").says(&[
        "note  mail",
        "SMTP_PASSWORD is not set",
        "export SMTP_PASSWORD=…",
    ]);
    let set = [("SMTP_PASSWORD", "hunter2")];
    let ran = repository.urldb_with_env("doctor -v", &set).code(0);
    assert_has(&ran.out, "  ok    mail          maintainers: 127.0.0.1:9");
    assert_lacks(&ran.out, "hunter2");

    let workflow = repository.read(WORKFLOW);
    let env = "env:\n  SMTP_PASSWORD: ${{ secrets.SMTP_PASSWORD }}\n";
    repository.write(WORKFLOW, workflow + env);
    repository.ok("doctor");
    assert_eq!(
        repository.check("mail").sentence(),
        "maintainers: SMTP_PASSWORD comes from .github/workflows/urldb.yml; nothing is waiting"
    );
}

#[test]
fn waiting_messages_are_named() {
    let (site, repository) = complete();
    repository.write("urldb.toml", format!("{MAIL}{}", site.network()));
    site.remove("/a");
    repository.exits(1, "run -q");
    let mail = repository.check("mail");
    assert_eq!(mail.code, 1);
    let mail = serde_json::to_string_pretty(&mail.value).unwrap();
    stable().bind(|| assert_snapshot!(mail));
    repository.write("urldb.toml", site.network());
    repository.check("outbox").is("fault", 1).obey();
    assert_eq!(
        repository.check("notify").is("advice", 1).sentence(),
        "urldb.toml has no [notify.NAME], so nobody is told about broken promises, \
         except by a failed job of .github/workflows/urldb.yml"
    );
}

/// A notifier that only writes files tells nobody.
#[test]
fn a_project_that_tells_nobody_is_told_so() {
    let (site, repository) = complete();
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
        repository.write("urldb.toml", config);
        let notify = repository.check("notify").is("advice", 1);
        assert!(notify.sentence().starts_with(lack), "{notify:?}");
        assert_eq!(notify.value["remedies"][0]["purpose"], "to add one");
    }
    // On GitHub, issues need no account.
    repository.git("remote add origin git@github.com:ada/sky.git");
    repository.check("notify").obey();
    let document = repository.urldb("doctor --format json").json();
    let checks = document["checks"].as_array().unwrap();
    assert!(
        checks.iter().all(|check| check["name"] != "notify"),
        "{document:#}"
    );
}

#[test]
fn written_mails_should_be_ignored() {
    let (_site, repository) = complete();
    let ignored = repository.read(".gitignore");
    repository.write(".gitignore", ignored.replace("/mail/\n", ""));
    let ignored = repository.check("ignored").is("advice", 1);
    assert_eq!(ignored.sentence(), "git does not ignore mail/");
    ignored.mend();
}

/// A workflow that forgets what it saw tells nobody of a failure that a second run must confirm.
#[test]
fn a_workflow_that_stores_no_ledger_is_named() {
    let (_site, repository) = complete();
    let workflow = repository.read(WORKFLOW);
    let with = |inputs: &str| {
        let inputs = format!("        with:\n{inputs}");
        repository.write(WORKFLOW, workflow.replace("        with:\n", &inputs));
        repository.check("ledger")
    };
    let in_checkout = "          state-branch: ''\n";
    with(in_checkout).is("ok", 0);
    let forgetful = format!("{in_checkout}          commit-ledger: \"false\"\n");
    let lost = ".github/workflows/urldb.yml does not push it";
    let ledger = with(&forgetful).is("advice", 1).says(lost);
    let [editor, ..] = &ledger.value["remedies"].as_array().unwrap()[..] else {
        panic!("{ledger:?}");
    };
    assert!(editor["command"].as_str().unwrap().ends_with(WORKFLOW));
    let own = |run: &str| {
        let steps = format!(
            "on:\n  push:\n  schedule:\n    - cron: 1 4 * * *\njobs:\n  a:\n    steps:\n      - run: {run}\n"
        );
        repository.write(WORKFLOW, steps);
        repository.check("ledger")
    };
    own("urldb run --github").is("advice", 1).says(lost);
    own("urldb run --commit --push").is("ok", 0);
    own("urldb run --commit && git push").is("ok", 0);
    // A shard stores nothing, and the job that collects does.
    let shards = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/github/urldb-shards.yml");
    repository.write(WORKFLOW, fs::read(shards).unwrap());
    repository.check("ledger").is("ok", 0);
}

/// Without a workflow, other files say what runs urldb.
#[test]
fn a_schedule_is_found() {
    let (_site, repository) = complete();
    let workflow = repository.read(WORKFLOW);
    let said = || repository.check("schedule").sentence().to_owned();
    let unscheduled = workflow.replace("    - cron:", "    # - cron:");
    repository.write(WORKFLOW, &unscheduled);
    let none = ".github/workflows/urldb.yml runs urldb, but has no schedule";
    assert_eq!(said(), none);
    fs::remove_file(repository.path(WORKFLOW)).unwrap();
    // Runs of one day are those of somebody who tries urldb.
    for _ in 0..3 {
        repository.ok("run -q");
    }
    let none =
        "urldb.toml has no [[schedule]], no workflow calls `urldb run`, and the last run is ";
    assert!(said().starts_with(none), "{}", said());

    let pipeline = |text: &str| {
        repository.write(".gitlab-ci.yml", text);
        let pipeline = ".gitlab-ci.yml: as GitLab's settings of the project say";
        assert_eq!(said(), pipeline);
        fs::remove_file(repository.path(".gitlab-ci.yml")).unwrap();
    };
    pipeline("check:\n  script: [urldb run]\n");
    pipeline("check:\n  script:\n    - uvx urldb --quiet \\\n      run --commit --push\n");
    pipeline("check:\n  script:\n    - |\n      cd data\n      /opt/urldb -C . run\n");
    // What `init` writes, for a ledger on a branch and for one in the checkout.
    repository.ok("init --gitlab");
    let written = repository.read(".gitlab-ci.yml");
    assert_has(&written, "STATE_BRANCH: ''");
    repository.check("ledger").is("ok", 0);
    pipeline(&written);
    pipeline(&written.replace("    STATE_BRANCH: ''\n", ""));

    let config = repository.read("urldb.toml");
    let schedule = "[[schedule]]\ncron = \"30 4 * * *\"\ntimezone = \"Europe/Berlin\"\n";
    repository.write("urldb.toml", config + schedule);
    let times = "urldb.toml: every day at 04:30 Europe/Berlin";
    assert_eq!(
        said(),
        format!("{times}, but no `urldb watch` is at work here")
    );
    let mut watch = repository.start("watch");
    watch.expect("watching");
    assert_eq!(said(), times);
}

#[test]
fn a_run_that_is_overdue_is_named() {
    let (_site, repository) = complete();
    let line = |day: u32| {
        format!(
            "{{\"run\":\"2026010{day}T041700Z-0000000{day}\",\
             \"at\":\"2026-01-0{day}T04:17:00Z\",\"due\":1,\"verified\":0,\"states\":{{}},\"unverified\":[]}}\n"
        )
    };
    let history: String = (1..=5).map(line).collect();
    for month in repository.files("status/history", ".jsonl") {
        fs::remove_file(month).unwrap();
    }
    repository.write("status/history/2026-01.jsonl", history);
    let ledger = repository.check("ledger").is("advice", 1);
    let said = ledger.sentence();
    assert!(
        said.starts_with("status/: committed; last run 2026-01-05 04:17 UTC, ")
            && said.ends_with(" days ago, and runs usually begin every 24 hours"),
        "{said}"
    );
    ledger.mend();
}

/// Everything is as well below the top of the repository, in a folder that a shell must quote.
#[test]
fn a_project_below_the_top_is_examined() {
    let repository = Repository::without_hook();
    repository.git("remote add origin git@github.com:ada/sky.git");
    let project = "deep/it's here";
    std::fs::create_dir_all(repository.path(project)).unwrap();
    let urldb = |arguments: &str| {
        let arguments = arguments.split(' ').collect();
        repository.ok(&[vec!["-C", project], arguments].concat())
    };
    urldb(&format!("init --github --action {ACTION}"));
    urldb("add --no-fetch http://example.test/a");
    urldb("hook install");
    let ran = urldb("doctor");
    stable().bind(|| assert_snapshot!(ran.out));
    let workflow = repository.read(WORKFLOW);
    assert_has(
        &workflow,
        &[
            "          working-directory: 'deep/it''s here'\n",
            "          archive: artifact\n",
        ],
    );
}

#[test]
fn a_shallow_clone_and_a_ledger_elsewhere_are_named() {
    let (_site, repository) = complete();
    repository.git("commit -q --allow-empty -m two");
    let clone = repository.path("../clone");
    let url = format!("file://{}", repository.root.display());
    repository.git(&["clone", "-q", "--depth=1", &url, clone.to_str().unwrap()]);
    repository.exits(1, "-C ../clone doctor").says(&[
        "this clone is shallow",
        "git fetch --unshallow",
        "no hook",
    ]);

    fs::remove_file(repository.path(WORKFLOW)).unwrap();
    repository.git("rm -q -r --cached status");
    let ignored = repository.read(".gitignore");
    repository.write(".gitignore", format!("{ignored}/status/\n"));
    let ledger = || repository.check("ledger");
    ledger().says("a new clone knows nothing of earlier runs");
    repository.git("update-ref refs/remotes/origin/urldb-status HEAD");
    ledger().says("ignored by git, kept on a branch");
}
