//! Mail that cannot be delivered now, or not before a person acts.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::mime::{Mail, mail_of};
use crate::sandbox::{Case, Sandbox, assert_has, assert_lacks, eventually};
use crate::site::{FILE, Site, closed_address, promises};
use crate::smtp::{CLOSE, Server, SmtpReplies, SmtpSession};
use crate::support::Reply;

/// A URL that is gone, and a mail server on this port to tell of it.
fn broken(port: u16) -> (Site, Sandbox) {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&[("/a", "first")]));
    send_to(&sandbox, port);
    (site, sandbox)
}

/// Keys of one recipient.
const ME: &str = "to = [\"me@example.test\"]\n";

/// Keys of two recipients.
const ADA_AND_BOB: &str = "to = [\"ada@example.test\", \"bob@example.test\"]\n";

/// Points the configuration to a mail server.
fn send_to(sandbox: &Sandbox, port: u16) {
    send_with(sandbox, port, ME);
}

/// The same with these keys besides.
fn send_with(sandbox: &Sandbox, port: u16, keys: &str) {
    let server = format!("server = \"127.0.0.1\"\ntls = \"none\"\nport = {port}\n");
    configure(sandbox, &format!("{keys}{server}"));
}

/// Points the configuration to a mail server that gets mail for two recipients.
fn send_two_to(sandbox: &Sandbox, port: u16, more: &str) {
    send_with(sandbox, port, &format!("{ADA_AND_BOB}{more}"));
}

/// A mail server with one reply that differs.
fn replying(change: impl FnOnce(&mut SmtpReplies)) -> Server {
    let mut replies = SmtpReplies::default();
    change(&mut replies);
    Server::start(replies)
}

/// A run delivers the one message that waits, to a mail server that works.
#[track_caller]
fn deliver(sandbox: &Sandbox) -> Mail {
    let ready = Server::start(SmtpReplies::default());
    send_to(sandbox, ready.port);
    sandbox.exits(1, "run");
    assert_eq!(waiting(sandbox), 0);
    let accepted = ready.received().accepted;
    assert_eq!(accepted.len(), 1);
    mail_of(&accepted[0].1)
}

/// The file of the only message that waits.
fn the_message(sandbox: &Sandbox) -> PathBuf {
    sandbox.files("status/outbox", ".json").remove(0)
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
    closed_address().port()
}

fn waiting(sandbox: &Sandbox) -> usize {
    sandbox.files("status/outbox", ".json").len()
}

fn message_id(received: &SmtpSession) -> String {
    mail_of(&received.message).header("Message-ID").to_owned()
}

/// The id that a message would have had which never reached a server: that of its run.
fn run_of(sandbox: &Sandbox) -> String {
    let file = the_message(sandbox);
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn what_cannot_be_sent_now_is_sent_by_the_next_run() {
    let (_site, sandbox) = broken(closed_port());
    sandbox
        .exits(1, "run")
        .says("broken[gone]: http://example.test/a")
        .complains(&[
            "warning: mail (mail) was not sent: ",
            "Every run tries again",
        ]);
    assert_eq!(waiting(&sandbox), 1);
    let run = run_of(&sandbox);

    let mail = deliver(&sandbox);
    assert_has(&mail.text, "http://example.test/a");
    // It is about the event of the first run.
    let (time, _) = run.split_once('-').unwrap();
    assert_has(mail.header("Message-ID"), time);
    assert!(!sandbox.path("status/outbox").exists());
}

#[test]
fn a_refused_message_waits_for_a_person() {
    let server = replying(|it| it.rcpt = "550 no such user");
    let (_site, sandbox) = broken(server.port);
    let refused = [
        "error: mail (mail) was not sent: ",
        "refused the recipient me@example.test",
        "550 no such user",
        "failing since ",
        "waiting 1 incident",
        "The next try follows a change of [notify.mail]",
    ];
    sandbox
        .exits(2, "run")
        .says("broken[gone]: http://example.test/a")
        .complains_in_words(&refused);
    server.received();
    assert_eq!(waiting(&sandbox), 1);
    // Every run says so, also a quiet one, and none asks the server again.
    sandbox.exits(2, "run -q").complains_in_words(&refused);
    assert!(server.is_left_alone());
    // A changed section is a reason to try again.
    deliver(&sandbox);
}

#[test]
fn a_damaged_message_does_not_keep_the_verdicts_back() {
    let (_site, sandbox) = broken(closed_port());
    sandbox.exits(1, "run");
    let file = the_message(&sandbox);
    fs::write(&file, "{").unwrap();
    sandbox
        .exits(2, "run")
        .says("broken[gone]: http://example.test/a")
        .complains(&["cannot use the waiting message", "remove it to go on"]);
    assert!(file.exists(), "nothing is thrown away in silence");
}

/// A mail server that never answers, or that brings the process down, takes no findings with it.
#[test]
fn findings_are_printed_before_mail_is_sent() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (_site, sandbox) = broken(silent.local_addr().unwrap().port());
    let mut run = sandbox.start("run");
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
    let mut tries = 0;
    for (number, (stage, set)) in STAGES.into_iter().enumerate() {
        let answers = [("", 1), ("451 later", 1), (CLOSE, 1), ("550 never", 2)];
        for (text, code) in answers.into_iter().skip(number % 2 * 2).take(2) {
            let _case = Case((stage, text));
            tries += 1 + i32::from(text == "451 later");
            let faulty = replying(|replies| set(replies, text));
            let timeout = ["", "timeout = \"300ms\"\n"][usize::from(text.is_empty())];
            send_two_to(&sandbox, faulty.port, timeout);
            // The first run has the news; the others only try again.
            let words = text.split_once(' ').map_or("", |(_, words)| words);
            sandbox
                .exits(code, "run -q")
                .complains(&["mail (mail) was not sent", words]);
            assert_eq!(waiting(&sandbox), 1);
            assert!(faulty.received().accepted.is_empty());
            let listed = sandbox.urldb("notify list");
            listed.says(&["1 waiting", &format!("tried {tries} time")]);
        }
    }
    let ready = Server::start(SmtpReplies::default());
    send_two_to(&sandbox, ready.port, "");
    sandbox.exits(1, "run");
    let accepted = ready.received().accepted;
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].0, ["<ada@example.test>", "<bob@example.test>"]);
    assert_eq!(waiting(&sandbox), 0);
    sandbox.exits(1, "run");
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
    let run = |arguments: &str| sandbox.urldb_with_env(arguments, &secret).code(2);
    let first = run("run");
    assert_text!("refused_login", first.err);
    assert_eq!(no_login.received().commands.len(), 2);
    // Every run tries again, and only once for all that waits.
    run("run -q");
    assert_eq!(no_login.received().commands.len(), 2);
    let listed = run("notify list");
    assert_text!("refused_login_listed", listed.out);
    assert_text!("refused_login_tested", run("notify test mail").out);
    no_login.received();
    for ran in [first, listed] {
        assert!(!format!("{ran:?}").contains("hunter2"));
    }

    let no_starttls = Server::start(SmtpReplies::default());
    let keys = format!(
        "{ME}server = \"127.0.0.1\"\nport = {}\n{login}",
        no_starttls.port
    );
    configure(&sandbox, &keys);
    let ran = run("run -q");
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
    let retried = sandbox.ok("notify retry mail");
    assert_text!("retried", retried.out);
    assert_eq!(ready.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
    assert_text!("nothing_waits", sandbox.ok("notify list").out);
}

#[test]
fn one_unknown_recipient_of_two_is_tried_after_a_change() {
    let server = replying(|it| it.bob = Some("550 no such user"));
    let (_site, sandbox) = broken(server.port);
    send_two_to(&sandbox, server.port, "");
    let ran = sandbox.exits(2, "run");
    assert_text!("unknown_recipient", ran.err);
    let accepted = server.received().accepted;
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].0, ["<ada@example.test>"]);
    assert_text!(
        "unknown_recipient_listed",
        sandbox.exits(2, "notify list").out
    );
    // No run tries bob again, and no run writes to ada again.
    sandbox.exits(2, "run -q");
    assert!(server.is_left_alone());
    sandbox.exits(2, "notify retry");
    let again = server.received();
    let asked = again.commands.concat();
    assert_lacks(&asked, "ada@");

    // A corrected address gets the message, with the same id, and the others do not.
    let ready = Server::start(SmtpReplies::default());
    let to = "to = [\"ada@example.test\", \"bobby@example.test\"]\n";
    send_with(&sandbox, ready.port, to);
    sandbox.exits(1, "run");
    let corrected = ready.received().accepted;
    assert_eq!(corrected[0].0, ["<bobby@example.test>"]);
    let id = |mail: &[u8]| mail_of(mail).header("Message-ID").to_owned();
    assert_eq!(id(&corrected[0].1), id(&accepted[0].1));
    assert_eq!(waiting(&sandbox), 0);
}

/// Each message is tried for a recipient whom the server refuses. After a change of the section he gets the newest card.
#[test]
fn a_refused_recipient_gets_the_next_message() {
    let server = replying(|it| it.bob = Some("550 no such user"));
    let (site, sandbox) = broken(server.port);
    site.serve("/b", Reply::ok("second"));
    sandbox.write(FILE, promises(&[("/a", "first"), ("/b", "second")]));
    send_two_to(&sandbox, server.port, "");
    sandbox.exits(2, "run");
    let to_ada = |server: &Server| {
        let accepted = server.received().accepted;
        assert_eq!(accepted.len(), 1);
        assert_eq!(accepted[0].0, ["<ada@example.test>"]);
        mail_of(&accepted[0].1)
    };
    assert_has(&to_ada(&server).text, "http://example.test/a answers 404");
    // Another cause; bob is refused again.
    site.serve("/a", Reply::ok("other"));
    sandbox.exits(2, "run");
    assert_has(&to_ada(&server).text, "http://example.test/a");
    site.serve("/a", Reply::ok("first"));
    sandbox.exits(2, "run");
    assert_has(&to_ada(&server).text, "recovered: http://example.test/a");
    // Nobody forgets it with the incident.
    sandbox.urldb_at("2036-01-01T00:00:00Z", "run -q");
    assert_eq!(waiting(&sandbox), 1);

    let ready = Server::start(SmtpReplies::default());
    send_two_to(&sandbox, ready.port, "");
    sandbox.ok("notify retry mail");
    let accepted = ready.received().accepted;
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0].0, ["<bob@example.test>"]);
    let mail = mail_of(&accepted[0].1);
    assert_has(&mail.text, "recovered: http://example.test/a");
    assert_eq!(waiting(&sandbox), 0);
    sandbox.ok("run");
    assert!(ready.is_left_alone());
}

#[test]
fn a_run_that_is_killed_before_the_last_answer_sends_again() {
    let silent = replying(|it| it.end = "");
    let (_site, sandbox) = broken(silent.port);
    let mut run = sandbox.start("run");
    run.expect("Checked 1 of 1 URL");
    // The server has the whole message when it answers nothing.
    eventually("the message is in the outbox", || waiting(&sandbox) == 1);
    std::thread::sleep(Duration::from_millis(500));
    run.signal("-KILL");
    assert!(!run.end().success());
    let first = message_id(&silent.received());
    assert_eq!(waiting(&sandbox), 1);

    assert_eq!(deliver(&sandbox).header("Message-ID"), first);
}

#[test]
fn a_hang_at_the_goodbye_is_a_delivery() {
    let server = replying(|it| it.quit = "");
    let (_site, sandbox) = broken(server.port);
    sandbox.exits(1, "run");
    assert_eq!(server.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_hanging_server_costs_one_time_limit() {
    let (site, sandbox) = broken(closed_port());
    // One message, about what is true now: broken, recovered, broken.
    sandbox.exits(1, "run");
    site.serve("/a", Reply::ok("first"));
    sandbox.ok("run");
    site.remove("/a");
    sandbox.exits(1, "run");
    assert_eq!(waiting(&sandbox), 1);
    let silent = replying(|it| it.greeting = "");
    send_two_to(&sandbox, silent.port, "timeout = \"4s\"\n");
    let began = Instant::now();
    let ran = sandbox.exits(2, "notify retry");
    let took = began.elapsed();
    assert!(took < Duration::from_secs(11), "{took:?}");
    ran.complains("waiting   1 incident");
    silent.received();
    assert!(silent.is_left_alone());
    assert_eq!(waiting(&sandbox), 1);
}

/// Lets the message that waits be of a run so long ago.
fn age(sandbox: &Sandbox, hours: i64) {
    let file = the_message(sandbox);
    let mut kept: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let started = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(hours);
    kept["envelope"]["run"]["started"] = started.to_string().into();
    if kept["earlier"].is_object() {
        kept["earlier"]["since"] = started.to_string().into();
    }
    fs::write(&file, serde_json::to_vec(&kept).unwrap()).unwrap();
}

/// A fault that mends itself is an error after a day: until then, nobody has to act.
#[test]
fn a_message_that_waits_for_a_day_is_an_error() {
    let busy = replying(|it| it.end = "451 come back later");
    let (_site, sandbox) = broken(busy.port);
    send_with(&sandbox, busy.port, &format!("{ME}on = [\"broken\"]\n"));
    sandbox.exits(1, "run");
    for (hours, code, class, is_urgent) in [(23, 1, "warning", false), (25, 2, "error", true)] {
        age(&sandbox, hours);
        let summary = sandbox.path("summary.md");
        let env = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap())];
        let ran = sandbox.urldb_with_env("run --github", &env).code(code);
        let fault = if is_urgent {
            "error: mail (mail) has not been sent since "
        } else {
            "warning: mail (mail) was not sent: "
        };
        assert_has(&ran.err, fault);
        let annotation = format!("::{class} title=1 message could not be sent::");
        assert_has(&ran.out, &annotation);
        let summary = sandbox.read("summary.md");
        assert_has(&summary, &format!("### {fault}"));
        fs::remove_file(sandbox.path("summary.md")).unwrap();
        sandbox.exits(if is_urgent { 2 } else { 0 }, "notify list");
    }
    assert_eq!(waiting(&sandbox), 1);
}

#[test]
fn what_a_person_skips_is_not_told() {
    let (site, sandbox) = broken(closed_port());
    sandbox.exits(1, "run");
    sandbox
        .exits(2, "notify skip mial")
        .complains("did you mean mail?");
    assert_eq!(waiting(&sandbox), 1);
    sandbox
        .ok("notify skip mail")
        .says("mail: discarded the news of 1 incident.");
    assert_eq!(waiting(&sandbox), 0);
    sandbox.ok("notify skip mail").says("mail: nothing waits.");
    sandbox.ok("notify retry").says("No message waits.");
    // What was skipped is known, and its end is told.
    let server = Server::start(SmtpReplies::default());
    send_to(&sandbox, server.port);
    sandbox.exits(1, "run");
    assert!(server.is_left_alone());
    site.serve("/a", Reply::ok("first"));
    sandbox.ok("run");
    assert_eq!(server.received().accepted.len(), 1);
}

/// A section that is gone leaves its messages, and somebody has to decide about them.
#[test]
fn messages_without_a_notifier_are_named() {
    let (_site, sandbox) = broken(closed_port());
    sandbox.exits(1, "run");
    let config = sandbox.read("urldb.toml");
    let (rest, _) = config.split_once("[notify.mail]").unwrap();
    sandbox.write("urldb.toml", rest);
    sandbox
        .exits(2, "run")
        .complains(&["urldb.toml has no [notify.mail]", "urldb notify skip mail"]);
    assert_eq!(waiting(&sandbox), 1);
    sandbox
        .exits(2, "notify test mial")
        .complains("urldb.toml has no [notify.mial]");
}

#[test]
fn a_test_names_the_project_and_tries_the_own_template() {
    let sandbox = Sandbox::new(
        "[project]\nname = \"sky-urls\"\n[notify.mail]\ntype = \"email\"\nfrom = \"a@example.test\"\n\
         to = [\"b@example.test\"]\nfolder = \"mail\"\ntemplates = \"own\"\n",
    );
    let template = "<p>{{ headline.text }}. {{ footer[0] }}</p>";
    sandbox.write("own/email.html", template);
    sandbox.ok("notify test");
    let mail = sandbox.take_mails().remove(0);
    let subject = "[test] broken: data.example.org/tables/stars.csv grew by 199 bytes [sky-urls]";
    assert_eq!(mail.header("Subject"), subject);
    let words = "<p>[test] URLs: 1 broken (1 new), 1,246 ok. sky-urls, run of ";
    let html = mail.html.replace('\u{a0}', " ");
    assert!(html.starts_with(words), "{html}");
    let words = "[test] URLs: 1 broken (1 new), 1,246 ok\n\n\
                 This mail is a test by `urldb notify test`: nothing has happened.\n";
    assert!(mail.text.starts_with(words), "{}", mail.text);
    assert!(sandbox.take_mails().is_empty());

    // A whole history is a thread of mails, and nothing is stored.
    sandbox.ok("notify test mail --scenario 04");
    let mut mails = sandbox.take_mails();
    mails.sort_by_key(|mail| mail.header("Date").to_owned());
    let subjects: Vec<&str> = mails.iter().map(|mail| mail.header("Subject")).collect();
    assert_eq!(subjects.len(), 3, "{subjects:?}");
    for subject in [
        "[test] broken: data.example.org answers 404 Not Found (20 URLs) [sky-urls]",
        "[test] broken: data.example.org answers 404 Not Found (10 URLs) [sky-urls]",
        "[test] recovered: data.example.org (20 URLs) [sky-urls]",
    ] {
        assert!(subjects.contains(&subject), "{subjects:?}");
    }
    assert!(!sandbox.path("status").exists());
    sandbox
        .exits(2, "notify test mail --scenario 99")
        .complains_in_words(&["there is no scenario 99", "20 URLs are gone"]);
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
        "{ME}server = \"localhost\"\ntls = \"implicit\"\nport = {}\n",
        server.port
    );
    configure(&sandbox, &keys);
    sandbox.exits(1, "run").complains_in_words(&[
        "its certificate is not from a known authority",
        "`ca-file` names",
    ]);
    server.received();
    assert_eq!(waiting(&sandbox), 1);

    sandbox.write("ca.pem", certificate.pem());
    configure(&sandbox, &format!("{keys}ca-file = \"ca.pem\"\n"));
    sandbox.exits(1, "run");
    assert_eq!(server.received().accepted.len(), 1);
    assert_eq!(waiting(&sandbox), 0);
}

#[test]
fn a_sendmail_program_gets_each_recipient() {
    let (_site, sandbox) = broken(closed_port());
    let script = "for last; do :; done\ncat > \"got-$last\"\n\
                  echo \"$@\" >> arguments\n[ \"$last\" != bob@example.test ] || \
                  { echo 'no such user' >&2; exit 67; }\n";
    let path = sandbox.write_program("sendmail", script);
    let program = format!("sendmail = [\"{}\", \"-x\"]\n", path.display());
    configure(&sandbox, &format!("{ADA_AND_BOB}{program}"));
    sandbox.exits(2, "run").complains_in_words(&[
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
    assert_has(&mail_of(mail.as_bytes()).text, "http://example.test/a");
    assert_eq!(waiting(&sandbox), 1);
}

#[test]
fn every_mistake_of_a_notifier_is_named() {
    let (site, sandbox) = broken(closed_port());
    configure(
        &sandbox,
        "to = [\"nobody\"]\nserver = \"mail.example.test:25\"\nport = 70000\ntls = \"ssl\"\n\
         user = \"me\"\non = [\"brokn\"]\nstates = [\"gon\"]\nremind = \"weekly\"\n\
         domains = [\"http://x\"]\nhello = \"my vm\"\n[[schedule]]\ncron = \"17 25 * * *\"\n\
         [[schedule]]\ncron = \"17 4 * * *\"\ntimezone = \"Europe/Berln\"\n\
         [notify.Mail_2]\ntype = \"emial\"\n",
    );
    let ran = sandbox.exits(2, "run");
    let root = sandbox.path("");
    let text = ran.err.replace(root.to_str().unwrap(), "");
    insta::assert_snapshot!(text);
    assert!(site.requests().is_empty());

    // What only the notifier lacks stops no check.
    let with = |keys: &str| {
        configure(&sandbox, &format!("{ME}{keys}"));
        let ran = sandbox.exits(2, "run");
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let (error, waiting) = ran.err.split_once("\n\n").unwrap();
        let waiting = words(waiting);
        assert_has(&waiting, "Every run tries again");
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
    let folder = format!("{ME}folder = \"mail\"\n");
    configure(&sandbox, &folder);
    let run = |code: i32| {
        sandbox.exits(code, "run");
        sandbox.take_mails()
    };
    let the_mail = |mut mails: Vec<Mail>, word: &str| {
        assert_eq!(mails.len(), 1);
        let mail = mails.remove(0);
        let begin = format!("{word}: example.test/a");
        assert!(mail.header("Subject").starts_with(&begin), "{word}");
        mail
    };
    let opening = the_mail(run(1), "broken");
    assert!(run(1).is_empty(), "what is known is no news");
    configure(&sandbox, &format!("{folder}remind = \"1s\"\n"));
    std::thread::sleep(Duration::from_millis(1100));
    let reminder = the_mail(run(1), "reminder");
    site.serve("/a", Reply::ok("first"));
    let recovery = the_mail(run(0), "recovered");
    assert!(run(0).is_empty());

    let id = opening.header("Message-ID");
    assert!(id.ends_with(".mail@example.test>"), "{id}");
    for mail in [reminder, recovery] {
        assert_eq!(mail.header("References"), opening.header("References"));
        assert_eq!(mail.header("List-Id"), opening.header("List-Id"));
        assert_ne!(mail.header("Message-ID"), id);
    }
}

#[test]
fn what_waits_is_in_the_status_and_on_the_site() {
    let (site, sandbox) = broken(closed_port());
    sandbox.exits(1, "run");
    site.serve("/a", Reply::ok("first"));
    sandbox.urldb("run");
    assert_eq!(waiting(&sandbox), 1);
    let status = sandbox.ok("status");
    let text = status.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_has(&text, "URLs: 1 ok; as of ");
    assert_has(&text, "1 message of the notifier mail waits since ");
    assert_has(&text, "to see why messages wait: urldb notify list");
    let document = sandbox.urldb("status --format json").json();
    let outbox = document["undelivered"].as_array().unwrap();
    assert_eq!(outbox.len(), 1);
    assert_eq!(outbox[0]["notifier"], "mail");
    assert_eq!(outbox[0]["messages"], 1);
    assert!(outbox[0]["since"].is_string() && outbox[0]["last_tried"].is_string());
    assert_eq!(outbox[0]["tries"], 2);
    let fault = outbox[0]["fault"].as_str().unwrap();
    assert!(
        fault.contains("127.0.0.1") && text.contains(&format!("after 2 tries: {fault}.")),
        "{fault}: {text}"
    );
    let is_on_site = || {
        let index = sandbox.read("public/index.html");
        let status: serde_json::Value =
            serde_json::from_str(&sandbox.read("public/status.json")).unwrap();
        let on_page = index.contains("1 message of the notifier mail waits since ");
        assert_eq!(on_page, status.get("undelivered").is_some(), "{index}");
        on_page
    };
    sandbox.ok("site build public");
    assert!(is_on_site());

    // Also after a run, and no longer once all is sent.
    let server = Server::start(SmtpReplies::default());
    let html = "[notify.page]\ntype = \"html\"\npath = \"public\"\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + html);
    sandbox.urldb("run");
    assert!(is_on_site());
    send_to(&sandbox, server.port);
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + html);
    sandbox.ok("run");
    assert_eq!(waiting(&sandbox), 0);
    assert!(!is_on_site());
    sandbox.urldb("status").says("URLs: 1 ok; as of ");
}
