//! `--format junit`: a report as test results, which CI servers show. Each URL is a test case, each
//! host a test suite.
//!
//! There is no standard. GitLab and Jenkins read the text within `failure`, `error` and
//! `skipped`, beside the attribute `message` that others show.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, Write};

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use url::Url;
use urldb_protocol::{Envelope, Finding, JobResult, Mistake, State};
use urldb_render::uses_text;
use urldb_text::{Shown, sanitize_lines};

/// The record and the URL of a result, as findings name them.
type RecordLine<'a> = (&'a str, usize, &'a str);

/// The result of a test case.
enum Verdict<'a> {
    Passed,
    /// A promise is broken.
    Failed(String),
    /// The run has no certain verdict.
    Skipped(String),
    /// A record cannot be read as it is meant.
    Error(&'a str),
}

struct TestCase<'a> {
    /// Unique within its suite: GitLab shows only the first of equal names.
    name: String,
    file: &'a str,
    verdict: Verdict<'a>,
    /// The state, or the code of a mistake.
    kind: &'a str,
    /// Lines for people.
    details: String,
}

/// Counts of test cases, as attributes of a suite.
#[derive(Default)]
struct Totals {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
}

/// Writes the report. Text from outside becomes valid XML, which controls no terminal or log.
pub(super) fn write(
    out: &mut impl Write,
    envelope: &Envelope,
    results: &[JobResult],
) -> io::Result<()> {
    let suites = suites(envelope, results);
    let all = Totals::count(suites.iter().flat_map(|(_, cases)| cases));
    let mut xml = Writer::new_with_indent(&mut *out, b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let seconds = envelope.summary.coverage.milliseconds;
    let seconds = format!("{}.{:03}", seconds / 1000, seconds % 1000);
    xml.create_element("testsuites")
        .with_attribute(("name", "urldb"))
        .with_attributes(all.attributes().iter().map(pair))
        .with_attribute(("time", &*seconds))
        .write_inner_content(|xml| {
            suites
                .iter()
                .try_for_each(|(name, cases)| write_suite(xml, name, cases))
        })?;
    writeln!(out)
}

/// The suites by name: hosts, and then the files with mistakes.
fn suites<'a>(
    envelope: &'a Envelope,
    results: &'a [JobResult],
) -> Vec<(String, Vec<TestCase<'a>>)> {
    let mut findings: HashMap<RecordLine<'_>, Vec<&Finding>> = HashMap::new();
    for finding in &envelope.findings {
        let line = (&*finding.file, finding.line, &*finding.url);
        findings.entry(line).or_default().push(finding);
    }
    let mut hosts: BTreeMap<String, Vec<TestCase<'a>>> = BTreeMap::new();
    for result in results {
        let line = (&*result.file, result.line, &*result.url);
        let found = findings.get(&line).map(Vec::as_slice).unwrap_or_default();
        hosts
            .entry(host_of(&result.url))
            .or_default()
            .push(of_result(result, found));
    }
    let mut files: BTreeMap<String, Vec<TestCase<'a>>> = BTreeMap::new();
    for mistake in &envelope.mistakes {
        files
            .entry(mistake.file.clone())
            .or_default()
            .push(of_mistake(mistake));
    }
    let mut suites: Vec<_> = hosts.into_iter().chain(files).collect();
    for (_, cases) in &mut suites {
        number_equal_names(cases);
    }
    suites
}

fn host_of(url: &str) -> String {
    Url::parse(url).map_or_else(|_| url.to_owned(), |url| url.authority().to_owned())
}

fn of_result<'a>(result: &'a JobResult, findings: &[&'a Finding]) -> TestCase<'a> {
    let name = match result.method.as_str() {
        "GET" => result.name(),
        method => format!("{method} {}", result.name()),
    };
    TestCase {
        name,
        file: &result.file,
        verdict: verdict(result, findings),
        kind: result.state.as_str(),
        details: details(result, findings),
    }
}

/// A test fails only for a promise that counts as broken, as for the exit code.
fn verdict<'a>(result: &JobResult, findings: &[&Finding]) -> Verdict<'a> {
    let has = |is: fn(&Finding) -> bool| findings.iter().any(|finding| is(finding));
    let said = said(result, findings);
    if result.state == State::Ok {
        Verdict::Passed
    } else if has(|finding| finding.muted) {
        Verdict::Skipped(format!("muted: {said}"))
    } else if has(|finding| finding.pending) {
        Verdict::Skipped(format!("not confirmed yet: {said}"))
    } else if result.state.is_unsure() {
        Verdict::Skipped(said)
    } else {
        Verdict::Failed(said)
    }
}

/// The sentence of a message about the result.
fn said(result: &JobResult, findings: &[&Finding]) -> String {
    findings
        .iter()
        .find(|finding| finding.sentence.is_some())
        .map_or_else(|| result.message.to_string(), |finding| finding.text())
}

/// The promise, the observation, the time since when they differ, and the line of the record.
fn details(result: &JobResult, findings: &[&Finding]) -> String {
    let mut lines = vec![];
    let said = said(result, findings);
    match &result.reason {
        _ if result.state == State::Ok => {}
        Some(reason) => lines.push(format!("{} ({reason}): {said}", result.state)),
        None => lines.push(format!("{}: {said}", result.state)),
    }
    for finding in findings {
        if finding.code != result.state.as_str() {
            lines.push(format!("{}: {}", finding.code, finding.message));
        }
        let facts = [
            ("promised", finding.expected.as_ref().map(Shown::to_string)),
            ("observed", finding.observed.as_ref().map(Shown::to_string)),
            (
                "not archived",
                finding.not_archived.as_ref().map(Shown::to_string),
            ),
            ("since", finding.since.map(|since| since.to_string())),
        ];
        for (name, fact) in facts {
            lines.extend(fact.map(|fact| format!("{name}: {fact}")));
        }
    }
    if !lines.is_empty() {
        lines.push(format!("record: {}:{}", result.file, result.line));
        let uses = findings
            .iter()
            .find(|it| it.uses.used > 1)
            .and_then(|it| uses_text(&it.uses));
        lines.extend(uses.map(|text| format!("used: {}", text.plain())));
    }
    lines.join("\n")
}

fn of_mistake(mistake: &Mistake) -> TestCase<'_> {
    let Mistake {
        code,
        file,
        line,
        column,
        message,
        help,
        ..
    } = mistake;
    let help = help.as_ref().map(|help| format!("\nhelp: {help}"));
    TestCase {
        name: format!("{file}:{line}:{column}: {code}"),
        file,
        verdict: Verdict::Error(message),
        kind: code,
        details: format!(
            "{file}:{line}:{column}: {code}: {message}{}",
            help.unwrap_or_default()
        ),
    }
}

/// Adds ` (2)` to the second of equal names: several records may have one URL and different bodies of
/// their requests.
fn number_equal_names(cases: &mut [TestCase<'_>]) {
    let mut taken = HashSet::new();
    for case in cases {
        let mut name = case.name.clone();
        let mut number = 2;
        while !taken.insert(name.clone()) {
            name = format!("{} ({number})", case.name);
            number += 1;
        }
        case.name = name;
    }
}

impl Totals {
    fn count<'a>(cases: impl IntoIterator<Item = &'a TestCase<'a>>) -> Self {
        let mut totals = Self::default();
        for case in cases {
            totals.tests += 1;
            match case.verdict {
                Verdict::Passed => {}
                Verdict::Failed(_) => totals.failures += 1,
                Verdict::Skipped(_) => totals.skipped += 1,
                Verdict::Error(_) => totals.errors += 1,
            }
        }
        totals
    }

    fn attributes(&self) -> [(&'static str, String); 4] {
        [
            ("tests", self.tests),
            ("failures", self.failures),
            ("errors", self.errors),
            ("skipped", self.skipped),
        ]
        .map(|(name, number)| (name, number.to_string()))
    }
}

fn pair<'a>((name, value): &'a (&'static str, String)) -> (&'a str, &'a str) {
    (name, value)
}

fn write_suite<W: Write>(
    xml: &mut Writer<W>,
    name: &str,
    cases: &[TestCase<'_>],
) -> io::Result<()> {
    let name = valid(name);
    xml.create_element("testsuite")
        .with_attribute(("name", &*name))
        .with_attributes(Totals::count(cases).attributes().iter().map(pair))
        .write_inner_content(|xml| {
            cases
                .iter()
                .try_for_each(|case| write_case(xml, &name, case))
        })?;
    Ok(())
}

fn write_case<W: Write>(xml: &mut Writer<W>, suite: &str, case: &TestCase<'_>) -> io::Result<()> {
    let element = xml
        .create_element("testcase")
        .with_attribute(("classname", suite))
        .with_attribute(("name", &*valid(&case.name)))
        .with_attribute(("file", &*valid(case.file)));
    let (outcome, message) = match &case.verdict {
        Verdict::Passed if case.details.is_empty() => {
            element.write_empty()?;
            return Ok(());
        }
        Verdict::Passed => ("system-out", None),
        Verdict::Failed(message) => ("failure", Some(message.as_str())),
        Verdict::Skipped(message) => ("skipped", Some(&**message)),
        Verdict::Error(message) => ("error", Some(*message)),
    };
    let message = message.map(valid);
    element.write_inner_content(|xml| {
        let mut element = xml.create_element(outcome);
        if let Some(message) = &message {
            element = element.with_attribute(("message", &**message));
            if outcome != "skipped" {
                element = element.with_attribute(("type", &*valid(case.kind)));
            }
        }
        element.write_text_content(BytesText::new(&valid(&case.details)))?;
        Ok(())
    })?;
    Ok(())
}

/// The text without characters that XML 1.0 forbids, or that could control a terminal or a log.
fn valid(text: &str) -> String {
    sanitize_lines(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
