//! `--format sarif`: a report as results of a static analysis, in SARIF 2.1.0 (OASIS), for code
//! scanning: each finding is a result at the line of its record.
//!
//! GitHub's limits and requirements apply: each result has a location and a fingerprint of its own.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use data_encoding::HEXLOWER;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use urldb_protocol::{Envelope, Finding, Mistake, RunInfo, Severity, Shown};

use super::output::write_json_pretty;

/// Most results of a run that GitHub accepts.
const MOST: usize = 25_000;

/// Longest text of a description, in characters.
const LONGEST: usize = 1024;

/// Characters of a path that an artifact's URI escapes: all but the unreserved ones of RFC 3986 and
/// the separator.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// The folder of `urldb.toml`, to which all URIs are relative.
const BASE: &str = "%SRCROOT%";

/// The meaning of each code, for people.
const HELP: &str = include_str!("../../../docs/findings.md");

const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/findings.md");

/// Writes the report as indented JSON. `troubles` are errors of the run itself.
pub(super) fn write(
    out: &mut impl Write,
    envelope: &Envelope,
    troubles: &[String],
) -> io::Result<()> {
    write_json_pretty(out, &document(envelope, troubles))
}

fn document(envelope: &Envelope, troubles: &[String]) -> Value {
    let mut writer = ResultWriter::default();
    let mistakes = envelope.mistakes.iter().map(Source::Mistake);
    let findings = envelope.findings.iter().map(Source::Finding);
    let mut sources = mistakes.chain(findings);
    let results: Vec<Value> = sources
        .by_ref()
        .take(MOST)
        .map(|source| writer.result(&source))
        .collect();
    let mut notifications: Vec<Value> = troubles
        .iter()
        .map(|trouble| json!({ "level": "error", "message": { "text": inert(trouble) } }))
        .collect();
    let left_out = sources.count();
    if left_out > 0 {
        let text = format!("{left_out} more findings are not in this file, which has {MOST}.");
        notifications.push(json!({ "level": "warning", "message": { "text": text } }));
    }
    let run = &envelope.run;
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "urldb",
                "version": run.version,
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": writer.rules(),
            }},
            "automationDetails": { "id": automation_id(run) },
            "invocations": [{
                "executionSuccessful": troubles.is_empty(),
                "startTimeUtc": run.started.to_string(),
                "endTimeUtc": run.finished.to_string(),
                "toolExecutionNotifications": notifications,
            }],
            "originalUriBaseIds": { BASE: {
                "description": { "text": "The folder of urldb.toml." },
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

/// The category of the results, then the id of the run: a run over a part of the database must not
/// close the alerts of other parts.
fn automation_id(run: &RunInfo) -> String {
    match &run.selection {
        None => format!("urldb/{}", run.id),
        Some(selection) => format!("urldb {selection}/{}", run.id),
    }
}

enum Source<'a> {
    Finding(&'a Finding),
    Mistake(&'a Mistake),
}

impl Source<'_> {
    fn code(&self) -> &str {
        match self {
            Self::Finding(finding) => &finding.code,
            Self::Mistake(mistake) => &mistake.code,
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::Finding(finding) => finding.severity,
            Self::Mistake(_) => Severity::Error,
        }
    }

    /// A text that stays the same when lines move and messages change, for the fingerprint.
    fn identity(&self) -> String {
        match self {
            Self::Finding(finding) => format!("{}\n{}", finding.code, finding.name()),
            Self::Mistake(mistake) => {
                format!("{}\n{}\n{}", mistake.code, mistake.file, mistake.text)
            }
        }
    }
}

/// Collects the rules of the results, and tells equal results apart.
#[derive(Default)]
struct ResultWriter {
    /// The severity of each code that occurs, and its number in the list of rules.
    codes: BTreeMap<String, (usize, Severity)>,
    fingerprints: HashMap<String, u64>,
}

impl ResultWriter {
    fn result(&mut self, source: &Source<'_>) -> Value {
        let code = source.code().to_owned();
        let next = self.codes.len();
        let (index, _) = *self
            .codes
            .entry(code.clone())
            .or_insert((next, source.severity()));
        let fingerprint = self.fingerprint(source);
        let mut result = json!({
            "ruleId": code,
            "ruleIndex": index,
            "level": level(source.severity()),
            "partialFingerprints": { "primaryLocationLineHash": fingerprint },
        });
        match source {
            Source::Finding(finding) => add_finding(&mut result, finding),
            Source::Mistake(mistake) => add_mistake(&mut result, mistake),
        }
        result
    }

    /// The first half of a digest, and a counter for the results that share it: records of one URL
    /// may differ in the bodies of their requests.
    fn fingerprint(&mut self, source: &Source<'_>) -> String {
        let digest = Sha256::digest(source.identity());
        let digest = HEXLOWER.encode(&digest[..16]);
        let counter = self.fingerprints.entry(digest.clone()).or_default();
        *counter += 1;
        format!("{digest}:{counter}")
    }

    /// The rules in the order of their numbers.
    fn rules(&self) -> Vec<Value> {
        let mut codes: Vec<_> = self.codes.iter().collect();
        codes.sort_by_key(|(_, (index, _))| *index);
        codes
            .into_iter()
            .map(|(code, (_, severity))| rule(code, *severity))
            .collect()
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn rule(code: &str, severity: Severity) -> Value {
    let section = section(code).unwrap_or(code);
    let (first, _) = section.split_once(". ").unwrap_or((section, ""));
    let first: String = plain(first.trim_end_matches('.'))
        .chars()
        .take(LONGEST - code.len() - 3)
        .collect();
    json!({
        "id": code,
        "shortDescription": { "text": format!("{code}: {first}") },
        "fullDescription": { "text": format!("{first}.") },
        "help": { "text": plain(section), "markdown": with_absolute_links(section) },
        "helpUri": format!("{PAGE}#{code}"),
        "defaultConfiguration": { "level": level(severity) },
        "properties": { "problem.severity": level(severity), "precision": "very-high" },
    })
}

/// The section of docs/findings.md about a code.
fn section(code: &str) -> Option<&'static str> {
    let heading = format!("\n### `{code}`\n");
    let (_, section) = HELP.split_once(&*heading)?;
    let section = section.split("\n#").next()?.trim();
    (!section.is_empty()).then_some(section)
}

/// Markdown without its links and code spans.
fn plain(markdown: &str) -> String {
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        let parts = link
            .split_once("](")
            .and_then(|(name, after)| Some((name, after.split_once(')')?.1)));
        match parts {
            Some((name, after)) if !name.contains(']') => {
                text.push_str(name);
                rest = after;
            }
            _ => {
                text.push('[');
                rest = link;
            }
        }
    }
    (text + rest).replace('`', "")
}

/// Links of docs/findings.md lead to its published form.
fn with_absolute_links(markdown: &str) -> String {
    let folder = PAGE.trim_end_matches("findings.md");
    let mut text = String::new();
    let mut rest = markdown;
    while let Some((before, target)) = rest.split_once("](") {
        text.push_str(before);
        text.push_str("](");
        if target.starts_with('#') {
            text.push_str(PAGE);
        } else if !target.starts_with("https://") {
            text.push_str(folder);
        }
        rest = target;
    }
    text + rest
}

fn add_finding(result: &mut Value, finding: &Finding) {
    let mut text = format!("{}.", finding.text());
    if finding.pending {
        text.push_str(" No second run has confirmed this yet.");
    }
    result["message"] = json!({ "text": inert(&text) });
    let mut location = location(&finding.file, finding.line, 1);
    location["logicalLocations"] = json!([{ "fullyQualifiedName": finding.name() }]);
    result["locations"] = json!([location]);
    let others: Vec<Value> = finding
        .uses
        .locations
        .iter()
        .skip(1)
        .enumerate()
        .map(|(index, at)| {
            let mut location = self::location(&at.file, at.line, 1);
            location["id"] = json!(index + 1);
            location
        })
        .collect();
    if !others.is_empty() {
        result["relatedLocations"] = others.into();
    }
    if finding.muted {
        result["suppressions"] = json!([{
            "kind": "inSource",
            "justification": "The record's mute-until is in the future.",
        }]);
    }
    let mut properties: Map<String, Value> = [
        ("state", Some(finding.state.to_string())),
        ("reason", finding.reason.clone()),
        ("promised", finding.expected.as_ref().map(Shown::to_string)),
        ("observed", finding.observed.as_ref().map(Shown::to_string)),
        ("since", finding.since.map(|since| since.to_string())),
    ]
    .into_iter()
    .filter_map(|(name, fact)| Some((name.to_owned(), fact?.into())))
    .collect();
    properties.insert("url".to_owned(), finding.url.clone().into());
    properties.insert("attempts".to_owned(), finding.attempts.into());
    properties.insert("pending".to_owned(), finding.pending.into());
    result["properties"] = properties.into();
}

fn add_mistake(result: &mut Value, mistake: &Mistake) {
    let help = mistake.help.as_ref().map(|help| format!(" Help: {help}."));
    let text = format!("{}.{}", mistake.message, help.unwrap_or_default());
    result["message"] = json!({ "text": inert(&text) });
    result["locations"] = json!([location(&mistake.file, mistake.line, mistake.column)]);
}

/// One character of a file. The end is exclusive.
fn location(file: &str, line: usize, column: usize) -> Value {
    let (line, column) = (line.max(1), column.max(1));
    json!({ "physicalLocation": {
        "artifactLocation": {
            "uri": utf8_percent_encode(file, ESCAPED).to_string(),
            "uriBaseId": BASE,
        },
        "region": {
            "startLine": line,
            "startColumn": column,
            "endLine": line,
            "endColumn": column + 1,
        },
    }})
}

/// Text in which nothing is a link (section 3.11.6) or a placeholder (section 3.11.5).
fn inert(text: &str) -> String {
    text.replace("](", "] (")
        .replace('{', "{{")
        .replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use urldb_protocol::State;
    use urldb_text::Code;
    use urldb_verdict::Warning;

    use super::*;

    #[test]
    fn every_code_has_help() {
        let states = State::ALL.map(State::as_str).into_iter();
        let warnings = Warning::ALL.map(Warning::as_str).into_iter();
        let mistakes = Code::ALL.iter();
        let mistakes = mistakes
            .filter(|code| {
                matches!(
                    code.subject(),
                    urldb_text::Subject::DomainFile | urldb_text::Subject::List
                )
            })
            .map(|code| code.as_str());
        let codes = states.chain(warnings).chain(mistakes);
        for code in codes.chain([crate::report::ALIAS_DIFFERS]) {
            assert!(section(code).is_some(), "{code}");
            let rule = rule(code, Severity::Error);
            for text in ["shortDescription", "fullDescription", "help"] {
                let text = rule[text]["text"].as_str().unwrap();
                let is_sentence = text.chars().any(char::is_alphabetic);
                assert!(is_sentence && !text.contains("]("), "{code}: {text}");
                assert!(text.chars().count() <= LONGEST, "{code}: {text}");
            }
            let markdown = rule["help"]["markdown"].as_str().unwrap();
            let targets = markdown.split("](").skip(1);
            assert!(
                targets
                    .into_iter()
                    .all(|target| target.starts_with("https://"))
            );
        }
    }

    #[test]
    fn text_is_inert_and_paths_are_escaped() {
        assert_eq!(inert("[a](javascript:x) {0}"), "[a] (javascript:x) {{0}}");
        let place = location("urldb/a b:c%é.yaml", 0, 0);
        let place = &place["physicalLocation"];
        assert_eq!(
            place["artifactLocation"]["uri"],
            "urldb/a%20b%3Ac%25%C3%A9.yaml"
        );
        assert_eq!(place["region"]["startLine"], 1);
        assert_eq!(place["region"]["endColumn"], 2);
    }
}
