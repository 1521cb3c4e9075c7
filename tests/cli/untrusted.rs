//! `--untrusted`: a pull request of a stranger, with a hostile urldb.toml.

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promise, promises};

/// A urldb.toml that uses every way of naming a file, a program, an address or a secret.
fn hostile(site: &Site) -> String {
    format!(
        r#"
        [database]
        path = "/etc"
        [lint]
        keys = ["owner"]
        [check]
        timeout = "1000d"
        retries = 1000000
        concurrency = 1000000
        user-agent = "evil"
        unsafe-methods = true
        headers = {{ X-Evil = "1" }}
        headers-env = {{ X-Stolen = "SMTP_PASSWORD" }}
        [check.host."example.test"]
        headers-env = {{ X-Stolen = "SMTP_PASSWORD" }}
        [network]
        allow = ["0.0.0.0/0", "::/0"]
        map = ["127.0.0.1={}", "other.test=127.0.0.1:1"]
        ca-file = "/etc/passwd"
        proxy = "http://127.0.0.1:1"
        proxy-user = "x"
        proxy-password-env = "URLDB_PROXY_PASSWORD"
        [archive]
        path = "/tmp/evil"
        stores = [{{ url = "s3://evil/evil", endpoint = "http://127.0.0.1:1" }}]
        [ledger]
        path = "../evil"
        [[schedule]]
        cron = "* * * * * *"
        [notify.evil]
        type = "command"
        command = ["sh", "-c", "touch executed"]
        on = ["every-run"]
        [notify.page]
        type = "html"
        path = "."
        templates = "/etc"
        [nonsense]
        "#,
        site.map("example.test").split_once('=').unwrap().1
    )
}

/// A pull request that adds three records, one of them to a URL that does not exist.
fn pull_request() -> (Site, Repository) {
    let site = Site::with(&[
        ("/old", "x"),
        ("/clusters.csv", "abc"),
        ("/galaxies.csv", "defg"),
    ]);
    let repository = Repository::of(Sandbox::empty());
    repository.write(FILE, promises(&[("/old", "x")]));
    repository.git("add .");
    repository.git("commit -q -m base");
    repository.git("tag base");
    let added = [
        ("/clusters.csv", "abc"),
        ("/galaxies-2.csv", "hi"),
        ("/galaxies.csv", "defg"),
        ("/old", "x"),
    ];
    repository.write(FILE, promises(&added));
    (site, repository)
}

#[test]
fn a_hostile_configuration_has_no_effect_and_is_named_in_one_line() {
    let (site, repository) = pull_request();
    repository.write("urldb.toml", hostile(&site));
    let post = format!("{}method: POST\nowner: ada\n", promise("/post", "x"));
    repository.write("urldb/127.0.0.1.yaml", promises(&[("/old", "x")]));
    repository.write("urldb/other.test.yaml", promises(&[("/old", "x")]));
    let text = repository.read(FILE);
    repository.write(FILE, text + &post);
    let before = repository.tree("");
    let maps = [site.map("example.test"), site.map("other.test")];
    let arguments = ["check", "--untrusted", "--map", &maps[0], "--map", &maps[1]];
    let env = [
        ("SMTP_PASSWORD", "hunter2"),
        ("AWS_ACCESS_KEY_ID", "x"),
        ("AWS_SECRET_ACCESS_KEY", "y"),
    ];
    let ran = repository.urldb_with_env(&arguments, &env).code(1);
    let line = ran.err.lines().next().unwrap();
    insta::assert_snapshot!(line, @"note: these keys of urldb.toml have no effect with --untrusted: archive.path, archive.stores, check.concurrency, check.headers, check.headers-env, check.host.example.test.headers-env, check.retries, check.timeout, check.unsafe-methods, check.user-agent, database.path, ledger.path, network.allow, network.ca-file, network.map, network.proxy, network.proxy-password-env, network.proxy-user, nonsense, notify.evil, notify.page, schedule");
    assert_eq!(ran.err.lines().count(), 1, "{ran:#?}");
    let requests = site.requests();
    assert_eq!(requests.len(), 7, "{requests:?}");
    for request in &requests {
        let head = format!("{request:?}");
        assert_lacks(
            &head,
            &["evil", "X-Evil", "x-evil", "hunter2", "tolen", "POST"],
        );
    }
    // Neither `allow` nor `map` opens a way to this machine.
    assert_has(&ran.out, "that the rules of urldb forbid");
    let words = ["lint", "--untrusted", FILE];
    let ran = repository.urldb_with_env(&words, &env).code(0);
    assert_eq!(ran.err.lines().next(), Some(line));
    assert_eq!(repository.tree(""), before);
    assert!(!std::path::Path::new("/tmp/evil").exists());
}

/// Names, and no values: a value may be long, or a secret.
#[test]
fn a_pull_request_that_changes_urldb_toml_says_so_first() {
    let (site, repository) = pull_request();
    repository.write("urldb.toml", "[check]\ntimeout = \"5m\"\nretries = 1\n");
    repository.git("add -A");
    repository.git("commit -q -m settings");
    repository.git("branch settings");
    repository.git("checkout -q -b fork");
    repository.write(
        "urldb.toml",
        "[check]\ntimeout = \"7m\"\n[notify.evil]\ntype = \"command\"\n\
         command = [\"sh\", \"-c\", \"canary\"]\n",
    );
    repository.git("commit -q -a -m evil");
    repository.git("checkout -q settings");
    repository.git("merge -q --no-ff -m merge fork");
    let merged = repository.git("rev-parse HEAD").trim().to_owned();
    let range = format!("{merged}^1..{merged}");
    let diff = |format| {
        let arguments = ["diff", "--format", format, &range];
        let ran = repository.ok(&arguments);
        assert!(
            !ran.out.contains("canary") && !ran.out.contains('\u{1b}'),
            "{ran:#?}"
        );
        ran
    };
    let text = diff("markdown").out;
    insta::assert_snapshot!("settings", text);
    diff("human").says(&["urldb.toml: added notify.evil", "removed check.retries"]);
    let document = diff("json").json();
    assert_eq!(
        document["settings"]["changed"],
        serde_json::json!(["check.timeout"])
    );

    let summary = repository.path("../summary.md");
    let map = site.map("example.test");
    let options = [
        "check",
        "--untrusted",
        "--changed-since",
        "HEAD^1",
        "--map",
        &map,
        "--github",
    ];
    let env = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    let text = repository.read("urldb.toml");
    repository.write(
        "urldb.toml",
        text.replace("notify.evil", "notify.\"evil\\u001b[2J`](x)\""),
    );
    let ran = repository.urldb_with_env(&options, &env).code(0);
    assert!(
        !ran.err.contains('\u{1b}') && !ran.out.contains('\u{1b}'),
        "{ran:#?}"
    );
    let line = "urldb.toml changes: added notify.evil";
    let notes = ran.err.lines().filter(|it| it.contains(line)).count();
    assert_eq!(notes, 1, "{ran:#?}");
    let summary = std::fs::read_to_string(summary).unwrap();
    assert!(
        summary.starts_with("**`urldb.toml` changes:** added ``notify.evil"),
        "{summary}"
    );
    let options = [&options[..6], &["--format", "markdown"]].concat();
    let ran = repository.ok(&options);
    assert!(
        ran.out.starts_with("**`urldb.toml` changes:** added "),
        "{ran:#?}"
    );
    assert_lacks(&ran.out, "canary");
    // A comment changes no key.
    repository.git("checkout -q -- urldb.toml");
    repository.write(
        "urldb.toml",
        repository.read("urldb.toml") + "# a comment\n",
    );
    assert_lacks(&repository.ok("diff").out, "urldb.toml");
    repository.write("urldb.toml", "[check\n");
    repository.exits(2, "check --untrusted --changed-since HEAD");
}

#[test]
fn a_pull_request_reads_what_is_wrong_with_its_records() {
    let (site, repository) = pull_request();
    let summary = repository.path("../summary.md");
    let map = site.map("example.test");
    let check = |arguments: &[&str]| {
        let _ = std::fs::remove_file(&summary);
        let options = [
            "check",
            "--untrusted",
            "--changed-since",
            "base",
            "--map",
            &map,
        ];
        let env = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
        repository.urldb_with_env(&[&options[..], arguments].concat(), &env)
    };
    let ran = check(&["--github"]).code(1);
    let summary_text = std::fs::read_to_string(&summary).unwrap();
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"127\.0\.0\.1:\d+", "127.0.0.1:[port]");
    settings.add_filter(r"in \d+(\.\d+)?.?s\b", "in [seconds]");
    settings.add_filter(r"::(stop-commands::)?urldb-[0-9a-f]+(::)?", "::$1[token]$2");
    settings.bind(|| {
        insta::assert_snapshot!(
            "pull-request",
            format!("{}=== summary\n{summary_text}", ran.out)
        );
    });

    let good = promises(&[
        ("/clusters.csv", "abc"),
        ("/galaxies.csv", "defg"),
        ("/old", "x"),
    ]);
    repository.write(FILE, &good);
    check(&[]).code(0).says(&[
        "URLs: 2 ok",
        "Checked 2 of 2 added URLs, 2 of 2 byte for byte",
    ]);
    repository.write(FILE, promises(&[("/clusters.csv", "abc"), ("/old", "y")]));
    check(&[]).code(1).says("URLs: 1 broken, 1 ok");
    repository.write(FILE, promises(&[("/old", "x")]));
    check(&[]).code(0).says("URLs: 0 ok");
}

/// A repository with a secret in each file that git does not track, and one page.
fn with_secrets() -> (Site, Repository) {
    let site = Site::with(&[("/a", "x")]);
    let repository = Repository::of(Sandbox::empty());
    repository.write(FILE, promises(&[("/a", "x")]));
    repository.write(".gitignore", "ignored*\n");
    repository.write("good.txt", "http://example.test/a\n");
    repository.git("add .");
    repository.git("commit -q -m base");
    for file in [
        "ignored.txt",
        "untracked.txt",
        "ignored/list.txt",
        "../outside.txt",
    ] {
        repository.write(file, format!("{SECRET}\nhttp://example.test/{SECRET}\n"));
    }
    repository.write(
        "ignored.xml",
        sitemap("urlset", "url", &format!("/{SECRET}")),
    );
    repository.write("ignored.md", format!("<http://example.test/{SECRET}>\n"));
    repository.write("ignored/example.test.yaml", format!("{SECRET}\n"));
    let header = format!("http.http://example.test/{SECRET}.extraheader");
    repository.git(&["config", &header, SECRET]);
    (site, repository)
}

/// A word that only files have that git does not track.
const SECRET: &str = "canary-of-the-runner";

fn sitemap(root: &str, entry: &str, path: &str) -> String {
    format!("<{root}><{entry}><loc>http://example.test{path}</loc></{entry}></{root}>\n")
}

/// The pull request has only what git tracks: all else in the work tree is the runner's.
#[test]
fn lists_of_strangers_are_files_that_git_tracks() {
    use std::os::unix::fs::symlink;
    let (site, repository) = with_secrets();
    for (target, link) in [
        (".git/config", "config"),
        (".git", "git"),
        ("ignored.txt", "to-ignored"),
        ("ignored", "folder"),
        ("../outside.txt", "to-outside"),
        ("ignored.xml", "linked.xml"),
        ("good.txt", "to-good"),
        ("ignored.md", "linked.md"),
    ] {
        symlink(target, repository.path(link)).unwrap();
    }
    let index = |path| sitemap("sitemapindex", "sitemap", path);
    repository.write("index.xml", index("/ignored.xml"));
    repository.write("index2.xml", index("/linked.xml"));
    let line = r#"test,example)/a 20260101000000 {"url": "http://example.test/a", "filename": "ignored.warc", "offset": "0"}"#;
    repository.write("index.cdxj", format!("{line}\n"));
    repository.write("ignored.warc", SECRET);
    repository.git("add .");
    repository.git("reset -q untracked.txt");
    let map = site.map("example.test");
    let tracks = "git tracks";
    for (format, path, said) in [
        ("list", ".git/config", tracks),
        ("list", ".git/*", tracks),
        ("list", "git/config", tracks),
        ("list", "config", tracks),
        ("list", "./ignored.txt", tracks),
        ("list", "untracked.txt", tracks),
        ("list", "*ed.txt", tracks),
        ("list", "to-ignored", tracks),
        ("list", "folder/list.txt", tracks),
        ("list", "folder/*.txt", tracks),
        ("list", "ignored/list.txt", tracks),
        ("list", "to-outside", "out of the repository"),
        ("links", "linked.md", tracks),
        (
            "sitemap",
            "index.xml",
            "ignored.xml is not a file that git tracks",
        ),
        (
            "sitemap",
            "index2.xml",
            "linked.xml leads to ignored.xml, which is not a file that git tracks",
        ),
        ("cdxj", "index.cdxj", ""),
        ("files", "ignored", tracks),
    ] {
        let source = format!(
            "[source.x]\nformat = \"{format}\"\npath = [\"{path}\"]\nbase = \"http://example.test/\"\n"
        );
        repository.write("urldb.toml", source);
        let since = [
            "check",
            "--untrusted",
            "--map",
            &map,
            "--changed-since",
            "HEAD",
        ];
        let list = format!("{format}:{path}");
        let named = [
            "check",
            "--untrusted",
            "--map",
            &map,
            &list,
            "--base",
            "http://example.test/",
        ];
        let is_named = !path.contains('*');
        let commands: [&[&str]; 3] = [&["check", "--untrusted", "--map", &map], &since, &named];
        for command in commands.iter().take(2 + usize::from(is_named)) {
            let ran = repository.urldb(command);
            let all = format!("{}{}", ran.out, ran.err);
            let words: Vec<_> = all.split_whitespace().collect();
            let all = words.join(" ");
            assert_lacks(&all, SECRET);
            assert!(all.contains(said), "{command:?} {path}: {ran:?}");
        }
    }
    let paths: Vec<_> = site.requests().iter().map(|it| it.target.clone()).collect();
    assert!(
        paths
            .iter()
            .all(|path| path == "/a" || path == "/robots.txt"),
        "{paths:?}"
    );
    // A link to a file that git tracks is one, and so is a list that is only staged.
    for path in ["good.txt", "to-good", "goo*"] {
        let source = format!("[source.x]\nformat = \"list\"\npath = [\"{path}\"]\n");
        repository.write("urldb.toml", source);
        let ran = repository.ok(&["check", "--untrusted", "--map", &map]);
        assert_lacks(&ran.err, "cannot be followed");
    }
}

/// Mistakes show lines of a file.
#[test]
fn no_link_of_strangers_is_followed() {
    use std::os::unix::fs::symlink;
    let (site, repository) = with_secrets();
    let map = site.map("example.test");
    repository.ok(&["run", "--map", &map]);
    for (link, target, said) in [
        ("urldb.toml", ".git/config", "urldb.toml is a link"),
        ("urldb", "ignored", "urldb is a link"),
        ("urldb/rules", "../ignored", "rules is a link"),
        ("status", "ignored", "status is a link"),
        ("status/captures", "../ignored", "status/captures is a link"),
        ("status/example.test.yaml", "../.git/config", "a link"),
    ] {
        let (path, aside) = (repository.path(link), repository.path("../aside"));
        let is_there = std::fs::rename(&path, &aside).is_ok();
        symlink(target, &path).unwrap();
        for command in [
            "lint --untrusted",
            "check --untrusted",
            "check --untrusted --changed-since HEAD",
        ] {
            let mut words: Vec<&str> = command.split(' ').collect();
            if words[0] == "check" {
                words.extend(["--map", &map]);
            }
            let ran = repository.urldb(&words[..]);
            let all = format!("{}{}", ran.out, ran.err);
            assert_lacks(&all, SECRET);
            // A status that cannot be read stops no check.
            let is_told = ran.code > 0 && all.contains(said);
            let is_status = link == "status/example.test.yaml";
            assert_eq!(is_told, !is_status, "{link} {command}: {ran:?}");
        }
        std::fs::remove_file(&path).unwrap();
        if is_there {
            std::fs::rename(&aside, &path).unwrap();
        }
    }
    repository.ok(&["check", "--untrusted", "--map", &map]);
}
