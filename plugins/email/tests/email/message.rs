//! The text of messages, and what a message must never contain.

use std::fs;

use crate::common::{deliver, envelope, settings, templates};
use crate::mime::{Mail, mail_of};
use urldb_email::{
    Credentials, EmailNotifier, Error, Security, Settings, SmtpServer, Templates, Transport,
};
use urldb_files::Root;
use urldb_protocol::{Delivery, DeliveryOutcome, Envelope, Phase, Scope, Shown, State};

/// The message about `envelope`, through the folder transport.
async fn mail(envelope: &Envelope) -> Mail {
    mail_with(envelope, templates()).await
}

async fn mail_with(envelope: &Envelope, templates: Templates) -> Mail {
    mail_of(&raw_with(envelope, templates).await)
}

async fn raw_with(envelope: &Envelope, templates: Templates) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let email = EmailNotifier::new(
        settings(Transport::Folder(Root::new(folder.path(), "the mail"))),
        templates,
    )
    .unwrap();
    assert_delivered(&deliver(&email, envelope).await);
    let mut files = fs::read_dir(folder.path()).unwrap();
    let file = files.next().unwrap().unwrap();
    assert!(files.next().is_none(), "one file per message and no other");
    fs::read(file.path()).unwrap()
}

/// Both recipients of the settings have the mail.
fn assert_delivered(results: &[Delivery]) {
    let outcomes: Vec<_> = results.iter().map(|result| result.outcome).collect();
    assert_eq!(outcomes, [DeliveryOutcome::Delivered; 2], "{results:?}");
}

/// A template that prints `value` and nothing else.
fn template(source: &str) -> Templates {
    Templates {
        html: source.to_owned(),
    }
}

#[tokio::test]
async fn people_read_this() {
    let mail = mail(&envelope()).await;
    insta::assert_snapshot!("subject", mail.header("Subject"));
    insta::assert_snapshot!("text", mail.text);
    insta::assert_snapshot!("html", mail.html);
}

#[tokio::test]
async fn a_run_with_nothing_to_say_says_so() {
    let mut envelope = envelope();
    envelope.findings.clear();
    envelope.incidents.clear();
    envelope.summary.states = [(State::Ok, 16_234)].into();
    envelope.summary.counts.broken = 0;
    envelope.summary.coverage.checked = envelope.summary.coverage.due;
    let mistakes = std::mem::take(&mut envelope.mistakes);
    let fixed = std::mem::take(&mut envelope.fixed);
    let quiet = mail(&envelope).await;
    insta::assert_snapshot!("subject_of_a_quiet_run", quiet.header("Subject"));
    insta::assert_snapshot!("text_of_a_quiet_run", quiet.text);

    envelope.mistakes = mistakes;
    let misread = mail(&envelope).await;
    assert!(
        misread.text.starts_with("URLs: 2 unconfirmed"),
        "{}",
        misread.text
    );
    assert_eq!(
        misread.header("Subject"),
        "mistake: urldb/www.example.edu.yaml, line 14 [sky-urls]"
    );

    envelope.mistakes.clear();
    envelope.fixed = fixed;
    let fixed = mail(&envelope).await;
    assert!(
        fixed
            .header("Subject")
            .ends_with(" is corrected [sky-urls]")
    );
}

#[tokio::test]
async fn the_header_is_what_mail_programs_expect() {
    let mail = mail(&envelope()).await;
    assert_eq!(mail.header("From"), "\"urldb\" <urldb@watch.example.org>");
    let project = "sky-urls";
    assert_eq!(
        mail.header("List-Id"),
        format!("{project} <{project}.urldb.watch.example.org>")
    );
    assert_eq!(mail.header("To"), "Ada <ada@example.org>, bob@example.net");
    assert_eq!(mail.header("Date"), "Fri, 20 Nov 2026 14:05:42 +0000");
    assert_eq!(mail.header("Auto-Submitted"), "auto-generated");
    assert_eq!(mail.header("MIME-Version"), "1.0");
    assert!(
        mail.header("Content-Type")
            .starts_with("multipart/alternative;")
    );
}

/// A line has at most 998 bytes, and better 78 (RFC 5322, section 2.1.1), whoever gets the mail.
#[tokio::test]
async fn no_line_of_a_header_is_long() {
    let plain = |number: usize| format!("recipient-{number}@data.example.org");
    for to in [
        (1..=60).map(plain).collect::<Vec<_>>(),
        (1..=1_000).map(plain).collect(),
        (1..=60)
            .map(|number| format!("Ada <{}>", plain(number)))
            .collect(),
        (1..=60)
            .map(|number| format!("\"Ad\u{e4} S, Dr.\" <{}>", plain(number)))
            .collect(),
        vec![
            format!("{} <{}>", "Ada ".repeat(300).trim(), plain(1)),
            plain(2),
        ],
        vec![format!("{} <{}>", "\u{c4}d\u{e4}".repeat(300), plain(1))],
    ] {
        let folder = tempfile::tempdir().unwrap();
        let folder = Root::new(folder.path(), "the mail");
        let with_names = Settings {
            to: to.clone(),
            from: to[0].clone(),
            ..settings(Transport::Folder(folder.clone()))
        };
        let email = EmailNotifier::new(with_names, templates()).unwrap();
        let results = deliver(&email, &envelope()).await;
        assert_eq!(results.len(), to.len());
        assert!(
            results
                .iter()
                .all(|result| result.outcome == DeliveryOutcome::Delivered),
            "{results:?}"
        );
        let mut files = fs::read_dir(folder.path()).unwrap();
        let message = fs::read(files.next().unwrap().unwrap().path()).unwrap();
        let mail = mail_of(&message);
        let text = String::from_utf8(message).unwrap();
        let (head, _) = text.split_once("\r\n\r\n").unwrap();
        let longest = head.lines().max_by_key(|line| line.len()).unwrap();
        // The library divides no line between a long name and its address.
        let limit = if to.len() > 2 { 78 } else { 998 };
        assert!(longest.len() <= limit, "{longest}");
        assert!(head.lines().all(|line| !line.trim().is_empty()), "{head}");
        let addresses = mail.header("To").matches("@data.example.org").count();
        assert_eq!(addresses, to.len(), "{head}");
    }
}

#[tokio::test]
async fn the_same_report_is_the_same_message() {
    let first = raw_with(&envelope(), templates()).await;
    assert_eq!(first, raw_with(&envelope(), templates()).await);

    let mut another_run = envelope();
    another_run.run.id.push('x');
    let id = |raw: &[u8]| mail_of(raw).header("Message-ID").to_owned();
    assert_ne!(id(&first), id(&raw_with(&another_run, templates()).await));
    assert!(id(&first).contains(".maintainers@") && id(&first).ends_with("@watch.example.org>"));
}

#[tokio::test]
async fn a_redelivery_replaces_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let mails = folder.path().join("to/be/made");
    let email = EmailNotifier::new(
        settings(Transport::Folder(Root::new(&mails, "the mail"))),
        templates(),
    )
    .unwrap();
    for _ in 0..2 {
        assert_delivered(&deliver(&email, &envelope()).await);
    }
    assert_eq!(fs::read_dir(mails).unwrap().count(), 1);
}

#[tokio::test]
async fn a_folder_that_cannot_be_written_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let email = EmailNotifier::new(
        settings(Transport::Folder(Root::new(&file, "the mail"))),
        templates(),
    )
    .unwrap();
    for result in deliver(&email, &envelope()).await {
        assert_eq!(
            (result.outcome, result.scope),
            (DeliveryOutcome::Retry, Scope::Notifier)
        );
    }
}

#[tokio::test]
async fn nothing_injects_a_header_or_ends_the_message() {
    let hostile = "x\r\nBcc: eve@example.com\r\n\r\n.\r\n\u{202e}\0evil";
    let mut envelope = envelope();
    envelope.run.repository = hostile.to_owned();
    envelope.run.project = hostile.to_owned();
    envelope.run.selection = Some(hostile.to_owned());
    for incident in &mut envelope.incidents {
        incident.host = hostile.to_owned();
        incident.evidence.detail = shown(hostile);
        for url in &mut incident.urls {
            url.url = format!("https://example.org/{hostile}");
            url.file = hostile.to_owned();
        }
    }
    envelope.run.id = hostile.to_owned();
    for mistake in &mut envelope.mistakes {
        mistake.file = hostile.to_owned();
        mistake.message = shown(hostile);
        mistake.help = Some(shown(hostile));
    }
    for fixed in &mut envelope.fixed {
        fixed.file = hostile.to_owned();
        fixed.code = hostile.to_owned();
        fixed.text = shown(hostile);
    }
    for finding in &mut envelope.findings {
        finding.url = format!("https://example.org/{hostile}");
        finding.code = hostile.to_owned();
        finding.reason = Some(hostile.to_owned());
        finding.expected = Some(shown(hostile));
    }
    let mail = mail(&envelope).await;
    let names: Vec<_> = mail.headers.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "From",
            "Subject",
            "Date",
            "Message-ID",
            "List-Id",
            "Auto-Submitted",
            "References",
            "To",
            "MIME-Version",
            "Content-Type"
        ]
    );
    for body in [&mail.text, &mail.html] {
        assert!(body.contains("eve@example.com"), "the text itself is kept");
        assert!(!body.contains(['\0', '\r', '\u{202e}']));
        assert!(
            !body
                .lines()
                .any(|line| line.starts_with("Bcc:") || line == ".")
        );
    }
}

#[tokio::test]
async fn a_line_with_a_dot_survives() {
    let mail = mail_with(&envelope(), template("before\n.\n..\nafter\n")).await;
    assert_eq!(mail.html.trim_end(), "before\n.\n..\nafter");
}

#[tokio::test]
async fn data_is_neither_template_nor_markup() {
    let mut envelope = envelope();
    let hostile = "{{7*7}}{%raw%}<script>alert(1)</script>";
    envelope.findings.clear();
    envelope.incidents.truncate(1);
    let incident = &mut envelope.incidents[0];
    incident.phase = Phase::Opened;
    incident.state = State::Unreachable;
    incident.evidence.detail = shown(hostile);
    incident.urls.truncate(1);
    incident.urls[0].url = "javascript:alert(1)//\"><img src=x>".to_owned();
    let mail = mail(&envelope).await;
    assert!(mail.text.contains(hostile));
    assert!(mail.html.contains("{{7*7}}{%raw%}&lt;script&gt;"));
    assert!(!mail.html.contains("<script") && !mail.html.contains("<img"));
    assert!(!mail.html.contains("href=\"javascript"));
    assert!(mail.text.contains("javascript:alert(1)"), "as text");
    assert!(mail.html.contains("javascript:alert(1)"), "as text");
}

#[tokio::test]
async fn a_subject_is_cut_between_characters() {
    let mut envelope = envelope();
    envelope.findings.clear();
    envelope.incidents.clear();
    envelope.mistakes[0].file = "ü𝄞".repeat(500);
    let subject = mail(&envelope).await.header("Subject").to_owned();
    assert!(subject.split("=?utf-8?b?").count() > 1 && !subject.contains("\u{fffd}"));
    // Each encoded word carries whole characters: 70 of them need fewer than 600 bytes.
    assert!(subject.len() < 900, "{subject}");
}

#[tokio::test]
async fn a_thousand_broken_urls_fit_into_one_mail() {
    let mut envelope = envelope();
    let finding = envelope.findings[0].clone();
    let incident = &mut envelope.incidents[0];
    incident.phase = Phase::Opened;
    let affected = incident.urls[0].clone();
    incident.urls.clear();
    incident.host_urls = 1_000;
    for number in 0..1_000 {
        let url = format!("https://data.example.org/{number}/{}", "a/b'c".repeat(60));
        envelope.findings.push(urldb_protocol::Finding {
            url: url.clone(),
            ..finding.clone()
        });
        incident.urls.push(urldb_protocol::AffectedUrl {
            url,
            ..affected.clone()
        });
    }
    let mail = mail(&envelope).await;
    assert!(mail.html.len() <= 90_000, "{}", mail.html.len());
    assert!(mail.text.contains("(1,000 of 1,000 URLs)"), "{}", mail.text);
}

#[tokio::test]
async fn a_date_outside_the_calendar_of_mail_is_moved_into_it() {
    let mut envelope = envelope();
    envelope.run.finished = jiff::Timestamp::MIN;
    assert_eq!(
        mail(&envelope).await.header("Date"),
        "Thu, 01 Jan 1970 00:00:00 +0000"
    );
    envelope.run.finished = jiff::Timestamp::MAX;
    assert!(mail(&envelope).await.header("Date").contains(" 9999 "));
}

#[tokio::test]
async fn a_template_that_fails_says_where() {
    for (source, words) in [
        ("{{ run.finised }}", "undefined"),
        (
            "\n{% for a in range(9999) %}{% for b in range(9999) %}{{ b }}{% endfor %}{% endfor %}",
            "fuel",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(Transport::Folder(Root::new(folder.path(), "the mail")));
        let email = EmailNotifier::new(settings, template(source)).unwrap();
        for result in deliver(&email, &envelope()).await {
            assert_eq!(result.outcome, DeliveryOutcome::Failed);
            assert!(result.message.contains("email.html"), "{}", result.message);
            assert!(result.message.contains(words), "{}", result.message);
        }
        assert!(
            email
                .check(&envelope())
                .unwrap_err()
                .to_string()
                .contains(words)
        );
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let folder = Transport::Folder(Root::new("mail", "the mail"));
    let with = |change: fn(&mut Settings)| {
        let mut settings = settings(folder.clone());
        change(&mut settings);
        EmailNotifier::new(settings, templates())
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(
        [
            with(|s| s.to.clear()),
            with(|s| s.from = "nobody".to_owned()),
            with(|s| s.to.push("a@example.org\r\nBcc: b@example.org".to_owned())),
            with(|s| s.to.push("ä@example.org".to_owned())),
            EmailNotifier::new(settings(folder.clone()), template("\n{% if %}"))
                .unwrap_err()
                .to_string(),
        ]
        .join("\n")
    );
}

#[test]
fn a_password_never_travels_unencrypted_nor_is_it_printed() {
    let transport = |server: &str, security| {
        Transport::Smtp(SmtpServer {
            host: server.to_owned(),
            port: 25,
            security,
            hello: None,
            credentials: Some(Credentials {
                user: "me".to_owned(),
                password: "hunter2".to_owned(),
                source: "SMTP_PASSWORD".to_owned(),
            }),
            authorities: None,
            timeout: std::time::Duration::from_secs(1),
        })
    };
    let email =
        |server, security| EmailNotifier::new(settings(transport(server, security)), templates());
    for server in ["mail.example.org", "192.0.2.1", "localhost.example.org"] {
        assert!(matches!(
            email(server, Security::None),
            Err(Error::PlaintextPassword { .. })
        ));
        assert!(email(server, Security::Starttls).is_ok());
        assert!(email(server, Security::Implicit).is_ok());
    }
    for server in ["localhost", "127.0.0.1", "::1"] {
        let email = email(server, Security::None).unwrap();
        assert!(!format!("{email:?}").contains("hunter2"));
    }
    assert!(!format!("{:?}", transport("localhost", Security::None)).contains("hunter2"));
}

fn shown(text: &str) -> Shown {
    Shown::new(text, Shown::LONGEST)
}
