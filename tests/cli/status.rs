//! `status` and `log`: the state of all promises between runs, whatever the last run selected.

use insta::assert_snapshot;
use serde_json::Value;

use crate::hook::Repository;
use crate::sandbox::Sandbox;
use crate::site::{Site, promise, promises};
use crate::support::Reply;
use crate::words::stable;

const HOSTS: [&str; 3] = ["data.test", "docs.test", "www.test"];

fn config(site: &Site) -> String {
    let maps = HOSTS.map(|host| site.map(host));
    format!(
        "[project]\nname = \"sky-urls\"\n[network]\nmap = {maps:?}\n\
         [notify.maintainers]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"ada@example.test\"]\nfolder = \"mail\"\n"
    )
}

/// The promises of three hosts: static records, one with a category, and one without bytes.
fn write_promises(sandbox: &Sandbox) {
    let core =
        promise("/core", "core").replace("content-length", "categories:\n- core\ncontent-length");
    let data = format!("---\n{core}{}", promise("/rest", "rest"));
    sandbox.write("urldb/data.test.yaml", data);
    let docs = [("/a", "a"), ("/b", "b"), ("/c", "c")];
    sandbox.write("urldb/docs.test.yaml", promises(&docs));
    sandbox.write("urldb/www.test.yaml", "---\n---\n_path: /\n");
}

fn site() -> Site {
    Site::with(&[
        ("/", "home"),
        ("/core", "core"),
        ("/rest", "rest"),
        ("/a", "a"),
        ("/b", "b"),
        ("/c", "c"),
    ])
}

/// Three hosts in git, all as promised, and seen by one run.
fn watched() -> (Site, Repository) {
    let site = site();
    let repository = Repository::without_hook();
    let sandbox = &repository.sandbox;
    let check = "[check]\nretry-wait = \"1ms\"\n";
    sandbox.write("urldb.toml", format!("{check}{}", config(&site)));
    write_promises(sandbox);
    repository.git(&["add", "."]);
    repository.git(&["commit", "-q", "-m", "Promise six URLs"]);
    sandbox.urldb(&["run"]).code(0);
    (site, repository)
}

/// Takes ids of incidents and commits out too.
#[track_caller]
fn shown(name: &str, text: &str) {
    let mut settings = stable();
    settings.add_filter(r"\b[0-9a-f]{8}: ", "[incident]: ");
    settings.add_filter(r"commit [0-9a-f]{7}", "commit [id]");
    settings.add_filter(r"\d{4}-\d\d-\d\d\b", "[day]");
    settings.add_filter(r"at \d\d:\d\d UTC", "at [time] UTC");
    settings.add_filter(r"\d+ min\b", "[n] min");
    settings.bind(|| assert_snapshot!(name, text));
}

#[test]
fn before_the_first_run_nothing_is_known() {
    let site = site();
    let sandbox = Sandbox::new(&config(&site));
    sandbox
        .urldb(&["status"])
        .code(0)
        .says(&["All good: there is no URL to check."]);
    write_promises(&sandbox);
    let status = sandbox.urldb(&["status"]).code(3);
    shown("status_before_the_first_run", &status.out);
    let log = sandbox.urldb(&["log"]).code(0);
    assert!(log.out.contains("Nothing is known."), "{log:#?}");
    assert!(site.requests().is_empty());
    assert!(!sandbox.path("status").exists());
}

#[test]
fn all_good() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    let before = (sandbox.tree("."), site.requests().len());
    let status = sandbox.urldb(&["status"]).code(0);
    shown("status_all_good", &status.out);
    let host = sandbox.urldb(&["status", "docs.test"]).code(0);
    shown("status_host_all_good", &host.out);
    let url = sandbox.urldb(&["status", "http://docs.test/a"]).code(0);
    shown("status_url_all_good", &url.out);
    sandbox
        .urldb(&["status", "--stale", "1h"])
        .code(0)
        .says(&["no URL not verified within 1h"]);
    assert!(
        before == (sandbox.tree("."), site.requests().len()),
        "nothing was written or fetched"
    );
}

#[test]
fn a_run_with_a_selection_leaves_the_others_as_they_were() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    site.remove("/a");
    site.remove("/b");
    site.serve("/core", Reply::new("503 Busy", &["Retry-After: 0"], ""));
    sandbox.urldb(&["run"]).code(1);
    sandbox.urldb(&["run"]).code(1);
    let broken = sandbox.urldb(&["status"]).code(1);
    shown("status_broken", &broken.out);

    // A host that is as promised.
    sandbox.urldb(&["run", "-d", "www.test"]).code(0);
    let after = sandbox.urldb(&["status"]).code(1);
    let words: Vec<&str> = after.out.split_whitespace().collect();
    let text = words.join(" ");
    let headline = "Action needed: 2 incidents are open, 3 of 6 URLs are broken.";
    assert!(text.starts_with(headline), "{text}");
    assert!(text.contains("Since then: www.test at "), "{text}");
    assert!(text.contains("UTC, 1 URL, all as promised."), "{text}");

    // A category, one URL of which recovers.
    site.serve("/core", Reply::ok("core"));
    sandbox.take_mails();
    sandbox
        .urldb(&["run", "-c", "core"])
        .code(0)
        .says(&["All good in category core"]);
    let later = sandbox.urldb(&["status"]).code(1);
    shown("status_after_a_partial_run", &later.out);
    let mails = sandbox.take_mails();
    let [mail] = mails.as_slice() else {
        panic!("one mail tells of the recovery");
    };
    let words: Vec<&str> = mail.text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(
        text.contains("1 other is open, 2 of 6 URLs are broken."),
        "{text}"
    );

    // The last incident of a host that is checked alone.
    site.serve("/a", Reply::ok("a"));
    site.serve("/b", Reply::ok("b"));
    sandbox.urldb(&["run", "-d", "docs.test"]).code(0);
    let mail = sandbox.mails().pop().unwrap();
    assert!(
        mail.text
            .starts_with("All good again: all 6 URLs are as promised."),
        "{}",
        mail.text
    );
    sandbox
        .urldb(&["status"])
        .code(0)
        .says(&["All good: all 6 URLs are as promised."]);
}

/// The same, and two incidents of one host: one URL is gone, and one has changed.
fn with_two_incidents() -> (Site, Repository) {
    let (site, repository) = watched();
    site.remove("/a");
    site.serve("/b", Reply::ok("B"));
    repository.sandbox.urldb(&["run"]).code(1);
    repository.sandbox.urldb(&["run"]).code(1);
    (site, repository)
}

#[test]
fn a_broken_host_and_a_broken_url() {
    let (_site, repository) = with_two_incidents();
    let sandbox = &repository.sandbox;
    let host = sandbox.urldb(&["status", "docs.test"]).code(1);
    shown("status_host_broken", &host.out);
    let url = sandbox.urldb(&["status", "http://docs.test/a"]).code(1);
    shown("status_url_broken", &url.out);
    sandbox.urldb(&["status", "data.test"]).code(0);
    sandbox.urldb(&["status", "http://docs.test/c"]).code(0);

    let gone = sandbox
        .urldb(&["status", "--state", "gone", "--state", "changed"])
        .code(1);
    shown("status_by_state", &gone.out);
    sandbox.urldb(&["status", "--state", "blocked"]).code(0);
    // Broken URLs are not verified, and URLs without promised bytes are checked.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let stale = sandbox
        .urldb(&["status", "--stale", "1s", "--format", "json"])
        .code(1)
        .json();
    assert_eq!(stale["urls"].as_array().unwrap().len(), 6);
    sandbox.urldb(&["run"]).code(1);
    let stale = sandbox.urldb(&["status", "--stale", "1m", "--state", "gone"]);
    stale
        .code(0)
        .says(&["None: no URL in state gone, not verified within 1m."]);
}

#[test]
fn incidents_of_one_run_are_in_one_order_whatever_their_ids() {
    let (_site, repository) = with_two_incidents();
    let sandbox = &repository.sandbox;
    let titles = || {
        sandbox.urldb(&["site", "build", "public"]).code(0);
        let document: Value = serde_json::from_str(&sandbox.read("public/status.json")).unwrap();
        let incidents = document["incidents"].as_array().unwrap().iter();
        let titles = incidents.map(|it| it["title"].as_str().unwrap().to_owned());
        let feed = sandbox.read("public/incidents.atom");
        let entries = feed
            .lines()
            .filter(|line| line.starts_with("<title>Open: "));
        (
            titles.collect::<Vec<_>>(),
            entries.map(str::to_owned).collect::<Vec<_>>(),
        )
    };
    let before = titles();
    assert_eq!(
        before.0,
        [
            "http://docs.test/a answers 404 Not Found",
            "http://docs.test/b serves other bytes of the same size"
        ]
    );
    assert!(before.1[0].contains("&#x2f;a answers"), "{before:?}");
    // Another run would have given the incidents other ids.
    let files = sandbox.tree("status/incidents");
    let [one, other] = files.keys().collect::<Vec<_>>()[..] else {
        panic!("two incidents");
    };
    for (path, text) in [(one, &files[other]), (other, &files[one])] {
        std::fs::write(sandbox.path(path.to_str().unwrap()), &text.0).unwrap();
    }
    assert_eq!(titles(), before);
}

#[test]
fn the_promised_bytes_of_a_changed_file_are_found_in_the_archive() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    site.serve("/b", Reply::ok("B"));
    sandbox.urldb(&["run"]).code(1);
    sandbox.urldb(&["run"]).code(1);
    let status = |arguments: &[&str]| {
        let command = [&["status", "--format", "json"], arguments].concat();
        sandbox.urldb(&command).code(1).json()
    };
    assert_eq!(status(&[])["files"]["archived"], 5);
    let url = &status(&["http://docs.test/b"])["urls"][0];
    assert_eq!(url["is_archived"], true);
    sandbox.urldb(&["site", "build", "public"]).code(0);
    let page = sandbox.read("public/hosts/docs.test.html");
    let figure = "<dt>In the archive</dt><dd><b>3</b> of 3 files</dd>";
    assert!(page.contains(figure), "{page}");

    // Both contents were captured on one day, so that no date tells them apart.
    let command = "urldb archive get http://docs.test/b --sha256 3e23e8160039";
    let url = sandbox.urldb(&["status", "http://docs.test/b"]).code(1);
    url.says(&[&format!("to take the promised bytes out: {command}")]);
    let mail = sandbox.mails().pop().unwrap().text;
    let words: Vec<&str> = mail.split_whitespace().collect();
    assert!(
        words.join(" ").contains(&format!("{command} -o b")),
        "{mail}"
    );
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(sandbox.urldb(&words).code(0).out, "b");
    let pages = sandbox.tree("public/urls").into_keys();
    let mut pages = pages.map(|page| sandbox.read(page.to_str().unwrap()));
    let page = pages.find(|page| page.contains("<h1 data-stale=\"Changed:"));
    let page = page.unwrap();
    for text in [
        "yes: the archive has the promised bytes",
        "--sha256 3e23e8160039 -o promised",
    ] {
        assert!(page.contains(text), "{page}");
    }

    // Without the index, only the ledger is known.
    std::fs::rename(sandbox.path("archive"), sandbox.path("elsewhere")).unwrap();
    assert_eq!(status(&[])["files"]["archived"], 4);
}

#[test]
fn a_failure_that_is_not_confirmed_yet() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    site.serve("/rest", Reply::new("503 Busy", &["Retry-After: 0"], ""));
    sandbox.urldb(&["run"]).code(3);
    let status = sandbox.urldb(&["status"]).code(3);
    shown("status_unconfirmed", &status.out);
    let url = sandbox.urldb(&["status", "http://data.test/rest"]).code(3);
    shown("status_url_unconfirmed", &url.out);
}

#[test]
fn json_has_the_totals_hosts_and_urls() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    site.remove("/a");
    sandbox.urldb(&["run"]).code(1);
    sandbox.urldb(&["run"]).code(1);
    let document = sandbox
        .urldb(&["status", "--format", "json"])
        .code(1)
        .json();
    assert_eq!(document["totals"]["urls"], 6);
    assert_eq!(document["totals"]["affected"], 1);
    assert_eq!(document["files"]["all"], 5);
    assert_eq!(document["files"]["verified"], 5);
    assert_eq!(
        document["incidents"][0]["title"],
        "http://docs.test/a answers 404 Not Found"
    );
    let hosts: Vec<&Value> = document["hosts"].as_array().unwrap().iter().collect();
    let names: Vec<&str> = hosts
        .iter()
        .map(|host| host["host"].as_str().unwrap())
        .collect();
    assert_eq!(names, HOSTS);
    assert_eq!(hosts[1]["kept"], 2);
    assert!(document.get("urls").is_none());
    let document = sandbox
        .urldb(&["status", "docs.test", "--format", "json"])
        .code(1)
        .json();
    let urls = document["urls"].as_array().unwrap();
    let standings: Vec<&str> = urls
        .iter()
        .map(|url| url["standing"].as_str().unwrap())
        .collect();
    assert_eq!(standings, ["affected", "kept", "kept"]);
    assert_eq!(urls[1]["is_archived"], true);
}

#[test]
fn a_timeline_has_transitions_and_commits() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    let write = |records: &[(&str, &str)]| {
        sandbox.write("urldb/docs.test.yaml", promises(records));
        repository.git(&["add", "."]);
    };
    site.remove("/a");
    sandbox.urldb(&["run"]).code(1);
    sandbox.urldb(&["run"]).code(1);
    site.serve("/a", Reply::ok("a"));
    sandbox.urldb(&["run"]).code(0);
    site.serve("/c", Reply::ok("new"));
    write(&[("/a", "a"), ("/c", "new"), ("/d", "d")]);
    repository.git(&["commit", "-q", "-m", "Accept the new text"]);

    let lines = |arguments: &[&str]| {
        let log = sandbox
            .urldb(&[&["log", "--format", "jsonl"], arguments].concat())
            .code(0);
        let lines = log
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    let events = |lines: &[Value]| {
        let mut events: Vec<String> = lines
            .iter()
            .map(|line| {
                let commit = &line["commit"];
                let counts = ["added", "changed", "removed"].map(|key| commit[key].to_string());
                format!("{} {} {}", line["event"], line["urls"], counts.join(" "))
            })
            .collect();
        // The commits and the runs of one second have no order.
        events.sort();
        events
    };
    assert_eq!(
        events(&lines(&["docs.test"])),
        [
            "\"broken\" 1 null null null",
            "\"commit\" 3 1 1 1",
            "\"commit\" 3 3 0 0",
            "\"recovered\" 1 null null null",
        ]
    );
    assert_eq!(
        events(&lines(&["http://docs.test/a"])),
        [
            "\"broken\" 1 null null null",
            "\"commit\" 1 1 0 0",
            "\"recovered\" 1 null null null"
        ]
    );
    assert_eq!(
        events(&lines(&["http://docs.test/c"])),
        ["\"commit\" 1 0 1 0", "\"commit\" 1 1 0 0"]
    );
    assert_eq!(lines(&["www.test"]).len(), 1);
    assert_eq!(lines(&[]).len(), 6);
    sandbox.urldb(&["log", "docs.test"]).code(0).says(&[
        "docs.test, newest first",
        "  broken          http://docs.test/a answers 404 Not Found;",
        "mail sent",
        "  recovered       http://docs.test/a is as promised again",
        "A U Thor: Accept the new text; 1 record",
    ]);
}

#[test]
fn in_a_shallow_clone_the_commits_are_unknown() {
    let (_site, repository) = watched();
    let sandbox = &repository.sandbox;
    let source = format!("file://{}", sandbox.path(".").display());
    repository.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    let clone = sandbox.path("clone");
    let clone = clone.to_str().unwrap();
    repository.git(&["clone", "-q", "--depth", "1", &source, clone]);
    let log = sandbox.urldb(&["-C", clone, "log", "docs.test"]).code(0);
    log.complains(&["shallow clone", "git fetch --unshallow"])
        .says(&["Nothing is known."]);

    // The whole history, and the last commit of another branch alone, as the action fetches the ledger.
    repository.git(&["checkout", "-q", "--orphan", "ledger"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    repository.git(&["commit", "-q", "--allow-empty", "-m", "second"]);
    repository.git(&["checkout", "-q", "-f", "main"]);
    let whole = sandbox.path("whole");
    let whole = whole.to_str().unwrap();
    repository.git(&["clone", "-q", "--single-branch", &source, whole]);
    repository.git(&[
        "-C", whole, "fetch", "-q", "--depth", "1", "origin", "ledger",
    ]);
    assert!(sandbox.path("whole/.git/shallow").exists());
    let log = sandbox.urldb(&["-C", whole, "log", "docs.test"]).code(0);
    log.says(&["Promise six URLs"]);
}

#[test]
fn names_that_are_not_there_get_a_suggestion() {
    let (_site, repository) = watched();
    let sandbox = &repository.sandbox;
    for command in ["status", "log"] {
        sandbox
            .urldb(&[command, "dosc.test"])
            .code(2)
            .complains(&["did you mean docs.test?"]);
        sandbox
            .urldb(&[command, "http://data.test/cores"])
            .code(2)
            .complains(&["did you mean http://data.test/core?"]);
    }
    sandbox
        .urldb(&["status", "--state", "gnoe"])
        .code(2)
        .complains(&["gone"]);
    sandbox
        .urldb(&["status", "--stale", "soon"])
        .code(2)
        .complains(&["30d"]);
}

#[test]
fn the_site_shows_all_promises_also_after_a_run_with_a_selection() {
    let (site, repository) = watched();
    let sandbox = &repository.sandbox;
    let page = "[notify.page]\ntype = \"html\"\npath = \"public\"\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + page);
    site.remove("/a");
    site.remove("/b");
    sandbox.urldb(&["run"]).code(1);
    sandbox.urldb(&["run"]).code(1);
    let headline = ">One incident affects 2 of 6 promises.</h1>";
    let index = sandbox.read("public/index.html");
    assert!(index.contains(headline), "{index}");
    let pages = || {
        let mut files = sandbox.tree("public/hosts");
        files.extend(sandbox.tree("public/incidents"));
        files.remove(std::path::Path::new("public/incidents/index.html"));
        files.retain(|path, _| !path.to_string_lossy().contains("www.test"));
        files
    };
    let before = pages();
    assert_eq!(before.len(), 6, "{:?}", before.keys());

    // A run over another host, and one over a category.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    sandbox.urldb(&["run", "-d", "www.test"]).code(0);
    assert!(sandbox.read("public/index.html").contains(headline));
    assert!(
        pages() == before,
        "the pages of other hosts are as they were"
    );
    sandbox.urldb(&["run", "-c", "core"]).code(0);
    assert!(sandbox.read("public/index.html").contains(headline));
    let document: Value = serde_json::from_str(&sandbox.read("public/status.json")).unwrap();
    assert_eq!(document["totals"]["affected"], 2);

    // A build without network writes the same, and the second time nothing.
    let requests = site.requests().len();
    sandbox
        .urldb(&["site", "build"])
        .code(0)
        .says(&["public: 0 files written, "]);
    sandbox.urldb(&["site", "build", "other"]).code(0);
    assert_eq!(
        sandbox.read("other/index.html"),
        sandbox.read("public/index.html")
    );
    assert_eq!(site.requests().len(), requests);

    // A host that is gone leaves no page, and files of other programs stay.
    sandbox.write("public/CNAME", "sky.example.org");
    std::fs::remove_file(sandbox.path("urldb/www.test.yaml")).unwrap();
    sandbox.urldb(&["site", "build"]).code(0);
    assert!(!sandbox.path("public/hosts/www.test.html").exists());
    assert!(sandbox.path("public/CNAME").exists());
}

#[test]
fn templates_of_the_site_are_replaced_by_name_and_checked() {
    let (_site, repository) = watched();
    let sandbox = &repository.sandbox;
    let page = "[notify.page]\ntype = \"html\"\npath = \"public\"\ntemplates = \"words\"\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + page);
    sandbox.write("words/site/overview.html", "{{ headline }} {{ nothing }}");
    sandbox
        .urldb(&["site", "build"])
        .code(2)
        .complains(&["template site/overview.html, line 1", "undefined"]);
    sandbox.write("words/site/overview.html", "<p>{{ headline }}</p>\n");
    sandbox.urldb(&["site", "build"]).code(0);
    assert_eq!(
        sandbox.read("public/index.html"),
        "<p>All 6 promises are kept.</p>"
    );
    sandbox.write("words/site/host.html", "{% if %}");
    sandbox
        .urldb(&["run"])
        .code(2)
        .complains_in_words(&["urldb.toml:", "template site/host.html, line 1"]);
}
