//! The scenarios of messages, made by real runs: terminal, mail, job summary, issues and annotations.

use std::time::Duration;

use insta::{Settings, assert_snapshot};

use crate::advice::assert_commands_work;
use crate::certificates::{Authority, Kind};
use crate::sandbox::{Sandbox, assert_has};
use crate::site::{Site, closed_address, network, promise, promises};
use crate::smtp::{self, SmtpReplies};
use crate::support::{Reply, Server};
use crate::tracker::Tracker;
use crate::words::ACK;

/// Takes out what is different each time.
fn stable() -> Settings {
    let mut settings = Settings::clone_current();
    for (pattern, name) in [
        (
            r"\d{4}-\d\d-\d\d \d\d:\d\d(?: UTC|(?P<row>  ))",
            "[moment]$row",
        ),
        (r"--at \d{4}-\d\d-\d\d", "--at [day]"),
        ACK,
        (r"urldb-\d{14}-\d{5}-\S+\.warc\.gz", "[archive file]"),
        (r"in \d+(\.\d+)? ?s\b", "in [seconds]"),
        // The place of the line break depends on the seconds.
        (r"1 with\sa\smistake", "1 with a mistake"),
        (r"os error \d+", "os error [number]"),
        (r"::(stop-commands::)?urldb-[0-9a-f]+(::)?", "::$1[token]$2"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[port]"),
        (r"\(\d+(\.\d+)? k?B\)", "([bytes])"),
        (r"urldb:(incident|closed) [0-9a-f]{8}", "urldb:$1 [id]"),
        (r"urldb:run \S+", "urldb:run [run]"),
        (r"on(\s)\d{4}-\d\d-\d\d", "on$1[day]"),
        (r"(breaks\W+)\d{4}-\d\d-\d\d", "$1[day]"),
    ] {
        settings.add_filter(pattern, name);
    }
    settings
}

/// A repository whose mails go into a folder, and whose issues go to a tracker.
struct Watched {
    sandbox: Sandbox,
    tracker: Tracker,
}

/// `[notify.maintainers]` without where its mails go.
const MAINTAINERS: &str = "[notify.maintainers]\ntype = \"email\"\n\
    from = \"urldb@example.test\"\nto = [\"ada@example.test\", \"bob@example.test\"]\n";

impl Watched {
    /// With these hosts at the site.
    fn new(site: &Site, hosts: &[&str], check: &str) -> Self {
        let maps: Vec<String> = hosts.iter().map(|host| site.map(host)).collect();
        Self::with(&format!("{check}[network]\nmap = {maps:?}\n"))
    }

    fn with(config: &str) -> Self {
        let tracker = Tracker::new();
        let keys = tracker.keys();
        let sandbox = Sandbox::new(&format!(
            "[project]\nname = \"sky-urls\"\n{config}\
             {MAINTAINERS}folder = \"mail\"\n[notify.tracker]\n{keys}"
        ));
        Self { sandbox, tracker }
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.sandbox.write(path, content);
    }

    /// A run without its texts. Times in the ledger are whole seconds: the next run must begin in another
    /// one, so that it knows when all was good.
    #[track_caller]
    fn earlier_run(&self, code: i32) {
        let env = [("TRACKER_TOKEN", "secret")];
        self.sandbox.urldb_with_env("run", &env).code(code);
        self.tracker.take_writes();
        std::thread::sleep(Duration::from_millis(1_100));
    }

    /// Runs urldb, and shows what it says on the terminal, to GitHub, by mail and in issues.
    #[track_caller]
    fn run(&self, arguments: &[&str], code: i32) -> String {
        let Self { sandbox, tracker } = self;
        let before = sandbox.files("mail", ".eml");
        let summary = sandbox.path("summary.md");
        let env = [
            ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
            ("TRACKER_TOKEN", "secret"),
        ];
        let arguments = [&["run", "--github"], arguments].concat();
        let ran = sandbox.urldb_with_env(&arguments, &env).code(code);
        let mut text = ran.out;
        if !ran.err.is_empty() {
            text += &["\n=== standard error\n", &ran.err].concat();
        }
        text += &["\n=== summary\n", &sandbox.read("summary.md")].concat();
        std::fs::remove_file(&summary).unwrap();
        for file in sandbox.files("mail", ".eml") {
            if !before.contains(&file) {
                let mail = crate::mime::mail_of(&std::fs::read(file).unwrap());
                let (from, subject) = (mail.header("From"), mail.header("Subject"));
                text += &["\n=== mail\n", from, "\n", subject, "\n\n", &mail.text].concat();
            }
        }
        for write in tracker.take_writes() {
            text += &["\n=== ", &write].concat();
        }
        assert_commands_work(&text, sandbox, &[("TRACKER_TOKEN", "secret")]);
        tracker.take_writes();
        text
    }
}

#[test]
fn all_good() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let watched = Watched::new(&site, &["data.example.test"], "");
    let file = promises(&[("/a", "first"), ("/b", "second")]);
    watched.write("urldb/data.example.test.yaml", file);
    watched.earlier_run(0);
    let text = watched.run(&[], 0);
    stable().bind(|| assert_snapshot!("all_good", text));
}

#[test]
fn appended_rows() {
    let rows = "name,ra\nHD 1,1.0\nHD 2,2.0\n";
    let site = Site::with(&[("/tables/stars.csv", rows)]);
    let watched = Watched::new(&site, &["data.example.test"], "");
    watched.write(
        "urldb/data.example.test.yaml",
        promises(&[("/tables/stars.csv", rows)]),
    );
    watched.earlier_run(0);
    site.serve(
        "/tables/stars.csv",
        Reply::ok(format!("{rows}HD 3,3.0\nHD 4,4.0\n")),
    );
    let check = watched.sandbox.exits(1, "check").out;
    let text = watched.run(&[], 1);
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
    let watched = Watched::new(
        &site,
        &["fine.example.test", "mirror.example.test"],
        patience,
    );
    watched.write(
        "urldb/fine.example.test.yaml",
        promises(&[("/fine", "fine")]),
    );
    let records: String = pages.iter().map(|page| promise(page, "x")).collect();
    watched.write("urldb/mirror.example.test.yaml", format!("---\n{records}"));
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
    assert_snapshot!("silent_host_first_run", watched.run(&[], 3));
    assert_snapshot!("silent_host_confirmed", watched.run(&[], 1));
    assert_snapshot!("silent_host_later", watched.run(&[], 1));
    for page in &pages {
        site.serve(page, Reply::ok("x"));
    }
    assert_snapshot!("silent_host_recovery", watched.run(&[], 0));
}

/// Waits until a minute has begun that is long enough for several runs: texts tell URLs apart that were good in
/// different minutes.
fn early_in_a_minute() {
    let second = jiff::Timestamp::now().as_second() % 60;
    if second > 40 {
        let rest = u64::try_from(60 - second).unwrap();
        std::thread::sleep(Duration::from_secs(rest));
    }
}

#[test]
fn redirect_rule() {
    early_in_a_minute();
    let pages: Vec<String> = (0..12)
        .map(|number| format!("/manual/v1/{number:02}.html"))
        .collect();
    let site = Site::with(&[("/", "home"), ("/other", "other")]);
    let watched = Watched::new(&site, &["docs.example.test"], "");
    let mut file = "---\n".to_owned();
    for page in &pages {
        site.serve(page, Reply::ok("page"));
        file += &promise(page, "page");
    }
    file += &promise("/other", "other");
    watched.write("urldb/docs.example.test.yaml", file);
    watched.earlier_run(0);
    for page in &pages[..11] {
        site.serve(page, Reply::redirect(302, "http://docs.example.test/"));
    }
    let opened = watched.run(&[], 1);
    site.serve(
        &pages[11],
        Reply::redirect(302, "http://docs.example.test/"),
    );
    let grown = watched.run(&[], 1);
    stable().bind(|| {
        assert_snapshot!("redirect_rule", opened);
        assert_snapshot!("redirect_rule_grown", grown);
    });
}

#[test]
fn six_hosts() {
    let hosts: Vec<String> = (0..6)
        .map(|number| format!("host{number:02}.test"))
        .collect();
    let names: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let site = Site::with(&[("/a", "a"), ("/b", "b")]);
    let watched = Watched::new(&site, &names, "");
    for host in &hosts {
        let file = format!("urldb/{host}.yaml");
        watched.write(&file, promises(&[("/a", "a"), ("/b", "b")]));
    }
    watched.earlier_run(0);
    site.remove("/a");
    site.remove("/b");
    let text = watched.run(&[], 1);
    for host in &hosts {
        let title = format!("{host} answers 404 Not Found (2 of 2 URLs)");
        assert_has(
            &text,
            &format!("\nbroken[gone]: {title}\n  --> urldb/{host}.yaml\n"),
        );
        assert_has(
            &text,
            &format!("::error file=urldb/{host}.yaml,line=1,title={title}::"),
        );
        assert_has(&text, &format!("\nbroken: {title}\n---"));
        let item = format!("\n- broken: `{host}` answers 404 Not Found (2 of 2 URLs), since ");
        assert_has(&text, &item);
    }
    assert_has(
        &text,
        "\n  shared     5 more hosts since this run, all at 127.0.0.1\n",
    );
    let line = "broken: host00.test answers 404 Not Found (2 URLs), and 5 more";
    assert_has(&text, &format!("\n{line} [sky-urls]\n"));
    assert_has(&text, &format!("=== issue #1 opened: {line}\n"));
}

#[test]
fn own_network_and_partial_run() {
    let site = Site::with(&[("/core", "core"), ("/rest", "rest")]);
    let hosts = ["data.test", "docs.test"];
    let watched = Watched::new(&site, &hosts, "");
    let core =
        promise("/core", "core").replace("content-length", "categories:\n- core\ncontent-length");
    watched.write(
        "urldb/data.test.yaml",
        format!("---\n{core}{}", promise("/rest", "rest")),
    );
    watched.write("urldb/docs.test.yaml", promises(&[("/rest", "rest")]));
    watched.earlier_run(0);
    site.remove("/core");
    site.remove("/rest");
    watched.run(&[], 1);
    site.serve("/core", Reply::ok("core"));
    let partial = watched.run(&["-c", "core"], 0);
    stable().bind(|| assert_snapshot!("partial_run", partial));

    let nobody = closed_address();
    let maps = hosts.map(|host| format!("{host}={nobody}"));
    let old = hosts.map(|host| site.map(host));
    let config = watched.sandbox.read("urldb.toml");
    watched.write(
        "urldb.toml",
        config.replace(&format!("{old:?}"), &format!("{maps:?}")),
    );
    std::fs::remove_dir_all(watched.sandbox.path("status")).unwrap();
    let nothing = watched.run(&[], 3);
    stable().bind(|| assert_snapshot!("own_network", nothing));
}

#[test]
fn certificate() {
    let authority = Authority::new();
    let tls = authority.server(&[Kind::Good, Kind::Expired], "data.example.test");
    let pages: Vec<String> = (0..12).map(|number| format!("/{number:02}.fits")).collect();
    let server = Server::tls(tls, |_| Reply::ok("stars").close());
    let watched = Watched::with(&format!(
        "[check]\nretries = 0\nhost-concurrency = 1\n\
         {}ca-file = {:?}\n",
        network(server.address(), &["data.example.test"]),
        authority.file()
    ));
    let records: String = pages.iter().map(|page| promise(page, "stars")).collect();
    let file = |records: &str| format!("---\nhttp: false\nhttps: true\n{records}");
    // Only the first connection meets a certificate that is valid.
    watched.write(
        "urldb/data.example.test.yaml",
        file(&promise(&pages[0], "stars")),
    );
    watched.earlier_run(0);
    watched.write("urldb/data.example.test.yaml", file(&records));
    watched.earlier_run(3);
    let text = watched.run(&[], 1);
    let mut settings = stable();
    settings.add_filter(r"\(\d+ days\)", "([days])");
    settings.bind(|| assert_snapshot!("certificate", text));
}

/// New incidents, a mistake, a recovery and a warning in one run.
#[test]
fn mixed() {
    let images = ["/img/chart.svg", "/img/logo.svg", "/img/map.png"];
    let (paper, tile, mirrored) = ("/papers/42.pdf", "/0/0/0.png", ["/m/1", "/m/2"]);
    let site = Site::new();
    let serve = |page: &str, body: &str| site.serve(page, Reply::ok(body));
    let hosts = ["archive.test", "docs.test", "mirror.test", "tiles.test"];
    let watched = Watched::new(&site, &hosts, "[check]\nretries = 0\n");
    let good = || {
        images
            .iter()
            .chain(&mirrored)
            .for_each(|page| serve(page, "kept"));
        serve("/other", "kept");
        serve(paper, "one kind of paper");
        serve(tile, "tile");
    };
    let all = |pages: &[&str]| -> String {
        let records: String = pages.iter().map(|page| promise(page, "kept")).collect();
        format!("---\n{records}")
    };
    watched.write(
        "urldb/docs.test.yaml",
        all(&[&images[..], &["/other"]].concat()),
    );
    watched.write("urldb/mirror.test.yaml", all(&mirrored));
    watched.write("urldb/tiles.test.yaml", promises(&[(tile, "tile")]));
    let papers = promises(&[(paper, "one kind of paper")]);
    watched.write("urldb/archive.test.yaml", &papers);
    let fail = |pages: &[&str]| {
        let busy = Reply::new("503 Service Unavailable", &["Retry-After: 0"], "");
        for page in pages {
            site.serve(page, busy.clone());
        }
    };
    good();
    watched.earlier_run(0);
    // The mirror is broken in two runs, and the tile in every other run.
    for (pages, code) in [
        (&[tile][..], 3),
        (&[mirrored[0], mirrored[1]], 3),
        (&[tile, mirrored[0], mirrored[1]], 1),
    ] {
        good();
        fail(pages);
        watched.earlier_run(code);
    }
    good();
    fail(&mirrored);
    watched.earlier_run(1);

    good();
    fail(&[tile]);
    for page in &images {
        site.remove(page);
    }
    serve(paper, "one lift of paper");
    watched.write(
        "urldb/archive.test.yaml",
        papers + "---\n_path: /papers/7.pdf\ncontent-sha256: 0f\n",
    );
    let text = watched.run(&[], 1);
    stable().bind(|| assert_snapshot!("mixed", text));
}

/// A login that the mail server refuses: the message is kept, shown by every run, and late in the end.
#[test]
fn mail_refused() {
    let refusing = smtp::Server::start(SmtpReplies {
        ehlo: "250-mail\r\n250 AUTH PLAIN LOGIN",
        auth: "535 5.7.8 Authentication credentials invalid",
        ..SmtpReplies::default()
    });
    let site = Site::with(&[("/img/chart.svg", "chart"), ("/other", "other")]);
    let watched = Watched::new(&site, &["docs.example.test"], "");
    let file = promises(&[("/img/chart.svg", "chart"), ("/other", "other")]);
    watched.write("urldb/docs.example.test.yaml", file);
    let sandbox = &watched.sandbox;
    let config = sandbox.read("urldb.toml");
    let login = |port: u16| {
        let keys = format!(
            "server = \"127.0.0.1\"\nport = {port}\ntls = \"none\"\nuser = \"urldb\"\n\
             password-env = \"SMTP_PASSWORD\"\n"
        );
        config.replace("folder = \"mail\"\n", &keys)
    };
    watched.write("urldb.toml", login(refusing.port));
    let summary = sandbox.path("summary.md");
    let env = [
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("SMTP_PASSWORD", "hunter2"),
        ("TRACKER_TOKEN", "secret"),
    ];
    let run = |arguments: &[&str], code: i32| {
        let ran = sandbox.urldb_with_env(arguments, &env).code(code);
        format!("{}=== standard error\n{}", ran.out, ran.err)
    };
    run(&["run"], 0);
    std::thread::sleep(Duration::from_millis(1_100));
    site.remove("/img/chart.svg");
    let first = run(&["run", "--github"], 2);
    let texts = [
        first,
        sandbox.read("summary.md"),
        run(&["run", "-q"], 2),
        run(&["notify", "list"], 2),
        run(&["notify", "test", "maintainers"], 2),
    ];
    let ready = smtp::Server::start(SmtpReplies {
        ehlo: "250-mail\r\n250 AUTH PLAIN LOGIN",
        ..SmtpReplies::default()
    });
    watched.write("urldb.toml", login(ready.port));
    let retried = run(&["notify", "retry"], 0);
    let accepted = ready.received().accepted;
    let mail = crate::mime::mail_of(&accepted[0].1);
    let texts = texts.join("\n=== \n") + "\n=== \n" + &retried + "\n=== mail\n" + &mail.text;
    let mut settings = stable();
    settings.add_filter(r"\b[0-9a-f]{8}\b", "[id]");
    settings.bind(|| assert_snapshot!("mail_refused", texts));
}

#[test]
fn reminder() {
    let site = Site::with(&[("/a", "first"), ("/b", "second")]);
    let watched = Watched::new(&site, &["data.example.test"], "");
    let file = promises(&[("/a", "first"), ("/b", "second")]);
    watched.write("urldb/data.example.test.yaml", file);
    watched.earlier_run(0);
    site.remove("/a");
    watched.earlier_run(1);
    let config = watched.sandbox.read("urldb.toml");
    watched.write(
        "urldb.toml",
        config.replace("type =", "remind = \"1s\"\ntype ="),
    );
    let text = watched.run(&[], 1);
    let mut settings = stable();
    settings.add_filter(r"\d+ (s|min)\b", "[time]");
    settings.add_filter(r"after \d+ minutes?", "after [time]");
    settings.bind(|| assert_snapshot!("reminder", text));
}
