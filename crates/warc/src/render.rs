//! Renders a record's header in each version.
//!
//! WARC/1.1 needs no translation. WARC/1.0 has dates to the second only, and its own URIs for the
//! profiles of revisits. WARC 0.9 begins with a line of positional parameters (section 5.1 of the
//! draft). A value that does not fit there in full, such as a date with a fraction or a content type
//! with parameters, follows as a named field under its later name; so do fields that the draft does
//! not define. [`to_warc11_header`](crate::convert::to_warc11_header) is the reverse.

use std::borrow::Cow;

use crate::draft::{HTTP_REQUEST, HTTP_RESPONSE, NOT_MODIFIED_PROFILE};
use crate::header::id::strip_brackets;
use crate::header::version::{NAMES_09, RELATED_09, profile_from_09, related_field};
use crate::header::{Header, MAX_RECORD_HEADER, RecordType, Version, WarcDate};
use crate::writer::WriteErrorKind;

pub(crate) const PROFILES_11: &str = "http://netpreserve.org/warc/1.1/";

pub(crate) const PROFILES_10: &str = "http://netpreserve.org/warc/1.0/";

/// The prefix of the subject of a WARC 0.9 `warcinfo` record; the file's name follows.
pub(crate) const FILEDESC: &str = "filedesc:";

pub(crate) const MESSAGE_HTTP: &str = "message/http";

/// The content type of a WARC 0.9 record whose type is not known; the version requires one.
pub(crate) const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Renders the header through its blank line. `Content-Length` is added if there is none.
pub(crate) fn render(
    header: &Header,
    version: Version,
    block_length: u64,
) -> Result<Vec<u8>, WriteErrorKind> {
    if let Some(stated) = header.get("Content-Length")
        && header.content_length() != Some(block_length)
    {
        return Err(WriteErrorKind::LengthConflict {
            stated: stated.to_owned(),
            announced: block_length,
        });
    }
    let text = match version {
        Version::Warc11 | Version::Warc10 => with_names(header, version, block_length),
        Version::Warc09 => with_positions(header, block_length)?,
        Version::Arc | Version::Warc017 | Version::Warc018 => {
            return Err(WriteErrorKind::Version(version));
        }
    };
    if text.len() > MAX_RECORD_HEADER {
        return Err(WriteErrorKind::HeaderTooLong);
    }
    Ok(text.into_bytes())
}

fn with_names(header: &Header, version: Version, block_length: u64) -> String {
    let mut text = format!("{version}\r\n");
    for (name, value) in header.iter() {
        let value = match version {
            Version::Warc10 => value_in_10(name, value),
            _ => Cow::Borrowed(value),
        };
        push_field(&mut text, name, &value);
    }
    if header.get("Content-Length").is_none() {
        push_field(&mut text, "Content-Length", &block_length.to_string());
    }
    text.push_str("\r\n");
    text
}

fn value_in_10<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if is_one_of(name, &["WARC-Date", "WARC-Refers-To-Date"]) {
        let date = WarcDate::first_moment_of(value);
        return date.map_or(Cow::Borrowed(value), |date| {
            Cow::Owned(date.to_seconds().as_str().to_owned())
        });
    }
    match value.strip_prefix(PROFILES_11) {
        Some(profile) if name.eq_ignore_ascii_case("WARC-Profile") => {
            Cow::Owned(format!("{PROFILES_10}{profile}"))
        }
        _ => Cow::Borrowed(value),
    }
}

/// `warc/0.9 LENGTH TYPE SUBJECT DATE CONTENT-TYPE ID`, then the named fields.
fn with_positions(header: &Header, block_length: u64) -> Result<String, WriteErrorKind> {
    let needed = |field| parameter(header, field).ok_or(WriteErrorKind::MissingField { field });
    let kind = needed("WARC-Type")?;
    let id = strip_brackets(needed("WARC-Record-ID")?);
    let field = "WARC-Date";
    let date =
        WarcDate::first_moment_of(needed(field)?).ok_or(WriteErrorKind::MissingField { field })?;
    let subject = subject(header, id);
    let content_type = type_in_09(kind, header.get("Content-Type").unwrap_or_default());
    let mut text = format!(
        " {kind} {subject} {} {content_type} {id}\r\n",
        date.to_timestamp14()
    );
    for (name, value) in header.iter() {
        let is_positional = match name.to_ascii_lowercase().as_str() {
            "warc-type" | "warc-record-id" | "content-length" => true,
            "warc-target-uri" => strip_brackets(value) == subject,
            "warc-filename" => subject.strip_prefix(FILEDESC) == Some(value),
            "warc-date" => date.to_seconds().as_str() == value,
            "content-type" => type_from_09(kind, &content_type) == value,
            // The version has no profiles; without a digest, a reader derives this one.
            "warc-profile" => {
                header.record_type() == Some(RecordType::Revisit)
                    && value == NOT_MODIFIED_PROFILE
                    && value == profile_from_09(header)
            }
            _ => false,
        };
        if !is_positional {
            let (name, value) = field_in_09(kind, name, value);
            push_field(&mut text, name, value);
        }
    }
    text.push_str("\r\n");
    Ok(with_total_length(&text, block_length))
}

/// Adds the length. WARC 0.9 states the length of header and block, including its own digits.
fn with_total_length(rest: &str, block_length: u64) -> String {
    let begin = "warc/0.9 ";
    let others = ((begin.len() + rest.len()) as u64).saturating_add(block_length);
    let total = (1..=20u64)
        .map(|digits| others.saturating_add(digits))
        .find(|total| others.saturating_add(total.to_string().len() as u64) == *total);
    // Some number of digits always fits.
    format!("{begin}{}{rest}", total.unwrap_or(others))
}

/// The value of a field, if it can be a positional parameter: not empty, and without blanks.
fn parameter<'a>(header: &'a Header, field: &str) -> Option<&'a str> {
    header
        .get(field)
        .filter(|value| !value.is_empty() && !value.contains(char::is_whitespace))
}

/// The subject: the record's URI; of a `warcinfo` record its file; otherwise the record's own id.
fn subject<'a>(header: &'a Header, id: &'a str) -> Cow<'a, str> {
    if let Some(uri) = header.target_uri().filter(|uri| !uri.is_empty()) {
        return Cow::Owned(without_blanks(uri));
    }
    match parameter(header, "WARC-Filename") {
        Some(name) if header.record_type() == Some(RecordType::Warcinfo) => {
            Cow::Owned(format!("{FILEDESC}{name}"))
        }
        _ => Cow::Borrowed(id),
    }
}

/// The URI with blanks percent-encoded, for a positional parameter.
pub(crate) fn without_blanks(uri: &str) -> String {
    uri.split(char::is_whitespace)
        .collect::<Vec<_>>()
        .join("%20")
}

/// The content type in WARC 0.9, without parameters: `message/http` for HTTP messages, and
/// [`UNKNOWN_TYPE`] for a record without a content type.
pub(crate) fn type_in_09(kind: &str, stated: &str) -> String {
    if !stated.is_empty() && stated == http_type(kind) {
        return MESSAGE_HTTP.to_owned();
    }
    let essence = stated.split(';').next().unwrap_or_default().trim();
    if essence.is_empty() || essence.contains(char::is_whitespace) {
        UNKNOWN_TYPE.to_owned()
    } else {
        essence.to_owned()
    }
}

/// The later name of a WARC 0.9 content type.
pub(crate) fn type_from_09<'a>(kind: &str, content_type: &'a str) -> &'a str {
    match content_type {
        MESSAGE_HTTP if !http_type(kind).is_empty() => http_type(kind),
        other => other,
    }
}

/// The content type of an HTTP message in a record of this type; empty if the type has none.
fn http_type(kind: &str) -> &'static str {
    match RecordType::from_name(kind) {
        Some(RecordType::Request) => HTTP_REQUEST,
        Some(RecordType::Response | RecordType::Revisit) => HTTP_RESPONSE,
        _ => "",
    }
}

/// A named field as in WARC 0.9, whose ids have no angle brackets.
fn field_in_09<'a>(kind: &str, name: &'a str, value: &'a str) -> (&'a str, &'a str) {
    if related_field(kind).eq_ignore_ascii_case(name) {
        return (RELATED_09, strip_brackets(value));
    }
    let known = NAMES_09
        .into_iter()
        .find(|(_, new)| new.eq_ignore_ascii_case(name));
    match known {
        Some((old, _)) => (old, strip_brackets(value)),
        None => (name, value),
    }
}

fn push_field(text: &mut String, name: &str, value: &str) {
    text.extend([name, ": ", value, "\r\n"]);
}

fn is_one_of(text: &str, names: &[&str]) -> bool {
    names.iter().any(|name| name.eq_ignore_ascii_case(text))
}
