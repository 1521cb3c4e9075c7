//! Checks the values of a record against their keys.

use urldb_canon::{Identity, PathError, identify, kind_of_held};
use urldb_text::{Code, Finding};

use crate::digest::{Algorithm, Digest};
use crate::entry::RecordEntry;
use crate::path_check::check_path;
use crate::value::{Mapping, Value};

/// The mistake in the path of a record.
pub(crate) fn check_path_of(entry: &RecordEntry) -> Option<Finding> {
    let path = &entry.record().path;
    if let Err((column, problem, help)) = check_path(path) {
        let finding = Finding::new(Code::BadPath, entry.line(), format!("the path {problem}"));
        return Some(finding.at_column("_path: ".len() + column).with_help(help));
    }
    let Err(PathError::NotCanonical {
        problem,
        suggestion,
        ..
    }) = urldb_canon::check_path(path)
    else {
        return None;
    };
    let message = format!("the path {problem}");
    let finding = Finding::new(Code::PathNotCanonical, entry.line(), message);
    Some(finding.with_help(format!(
        "`add` would write `{suggestion}`, and take that for another URL"
    )))
}

/// The mistake in the path of a record in the file of held URIs, where it is a whole URI.
pub(crate) fn check_uri_of(entry: &RecordEntry) -> Option<Finding> {
    let uri = &entry.record().path;
    if kind_of_held(uri).is_some() {
        return None;
    }
    let finding = |message: &str| Finding::new(Code::BadPath, entry.line(), message);
    Some(match identify(uri) {
        Ok(Identity { host, path, .. }) => {
            finding("runs can check the URL in the file of its host").with_help(format!(
                "move the record to {host}.yaml, with `_path: {path}`"
            ))
        }
        Err(_) => finding("the path is not a URI that can be held here").with_help(
            "write an absolute URI in ASCII and without a user name, such as `urn:isbn:0451450523`",
        ),
    })
}

/// Adds a finding for each wrong value of a record, but for its path.
pub(crate) fn check_values(entry: &RecordEntry, findings: &mut Vec<Finding>) {
    let record = entry.record();
    let line_of = |key: &str| entry.key_line(key).unwrap_or_else(|| entry.line());
    check_digests(entry, line_of, findings);
    if let Some(until) = &record.mute_until
        && record.muted_until().is_none()
    {
        let value = Value::from(until.as_str());
        let wanted = "a date such as `2026-12-24`";
        findings.push(bad_value(
            "mute-until",
            &value,
            wanted,
            line_of("mute-until"),
        ));
    }
    if let Some(status) = record.status
        && !(100..=599).contains(&status)
    {
        findings.push(bad_status(&status.to_string(), line_of("status")));
    }
    if let Some(scheme) = record.schemes.iter().find(|it| !is_scheme(it)) {
        let value = Value::from(scheme.as_str());
        findings.push(bad_value("schemes", &value, SCHEMES, line_of("schemes")));
    }
    if let Some(name) = record.source.iter().find(|name| !is_source_name(name)) {
        let value = Value::from(name.as_str());
        findings.push(bad_value("source", &value, SOURCES, line_of("source")));
    }
    for (key, value) in record.extra.iter() {
        findings.extend(check_misfit(key, value, || line_of(key)));
    }
}

/// Adds a finding for each digest that is none, or that no response can have.
fn check_digests(
    entry: &RecordEntry,
    line_of: impl Fn(&str) -> usize,
    findings: &mut Vec<Finding>,
) {
    let record = entry.record();
    let is_head = record.method.as_deref() == Some("HEAD");
    for algorithm in Algorithm::ALL {
        let Some(text) = record.digest(algorithm) else {
            continue;
        };
        let key = algorithm.key();
        let is_digest = |text: &str| Digest::from_hex(algorithm, text).is_some();
        if !is_digest(text) {
            let mut finding = Finding::new(Code::BadDigest, line_of(key), wanted_digest(algorithm));
            finding.help =
                is_digest(&text.to_ascii_lowercase()).then(|| "write it in lower case".to_owned());
            findings.push(finding);
        }
        if is_head {
            let message = format!("`{key}` never holds for HEAD, whose response has no body");
            let finding = Finding::new(Code::BadDigest, line_of(key), message);
            let help = "promise `content-length` alone, or remove `method: HEAD`";
            findings.push(finding.with_help(help));
        }
    }
}

/// The demand on the value of the key of a digest, for people.
fn wanted_digest(algorithm: Algorithm) -> String {
    let (key, digits) = (algorithm.key(), 2 * algorithm.length());
    format!("`{key}` should be {digits} lower-case hexadecimal digits")
}

/// The value of `schemes`, for people.
const SCHEMES: &str = "a list of `http` and `https`";

/// The value of `source`, for people.
const SOURCES: &str = "a list of names of `a-z`, `0-9` and `-`";

fn is_scheme(text: &str) -> bool {
    matches!(text, "http" | "https")
}

/// Whether a text is the name of a source.
pub(crate) fn is_source_name(text: &str) -> bool {
    let is_part = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-');
    !text.is_empty() && text.bytes().all(is_part)
}

/// The finding for a value in `extra` whose known key does not allow it.
fn check_misfit(key: &str, value: &Value, line: impl Fn() -> usize) -> Option<Finding> {
    if let Some(algorithm) = Algorithm::of_key(key) {
        let message = format!("{}, found {}", wanted_digest(algorithm), value.kind());
        return Some(Finding::new(Code::BadDigest, line(), message));
    }
    let wanted = match key {
        "content-length" => {
            let message = match value {
                Value::Text(text) => format!(
                    "`content-length` should be a number of bytes, found `{}`",
                    abridged(text)
                ),
                other => format!(
                    "`content-length` should be a number of bytes, found {}",
                    other.kind()
                ),
            };
            let help = "write it in decimal digits without sign or leading zero";
            return Some(Finding::new(Code::BadContentLength, line(), message).with_help(help));
        }
        "status" => {
            return Some(match value {
                Value::Text(text) => bad_status(&abridged(text), line()),
                Value::Int(number) => bad_status(&number.to_string(), line()),
                other => bad_status(other.kind(), line()),
            });
        }
        "categories" if *value == Value::List(Vec::new()) => return None,
        "categories" => "a list of texts",
        "request-headers" if value.as_map().is_some_and(Mapping::is_empty) => {
            return None;
        }
        "request-headers" => "a mapping of names to texts",
        "schemes" => SCHEMES,
        "source" => SOURCES,
        "catalogue" => "a mapping",
        "content-type"
        | "description"
        | "method"
        | "mute-reason"
        | "mute-until"
        | "name"
        | "redirects-to"
        | "request-body"
        | "request-content-type" => "text",
        _ => return None,
    };
    Some(bad_value(key, value, wanted, line()))
}

/// The finding for a value of the wrong kind.
pub(crate) fn bad_value(key: &str, value: &Value, wanted: &str, line: usize) -> Finding {
    let found = match value {
        Value::Text(text) if text.is_empty() => "nothing".to_owned(),
        Value::Text(text) if text.len() <= 40 => format!("`{text}`"),
        Value::List(items) if items.is_empty() => "an empty list".to_owned(),
        other => other.kind().to_owned(),
    };
    Finding::new(
        Code::BadValue,
        line,
        format!("`{key}` should be {wanted}, found {found}"),
    )
}

fn abridged(text: &str) -> String {
    if text.chars().count() <= 40 {
        text.to_owned()
    } else {
        text.chars().take(40).chain(['…']).collect()
    }
}

fn bad_status(found: &str, line: usize) -> Finding {
    let message = format!("`status` should be an HTTP status code, found `{found}`");
    Finding::new(Code::BadStatus, line, message).with_help("write three digits from 100 to 599")
}
