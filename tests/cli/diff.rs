//! `urldb diff`: two states of the database, in every form.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::hook::Repository;
use crate::hostile::assert_harmless;
use crate::sandbox::{Ran, assert_lacks};
use crate::site::{FILE, promise, promises};
use crate::words::stable;

/// A repository with the tag `base`, in which everything that can differ has been changed since.
fn changed() -> Repository {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    let more = "---\n_path: /d\ncategories:\n- a\nname: old\n---\n_path: /e\nredirects-to: http://example.test/a\n";
    sandbox.write(
        FILE,
        promises(&[("/a", "x"), ("/b", "y"), ("/c", "z")]) + more,
    );
    sandbox.write("urldb/form.test.yaml", promises(&[("/f", "x")]));
    sandbox.write("urldb/gone.test.yaml", promises(&[("/g", "x")]));
    sandbox.write("urldb/same.test.yaml", promises(&[("/s", "x")]));
    repository.tagged("base");
    let more = "---\n_path: /d\ncategories:\n- a\n- b\nname: new\n---\n_path: /e\nredirects-to: http://example.test/b\n---\n_path: /q\nmethod: POST\nrequest-body: x=1\n";
    let text = promises(&[("/a", "x"), ("/b", "longer")]) + more;
    sandbox.write(FILE, text.replacen("---\n", "---\nhttps: true\n", 1));
    sandbox.write(
        "urldb/form.test.yaml",
        format!("# why\n{}", promises(&[("/f", "x")])),
    );
    std::fs::remove_file(sandbox.path("urldb/gone.test.yaml")).unwrap();
    sandbox.write("urldb/new.test.yaml", promises(&[("/n", "x")]));
    repository
}

impl Repository {
    /// Commits everything, and names the commit.
    fn tagged(&self, tag: &str) {
        self.git("add --all .");
        self.git(&["commit", "-q", "-m", tag]);
        self.git(&["tag", tag]);
    }

    fn diff(&self, arguments: &[&str]) -> Ran {
        self.sandbox.urldb(&[&["diff"], arguments].concat())
    }
}

#[test]
fn two_states_are_one_argument() {
    let repository = changed();
    for (arguments, command) in [
        (["base", "HEAD"], "`urldb diff base..HEAD`"),
        (["a b", "HEAD"], "`urldb diff 'a b..HEAD'`"),
        (["base..HEAD", "x"], "`urldb diff REV..REV`"),
    ] {
        repository.diff(&arguments).code(2).complains(command);
    }
}

/// The summary of the document, without zeros.
fn summary(ran: &Ran) -> Value {
    let document = ran.json();
    let summary = document["summary"].as_object().unwrap().clone();
    summary
        .into_iter()
        .filter(|(_, number)| *number != 0)
        .collect::<serde_json::Map<_, _>>()
        .into()
}

/// `added http://…` for each record of the document.
fn records(ran: &Ran) -> Vec<String> {
    let document = ran.json();
    let files = document["files"].as_array().unwrap().iter();
    let records = files.flat_map(|file| file["records"].as_array().unwrap());
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    records
        .map(|record| format!("{} {}", text(&record["change"]), text(&record["url"])))
        .collect()
}

#[test]
fn forms() {
    let repository = changed();
    let mut settings = stable();
    settings.add_filter(r"\b[0-9a-f]{40}\b", "[commit]");
    settings.add_filter(r"\([0-9a-f]{10}\)", "([commit])");
    settings.bind(|| {
        assert_snapshot!("diff", repository.diff(&[]).code(0).out);
        assert_snapshot!("diff_verbose", repository.diff(&["-v"]).code(0).out);
        assert_snapshot!(
            "diff_markdown",
            repository.diff(&["--format", "markdown"]).code(0).out
        );
        assert_snapshot!(
            "diff_json",
            repository.diff(&["--format", "json"]).code(0).out
        );
    });
    assert_lacks(&repository.diff(&["-q"]).out, "records added");
    repository.tagged("new");
    assert_eq!(repository.diff(&[]).code(0).out, "no record differs\n");
}

#[test]
fn every_pair_of_states_is_compared() {
    let repository = Repository::without_hook();
    let json = |arguments: &[&str]| {
        let ran = repository.diff(&[&["--format", "json"], arguments].concat());
        records(&ran.code(0))
    };
    // A repository without commits has an empty database.
    repository.write(FILE, promises(&[("/a", "x")]));
    assert_eq!(json(&[]), ["added http://example.test/a"]);
    assert_eq!(json(&["--staged"]), [""; 0]);
    repository.tagged("one");
    repository.git("switch -q -c topic");
    repository.write(FILE, promises(&[("/a", "x"), ("/topic", "x")]));
    repository.tagged("two");
    repository.git("switch -q main");
    repository.write(FILE, promises(&[("/a", "x"), ("/main", "x")]));
    repository.tagged("three");
    let (topic, main) = ("http://example.test/topic", "http://example.test/main");
    assert_eq!(json(&["one..two"]), [format!("added {topic}")]);
    assert_eq!(json(&["two..one"]), [format!("removed {topic}")]);
    assert_eq!(
        json(&["topic..main"]),
        [format!("added {main}"), format!("removed {topic}")]
    );
    assert_eq!(json(&["topic...main"]), [format!("added {main}")]);
    assert_eq!(json(&["topic..."]), [format!("added {main}")]);
    assert_eq!(json(&["..topic"]).len(), 2);

    // Staged, on disk, and not tracked.
    repository.write(FILE, promises(&[("/a", "staged"), ("/main", "x")]));
    repository.git("add .");
    repository.write(FILE, promises(&[("/a", "on disk"), ("/main", "x")]));
    repository.write("urldb/untracked.test.yaml", promises(&[("/u", "x")]));
    repository.write("urldb/no-domain-file.txt", "x");
    repository.write("urldb/rules/below.yaml", promises(&[("/r", "x")]));
    assert_eq!(json(&["--staged"]), ["changed http://example.test/a"]);
    assert_eq!(
        json(&[]),
        [
            "changed http://example.test/a",
            "added http://untracked.test/u"
        ]
    );
    let length = |arguments: &[&str]| {
        let document = repository
            .diff(&[&["--format", "json"], arguments].concat())
            .json();
        let keys = document["files"][0]["records"][0]["keys"].clone();
        [keys[0]["before"].clone(), keys[0]["after"].clone()]
    };
    assert_eq!(length(&["--staged"]), [json!(1), json!(6)]);
    assert_eq!(length(&[]), [json!(1), json!(7)]);
    repository.git("add --intent-to-add urldb/untracked.test.yaml");
    assert_eq!(json(&["--staged"]), ["changed http://example.test/a"]);
    assert_eq!(json(&["--staged", "one"]).len(), 2);
    repository.git(&["rm", "-q", "--cached", "-f", FILE]);
    assert_eq!(json(&["--staged"]).len(), 2);
    assert_eq!(
        json(&[]),
        [
            "changed http://example.test/a",
            "added http://untracked.test/u"
        ]
    );
}

#[test]
fn a_domain_that_moved_is_one_line() {
    let repository = changed();
    repository.tagged("now");
    repository.git("mv urldb/same.test.yaml urldb/renamed.test.yaml");
    let ran = repository.diff(&["--staged", "--format", "json"]).code(0);
    assert_eq!(records(&ran), [""; 0]);
    let file = &ran.json()["files"][0];
    assert_eq!(
        (&file["change"], &file["moved_from"]),
        (&json!("moved"), &json!("same.test"))
    );
    let line = "urldb/renamed.test.yaml (moved from same.test)";
    assert_eq!(
        repository.diff(&["--staged"]).code(0).out,
        format!("{line}\nno record differs, 1 domain moved\n")
    );
    let markdown = repository.diff(&["--staged", "--format", "markdown"]);
    markdown.says(&*format!("```\n{line}\n```"));
}

#[test]
fn what_changed_in_a_domain_that_moved_is_told_by_record() {
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    let old = "urldb/old.test.yaml";
    sandbox.write(old, promises(&[("/a", "x"), ("/b", "y"), ("/c", "z")]));
    repository.tagged("base");
    std::fs::remove_file(sandbox.path(old)).unwrap();
    let moved = promises(&[("/a", "x"), ("/b", "y"), ("/c", "other"), ("/d", "w")]);
    // The comments make the texts unlike.
    let comment = "# moved\n".repeat(500);
    sandbox.write("urldb/new.test.yaml", format!("{comment}{moved}"));
    sandbox.write("urldb/other.test.yaml", promises(&[("/x", "x")]));
    let ran = repository.diff(&["--format", "json"]).code(0);
    assert_eq!(
        records(&ran),
        [
            "changed http://new.test/c",
            "added http://new.test/d",
            "added http://other.test/x"
        ]
    );
    assert_eq!(
        repository.diff(&["--stat"]).code(0).out,
        "urldb/new.test.yaml (moved from old.test): 1 record added, 1 changed (1 promise changed)\n\
         urldb/other.test.yaml (new file): 1 record added\n\
         2 records added, 1 changed (1 promise changed), 1 domain moved\n"
    );
    repository
        .diff(&["--stat", "--format", "json"])
        .code(2)
        .complains("--stat is for people");
    // Another host with the same root has not moved.
    sandbox.write(old, "---\n---\n_path: /\n");
    std::fs::remove_file(sandbox.path("urldb/new.test.yaml")).unwrap();
    repository.tagged("root");
    std::fs::remove_file(sandbox.path(old)).unwrap();
    sandbox.write("urldb/new.test.yaml", "---\n---\n_path: /\n");
    let ran = repository.diff(&["--format", "json"]).code(0);
    assert_eq!(
        records(&ran),
        ["added http://new.test/", "removed http://old.test/"]
    );
}

#[test]
fn a_bad_revision_is_an_error_with_advice() {
    let repository = changed();
    for range in [
        "nowhere",
        "base..nowhere",
        "nowhere...base",
        "base..base..base",
        "--all",
        "-x..y",
        "base:urldb",
        "",
        "\u{1b}[2J",
    ] {
        let ran = repository.urldb(&["diff", "--", range]);
        assert_harmless("diff", &ran);
        ran.code(2)
            .complains(&["names no commit", "`git log --oneline --all` lists commits"]);
    }
    repository
        .diff(&["--staged", "base..base"])
        .code(2)
        .complains("name that commit, without `..`");
    repository.git("checkout -q --orphan other");
    repository.git("commit -q --allow-empty -m other");
    repository
        .diff(&["base...other"])
        .code(2)
        .complains(&["have no common ancestor", "two dots"]);

    let source = format!("file://{}", repository.root.display());
    repository.git(&[
        "clone",
        "-q",
        "--depth=1",
        "--branch=base",
        &source,
        "shallow",
    ]);
    repository
        .exits(2, "-C shallow diff HEAD~1")
        .complains("git fetch --unshallow");
    std::fs::remove_dir_all(repository.path(".git")).unwrap();
    repository
        .diff(&[])
        .code(2)
        .complains("urldb is in no git repository");
}

#[test]
fn names_of_branches_are_text() {
    let repository = changed();
    repository.tagged("now");
    for name in [
        "x`id`",
        "$(id)",
        "a|b",
        "<img>",
        "@team",
        "a'b\"c",
        "(x)y",
        "##\u{fffd}",
        "ü",
    ] {
        repository.git(&["branch", name, "base"]);
        for format in ["human", "markdown", "json"] {
            let ran = repository.diff(&["--format", format, &format!("{name}...now")]);
            assert_harmless(name, &ran);
            if format == "json" {
                assert_eq!(ran.json()["before"]["revision"], *name);
            }
            ran.code(0);
        }
    }
}

#[test]
fn files_with_mistakes_are_named_and_their_other_records_compared() {
    let repository = changed();
    // A mistake that stays is not read again.
    repository.write("urldb/old.test.yaml", "---\n---\n_path: [\n");
    repository.tagged("now");
    assert_eq!(repository.diff(&[]).out, "no record differs\n");

    let text = repository.read(FILE).replace("_path: /a", "_path: [");
    repository.write(FILE, text + &promise("/r", "x"));
    let ran = repository.diff(&["--format", "json"]).code(0);
    assert_eq!(
        records(&ran),
        [
            "not-compared http://example.test/a",
            "added http://example.test/r"
        ]
    );
    let mistake = &ran.json()["files"][0]["mistakes"][0];
    assert_eq!(
        (&mistake["version"], &mistake["line"]),
        (&json!("after"), &json!(4)),
        "{mistake}"
    );
    assert_eq!(
        summary(&ran),
        json!({"added": 1, "not_compared": 1, "files_with_mistakes": 1})
    );
    repository.diff(&[]).code(0).says(&[
        "later version, line 4: syntax-error",
        "not compared: 1 record",
        "mistakes in 1 file",
    ]);
    repository
        .diff(&["--format", "markdown"])
        .says(&["not compared: 1 record", "line 4"]);
    // The way back.
    repository.tagged("broken");
    let back = repository
        .diff(&["--format", "json", "broken..now"])
        .code(0);
    assert_eq!(back.json()["files"][0]["mistakes"][0]["version"], "before");

    // What is no regular file, or not readable.
    repository.git(&["checkout", "-q", "now", "--", FILE]);
    repository.tagged("fixed");
    std::fs::remove_file(repository.path(FILE)).unwrap();
    symlink("/etc/hostname", repository.path(FILE)).unwrap();
    let linked = repository.diff(&["--format", "json"]).code(0);
    assert!(
        records(&linked)
            .iter()
            .all(|it| it.starts_with("not-compared ")),
        "{linked:?}"
    );
    repository.git("add .");
    repository
        .diff(&["--staged"])
        .code(0)
        .says("a symbolic link or a submodule is no domain file");
}

#[test]
fn a_conflict_is_named() {
    let repository = changed();
    repository.git("add .");
    repository.git("commit -q -m ours");
    repository.git("switch -q -c theirs base");
    repository.write(FILE, promises(&[("/a", "x"), ("/b", "other")]));
    repository.git("commit -q -a -m theirs");
    repository.git_fails("merge -q main");
    repository
        .diff(&["--staged"])
        .code(0)
        .says("the file has an unresolved conflict in the index");
    repository
        .diff(&[])
        .code(0)
        .says(&["later version, line", "conflict-marker"]);
}

#[test]
fn a_comment_is_below_the_limit_of_github_and_counts_the_rest() {
    let repository = Repository::without_hook();
    let hostile = "<script>```|[x](y) @team #1 ::error::x ".repeat(8);
    let file = |from: usize, to: usize, name: &str| {
        let records = (from..to).map(|number| {
            format!("---\n_path: /{number:05}\ncontent-length: {number}\nname: '{name}'\n")
        });
        format!("---\n{}", records.collect::<String>())
    };
    repository.write(FILE, file(0, 900, "x"));
    repository.tagged("base");
    let changed = file(300, 1_200, &hostile);
    let changed = changed.replace("content-length: 5", "content-length: 7");
    repository.write(FILE, changed);
    let ran = repository.diff(&["--format", "markdown"]).code(0);
    assert_harmless("markdown", &ran);
    let length = ran.out.chars().count();
    assert!((40_000..65_536).contains(&length), "{length}");
    let headline = "## urldb: 300 records added, 300 removed, 600 changed (100 promises changed)\n";
    assert!(ran.out.starts_with(headline), "{}", &ran.out[..200]);
    let fence = "````";
    let parts: Vec<&str> = ran.out.split(&format!("\n{fence}\n")).collect();
    let [_, block, rest] = parts[..] else {
        panic!("{}", ran.out);
    };
    let whole = repository.diff(&[]).code(0).out;
    let lines = block.lines().count();
    assert!(whole.starts_with(block), "{block}");
    // The last line of the text has the numbers.
    let more = whole.lines().count() - 1 - lines;
    assert!(more > 100, "{more}");
    let count = urldb_render::numbers::counted(more as u64, "line");
    assert_eq!(rest, format!("\n{count} found no room here.\n"));
    // All of the rest is there for programs.
    let all = repository.diff(&["--format", "json"]);
    assert_eq!(records(&all).len(), 1_200);
}

#[test]
fn projects_and_repositories_of_every_kind_are_read() {
    let repository = Repository::without_hook();
    let json = |arguments: &[&str]| {
        records(&repository.ok(&[arguments, &["diff", "--format", "json"]].concat()))
    };
    repository.write("below/urldb.toml", "[database]\npath = \":(top)x*\"\n");
    repository.write("below/:(top)x*/below.test.yaml", promises(&[("/a", "x")]));
    repository.write("below/other/x.test.yaml", promises(&[("/a", "x")]));
    assert_eq!(json(&["-C", "below"]), ["added http://below.test/a"]);
    repository.tagged("one");
    assert_eq!(json(&["-C", "below"]), [""; 0]);
    repository.write("below/:(top)x*/below.test.yaml", promises(&[("/a", "y")]));
    repository.write("below/other/x.test.yaml", promises(&[("/a", "y")]));
    assert_eq!(json(&["-C", "below"]), ["changed http://below.test/a"]);
    repository.git("worktree add -q --detach ../linked");
    assert_eq!(json(&["-C", "../linked/below"]), [""; 0]);

    let new = repository.path("sha256");
    repository.git(&[
        "init",
        "-q",
        "--object-format=sha256",
        new.to_str().unwrap(),
    ]);
    repository.write("sha256/urldb.toml", "");
    repository.write("sha256/urldb/a.test.yaml", promises(&[("/a", "x")]));
    assert_eq!(json(&["-C", "sha256"]), ["added http://a.test/a"]);
    repository.git("-C sha256 add .");
    repository.git("-C sha256 commit -q -m one");
    repository.write("sha256/urldb/a.test.yaml", promises(&[("/b", "x")]));
    assert_eq!(
        json(&["-C", "sha256"]),
        ["removed http://a.test/a", "added http://a.test/b"]
    );
}
