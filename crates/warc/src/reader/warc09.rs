//! Heads of WARC 0.9 (the draft of January 2006, section 5): a line of positional parameters, then named
//! parameters. The stated length is that of head and block together.

use super::error::ReadErrorKind;
use super::head::{Head, Lines, beginning, read_fields};
use crate::finding::FindingCode;
use crate::header::date::timestamp_to_date;
use crate::header::id::strip_brackets;
use crate::header::version::{NAMES_09, RELATED_09, profile_from_09, related_field};
use crate::header::{Header, RecordType, Version, WarcDate};
use crate::render::{type_in_09, without_blanks};

/// Reads a head that is all of `bytes`.
pub(super) fn read(bytes: &[u8]) -> Result<Head, ReadErrorKind> {
    let mut lines = Lines::new(bytes);
    let line = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let mut deviations = Vec::new();
    let parameters = Parameters::parse(&line).ok_or_else(|| ReadErrorKind::NoRecord {
        found: beginning(&line),
    })?;
    if !parameters.version.eq_ignore_ascii_case("warc/0.9") {
        deviations.push(FindingCode::UnknownVersion);
    }
    if parameters.uri.contains([' ', '\t']) {
        deviations.push(FindingCode::UriSpace);
    }
    let head = bytes.len() as u64;
    let block = parameters
        .length
        .and_then(|length| length.checked_sub(head))
        .ok_or(ReadErrorKind::NoLength)?;
    let date = timestamp_to_date(parameters.date).unwrap_or_else(|| {
        deviations.push(FindingCode::DateForm);
        parameters.date.to_owned()
    });
    let mut named = Header::default();
    read_fields(&mut lines, &mut named, &mut deviations);
    let kind = parameters.record_type;
    let mut header = Header::default();
    header.push_read("WARC-Type", kind);
    header.push_read("WARC-Record-ID", &format!("<{}>", parameters.id));
    push_in_full(&mut header, &mut named, ("WARC-Date", &date), |full| {
        WarcDate::first_moment_of(full).is_some_and(|full| full.to_seconds().as_str() == date)
    });
    let uri = ("WARC-Target-URI", parameters.uri);
    push_in_full(&mut header, &mut named, uri, |full| {
        without_blanks(strip_brackets(full)) == parameters.uri
    });
    let content_type = ("Content-Type", parameters.content_type);
    push_in_full(&mut header, &mut named, content_type, |full| {
        type_in_09(kind, full) == parameters.content_type
    });
    for (name, value) in named.iter() {
        push_named(&mut header, kind, name, value);
    }
    let is_revisit = header.record_type() == Some(RecordType::Revisit);
    if is_revisit && header.get("WARC-Profile").is_none() {
        let profile = profile_from_09(&header);
        header.push_read("WARC-Profile", profile);
    }
    header.push_read("Content-Length", &block.to_string());
    Ok(Head {
        version: Version::Warc09,
        header,
        block,
        length: bytes.len(),
        deviations,
    })
}

/// Adds a positional parameter. A value that does not fit there in full may be repeated as a field under
/// its later name, for which `is_same` is true; then that value counts, and the field is removed.
fn push_in_full(
    header: &mut Header,
    named: &mut Header,
    (name, value): (&str, &str),
    is_same: impl Fn(&str) -> bool,
) {
    match named.get(name).filter(|full| is_same(full)) {
        Some(full) => {
            header.push_read(name, full);
            named.remove_first(name);
        }
        None => header.push_read(name, value),
    }
}

/// Adds a named parameter under its later name. Ids get angle brackets.
fn push_named(header: &mut Header, record_type: &str, name: &str, value: &str) {
    let known = NAMES_09
        .into_iter()
        .find(|(old, _)| old.eq_ignore_ascii_case(name));
    let is_id = |old: &str| old.ends_with("-ID") && !value.starts_with('<');
    match known {
        Some((old, new)) if is_id(old) => header.push_read(new, &format!("<{value}>")),
        Some((_, new)) => header.push_read(new, value),
        None if name.eq_ignore_ascii_case(RELATED_09) => {
            header.push_read(related_field(record_type), &format!("<{value}>"));
        }
        None => header.push_read(name, value),
    }
}

/// The parameters of the first line.
struct Parameters<'a> {
    version: &'a str,
    length: Option<u64>,
    record_type: &'a str,
    uri: &'a str,
    date: &'a str,
    content_type: &'a str,
    id: &'a str,
}

impl<'a> Parameters<'a> {
    /// Splits a line at runs of blanks. Additional words belong to the URI, because only the URI comes
    /// from outside the archiving program.
    fn parse(line: &'a str) -> Option<Self> {
        const BLANK: [char; 2] = [' ', '\t'];
        let mut rest = line.trim_matches(BLANK);
        let mut first = || {
            let (word, more) = rest.split_once(BLANK)?;
            rest = more.trim_start_matches(BLANK);
            Some(word)
        };
        let (version, length, record_type) = (first()?, first()?, first()?);
        let mut last = || {
            let (more, word) = rest.rsplit_once(BLANK)?;
            rest = more.trim_end_matches(BLANK);
            Some(word)
        };
        let (id, content_type, date) = (last()?, last()?, last()?);
        let digits = length.bytes().all(|b| b.is_ascii_digit());
        Some(Self {
            version,
            length: digits.then(|| length.parse().ok())?,
            record_type,
            uri: rest,
            date,
            content_type,
            id,
        })
    }
}
