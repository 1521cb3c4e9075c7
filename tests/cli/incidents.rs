//! Incidents over several runs: opened, grown, shrunk, closed, muted, and what is kept of them.

use serde_json::Value;

use crate::certificates::{Authority, Kind};
use crate::run::mailing;
use crate::sandbox::{Ran, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, network, promise, promises};
use crate::support::{Reply, Server};

const TEXTS: [(&str, &str); 3] = [("/a", "first"), ("/b", "second"), ("/c", "third")];

/// A repository that promises these three texts, and has seen them.
fn watched() -> (Site, Sandbox) {
    let site = Site::with(&TEXTS);
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(FILE, promises(&TEXTS));
    let document = run(&sandbox, 0);
    assert_eq!(document["incidents"], Value::Array(vec![]));
    (site, sandbox)
}

/// The document of a run that exits with this code.
#[track_caller]
fn run(sandbox: &Sandbox, code: i32) -> Value {
    sandbox.exits(code, "run --format json").json()
}

/// Phase, host, state, and the paths of the affected URLs, of each incident.
fn shown(document: &Value) -> Vec<String> {
    let incidents = document["incidents"].as_array().unwrap();
    let line = |incident: &Value| {
        let text = |key: &str| incident[key].as_str().unwrap().to_owned();
        let urls = incident["urls"].as_array().unwrap().iter();
        let paths: Vec<String> = urls
            .map(|url| {
                let path = url["url"].as_str().unwrap().rsplit_once('/').unwrap().1;
                let left = if url["left"].is_string() { "-" } else { "" };
                let new = if url["new"] == true { "+" } else { "" };
                format!("{left}{new}{path}")
            })
            .collect();
        let (phase, host, state) = (text("phase"), text("host"), text("state"));
        format!("{phase} {host} {state}: {}", paths.join(" "))
    };
    incidents.iter().map(line).collect()
}

/// The events of incidents, oldest first, each with the number of URLs that are broken then.
fn lines(sandbox: &Sandbox) -> Vec<String> {
    let events = sandbox.ok("log --format jsonl").json_lines();
    events
        .iter()
        .rev()
        .map(|line| format!("{} {}", line["event"].as_str().unwrap(), line["affected"]))
        .collect()
}

/// URLs, and those of them that are broken, muted, unconfirmed and unknown.
fn counts(document: &Value) -> String {
    let counts = &document["summary"]["counts"];
    let names = ["urls", "broken", "muted", "unconfirmed", "unknown"];
    names.map(|name| counts[name].to_string()).join(" ")
}

#[test]
fn an_incident_opens_grows_shrinks_and_closes() {
    let (site, sandbox) = watched();
    site.remove("/a");
    let opened = run(&sandbox, 1);
    assert_eq!(shown(&opened), ["opened example.test gone: +a"]);
    assert_eq!(counts(&opened), "3 1 0 0 0");
    let incident = &opened["incidents"][0];
    let id = incident["id"].as_str().unwrap().to_owned();
    assert_eq!(incident["opened_by"], opened["run"]["id"]);
    assert_eq!(incident["host_urls"], 3);
    assert_eq!(incident["evidence"]["requests"], 3);
    assert_eq!(incident["evidence"]["agreeing"], 3);
    assert_eq!(incident["evidence"]["observed"]["status"], 404);
    assert_eq!(incident["evidence"]["detail"], "answers 404 Not Found");
    let ledger = sandbox.read("status/example.test.yaml");
    assert_has(&ledger, &format!("incident: {id}\n"));

    let file = format!("status/incidents/{id}.yaml");
    let quiet = (sandbox.read(&file), ledger);
    assert_eq!(shown(&run(&sandbox, 1)), ["unchanged example.test gone: a"]);
    let after = (
        sandbox.read(&file),
        sandbox.read("status/example.test.yaml"),
    );
    assert_eq!(after, quiet, "a quiet run rewrites nothing");

    site.serve("/a", Reply::ok("first"));
    assert_eq!(shown(&run(&sandbox, 0)), ["closed example.test gone: -a"]);
    let closed = sandbox.read(&file);
    assert!(closed.starts_with("---\nclosed: "), "{closed}");
    assert_has(&closed, "because: recovered\nevent: shrunk\n");
    assert_lacks(&sandbox.read("status/example.test.yaml"), "incident");
    assert!(shown(&run(&sandbox, 0)).is_empty());
    assert_eq!(lines(&sandbox), ["opened 1", "shrunk 0"]);
    assert_eq!(sandbox.mails().len(), 2);
}

#[test]
fn the_last_good_run_is_named_however_soon_the_next_one_begins() {
    let (site, sandbox) = watched();
    site.remove("/a");
    let last = sandbox.history().pop().unwrap();
    let document = run(&sandbox, 1);
    let incident = &document["incidents"][0];
    let second = |time: &Value| time.as_str().unwrap()[.."2026-11-20T04:17:02".len()].to_owned();
    assert_eq!(second(&incident["last_good"]), second(&last["at"]));
    // A URL that no run saw as promised.
    let mut texts = TEXTS.to_vec();
    texts[0].0 = "/new";
    site.serve("/new", Reply::ok("other"));
    sandbox.write(FILE, promises(&texts));
    let document = run(&sandbox, 1);
    let incidents = document["incidents"].as_array().unwrap();
    let new = incidents.iter().find(|it| it["phase"] == "opened").unwrap();
    assert_eq!(new["last_good"], Value::Null);
}

/// A failure that is not confirmed yet, at a URL before those that are news, has evidence beside theirs.
#[test]
fn news_has_evidence_beside_a_failure_that_is_not_confirmed() {
    let (site, sandbox) = watched();
    let fail = |path| site.serve(path, Reply::new("503 Service Unavailable", &[], ""));
    fail("/b");
    run(&sandbox, 3);
    fail("/a");
    let document = run(&sandbox, 1);
    assert_eq!(shown(&document)[0], "opened example.test server-error: +b");
    let evidence = &document["incidents"][0]["evidence"];
    assert_eq!(evidence["observed"]["status"], 503);
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    assert_has(&mails[0].text, "fails (503 Service Unavailable)");
}

/// The end of an incident is no word about a URL that fails in the same run.
#[test]
fn an_incident_that_closes_calls_no_url_good_that_fails_today() {
    let (site, sandbox) = watched();
    site.serve("/a", Reply::ok("other"));
    run(&sandbox, 1);
    assert_eq!(sandbox.take_mails().len(), 1);
    site.serve("/a", Reply::ok("first"));
    site.serve(
        "/b",
        Reply::new("500 Internal Server Error", &[], "it fails"),
    );
    let ran = sandbox.exits(3, "run");
    let mails = sandbox.take_mails();
    assert_eq!(mails.len(), 1);
    for text in [&ran.out, &mails[0].text] {
        assert_has(text, "URLs: 1 unconfirmed, 2 ok; recovered: ");
    }
}

#[test]
fn all_urls_of_a_silent_host_are_named() {
    let site = Site::with(&[("/fine", "fine")]);
    let paths: Vec<String> = (0..100).map(|number| format!("/{number:03}")).collect();
    for path in &paths {
        site.serve(path, Reply::raw("").hang());
    }
    let sandbox = Sandbox::new(&format!(
        "[check]\nhead-timeout = \"1s\"\nhost-patience = \"1s\"\nretries = 0\n{}",
        site.network_of(&["example.test", "silent.test"])
    ));
    sandbox.write(FILE, promises(&[("/fine", "fine")]));
    let silent: String = paths.iter().map(|path| promise(path, "x")).collect();
    sandbox.write("urldb/silent.test.yaml", format!("---\n{silent}"));
    let first = run(&sandbox, 3);
    assert_eq!(counts(&first), "101 0 0 100 0");
    let group = &first["incidents"][0];
    assert_eq!(
        (&group["phase"], &group["id"]),
        (&"unconfirmed".into(), &"".into())
    );
    assert_eq!(group["urls"].as_array().unwrap().len(), 100);
    assert!(!sandbox.path("status/incidents").exists());

    let second = run(&sandbox, 1);
    let incident = &second["incidents"][0];
    let urls = incident["urls"].as_array().unwrap();
    let untried = urls.iter().filter(|url| url["not_tried"] == true).count() as u64;
    assert_eq!(incident["phase"], "opened");
    assert_eq!(urls.len(), 100);
    assert!(untried >= 80, "{untried}");
    assert_eq!(incident["evidence"]["tried"], 100 - untried);
    assert!(
        counts(&second).ends_with(" 100 0 0 0"),
        "{}",
        counts(&second)
    );
    sandbox.exits(1, "check --format json http://silent.test/099");

    for path in &paths {
        site.serve(path, Reply::ok("x"));
    }
    let closed = run(&sandbox, 0);
    assert_eq!(closed["incidents"].as_array().unwrap().len(), 1);
    assert_eq!(closed["incidents"][0]["phase"], "closed");
    assert_eq!(
        closed["incidents"][0]["urls"].as_array().unwrap().len(),
        100
    );
}

/// Three hosts that one site serves, with one page each.
fn three_hosts() -> (Site, Sandbox) {
    let site = Site::with(&[("/a", "first")]);
    let hosts = ["one.test", "two.test", "three.test"];
    let sandbox = Sandbox::new(&site.network_of(&hosts));
    for host in hosts {
        let file = format!("urldb/{host}.yaml");
        sandbox.write(&file, promises(&[("/a", "first")]));
    }
    (site, sandbox)
}

#[test]
fn a_run_with_a_selection_leaves_other_incidents_alone() {
    let (site, sandbox) = three_hosts();
    run(&sandbox, 0);
    site.remove("/a");
    run(&sandbox, 1);
    let before = sandbox.tree("status/incidents");
    site.serve("/a", Reply::ok("first"));
    let document = sandbox.ok("run --format json -d two.test").json();
    let expected = [
        "closed two.test gone: -a",
        "unchanged one.test gone: a",
        "unchanged three.test gone: a",
    ];
    assert_eq!(shown(&document), expected);
    assert_eq!(counts(&document), "3 2 0 0 0");
    assert_eq!(document["run"]["selection"], "-d two.test");
    let after = sandbox.tree("status/incidents");
    let changed = after.iter().filter(|(file, text)| before[*file] != **text);
    assert_eq!(changed.count(), 1);
    sandbox.ok("rm http://three.test/a");
    let document = run(&sandbox, 0);
    let mut closed: Vec<String> = document["incidents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|incident| format!("{} {}", incident["host"], incident["urls"][0]["left"]))
        .collect();
    closed.sort();
    let expected = ["\"one.test\" \"recovered\"", "\"three.test\" \"removed\""];
    assert_eq!(closed, expected);
}

#[test]
fn a_broken_url_without_the_file_of_its_incident_opens_another_one() {
    let (site, sandbox) = watched();
    site.remove("/a");
    run(&sandbox, 1);
    for file in sandbox.files("status/incidents", ".yaml") {
        std::fs::remove_file(file).unwrap();
    }
    let mails = sandbox.mails().len();
    let document = run(&sandbox, 1);
    assert_eq!(shown(&document), ["opened example.test gone: +a"]);
    // Nobody knows who was told.
    assert_eq!(sandbox.mails().len(), mails + 1);
    assert_eq!(shown(&run(&sandbox, 1)), ["unchanged example.test gone: a"]);
}

#[test]
fn a_muted_url_is_affected_and_notifies_nobody() {
    let (site, sandbox) = watched();
    let mute = |until: &str| {
        let text = promises(&TEXTS);
        let keys = format!("mute-reason: the server moves\nmute-until: '{until}'\n");
        let record = promise("/a", "first");
        sandbox.write(FILE, text.replace(&record, &(record.clone() + &keys)));
        sandbox.ok("lint -q")
    };
    mute("2999-12-24");
    site.remove("/a");
    sandbox.ok("check");
    let document = run(&sandbox, 0);
    assert_eq!(shown(&document), ["opened example.test gone: +a"]);
    assert_eq!(document["incidents"][0]["urls"][0]["muted"], true);
    assert_eq!(document["findings"][0]["muted"], true);
    assert_eq!(counts(&document), "3 0 1 0 0");
    assert!(sandbox.mails().is_empty());
    assert_eq!(shown(&run(&sandbox, 0)), ["unchanged example.test gone: a"]);

    // The date has passed.
    let lint: Ran = mute("2001-12-24");
    lint.says(&["expired-mute", "people are notified again since 2001-12-24"]);
    let document = run(&sandbox, 1);
    assert_eq!(shown(&document), ["changed example.test gone: a"]);
    let bad = sandbox.read(FILE).replace("'2001-12-24'", "soon");
    sandbox.write(FILE, bad);
    sandbox
        .exits(1, "lint")
        .says("`mute-until` should be a date such as `2026-12-24`, found `soon`");
}

#[test]
fn a_url_that_fails_often_is_a_warning_once() {
    let (site, sandbox) = watched();
    let mut told = vec![];
    for number in 0..18 {
        let fails = number < 8 && number % 2 == 0;
        let reply = if fails {
            Reply::new("503 Busy", &["Retry-After: 0"], "")
        } else {
            Reply::ok("first")
        };
        site.serve("/a", reply);
        let document = run(&sandbox, if fails { 3 } else { 0 });
        let findings = document["findings"].as_array().unwrap().iter();
        let warnings = findings.filter(|finding| finding["code"] == "flapping");
        for warning in warnings {
            told.push((number, warning["url"].clone()));
        }
    }
    // In a run that sees it as promised; the others name what they see.
    let expected: Vec<i32> = vec![5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
    let numbers: Vec<i32> = told.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, expected);
    let mails = sandbox.mails();
    assert_eq!(mails.len(), 1, "it is told once");
    let subject = mails[0].header("Subject");
    assert!(
        subject.starts_with("flapping: example.test/a ["),
        "{subject}"
    );
    assert_has(&mails[0].text, "flapping: http://example.test/a\n");
    let ledger = sandbox.read("status/example.test.yaml");
    assert_has(&ledger, "breaks:\n");
    sandbox.ok("status").says("URLs: 1 flapping, 2 ok; as of ");
    sandbox.ok("status http://example.test/a");
}

#[test]
fn the_evidence_of_appended_lines_is_what_was_appended() {
    let (site, sandbox) = watched();
    let (old, new) = ("one\ntwo\n", "one\ntwo\nthree\nfour\n");
    sandbox.write(FILE, promises(&[("/a", old)]));
    site.serve("/a", Reply::ok(old));
    run(&sandbox, 0);
    let reply = Reply::new(
        "200 OK",
        &["Last-Modified: Sat, 21 Nov 2026 11:10:58 GMT"],
        new,
    );
    site.serve("/a", reply);
    let document = run(&sandbox, 1);
    let evidence = &document["incidents"][0]["evidence"];
    let expected = serde_json::json!({
        "added": 2, "removed": 0, "appended_after": 2, "lines": ["+three", "+four"]
    });
    assert_eq!(evidence["text"], expected);
    assert_eq!(evidence["first_difference"], old.len());
    assert_eq!(evidence["last_modified"], "Sat, 21 Nov 2026 11:10:58 GMT");
    assert_eq!(evidence["promised"]["length"], old.len());
    assert_eq!(evidence["observed"]["length"], new.len());
    let file = &sandbox.files("status/incidents", ".yaml")[0];
    let text = std::fs::read_to_string(file).unwrap();
    assert_has(&text, "    - +three\n");

    sandbox.ok("accept --yes http://example.test/a");
    let closed = run(&sandbox, 0);
    assert_eq!(closed["incidents"][0]["urls"][0]["left"], "accepted");
}

#[test]
fn a_redirect_rule_is_one_incident_with_its_target() {
    let (site, sandbox) = watched();
    site.serve("/", Reply::ok("home"));
    for path in ["/a", "/b"] {
        site.serve(path, Reply::redirect(302, "/"));
    }
    let document = run(&sandbox, 1);
    assert_eq!(shown(&document), ["opened example.test changed: +a +b"]);
    assert_eq!(document["incidents"][0]["redirect"], "http://example.test/");
    for _ in 0..2 {
        run(&sandbox, 1);
    }
    site.serve("/c", Reply::redirect(302, "/"));
    assert_eq!(
        shown(&run(&sandbox, 1)),
        ["changed example.test changed: a b +c"]
    );
}

#[test]
fn a_foreign_file_is_no_incident_and_one_of_another_form_is_named() {
    let (site, sandbox) = watched();
    site.remove("/a");
    run(&sandbox, 1);
    sandbox.write("status/incidents/notes.yaml", "not: [ours");
    run(&sandbox, 1);
    let file = sandbox.files("status/incidents", ".yaml");
    let file = file
        .iter()
        .find(|file| !file.ends_with("notes.yaml"))
        .unwrap();
    std::fs::write(file, "---\nkey: 0\n").unwrap();
    let name = file.file_name().unwrap().to_str().unwrap();
    sandbox.exits(2, "run").complains(&["is left out", name]);
}

#[test]
fn an_expired_certificate_is_named_with_its_dates() {
    let authority = Authority::new();
    let tls = authority.server(&[Kind::Good, Kind::Expired], "secure.test");
    let server = Server::tls(tls, |_| Reply::ok("first").close());
    let sandbox = Sandbox::new(&format!(
        "[check]\nretries = 0\n{}ca-file = {:?}\n",
        network(server.address(), &["secure.test"]),
        authority.file()
    ));
    let file = promises(&[("/a", "first")]).replacen("---\n", "---\nhttp: false\nhttps: true\n", 1);
    sandbox.write("urldb/secure.test.yaml", file);
    run(&sandbox, 0);
    let ledger = sandbox.read("status/secure.test.yaml");
    let dates = "---\ncertificate:\n  issuer: The authority\n  not-after: '3000-01-01T00:00:00Z'\n  \
                 not-before: '2020-01-01T00:00:00Z'\n---\n";
    assert!(ledger.starts_with(dates), "{ledger}");
    run(&sandbox, 3);
    let document = run(&sandbox, 1);
    let incident = &document["incidents"][0];
    assert_eq!(incident["reason"], "tls-expired");
    let certificate = serde_json::json!({
        "not_before": "2019-01-01T00:00:00Z",
        "not_after": "2020-01-01T00:00:00Z",
        "issuer": "The authority"
    });
    assert_eq!(incident["evidence"]["certificate"], certificate);
}

#[test]
fn an_acknowledgement_needs_a_reason() {
    let (site, sandbox) = watched();
    site.remove("/a");
    run(&sandbox, 1);
    let before = sandbox.tree("status/incidents");
    for empty in ["", "  "] {
        let typed = [
            "ack",
            "http://example.test/a",
            "--until",
            "2999-01-01",
            "--because",
            empty,
        ];
        sandbox
            .exits(2, &typed[..])
            .complains("write why no reminder is needed");
    }
    assert_eq!(sandbox.tree("status/incidents"), before);
}

#[test]
fn an_incident_that_cannot_be_read_stops_nothing() {
    let (site, sandbox) = watched();
    site.remove("/a");
    let known = run(&sandbox, 1)["incidents"][0]["id"].clone();
    let file = format!("status/incidents/{}.yaml", known.as_str().unwrap());
    let damaged = sandbox
        .read(&file)
        .replace("event: opened", "event: exploded");
    sandbox.write(&file, &damaged);
    sandbox.take_mails();
    site.remove("/b");
    let says = format!("incident {} is left out, because", known.as_str().unwrap());
    let ran = sandbox
        .exits(2, "run --format json")
        .complains([says.as_str(), "exploded", "restore the file with git"].as_slice());
    // The URL of the other incident is one of its own, and both are told.
    assert_eq!(shown(&ran.json()), ["opened example.test gone: +a +b"]);
    assert_eq!(sandbox.take_mails().len(), 1);
    sandbox.assert_file(&file, &damaged);
    // Told once, and said again by each command that reads incidents.
    let ran = sandbox.exits(2, "run --format json");
    assert_eq!(shown(&ran.json()), ["unchanged example.test gone: a b"]);
    assert_eq!(sandbox.take_mails().len(), 0);
    sandbox.exits(1, "status").complains(&says);
    sandbox.ok("log").complains(&says);
    sandbox.ok("site build").complains(&says);
    let ack = "ack http://example.test/b --until 2999-01-01 --because moving";
    sandbox.ok(ack).complains(&says);
    sandbox
        .exits(2, "archive prune --older-than 1d --dry-run")
        .complains(["nothing was removed", says.as_str()].as_slice());
    site.serve("/a", Reply::ok("first"));
    site.serve("/b", Reply::ok("second"));
    let ran = sandbox.exits(2, "run --format json");
    assert_eq!(shown(&ran.json()), ["closed example.test gone: -a -b"]);
    sandbox.write(&file, damaged.replace("exploded", "opened"));
    assert_eq!(shown(&run(&sandbox, 0)), ["closed example.test gone: -a"]);
}
