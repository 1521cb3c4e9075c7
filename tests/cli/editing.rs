//! init, add, rm and list, which change or show the database.

use std::time::Duration;

use crate::sandbox::{Case, Sandbox, assert_lacks, eventually};
use crate::site::{FILE, Site, promise, promises, sha256};
use crate::support::Reply;

#[test]
fn init_makes_what_is_missing_and_overwrites_nothing() {
    let sandbox = Sandbox::empty();
    std::fs::remove_dir(sandbox.path("urldb")).unwrap();
    sandbox.ok("init").says(&["urldb.toml", "next:"]);
    assert!(sandbox.path("urldb").is_dir());
    sandbox.assert_file(".gitattributes", "status/history/*.jsonl merge=union\n");
    sandbox.assert_file(".gitignore", "/archive/\n/site/\n.urldb-tmp-*\n");
    let first = sandbox.tree("");
    sandbox.ok("init");
    assert_eq!(sandbox.tree(""), first);
    // What it has written is a configuration that works.
    sandbox.ok("list");
}

#[test]
fn init_keeps_what_people_have_written() {
    let sandbox = Sandbox::empty();
    sandbox.write("urldb.toml", "# mine\n");
    sandbox.write(".gitattributes", "*.bin binary");
    sandbox.ok("init .");
    sandbox.assert_file("urldb.toml", "# mine\n");
    sandbox.assert_file(
        ".gitattributes",
        "*.bin binary\nstatus/history/*.jsonl merge=union\n",
    );
    sandbox.ok("-C .. init elsewhere/deep");
    assert!(sandbox.path("../elsewhere/deep/urldb.toml").is_file());
}

#[test]
fn add_promises_what_is_served() {
    let site = Site::with(&[("/b?x=1", "bytes"), ("/a", "more")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox
        .ok("add --static -c data -c core http://EXAMPLE.test:80/b?x=1#part")
        .says("added http://example.test/b?x=1 in urldb/example.test.yaml");
    sandbox.ok("add http://example.test/a");
    sandbox.assert_file(
        FILE,
        &format!(
            "---\n---\n_path: /a\n---\n_path: /b?x=1\ncategories:\n- core\n- data\n\
             content-length: 5\ncontent-sha256: {}\n",
            sha256("bytes")
        ),
    );
    sandbox.ok("fmt --check");
    sandbox.ok("lint");
    sandbox.ok("check");
}

#[test]
fn add_leaves_a_record_that_is_there_alone() {
    let site = Site::with(&[("/a", "new bytes")]);
    let sandbox = Sandbox::new(&site.network());
    let before = "---\n---\n# promised by hand\n_path: /a\ncontent-length: 3\n";
    sandbox.write(FILE, before);
    sandbox
        .ok("add --static http://example.test/a")
        .says("known http://example.test/a");
    sandbox.assert_file(FILE, &before);
    sandbox
        .ok("add -c core http://example.test/a")
        .says("updated");
    sandbox.assert_file(
        FILE,
        "---\n---\n# promised by hand\n_path: /a\ncategories:\n- core\ncontent-length: 3\n",
    );
}

#[test]
fn a_cname_is_added_to_the_file_of_its_domain() {
    let site = Site::with(&[("/a", "x")]);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, "---\ncnames:\n- www.example.test\n");
    sandbox
        .ok("add http://www.example.test/a")
        .says("added http://example.test/a in urldb/example.test.yaml");
    assert!(!sandbox.path("urldb/www.example.test.yaml").exists());
}

#[test]
fn add_reads_lists_and_adds_the_good_ones() {
    let site = Site::with(&[("/a", "x"), ("/b", "y")]);
    let sandbox = Sandbox::new("[check]\nretries = 0\n");
    let list = "# two that answer, and two that do not\n\n  http://example.test/a  \n\
                http://example.test/gone\r\nhttp://example.test/b\nhttp://nowhere.invalid/\n";
    sandbox
        .urldb_with_input(&["add", "--map", &site.map("example.test"), "-"], list)
        .code(1)
        .says(&["/a", "/b"])
        .complains(&[
            "http://example.test/gone was not added: answers 404 Not Found",
            "note: `--map nowhere.invalid=HOST:PORT`",
        ]);
    sandbox.assert_file(FILE, "---\n---\n_path: /a\n---\n_path: /b\n");
}

#[test]
fn add_says_why_nothing_can_be_promised() {
    let redirect = |to: &str| Reply::redirect(302, to);
    let site = Site::new();
    for number in 1..=30 {
        site.serve(&format!("/{number}"), redirect(&format!("/{}", number + 1)));
    }
    let half = Reply::raw("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf").close();
    let challenge = Reply::new("200 OK", &["cf-mitigated: challenge"], "are you a robot?");
    site.serve("/half", half);
    site.serve("/challenge", challenge);
    let start = "http://example.test/start";
    let sandbox = Sandbox::new(&site.network());
    for (target, why) in [
        (
            "/start",
            "the redirect leads back to http://example.test/start",
        ),
        (
            "ftp://example.test/",
            "the redirect leads to ftp://example.test/, which",
        ),
        ("http://127.0.0.2/", "127.0.0.2"),
        ("/gone", "http://example.test/gone answers 404 Not Found"),
        ("/half", "ends after 4 bytes"),
        ("/challenge", "http://example.test/challenge answers with "),
        ("/1", "redirects"),
    ] {
        let _case = Case(target);
        site.serve("/start", redirect(target));
        let ran = sandbox
            .exits(1, &["add", "--static", start])
            .complains(&[&format!("{start} was not added: "), why]);
        assert_lacks(&ran.err, "did not arrive whole");
        assert!(!sandbox.path(FILE).exists());
    }
}

#[test]
fn an_interrupted_add_adds_what_has_answered() {
    let site = Site::with(&[("/a", "one")]);
    site.serve("/slow", Reply::raw("HTTP/1.1 200 OK\r\n").hang());
    let sandbox = Sandbox::new(&site.network());
    let mut running = sandbox.start("add --static http://example.test/a http://example.test/slow");
    let asked = |path| {
        let requests = site.requests();
        requests.iter().filter(|asked| asked.target == path).count()
    };
    eventually("one has answered twice", || {
        asked("/a") == 2 && asked("/slow") == 1
    });
    std::thread::sleep(Duration::from_millis(500));
    running.signal("-INT");
    assert_eq!(running.end().code(), Some(130));
    sandbox.assert_file(FILE, &promises(&[("/a", "one")]));
}

#[test]
fn add_works_offline_when_told_to() {
    let sandbox = Sandbox::new("");
    sandbox.ok("add --no-fetch https://secure.test/a http://plain.test/");
    sandbox.assert_file(
        "urldb/secure.test.yaml",
        "---\nhttp: false\nhttps: true\n---\n_path: /a\n",
    );
    sandbox.assert_file("urldb/plain.test.yaml", "---\n---\n_path: /\n");
    sandbox
        .exits(2, "add --no-fetch --static http://plain.test/a")
        .complains("--no-fetch");
}

#[test]
fn an_added_url_is_asked_over_its_scheme() {
    let sandbox = Sandbox::new("");
    for (first, second, third) in [
        ("http://a.test/", "https://a.test/b", "https://a.test/"),
        ("https://b.test/", "http://b.test/b", "http://b.test/"),
    ] {
        for url in [first, second, third] {
            assert_eq!(sandbox.ok(&["add", "--no-fetch", url]).err, "");
        }
        let mut all = [first, second, third];
        let listed = sandbox
            .ok(&["list", "-d", &first[first.len() - 7..first.len() - 1]])
            .out;
        let mut listed: Vec<&str> = listed.lines().collect();
        all.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, all);
    }
    sandbox.ok("lint");
    sandbox.exits(2, "check http://a.test/b").complains(&[
        "its record has `schemes` of its own",
        "over https only",
        "`urldb add http://a.test/b`",
    ]);
}

#[test]
fn every_kind_of_bad_url_is_explained_and_nothing_is_written() {
    let sandbox = Sandbox::new("");
    let before = sandbox.tree("");
    for (url, words) in [
        ("example.test/a", "did you mean `http://example.test/a`"),
        ("ftp://example.test/a", "scheme `ftp` is not supported"),
        ("http://example.test:443/a", "port `443` cannot be watched"),
        (
            "http://me:hunter2@example.test/",
            "carries a user name or password",
        ),
        ("http://example.test/a\\b", "has a backslash"),
        ("http://example.test/%zz", "`%zz` is not a percent escape"),
        ("http://exa mple.test/", "host `exa mple.test`"),
        ("http://example.test/a\tb", "control character U+0009"),
    ] {
        let ran = sandbox
            .exits(2, &["add", "--no-fetch", "http://good.test/", url])
            .complains(&["error:", words]);
        assert_lacks(&ran.err, "hunter2");
        assert_eq!(sandbox.tree(""), before, "{url}");
    }
}

#[test]
fn rm_removes_all_or_nothing() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, promises(&[("/a", "x"), ("/b", "y"), ("/c", "z")]));
    let before = sandbox.tree("urldb");
    sandbox
        .exits(2, "rm http://example.test/a http://example.test/typo")
        .complains("http://example.test/typo is not in the database\n");
    assert_eq!(sandbox.tree("urldb"), before);
    sandbox
        .ok("rm http://example.test/a http://example.test/c")
        .says("removed");
    sandbox.assert_file(FILE, &promises(&[("/b", "y")]));
}

#[test]
fn rm_finds_a_record_whose_path_is_not_canonical() {
    let sandbox = Sandbox::new("");
    let others = [("/a", "y"), ("/b", "z"), ("/c", "z")];
    let all = [&[("/%7Eb", "x")], &others[..]].concat();
    sandbox.write(FILE, promises(&all));
    // The canonical path, `/~b`, would be far from the record.
    sandbox.ok("rm http://example.test/%7Eb").says("removed");
    sandbox.assert_file(FILE, &promises(&others));
}

#[test]
fn of_several_files_all_are_changed_or_none() {
    let sandbox = Sandbox::new("");
    sandbox.write("urldb/a.test.yaml", promises(&[("/a", "x")]));
    // Which of the two is meant cannot be known.
    let twice = promises(&[("/b", "x"), ("/b", "y")]);
    sandbox.write("urldb/b.test.yaml", twice);
    let before = sandbox.tree("urldb");
    for command in ["rm", "add --no-fetch -c core http://a.test/new"] {
        sandbox
            .exits(2, &format!("{command} http://a.test/a http://b.test/b"))
            .complains("b.test.yaml");
        assert_eq!(sandbox.tree("urldb"), before, "{command:?}");
    }
}

#[test]
fn a_list_is_added_in_the_order_in_which_it_is_told() {
    let sandbox = Sandbox::new("");
    let urls = ["http://b.test/2", "http://a.test/1", "http://b.test/1"];
    let ran = sandbox.urldb(&format!("add --no-fetch {}", urls.join(" ")));
    let lines = ran.out.lines();
    let told: Vec<_> = lines.filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(told, urls);
    // A domain that is new is asked over the schemes that its URLs have.
    let ran = sandbox
        .ok("add --no-fetch https://c.test/ http://c.test/")
        .says(&["added https://c.test/ in", "known http://c.test/ in"]);
    assert_eq!(ran.err, "");
    sandbox.assert_file("urldb/c.test.yaml", "---\nhttps: true\n---\n_path: /\n");
}

#[test]
fn a_url_is_found_whatever_is_asked_of_it() {
    let site = Site::with(&[("/form", "answer")]);
    let network = site.network();
    let sandbox = Sandbox::new(&format!("[check]\nunsafe-methods = true\n{network}"));
    let form = "---\n---\n_path: /form\nmethod: POST\nrequest-body: x=1\n";
    sandbox.write(FILE, form);
    let url = "http://example.test/form";
    sandbox.ok(&["check", url]).says("URLs: 1 ok");
    assert_eq!(site.requests()[0].method, "POST");
    assert_eq!(site.requests()[0].body, b"x=1");
    sandbox.ok(&["rm", url]).says("removed");
    assert_eq!(sandbox.ok("list").out, "");
}

#[test]
fn editors_at_the_same_time_do_not_write_over_each_other() {
    let sandbox = Sandbox::new("");
    let urls: Vec<String> = (0..8)
        .map(|number| format!("http://example.test/{number}"))
        .collect();
    let spawn = |url: &String| {
        let mut command = sandbox.urldb_command(&["--quiet", "add", "--no-fetch", url]);
        command.spawn().unwrap()
    };
    let editors: Vec<_> = urls.iter().map(spawn).collect();
    for mut editor in editors {
        assert!(editor.wait().unwrap().success());
    }
    let listed = sandbox.ok("list").out;
    assert_eq!(listed.lines().collect::<Vec<_>>(), urls);
}

#[test]
fn an_edit_gives_up_when_another_process_holds_the_lock() {
    let sandbox = Sandbox::new("");
    let other = std::fs::File::open(sandbox.path("urldb")).unwrap();
    other.lock().unwrap();
    sandbox
        .exits(2, "add --no-fetch http://example.test/")
        .complains("another urldb has been editing");
    drop(other);
    sandbox.ok("add --no-fetch http://example.test/");
}

#[test]
fn the_next_edit_removes_temporary_files_of_a_killed_one() {
    let sandbox = Sandbox::new("");
    let stray = "urldb/.urldb-tmp-abc123";
    sandbox.write(stray, "half a fi");
    sandbox.ok("fmt --check");
    sandbox.assert_file(stray, "half a fi");
    sandbox.ok("fmt");
    assert!(!sandbox.path(stray).exists());
}

#[test]
fn list_narrows_and_shows_the_deprecated_too() {
    let sandbox = Sandbox::new("");
    let text = format!(
        "---\n---\n_path: /a/1\ncategories:\n- core\n{}---\n_path: /old\ncategories:\n- deprecated\n",
        promise("/b", "x")
    );
    sandbox.write(FILE, text);
    sandbox.write("urldb/other.test.yaml", "---\n---\n_path: /\n");
    let listed = |arguments: &str| sandbox.ok(&format!("list {arguments}")).out;
    assert_eq!(
        listed(""),
        "http://example.test/a/1\nhttp://example.test/b\nhttp://example.test/old\nhttp://other.test/\n"
    );
    assert_eq!(listed("-c core"), "http://example.test/a/1\n");
    assert_eq!(listed("-d other.test"), "http://other.test/\n");
    assert_eq!(listed("--path-prefix /b"), "http://example.test/b\n");
    let lines = sandbox
        .ok("list --format jsonl -d example.test")
        .json_lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["categories"], serde_json::json!(["core"]));
    assert_eq!(
        lines[1],
        serde_json::json!({
            "url": "http://example.test/b",
            "file": "urldb/example.test.yaml",
            "line": 7,
            "length": 1,
            "sha256": sha256("x"),
        })
    );
    sandbox
        .exits(2, "list -d exmple.test")
        .complains("did you mean example.test?");
}

#[test]
fn case_makes_no_difference_where_the_metadata_says_so() {
    let sandbox = Sandbox::new("");
    let file = "urldb/a.test.yaml";
    let head = "---\ncase-sensitive-paths: false\n---\n";
    sandbox.write(file, format!("{head}_path: /Foo?Q=1\n"));
    let add = |url| sandbox.ok(&["add", "--no-fetch", url]);
    add("http://a.test/foo?Q=1").says("known");
    add("http://a.test/foo?q=1").says("added");
    sandbox.ok("lint");
    sandbox.write(file, format!("{head}_path: /Foo\n---\n_path: /foo\n"));
    sandbox
        .exits(1, "lint")
        .says(&["urldb/a.test.yaml:6:1: duplicate-record", "/Foo"]);
    sandbox.write(file, "---\n---\n_path: /Foo\n---\n_path: /foo\n");
    sandbox.ok("lint");
}

#[test]
fn a_cname_belongs_to_one_file() {
    let sandbox = Sandbox::new("");
    let with = |cname: &str| format!("---\ncnames:\n- {cname}\n---\n_path: /\n");
    sandbox.write("urldb/a.test.yaml", with("www.test"));
    sandbox.write("urldb/b.test.yaml", with("www.test"));
    sandbox.write("urldb/c.test.yaml", with("a.test"));
    let lint = sandbox.exits(1, "lint").says(&[
        "urldb/b.test.yaml:2:1: bad-cname",
        "is a cname of a.test too",
        "urldb/c.test.yaml:2:1: bad-cname",
        "has a domain file of its own",
    ]);
    assert_eq!(lint.out.matches("bad-cname").count(), 2);
}

#[test]
fn every_command_finds_a_url_in_another_case_where_case_makes_no_difference() {
    let site = Site::with(&[("/Data/A?q=X", "first"), ("/b", "x"), ("/B", "x")]);
    let sandbox = Sandbox::new(&site.network());
    let file = FILE;
    let head = "---\ncase-sensitive-paths: false\n";
    let text = format!(
        "{head}{}",
        &promises(&[("/Data/A?q=X", "other"), ("/b", "x")])[4..]
    );
    sandbox.write(file, &text);
    let url = "http://example.test/dATA/a?q=X";
    sandbox.exits(1, &["check", url]).says(&[
        "broken[changed]: http://example.test/Data/A?q=X",
        "URLs: 1 broken, 0 ok",
    ]);
    sandbox
        .ok(&["url", "explain", url])
        .says(&["/Data/A?q=X", "yes, line 4"]);
    sandbox
        .ok(&["accept", "--yes", url])
        .says("accepted http://example.test/Data/A?q=X");
    // The query keeps its case.
    sandbox
        .exits(2, "run http://example.test/Data/A?q=x")
        .complains("is not in the database; did you mean http://example.test/Data/A?q=X?");
    sandbox
        .ok(&["rm", url])
        .says("removed example.test/Data/A?q=X");
    assert_lacks(&sandbox.read(file), "/Data/A");
    // Of two spellings, which are a mistake, the one that is typed is meant.
    sandbox.write(file, format!("{head}---\n_path: /B\n---\n_path: /b\n"));
    sandbox.ok("rm http://example.test/b");
    sandbox.assert_file(file, &format!("{head}---\n_path: /B\n"));
    // Where case matters, nothing changes.
    sandbox.write(file, "---\n---\n_path: /B\n");
    for command in ["run", "rm"] {
        sandbox
            .exits(2, &[command, "http://example.test/b"])
            .complains("is not in the database; did you mean http://example.test/B?");
    }
}

#[test]
fn another_body_with_the_same_identity_is_refused() {
    let sandbox = Sandbox::new("");
    let add = |body: &str| {
        let json = "--request-content-type application/json http://a.test/q";
        sandbox.urldb(&format!("add --no-fetch --data {body} {json}"))
    };
    add("{\"a\":1}").code(0).says("added");
    add("{\"a\":1}").code(0).says("known");
    let before = sandbox.tree("urldb");
    add("{\"a\":1.0}")
        .code(2)
        .complains(&["with another body", "one request of both"]);
    assert_eq!(sandbox.tree("urldb"), before);
}

#[test]
fn the_list_has_every_url_that_is_asked() {
    let sandbox = Sandbox::new("");
    let records = "---\n_path: /a\n---\n_path: /b\ncategories:\n- deprecated\n";
    let (both, tls) = ("---\nhttps: true\n", "---\nhttp: false\n");
    sandbox.write("urldb/both.test.yaml", format!("{both}{records}"));
    sandbox.write("urldb/tls.test.yaml", format!("{tls}{records}"));
    let all = [
        "http://both.test/a",
        "https://both.test/a",
        "http://both.test/b",
        "https://both.test/b",
        "https://tls.test/a",
        "https://tls.test/b",
    ];
    let listed = sandbox.ok("list").out;
    assert_eq!(listed.lines().collect::<Vec<_>>(), all);
    let current: Vec<&str> = all.into_iter().filter(|url| url.ends_with("/a")).collect();
    let listed = sandbox.ok("list --no-deprecated").out;
    assert_eq!(listed.lines().collect::<Vec<_>>(), current);
    let objects = sandbox
        .ok("list --no-deprecated --format jsonl")
        .json_lines();
    let urls: Vec<_> = objects.iter().map(|it| &it["url"]).collect();
    assert_eq!(urls, current);
    // The list can be read again, and says the same.
    let copy = Sandbox::new("");
    copy.write("list", sandbox.urldb("list").out);
    copy.ok("import list list");
    assert_eq!(copy.ok("list").out, sandbox.urldb("list").out);
}

#[test]
fn rm_takes_the_options_that_select_records() {
    let sandbox = Sandbox::new("");
    let record =
        |path: &str, category: &str| format!("---\n_path: {path}\ncategories:\n- {category}\n");
    let one = record("/a/1", "x") + &record("/a/2", "y") + &record("/b", "x");
    let (one, two) = (format!("---\n# kept\n{one}"), record("/a/3", "x"));
    let reset = || {
        sandbox.write("urldb/one.test.yaml", &one);
        sandbox.write("urldb/two.test.yaml", format!("---\n{two}"));
    };
    reset();
    let before = sandbox.tree("urldb");
    let everywhere = ["rm", "--path-prefix", ""];
    for everything in [&["rm"], &everywhere[..], &["rm", "--dry-run"]] {
        sandbox
            .exits(2, everything)
            .complains("nothing is selected");
    }
    let left = |arguments: &str| {
        reset();
        sandbox.ok(&format!("rm {arguments}"));
        sandbox.ok("fmt --check");
        let listed = sandbox.ok("list").out;
        listed.replace("http://", "").replace('\n', " ")
    };
    assert_eq!(left("-c x"), "one.test/a/2 ");
    assert_eq!(left("-d one.test"), "two.test/a/3 ");
    assert_eq!(left("--path-prefix /a/ -c x"), "one.test/a/2 one.test/b ");
    assert_eq!(
        left("--path-prefix /a/ http://one.test/a/1 http://one.test/b"),
        "one.test/a/2 one.test/b two.test/a/3 "
    );
    reset();
    let ran = sandbox.ok("rm -n -c x");
    assert_eq!(
        ran.out,
        "would remove one.test/a/1 from urldb/one.test.yaml\nwould remove one.test/b from urldb/one.test.yaml\n\
         would remove two.test/a/3 from urldb/two.test.yaml\n"
    );
    assert_eq!(sandbox.tree("urldb"), before);
    sandbox
        .exits(2, "rm -c z")
        .complains("no record is selected");
    sandbox
        .exits(2, "rm -d three.test")
        .complains("no domain file");
    // A mistake in one selected file leaves all files as they are.
    sandbox.write("urldb/two.test.yaml", format!("---\n{two}{two}"));
    let before = sandbox.tree("urldb");
    sandbox.exits(2, "rm -c x");
    assert_eq!(sandbox.tree("urldb"), before);
}

/// What large folders hold is not committed, unless it is already.
#[test]
fn init_ignores_what_runs_write_anew() {
    let sandbox = Sandbox::empty();
    let config = "[database]\npath = \"data\"\n[archive]\npath = \"warc\"\n[ledger]\npath = \"my state\"\n\
         [notify.page]\ntype = \"html\"\npath = \"public/[status]\"\n";
    sandbox.write("urldb.toml", config);
    sandbox.write("warc/a.warc.gz", "");
    sandbox.write(".gitignore", "*.o");
    let git = |arguments: &[&str]| {
        let done = sandbox.command("git").args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "warc"]);
    sandbox
        .ok("init")
        .says("commit urldb.toml, data/ and later my state/");
    assert!(sandbox.path("data").is_dir() && sandbox.path("urldb").is_dir());
    sandbox.assert_file(
        ".gitignore",
        "*.o\n/warc/index/\n/warc/.*\n/public/\\[status]/\n.urldb-tmp-*\n",
    );
    sandbox.assert_file(
        ".gitattributes",
        "\"my state/history/*.jsonl\" merge=union\n",
    );
    for ignored in [
        "warc/.lock",
        "public/[status]/index.html",
        "data/.urldb-tmp-x",
    ] {
        git(&["check-ignore", "-q", ignored]);
    }
}

#[test]
fn edits_of_a_large_file_change_only_their_records() {
    let site = Site::with(&[("/04000", "changed")]);
    let sandbox = Sandbox::new(&site.network());
    let file = FILE;
    let text = |edit: &dyn Fn(usize) -> String| {
        let records: String = (0..5000).map(edit).collect();
        format!("---\n# of all records\nhttp: true\n{records}# end\n")
    };
    let record = |number: usize| {
        format!("---\n_path: /{number:05}\ncontent-length: 5\nname: {number}th record\n")
    };
    sandbox.write(file, text(&record));
    sandbox.ok("add --no-fetch http://example.test/02000a");
    sandbox.ok("rm http://example.test/03000 http://example.test/03002");
    sandbox.ok("accept --yes http://example.test/04000");
    let edited = |number: usize| match number {
        2000 => format!("{}---\n_path: /02000a\n", record(number)),
        3000 | 3002 => String::new(),
        4000 => record(number).replace("length: 5", "length: 7"),
        _ => record(number),
    };
    sandbox.assert_file(file, &text(&edited));
    // A URL without a record is compared with all of them.
    sandbox
        .exits(2, "rm http://example.test/02000b")
        .complains("did you mean http://example.test/02000");
    sandbox.assert_file(file, &text(&edited));
}
