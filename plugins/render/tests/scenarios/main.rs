//! The scenarios of messages, in every format.
//!
//! The snapshots are the texts that were designed for these scenarios, or differ from them on purpose:
//! docs/messages.md lists the differences.
#![allow(clippy::disallowed_methods, clippy::too_many_lines)]

mod bounds;
mod data;
mod events;
mod overview;

use std::fs;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use urldb_protocol::{Delay, Envelope, Incident, Phase, State};
use urldb_render::{
    Deliveries, LONGEST_SUBJECT, Renderer, Scope, StuckMessages, TerminalOptions, annotations,
    comment, compose, issue, mail_body, markdown, reminder_comment, shared_issue, subject,
    terminal,
};

/// One scenario: the report of a run, and what became of its deliveries.
struct Scenario {
    name: &'static str,
    envelope: Envelope,
    delivered: Vec<&'static str>,
    stuck: Vec<StuckMessages>,
}

impl Scenario {
    fn new(name: &'static str, mut envelope: Envelope, delivered: &[&'static str]) -> Self {
        let urls = envelope.incidents.iter().flat_map(|it| &it.urls);
        let counts = &mut envelope.summary.counts;
        counts.new = urls.filter(|url| url.new && !url.flapping).count() as u64;
        *counts = counts.of_all(counts.urls);
        Self {
            name,
            envelope,
            delivered: delivered.to_vec(),
            stuck: Vec::new(),
        }
    }

    fn deliveries(&self) -> Deliveries {
        Deliveries {
            delivered: self.delivered.iter().map(|&text| text.into()).collect(),
            stuck: self.stuck.clone(),
            errors: Vec::new(),
        }
    }

    fn terminal(&self, scope: Scope<'_>, width: usize) -> String {
        let message = compose(&self.envelope, scope, &self.deliveries());
        let options = TerminalOptions {
            width,
            ..TerminalOptions::default()
        };
        terminal(&message, options)
    }

    fn plain_terminal(&self, scope: Scope<'_>, width: usize) -> String {
        let text = self.terminal(scope, width);
        anstream::adapter::strip_str(&text).to_string()
    }

    fn summary(&self) -> String {
        markdown(&compose(&self.envelope, Scope::Run, &self.deliveries()))
    }

    fn annotations(&self) -> String {
        annotations(&compose(&self.envelope, Scope::Run, &self.deliveries()))
    }

    fn mail(&self, scope: Scope<'_>) -> (String, String) {
        // Recoveries go into the threads of their incidents.
        let mut envelope = self.envelope.clone();
        let is_delivered = |incident: &Incident| scope != Scope::News || incident.closed.is_none();
        envelope.incidents.retain(is_delivered);
        let template = include_str!("../../../../templates/email.html");
        let renderer = Renderer::new([("email.html", template.to_owned())]).unwrap();
        let (notifier, subject, html) = ("maintainers", "the subject", "email.html");
        let body = mail_body(&envelope, scope, notifier, subject, &renderer, html).unwrap();
        (body.text, body.html)
    }

    fn incident(&self, id: &str) -> &Incident {
        self.envelope
            .incidents
            .iter()
            .find(|incident| incident.id == id)
            .unwrap()
    }

    fn issue(&self, id: &str) -> String {
        let issue = issue(&self.envelope, self.incident(id));
        format!("Title: {}\n\n{}", issue.title, issue.body)
    }
}

fn all() -> Vec<Scenario> {
    let stuck = StuckMessages {
        notifier: "maintainers".to_owned(),
        kind: "mail".to_owned(),
        cause: "smtp.example.org refused the login".to_owned(),
        reply: "535 5.7.8 Authentication credentials invalid".to_owned(),
        incidents: 1,
        tries: 1,
        since: Some(data::at("2026-11-24 04:17")),
        advice: "the password comes from the environment variable SMTP_PASSWORD".to_owned(),
        is_urgent: true,
        ..StuckMessages::default()
    };
    let mails = "mail to 2 recipients";
    vec![
        Scenario::new("01-all-good", data::all_good(), &[]),
        Scenario::new(
            "02-appended-rows",
            data::appended_rows(),
            &[mails, "issue #38 opened"],
        ),
        Scenario::new(
            "03a-silent-host-first-run",
            data::silent_host_first_run(),
            &[],
        ),
        Scenario::new(
            "03b-silent-host-confirmed",
            data::silent_host_confirmed(),
            &[mails, "issue #41 opened"],
        ),
        Scenario::new(
            "03c-silent-host-fifth-day",
            data::silent_host_later("2026-11-22", 5),
            &[],
        ),
        Scenario::new(
            "03d-silent-host-recovery",
            data::silent_host_recovery(),
            &[mails, "issue #41 closed"],
        ),
        Scenario::new(
            "04-redirect-rule",
            data::redirect_rule(),
            &[mails, "issue #42 opened"],
        ),
        Scenario::new(
            "05-certificate",
            data::certificate(),
            &[mails, "issue #43 opened"],
        ),
        Scenario::new(
            "06-three-hosts",
            data::three_hosts(1_000),
            &[mails, "issue #7 opened for all 3 incidents"],
        ),
        Scenario::new(
            "07-mixed",
            data::mixed(),
            &[
                "2 mails to 2 recipients",
                "issues #44 and #45 opened, #41 closed",
            ],
        ),
        Scenario::new("08-own-network", data::own_network(), &[]),
        Scenario::new(
            "09-partial-run",
            data::partial_run(),
            &[mails, "issue #46 closed"],
        ),
        Scenario {
            stuck: vec![stuck],
            ..Scenario::new(
                "10-mail-refused",
                data::mail_refused(),
                &["issue #44 opened"],
            )
        },
        Scenario::new(
            "11-repacked",
            data::repacked(),
            &[mails, "issue #47 opened"],
        ),
    ]
}

fn scenario(name: &str) -> Scenario {
    all()
        .into_iter()
        .find(|scenario| scenario.name.starts_with(name))
        .unwrap()
}

#[test]
fn terminal_of_every_scenario() {
    for scenario in all() {
        let texts = [80, 120].map(|width| scenario.plain_terminal(Scope::Run, width));
        assert_snapshot!(
            format!("{}-terminal", scenario.name),
            texts.join("\n=== 120\n")
        );
    }
}

#[test]
fn colours_repeat_what_the_words_say() {
    let coloured = scenario("07").terminal(Scope::Run, 80);
    assert_snapshot!("07-mixed-colours", coloured.replace('\u{1b}', "^["));
}

#[test]
fn check_tells_what_one_run_shows() {
    for name in ["02", "03a"] {
        let mut scenario = scenario(name);
        scenario.envelope = data::checked(scenario.envelope);
        let texts = [80, 120].map(|width| scenario.plain_terminal(Scope::Check, width));
        assert_snapshot!(
            format!("{}-check", scenario.name),
            texts.join("\n=== 120\n")
        );
    }
}

#[test]
fn job_summary_and_annotations_of_every_scenario() {
    for scenario in all() {
        let text = format!(
            "{}\n=== annotations\n{}",
            scenario.summary(),
            scenario.annotations()
        );
        assert_snapshot!(format!("{}-github", scenario.name), text);
    }
}

/// Scenarios that open a thread.
const OPENED: [&str; 7] = ["02", "03b", "04", "05", "06", "07", "11"];

/// Scenarios with an issue, and its incident.
const ISSUES: [(&str, &str); 8] = [
    ("11", "0c1f27aa"),
    ("02", "a986cfd9"),
    ("03b", "edf77159"),
    ("03c", "edf77159"),
    ("04", "52b63752"),
    ("05", "b5967b5a"),
    ("07", "987e7add"),
    ("07", "5a6ed57c"),
];

#[test]
fn opening_mails() {
    for name in OPENED {
        let scenario = scenario(name);
        let (text, html) = scenario.mail(Scope::News);
        let subject = subject(&scenario.envelope, Scope::News);
        assert!(subject.chars().count() <= LONGEST_SUBJECT, "{subject}");
        assert_snapshot!(
            format!("{}-mail", scenario.name),
            format!("{subject}\n{text}")
        );
        assert_snapshot!(format!("{}-mail-html", scenario.name), html);
    }
}

#[test]
fn following_mails_tell_only_what_changed_in_their_thread() {
    let recovered = scenario("03d").mail(Scope::Changes(&["edf77159"]));
    assert_snapshot!("03d-silent-host-recovery-mail", recovered.0);
    let mixed = scenario("07").mail(Scope::Changes(&["edf77159"]));
    assert_snapshot!("07-mixed-mail-recovered", mixed.0);
    assert_snapshot!("07-mixed-mail-recovered-html", mixed.1);
    let partial = scenario("09").mail(Scope::Changes(&["157ca0cb"]));
    assert_snapshot!("09-partial-run-mail", partial.0);
    let grown = Scenario::new("grown", data::redirect_rule_grown(), &[]);
    assert_snapshot!(
        "04-redirect-rule-mail-grown",
        grown.mail(Scope::Changes(&["52b63752"])).0
    );
    let later = Scenario::new("later", data::silent_host_later("2026-11-26", 9), &[]);
    let reminder = later.mail(Scope::Reminder(&["edf77159"]));
    assert_snapshot!("11-reminder-mail", reminder.0);
    let mut late = scenario("10");
    late.envelope.delay = Some(Delay {
        first_tried: data::at("2026-11-24 04:18"),
        last_tried: data::at("2026-11-24 04:18"),
        now: data::at("2026-11-25 09:00"),
        reason: data::shown("smtp.example.org refused the login"),
    });
    let late = late.mail(Scope::News);
    assert_snapshot!("10-mail-refused-mail-delivered-late", late.0);
}

#[test]
fn a_title_counts_the_urls_that_are_broken_in_its_way() {
    let mut envelope = data::report("20261125T041703Z-00000000", "2026-11-25 04:17", 9);
    let mut incident = data::images_gone();
    incident.urls[0].state = Some(State::Changed);
    incident.evidence.url = incident.urls[1].url.clone();
    let (gone, other) = (incident.urls.len() - 1, incident.urls[0].url.clone());
    let first = incident.urls[1].url.clone();
    envelope.incidents.push(incident);
    let scenario = Scenario::new("two ways", envelope, &[]);
    let terminal = scenario.plain_terminal(Scope::Run, 200);
    let title = format!("answers 404 Not Found ({gone} of ");
    assert!(terminal.contains(&title), "{terminal}");
    assert!(
        terminal.contains("also       1 URL in another way, such as changed"),
        "{terminal}"
    );
    let message = compose(&scenario.envelope, Scope::News, &Deliveries::default());
    let short = message.blocks[0].short.plain();
    assert_eq!(short, "docs.example.org answers 404 Not Found (2 URLs)");
    let curl = |url: &str| {
        terminal
            .lines()
            .any(|line| line.contains("curl ") && line.ends_with(url))
    };
    assert!(curl(&first) && !curl(&other), "{terminal}");
}

#[test]
fn issues_and_comments() {
    for (name, id) in ISSUES {
        let scenario = scenario(name);
        assert_snapshot!(format!("{}-issue-{id}", scenario.name), scenario.issue(id));
    }
    let hosts = scenario("06");
    let incidents: Vec<&Incident> = hosts.envelope.incidents.iter().collect();
    let shared = shared_issue(&hosts.envelope, &incidents, incidents.len());
    assert_snapshot!(
        "06-three-hosts-issue",
        format!("Title: {}\n\n{}", shared.title, shared.body)
    );

    let comment_on = |envelope: &Envelope, id: &str| {
        let incident = envelope
            .incidents
            .iter()
            .find(|incident| incident.id == id)
            .unwrap();
        comment(envelope, incident).unwrap()
    };
    let mut later = data::silent_host_later("2026-11-26", 9);
    later.next_reminder = Some(data::at("2026-12-03 04:17"));
    let comments = [
        comment_on(&data::silent_host_recovery(), "edf77159"),
        comment_on(&data::redirect_rule_grown(), "52b63752"),
        comment_on(&data::partial_run(), "157ca0cb"),
        reminder_comment(&later, &later.incidents[0]),
    ];
    assert_snapshot!("issue-comments", comments.join("\n=== \n"));
    assert_eq!(comment(&later, &later.incidents[0]), None);
}

#[test]
fn quiet_terminal_shows_only_what_is_new_or_stuck() {
    let quiet = TerminalOptions {
        quiet: true,
        ..TerminalOptions::default()
    };
    let mut refused = scenario("10");
    refused.envelope.run.started = data::at("2026-11-25 04:17");
    refused.envelope.incidents[0].phase = Phase::Unchanged;
    let message = compose(&refused.envelope, Scope::Run, &refused.deliveries());
    let text = anstream::adapter::strip_str(&terminal(&message, quiet)).to_string();
    assert_snapshot!("10-mail-refused-terminal-next-day-quiet", text);
    let good = compose(&data::all_good(), Scope::Run, &Deliveries::default());
    assert_eq!(terminal(&good, quiet), "");
}

/// The folder of the designed texts, if it is there.
fn designed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("../shared/design/messages");
    if !folder.is_dir() {
        eprintln!("skipped: {} is absent", folder.display());
        return None;
    }
    Some(folder)
}

/// Each text that is exactly as designed; docs/messages.md explains the others.
#[test]
fn texts_are_as_designed() {
    let Some(folder) = designed() else {
        return;
    };
    let mut texts: Vec<(String, String)> = Vec::new();
    for scenario in all() {
        let name = scenario.name;
        for width in [80, 120] {
            let text = scenario.plain_terminal(Scope::Run, width);
            texts.push((format!("{name}/terminal-{width}.txt"), text));
        }
        let coloured = scenario.terminal(Scope::Run, 80);
        texts.push((format!("{name}/terminal-80.ansi"), coloured));
        texts.push((format!("{name}/summary.md"), scenario.summary()));
        texts.push((format!("{name}/annotations.txt"), scenario.annotations()));
    }
    for (name, id) in ISSUES {
        let scenario = scenario(name);
        let number = if id == "5a6ed57c" {
            "-2"
        } else if name == "07" {
            "-1"
        } else {
            ""
        };
        texts.push((
            format!("{}/issue{number}.md", scenario.name),
            scenario.issue(id),
        ));
    }
    for name in OPENED {
        let scenario = scenario(name);
        let number = if name == "07" { "-1-new" } else { "" };
        let (text, _) = scenario.mail(Scope::News);
        let text = format!("{}\n{text}", subject(&scenario.envelope, Scope::News));
        texts.push((format!("{}/mail{number}.txt", scenario.name), text));
    }
    let mut compared = Vec::new();
    for (name, text) in texts {
        if let Ok(designed) = fs::read_to_string(folder.join(&name)) {
            let is_same = comparable(&name, &designed).trim_end() == text.trim_end();
            compared.push(format!(
                "{} {name}",
                if is_same { "same     " } else { "different" }
            ));
        }
    }
    assert_snapshot!("compared-with-the-design", compared.join("\n"));
}

/// A designed text in the form of ours: a mail without the headers that the notifier adds, an issue
/// without its label.
fn comparable(name: &str, designed: &str) -> String {
    if !name.contains("/mail") {
        let is_marker = |line: &&str| !line.starts_with("<!-- urldb:incident ");
        let designed: Vec<&str> = designed.lines().filter(is_marker).collect();
        let designed = designed.join("\n");
        let bold = |text: String, code: &str| {
            text.replace(&format!("\x1b[{code};1m"), &format!("\x1b[1m\x1b[{code}m"))
        };
        return ["31", "32", "33"]
            .into_iter()
            .fold(designed.replace("Labels: urldb\n", ""), bold);
    }
    let (headers, body) = designed.split_once("\n\n").unwrap();
    let header = |name: &str| {
        headers
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .unwrap()
    };
    format!("{}\n{body}", header("Subject: "))
}
