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
    let env = [
        ("GITHUB_SHA", merged.as_str()),
        ("GITHUB_BASE_REF", "main"),
        ("GITHUB_HEAD_REF", "eve`\u{1b}[31m\n## x"),
    ];
    let range = format!("{merged}^1..{merged}");
    let diff = |format| {
        let arguments = ["diff", "--format", format, &range];
        let ran = repository.urldb_with_env(&arguments, &env).code(0);
        assert!(
            !ran.out.contains("canary") && !ran.out.contains('\u{1b}'),
            "{ran:#?}"
        );
        ran
    };
    let text = diff("markdown").out;
    let ids = without_ids(&text, &merged);
    insta::assert_snapshot!("settings", ids);
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

/// The text without ids of commits.
fn without_ids(text: &str, merged: &str) -> String {
    let short = &merged[..10];
    let text = text.replace(short, "[merge]");
    let parent = text
        .split("main` (")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    let parent = parent.unwrap_or("none").to_owned();
    text.replace(&parent, "[base]")
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
        "All good: all 2 URLs that this pull request adds are as promised.",
        "Checked 2 of 2 added URLs, 2 of 2 byte for byte",
    ]);
    repository.write(FILE, promises(&[("/clusters.csv", "abc"), ("/old", "y")]));
    check(&[])
        .code(1)
        .says("Action needed: 1 of the 2 URLs that this pull request adds or changes is broken.");
    repository.write(FILE, promises(&[("/old", "x")]));
    check(&[])
        .code(0)
        .says("All good: this pull request adds no URL.");
}
