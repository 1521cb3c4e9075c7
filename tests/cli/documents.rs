//! Documents that use URLs: every output names their files and lines.

use serde_json::json;

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{Site, sha256};
use crate::support::Reply;

/// A URL that 40 lines of 12 documents use, one that a single line uses, and a host of which all URLs are gone.
fn write_documents(sandbox: &Sandbox) {
    let gone = "see [it](http://docs.test/gone), again [it](http://docs.test/gone)\n";
    for number in 0..12 {
        let mut text = format!("# Page {number}\n");
        text += &gone.repeat(if number < 4 { 4 } else { 3 });
        if number == 2 {
            text += "[good](http://docs.test/good)\n[once](http://one.test/gone)\n";
        }
        if number == 3 {
            text += "[x](http://two.test/x)\n\n[y](http://two.test/y)\n[x](http://two.test/x)\n";
        }
        sandbox.write(&format!("docs/{number:02}.md"), text);
    }
}

/// A repository that follows the documents, and gets mail and a site.
fn followed(site: &Site) -> Sandbox {
    let sandbox = Sandbox::new(&format!(
        "[check]\nretries = 0\n[notify.mail]\ntype = \"email\"\nfrom = \"urldb@docs.test\"\nto = [\"me@docs.test\"]\n\
         folder = \"mail\"\n[notify.site]\ntype = \"html\"\npath = \"site\"\n{}",
        site.network_of(&["docs.test", "one.test", "two.test"])
    ));
    write_documents(&sandbox);
    std::fs::remove_dir_all(sandbox.path("urldb")).unwrap();
    sandbox.ok("sync --add docs/").says("5 added");
    sandbox
}

const USED: &str = "40 times in 12 files: docs/00.md:2, docs/00.md:3 and 38 more";

#[test]
fn a_finding_has_its_places_in_lists_and_then_its_record() {
    let site = Site::with(&[("/good", "good")]);
    let sandbox = followed(&site);
    let finding = |arguments: &str, url: &str| {
        let report = sandbox.exits(1, arguments).json();
        let findings = report["findings"].as_array().unwrap().clone();
        let found = findings.into_iter().find(|it| it["url"] == url);
        found.unwrap()
    };
    let gone = finding("check --format json", "http://docs.test/gone");
    assert_eq!(
        (&gone["used"], &gone["used_files"]),
        (&json!(40), &json!(12))
    );
    assert_eq!(
        (&gone["file"], &gone["line"]),
        (&json!("docs/00.md"), &json!(2))
    );
    let locations = gone["locations"].as_array().unwrap();
    assert_eq!(locations.len(), 11);
    assert_eq!(locations[0], json!({"file": "docs/00.md", "line": 2}));
    assert_eq!(locations[9], json!({"file": "docs/02.md", "line": 3}));
    assert_eq!(
        locations[10],
        json!({"file": "urldb/docs.test.yaml", "line": 3})
    );
    let once = finding("check --format json", "http://one.test/gone");
    assert_eq!((&once["used"], &once["used_files"]), (&json!(1), &json!(1)));
    let both =
        json!([{"file": "docs/02.md", "line": 7}, {"file": "urldb/one.test.yaml", "line": 3}]);
    assert_eq!(once["locations"], both);
    // Without a database, there is no record.
    let listed = finding("check docs/ --format json", "http://one.test/gone");
    assert_eq!(
        listed["locations"],
        json!([{"file": "docs/02.md", "line": 7}])
    );
    // The URL of a record that people wrote is in no list.
    site.serve("/own", Reply::ok("own"));
    sandbox.ok("add http://docs.test/own");
    site.remove("/own");
    let own = finding("check --format json", "http://docs.test/own");
    assert_eq!(
        (&own["used"], &own["locations"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(own["file"], "urldb/docs.test.yaml");
}

#[test]
fn every_output_names_the_lines_of_documents() {
    let site = Site::with(&[("/good", "good")]);
    let sandbox = followed(&site);
    sandbox.exits(1, "check docs/").says(&[
        "http://docs.test/gone answers 404 Not Found\n  --> docs/00.md:2\n",
        "http://one.test/gone answers 404 Not Found\n  --> docs/02.md:7\n",
        "--> docs/03.md:6 and 1 more place  /x",
        "--> docs/03.md:8  /y",
    ]);
    sandbox
        .exits(1, "check -d docs.test")
        .says(&["--> docs/00.md:2\n", "used      40 times in 12 files:"]);
    // All URLs of the host are affected, and each is named all the same.
    let two = sandbox.exits(1, "check -d two.test");
    two.says(&[
        "--> docs/03.md:6 and 1 more place  /x",
        "--> docs/03.md:8  /y",
    ]);
    let once = sandbox.exits(1, "check -d one.test");
    assert_lacks(&once.says("--> docs/02.md:7\n").out, "used");

    sandbox.exits(1, "check --github -d docs.test").says(&[
        "::error file=docs/00.md,line=2,",
        "::Used 40 times in 12 files",
    ]);
    sandbox.exits(1, "check --github -d two.test").says(&[
        "::error file=docs/03.md,line=6,",
        "::error file=docs/03.md,line=8,",
    ]);
    let sarif = sandbox.exits(1, "check --format sarif -d docs.test").json();
    let result = &sarif["runs"][0]["results"][0];
    let uri = |location: &serde_json::Value| {
        location["physicalLocation"]["artifactLocation"]["uri"]
            .as_str()
            .map(str::to_owned)
    };
    assert_eq!(uri(&result["locations"][0]).as_deref(), Some("docs/00.md"));
    assert_eq!(result["locations"].as_array().unwrap().len(), 1);
    let related = result["relatedLocations"].as_array().unwrap();
    assert_eq!(related.len(), 10);
    assert_eq!(uri(&related[9]).as_deref(), Some("urldb/docs.test.yaml"));
    let junit = sandbox.exits(1, "check --format junit -d docs.test").out;
    assert_has(&junit, &["file=\"docs/00.md\"", &format!("used: {USED}")]);

    sandbox.exits(1, "run");
    let mails = sandbox.take_mails();
    let of = |subject: &str| {
        mails
            .iter()
            .find(|mail| mail.header("Subject").contains(subject))
    };
    let text: String = mails
        .iter()
        .map(|mail| mail.text.replace('\n', " "))
        .collect();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(of("two.test").is_some() || !text.is_empty());
    assert_has(
        &text,
        &[
            "used 40 times in 12 files: docs/00.md:2, ",
            "docs/02.md, line 7",
            "docs/03.md:6 and 1 more place",
        ],
    );
    let pages: String = sandbox
        .files("site", ".html")
        .iter()
        .map(|page| {
            std::fs::read_to_string(page)
                .unwrap()
                .replace("&#x2f;", "/")
        })
        .collect();
    assert_has(
        &pages,
        &[
            USED,
            "docs/00.md, line 2 and 39 more places",
            "docs/02.md, line 7",
        ],
    );
    sandbox
        .exits(1, "status http://docs.test/gone")
        .says("used      40 times in 12 files");
    // The ledger knows the record alone: lists are read again each time.
    let ledger: String = sandbox
        .files("status", ".yaml")
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    assert_lacks(&ledger, "docs/0");
    assert_has(&ledger, "urldb/docs.test.yaml");
}

/// Commits everything.
fn commit(repository: &Repository) {
    repository.git("config user.name ada");
    repository.git("config user.email ada@docs.test");
    repository.git("add -A");
    repository.git("commit -q -m documents");
}

#[test]
fn a_pull_request_that_adds_a_broken_link_is_annotated_at_its_line() {
    let site = Site::with(&[("/good", "good"), ("/new", "new")]);
    let network = site.network_of(&["docs.test", "one.test"]);
    let repository = Repository::of(Sandbox::new(&network));
    repository.write("docs/a.md", "http://docs.test/good http://docs.test/gone\n");
    commit(&repository);
    let asked = || {
        let requests = site.requests();
        let targets: Vec<String> = requests.into_iter().map(|it| it.target).collect();
        targets
    };
    let check = "check docs/ --changed-since HEAD";
    repository.ok(check);
    // One more use of a known URL is not asked, and neither is a link that moves to another line or file.
    repository.write("docs/a.md", "# Title\n\nhttp://docs.test/good\n");
    repository.write("docs/b.md", "http://docs.test/gone http://docs.test/good\n");
    repository.ok(check);
    assert!(asked().is_empty());
    repository.write(
        "docs/b.md",
        "http://docs.test/good\n\nhttp://docs.test/new\nhttp://one.test/lost\nhttps://docs.test/gone\n",
    );
    repository.write("docs/c.md", "[it](http://one.test/lost)\n");
    let ran = repository.exits(1, &format!("{check} --github -d one.test"));
    ran.says(&[
        "::error file=docs/b.md,line=4,",
        "If the address is wrong, correct it in this line.",
        "Used 2 times in 2 files: docs/b.md:4, docs/c.md:1.",
    ]);
    assert_lacks(&asked().join(" "), "/good");
}

#[test]
fn a_pull_request_need_not_sync_to_be_checked() {
    let site = Site::with(&[("/good", "good"), ("/new", "new"), ("/own", "own")]);
    let network = site.network_of(&["docs.test"]);
    let repository = Repository::of(Sandbox::new(&network));
    repository.write("docs/a.md", "http://docs.test/good http://docs.test/gone\n");
    repository.ok("sync --add docs/");
    commit(&repository);
    let check = "check --changed-since HEAD --github";
    let in_json = "check --changed-since HEAD --format json";
    repository.ok(check);
    repository.write(
        "docs/b.md",
        "http://docs.test/gone\n\nhttp://docs.test/lost\n",
    );
    let ran = repository.exits(1, check);
    let ran = ran.says(&[
        "::error file=docs/b.md,line=3,",
        "to try it yourself:\n    curl ",
    ]);
    assert_lacks(&ran.out, &["not-synced", "docs.test/gone", "/tmp", "check"]);
    let found = repository.exits(1, in_json).json();
    let locations = json!([{"file": "docs/b.md", "line": 3}]);
    assert_eq!(found["findings"][0]["locations"], locations);
    assert!(
        site.requests()
            .iter()
            .all(|request| request.target == "/lost")
    );
    // With the records in step, the same; and a record that people wrote is named in its file.
    repository.ok("sync");
    let found = repository.exits(1, in_json).json();
    let locations = &found["findings"][0]["locations"];
    assert_eq!(locations[0], json!({"file": "docs/b.md", "line": 3}));
    assert_eq!(locations[1]["file"], "urldb/docs.test.yaml");
    repository.ok("add http://docs.test/own");
    site.remove("/own");
    repository.exits(1, check).says(&[
        "::error file=docs/b.md,line=3,",
        "file=urldb/docs.test.yaml,line=",
    ]);
    // Domain files with mistakes are checked as far as they can be.
    let text = repository.read("urldb/docs.test.yaml");
    repository.write(
        "urldb/docs.test.yaml",
        text + "---\n_path: /x\ncontent-length: many\n",
    );
    repository
        .exits(1, check)
        .complains("the lists are not compared: urldb/docs.test.yaml:");
}

#[test]
fn a_promise_that_changes_is_checked_with_its_new_line_first() {
    let site = Site::with(&[("/a", "a"), ("/b", "b")]);
    let sums = |rows: &[(&str, &str)]| -> String {
        let lines = rows.iter();
        let lines: Vec<String> = lines
            .map(|(name, content)| {
                format!(
                    "{}  {name}
",
                    sha256(content)
                )
            })
            .collect();
        lines.concat()
    };
    let network = site.network_of(&["data.test"]);
    let repository = Repository::of(Sandbox::new(&network));
    repository.write("x.sums", sums(&[("a", "a"), ("b", "b")]));
    repository.write("broken.sums", "<<<<<<< ours\n=======\n>>>>>>> theirs\n");
    commit(&repository);
    let check = "check x.sums --base http://data.test/ --changed-since HEAD --format json";
    repository.ok(check);
    assert!(site.requests().is_empty());
    repository.write(
        "x.sums",
        sums(&[("b", "b"), ("a", "a"), ("a", "a"), ("b", "other")]),
    );
    // The contradiction is new, and not asked.
    let found = repository.exits(1, check).json();
    assert_eq!(found["mistakes"][0]["code"], "list-contradiction");
    assert!(site.requests().is_empty());
    repository.git("add -A");
    repository.git("commit -q -m contradiction");
    repository.ok(check);
    repository.write("x.sums", sums(&[("b", "other"), ("a", "a")]));
    let found = repository.exits(1, check).json();
    assert_eq!(
        found["findings"][0]["locations"],
        json!([{"file": "x.sums", "line": 1}])
    );
    // A list that the commit does not have, or could not be read there, is new as a whole.
    repository.write("y.sums", sums(&[("a", "a")]));
    repository.ok("check y.sums --base http://data.test/ --changed-since HEAD");
    repository.write("broken.sums", sums(&[("a", "a")]));
    repository.ok("check broken.sums --base http://data.test/ --changed-since HEAD");
    let targets: Vec<String> = site.requests().into_iter().map(|it| it.target).collect();
    assert_eq!(targets.iter().filter(|it| *it == "/a").count(), 2);
    repository
        .exits(
            2,
            "check x.sums --base http://data.test/ --changed-since nothing",
        )
        .complains("nothing names no commit");
}

#[test]
fn new_lines_of_a_list_come_first() {
    let site = Site::new();
    let network = site.network_of(&["docs.test"]);
    let config = format!("[check]\nretries = 0\nconnect-timeout = \"1s\"\n{network}");
    let repository = Repository::of(Sandbox::new(&config));
    // The path is known, and another scheme of it is new.
    repository.write("docs/a.md", "http://docs.test/x\n");
    commit(&repository);
    repository.write("docs/b.md", "https://docs.test/x\n");
    let check = "check docs/ --changed-since HEAD --format json";
    let found = repository.exits(1, check).json();
    let locations = json!([{"file": "docs/b.md", "line": 1}, {"file": "docs/a.md", "line": 1}]);
    assert_eq!(found["findings"][0]["locations"], locations);
}

#[test]
fn a_run_tells_once_that_the_lists_are_not_followed() {
    let site = Site::with(&[("/good", "good"), ("/new", "new")]);
    let sandbox = followed(&site);
    site.serve("/gone", Reply::ok("here"));
    for number in 0..12 {
        sandbox.write(&format!("docs/{number:02}.md"), "http://docs.test/good\n");
    }
    sandbox.ok("sync --force");
    assert_eq!(sandbox.ok("run").code, 0);
    assert!(sandbox.take_mails().is_empty());
    sandbox.write("docs/new.md", "http://docs.test/new\n");
    let sentence = "1 record differs from its lists; `urldb sync` writes it";
    sandbox
        .exits(1, "run")
        .says(&["--> urldb/docs.test.yaml:1", sentence]);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(&mails[0].text, "differs from its lists");
    sandbox.exits(1, "run");
    assert!(sandbox.take_mails().is_empty());
    sandbox.ok("sync");
    sandbox.ok("run");
    assert_eq!(sandbox.take_mails().len(), 1);
    // The sentence of a refused sync.
    let many: Vec<String> = (0..60)
        .map(|number| format!("http://docs.test/{number}\n"))
        .collect();
    sandbox.write("docs/new.md", many.concat());
    sandbox.ok("sync");
    sandbox.write("docs/new.md", "http://docs.test/new\n");
    let refused = "docs: 60 of 61 records are gone from the list; `urldb sync --force`";
    sandbox.exits(1, "sync --check").says(refused);
    sandbox
        .exits(1, "run")
        .says("docs: 60 of 61 records are gone from the list");
}

#[test]
fn a_schedule_follows_lists_if_there_are_any() {
    let sandbox = Sandbox::new("");
    sandbox
        .ok("sync --commit")
        .says("there is no list to follow");
    assert_eq!(sandbox.ok("--quiet sync --commit").out, "");
}

#[test]
fn a_commit_of_documents_is_stopped_until_the_records_follow() {
    let repository = Repository::of(Sandbox::new(""));
    repository.git("config user.name ada");
    repository.git("config user.email ada@docs.test");
    repository.write("docs/a.md", "http://docs.test/a\n");
    repository.ok("sync --add docs/");
    repository.ok("hook install");
    repository.git("add -A");
    repository.git("commit -q -m documents");
    repository.write("docs/a.md", "http://docs.test/a http://docs.test/b\n");
    repository.git("add docs");
    let complaint = repository.git_fails("commit -q -m more");
    assert_has(&complaint, "not-synced: 1 record differs from its lists");
    // A commit of other files reads no list.
    repository.git("reset -q");
    repository.write("code.rs", "fn main() {}\n");
    repository.git("add code.rs");
    repository.git("commit -q -m code");
    repository.ok("sync");
    repository.git("add -A");
    repository.git("commit -q -m more");
}
