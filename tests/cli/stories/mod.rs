//! Histories over several days, played by the program with a scripted clock: what each day says on the
//! terminal, by mail and in issues.

mod certificate;
mod channels;
mod impaired;
mod mistakes;
mod readers;

use channels::{Chat, MailServer};
use insta::{Settings, assert_snapshot};

use crate::sandbox::{Sandbox, assert_has};
use crate::site::{Site, promises};
use crate::support::Reply;
use crate::tracker::Tracker;

const HOST: &str = "data.example.test";

const FILE: &str = "urldb/data.example.test.yaml";

/// A project whose mails go into a folder, and whose issues go to a tracker, while days pass.
struct Story {
    site: Site,
    sandbox: Sandbox,
    tracker: Tracker,
    /// The mail server, if mails do not go into a folder.
    mail_server: Option<MailServer>,
    chat: Option<Chat>,
    text: String,
}

impl Story {
    /// The first words of the subjects of the mails, in their order.
    fn words_of_mails(&self) -> Vec<&str> {
        let mails = self.text.split("\n=== mail\n").skip(1);
        let subjects = mails.filter_map(|mail| mail.lines().nth(1));
        subjects
            .filter_map(|it| Some(it.split_once(':')?.0))
            .collect()
    }

    /// With these pages, as promised.
    fn new(pages: &[(&str, &str)]) -> Self {
        Self::of(Site::with(pages), pages, "")
    }

    /// With these pages of a site, and further keys of `[network]`.
    fn of(site: Site, pages: &[(&str, &str)], network: &str) -> Self {
        let tracker = Tracker::new();
        let map = site.map(HOST);
        let keys = tracker.keys();
        let sandbox = Sandbox::new(&format!(
            "[project]\nname = \"sky-urls\"\n[check]\nhost-interval = \"0s\"\n[network]\nmap = [{map:?}]\n{network}\
             [notify.maintainers]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
             to = [\"ada@example.test\", \"bob@example.test\"]\nfolder = \"mail\"\n\
             [notify.tracker]\n{keys}"
        ));
        sandbox.write(FILE, promises(pages));
        Self {
            site,
            sandbox,
            tracker,
            mail_server: None,
            chat: None,
            text: String::new(),
        }
    }

    /// With a mail server that is down, and a chat.
    fn with_mail_server_and_chat(pages: &[(&str, &str)]) -> Self {
        let mut story = Self::new(pages);
        let (server, chat) = (MailServer::down(), Chat::new());
        let transport = format!(
            "server = \"127.0.0.1\"\ntls = \"none\"\nport = {}\n",
            server.port()
        );
        let config = story.sandbox.read("urldb.toml");
        let config = config.replace("folder = \"mail\"\n", &transport);
        story.sandbox.write("urldb.toml", config + &chat.section());
        (story.mail_server, story.chat) = (Some(server), Some(chat));
        story
    }

    /// Tells a chat too.
    fn with_chat(&mut self) {
        let chat = Chat::new();
        let config = self.sandbox.read("urldb.toml");
        self.sandbox.write("urldb.toml", config + &chat.section());
        self.chat = Some(chat);
    }

    /// Lets a path answer this text, or 404 without one.
    fn serve(&self, path: &str, text: Option<&str>) {
        match text {
            Some(text) => self.site.serve(path, Reply::ok(text)),
            None => self.site.remove(path),
        }
    }

    fn serve_all(&self, paths: &[String], text: Option<&str>) {
        for path in paths {
            self.serve(path, text);
        }
    }

    /// A run at this time, such as `2026-11-02T04:17:03Z`, which ends with the code.
    #[track_caller]
    fn run(&mut self, at: &str, code: i32) {
        self.command(at, &["run"], code);
    }

    /// A command at this time, which ends with the code.
    #[track_caller]
    fn command(&mut self, at: &str, arguments: &[&str], code: i32) {
        let bin = std::path::Path::new(env!("CARGO_BIN_EXE_urldb"));
        let program = bin.parent().unwrap().join("examples/urldb-at");
        let mut command = self.sandbox.command(program);
        command.env("URLDB_AT", at).env("TRACKER_TOKEN", "secret");
        let output = command.args(arguments).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{at}\n{out}\n{err}");
        self.text += &["\n######## ", at, "\n\n", &out].concat();
        if !err.is_empty() {
            self.text += &["\n=== standard error\n", &err].concat();
        }
        let mut mails = match &self.mail_server {
            // Each message has a connection of its own.
            Some(server) => {
                let messages = 0..out.matches("mail to 2 recipients").count();
                messages.flat_map(|_| server.take_mails()).collect()
            }
            None => self.sandbox.take_mails(),
        };
        mails.sort_by_key(|mail| mail.header("To").to_owned());
        let first = mails.first().map(|mail| mail.header("To").to_owned());
        mails.retain(|mail| first.as_deref() == Some(mail.header("To")));
        for mail in &mails {
            let (from, subject) = (mail.header("From"), mail.header("Subject"));
            self.text += &["\n=== mail\n", from, "\n", subject, "\n\n", &mail.text].concat();
        }
        for write in self.tracker.take_writes() {
            self.text += &["\n=== ", &write].concat();
        }
        for message in self.chat.iter_mut().flat_map(Chat::take_messages) {
            self.text += &["\n=== chat\n", &message].concat();
        }
    }

    /// Shows the days.
    fn show(self, name: &str) {
        let mut settings = Settings::clone_current();
        for (pattern, name) in [
            (r"in \d+(\.\d+)? ?s\b", "in [seconds]"),
            (r"127\.0\.0\.1( port |:)\d+", "127.0.0.1$1[port]"),
            (r"port \d+", "port [port]"),
            (r"\(\d+(\.\d+)? ?k?B\)", "([bytes])"),
            (r"archived .*\n", ""),
        ] {
            settings.add_filter(pattern, name);
        }
        settings.bind(|| assert_snapshot!(name, self.text));
    }
}

/// The start of a run on a day of November.
fn day(day: u8) -> String {
    format!("2026-11-{day:02}T04:17:03Z")
}

const STARS: &str = "/tables/stars.csv";

#[test]
fn another_cause_is_no_recovery() {
    let mut story = Story::new(&[(STARS, "name,ra\n"), ("/a", "fine")]);
    story.run(&day(1), 0);
    story.serve(STARS, Some("name,ra\nHD 1,1.0\n"));
    story.run(&day(2), 1);
    story.run(&day(3), 1);
    story.serve(STARS, None);
    story.run(&day(4), 1);
    story.run(&day(5), 1);
    story.serve(STARS, Some("name,ra\n"));
    story.run(&day(7), 0);
    assert!(!story.text.contains(
        "recovered: http://data.example.test/tables/stars.csv is as promised again\n  served     0"
    ));
    story.show("another_cause");
}

/// Thirty files, of which the first four break in each run.
fn files() -> Vec<String> {
    (1..=30)
        .map(|number| format!("/p/{number:02}.dat"))
        .collect()
}

#[test]
fn a_slow_death_is_one_incident() {
    let files = files();
    let pages: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "data")).collect();
    let mut story = Story::new(&pages);
    story.run("2026-11-01T16:17:02Z", 0);
    let hours = (2..6).flat_map(|day| [(day, "04"), (day, "16")]);
    for ((day, hour), gone) in hours.zip(files.chunks(4)) {
        story.serve_all(gone, None);
        story.run(&format!("2026-11-{day:02}T{hour}:17:02Z"), 1);
    }
    story.run(&day(6), 1);
    story.serve_all(&files, Some("data"));
    story.run(&day(7), 0);
    story.show("slow_death");
}

#[test]
fn a_flapping_url_is_told_once() {
    let mut story = Story::new(&[("/p/07.dat", "data"), ("/a", "fine")]);
    for number in 1..=20 {
        let is_gone = number % 2 == 0 && number <= 12;
        story.serve("/p/07.dat", (!is_gone).then_some("data"));
        story.run(&day(number), i32::from(is_gone));
    }
    let mails = story.text.matches("=== mail").count();
    assert_eq!(mails, 7, "{}", story.text);
    story.show("flapping");
}

#[test]
fn half_a_recovery_is_told() {
    let files: Vec<String> = (1..=20)
        .map(|number| format!("/manual/v1/{number:02}.html"))
        .collect();
    let mut pages: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "page")).collect();
    pages.push(("/a", "fine"));
    let mut story = Story::new(&pages);
    story.run(&day(1), 0);
    story.serve_all(&files, None);
    story.run(&day(2), 1);
    story.serve_all(&files[..10], Some("page"));
    story.run(&day(4), 1);
    story.serve_all(&files, Some("page"));
    story.run(&day(6), 0);
    story.show("half_recovery");
}

#[test]
fn a_url_that_breaks_again_continues_its_incident_for_a_while() {
    let mut story = Story::new(&[("/v1/catalog.json", "{}"), ("/a", "fine")]);
    let at = |day: u8, hour: u8| format!("2026-11-{day:02}T{hour:02}:17:02Z");
    for hour in 1..=15 {
        let is_gone = hour == 10 || (12..15).contains(&hour);
        story.serve("/v1/catalog.json", (!is_gone).then_some("{}"));
        story.run(&at(2, hour), i32::from(is_gone));
    }
    for day in 3..=22 {
        story.run(&at(day, 15), 0);
    }
    story.serve("/v1/catalog.json", None);
    story.run("2026-12-05T15:17:02Z", 1);
    story.serve("/v1/catalog.json", Some("{}"));
    story.run("2026-12-05T16:17:02Z", 0);
    story.show("recurrence");
}

#[test]
fn a_late_mail_tells_the_end_first_and_that_it_is_late() {
    let pages = [(STARS, "name,ra\n"), ("/a", "fine")];
    let mut story = Story::with_mail_server_and_chat(&pages);
    story.run("2026-10-31T04:17:03Z", 0);
    story.serve(STARS, Some("name,ra\nHD 1,1.0\n"));
    story.run(&day(1), 1);
    // After 24 hours without mail, a person has to know.
    story.run(&day(2), 2);
    story.serve(STARS, Some("name,ra\n"));
    story.run(&day(3), 2);
    story.mail_server.as_mut().unwrap().start();
    story.run(&day(4), 0);
    story.run(&day(5), 0);
    let told = |line: &str| line.starts_with("notified  mail");
    assert_eq!(story.text.lines().filter(|line| told(line)).count(), 1);
    story.show("mail_server_down");
}

/// Sixty days on which the mail server accepts no connection, while URLs break and recover; then one mail says
/// what is true.
#[test]
fn sixty_days_without_a_mail_server_are_one_mail() {
    let files = files();
    let pages: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "data")).collect();
    let mut story = Story::with_mail_server_and_chat(&pages);
    let start: jiff::Timestamp = "2026-11-01T04:17:03Z".parse().unwrap();
    let mut largest = 0;
    for number in 0..30 {
        // A run every second day. Every second time another URL breaks, and is good two runs later.
        let gone = &files[number % 20 / 2];
        story.serve_all(&files, Some("data"));
        let is_broken = number > 0 && number % 4 < 2;
        story.serve(gone, (!is_broken).then_some("data"));
        let at = start + jiff::SignedDuration::from_hours(48 * i64::try_from(number).unwrap());
        story.run(&at.to_string(), number.min(2).try_into().unwrap());
        let sizes = story.sandbox.files("status/outbox", ".json").into_iter();
        let sizes = sizes.map(|file| std::fs::metadata(file).unwrap().len());
        largest = largest.max(sizes.sum::<u64>());
    }
    assert!((1..=64 << 10).contains(&largest), "{largest}");
    story.text.clear();
    story.serve_all(&files, Some("data"));
    story.serve(&files[29], None);
    story.mail_server.as_mut().unwrap().start();
    story.run("2026-12-31T04:17:03Z", 1);
    story.run("2027-01-01T04:17:03Z", 1);
    assert!(story.sandbox.files("status/outbox", ".json").is_empty());
    story.show("sixty_days");
}

/// A report on each Monday, whatever happened.
#[test]
fn a_week_is_told_with_and_without_trouble() {
    let mut story = Story::new(&[("/a", "fine"), ("/b", "fine too"), (STARS, "name,ra\n")]);
    story.with_chat();
    let config = story.sandbox.read("urldb.toml");
    let config = config.replace(
        "folder = \"mail\"\n",
        "folder = \"mail\"\ndigest = \"monday\"\n",
    );
    let config = config + "digest = \"monday\"\n";
    story.sandbox.write("urldb.toml", config);
    for number in 2..9 {
        story.run(&day(number), 0);
    }
    assert_eq!(story.text.matches("weekly: ").count(), 3);
    story.text.clear();
    story.run(&day(9), 0);
    let quiet = std::mem::take(&mut story.text);
    story.serve("/a", None);
    story.run(&day(10), 1);
    story.serve(STARS, Some("name,ra\nHD 1,1.0\n"));
    story.run(&day(11), 1);
    story.serve(STARS, Some("name,ra\n"));
    story.run(&day(13), 1);
    story.run("2026-11-14T12:00:00Z", 1);
    story.text = quiet;
    story.run(&day(16), 1);
    story.show("weekly");
}

/// A weekly report that could not be sent tells what is true when it is.
#[test]
fn a_late_weekly_report_tells_the_present() {
    let mut story = Story::with_mail_server_and_chat(&[("/a", "fine"), ("/b", "fine too")]);
    let config = story.sandbox.read("urldb.toml");
    let config = config.replace("[notify.tracker]", "digest = \"monday\"\n[notify.tracker]");
    story.sandbox.write("urldb.toml", config);
    story.run(&day(9), 0);
    story.serve("/a", None);
    story.mail_server.as_mut().unwrap().start();
    story.run(&day(10), 1);
    let (_, today) = story.text.split_once("\nweekly: ").unwrap();
    let subject = "URLs: 1 broken (1 new), 1 ok";
    assert_has(today, subject);
    story.run(&day(11), 1);
    let waiting = story.sandbox.files("status/outbox", ".json");
    assert!(waiting.is_empty(), "{waiting:?}");
}

#[test]
fn small_steps_back_are_told_at_the_end() {
    let files: Vec<String> = (1..=30)
        .map(|number| format!("/assets/{number:02}.js"))
        .collect();
    let mut pages: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "old")).collect();
    pages.push(("/a", "fine"));
    let mut story = Story::new(&pages);
    story.run(&day(1), 0);
    story.serve_all(&files, Some("newer"));
    story.run(&day(2), 1);
    story.serve_all(&files[..10], Some("old"));
    story.run(&day(3), 1);
    story.serve_all(&files, Some("old"));
    story.run(&day(4), 0);
    story.show("deploy_rolled_back");
}

#[test]
fn a_removed_record_has_not_recovered() {
    let mut story = Story::new(&[("/old/list.txt", "list"), ("/a", "fine")]);
    story.run(&day(1), 0);
    story.serve("/old/list.txt", None);
    story.run(&day(2), 1);
    story.sandbox.write(FILE, promises(&[("/a", "fine")]));
    story.run(&day(4), 0);
    story.show("record_removed");
}

#[test]
fn an_accepted_promise_has_not_recovered() {
    let mut story = Story::new(&[(STARS, "name,ra\n"), ("/a", "fine")]);
    story.run(&day(1), 0);
    story.serve(STARS, Some("name,ra\nHD 1,1.0\n"));
    story.run(&day(2), 1);
    let accepted = promises(&[(STARS, "name,ra\nHD 1,1.0\n"), ("/a", "fine")]);
    story.sandbox.write(FILE, accepted);
    story.run(&day(4), 0);
    story.show("promise_accepted");
}

#[test]
fn an_acknowledgement_holds_reminders_and_no_news() {
    let files = files();
    let pages: Vec<(&str, &str)> = files.iter().map(|path| (path.as_str(), "data")).collect();
    let mut story = Story::new(&pages);
    let config = story.sandbox.read("urldb.toml");
    let config = config.replace(
        "folder = \"mail\"\n",
        "folder = \"mail\"\nremind = \"3d\"\n",
    );
    story.sandbox.write("urldb.toml", config);
    story.run(&day(1), 0);
    story.serve_all(&files[..2], None);
    story.run(&day(2), 1);
    let incident = &story.sandbox.files("status/incidents", ".yaml")[0];
    let id = incident.file_stem().unwrap().to_str().unwrap().to_owned();
    let url = "http://data.example.test/p/01.dat";
    let because = ["--because", "the disk is being replaced", "--by", "ada"];
    for (target, until) in [
        ("00000000", "2026-11-10"),
        ("http://data.example.test/p/09.dat", "2026-11-10"),
        (url, "2026-11-03"),
    ] {
        let arguments = [&["ack", target, "--until", until][..], &because].concat();
        story.command("2026-11-03T09:00:00Z", &arguments, 2);
    }
    let arguments = [&["ack", &id, "--until", "2026-11-10"][..], &because].concat();
    story.command("2026-11-03T09:00:00Z", &arguments, 0);
    // No reminder.
    story.run(&day(4), 1);
    story.run(&day(5), 1);
    // A third URL is news.
    story.serve(&files[2], None);
    story.run(&day(6), 1);
    story.run(&day(10), 1);
    story.serve_all(&files, Some("data"));
    story.run(&day(12), 0);
    story.show("acknowledged");
}

/// The end of its time is no news of the next break, which has reminders again.
#[test]
fn an_acknowledgement_ends_with_its_incident() {
    let mut story = Story::new(&[(STARS, "name,ra\n"), ("/a", "fine")]);
    story.run(&day(1), 0);
    story.serve(STARS, None);
    story.run(&day(2), 1);
    let url = format!("http://{HOST}{STARS}");
    let ack = [
        "ack",
        &url,
        "--until",
        "2026-11-08",
        "--because",
        "it moves",
    ];
    story.command("2026-11-03T09:00:00Z", &ack, 0);
    let mut mails = vec![];
    for (number, is_gone) in [(4, false), (6, true), (7, true), (9, true), (13, true)] {
        story.serve(STARS, (!is_gone).then_some("name,ra\n"));
        let before = story.text.matches("=== mail").count();
        story.run(&day(number), i32::from(is_gone));
        mails.push(story.text.matches("=== mail").count() - before);
    }
    assert_eq!(mails, [1, 1, 0, 0, 1], "{}", story.text);
}
