//! `--format` of `check` and `run`: each form says the same as the JSON document, and programs can
//! read it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;

use insta::assert_snapshot;
use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use serde_json::Value;
use urldb_text::Code;

use crate::hostile::{assert_harmless, hostile};
use crate::run::mailing;
use crate::sandbox::{Ran, Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promise};
use crate::support::Reply;
use crate::words::{broken, stable};

/// An element of a `JUnit` file.
#[derive(Debug, Default)]
pub(crate) struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

impl Element {
    fn of(start: &BytesStart<'_>) -> Self {
        let attributes = start.attributes().map(|attribute| {
            let attribute = attribute.expect("attributes are well-formed, each once");
            let value = attribute.normalized_value(XmlVersion::Explicit1_0);
            let name = attribute.key.as_ref().to_owned();
            (name, value.unwrap().into_owned())
        });
        Self {
            name: start.name().as_ref().to_owned(),
            attributes: attributes.collect(),
            ..Self::default()
        }
    }

    #[track_caller]
    fn attribute(&self, name: &str) -> &str {
        let value = self.attributes.get(name);
        value.unwrap_or_else(|| panic!("no {name} in {self:#?}"))
    }

    pub(crate) fn count(&self, name: &str) -> usize {
        let below = self.children.iter().map(|child| child.count(name));
        usize::from(self.name == name) + below.sum::<usize>()
    }

    /// What the test case came to, with its message.
    fn outcome(&self) -> Option<(&str, &str)> {
        let [outcome] = &self.children[..] else {
            assert!(self.children.is_empty(), "{self:#?}");
            return None;
        };
        let message = outcome.attributes.get("message");
        Some((&outcome.name, message.map_or("", String::as_str)))
    }
}

/// Parses a `JUnit` file, and checks what each one must have.
#[track_caller]
pub(crate) fn junit(text: &str) -> Element {
    let is_allowed = |char: char| matches!(char, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(is_allowed), "no XML 1.0: {text:?}");
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut open = vec![Element::default()];
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(start) => open.push(Element::of(&start)),
            Event::Empty(start) => {
                let element = Element::of(&start);
                open.last_mut().unwrap().children.push(element);
            }
            Event::End(_) => {
                let element = open.pop().unwrap();
                open.last_mut().unwrap().children.push(element);
            }
            Event::Text(part) => {
                let part = part.xml_content(XmlVersion::Explicit1_0);
                open.last_mut().unwrap().text.push_str(&part);
            }
            Event::GeneralRef(name) => {
                let escape = format!("&{};", &*name);
                let text = quick_xml::escape::unescape(&escape).unwrap();
                open.last_mut().unwrap().text.push_str(&text);
            }
            Event::Decl(_) => {}
            Event::Eof => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(open.len(), 1);
    let [suites] = <[Element; 1]>::try_from(open.remove(0).children).unwrap();
    assert_eq!(suites.name, "testsuites");
    for suite in suites.children.iter().chain([&suites]) {
        for (attribute, element) in [
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ] {
            let number = suite.count(element).to_string();
            assert_eq!(suite.attribute(attribute), number, "{suite:#?}");
        }
    }
    for suite in &suites.children {
        assert_eq!(suite.name, "testsuite");
        let names: BTreeSet<_> = suite
            .children
            .iter()
            .map(|case| case.attribute("name"))
            .collect();
        assert_eq!(names.len(), suite.children.len(), "names are unique");
        for case in &suite.children {
            assert_eq!(case.attribute("classname"), suite.attribute("name"));
            if let Some((_, message)) = case.outcome() {
                let prefixes = ["muted: ", "not confirmed yet: "].into_iter();
                let mut bare = prefixes.filter_map(|prefix| message.strip_prefix(prefix));
                let message = bare.next().unwrap_or(message);
                // GitLab shows the text only.
                let text = &case.children[0].text;
                assert!(!text.is_empty() && text.contains(message), "{case:#?}");
            }
        }
    }
    suites
}

/// The test cases of a `JUnit` file by name.
fn cases(suites: &Element) -> BTreeMap<&str, &Element> {
    let cases = suites.children.iter().flat_map(|suite| &suite.children);
    cases.map(|case| (case.attribute("name"), case)).collect()
}

/// Checks what GitHub demands of a SARIF file, and returns its results.
#[track_caller]
fn sarif(document: &Value) -> &[Value] {
    let text = |value: &Value| {
        let text = value["text"].as_str().unwrap_or_else(|| panic!("{value}"));
        assert!(!text.is_empty());
        text.to_owned()
    };
    assert_eq!(document["version"], "2.1.0");
    assert!(
        document["$schema"]
            .as_str()
            .unwrap()
            .contains("sarif-2.1.0")
    );
    let [run] = &document["runs"].as_array().unwrap()[..] else {
        panic!("one run");
    };
    let driver = &run["tool"]["driver"];
    assert_eq!(driver["name"], "urldb");
    let rules = driver["rules"].as_array().unwrap();
    for rule in rules {
        for description in ["shortDescription", "fullDescription"] {
            assert!(text(&rule[description]).chars().count() <= 1024);
        }
        text(&rule["help"]);
        let markdown = rule["help"]["markdown"].as_str().unwrap();
        assert!(!markdown.is_empty());
        assert!(rule["helpUri"].as_str().unwrap().starts_with("https://"));
        assert!(rule["properties"].get("security-severity").is_none());
    }
    let ids: BTreeSet<_> = rules
        .iter()
        .map(|rule| rule["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), rules.len(), "rules are unique");
    let id = run["automationDetails"]["id"].as_str().unwrap();
    assert!(id.starts_with("urldb") && id.contains('/'), "{id}");
    let base = run["originalUriBaseIds"].as_object().unwrap();
    let results = run["results"].as_array().unwrap();
    let mut fingerprints = BTreeSet::new();
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        let level = result["level"].as_str().unwrap();
        assert!(["error", "warning"].contains(&level), "{level}");
        let message = text(&result["message"]);
        assert_lacks(&message, "](");
        let fingerprint = &result["partialFingerprints"]["primaryLocationLineHash"];
        let fingerprint = fingerprint.as_str().unwrap();
        assert!(
            fingerprints.insert(fingerprint),
            "{fingerprint} occurs twice"
        );
        let [location] = &result["locations"].as_array().unwrap()[..] else {
            panic!("one location: {result}");
        };
        let place = &location["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        let is_path = |char: char| char.is_ascii_alphanumeric() || "-._~/%".contains(char);
        assert!(uri.chars().all(is_path) && !uri.starts_with('/'), "{uri}");
        assert!(base.contains_key(place["artifactLocation"]["uriBaseId"].as_str().unwrap()));
        let number = |key: &str| place["region"][key].as_u64().filter(|number| *number > 0);
        let [line, column, end_line, end_column] =
            ["startLine", "startColumn", "endLine", "endColumn"].map(|key| number(key).unwrap());
        assert!(
            (line, column) < (end_line, end_column),
            "the end is exclusive"
        );
    }
    results
}

/// The lines of `--format jsonl` by `kind`. The last is the summary.
#[track_caller]
fn lines(ran: &Ran) -> BTreeMap<String, Vec<Value>> {
    let mut lines: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut last = String::new();
    for line in ran.out.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let kind = line.as_object_mut().unwrap().shift_remove("kind");
        kind.unwrap().as_str().unwrap().clone_into(&mut last);
        lines.entry(last.clone()).or_default().push(line);
    }
    assert_eq!(last, "summary");
    lines
}

fn by_url(results: &[Value]) -> BTreeMap<&str, &Value> {
    let results = results.iter();
    results
        .map(|result| (result["url"].as_str().unwrap(), result))
        .collect()
}

#[test]
fn junit_for_programs() {
    let (_site, sandbox) = broken();
    let ran = sandbox.exits(1, "check --format junit");
    stable().bind(|| assert_snapshot!(ran.out));
    let suites = junit(&ran.out);
    let json = sandbox.exits(1, "check --format json").json();
    let results = json["results"].as_array().unwrap();
    let mistakes = json["mistakes"].as_array().unwrap();
    assert!(results.len() > 10 && !mistakes.is_empty());
    let cases = cases(&suites);
    assert_eq!(cases.len(), results.len() + mistakes.len());
    for (url, result) in by_url(results) {
        let outcome = cases[url].outcome().map(|(outcome, _)| outcome);
        let expected = match result["state"].as_str().unwrap() {
            "ok" => [None, Some("system-out")],
            "blocked" | "inconclusive" => [Some("skipped"); 2],
            _ => [Some("failure"); 2],
        };
        assert!(expected.contains(&outcome), "{url}: {outcome:?}");
    }
}

#[test]
fn sarif_for_programs() {
    let (_site, sandbox) = broken();
    let ran = sandbox.exits(1, "check --format sarif");
    stable().bind(|| assert_snapshot!(ran.out));
    let document = ran.json();
    let json = sandbox.exits(1, "check --format json").json();
    let places = |results: &[Value]| -> BTreeSet<(String, u64)> {
        let place = |result: &Value| {
            let line = &result["locations"][0]["physicalLocation"]["region"]["startLine"];
            let code = result["ruleId"].as_str().unwrap().to_owned();
            (code, line.as_u64().unwrap())
        };
        results.iter().map(place).collect()
    };
    let findings = json["findings"].as_array().unwrap().iter();
    let found = findings.chain(json["mistakes"].as_array().unwrap());
    let found: BTreeSet<_> = found
        .map(|found| {
            let code = found["code"].as_str().unwrap().to_owned();
            (code, found["line"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(places(sarif(&document)), found);
}

#[test]
fn lines_say_the_same_as_the_document() {
    let (_site, sandbox) = broken();
    let run = |command: &str, format: &str| sandbox.exits(1, &[command, "--format", format]);
    for command in ["check", "run"] {
        let (lines, json) = (lines(&run(command, "jsonl")), run(command, "json").json());
        let results = json["results"].as_array().unwrap();
        assert!(results.len() > 10);
        let without_ports = |results: &[Value]| -> Vec<(String, Value)> {
            let results = by_url(results).into_iter();
            results
                .map(|(url, result)| (url.to_owned(), result["state"].clone()))
                .collect()
        };
        assert_eq!(without_ports(&lines["result"]), without_ports(results));
        for (kind, key) in [("finding", "findings"), ("mistake", "mistakes")] {
            let number = json[key].as_array().unwrap().len();
            assert_eq!((lines[kind].len(), number > 0), (number, true), "{kind}");
        }
        let [summary] = &lines["summary"][..] else {
            panic!("one summary");
        };
        assert_eq!(summary["protocol"], json["protocol"]);
        let states = |document: &Value| document["summary"]["states"].clone();
        assert_eq!(states(summary), states(&json));
        assert!(summary["run"]["id"].is_string());
    }
}

#[test]
fn the_exit_code_is_the_same_in_every_form() {
    let site = Site::with(&[("/kept", "x")]);
    let limit = Reply::new("429 Too Many Requests", &["Retry-After: 0"], "");
    site.serve("/limit", limit);
    let sandbox = Sandbox::new(&site.network());
    let records = promise("/gone", "x") + &promise("/kept", "x") + &promise("/limit", "x");
    sandbox.write(FILE, format!("---\n{records}"));
    for format in [
        "human", "json", "jsonl", "junit", "sarif", "markdown", "github",
    ] {
        for (path, code) in [("/kept", 0), ("/gone", 1), ("/limit", 3)] {
            let url = format!("http://example.test{path}");
            sandbox.exits(code, &["check", "--format", format, &url]);
        }
    }
}

#[test]
fn lines_come_while_another_host_is_silent() {
    let site = Site::with(&[("/a", "x")]);
    // The system accepts the connection, and nobody answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let maps = [
        site.map("example.test"),
        format!("silent.test={}", silent.local_addr().unwrap()),
    ];
    let sandbox = Sandbox::new(&format!(
        "[check]\nretries = 0\ntimeout = \"1h\"\nhost-patience = \"1h\"\n[network]\nmap = {maps:?}\n"
    ));
    sandbox.write(FILE, format!("---\n{}", promise("/a", "x")));
    sandbox.write("urldb/silent.test.yaml", "---\n---\n_path: /\n");
    let mut check = sandbox.start("check --format jsonl");
    let line = check.expect("{\"kind\":\"result\"");
    assert_has(&line, "http://example.test/a");
    check.signal("-TERM");
    let rest = check.lines_until("{\"kind\":\"summary\"");
    assert!(rest.iter().any(|line| line.contains("http://silent.test/")));
    check.end();
}

#[test]
fn a_test_fails_only_for_what_counts_as_broken() {
    let site = Site::new();
    site.serve("/muted", Reply::new("404 Not Found", &[], ""));
    site.serve("/busy", Reply::new("503 Busy", &["Retry-After: 0"], ""));
    let sandbox = Sandbox::new(&mailing(&site));
    sandbox.write(
        FILE,
        "---\n---\n_path: /busy\n---\n_path: /muted\nmute-until: 9999-01-01\n",
    );
    let busy = "http://example.test/busy";
    let run = |code: i32| sandbox.exits(code, "run --format junit").out;
    let first = run(3);
    let first = junit(&first);
    assert_eq!(cases(&first)[busy].outcome().unwrap().0, "skipped");
    let (outcome, message) = cases(&first)["http://example.test/muted"]
        .outcome()
        .unwrap();
    assert!(
        outcome == "skipped" && message.starts_with("muted: "),
        "{message}"
    );
    let second = run(1);
    let second = junit(&second);
    assert_eq!(cases(&second)[busy].outcome().unwrap().0, "failure");
    let document = sandbox.urldb("run --format sarif").json();
    let muted = sarif(&document)
        .iter()
        .filter(|result| !result["suppressions"].is_null())
        .map(|result| result["properties"]["url"].as_str().unwrap());
    assert_eq!(muted.collect::<Vec<_>>(), ["http://example.test/muted"]);
}

#[test]
fn annotations_mark_no_line_of_a_muted_url() {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    sandbox.write(
        FILE,
        "---\n---\n_path: /gone\n---\n_path: /muted\nmute-until: 9999-01-01\n",
    );
    let annotations = || -> Vec<String> {
        let ran = sandbox.exits(1, "run --format github");
        let all = ran.out.lines().chain(ran.err.lines());
        all.filter(|line| line.starts_with("::"))
            .map(str::to_owned)
            .collect()
    };
    let marked = annotations();
    assert_eq!(marked.len(), 1, "{marked:?}");
    assert_has(&marked[0], "file=urldb/example.test.yaml,line=3,");
    // The words of the mail.
    assert_has(&marked[0], "example.test/gone answers 404 Not Found");
    assert_lacks(&marked[0], "muted");
}

#[test]
fn fingerprints_stay_when_lines_move() {
    let site = Site::new();
    let sandbox = Sandbox::new(&site.network());
    let post = |body: &str| format!("---\n_path: /q\nmethod: POST\nrequest-body: {body}\n");
    let records = format!("---\n_path: /gone\n{}{}", post("a=1"), post("a=2"));
    let results = |text: String| -> Vec<(String, u64)> {
        sandbox.write(FILE, text);
        let document = sandbox.urldb("check --format sarif").json();
        let results = sarif(&document).iter().map(|result| {
            let fingerprint = &result["partialFingerprints"]["primaryLocationLineHash"];
            let place = &result["locations"][0]["physicalLocation"];
            (
                fingerprint.as_str().unwrap().to_owned(),
                place["region"]["startLine"].as_u64().unwrap(),
            )
        });
        results.collect()
    };
    let before = results(format!("---\n{records}"));
    let after = results(format!("---\n# A comment.\n{records}"));
    assert!(before.len() >= 3, "{before:?}");
    let moved: Vec<_> = before
        .into_iter()
        .map(|(fingerprint, line)| (fingerprint, line + 1))
        .collect();
    assert_eq!(after, moved);
}

#[test]
fn a_part_of_the_database_has_a_category_of_its_own() {
    let (_site, sandbox) = broken();
    let id = |arguments: &[&str]| -> String {
        let arguments = [&["check", "--format", "sarif"], arguments].concat();
        let document = sandbox.urldb(&arguments).json();
        let id = document["runs"][0]["automationDetails"]["id"].as_str();
        id.unwrap().rsplit_once('/').unwrap().0.to_owned()
    };
    assert_eq!(id(&[]), "urldb");
    assert_eq!(id(&["--path-prefix", "/c"]), "urldb --path-prefix /c");
}

#[test]
fn hostile_text_is_valid_in_every_form() {
    let (_site, sandbox) = hostile();
    for command in ["check", "run", "run"] {
        for format in ["json", "jsonl", "junit", "sarif"] {
            let ran = sandbox.urldb(&[command, "--format", format]);
            assert_harmless(format, &ran);
            match format {
                "junit" => {
                    let suites = junit(&ran.out);
                    assert!(suites.count("testcase") > 3, "{suites:#?}");
                }
                "sarif" => assert!(sarif(&ran.json()).len() > 3),
                "jsonl" => assert!(lines(&ran)["result"].len() > 2),
                _ => assert!(ran.json()["results"].is_array()),
            }
        }
    }
}

#[test]
fn lists_are_lines_and_answers_are_documents() {
    let sandbox = Sandbox::new("");
    sandbox.write(FILE, "---\n---\n_path: /\n");
    for (arguments, known, unknown) in [
        (&["list"][..], "jsonl", "json"),
        (&["archive", "list"], "jsonl", "json"),
        (&["archive", "verify"], "jsonl", "json"),
        (&["archive", "repair"], "jsonl", "json"),
        (&["url", "explain", "http://example.test/"], "json", "jsonl"),
    ] {
        let with = |format| sandbox.urldb(&[arguments, &["--format", format]].concat());
        with(unknown).code(2).complains(&["invalid value", known]);
        let ran = with(known);
        assert_lacks(&ran.err, "invalid value");
    }
    let ran = sandbox.ok("list --format jsonl");
    assert_eq!(ran.json()["url"], "http://example.test/");
}

#[test]
fn mistakes_have_rules_with_their_own_help() {
    let sandbox = Sandbox::new("");
    sandbox.write(
        "urldb/a b:c.yaml",
        "---\n---\n_path: /\ncontent-sha256: abc\n",
    );
    sandbox.write(FILE, "---\n---\n_path: /\ncontent-sha265: abc\n");
    let document = sandbox.exits(1, "check --format sarif").json();
    let results = sarif(&document);
    assert!(results.len() >= 2, "{document:#}");
    let rules = &document["runs"][0]["tool"]["driver"]["rules"];
    for rule in rules.as_array().unwrap() {
        let id = rule["id"].as_str().unwrap();
        assert!(Code::ALL.iter().any(|code| code.as_str() == id), "{id}");
        assert_ne!(rule["help"]["text"].as_str().unwrap(), id);
    }
    let uris: BTreeSet<_> = results
        .iter()
        .map(|result| {
            let place = &result["locations"][0]["physicalLocation"];
            place["artifactLocation"]["uri"].as_str().unwrap()
        })
        .collect();
    assert!(uris.contains(FILE), "{uris:?}");
}
