//! What a plugin gets, and what its answers mean.

use urldb_protocol::DeliveryOutcome::{Delivered, Failed, Retry};
use urldb_protocol::{Delivery, Envelope, Notifier};

use crate::plugin::{Plugin, envelope, large_envelope};

#[test]
fn a_plugin_gets_the_envelope_and_answers() {
    let plugin = Plugin::shell(
        "cat >envelope.json\necho '{\"outcome\": \"delivered\", \"message\": \"room 1\"}'\n",
    );
    let delivery = plugin.deliver(&envelope());
    assert_eq!(
        (delivery.outcome, delivery.message.as_str()),
        (Delivered, "room 1")
    );
    let mut got: Envelope = serde_json::from_str(&plugin.read("envelope.json")).unwrap();
    let words = got.message.take().unwrap();
    assert_eq!(got, envelope());
    assert_eq!(words.headline, "URLs: 1 broken (1 new), 9 ok");
    assert_eq!(
        words.html,
        format!("<h1>{}</h1>", words.subject.replace('/', "&#x2f;"))
    );
    assert!(
        plugin.read("envelope.json").starts_with("{\"protocol\":2,"),
        "the protocol comes first"
    );
}

#[test]
fn a_plugin_sees_the_variables_of_its_settings_and_no_others() {
    let mut plugin = Plugin::shell("env >variables\necho '{\"outcome\": \"delivered\"}'\n");
    plugin.settings.variables.push(("ROOM".into(), "42".into()));
    plugin.deliver(&envelope());
    let variables = plugin.read("variables");
    // Every process of a test has this variable.
    assert!(!variables.contains("CARGO_PKG_NAME="));
    for line in [
        "ROOM=42",
        "URLDB_PROTOCOL=2",
        "URLDB_NOTIFIER=plug",
        "URLDB_DELIVERY=20261122T041700Z-abc.plug",
    ] {
        assert!(
            variables.lines().any(|own| own == line),
            "{line}: {variables}"
        );
    }
    assert!(variables.contains("PATH="));
}

#[test]
fn no_shell_looks_at_arguments() {
    let mut plugin =
        Plugin::shell("printf '%s|' \"$@\" >arguments\necho '{\"outcome\": \"delivered\"}'\n");
    plugin.settings.arguments.extend([
        "$(touch evil)".to_owned(),
        "a b;c".to_owned(),
        String::new(),
    ]);
    plugin.deliver(&envelope());
    assert_eq!(plugin.read("arguments"), "$(touch evil)|a b;c||");
    assert!(!plugin.folder.path().join("evil").exists());
}

#[test]
fn every_outcome_has_its_meaning() {
    for (script, outcome, message) in [
        ("echo '{\"outcome\": \"delivered\"}'", Delivered, "sh"),
        (
            "echo '{\"outcome\": \"retry\", \"message\": \"busy\"}'",
            Retry,
            "busy",
        ),
        (
            "echo '{\"outcome\": \"failed\", \"message\": \"no room\", \"later\": 1}'",
            Failed,
            "no room",
        ),
        (
            "echo cause >&2; echo '{\"outcome\": \"failed\"}'",
            Failed,
            "sh did not deliver, and gave no reason",
        ),
        (
            "echo '{\"outcome\": \"retry\"}'",
            Retry,
            "sh did not deliver, and gave no reason",
        ),
        // Of several lines, the last one is the answer.
        (
            "echo connecting; echo; echo '{\"outcome\": \"delivered\", \"message\": \"x\"}'; echo",
            Delivered,
            "x",
        ),
        (
            "printf '{\\n \"outcome\":\\n \"delivered\", \"message\": \"y\"}'",
            Delivered,
            "y",
        ),
        // An answer counts whatever the exit code is.
        (
            "echo '{\"outcome\": \"delivered\", \"message\": \"z\"}'; exit 3",
            Delivered,
            "z",
        ),
        (
            "exit 75",
            Retry,
            "sh ended with exit code 75 (try again later)",
        ),
        (
            "echo one >&2; echo two >&2; exit 7",
            Failed,
            "sh ended with exit code 7",
        ),
    ] {
        let delivery = Plugin::shell(script).deliver(&envelope());
        assert_eq!(
            (delivery.outcome, delivery.message.as_str()),
            (outcome, message),
            "{script}"
        );
    }
}

#[test]
fn a_plugin_remembers_facts_about_the_incidents_of_the_report() {
    let fact = |incident: &str, key: &str, value: &str| serde_json::json!({ "incident": incident, "key": key, "value": value });
    let ignored = |ignored, total| {
        format!(
            "room 1 (ignored {ignored} of {total} facts in `remember`: an incident takes 10 short ones)"
        )
    };
    let before = std::cell::RefCell::new(envelope());
    let answer = |remember: serde_json::Value| {
        let answer = serde_json::json!({
            "outcome": "delivered", "message": "room 1", "remember": remember
        });
        let plugin = Plugin::shell("cat answer.json\n");
        std::fs::write(plugin.folder.path().join("answer.json"), answer.to_string()).unwrap();
        let delivery = plugin.deliver(&before.borrow());
        assert_eq!(delivery.outcome, Delivered);
        (delivery.message, delivery.remember)
    };
    let id = envelope().incidents[0].id.clone();
    let (message, facts) = answer(serde_json::json!([
        fact(&id, "thread", "42"),
        fact(&id, "room", "!a:example.org")
    ]));
    assert_eq!(message, "room 1");
    let facts: Vec<_> = facts
        .iter()
        .map(|fact| (&*fact.key, &*fact.value))
        .collect();
    assert_eq!(facts, [("room", "!a:example.org"), ("thread", "42")]);

    let bad = [
        fact("00000000", "thread", "42"),
        fact("", "thread", "42"),
        fact(&id, "", "42"),
        fact(&id, "../x", "42"),
        fact(&id, "thread", &"x".repeat(501)),
        fact(&id, "thread", "one\ntwo"),
        serde_json::json!({ "incident": id, "key": "thread", "value": 42 }),
        serde_json::json!("thread"),
    ];
    for fact in &bad {
        let (message, facts) = answer(serde_json::json!([fact]));
        assert_eq!(message, ignored(1, 1), "{fact}");
        assert!(facts.is_empty(), "{fact}");
    }
    let (message, _) = answer(serde_json::json!({ "thread": "42" }));
    assert_eq!(message, ignored(1, 1));

    // An incident takes ten facts, those of earlier reports included; a known fact may change.
    let many: Vec<_> = (0..1_000)
        .map(|it| fact(&id, &format!("k{it}"), "x"))
        .collect();
    let (message, facts) = answer(serde_json::json!(many));
    assert_eq!(message, ignored(990, 1_000));
    assert_eq!(facts.len(), 10);
    let known = (0..9).map(|it| (format!("old{it}"), Delivery::text("x")));
    before.borrow_mut().incidents[0]
        .threads
        .insert("plug".to_owned(), known.collect());
    let facts = ["old3", "new", "newer"].map(|key| fact(&id, key, "y"));
    let (message, facts) = answer(serde_json::json!(facts));
    assert_eq!(message, ignored(1, 3));
    let keys: Vec<_> = facts.iter().map(|fact| &*fact.key).collect();
    assert_eq!(keys, ["new", "old3"]);
}

#[test]
fn garbage_is_a_failure_that_shows_it() {
    let no_answer =
        "sh did not answer {\"outcome\": \"delivered\"} in JSON, nor \"retry\" or \"failed\"";
    for (script, aside) in [
        ("", None),
        ("echo oops >&2", Some("oops")),
        ("echo '<h1>502</h1>'", Some("<h1>502</h1>")),
        (
            "echo '{\"outcome\": \"perhaps\"}'",
            Some("{\"outcome\": \"perhaps\"}"),
        ),
        ("echo '[1'", Some("[1")),
        ("printf '\\377\\376'", Some("\u{fffd}\u{fffd}")),
        // A terminal must not obey a plugin.
        ("printf '\\033[2Jhello'", Some("\u{fffd}[2Jhello")),
    ] {
        let delivery = Plugin::shell(script).deliver(&envelope());
        assert_eq!(
            (
                delivery.outcome,
                &*delivery.message,
                delivery.aside.as_deref()
            ),
            (Failed, no_answer, aside),
            "{script}"
        );
    }
}

#[test]
fn a_message_is_one_short_harmless_line() {
    let script = "printf '{\"outcome\": \"failed\", \"message\": \"a\\\\n::error::\\\\u001b[31mb%01000d\"}' 0";
    let delivery = Plugin::shell(script).deliver(&envelope());
    assert!(
        delivery.message.starts_with("a ::error::\u{fffd}[31mb000"),
        "{}",
        delivery.message
    );
    assert_eq!(delivery.message.chars().count(), 500);
}

#[test]
fn a_plugin_need_not_read_its_input() {
    for script in ["", "exec <&-\n", "head -c 10 >/dev/null\n"] {
        let script =
            format!("{script}echo '{{\"outcome\": \"delivered\", \"message\": \"done\"}}'\n");
        let delivery = Plugin::shell(&script).deliver(&large_envelope());
        assert_eq!(
            (delivery.outcome, delivery.message.as_str()),
            (Delivered, "done"),
            "{script}"
        );
    }
}

#[test]
fn a_program_that_cannot_start_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = Plugin::new(folder, "/no/such/urldb-notify-x", &[]);
    let delivery = plugin.deliver(&envelope());
    let why = delivery
        .message
        .strip_prefix("cannot start urldb-notify-x: ");
    assert!(delivery.outcome == Failed && why.is_some(), "{delivery:?}");
}

#[test]
fn a_script_without_its_interpreter_is_told_why() {
    let windows = "its first line ends with a carriage return (CRLF): save the file with the line ends of Unix (LF)";
    let missing = "its first line names /no/such, which is not on this machine: install it, or correct the line";
    for (first, why) in [
        ("#!/no/such -u", missing),
        ("#!/bin/sh\\r", windows),
        ("#!/usr/bin/env sh\\r", windows),
        (
            "import sys",
            "Exec format error: a script names its interpreter in the first line, such as #!/bin/sh",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        // A shell writes it, so that no other test's child holds it open while it is run.
        let write = format!("printf '{first}\\n' >plugin && chmod +x plugin");
        let mut shell = std::process::Command::new("/bin/sh");
        let written = shell.args(["-c", &write]).current_dir(&folder).status();
        assert!(written.unwrap().success());
        let program = folder.path().join("plugin");
        let delivery = Plugin::new(folder, program, &[]).deliver(&envelope());
        let message = format!("cannot start plugin: {why}");
        assert_eq!((delivery.outcome, &*delivery.message), (Failed, &*message));
    }
}

#[test]
fn a_report_is_one_delivery_with_the_same_id_each_time() {
    let notifier = urldb_command::CommandNotifier::new(Plugin::shell("").settings).unwrap();
    let planned = notifier.deliveries(&envelope());
    assert_eq!(planned.len(), 1);
    assert_eq!(planned, notifier.deliveries(&envelope()));
    assert_eq!(notifier.destination(), "sh");
}
