//! Mistakes that only several domain files together have: `lint`, `doctor`, the hook and `resolve` agree.

use std::fs;
use std::process::Output;

use crate::hook::Repository;
use crate::sandbox::assert_has;

const DOMAIN: &str = "main { optional language = flag(\"(en|fr)\\.\"); optional www = website(\"w{1,4}\\.\", \"www\"); };\n";
const WEBSITE: &str =
    "main { namespace options { query optional language = flag(\"en|fr\"); }; };\n";

/// A file of a host with these cnames, and the record `/x`.
fn file(cnames: &[&str]) -> String {
    let list: String = cnames.iter().flat_map(|name| ["- ", name, "\n"]).collect();
    let metadata = if list.is_empty() {
        list
    } else {
        format!("cnames:\n{list}")
    };
    format!("---\n{metadata}---\n_path: /x\n")
}

/// One file that is committed, one that is staged, and what is wrong with them together.
struct Contradiction {
    committed: (&'static str, &'static [&'static str]),
    staged: (&'static str, &'static [&'static str]),
    /// The host whose file `lint` names.
    lint: &'static str,
    /// What the hook says of the staged file.
    hook: [&'static str; 2],
}

const CONTRADICTIONS: [Contradiction; 6] = [
    Contradiction {
        committed: ("a.test", &["www.test"]),
        staged: ("b.test", &["www.test"]),
        lint: "b.test",
        hook: [
            "urldb/b.test.yaml:2:1: bad-cname",
            "is a cname of a.test too (a.test.yaml:2)",
        ],
    },
    Contradiction {
        committed: ("b.test", &["www.test"]),
        staged: ("a.test", &["www.test"]),
        lint: "b.test",
        hook: [
            "urldb/a.test.yaml:2:1: bad-cname",
            "is a cname of b.test too (b.test.yaml:2)",
        ],
    },
    Contradiction {
        committed: ("a.test", &[]),
        staged: ("c.test", &["a.test"]),
        lint: "c.test",
        hook: [
            "urldb/c.test.yaml:2:1: bad-cname",
            "has a domain file of its own, a.test.yaml",
        ],
    },
    Contradiction {
        committed: ("c.test", &["a.test"]),
        staged: ("a.test", &[]),
        lint: "c.test",
        hook: [
            "urldb/a.test.yaml:1:1: bad-cname",
            "this host is a cname of c.test (c.test.yaml:2)",
        ],
    },
    Contradiction {
        committed: ("www.example.org", &[]),
        staged: ("en.example.org", &[]),
        lint: "en.example.org",
        hook: [
            "urldb/en.example.org.yaml:3:1: same-page",
            "which has a record already: http://www.example.org/x (www.example.org.yaml:3)",
        ],
    },
    Contradiction {
        committed: ("en.example.org", &[]),
        staged: ("www.example.org", &[]),
        lint: "en.example.org",
        hook: [
            "urldb/www.example.org.yaml:3:1: same-page",
            "which has a record already: http://en.example.org/x (en.example.org.yaml:3)",
        ],
    },
];

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn path(host: &str) -> String {
    format!("urldb/{host}.yaml")
}

/// Commits with a date of its own: else the next commit would look like an amendment of this one.
fn commit(repository: &Repository, day: u8) {
    let date = format!("--date=2001-01-{day:02}T00:00:00Z");
    repository.git(&["commit", "-q", &date, "-m", "change"]);
}

/// A repository with the hook and site rules.
fn repository() -> Repository {
    let repository = Repository::without_hook();
    repository.write("urldb/rules/example.org.rules", DOMAIN);
    repository.write("urldb/rules/www.example.org.website.rules", WEBSITE);
    repository.ok("hook install");
    repository.git("add .");
    commit(&repository, 1);
    repository
}

#[test]
fn contradictions_between_files_are_found_by_lint_doctor_and_the_hook() {
    for contradiction in &CONTRADICTIONS {
        let repository = repository();
        let (host, cnames) = contradiction.committed;
        repository.write(&path(host), file(cnames));
        repository.git("add .");
        commit(&repository, 2);
        let doctor = repository.urldb("doctor");
        assert_has(&doctor.out, "all canonical");

        let (host, cnames) = contradiction.staged;
        repository.write(&path(host), file(cnames));
        let place = format!("{}:", path(contradiction.lint));
        let lint = repository.exits(1, "lint").says(&[&place, "1 error"]);
        assert_has(&lint.out, &place);
        let doctor = repository.urldb("doctor");
        assert_has(&doctor.out, "1 file with mistakes");
        repository
            .exits(1, "lint --changed-since HEAD")
            .says(&contradiction.hook);

        repository.git("add .");
        let refused = repository.try_git("commit -q -m two");
        assert!(!refused.status.success(), "{:?}", contradiction.hook);
        assert_has(&words(&refused), &contradiction.hook);
        // The hook judges what is staged, whatever the work tree has.
        fs::remove_file(repository.path(&path(host))).unwrap();
        let refused = repository.try_git("commit -q -m two");
        assert_has(&words(&refused), contradiction.hook[0]);
        if !contradiction.committed.1.contains(&host) {
            repository.git("reset -q");
            repository.write(&path(host), "---\n---\n_path: /free\n");
            repository.git("add .");
            repository.write(&path(host), file(cnames));
            commit(&repository, 3);
        }
        // A contradiction that the commit does not make is no matter of the commit.
        repository.write(&path(host), file(cnames));
        repository.git("add .");
        let date = "--date=2001-01-04T00:00:00Z";
        repository.git(&["commit", "-q", "--no-verify", date, "-m", "two"]);
        repository.write(&path("z.test"), file(&[]));
        repository.git("add .");
        repository.git("commit -q -m three");
    }
}

#[test]
fn resolve_names_contradictions_of_merged_files() {
    let repository = Repository::without_hook();
    let base = "---\n---\n_path: /a\n---\n_path: /z\n";
    let with = |record: &str, cnames: &str| {
        let text = base.replace(
            "---\n_path: /z",
            &format!("---\n_path: {record}\n---\n_path: /z"),
        );
        text.replacen("---\n", &format!("---\n{cnames}"), 1)
    };
    let commit = |files: &[(&str, String)]| {
        for (host, text) in files {
            repository.write(&path(host), text);
        }
        repository.git("add .");
        repository.git("commit -q -m change");
    };
    let cnames = "cnames:\n- www.test\n";
    commit(&[("a.test", base.to_owned()), ("b.test", file(&[]))]);
    repository.git("checkout -q -b other");
    commit(&[("a.test", with("/o", cnames))]);
    repository.git("checkout -q main");
    commit(&[("a.test", with("/p", "")), ("b.test", file(&["www.test"]))]);
    repository.git_fails("merge -q other");
    repository.exits(1, "resolve").says(&[
        "merged: urldb/a.test.yaml",
        "urldb/a.test.yaml:2:1: bad-cname",
        "is a cname of b.test too (b.test.yaml:2)",
    ]);

    // Git merges these two files by itself, and stops at a third one.
    repository.git("reset -q --hard main");
    repository.git("checkout -q -B other main~1");
    commit(&[("a.test", with("/o", cnames)), ("c.test", with("/o", ""))]);
    repository.git("checkout -q -B main main~1");
    let names = file(&["www.test"]);
    commit(&[("b.test", names), ("c.test", with("/p", ""))]);
    repository.git_fails("merge -q other");
    repository.exits(1, "resolve").says(&[
        "merged: urldb/c.test.yaml",
        "urldb/a.test.yaml:2:1: bad-cname: the cname `www.test` is a cname of b.test too (b.test.yaml:2)",
    ]);
}
