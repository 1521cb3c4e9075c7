//! The fields that the specification defines, and their valid values (section 3).

use jiff::civil::DateTime;
use urldb_canon::is_uri;

/// A field that section 3 of the specification defines.
#[derive(Debug)]
pub struct StandardField {
    /// The exact name.
    pub name: &'static str,
    /// The section that defines the field.
    pub section: &'static str,
    /// Whether a record without this field is discarded.
    pub is_required: bool,
    /// The kind of value, to follow "it must be" in a message.
    pub wanted: &'static str,
    is_valid: fn(&str) -> bool,
}

/// All standard fields, in the order of the specification's first example. The writer uses this order.
pub const STANDARD_FIELDS: [StandardField; 9] = [
    required("URI", "3.1", "an absolute URI (RFC 3986)", is_uri),
    required("NAME", "3.2", "text", |_| true),
    optional("ID", "3.9", "a positive decimal integer", |value| {
        number(value).is_some()
    }),
    required("DATE", "3.3", "a date, DD/MM/YYYY hh:mm:ss", |value| {
        parse_date(value).is_some()
    }),
    optional("CATEGORY", "3.4", "text", |_| true),
    optional("DESCRIPTION", "3.5", "text", |_| true),
    optional("RATING", "3.6", "an integer from 1 to 5", |value| {
        matches!(value.as_bytes(), [b'1'..=b'5'])
    }),
    optional("LANGUAGE", "3.7", "a language tag (RFC 3066)", is_language),
    optional("TYPE", "3.8", "a media type (RFC 2046)", is_media_type),
];

const fn required(
    name: &'static str,
    section: &'static str,
    wanted: &'static str,
    is_valid: fn(&str) -> bool,
) -> StandardField {
    StandardField {
        name,
        section,
        is_required: true,
        wanted,
        is_valid,
    }
}

const fn optional(
    name: &'static str,
    section: &'static str,
    wanted: &'static str,
    is_valid: fn(&str) -> bool,
) -> StandardField {
    StandardField {
        is_required: false,
        ..required(name, section, wanted, is_valid)
    }
}

impl StandardField {
    /// The standard field with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        STANDARD_FIELDS.iter().find(|field| field.name == name)
    }

    /// Whether the value, for which [`is_value`] holds, is valid in this field.
    pub fn takes(&self, value: &str) -> bool {
        (self.is_valid)(value)
    }
}

/// Whether a byte is allowed in a document (2.1.1). The codes there are decimal, so a tab is not.
pub(crate) fn is_allowed(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | b' '..=b'~')
}

/// Whether the text is a valid field name (2.1.3).
pub fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !text.is_empty() && text.bytes().all(allowed)
}

/// Whether the text is a valid value of some field (2.1.1, 2.2).
pub fn is_value(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// The date and time of a DATE, in UTC (3.3); `None` for a leap second.
pub fn parse_date(text: &str) -> Option<DateTime> {
    let shape = text
        .bytes()
        .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    if !shape.eq(*b"00/00/0000 00:00:00") {
        return None;
    }
    let part = |range: std::ops::Range<usize>| text.get(range)?.parse::<i8>().ok();
    let year = text.get(6..10)?.parse().ok()?;
    let (hour, minute, second) = (part(11..13)?, part(14..16)?, part(17..19)?);
    DateTime::new(year, part(3..5)?, part(0..2)?, hour, minute, second, 0).ok()
}

/// Formats a DATE. Years outside of 0 to 9999 become the nearest of these.
pub fn format_date(date: DateTime) -> String {
    let year = date.year().clamp(0, 9999);
    format!(
        "{:02}/{:02}/{year:04} {:02}:{:02}:{:02}",
        date.day(),
        date.month(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

/// The digits of a positive decimal integer without leading zeros; `None` if the text is not one.
/// To compare two such integers, compare length and then digits.
pub fn number(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches('0');
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(digits)
}

/// Whether the text is a language tag (RFC 3066): two or three letters, or `i` or `x` and another
/// subtag; then subtags of up to eight characters.
fn is_language(text: &str) -> bool {
    let mut parts = text.split('-');
    let primary = parts.next().unwrap_or_default();
    let letters = primary.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_private = matches!(primary, "i" | "I" | "x" | "X") && text.len() > 2;
    let fits = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    letters && (matches!(primary.len(), 2 | 3) || is_private) && parts.all(fits)
}

/// Whether the text is `type/subtype`, optionally with parameters.
fn is_media_type(text: &str) -> bool {
    let mut parts = text.split(';');
    let is_essence = parts
        .next()
        .unwrap_or_default()
        .trim_end_matches(' ')
        .split_once('/')
        .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype));
    let is_parameter = |part: &str| {
        part.trim_matches(' ')
            .split_once('=')
            .is_some_and(|(name, value)| {
                let quoted = value
                    .strip_prefix('"')
                    .and_then(|rest| rest.strip_suffix('"'));
                is_token(name)
                    && (is_token(value) || quoted.is_some_and(|text| !text.contains('"')))
            })
    };
    is_essence && parts.all(is_parameter)
}

/// Whether the text is a `token` of RFC 2045, 5.1.
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_graphic() && !b"()<>@,;:\\\"/[]?=".contains(&byte);
    !text.is_empty() && text.bytes().all(allowed)
}
