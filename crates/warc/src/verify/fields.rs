//! Checks the header of a record, by its version and type.

use super::references::IDENTICAL_PROFILE_END;
use super::report::RecordFindings;
use crate::finding::FindingCode;
use crate::header::date::timestamp_to_date;
use crate::header::{Header, RecordId, RecordType, Version, WarcDate};

/// The fields that the standard allows once. Fields of extensions, such as `WARC-Protocol`, may be
/// repeated.
const UNIQUE: [&str; 20] = [
    "WARC-Record-ID",
    "Content-Length",
    "WARC-Date",
    "WARC-Type",
    "Content-Type",
    "WARC-Block-Digest",
    "WARC-Payload-Digest",
    "WARC-IP-Address",
    "WARC-Refers-To",
    "WARC-Refers-To-Target-URI",
    "WARC-Refers-To-Date",
    "WARC-Target-URI",
    "WARC-Truncated",
    "WARC-Warcinfo-ID",
    "WARC-Filename",
    "WARC-Profile",
    "WARC-Identified-Payload-Type",
    "WARC-Segment-Origin-ID",
    "WARC-Segment-Number",
    "WARC-Segment-Total-Length",
];

/// Fields whose value is a record id.
const IDS: [&str; 5] = [
    "WARC-Record-ID",
    "WARC-Concurrent-To",
    "WARC-Refers-To",
    "WARC-Warcinfo-ID",
    "WARC-Segment-Origin-ID",
];

/// Reports findings about the fields.
pub(super) fn check(version: Version, header: &Header, findings: &mut RecordFindings<'_>) {
    let kind = header.record_type();
    if kind.is_none() && header.get("WARC-Type").is_some() {
        let kind = header.get("WARC-Type").unwrap_or_default();
        findings.add(
            FindingCode::TypeUnknown,
            format!("{kind:?} is no type of record"),
        );
    }
    for name in mandatory(version, kind, header) {
        if header.get(name).is_none_or(str::is_empty) {
            let kind = kind.map_or("record", RecordType::name);
            findings.add(
                FindingCode::FieldMissing,
                format!("a {kind} must have {name}"),
            );
        }
    }
    for name in ["WARC-Date", "WARC-Refers-To-Date"] {
        if let Some(date) = header.get(name) {
            check_date(version, name, date, findings);
        }
    }
    check_forms(header, findings);
    check_repeated(header, findings);
}

/// The mandatory fields: WARC/1.1 §5 and §6; WARC 0.9 draft, section 5.2. ARC has all fields in its line.
fn mandatory(
    version: Version,
    kind: Option<RecordType>,
    header: &Header,
) -> impl Iterator<Item = &'static str> {
    use RecordType as T;
    let always: &[_] = match version {
        Version::Arc => &[],
        _ => &["WARC-Type", "WARC-Record-ID", "WARC-Date", "Content-Length"],
    };
    let by_type: &[_] = match (kind, version) {
        (_, Version::Arc) => &[],
        // A converted revisit may name its original as later versions do: by URI and date, or by digest.
        (Some(T::Revisit | T::Conversion), Version::Warc09)
            if header.get("WARC-Refers-To-Target-URI").is_none()
                && header.get("WARC-Payload-Digest").is_none() =>
        {
            &["WARC-Target-URI", "WARC-Refers-To"]
        }
        (Some(T::Revisit), _) => &["WARC-Target-URI", "WARC-Profile"],
        (Some(T::Response | T::Resource | T::Request | T::Conversion), _) => &["WARC-Target-URI"],
        (Some(T::Continuation), _) => &[
            "WARC-Target-URI",
            "WARC-Segment-Origin-ID",
            "WARC-Segment-Number",
        ],
        _ => &[],
    };
    let identical = kind == Some(T::Revisit)
        && header
            .get("WARC-Profile")
            .is_some_and(|profile| profile.ends_with(IDENTICAL_PROFILE_END));
    let by_profile = identical.then_some("WARC-Payload-Digest");
    always.iter().chain(by_type).copied().chain(by_profile)
}

fn check_date(version: Version, name: &str, date: &str, findings: &mut RecordFindings<'_>) {
    let exact = date.parse::<WarcDate>().is_ok();
    let code = if exact && version < Version::Warc11 && date.contains('.') {
        FindingCode::DateForm
    } else if exact || (version == Version::Warc11 && is_reduced(date)) {
        return;
    } else if timestamp_to_date(date).is_some() || is_reduced(date) {
        FindingCode::DateForm
    } else {
        FindingCode::Date
    };
    // The reader has already reported dates of ARC and WARC 0.9.
    if code == FindingCode::Date || version > Version::Warc09 {
        findings.add(code, format!("{name} is {date:?}"));
    }
}

/// Whether the date has reduced precision (WARC/1.1 §5.4): year, month, day or minute.
fn is_reduced(date: &str) -> bool {
    let fill = |rest: &str| format!("{date}{rest}").parse::<WarcDate>().is_ok();
    let minute = || {
        let date = date.strip_suffix('Z')?;
        Some(format!("{date}:00Z").parse::<WarcDate>().is_ok())
    };
    match date.len() {
        4 => fill("-01-01T00:00:00Z"),
        7 => fill("-01T00:00:00Z"),
        10 => fill("T00:00:00Z"),
        17 => minute() == Some(true),
        _ => false,
    }
}

fn check_forms(header: &Header, findings: &mut RecordFindings<'_>) {
    let mut invalid = |name: &str, value: &str| {
        let value: String = value.chars().take(80).collect();
        findings.add(FindingCode::FieldInvalid, format!("{name} is {value:?}"));
    };
    for (name, value) in header.iter() {
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        let good = if IDS.iter().any(is) {
            value.parse::<RecordId>().is_ok()
        } else if is(&"WARC-IP-Address") {
            value.parse::<std::net::IpAddr>().is_ok()
        } else if is(&"WARC-Segment-Number") || is(&"WARC-Segment-Total-Length") {
            !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit())
        } else {
            true
        };
        if !good {
            invalid(name, value);
        }
    }
}

fn check_repeated(header: &Header, findings: &mut RecordFindings<'_>) {
    for unique in UNIQUE {
        let is_it = |(name, _): &(&str, &str)| name.eq_ignore_ascii_case(unique);
        if header.iter().filter(is_it).nth(1).is_some() {
            findings.add(
                FindingCode::FieldRepeated,
                format!("{unique} is there more than once"),
            );
        }
    }
}
