//! Mail that cannot be delivered now, or not before a person acts.

use std::fs;
use std::net::TcpListener;

use crate::mime::mail_of;
use crate::sandbox::Sandbox;
use crate::site::{Site, promises};
use crate::smtp::{Server, SmtpReplies, SmtpSession};

/// A URL that is gone, and a mail server on this port to tell of it.
fn broken(port: u16) -> (Site, Sandbox) {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    sandbox.write("urldb/example.test.yaml", promises(&[("/a", "first")]));
    send_to(&sandbox, port);
    (site, sandbox)
}

/// Points the configuration to a mail server.
fn send_to(sandbox: &Sandbox, port: u16) {
    let before = sandbox.read("urldb.toml");
    let (rest, _) = before.split_once("[notify.mail]").unwrap_or((&before, ""));
    let mail = format!(
        "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
         to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\ntls = \"none\"\nport = {port}\n"
    );
    sandbox.write("urldb.toml", format!("{rest}{mail}"));
}

/// A port where nobody listens.
fn closed_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

fn waiting(sandbox: &Sandbox) -> usize {
    sandbox.files("status/outbox", ".json").len()
}

fn message_id(received: &SmtpSession) -> String {
    mail_of(&received.message).header("Message-ID").to_owned()
}

/// The id that a message would have had which never reached a server: that of its run.
fn run_of(sandbox: &Sandbox) -> String {
    let file = sandbox.files("status/outbox", ".json").remove(0);
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn what_cannot_be_sent_now_is_sent_by_the_next_run() {
    let (_site, sandbox) = broken(closed_port());
    let ran = sandbox.urldb(&["run"]).code(1);
    ran.says(&["gone: http://example.test/a"]).complains(&[
        "warning: mail (mail) was not sent: ",
        "every run tries again",
    ]);
    assert_eq!(waiting(&sandbox), 1);
    let run = run_of(&sandbox);

    let server = Server::start(SmtpReplies::default());
    send_to(&sandbox, server.port);
    sandbox.urldb(&["run"]).code(1);
    let received = server.received();
    let mail = mail_of(&received.message);
    assert!(mail.text.contains("http://example.test/a"));
    assert!(
        mail.text.contains(&run),
        "it is the report of the first run"
    );
    assert!(!sandbox.path("status/outbox").exists());
}

#[test]
fn a_message_that_was_put_off_keeps_its_id() {
    let busy = Server::start(SmtpReplies {
        end: "451 come back later",
        ..SmtpReplies::default()
    });
    let (_site, sandbox) = broken(busy.port);
    sandbox
        .urldb(&["run"])
        .code(1)
        .complains(&["451", "every run tries again"]);
    let first = message_id(&busy.received());
    assert_eq!(waiting(&sandbox), 1);

    let ready = Server::start(SmtpReplies::default());
    send_to(&sandbox, ready.port);
    sandbox.urldb(&["run"]).code(1);
    assert_eq!(message_id(&ready.received()), first);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_refused_message_waits_for_a_person() {
    let server = Server::start(SmtpReplies {
        rcpt: "550 no such user",
        ..SmtpReplies::default()
    });
    let (_site, sandbox) = broken(server.port);
    let refused = [
        "error: mail (mail) was not sent: ",
        "refused the recipient me@example.test",
        "550 no such user",
        "1 message, since ",
        "the next try follows a change of [notify.mail]",
    ];
    sandbox
        .urldb(&["run"])
        .code(2)
        .says(&["gone: http://example.test/a"])
        .complains(&refused);
    server.received();
    assert_eq!(waiting(&sandbox), 1);
    // Every run says so, also a quiet one, and none asks the server again.
    sandbox.urldb(&["run", "-q"]).code(2).complains(&refused);
    assert!(server.is_left_alone());
    // A changed section is a reason to try again.
    let ready = Server::start(SmtpReplies::default());
    send_to(&sandbox, ready.port);
    sandbox.urldb(&["run"]).code(1);
    assert_eq!(ready.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_damaged_message_does_not_keep_the_verdicts_back() {
    let (_site, sandbox) = broken(closed_port());
    sandbox.urldb(&["run"]).code(1);
    let file = sandbox.files("status/outbox", ".json").remove(0);
    fs::write(&file, "{").unwrap();
    sandbox
        .urldb(&["run"])
        .code(2)
        .says(&["gone: http://example.test/a"])
        .complains(&["cannot use the waiting message", "remove it to go on"]);
    assert!(file.exists(), "nothing is thrown away in silence");
}

/// A mail server that never answers, or that brings the process down, takes no findings with it.
#[test]
fn findings_are_printed_before_mail_is_sent() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_site, sandbox) = broken(silent.local_addr().unwrap().port());
    let mut run = sandbox.start(&["run"]);
    run.expect("gone: http://example.test/a");
    run.expect("checked 1 of 1 URL");
    let (connection, _) = silent.accept().unwrap();
    assert_eq!(waiting(&sandbox), 1);
    drop((connection, silent));
    assert_eq!(run.end().code(), Some(1));
    assert_eq!(waiting(&sandbox), 1);
}
