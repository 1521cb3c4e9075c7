//! What is sent, and what answers mean.

use std::net::TcpListener;

use urldb_protocol::DeliveryOutcome::{Delivered, Failed, Retry};
use urldb_protocol::{Envelope, Notifier};
use urldb_webhook::{Error, WebhookNotifier};

use crate::report::{at, deliver, envelope, settings};
use crate::support::{Reply, Server};

#[test]
fn the_envelope_is_posted_with_its_id_and_its_signature() {
    let server = Server::new(|_| Reply::ok("ok"));
    let mut settings = at(&server);
    settings.headers = vec![("X-Token".to_owned(), "secret-token".to_owned())];
    settings.signing_key = Some("It's a Secret to Everybody".to_owned());
    for _ in 0..2 {
        let delivery = deliver(settings.clone(), &envelope("h", 1));
        assert_eq!(
            (delivery.outcome, delivery.message.as_str()),
            (Delivered, "127.0.0.1 answers 200")
        );
    }
    let requests = server.requests();
    let request = &requests[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.target, "/hooks/secret-of-the-url");
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("x-token"), Some("secret-token"));
    let mut got: Envelope = serde_json::from_slice(&request.body).unwrap();
    let words = got.message.take().unwrap();
    assert_eq!(words.id, "20261122T041700Z-abc.chat");
    assert_eq!(got, envelope("h", 1));
    // The same delivery is the same request.
    assert_eq!(
        request.header("x-urldb-delivery"),
        Some("20261122T041700Z-abc.chat")
    );
    let signature = request.header("x-hub-signature-256").unwrap();
    assert!(
        signature.starts_with("sha256=") && signature.len() == 7 + 64,
        "{signature}"
    );
    for name in ["x-urldb-delivery", "x-hub-signature-256"] {
        assert_eq!(request.header(name), requests[1].header(name));
    }
}

#[test]
fn a_header_of_the_user_replaces_ours() {
    let server = Server::new(|_| Reply::ok("ok"));
    let mut settings = at(&server);
    settings.headers = vec![(
        "content-type".to_owned(),
        "application/cloudevents+json".to_owned(),
    )];
    deliver(settings, &envelope("h", 1));
    let request = &server.requests()[0];
    assert_eq!(
        request.header("content-type"),
        Some("application/cloudevents+json")
    );
    let all = request
        .headers
        .iter()
        .filter(|(name, _)| name == "content-type");
    assert_eq!(all.count(), 1);
}

#[test]
fn an_answer_is_a_success_a_reason_to_wait_or_a_failure() {
    let wait = "answers 429, and asks for a wait of 30 seconds: slow down";
    let gone = "answers 404: no_service; the webhook is not there: check `url`";
    let moved =
        "answers 302: elsewhere; urldb follows no redirect: write the final address as `url`";
    for (reply, outcome, message) in [
        (
            Reply::new("204 No Content", &[], ""),
            Delivered,
            "answers 204",
        ),
        (
            Reply::new("429 Too Many Requests", &["Retry-After: 30"], "slow down"),
            Retry,
            wait,
        ),
        (
            Reply::new("403 Forbidden", &["Retry-After: 30"], "slow down"),
            Retry,
            "answers 403, and asks for a wait of 30 seconds: slow down",
        ),
        (
            Reply::new("408 Request Timeout", &[], ""),
            Retry,
            "answers 408",
        ),
        (
            Reply::new("503 Service Unavailable", &[], "<b>busy</b>"),
            Retry,
            "answers 503: <b>busy</b>",
        ),
        (
            Reply::new("400 Bad Request", &[], "bad_payload"),
            Failed,
            "answers 400: bad_payload",
        ),
        (
            Reply::new("403 Forbidden", &[], ""),
            Failed,
            "answers 403; check the secrets of the webhook",
        ),
        (Reply::new("404 Not Found", &[], "no_service"), Failed, gone),
        (
            Reply::redirect(302, "https://evil.example.org/"),
            Failed,
            moved,
        ),
    ] {
        let server = Server::new(move |_| reply.clone());
        let delivery = deliver(at(&server), &envelope("h", 1));
        assert_eq!(delivery.outcome, outcome, "{message}");
        assert_eq!(delivery.message, format!("127.0.0.1 {message}"));
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn no_answer_is_tried_again() {
    let server = Server::new(|_| Reply::default().reset());
    assert_eq!(deliver(at(&server), &envelope("h", 1)).outcome, Retry);
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    assert_eq!(
        deliver(settings(format!("http://{closed}/x")), &envelope("h", 1)).outcome,
        Retry
    );
}

#[test]
fn a_long_answer_is_cut_and_shows_no_secret() {
    let server = Server::new(|request| {
        let token = request.header("x-token").unwrap_or_default();
        let rest = "y".repeat(100_000);
        let body = format!(
            "{} {token} my-key \u{1b}[2J\n::error::x {rest}",
            request.target
        );
        Reply::new("400 Bad Request", &[], body)
    });
    let mut settings = at(&server);
    settings.headers = vec![("X-Token".to_owned(), "secret-token".to_owned())];
    for secret in ["secret-token", "my-key"] {
        urldb_text::register_secret(secret);
    }
    settings.signing_key = Some("my-key".to_owned());
    let message = deliver(settings, &envelope("h", 1)).message;
    let redacted = "127.0.0.1 answers 400: [redacted] [redacted] [redacted] \u{fffd}[2J ";
    assert!(message.starts_with(redacted), "{message}");
    assert!(message.len() < 500 && !message.contains('\n'));
}

#[test]
fn plain_http_to_another_machine_needs_permission() {
    let error = WebhookNotifier::new(settings("http://chat.example.org/hook")).unwrap_err();
    assert!(matches!(error, Error::Url(_)));
    assert!(!error.to_string().contains("chat.example.org"), "{error}");
    let mut allowed = settings("http://chat.example.org/hook");
    allowed.allow_http = true;
    assert_eq!(
        WebhookNotifier::new(allowed).unwrap().destination(),
        "chat.example.org"
    );
}

#[test]
fn a_report_is_one_delivery_with_the_same_id_each_time() {
    let notifier = WebhookNotifier::new(settings("https://chat.example.org/secret")).unwrap();
    let planned = notifier.deliveries(&envelope("h", 1));
    assert_eq!(planned.len(), 1);
    assert_eq!(planned, notifier.deliveries(&envelope("h", 1)));
    assert!(!format!("{planned:?}").contains("secret"));
}
