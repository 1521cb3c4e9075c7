//! A clock that steps back, and one that was years ahead once: no command hangs, and silence is noticed.
//! The history gets the times that the runs would have written; `.ci/acceptance.d/67-clock` sets the clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};
use crate::support::Reply;

/// A site with two URLs, and a project that promises them.
fn watched() -> (Site, Sandbox) {
    let pages = [("/a", "first"), ("/b", "second")];
    let site = Site::with(&pages);
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(FILE, promises(&pages));
    (site, sandbox)
}

/// Gives the last run of the history another time, in the month of that time.
fn set_clock_of_last_run(sandbox: &Sandbox, at: Timestamp) {
    let mut found = None;
    for file in sandbox.files("status/history", ".jsonl") {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let parsed: Value = serde_json::from_str(line).unwrap();
            let key = parsed["run"].as_str().unwrap().to_owned();
            found = found.max(Some((key, file.clone(), line.to_owned())));
        }
    }
    let (_, file, line) = found.unwrap();
    let rest = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, rest.replace(&format!("{line}\n"), "")).unwrap();
    let mut changed: Value = serde_json::from_str(&line).unwrap();
    changed["at"] = at.to_string().into();
    let month = format!("status/history/{}.jsonl", at.strftime("%Y-%m"));
    let others = std::fs::read_to_string(sandbox.path(&month)).unwrap_or_default();
    sandbox.write(&month, format!("{others}{changed}\n"));
}

/// The ids of runs must differ in their second, so that the last one is known.
fn next_second() {
    std::thread::sleep(Duration::from_millis(1_100));
}

#[test]
fn a_clock_that_steps_back_hangs_no_command() {
    let (site, sandbox) = watched();
    // A command that does not end is killed, and fails the test.
    let at = |hour, arguments: &str| {
        sandbox.urldb_at(&format!("2026-11-29T{hour}:17:03Z"), arguments);
    };
    at("04", "run");
    at("02", "run");
    site.serve("/a", Reply::ok("other"));
    at("01", "run");
    for command in [
        "status",
        "status http://example.test/b",
        "status --format json",
        "site build public",
        "log",
        "doctor",
        "run",
    ] {
        at("05", command);
    }
    let runs = sandbox.history();
    assert_eq!(runs.len(), 4);
    for later in runs.windows(2) {
        assert_eq!(later[1]["base"], later[0]["run"], "{runs:#?}");
    }
    // The run that stepped back found one of them.
    let status = |path: &str| {
        let url = format!("http://example.test{path}");
        let document = sandbox.urldb(&["status", &url, "--format", "json"]).json();
        document["urls"][0].clone()
    };
    assert!(status("/a").get("verified_since").is_none());
    assert!(status("/b")["verified_since"].is_string());
}

#[test]
fn one_run_in_the_future_does_not_hide_that_the_runs_have_ended() {
    let (_site, sandbox) = watched();
    sandbox.ok("run");
    set_clock_of_last_run(&sandbox, "2999-06-01T04:17:00Z".parse().unwrap());
    let words = "run has a time in the future (2999-06-01): its clock was wrong";
    sandbox.urldb("status").says(words);
    next_second();
    sandbox.ok("run");
    let run = sandbox.history();
    assert!(run.iter().any(|it| it.get("base").is_none()), "{run:#?}");
    // Then there is silence for a year.
    let silent = Timestamp::now() - SignedDuration::from_hours(24 * 365);
    set_clock_of_last_run(&sandbox, silent);

    let day = silent.strftime("%Y-%m-%d").to_string();
    let status = sandbox.urldb("status");
    let text = status.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        words,
        &format!("Last run over everything: {day}"),
        "365 days ago",
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    let document = sandbox.urldb("status --format json").json();
    assert_eq!(document["future_run"], "2999-06-01T04:17:00Z");
    assert_eq!(document["last_run"]["at"], silent.to_string());
    assert_eq!(document["as_of"], silent.to_string());
    let host = &document["hosts"][0];
    assert_eq!(host["checked"], silent.to_string());
    assert_eq!(host["verified"], silent.to_string());

    let doctor = sandbox.urldb("doctor --format json").json();
    let checks = doctor["checks"].as_array().unwrap();
    let ledger = checks.iter().find(|check| check["name"] == "ledger");
    let sentence = ledger.unwrap()["sentence"].as_str().unwrap().to_owned();
    assert_has(&sentence, &format!("last run {day}"));
    assert!(sentence.ends_with(words), "{sentence}");
    let all = doctor.to_string();
    assert_lacks(&all, "days had a run");

    sandbox.ok("site build public");
    let index = sandbox.read("public/index.html");
    assert_has(&index, &format!("data-run=\"{day}"));
    assert_has(&index, words);
    assert_has(&sandbox.read("public/run.js"), &day);

    // The next run starts from the last known one, and lists what differs from it.
    next_second();
    sandbox.ok("run");
    let document = sandbox.urldb("status --format json").json();
    let checked = document["hosts"][0]["verified"].as_str().unwrap();
    assert!(checked.parse::<Timestamp>().unwrap() > silent);
}

#[test]
fn an_incident_of_the_future_is_reminded_of() {
    let (site, sandbox) = watched();
    let mail = "[notify.mail]\ntype = \"email\"\nfrom = \"urldb@example.test\"\n\
                to = [\"ada@example.test\"]\nfolder = \"mail\"\nremind = \"7d\"\n";
    sandbox.write("urldb.toml", sandbox.read("urldb.toml") + mail);
    site.remove("/a");
    sandbox.exits(1, "run");
    let mails = |expected: usize| assert_eq!(sandbox.take_mails().len(), expected);
    mails(1);
    sandbox.exits(1, "run");
    mails(0);
    let file = sandbox.files("status/incidents", ".yaml").remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    let year = Timestamp::now().strftime("%Y-").to_string();
    std::fs::write(&file, text.replace(&year, "2999-")).unwrap();
    sandbox.exits(1, "run");
    mails(1);
    // Once it was told with a time that is known, the next reminder has its time.
    sandbox.exits(1, "run");
    mails(0);
}
