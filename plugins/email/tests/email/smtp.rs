//! Replies of mail servers, and the resulting delivery reports.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use crate::common::{envelope, settings, templates};
use crate::mime::mail_of;
use crate::server::{Server, SmtpReplies};
use urldb_email::{Credentials, EmailNotifier, Security, Transport};
use urldb_protocol::{DeliveryOutcome, DeliveryReport, Notifier};

/// A way to `port` of this machine, without TLS.
fn smtp(port: u16, credentials: Option<Credentials>) -> Transport {
    with(port, Security::None, Duration::from_secs(20), credentials)
}

fn with(
    port: u16,
    security: Security,
    timeout: Duration,
    credentials: Option<Credentials>,
) -> Transport {
    Transport::Smtp {
        server: "127.0.0.1".to_owned(),
        port,
        security,
        credentials,
        timeout,
    }
}

async fn send_to(server: &Server, credentials: Option<Credentials>) -> DeliveryReport {
    let email = EmailNotifier::new(settings(smtp(server.port, credentials)), templates()).unwrap();
    email.deliver(&envelope()).await
}

fn password() -> Credentials {
    Credentials {
        user: "me".to_owned(),
        password: "hunter2".to_owned(),
    }
}

#[tokio::test]
async fn a_message_arrives_whole() {
    let server = Server::start(SmtpReplies::default());
    let report = send_to(&server, None).await;
    assert_eq!(
        report.outcome,
        DeliveryOutcome::Delivered,
        "{}",
        report.message
    );
    let received = server.received();
    for command in [
        "MAIL FROM:<urldb@watch.example.org>",
        "RCPT TO:<ada@example.org>",
        "RCPT TO:<bob@example.net>",
    ] {
        assert!(
            received.commands.iter().any(|c| c == command),
            "{:?}",
            received.commands
        );
    }
    let mail = mail_of(&received.message);
    assert!(
        mail.text
            .contains("https://data.example.org/catalogue/release-7/stars.fits")
    );
    assert!(
        report.message.contains(
            mail.header("Message-ID")
                .split('@')
                .next()
                .unwrap()
                .trim_start_matches('<')
        )
    );
}

#[tokio::test]
async fn a_line_with_a_dot_does_not_end_the_message() {
    let server = Server::start(SmtpReplies::default());
    let mut templates = templates();
    templates.text = "before\n.\nQUIT\nafter\n".to_owned();
    let email = EmailNotifier::new(settings(smtp(server.port, None)), templates).unwrap();
    assert_eq!(
        email.deliver(&envelope()).await.outcome,
        DeliveryOutcome::Delivered
    );
    assert_eq!(
        mail_of(&server.received().message).text.trim_end(),
        "before\n.\nQUIT\nafter"
    );
}

#[tokio::test]
async fn not_now_is_tried_again() {
    for replies in [
        SmtpReplies {
            greeting: "421 too many connections",
            ..SmtpReplies::default()
        },
        SmtpReplies {
            rcpt: "451 greylisted, come back",
            ..SmtpReplies::default()
        },
        SmtpReplies {
            end: "452 disk full",
            ..SmtpReplies::default()
        },
    ] {
        let words = replies.not_positive();
        let report = send_to(&Server::start(replies), None).await;
        assert_eq!(report.outcome, DeliveryOutcome::Retry, "{}", report.message);
        assert!(report.message.contains(words), "{}", report.message);
    }
}

#[tokio::test]
async fn never_is_final() {
    for replies in [
        SmtpReplies {
            mail: "550 you may not send",
            ..SmtpReplies::default()
        },
        SmtpReplies {
            rcpt: "550 no such user",
            ..SmtpReplies::default()
        },
        SmtpReplies {
            end: "554 looks like spam",
            ..SmtpReplies::default()
        },
    ] {
        let words = replies.not_positive();
        let report = send_to(&Server::start(replies), None).await;
        assert_eq!(
            report.outcome,
            DeliveryOutcome::Failed,
            "{}",
            report.message
        );
        assert!(report.message.contains(words), "{}", report.message);
    }
}

#[tokio::test]
async fn nobody_listening_is_tried_again() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let email = EmailNotifier::new(settings(smtp(port, None)), templates()).unwrap();
    let report = email.deliver(&envelope()).await;
    assert_eq!(report.outcome, DeliveryOutcome::Retry, "{}", report.message);
    assert!(
        report.message.contains(&port.to_string()),
        "{}",
        report.message
    );
}

#[tokio::test]
async fn nonsense_is_tried_again() {
    for greeting in ["SSH-2.0-OpenSSH_9.9", "220", "999 \u{0}"] {
        let server = Server::start(SmtpReplies {
            greeting,
            ehlo: "250 ",
            ..SmtpReplies::default()
        });
        let report = send_to(&server, None).await;
        assert_eq!(
            report.outcome,
            DeliveryOutcome::Retry,
            "{greeting:?}: {}",
            report.message
        );
    }
}

/// lettre 0.11.23 panics on a blank line in the answer to EHLO (RUSTSEC-2026-0562): lettre never
/// sees one, and the message arrives.
#[tokio::test]
async fn a_blank_line_in_the_answer_to_ehlo_does_no_harm() {
    for ehlo in [
        "250-mail\r\n250-   \r\n250 HELP",
        "250-mail\r\n250-\u{a0}\r\n250 \t",
        "250-mail\r\n250-\r\n250 ",
    ] {
        let server = Server::start(SmtpReplies {
            ehlo,
            ..SmtpReplies::default()
        });
        let report = send_to(&server, None).await;
        assert_eq!(
            report.outcome,
            DeliveryOutcome::Delivered,
            "{ehlo:?}: {}",
            report.message
        );
    }
}

/// A server that sends `bytes` for ever, after its greeting and the first command if `polite`.
/// Returns the port, and how much the server could send before the connection was closed.
fn flood(bytes: &'static [u8], polite: bool) -> (u16, std::thread::JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        if polite {
            stream.write_all(b"220 mail\r\n").unwrap();
            let _ = stream.read(&mut [0; 100]).unwrap();
        }
        let mut sent = 0;
        // The bound of the test itself: a client without a bound would take all of it.
        while sent < 200_000_000 && stream.write_all(bytes).is_ok() {
            sent += bytes.len() as u64;
        }
        sent
    });
    (port, thread)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_mail_server_sends_is_bounded() {
    for (bytes, polite, words) in [
        (
            &[b'a'; 10_000] as &[u8],
            false,
            "a line of more than 1000 bytes",
        ),
        (&[b'a'; 10_000], true, "a line of more than 1000 bytes"),
        (
            &b"250-x\r\n".repeat(1_000).leak()[..],
            true,
            "a reply of more than 100 lines",
        ),
    ] {
        let (port, server) = flood(bytes, polite);
        let email = EmailNotifier::new(settings(smtp(port, None)), templates()).unwrap();
        let report = email.deliver(&envelope()).await;
        assert_eq!(report.outcome, DeliveryOutcome::Retry, "{}", report.message);
        assert!(report.message.contains(words), "{}", report.message);
        let sent = server.join().unwrap();
        // What the system buffers for both sides counts too.
        assert!(sent < 50_000_000, "{sent} bytes were taken");
    }
}

#[tokio::test]
async fn a_server_that_hangs_costs_no_more_than_the_timeout() {
    let server = Server::start(SmtpReplies {
        end: "",
        ..SmtpReplies::default()
    });
    let transport = with(
        server.port,
        Security::None,
        Duration::from_millis(300),
        None,
    );
    let email = EmailNotifier::new(settings(transport), templates()).unwrap();
    let report = email.deliver(&envelope()).await;
    assert_eq!(report.outcome, DeliveryOutcome::Retry, "{}", report.message);
    assert!(
        report.message.contains("within 0.3 s"),
        "{}",
        report.message
    );
}

#[tokio::test]
async fn dropping_a_delivery_closes_the_connection() {
    let server = Server::start(SmtpReplies {
        end: "",
        ..SmtpReplies::default()
    });
    let email = EmailNotifier::new(settings(smtp(server.port, None)), templates()).unwrap();
    let envelope = envelope();
    let dropped = tokio::time::timeout(Duration::from_millis(500), email.deliver(&envelope)).await;
    assert!(dropped.is_err(), "the server never answers");
    // The server's thread ends only when the connection does.
    let waiting = tokio::task::spawn_blocking(move || server.received());
    tokio::time::timeout(Duration::from_secs(20), waiting)
        .await
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn a_server_that_repeats_the_password_does_not_spread_it() {
    // AUTH PLAIN sends "\0me\0hunter2" in base64.
    let replies = SmtpReplies {
        ehlo: "250-mail\r\n250 AUTH PLAIN LOGIN",
        auth: "535 no: AG1lAGh1bnRlcjI= is me and hunter2, aHVudGVyMg==",
        ..SmtpReplies::default()
    };
    let server = Server::start(replies);
    let report = send_to(&server, Some(password())).await;
    assert_eq!(
        report.outcome,
        DeliveryOutcome::Failed,
        "{}",
        report.message
    );
    assert!(
        report.message.contains("[redacted] is me"),
        "{}",
        report.message
    );
    for secret in ["hunter2", "AG1lAGh1bnRlcjI=", "aHVudGVyMg=="] {
        assert!(!report.message.contains(secret), "{}", report.message);
    }
    assert!(
        server
            .received()
            .commands
            .contains(&"AUTH PLAIN AG1lAGh1bnRlcjI=".to_owned())
    );
}

#[tokio::test]
async fn a_server_without_logins_is_a_mistake_in_the_settings() {
    let server = Server::start(SmtpReplies::default());
    let report = send_to(&server, Some(password())).await;
    assert_eq!(
        report.outcome,
        DeliveryOutcome::Failed,
        "{}",
        report.message
    );
    assert!(
        report.message.contains("check server, port, tls and user"),
        "{}",
        report.message
    );
}

#[tokio::test]
async fn a_server_without_tls_is_given_nothing() {
    let server = Server::start(SmtpReplies::default());
    let transport = with(
        server.port,
        Security::Starttls,
        Duration::from_secs(20),
        Some(password()),
    );
    let email = EmailNotifier::new(settings(transport), templates()).unwrap();
    let report = email.deliver(&envelope()).await;
    assert_eq!(
        report.outcome,
        DeliveryOutcome::Failed,
        "{}",
        report.message
    );
    let commands = server.received().commands;
    assert!(
        commands
            .iter()
            .all(|c| c.starts_with("EHLO") || c == "QUIT"),
        "{commands:?}"
    );
}
