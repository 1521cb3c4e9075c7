//! The scenarios of messages, made by real runs: terminal, mail, job summary and annotations.

use std::time::Duration;

use insta::{Settings, assert_snapshot};

use crate::sandbox::Sandbox;
use crate::site::{Site, promise, promises};
use crate::support::Reply;

/// Takes out what is different each time.
fn stable() -> Settings {
    let mut settings = Settings::clone_current();
    for (pattern, name) in [
        (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "[moment]"),
        (r"--at \d{4}-\d\d-\d\d", "--at [day]"),
        (r"urldb-\d{14}-\d{5}-\S+\.warc\.gz", "[archive file]"),
        (r"in \d+(\.\d+)? ?s\b", "in [seconds]"),
        (r"os error \d+", "os error [number]"),
        (r"::(stop-commands::)?urldb-[0-9a-f]+(::)?", "::$1[token]$2"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
        (r"\(\d+(\.\d+)? k?B\)", "([bytes])"),
    ] {
        settings.add_filter(pattern, name);
    }
    settings
}

/// A sandbox whose mails go into a folder, with these hosts at the site.
fn sandbox(site: &Site, hosts: &[&str], check: &str) -> Sandbox {
    let maps: Vec<String> = hosts.iter().map(|host| site.map(host)).collect();
    Sandbox::new(&format!(
        "[project]\nname = \"sky-urls\"\n{check}\
         [network]\nmap = {maps:?}\n\
         [notify.maintainers]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"ada@example.test\", \"bob@example.test\"]\nfolder = \"mail\"\n"
    ))
}

/// A run that finds all as promised. Times in the ledger are whole seconds: the next run must begin in
/// another one, so that it knows when all was good.
#[track_caller]
fn first_run(sandbox: &Sandbox) {
    sandbox.urldb(&["run"]).code(0);
    std::thread::sleep(Duration::from_millis(1_100));
}

/// Runs urldb, and shows what it says on the terminal, to GitHub and by mail.
#[track_caller]
fn run(sandbox: &Sandbox, arguments: &[&str], code: i32) -> String {
    let before = sandbox.files("mail", ".eml");
    let summary = sandbox.path("summary.md");
    let env = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
    let arguments = [&["run", "--github"], arguments].concat();
    let ran = sandbox.urldb_with_env(&arguments, &env).code(code);
    let mut text = format!("{}\n=== summary\n{}", ran.out, sandbox.read("summary.md"));
    std::fs::remove_file(&summary).unwrap();
    for file in sandbox.files("mail", ".eml") {
        if !before.contains(&file) {
            let mail = crate::mime::mail_of(&std::fs::read(file).unwrap());
            let subject = mail.header("Subject");
            text += &["\n=== mail\n", subject, "\n\n", &mail.text].concat();
        }
    }
    text
}

#[test]
fn appended_rows() {
    let rows = "name,ra\nHD 1,1.0\nHD 2,2.0\n";
    let site = Site::with(&[("/tables/stars.csv", rows)]);
    let sandbox = sandbox(&site, &["data.example.test"], "");
    sandbox.write(
        "urldb/data.example.test.yaml",
        promises(&[("/tables/stars.csv", rows)]),
    );
    first_run(&sandbox);
    site.serve(
        "/tables/stars.csv",
        Reply::ok(format!("{rows}HD 3,3.0\nHD 4,4.0\n")),
    );
    let check = sandbox.urldb(&["check"]).code(1).out;
    let text = run(&sandbox, &[], 1);
    stable().bind(|| assert_snapshot!("appended_rows", format!("{text}\n=== check\n{check}")));
}

#[test]
fn silent_host() {
    let pages: Vec<String> = (0..20)
        .map(|number| format!("/release-7/{number:02}"))
        .collect();
    let site = Site::with(&[("/fine", "fine")]);
    let hang = |site: &Site| {
        for page in &pages {
            site.serve(page, Reply::raw("").hang());
        }
    };
    let patience = "[check]\nhead-timeout = \"300ms\"\nhost-patience = \"300ms\"\nretries = 0\nconcurrency = 1\n";
    let sandbox = sandbox(
        &site,
        &["fine.example.test", "mirror.example.test"],
        patience,
    );
    sandbox.write(
        "urldb/fine.example.test.yaml",
        promises(&[("/fine", "fine")]),
    );
    let records: String = pages.iter().map(|page| promise(page, "x")).collect();
    sandbox.write("urldb/mirror.example.test.yaml", format!("---\n{records}"));
    let mut settings = stable();
    // Numbers with one digit or two: lines end in other places.
    settings.add_filter(r"\n {10,}(\S)", " $1");
    settings.add_filter(
        r"tried( +|:\*\* )\d+ URLs?, once: ",
        "tried$1[n] URLs, once: ",
    );
    settings.add_filter(r"the other \d+ were not", "the other [n] were not");
    settings.add_filter(r"Not\s+tried:\s+\d+", "Not tried: [n]");
    settings.add_filter(
        r"Checked \d+ of 21 URLs, 1 of 21",
        "Checked [n] of 21 URLs, 1 of 21",
    );
    hang(&site);
    let _guard = settings.bind_to_scope();
    assert_snapshot!("silent_host_first_run", run(&sandbox, &[], 3));
    assert_snapshot!("silent_host_confirmed", run(&sandbox, &[], 1));
    assert_snapshot!("silent_host_later", run(&sandbox, &[], 1));
    for page in &pages {
        site.serve(page, Reply::ok("x"));
    }
    assert_snapshot!("silent_host_recovery", run(&sandbox, &[], 0));
}

#[test]
fn redirect_rule() {
    let pages: Vec<String> = (0..12)
        .map(|number| format!("/manual/v1/{number:02}.html"))
        .collect();
    let site = Site::with(&[("/", "home"), ("/other", "other")]);
    let sandbox = sandbox(&site, &["docs.example.test"], "");
    let mut file = "---\n".to_owned();
    for page in &pages {
        site.serve(page, Reply::ok("page"));
        file += &promise(page, "page");
    }
    file += &promise("/other", "other");
    sandbox.write("urldb/docs.example.test.yaml", file);
    first_run(&sandbox);
    for page in &pages[..11] {
        site.serve(page, Reply::redirect(302, "http://docs.example.test/"));
    }
    let opened = run(&sandbox, &[], 1);
    stable().bind(|| assert_snapshot!("redirect_rule", opened));
}

#[test]
fn fifteen_hosts() {
    let hosts: Vec<String> = (0..15)
        .map(|number| format!("host{number:02}.test"))
        .collect();
    let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let site = Site::with(&[("/a", "a"), ("/b", "b")]);
    let sandbox = sandbox(&site, &names, "");
    for host in &hosts {
        let file = format!("urldb/{host}.yaml");
        sandbox.write(&file, promises(&[("/a", "a"), ("/b", "b")]));
    }
    first_run(&sandbox);
    site.remove("/a");
    site.remove("/b");
    let text = run(&sandbox, &[], 1);
    stable().bind(|| assert_snapshot!("fifteen_hosts", text));
}

#[test]
fn own_network_and_partial_run() {
    let site = Site::with(&[("/core", "core"), ("/rest", "rest")]);
    let hosts = ["data.test", "docs.test"];
    let sandbox = sandbox(&site, &hosts, "");
    let core =
        promise("/core", "core").replace("content-length", "categories:\n- core\ncontent-length");
    sandbox.write(
        "urldb/data.test.yaml",
        format!("---\n{core}{}", promise("/rest", "rest")),
    );
    sandbox.write("urldb/docs.test.yaml", promises(&[("/rest", "rest")]));
    first_run(&sandbox);
    site.remove("/core");
    site.remove("/rest");
    run(&sandbox, &[], 1);
    site.serve("/core", Reply::ok("core"));
    let partial = run(&sandbox, &["-c", "core"], 0);
    stable().bind(|| assert_snapshot!("partial_run", partial));

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let maps = hosts.map(|host| format!("{host}={nobody}"));
    let old = hosts.map(|host| site.map(host));
    let config = sandbox.read("urldb.toml");
    sandbox.write(
        "urldb.toml",
        config.replace(&format!("{old:?}"), &format!("{maps:?}")),
    );
    std::fs::remove_dir_all(sandbox.path("status")).unwrap();
    let nothing = run(&sandbox, &[], 3);
    stable().bind(|| assert_snapshot!("own_network", nothing));
}
