//! What mail servers answer, and what becomes of it.

use std::time::Duration;

use crate::common::{envelope, settings, templates};
use crate::mime::mail_of;
use crate::server::{Answers, Server};
use urldb_email::{Credentials, Email, Security, Transport};
use urldb_protocol::{Answer, Notifier, Outcome};

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

async fn send_to(server: &Server, credentials: Option<Credentials>) -> Answer {
    let email = Email::new(settings(smtp(server.port, credentials)), templates()).unwrap();
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
    let server = Server::start(Answers::default());
    let answer = send_to(&server, None).await;
    assert_eq!(answer.outcome, Outcome::Delivered, "{}", answer.message);
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
        answer.message.contains(
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
    let server = Server::start(Answers::default());
    let mut templates = templates();
    templates.text = "before\n.\nQUIT\nafter\n".to_owned();
    let email = Email::new(settings(smtp(server.port, None)), templates).unwrap();
    assert_eq!(email.deliver(&envelope()).await.outcome, Outcome::Delivered);
    assert_eq!(
        mail_of(&server.received().message).text.trim_end(),
        "before\n.\nQUIT\nafter"
    );
}

#[tokio::test]
async fn not_now_is_tried_again() {
    for answers in [
        Answers {
            greeting: "421 too many connections",
            ..Answers::default()
        },
        Answers {
            rcpt: "451 greylisted, come back",
            ..Answers::default()
        },
        Answers {
            end: "452 disk full",
            ..Answers::default()
        },
    ] {
        let words = answers.not_positive();
        let answer = send_to(&Server::start(answers), None).await;
        assert_eq!(answer.outcome, Outcome::Retry, "{}", answer.message);
        assert!(answer.message.contains(words), "{}", answer.message);
    }
}

#[tokio::test]
async fn never_is_final() {
    for answers in [
        Answers {
            mail: "550 you may not send",
            ..Answers::default()
        },
        Answers {
            rcpt: "550 no such user",
            ..Answers::default()
        },
        Answers {
            end: "554 looks like spam",
            ..Answers::default()
        },
    ] {
        let words = answers.not_positive();
        let answer = send_to(&Server::start(answers), None).await;
        assert_eq!(answer.outcome, Outcome::Failed, "{}", answer.message);
        assert!(answer.message.contains(words), "{}", answer.message);
    }
}

#[tokio::test]
async fn nobody_listening_is_tried_again() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let email = Email::new(settings(smtp(port, None)), templates()).unwrap();
    let answer = email.deliver(&envelope()).await;
    assert_eq!(answer.outcome, Outcome::Retry, "{}", answer.message);
    assert!(
        answer.message.contains(&port.to_string()),
        "{}",
        answer.message
    );
}

#[tokio::test]
async fn nonsense_is_tried_again() {
    for greeting in ["SSH-2.0-OpenSSH_9.9", "220", "999 \u{0}"] {
        let server = Server::start(Answers {
            greeting,
            ehlo: "250 ",
            ..Answers::default()
        });
        let answer = send_to(&server, None).await;
        assert_eq!(
            answer.outcome,
            Outcome::Retry,
            "{greeting:?}: {}",
            answer.message
        );
    }
}

/// lettre 0.11.23 panics on a blank line in the answer to EHLO (RUSTSEC-2026-0562).
#[tokio::test]
async fn a_server_that_makes_the_library_panic_is_tried_again() {
    let server = Server::start(Answers {
        ehlo: "250-mail\r\n250-   \r\n250 HELP",
        ..Answers::default()
    });
    let answer = send_to(&server, None).await;
    assert_eq!(answer.outcome, Outcome::Retry, "{}", answer.message);
    assert!(answer.message.contains("broke down"), "{}", answer.message);
}

#[tokio::test]
async fn a_server_that_hangs_costs_no_more_than_the_timeout() {
    let server = Server::start(Answers {
        end: "",
        ..Answers::default()
    });
    let transport = with(
        server.port,
        Security::None,
        Duration::from_millis(300),
        None,
    );
    let email = Email::new(settings(transport), templates()).unwrap();
    let answer = email.deliver(&envelope()).await;
    assert_eq!(answer.outcome, Outcome::Retry, "{}", answer.message);
    assert!(
        answer.message.contains("within 0.3 s"),
        "{}",
        answer.message
    );
}

#[tokio::test]
async fn dropping_a_delivery_closes_the_connection() {
    let server = Server::start(Answers {
        end: "",
        ..Answers::default()
    });
    let email = Email::new(settings(smtp(server.port, None)), templates()).unwrap();
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
    let answers = Answers {
        ehlo: "250-mail\r\n250 AUTH PLAIN LOGIN",
        auth: "535 no: AG1lAGh1bnRlcjI= is me and hunter2, aHVudGVyMg==",
        ..Answers::default()
    };
    let server = Server::start(answers);
    let answer = send_to(&server, Some(password())).await;
    assert_eq!(answer.outcome, Outcome::Failed, "{}", answer.message);
    assert!(
        answer.message.contains("[redacted] is me"),
        "{}",
        answer.message
    );
    for secret in ["hunter2", "AG1lAGh1bnRlcjI=", "aHVudGVyMg=="] {
        assert!(!answer.message.contains(secret), "{}", answer.message);
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
    let server = Server::start(Answers::default());
    let answer = send_to(&server, Some(password())).await;
    assert_eq!(answer.outcome, Outcome::Failed, "{}", answer.message);
    assert!(
        answer.message.contains("check server, port, tls and user"),
        "{}",
        answer.message
    );
}

#[tokio::test]
async fn a_server_without_tls_is_given_nothing() {
    let server = Server::start(Answers::default());
    let transport = with(
        server.port,
        Security::Starttls,
        Duration::from_secs(20),
        Some(password()),
    );
    let email = Email::new(settings(transport), templates()).unwrap();
    let answer = email.deliver(&envelope()).await;
    assert_eq!(answer.outcome, Outcome::Failed, "{}", answer.message);
    let commands = server.received().commands;
    assert!(
        commands
            .iter()
            .all(|c| c.starts_with("EHLO") || c == "QUIT"),
        "{commands:?}"
    );
}
