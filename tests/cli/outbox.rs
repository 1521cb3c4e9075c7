//! Mail that cannot be delivered now, or not before a person acts.

use std::fs;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::mime::{Mail, mail_of};
use crate::sandbox::{Sandbox, eventually};
use crate::site::{Site, promises};
use crate::smtp::{CLOSE, Server, SmtpReplies, SmtpSession};

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
    let server = format!("server = \"127.0.0.1\"\ntls = \"none\"\nport = {port}\n");
    configure(sandbox, &format!("to = [\"me@example.test\"]\n{server}"));
}

/// Points the configuration to a mail server that gets mail for two recipients.
fn send_two_to(sandbox: &Sandbox, port: u16, more: &str) {
    let server = format!("server = \"127.0.0.1\"\ntls = \"none\"\nport = {port}\n");
    let to = "to = [\"ada@example.test\", \"bob@example.test\"]\n";
    configure(sandbox, &format!("{to}{server}{more}"));
}

/// Replaces `[notify.mail]`.
fn configure(sandbox: &Sandbox, keys: &str) {
    let before = sandbox.read("urldb.toml");
    let (rest, _) = before.split_once("[notify.mail]").unwrap_or((&before, ""));
    let mail = "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n";
    sandbox.write("urldb.toml", format!("{rest}{mail}{keys}"));
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
    ran.says(&["broken[gone]: http://example.test/a"])
        .complains(&[
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
        mail.header("Message-ID").contains(&run),
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
        .says(&["broken[gone]: http://example.test/a"])
        .complains_in_words(&refused);
    server.received();
    assert_eq!(waiting(&sandbox), 1);
    // Every run says so, also a quiet one, and none asks the server again.
    sandbox
        .urldb(&["run", "-q"])
        .code(2)
        .complains_in_words(&refused);
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
        .says(&["broken[gone]: http://example.test/a"])
        .complains(&["cannot use the waiting message", "remove it to go on"]);
    assert!(file.exists(), "nothing is thrown away in silence");
}

/// A mail server that never answers, or that brings the process down, takes no findings with it.
#[test]
fn findings_are_printed_before_mail_is_sent() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_site, sandbox) = broken(silent.local_addr().unwrap().port());
    let mut run = sandbox.start(&["run"]);
    run.expect("broken[gone]: http://example.test/a");
    run.expect("Checked 1 of 1 URL");
    let (connection, _) = silent.accept().unwrap();
    assert_eq!(waiting(&sandbox), 1);
    drop((connection, silent));
    assert_eq!(run.end().code(), Some(1));
    assert_eq!(waiting(&sandbox), 1);
}

/// Compares a text with its snapshot, without times, ids and ports.
macro_rules! assert_text {
    ($name:literal, $text:expr) => {
        insta::with_settings!({filters => vec![
            (r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", "[time]"),
            (r"\b[0-9a-f]{8}\b", "[id]"),
            (r"(127\.0\.0\.1|localhost):\d+", "$1:[port]"),
        ]}, {
            insta::assert_snapshot!($name, $text);
        });
    };
}

/// Sets one reply of a server.
type SetReply = fn(&mut SmtpReplies, &'static str);

/// The replies before the message is taken.
const STAGES: [(&str, SetReply); 6] = [
    ("greeting", |replies, text| replies.greeting = text),
    ("EHLO", |replies, text| replies.ehlo = text),
    ("MAIL", |replies, text| replies.mail = text),
    ("RCPT", |replies, text| replies.rcpt = text),
    ("DATA", |replies, text| replies.data = text),
    ("the final dot", |replies, text| replies.end = text),
];

/// Whatever fails at whatever stage, the message is kept, and arrives once after the server works.
#[test]
fn no_fault_of_a_server_loses_or_doubles_a_message() {
    let (_site, sandbox) = broken(closed_port());
    let mut run = 0;
    for (stage, set) in STAGES {
        for (text, code) in [("", 1), (CLOSE, 1), ("451 later", 1), ("550 never", 2)] {
            run += 1;
            let mut replies = SmtpReplies::default();
            set(&mut replies, text);
            let faulty = Server::start(replies);
            let timeout = if text.is_empty() {
                "timeout = \"300ms\"\n"
            } else {
                ""
            };
            send_two_to(&sandbox, faulty.port, timeout);
            // The first run has the news; the others only try again.
            let ran = sandbox.urldb(&["run", "-q"]).code(code);
            let what = format!("{stage} {text:?}");
            assert_eq!(waiting(&sandbox), 1, "{what}");
            assert!(
                ran.err.contains("mail (mail) was not sent"),
                "{what}: {ran:#?}"
            );
            let words = text.split_once(' ').map_or("", |(_, words)| words);
            assert!(ran.err.contains(words), "{what}: {ran:#?}");
            assert!(faulty.received().accepted.is_empty(), "{what}");
            let listed = sandbox.urldb(&["notify", "list"]);
            assert!(listed.out.contains("1 waiting"), "{what}: {listed:#?}");
            assert!(
                listed.out.contains(&format!("tried {run} time")),
                "{what}: {listed:#?}"
            );
        }
    }
    let ready = Server::start(SmtpReplies::default());
    send_two_to(&sandbox, ready.port, "");
    sandbox.urldb(&["run"]).code(1);
    let accepted = ready.received().accepted;
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].0, ["<ada@example.test>", "<bob@example.test>"]);
    assert_eq!(waiting(&sandbox), 0);
    sandbox.urldb(&["run"]).code(1);
    assert!(ready.is_left_alone());
}

#[test]
fn a_refused_login_and_a_missing_starttls_are_kept_and_tried_by_every_run() {
    let no_login = Server::start(SmtpReplies {
        ehlo: "250-mail\r\n250 AUTH PLAIN LOGIN",
        auth: "535 5.7.8 Authentication credentials invalid",
        ..SmtpReplies::default()
    });
    let (_site, sandbox) = broken(no_login.port);
    let login = "user = \"urldb\"\npassword-env = \"SMTP_PASSWORD\"\n";
    send_two_to(&sandbox, no_login.port, login);
    let secret = [("SMTP_PASSWORD", "hunter2")];
    let run = |arguments: &[&str]| sandbox.urldb_with_env(arguments, &secret).code(2);
    let first = run(&["run"]);
    assert_text!("refused_login", first.err);
    assert_eq!(no_login.received().commands.len(), 2);
    // Every run tries again, and only once for all that waits.
    run(&["run", "-q"]);
    assert_eq!(no_login.received().commands.len(), 2);
    let listed = run(&["notify", "list"]);
    assert_text!("refused_login_listed", listed.out);
    assert_text!("refused_login_tested", run(&["notify", "test", "mail"]).out);
    no_login.received();
    for ran in [first, listed] {
        assert!(!format!("{ran:?}").contains("hunter2"));
    }

    let no_starttls = Server::start(SmtpReplies::default());
    let keys = format!(
        "to = [\"me@example.test\"]\nserver = \"127.0.0.1\"\nport = {}\n{login}",
        no_starttls.port
    );
    configure(&sandbox, &keys);
    let ran = run(&["run", "-q"]);
    assert_text!("no_starttls", ran.err);
    let commands = no_starttls.received().commands;
    assert!(
        commands.iter().all(|command| !command.starts_with("AUTH")),
        "{commands:?}"
    );
    assert_eq!(waiting(&sandbox), 1);

    // After a change of the section the waiting message goes out, once.
    let ready = Server::start(SmtpReplies::default());
    send_two_to(&sandbox, ready.port, "");
    let retried = sandbox.urldb(&["notify", "retry", "mail"]).code(0);
    assert_text!("retried", retried.out);
    assert_eq!(ready.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
    assert_text!(
        "nothing_waits",
        sandbox.urldb(&["notify", "list"]).code(0).out
    );
}

#[test]
fn one_unknown_recipient_of_two_is_tried_after_a_change() {
    let server = Server::start(SmtpReplies {
        bob: Some("550 no such user"),
        ..SmtpReplies::default()
    });
    let (_site, sandbox) = broken(server.port);
    send_two_to(&sandbox, server.port, "");
    let ran = sandbox.urldb(&["run"]).code(2);
    assert_text!("unknown_recipient", ran.err);
    let accepted = server.received().accepted;
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].0, ["<ada@example.test>"]);
    assert_text!(
        "unknown_recipient_listed",
        sandbox.urldb(&["notify", "list"]).code(2).out
    );
    // No run tries bob again, and no run writes to ada again.
    sandbox.urldb(&["run", "-q"]).code(2);
    assert!(server.is_left_alone());
    sandbox.urldb(&["notify", "retry"]).code(2);
    let again = server.received();
    assert!(
        again
            .commands
            .iter()
            .all(|command| !command.contains("ada@")),
        "{again:?}"
    );

    // A corrected address gets the message, with the same id, and the others do not.
    let ready = Server::start(SmtpReplies::default());
    let to = "to = [\"ada@example.test\", \"bobby@example.test\"]\n";
    let keys = format!(
        "{to}server = \"127.0.0.1\"\ntls = \"none\"\nport = {}\n",
        ready.port
    );
    configure(&sandbox, &keys);
    sandbox.urldb(&["run"]).code(1);
    let corrected = ready.received().accepted;
    assert_eq!(corrected[0].0, ["<bobby@example.test>"]);
    let id = |mail: &[u8]| mail_of(mail).header("Message-ID").to_owned();
    assert_eq!(id(&corrected[0].1), id(&accepted[0].1));
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_run_that_is_killed_before_the_last_answer_sends_again() {
    let silent = Server::start(SmtpReplies {
        end: "",
        ..SmtpReplies::default()
    });
    let (_site, sandbox) = broken(silent.port);
    let mut run = sandbox.start(&["run"]);
    run.expect("Checked 1 of 1 URL");
    // The server has the whole message when it answers nothing.
    eventually("the message is in the outbox", || waiting(&sandbox) == 1);
    std::thread::sleep(Duration::from_millis(500));
    run.signal("-KILL");
    assert!(!run.end().success());
    let first = message_id(&silent.received());
    assert_eq!(waiting(&sandbox), 1);

    let ready = Server::start(SmtpReplies::default());
    send_to(&sandbox, ready.port);
    sandbox.urldb(&["run"]).code(1);
    let accepted = ready.received().accepted;
    assert_eq!(accepted.len(), 1);
    assert_eq!(mail_of(&accepted[0].1).header("Message-ID"), first);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_hang_at_the_goodbye_is_a_delivery() {
    let server = Server::start(SmtpReplies {
        quit: "",
        ..SmtpReplies::default()
    });
    let (_site, sandbox) = broken(server.port);
    sandbox.urldb(&["run"]).code(1);
    assert_eq!(server.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_hanging_server_costs_one_time_limit() {
    let (site, sandbox) = broken(closed_port());
    // Three messages: broken, recovered, broken.
    sandbox.urldb(&["run"]).code(1);
    site.serve("/a", crate::support::Reply::ok("first"));
    sandbox.urldb(&["run"]).code(0);
    site.remove("/a");
    sandbox.urldb(&["run"]).code(1);
    assert_eq!(waiting(&sandbox), 3);
    let silent = Server::start(SmtpReplies {
        greeting: "",
        ..SmtpReplies::default()
    });
    send_two_to(&sandbox, silent.port, "timeout = \"4s\"\n");
    let began = Instant::now();
    let ran = sandbox.urldb(&["notify", "retry"]).code(2);
    assert!(
        began.elapsed() < Duration::from_secs(11),
        "{:?}",
        began.elapsed()
    );
    assert!(ran.err.contains("3 messages"), "{ran:#?}");
    silent.received();
    assert!(silent.is_left_alone());
    assert_eq!(waiting(&sandbox), 3);
}

/// Lets the message that waits be of a run so long ago.
fn age(sandbox: &Sandbox, hours: i64) {
    let file = sandbox.files("status/outbox", ".json").remove(0);
    let mut kept: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let started = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours);
    kept["envelope"]["run"]["started"] = started.to_string().into();
    fs::write(&file, serde_json::to_vec(&kept).unwrap()).unwrap();
}

/// A fault that mends itself is an error after a day: until then, nobody has to act.
#[test]
fn a_message_that_waits_for_a_day_is_an_error() {
    let busy = Server::start(SmtpReplies {
        end: "451 come back later",
        ..SmtpReplies::default()
    });
    let (site, sandbox) = broken(busy.port);
    let port = busy.port;
    let server = format!("server = \"127.0.0.1\"\ntls = \"none\"\nport = {port}\n");
    let on = "on = [\"broken\"]\n";
    configure(
        &sandbox,
        &format!("to = [\"me@example.test\"]\n{server}{on}"),
    );
    sandbox.urldb(&["run"]).code(1);
    site.serve("/a", crate::support::Reply::ok("first"));
    for (hours, code, class, in_headline) in [(23, 0, "warning", false), (25, 2, "error", true)] {
        age(&sandbox, hours);
        let summary = sandbox.path("summary.md");
        let env = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
        let ran = sandbox
            .urldb_with_env(&["run", "--github"], &env)
            .code(code);
        let fault = format!("{class}: mail (mail) was not sent: ");
        assert!(ran.err.contains(&fault), "{ran:#?}");
        let annotation = format!("::{class} title=1 message could not be sent::");
        assert!(ran.out.contains(&annotation), "{ran:#?}");
        let summary = sandbox.read("summary.md");
        assert!(summary.contains(&format!("### {fault}")), "{summary}");
        let headline = "## Action needed: 1 message could not be sent\n";
        assert_eq!(summary.contains(headline), in_headline, "{summary}");
        fs::remove_file(sandbox.path("summary.md")).unwrap();
        sandbox.urldb(&["notify", "list"]).code(code);
    }
    assert_eq!(waiting(&sandbox), 1);
}

/// A message of an earlier version is a plain report.
#[test]
fn a_message_of_an_earlier_version_is_delivered() {
    let (_site, sandbox) = broken(closed_port());
    sandbox.urldb(&["run"]).code(1);
    let file = sandbox.files("status/outbox", ".json").remove(0);
    let kept: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    fs::write(&file, serde_json::to_vec(&kept["envelope"]).unwrap()).unwrap();
    let ready = Server::start(SmtpReplies::default());
    send_to(&sandbox, ready.port);
    sandbox.urldb(&["run"]).code(1);
    assert_eq!(ready.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_message_leaves_when_a_person_drops_it() {
    let (_site, sandbox) = broken(closed_port());
    sandbox.urldb(&["run"]).code(1);
    let run = run_of(&sandbox);
    let id = run.rsplit('-').next().unwrap();
    sandbox
        .urldb(&["notify", "drop", "00000000"])
        .code(2)
        .complains(&["no message 00000000 waits"]);
    assert_eq!(waiting(&sandbox), 1);
    sandbox
        .urldb(&["notify", "drop", id])
        .code(0)
        .says(&["mail: message "]);
    assert_eq!(waiting(&sandbox), 0);
    sandbox
        .urldb(&["notify", "retry"])
        .code(0)
        .says(&["No message waits."]);
}

/// A section that is gone leaves its messages, and somebody has to decide about them.
#[test]
fn messages_without_a_notifier_are_named() {
    let (_site, sandbox) = broken(closed_port());
    sandbox.urldb(&["run"]).code(1);
    let config = sandbox.read("urldb.toml");
    let (rest, _) = config.split_once("[notify.mail]").unwrap();
    sandbox.write("urldb.toml", rest);
    sandbox
        .urldb(&["run"])
        .code(2)
        .complains(&["urldb.toml has no [notify.mail]", "urldb notify drop mail/"]);
    assert_eq!(waiting(&sandbox), 1);
    sandbox
        .urldb(&["notify", "test", "mial"])
        .code(2)
        .complains(&["urldb.toml has no [notify.mial]"]);
}

#[test]
fn a_test_names_the_project_and_tries_the_own_template() {
    let sandbox = Sandbox::new(
        "[project]\nname = \"sky-urls\"\n[notify.mail]\ntype = \"email\"\nfrom = \"a@example.test\"\n\
         to = [\"b@example.test\"]\nfolder = \"mail\"\ntemplates = \"own\"\n",
    );
    let template = "<p>{{ headline.call }}: {{ headline.text }}. {{ footer[0] }}</p>";
    sandbox.write("own/email.html", template);
    sandbox.urldb(&["notify", "test"]).code(0);
    let mail = sandbox.take_mails().remove(0);
    assert_eq!(mail.header("Subject"), "Test of urldb [sky-urls]");
    let words = "<p>Test: \u{201c}urldb notify test\u{201d} sent this message, and nothing has happened. \
                 sky-urls, run of ";
    assert!(mail.html.starts_with(words), "{}", mail.html);
    assert!(
        mail.text.starts_with("Test: `urldb notify test` sent this"),
        "{}",
        mail.text
    );
}

#[test]
fn a_self_signed_certificate_is_trusted_by_ca_file() {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    // The server's own certificate says that it is an authority's, as that of `openssl req -x509`.
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    let tls = Arc::new(tls);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Server::serve(listener, SmtpReplies::default(), move |tcp| {
        let connection = ServerConnection::new(Arc::clone(&tls)).unwrap();
        Ok(StreamOwned::new(connection, tcp))
    });
    let (_site, sandbox) = broken(server.port);
    let keys = format!(
        "to = [\"me@example.test\"]\nserver = \"localhost\"\ntls = \"implicit\"\nport = {}\n",
        server.port
    );
    configure(&sandbox, &keys);
    sandbox.urldb(&["run"]).code(1).complains_in_words(&[
        "its certificate is not from a known authority",
        "`ca-file` names",
    ]);
    server.received();
    assert_eq!(waiting(&sandbox), 1);

    sandbox.write("ca.pem", certificate.pem());
    configure(&sandbox, &format!("{keys}ca-file = \"ca.pem\"\n"));
    sandbox.urldb(&["run"]).code(1);
    assert_eq!(server.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_sendmail_program_gets_each_recipient() {
    let (_site, sandbox) = broken(closed_port());
    let program = "#!/bin/sh\nfor last; do :; done\ncat > \"got-$last\"\n\
                   echo \"$@\" >> arguments\n[ \"$last\" != bob@example.test ] || \
                   { echo 'no such user' >&2; exit 67; }\n";
    sandbox.write("sendmail", program);
    let path = sandbox.path("sendmail");
    let mut rights = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    fs::set_permissions(&path, rights).unwrap();
    let keys = format!(
        "to = [\"ada@example.test\", \"bob@example.test\"]\nsendmail = [\"{}\", \"-x\"]\n",
        path.display()
    );
    configure(&sandbox, &keys);
    sandbox.urldb(&["run"]).code(2).complains_in_words(&[
        "did not take the message",
        "no such user",
        "bob@example.test",
    ]);
    let arguments = sandbox.read("arguments");
    assert_eq!(
        arguments,
        "-x -i -f urldb@example.test -- ada@example.test\n\
         -x -i -f urldb@example.test -- bob@example.test\n"
    );
    let mail = sandbox.read("got-ada@example.test");
    assert!(!mail.contains('\r'), "{mail}");
    let mail = mail.replace('\n', "\r\n");
    assert!(
        mail_of(mail.as_bytes())
            .text
            .contains("http://example.test/a")
    );
    assert_eq!(waiting(&sandbox), 1);
}

#[test]
fn every_mistake_of_a_notifier_is_named() {
    let (site, sandbox) = broken(closed_port());
    configure(
        &sandbox,
        "to = [\"nobody\"]\nserver = \"mail.example.test:25\"\nport = 70000\ntls = \"ssl\"\n\
         user = \"me\"\non = [\"brokn\"]\nstates = [\"gon\"]\nremind = \"weekly\"\n\
         domains = [\"http://x\"]\n[[schedule]]\ncron = \"17 25 * * *\"\n\
         [[schedule]]\ncron = \"17 4 * * *\"\ntimezone = \"Europe/Berln\"\n\
         [notify.Mail_2]\ntype = \"emial\"\n",
    );
    let ran = sandbox.urldb(&["run"]).code(2);
    let root = sandbox.path("");
    let text = ran.err.replace(root.to_str().unwrap(), "");
    insta::assert_snapshot!(text);
    assert!(site.requests().is_empty());

    // What only the notifier lacks stops no check.
    let with = |keys: &str| {
        configure(&sandbox, &format!("to = [\"me@example.test\"]\n{keys}"));
        let ran = sandbox.urldb(&["run"]).code(2);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (error, waiting) = ran.err.split_once("\n\n").unwrap();
        let waiting = words(waiting);
        assert!(waiting.contains("every run tries again"), "{waiting}");
        words(error).replace(root.to_str().unwrap(), "") + "\n"
    };
    sandbox.write("own/email.html", "{{ headline.nam }}");
    sandbox.write("empty.pem", "");
    let texts = [
        with("server = \"localhost\"\nuser = \"me\"\npassword-env = \"NO_SUCH_VARIABLE\"\n"),
        with("folder = \"mail\"\ntemplates = \"own\"\n"),
        with("folder = \"mail\"\ntemplates = \"absent\"\n"),
        with("server = \"localhost\"\nca-file = \"absent.pem\"\n"),
        with("server = \"localhost\"\nca-file = \"empty.pem\"\n"),
    ];
    insta::assert_snapshot!(texts.concat());
    assert!(!site.requests().is_empty());
}

#[test]
fn the_mails_about_one_incident_are_a_thread() {
    let (site, sandbox) = broken(closed_port());
    configure(&sandbox, "to = [\"me@example.test\"]\nfolder = \"mail\"\n");
    let run = |code: i32| {
        sandbox.urldb(&["run"]).code(code);
        sandbox.take_mails()
    };
    let the_mail = |mut mails: Vec<Mail>, from: &str| {
        assert_eq!(mails.len(), 1);
        let mail = mails.remove(0);
        let name = mail.header("From").split(" <").next();
        assert_eq!(name, Some(format!("\"urldb ({from})\"").as_str()));
        mail
    };
    let opening = the_mail(run(1), "broken");
    assert!(run(1).is_empty(), "what is known is no news");
    configure(
        &sandbox,
        "to = [\"me@example.test\"]\nfolder = \"mail\"\nremind = \"1s\"\n",
    );
    std::thread::sleep(Duration::from_millis(1100));
    let reminder = the_mail(run(1), "reminder");
    site.serve("/a", crate::support::Reply::ok("first"));
    let recovery = the_mail(run(0), "recovered");
    assert!(run(0).is_empty());

    let id = opening.header("Message-ID");
    assert!(id.ends_with(".mail@example.test>"), "{id}");
    let subject = format!("Re: {}", opening.header("Subject"));
    for mail in [reminder, recovery] {
        assert_eq!(mail.header("In-Reply-To"), id);
        assert_eq!(mail.header("References"), id);
        assert_eq!(mail.header("Subject"), subject);
        assert_eq!(mail.header("List-Id"), opening.header("List-Id"));
        assert_ne!(mail.header("Message-ID"), id);
    }
}

#[test]
fn what_waits_is_in_the_status_and_on_the_site() {
    let (site, sandbox) = broken(closed_port());
    sandbox.urldb(&["run"]).code(1);
    site.serve("/a", crate::support::Reply::ok("first"));
    sandbox.urldb(&["run"]);
    assert_eq!(waiting(&sandbox), 2);
    let status = sandbox.urldb(&["status"]).code(0);
    let text = status.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "Not everything was sent: the URL is as promised.",
        "2 messages of the notifier mail wait since ",
        "to see why messages wait: urldb notify list",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let document = sandbox.urldb(&["status", "--format", "json"]).json();
    let outbox = document["outbox"].as_array().unwrap();
    assert_eq!(outbox.len(), 1);
    assert_eq!(outbox[0]["notifier"], "mail");
    assert_eq!(outbox[0]["messages"], 2);
    assert!(outbox[0]["since"].is_string());
    let is_on_site = || {
        let index = sandbox.read("public/index.html");
        let status: serde_json::Value =
            serde_json::from_str(&sandbox.read("public/status.json")).unwrap();
        let on_page = index.contains("2 messages of the notifier mail wait since ");
        assert_eq!(on_page, status.get("outbox").is_some(), "{index}");
        on_page
    };
    sandbox.urldb(&["site", "build", "public"]).code(0);
    assert!(is_on_site());

    // Also after a run, and no longer once all is sent. The notifiers are asked by their names.
    let server = Server::start(SmtpReplies::default());
    let html = "[notify.page]\ntype = \"html\"\npath = \"public\"\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + html);
    sandbox.urldb(&["run"]);
    assert!(is_on_site());
    send_to(&sandbox, server.port);
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + html);
    sandbox.urldb(&["run"]).code(0);
    assert_eq!(waiting(&sandbox), 0);
    assert!(!is_on_site());
    sandbox
        .urldb(&["status"])
        .says(&["All good: the URL is as promised."]);
}
