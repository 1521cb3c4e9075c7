//! `run --commit`: the messages of the commits tell what happened.

use std::fs;
use std::path::Path;

use crate::commit::repository;
use crate::hook::Repository;
use crate::hostile::assert_harmless;
use crate::sandbox::{Ran, assert_has, assert_lacks};
use crate::site::{FILE, Site, network, promises};
use crate::support::{Reply, Server};

impl Repository {
    /// `run --commit` at this time.
    fn run_at(&self, at: &str) -> Ran {
        self.urldb_at(at, "run --commit")
    }

    /// The message of the last commit, without the line that names the run.
    fn message(&self) -> String {
        let message = self.git("log -1 --format=%B");
        let (news, run) = message.rsplit_once("\nRun ").unwrap();
        assert!(run.starts_with("20"), "{message}");
        news.to_owned()
    }

    /// The id of the only incident.
    fn incident(&self) -> String {
        let files = self.sandbox.tree("status/incidents").into_keys();
        let ids = files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned());
        let ids: Vec<String> = ids.collect();
        assert_eq!(ids.len(), 1);
        ids[0].clone()
    }
}

const PAGES: [(&str, &str); 3] = [("/a", "x"), ("/b", "x"), ("/c", "x")];

/// A site with three pages, as promised.
fn three() -> (Site, Repository) {
    let site = Site::with(&PAGES);
    let repository = repository(&site.network());
    repository.write(FILE, promises(&PAGES));
    (site, repository)
}

#[test]
fn a_commit_tells_the_news_with_ids_and_urls() {
    let (site, repository) = three();
    repository.run_at("2026-11-01T04:00:00Z").code(0);
    assert_eq!(repository.message(), "URLs: 3 ok\n");
    site.remove("/a");
    site.remove("/b");
    let ran = repository.run_at("2026-11-02T04:00:00Z").code(1);
    let id = repository.incident();
    let title = "example.test answers 404 Not Found (2 of 3 URLs)";
    let subject = format!("URLs: 2 broken (2 new), 1 ok: {title}");
    ran.complains(&format!("{subject} ("));
    assert_eq!(
        repository.message(),
        format!(
            "{subject}\n\nbroken {id}: {title}\n  http://example.test/a\n  http://example.test/b\n"
        )
    );
    repository.run_at("2026-11-03T04:00:00Z").code(1);
    assert_eq!(repository.message(), "URLs: 2 broken, 1 ok\n");
    site.serve("/a", Reply::ok("x"));
    site.remove("/c");
    repository.run_at("2026-11-04T04:00:00Z").code(1);
    assert_has(
        &repository.message(),
        &[
            "URLs: 2 broken (1 new), 1 ok; recovered: 1: ",
            "  http://example.test/c\n",
        ],
    );
    // Another promise, and a removed record.
    repository.write(FILE, promises(&PAGES[..2]).replace("/b", "/c"));
    repository.run_at("2026-11-05T04:00:00Z");
    assert_has(&repository.message(), "URLs: 1 broken, 1 ok: ");
    site.serve("/c", Reply::ok("x"));
    repository.run_at("2026-11-06T04:00:00Z").code(0);
    let past = "example.test (1 removed, 2 recovered)";
    let urls = ["a", "b", "c"].map(|path| format!("  http://example.test/{path}\n"));
    assert_eq!(
        repository.message(),
        format!(
            "URLs: 2 ok; recovered: 1: {past}\n\nclosed {id}: {past}\n{}",
            urls.concat()
        )
    );
    repository.run_at("2026-11-07T04:00:00Z").code(0);
    assert_eq!(repository.message(), "URLs: 2 ok\n");
}

#[test]
fn news_of_earlier_runs_without_a_commit_is_told_once() {
    let (site, repository) = three();
    repository.run_at("2026-11-01T04:00:00Z").code(0);
    site.remove("/a");
    repository.urldb_at("2026-11-02T04:00:00Z", "run").code(1);
    site.remove("/b");
    repository.urldb_at("2026-11-03T04:00:00Z", "run").code(1);
    repository.run_at("2026-11-04T04:00:00Z").code(1);
    let message = repository.message();
    assert_has(
        &message,
        &[
            "URLs: 2 broken, 1 ok: ",
            "  http://example.test/a\n",
            "  http://example.test/b\n",
        ],
    );
    // A breakage that began and ended between two commits.
    site.remove("/c");
    repository.urldb_at("2026-11-05T04:00:00Z", "run").code(1);
    for (path, text) in PAGES {
        site.serve(path, Reply::ok(text));
    }
    repository.run_at("2026-11-06T04:00:00Z").code(0);
    let message = repository.message();
    assert_has(&message, "URLs: 3 ok; recovered: 3: ");
    repository.run_at("2026-11-07T04:00:00Z").code(0);
    assert_eq!(repository.message(), "URLs: 3 ok\n");

    // A whole incident between two commits.
    site.remove("/a");
    let before = repository.sandbox.tree("status/incidents").len();
    repository.urldb_at("2026-12-20T04:00:00Z", "run").code(1);
    assert_eq!(
        repository.sandbox.tree("status/incidents").len(),
        before + 1
    );
    site.serve("/a", Reply::ok("x"));
    repository.run_at("2026-12-21T04:00:00Z").code(0);
    let past = "http://example.test/a";
    assert_has(
        &repository.message(),
        &[
            &format!("URLs: 3 ok; recovered: 1: {past}\n"),
            "\nrecovered ",
        ],
    );
}

#[test]
fn a_message_says_what_a_run_could_not_tell() {
    let (site, repository) = three();
    repository.run_at("2026-11-01T04:00:00Z").code(0);
    site.serve("/a", Reply::new("500 Internal Server Error", &[], "busy"));
    repository.run_at("2026-11-02T04:00:00Z").code(3);
    assert_eq!(repository.message(), "URLs: 1 unconfirmed, 2 ok\n");
    site.serve("/a", Reply::ok("x"));
    let selected = "run --commit --path-prefix /a";
    repository
        .urldb_at("2026-11-03T04:00:00Z", selected)
        .code(0);
    assert_eq!(repository.message(), "URLs: 3 ok\n");
}

#[test]
fn a_message_is_bounded_and_text_from_outside_is_harmless() {
    let hosts: Vec<String> = (10..40).map(|number| format!("h{number}.test")).collect();
    let server = Server::new(|request| {
        let path = &request.target[..request.target.len().min(20)];
        let hostile = format!("http://\u{202e}evil.test/##[error]`$(id)`{path}");
        Reply::redirect(302, &hostile)
    });
    let repository = repository(&network(server.address(), &hosts));
    fs::remove_file(repository.path(FILE)).unwrap();
    for host in &hosts {
        let long = format!("/{}", "x".repeat(5_000));
        let paths = (0..9).map(|number| format!("/{number}-::error::%0a`$(id)`"));
        let records: Vec<String> = paths.chain([long]).collect();
        let records: Vec<(&str, &str)> = records.iter().map(|path| (path.as_str(), "x")).collect();
        repository.write(&format!("urldb/{host}.yaml"), promises(&records));
        repository.ok("fmt");
    }
    repository.urldb_at("2026-11-01T04:00:00Z", "run").code(3);
    let ran = repository.run_at("2026-11-02T04:00:00Z");
    assert_harmless("run", &ran);
    let message = repository.git("log -1 --format=%B");
    assert!(message.lines().count() < 200, "{message}");
    let subject = message.lines().next().unwrap();
    assert_has(
        subject,
        &[
            "URLs: 300 broken (300 new), 0 ok: ",
            " and 29 more incidents",
        ],
    );
    assert!(subject.chars().count() <= 100, "{subject}");
    assert!(
        message.lines().all(|line| line.chars().count() < 250),
        "{message}"
    );
    assert_has(
        &message,
        &["\nand 10 more incidents\n", "\n  and 5 more URLs\n"],
    );
    assert_lacks(&message, &["\u{202e}", "##[error]"]);
}

/// The hosts and paths of the month in docs/git.md.
const HOSTS: [&str; 4] = [
    "catalog.example.org",
    "data.example.org",
    "docs.example.org",
    "mirror.example.net",
];

/// The page has what the program writes.
#[test]
fn the_page_about_git_shows_the_commits_of_a_ledger() {
    let paths: Vec<String> = (0..25).map(|number| format!("/v{number:02}.csv")).collect();
    let pages: Vec<(&str, &str)> = paths.iter().map(|path| (path.as_str(), "text\n")).collect();
    let site = Site::with(&pages);
    let mirror = Site::with(&pages);
    let own_server = format!(", {:?}]", mirror.map(HOSTS[3]));
    let network = site.network_of(&HOSTS[..3]);
    let repository = repository(&network.replacen("\"]", &format!("\"{own_server}"), 1));
    fs::remove_file(repository.path(FILE)).unwrap();
    for host in HOSTS {
        repository.write(&format!("urldb/{host}.yaml"), promises(&pages));
    }
    repository.git("worktree add -q --orphan -b urldb-status status");
    for day in 1..=18 {
        match day {
            4 => {
                site.remove("/v03.csv");
            }
            6 => site.serve("/v03.csv", Reply::ok("text\n")),
            9 => mirror.serve(
                "/v07.csv",
                Reply::new("503 Service Unavailable", &[], "busy"),
            ),
            10 => mirror.serve("/v07.csv", Reply::ok("text\n")),
            15 => paths
                .iter()
                .take(3)
                .for_each(|path| mirror.serve(path, Reply::ok("other text\n"))),
            17 => {
                repository.ok("accept --all --yes");
            }
            _ => {}
        }
        repository.run_at(&format!("2026-11-{day:02}T04:17:03Z"));
    }
    let shown = [
        "$ git log -4 --format='%ad %s' --date=short --before=2026-11-17T12:00 urldb-status",
        "$ git log -1 --format='%B' --before=2026-11-15T12:00 urldb-status",
    ];
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/git.md");
    let page = fs::read_to_string(page).unwrap();
    let log = repository.git(&["log", "--format=%ad %s", "--date=short", "urldb-status"]);
    let log: Vec<&str> = log.lines().skip(1).take(4).collect();
    let log = log.join("\n");
    let until = "--before=2026-11-15T12:00";
    let one = repository.git(&["log", "-1", "--format=%B", until, "urldb-status"]);
    assert_has(
        &page,
        &[
            &format!("{}\n{log}", shown[0])[..],
            &format!("{}\n{}", shown[1], one.trim_end()),
        ],
    );
}
