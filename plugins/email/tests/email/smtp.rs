//! Replies of mail servers, and the resulting delivery reports.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use crate::common::{deliver, deliver_to, envelope, settings, templates};
use crate::mime::mail_of;
use crate::server::{CLOSE, Server, SmtpReplies};
use urldb_email::{Credentials, EmailNotifier, Security, SmtpServer, Transport, is_hello};
use urldb_protocol::{Delivery, DeliveryOutcome, Notifier, Scope};

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
    Transport::Smtp(SmtpServer {
        host: "127.0.0.1".to_owned(),
        port,
        security,
        hello: None,
        credentials,
        authorities: None,
        timeout,
    })
}

fn email(transport: Transport) -> EmailNotifier {
    EmailNotifier::new(settings(transport), templates()).unwrap()
}

/// The results for the two recipients are the same: the first one.
async fn deliver_one(email: &EmailNotifier) -> Delivery {
    let mut results = deliver(email, &envelope()).await;
    assert_eq!(results.len(), 2, "{results:?}");
    assert_eq!(results[0].outcome, results[1].outcome, "{results:?}");
    results.remove(0)
}

/// What people are told: the message, and the last reply.
fn told(result: &Delivery) -> String {
    let reply = result.replies.last();
    format!(
        "{}: {}",
        result.message,
        reply.map_or("", |reply| reply.as_str())
    )
}

async fn send_to(server: &Server, credentials: Option<Credentials>) -> Delivery {
    deliver_one(&email(smtp(server.port, credentials))).await
}

fn password() -> Credentials {
    Credentials {
        user: "me".to_owned(),
        password: "hunter2".to_owned(),
        source: "SMTP_PASSWORD".to_owned(),
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
    templates.html = "before\n.\nQUIT\nafter\n".to_owned();
    let email = EmailNotifier::new(settings(smtp(server.port, None)), templates).unwrap();
    assert_eq!(
        deliver_one(&email).await.outcome,
        DeliveryOutcome::Delivered
    );
    assert_eq!(
        mail_of(&server.received().message).html.trim_end(),
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
        assert!(told(&report).contains(words), "{report:?}");
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
        assert_eq!(report.scope, Scope::Delivery, "{report:?}");
        assert!(told(&report).contains(words), "{report:?}");
    }
}

#[tokio::test]
async fn nobody_listening_is_tried_again() {
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let report = deliver_one(&email(smtp(port, None))).await;
    assert_eq!(report.outcome, DeliveryOutcome::Retry, "{}", report.message);
    assert!(
        report.message.contains(&port.to_string()),
        "{}",
        report.message
    );
}

#[tokio::test]
async fn nonsense_is_tried_again() {
    for greeting in ["SSH-2.0-OpenSSH_9.9", "22", "999 \u{0}"] {
        let server = Server::start(SmtpReplies {
            greeting,
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

/// The text of a reply is optional (RFC 5321, section 4.2). A mail that the server has taken is never sent again.
#[tokio::test]
async fn a_reply_needs_no_text() {
    type Set = fn(&mut SmtpReplies);
    let stages: [(&str, Set); 10] = [
        ("greeting", |replies| replies.greeting = "220"),
        ("greeting of two lines", |replies| {
            replies.greeting = "220-\r\n220";
        }),
        ("EHLO", |replies| replies.ehlo = "250"),
        ("EHLO of two lines", |replies| replies.ehlo = "250-\r\n250"),
        ("MAIL", |replies| replies.mail = "250"),
        ("RCPT", |replies| replies.rcpt = "250"),
        ("DATA", |replies| replies.data = "354"),
        ("the final dot", |replies| replies.end = "250"),
        ("the final dot, in two lines", |replies| {
            replies.end = "250-\r\n250";
        }),
        ("QUIT", |replies| replies.quit = "221"),
    ];
    let mut all = SmtpReplies::default();
    for (stage, set) in stages {
        let mut replies = SmtpReplies::default();
        set(&mut replies);
        set(&mut all);
        let server = Server::start(replies);
        let result = send_to(&server, None).await;
        assert_eq!(
            result.outcome,
            DeliveryOutcome::Delivered,
            "{stage}: {result:?}"
        );
        assert_eq!(server.received().accepted.len(), 1, "{stage}");
        assert!(server.is_left_alone(), "{stage}");
    }
    let server = Server::start(all);
    let result = send_to(&server, None).await;
    assert_eq!(result.outcome, DeliveryOutcome::Delivered, "{result:?}");
    // A refusal needs none either, and is one still.
    for (reply, outcome) in [
        ("550", DeliveryOutcome::Failed),
        ("550-\r\n550", DeliveryOutcome::Failed),
        ("450", DeliveryOutcome::Retry),
    ] {
        type Refuse = fn(&mut SmtpReplies, &'static str);
        let stages: [Refuse; 4] = [
            |replies, reply| replies.mail = reply,
            |replies, reply| replies.rcpt = reply,
            |replies, reply| replies.data = reply,
            |replies, reply| replies.end = reply,
        ];
        for set in stages {
            let mut replies = SmtpReplies::default();
            set(&mut replies, reply);
            let server = Server::start(replies);
            let result = send_to(&server, None).await;
            assert_eq!(result.outcome, outcome, "{reply}: {result:?}");
            assert_eq!(result.scope, Scope::Delivery, "{reply}: {result:?}");
            assert!(server.received().accepted.is_empty(), "{reply}");
        }
    }
}

/// Keywords of EHLO have no case (RFC 5321, section 2.4), and `AUTH=` is the form before RFC 2554.
#[tokio::test]
async fn a_login_is_recognized_in_each_spelling() {
    const PROMPTS: [&str; 2] = ["334 VXNlcm5hbWU6", "334 UGFzc3dvcmQ6"];
    let by_login = ["AUTH LOGIN", "bWU=", "aHVudGVyMg=="];
    let plain = "AUTH PLAIN AG1lAGh1bnRlcjI=";
    for (ehlo, auth, lines, commands) in [
        ("250-mail\r\n250 auth plain", "235", &[][..], &[plain][..]),
        ("250-mail\r\n250 AUTH=PLAIN", "235 fine", &[], &[plain]),
        (
            "250-mail\r\n250 AUTH=LOGIN PLAIN",
            "235 fine",
            &[],
            &[plain],
        ),
        (
            "250-AUTH=\r\n250 Auth Login",
            PROMPTS[0],
            &[PROMPTS[1], "235"],
            &by_login,
        ),
        // Prompts of other servers: other words, no base64, nothing.
        (
            "250-mail\r\n250 AUTH LOGIN",
            "334 dXNlcg==",
            &["334 cGFzcw==", "235 fine"],
            &by_login,
        ),
        (
            "250-mail\r\n250 AUTH LOGIN",
            "334 Who are you?",
            &["334 \u{e4}", "235 fine"],
            &by_login,
        ),
        (
            "250-mail\r\n250 AUTH LOGIN",
            "334",
            &["334 ", "235"],
            &by_login,
        ),
        // Without the response in the command.
        (
            "250-mail\r\n250 AUTH PLAIN",
            "334",
            &["235 fine"],
            &[plain, "AG1lAGh1bnRlcjI="],
        ),
    ] {
        let server = Server::start(SmtpReplies {
            ehlo,
            auth,
            lines,
            ..SmtpReplies::default()
        });
        let result = send_to(&server, Some(password())).await;
        assert_eq!(
            result.outcome,
            DeliveryOutcome::Delivered,
            "{ehlo:?}: {result:?}"
        );
        let sent = server.received().commands;
        assert_eq!(sent[1..=commands.len()], *commands, "{ehlo:?}");
    }
    for (auth, lines, scope) in [
        ("535", &[][..], "refused the login"),
        ("334 ", &["535"], "refused the login"),
        (
            "334 ",
            &["334 ", "334 "],
            "asks for more than a user and a password",
        ),
    ] {
        let server = Server::start(SmtpReplies {
            ehlo: "250-mail\r\n250 AUTH LOGIN",
            auth,
            lines,
            ..SmtpReplies::default()
        });
        let result = send_to(&server, Some(password())).await;
        assert_eq!(result.outcome, DeliveryOutcome::Failed, "{result:?}");
        assert!(result.message.contains(scope), "{result:?}");
    }
}

/// The name in EHLO is one of the settings, or qualified, or an address (RFC 5321, section 4.1.4).
#[tokio::test]
async fn the_name_in_ehlo_is_complete() {
    let hello = async |host: &str, listener: TcpListener, hello: Option<&str>| {
        let server = Server::serve(listener, SmtpReplies::default(), Ok);
        let transport = Transport::Smtp(SmtpServer {
            host: host.to_owned(),
            port: server.port,
            security: Security::None,
            hello: hello.map(str::to_owned),
            credentials: None,
            authorities: None,
            timeout: Duration::from_secs(20),
        });
        let result = deliver_one(&email(transport)).await;
        assert_eq!(result.outcome, DeliveryOutcome::Delivered, "{result:?}");
        server.received().commands.remove(0)
    };
    let v4 = || TcpListener::bind("127.0.0.1:0").unwrap();
    let own = hello("127.0.0.1", v4(), None).await;
    assert!(
        own == "EHLO [127.0.0.1]" || own.contains('.') && !own.contains('['),
        "{own}"
    );
    if let Ok(listener) = TcpListener::bind("[::1]:0") {
        let own = hello("::1", listener, None).await;
        assert!(
            own == "EHLO [IPv6:::1]" || own.contains('.') && !own.contains('['),
            "{own}"
        );
    }
    for name in ["watch.example.org", "[192.0.2.1]", "[IPv6:2001:db8::1]"] {
        assert_eq!(
            hello("127.0.0.1", v4(), Some(name)).await,
            format!("EHLO {name}")
        );
    }
    for (text, is_one) in [
        ("localhost", true),
        ("a-1.Example.org", true),
        ("[192.0.2.1]", true),
        ("[IPv6:::1]", true),
        ("", false),
        ("a b", false),
        ("a.b\r\nQUIT", false),
        ("192.0.2.1", false),
        ("[::1]", false),
        ("[IPv6:192.0.2.1]", false),
        ("[192.0.2.1", false),
        ("-a.example.org", false),
        ("a..b", false),
        ("a_b.example.org", false),
        ("b\u{fc}ro.example.org", false),
    ] {
        assert_eq!(is_hello(text), is_one, "{text:?}");
    }
    // A server that wants another name says so in a way that people can mend.
    let server = Server::start(SmtpReplies {
        ehlo: "504 need a fully-qualified hostname",
        ..SmtpReplies::default()
    });
    let advice = send_to(&server, None).await.advice.unwrap();
    assert!(advice.contains("`hello`"), "{advice}");
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
        let report = deliver_one(&email(smtp(port, None))).await;
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
    let report = deliver_one(&email(transport)).await;
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
    let email = email(smtp(server.port, None));
    let envelope = envelope();
    let delivery = deliver(&email, &envelope);
    let dropped = tokio::time::timeout(Duration::from_millis(500), delivery).await;
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
    assert_eq!(report.scope, Scope::Notifier);
    assert!(told(&report).contains("[redacted] is me"), "{report:?}");
    for secret in ["hunter2", "AG1lAGh1bnRlcjI=", "aHVudGVyMg=="] {
        assert!(!format!("{report:?}").contains(secret), "{report:?}");
    }
    let advice = report.advice.unwrap();
    assert!(advice.contains("SMTP_PASSWORD"), "{advice}");
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
        report.advice.as_deref().unwrap().contains("`user`"),
        "{report:?}"
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
    let report = deliver_one(&email(transport)).await;
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

/// The outcome, the scope and the id of each result.
fn outcomes(results: &[Delivery]) -> Vec<(&str, DeliveryOutcome, Scope)> {
    let results = results.iter();
    results
        .map(|result| (result.id.as_str(), result.outcome, result.scope))
        .collect()
}

#[tokio::test]
async fn an_unknown_recipient_does_not_hold_up_the_others() {
    for (reply, outcome) in [
        ("550 no such user", DeliveryOutcome::Failed),
        ("450 greylisted", DeliveryOutcome::Retry),
    ] {
        let server = Server::start(SmtpReplies {
            bob: Some(reply),
            ..SmtpReplies::default()
        });
        let email = email(smtp(server.port, None));
        let results = deliver(&email, &envelope()).await;
        let ada = email.deliveries(&envelope())[0].id.clone();
        let bob = email.deliveries(&envelope())[1].id.clone();
        assert_eq!(
            outcomes(&results),
            [
                (bob.as_str(), outcome, Scope::Delivery),
                (ada.as_str(), DeliveryOutcome::Delivered, Scope::Delivery),
            ]
        );
        assert_eq!(results[0].replies.last().unwrap(), reply);
        let session = server.received();
        assert_eq!(session.accepted.len(), 1);
        assert_eq!(session.accepted[0].0, ["<ada@example.org>"]);
        // The next run tries bob only, with the same Message-ID.
        let again = deliver_to(&email, &envelope(), std::slice::from_ref(&bob)).await;
        assert_eq!(outcomes(&again), [(bob.as_str(), outcome, Scope::Delivery)]);
        assert!(server.received().accepted.is_empty());
        assert!(server.is_left_alone());
    }
}

#[tokio::test]
async fn a_hang_at_the_goodbye_is_a_delivery() {
    for quit in ["", CLOSE, "500 what?"] {
        let server = Server::start(SmtpReplies {
            quit,
            ..SmtpReplies::default()
        });
        let result = send_to(&server, None).await;
        assert_eq!(result.outcome, DeliveryOutcome::Delivered, "{result:?}");
        assert_eq!(server.received().accepted.len(), 1);
    }
}

/// Wherever a server stops to answer, or closes the connection, the delivery is tried again, and the
/// fault concerns all deliveries.
#[tokio::test]
async fn a_server_that_stops_anywhere_is_tried_again() {
    type Set = fn(&mut SmtpReplies, &'static str);
    let stages: [(&str, Set); 6] = [
        ("greeting", |replies, text| replies.greeting = text),
        ("EHLO", |replies, text| replies.ehlo = text),
        ("MAIL", |replies, text| replies.mail = text),
        ("RCPT", |replies, text| replies.rcpt = text),
        ("DATA", |replies, text| replies.data = text),
        ("the final dot", |replies, text| replies.end = text),
    ];
    for (stage, set) in stages {
        for text in ["", CLOSE, "421 closing"] {
            let mut replies = SmtpReplies::default();
            set(&mut replies, text);
            let server = Server::start(replies);
            let limit = Duration::from_millis(if text.is_empty() { 300 } else { 20_000 });
            let email = email(with(server.port, Security::None, limit, None));
            let result = deliver_one(&email).await;
            let expected = (DeliveryOutcome::Retry, Scope::Notifier);
            assert_eq!(
                (result.outcome, result.scope),
                expected,
                "{stage} {text:?}: {result:?}"
            );
            assert!(server.received().accepted.is_empty(), "{stage} {text:?}");
        }
    }
}

#[tokio::test]
async fn a_refused_greeting_concerns_all_mail() {
    let server = Server::start(SmtpReplies {
        greeting: "554 no mail here",
        ..SmtpReplies::default()
    });
    let result = send_to(&server, None).await;
    let expected = (DeliveryOutcome::Failed, Scope::Notifier);
    assert_eq!((result.outcome, result.scope), expected, "{result:?}");
}
