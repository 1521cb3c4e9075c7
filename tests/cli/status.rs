//! `status` and `log`: the state of all promises between runs, whatever the last run selected.

use insta::assert_snapshot;
use serde_json::Value;

use crate::archive_facts::words;
use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has};
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
    let check = "[check]\nretry-wait = \"1ms\"\n";
    repository.write("urldb.toml", format!("{check}{}", config(&site)));
    write_promises(&repository);
    repository.git("add .");
    repository.git(&["commit", "-q", "-m", "Promise six URLs"]);
    repository.ok("run");
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
    sandbox.ok("status").says("URLs: 0 ok\n");
    write_promises(&sandbox);
    let status = sandbox.exits(3, "status");
    shown("status_before_the_first_run", &status.out);
    let log = sandbox.ok("log");
    assert_has(&log.out, "No events.");
    assert!(site.requests().is_empty());
    assert!(!sandbox.path("status").exists());
}

#[test]
fn all_good() {
    let (site, repository) = watched();
    let before = (repository.tree("."), site.requests().len());
    let status = repository.ok("status");
    shown("status_all_good", &status.out);
    let host = repository.ok("status docs.test");
    shown("status_host_all_good", &host.out);
    let url = repository.ok("status http://docs.test/a");
    shown("status_url_all_good", &url.out);
    repository
        .ok("status --stale 1h")
        .says("0 of 6 URLs not verified within 1h");
    assert!(
        before == (repository.tree("."), site.requests().len()),
        "nothing was written or fetched"
    );
}

#[test]
fn a_run_with_a_selection_leaves_the_others_as_they_were() {
    let (site, repository) = watched();
    site.remove("/a");
    site.remove("/b");
    site.serve("/core", Reply::new("503 Busy", &["Retry-After: 0"], ""));
    repository.exits(1, "run");
    repository.exits(1, "run");
    let broken = repository.exits(1, "status");
    shown("status_broken", &broken.out);

    // A host that is as promised.
    repository.ok("run -d www.test");
    let after = repository.exits(1, "status");
    let words: Vec<&str> = after.out.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.starts_with("URLs: 3 broken, 3 ok; as of "), "{text}");
    assert_has(&text, "Since then: www.test at ");
    assert_has(&text, "UTC, 1 URL, all as promised.");

    // A category, one URL of which recovers.
    site.serve("/core", Reply::ok("core"));
    repository.take_mails();
    repository
        .ok("run -c core")
        .says("URLs: 2 broken, 4 ok; recovered: 1");
    let later = repository.exits(1, "status");
    shown("status_after_a_partial_run", &later.out);
    let mails = repository.take_mails();
    let [mail] = mails.as_slice() else {
        panic!("one mail tells of the recovery");
    };
    assert_has(&mail.text, "URLs: 2 broken, 4 ok; recovered: 1");

    // The last incident of a host that is checked alone.
    site.serve("/a", Reply::ok("a"));
    site.serve("/b", Reply::ok("b"));
    repository.ok("run -d docs.test");
    let mail = repository.mails().pop().unwrap().text;
    assert!(mail.starts_with("URLs: 6 ok; recovered: 2"), "{mail}");
    repository.ok("status").says("URLs: 6 ok; as of ");
}

/// The same, and two incidents of one host: one URL is gone, and one has changed.
fn with_two_incidents() -> (Site, Repository) {
    let (site, repository) = watched();
    site.remove("/a");
    site.serve("/b", Reply::ok("B"));
    repository.exits(1, "run");
    repository.exits(1, "run");
    (site, repository)
}

#[test]
fn a_broken_host_and_a_broken_url() {
    let (_site, repository) = with_two_incidents();
    let host = repository.exits(1, "status docs.test");
    shown("status_host_broken", &host.out);
    let url = repository.exits(1, "status http://docs.test/a");
    shown("status_url_broken", &url.out);
    repository.ok("status data.test");
    repository.ok("status http://docs.test/c");

    let gone = repository.exits(1, "status --state gone --state changed");
    shown("status_by_state", &gone.out);
    repository.ok("status --state blocked");
    // Broken URLs are not verified, and URLs without promised bytes are checked.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    let stale = repository
        .exits(1, "status --stale 1s --format json")
        .json();
    assert_eq!(stale["urls"].as_array().unwrap().len(), 6);
    repository.exits(1, "run");
    repository
        .ok("status --stale 1m --state gone")
        .says("0 of 6 URLs in state gone, not verified within 1m");
}

#[test]
fn incidents_of_one_run_are_in_one_order_whatever_their_ids() {
    let (_site, repository) = with_two_incidents();
    let titles = || {
        repository.ok("site build public");
        let document: Value = serde_json::from_str(&repository.read("public/status.json")).unwrap();
        let incidents = document["incidents"].as_array().unwrap().iter();
        let titles = incidents.map(|it| it["title"].as_str().unwrap().to_owned());
        let feed = repository.read("public/incidents.atom");
        let entries = feed.lines().filter(|line| line.starts_with("<title>http"));
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
    let files = repository.tree("status/incidents");
    let [one, other] = files.keys().collect::<Vec<_>>()[..] else {
        panic!("two incidents");
    };
    for (path, text) in [(one, &files[other]), (other, &files[one])] {
        std::fs::write(repository.path(path.to_str().unwrap()), &text.0).unwrap();
    }
    assert_eq!(titles(), before);
}

#[test]
fn the_promised_bytes_of_a_changed_file_are_found_in_the_archive() {
    let (site, repository) = watched();
    site.serve("/b", Reply::ok("B"));
    repository.exits(1, "run");
    repository.exits(1, "run");
    let status = |arguments: &[&str]| {
        let command = [&["status", "--format", "json"], arguments].concat();
        repository.exits(1, &command).json()
    };
    assert_eq!(status(&[])["files"]["archived"], 5);
    let url = &status(&["http://docs.test/b"])["urls"][0];
    assert_eq!(url["is_archived"], true);
    repository.ok("site build public");
    let page = repository.read("public/hosts/docs.test.html");
    let figure = "<dt>In the archive</dt><dd><b>3</b> of 3 files</dd>";
    assert_has(&page, figure);

    // Both contents were captured on one day, so that no date tells them apart.
    let command = "urldb archive get http://docs.test/b --sha256 3e23e8160039";
    repository
        .exits(1, "status http://docs.test/b")
        .says(&format!("to take the promised bytes out: {command}"));
    let mail = repository.mails().pop().unwrap().text;
    let words: Vec<&str> = mail.split_whitespace().collect();
    assert!(
        words.join(" ").contains(&format!("{command} -o b")),
        "{mail}"
    );
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    assert_eq!(repository.ok(&words).out, "b");
    let pages = repository.tree("public/urls").into_keys();
    let mut pages = pages.map(|page| repository.read(page.to_str().unwrap()));
    let page = pages.find(|page| page.contains("<h1>Changed:"));
    let page = page.unwrap();
    assert_has(
        &page,
        &[
            "yes: the archive has the promised bytes",
            "--sha256 3e23e8160039 -o promised",
        ],
    );

    // Without the index, only the ledger is known.
    std::fs::rename(repository.path("archive"), repository.path("elsewhere")).unwrap();
    assert_eq!(status(&[])["files"]["archived"], 4);
}

#[test]
fn a_failure_that_is_not_confirmed_yet() {
    let (site, repository) = watched();
    site.serve("/rest", Reply::new("503 Busy", &["Retry-After: 0"], ""));
    repository.exits(3, "run");
    let status = repository.exits(3, "status");
    shown("status_unconfirmed", &status.out);
    let url = repository.exits(3, "status http://data.test/rest");
    shown("status_url_unconfirmed", &url.out);
}

#[test]
fn json_has_the_totals_hosts_and_urls() {
    let (site, repository) = watched();
    site.remove("/a");
    repository.exits(1, "run");
    repository.exits(1, "run");
    let document = repository.exits(1, "status --format json").json();
    assert_eq!(document["counts"]["urls"], 6);
    assert_eq!(document["counts"]["broken"], 1);
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
    assert_eq!(hosts[1]["counts"]["ok"], 2);
    assert!(document.get("urls").is_none());
    let document = repository.exits(1, "status docs.test --format json").json();
    let urls = document["urls"].as_array().unwrap();
    let standings: Vec<&str> = urls
        .iter()
        .map(|url| url["condition"].as_str().unwrap())
        .collect();
    assert_eq!(standings, ["affected", "kept", "kept"]);
    assert_eq!(urls[1]["is_archived"], true);
}

#[test]
fn a_timeline_has_transitions() {
    let (site, repository) = watched();
    site.remove("/a");
    repository.exits(1, "run");
    repository.exits(1, "run");
    site.serve("/a", Reply::ok("a"));
    repository.ok("run");

    let lines = |arguments: &[&str]| {
        let log = repository.ok(&[&["log", "--format", "jsonl"], arguments].concat());
        let lines = log
            .out
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        lines.collect::<Vec<Value>>()
    };
    let events = |lines: &[Value]| {
        let mut events: Vec<String> = lines
            .iter()
            .map(|line| format!("{} {}", line["event"], line["urls"]))
            .collect();
        // Two runs of one second have no order.
        events.sort();
        events
    };
    for target in ["docs.test", "http://docs.test/a"] {
        assert_eq!(events(&lines(&[target])), ["\"opened\" 1", "\"shrunk\" 1"]);
    }
    assert!(lines(&["http://docs.test/c"]).is_empty());
    assert_eq!(lines(&[]).len(), 2);
    let of_url = lines(&["http://docs.test/a"]);
    let incident = of_url[0]["incident"].as_str().unwrap();
    let words = words(&repository.ok("log docs.test").out);
    assert_has(&words, "docs.test, newest first");
    for row in ["1 broken: answers 404 Not Found", "1 recovered, 0 broken"] {
        assert_has(&words, &format!("http://docs.test/a: {row}; {incident}"));
    }
}

#[test]
fn a_timeline_is_cut_by_number_time_and_incident() {
    let (site, repository) = watched();
    let run = |day: u8, code: i32| {
        let at = format!("2030-11-{day:02}T04:17:03Z");
        repository.urldb_at(&at, "run").code(code);
    };
    run(1, 0);
    site.remove("/a");
    run(2, 1);
    site.remove("/core");
    run(3, 1);
    site.serve("/a", Reply::ok("a"));
    run(4, 1);
    let days = |arguments: &str| {
        let log = repository
            .ok(&format!("log --format json {arguments}"))
            .json();
        assert_eq!(log["protocol"], 2);
        assert!(log["project"]["name"].is_string());
        let entries = log["entries"].as_array().unwrap().iter();
        let words = entries.map(|entry| {
            let day = entry["at"].as_str().unwrap()[..10].to_owned();
            format!("{day} {}", entry["event"].as_str().unwrap())
        });
        words
            .filter(|it| it.starts_with("2030"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let all = days("");
    assert!(all.starts_with("2030-11-04 "), "{all}");
    assert!(all.ends_with("2030-11-02 opened"), "{all}");
    assert_eq!(
        days("--since 2030-11-04").matches("2030-11-04").count(),
        days("--since 2030-11-04").matches("2030").count()
    );
    assert_eq!(days("--until 2030-11-02"), "2030-11-02 opened");
    assert_eq!(days("--until 2030-11-02T04:17:02Z"), "");
    assert_eq!(
        days("--since 2030-11-02 --until 2030-11-02"),
        "2030-11-02 opened"
    );
    assert_eq!(days("-n 1"), all.split(", ").next().unwrap());
    assert_eq!(days("-n 0"), "");
    for wrong in [
        "--since yesterday",
        "--until 2030-11-31",
        "--since 2030-11-01T04",
        "-n -1",
    ] {
        repository.exits(2, &format!("log {wrong}"));
    }

    let log = repository
        .ok("log --format jsonl --until 2030-11-02 --since 2030-11-02")
        .json_lines();
    let id = log[0]["incident"].as_str().unwrap();
    let story = repository
        .ok(&["log", id, "--format", "jsonl"])
        .json_lines();
    assert!(
        story.len() >= 2 && story.iter().all(|entry| entry["incident"] == id),
        "{story:?}"
    );
    let text = words(&repository.ok(&["log", id]).out);
    assert_has(&text, &format!("{id}, newest first"));
    assert_has(&text, "http://docs.test/a: 1 broken: answers 404 Not Found");
    // No incident has this id.
    repository.exits(2, "log 01234567").complains("01234567");
}

#[test]
fn names_that_are_not_there_get_a_suggestion() {
    let (_site, repository) = watched();
    for command in ["status", "log"] {
        repository
            .exits(2, &[command, "dosc.test"])
            .complains("did you mean docs.test?");
        repository
            .exits(2, &[command, "http://data.test/cores"])
            .complains("did you mean http://data.test/core?");
    }
    repository.exits(2, "status --state gnoe").complains("gone");
    repository.exits(2, "status --stale soon").complains("30d");
}

#[test]
fn the_site_shows_all_promises_also_after_a_run_with_a_selection() {
    let (site, repository) = watched();
    let page = "[notify.page]\ntype = \"html\"\npath = \"public\"\n";
    repository.write("urldb.toml", repository.read("urldb.toml") + page);
    site.remove("/a");
    site.remove("/b");
    repository.exits(1, "run");
    repository.exits(1, "run");
    let headline = ">URLs: 2 broken, 4 ok</h1>";
    let index = repository.read("public/index.html");
    assert_has(&index, headline);
    let pages = || {
        let mut files = repository.tree("public/hosts");
        files.extend(repository.tree("public/incidents"));
        for list in ["public/hosts/index.html", "public/incidents/index.html"] {
            files.remove(std::path::Path::new(list));
        }
        files.retain(|path, _| !path.to_string_lossy().contains("www.test"));
        files
    };
    let before = pages();
    assert_eq!(before.len(), 6, "{:?}", before.keys());

    // A run over another host, and one over a category.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    repository.ok("run -d www.test");
    assert_has(&repository.read("public/index.html"), headline);
    assert!(
        pages() == before,
        "the pages of other hosts are as they were"
    );
    repository.ok("run -c core");
    assert_has(&repository.read("public/index.html"), headline);
    let document: Value = serde_json::from_str(&repository.read("public/status.json")).unwrap();
    assert_eq!(document["counts"]["broken"], 2);

    // A build without network writes the same, and the second time nothing.
    let requests = site.requests().len();
    repository
        .ok("site build")
        .says("public: 0 files written, ");
    repository.ok("site build other");
    repository.assert_file("other/index.html", &repository.read("public/index.html"));
    assert_eq!(site.requests().len(), requests);

    // A host that is gone leaves no page, and files of other programs stay.
    repository.write("public/CNAME", "sky.example.org");
    std::fs::remove_file(repository.path("urldb/www.test.yaml")).unwrap();
    repository.ok("site build");
    assert!(!repository.path("public/hosts/www.test.html").exists());
    assert!(repository.path("public/CNAME").exists());
}

#[test]
fn templates_of_the_site_are_replaced_by_name_and_checked() {
    let (_site, repository) = watched();
    let page = "[notify.page]\ntype = \"html\"\npath = \"public\"\ntemplates = \"words\"\n";
    repository.write("urldb.toml", repository.read("urldb.toml") + page);
    repository.write("words/site/overview.html", "{{ headline }} {{ nothing }}");
    repository
        .exits(2, "site build")
        .complains(&["template site/overview.html, line 1", "undefined"]);
    repository.write("words/site/overview.html", "<p>{{ headline }}</p>\n");
    repository.ok("site build");
    repository.assert_file("public/index.html", "<p>URLs: 6 ok</p>");
    repository.write("words/site/host.html", "{% if %}");
    repository
        .exits(2, "run")
        .complains_in_words(&["urldb.toml:", "template site/host.html, line 1"]);
}
