//! The parameters of a body as pywb writes them; form parts as `urlencode` and `cgi.FieldStorage` of
//! Python write them.

use std::fmt::Write as _;

use super::compat::Compat;
use super::encode::{self, percent_plus};
use super::limits::PRACTICAL_LENGTH;
use super::multipart::{self, BodyPart, PartContent};
use super::{json, json_parameters};

/// The parameters of a body, at most [`PRACTICAL_LENGTH`] characters; nothing for an empty body, or
/// for methods other than POST and PUT. `method` is in upper case.
pub(super) fn parameters(method: &str, content_type: &str, body: &[u8]) -> String {
    if body.is_empty() || !matches!(method, "POST" | "PUT") {
        return String::new();
    }
    whole_parameters(content_type, body)
        .chars()
        .take(PRACTICAL_LENGTH)
        .collect()
}

fn whole_parameters(content_type: &str, body: &[u8]) -> String {
    let is = |prefix| content_type.starts_with(prefix);
    let binary = || encode::binary(body);
    let json = || json::parse(body, Compat::Pywb).and_then(|value| json_parameters::pywb(&value));
    if is("application/x-www-form-urlencoded") {
        std::str::from_utf8(body).map_or_else(|_| binary(), encode::unquote_plus)
    } else if is("multipart/") {
        multipart::parse(content_type, body).map_or_else(binary, |form| urlencode(&form.parts))
    } else if is("application/json") {
        json().unwrap_or_default()
    } else if is("text/plain") {
        json().unwrap_or_else(binary)
    } else {
        binary()
    }
}

/// The form as a query. A part without a name gets the name `None`.
pub(super) fn urlencode(parts: &[BodyPart<'_>]) -> String {
    let mut pairs = Vec::new();
    for part in parts {
        let name = percent_plus(part.name.as_deref().unwrap_or("None").as_bytes());
        let mut push = |value: &[u8]| pairs.push(format!("{name}={}", percent_plus(value)));
        match &part.content {
            PartContent::Bytes(file) if part.filename.is_some() => push(file),
            PartContent::Bytes(value) => push(String::from_utf8_lossy(value).as_bytes()),
            PartContent::Parts(parts) => {
                for part in parts {
                    push(field_storage_repr(part).as_bytes());
                }
            }
        }
    }
    pairs.join("&")
}

/// `repr` of a `FieldStorage`.
fn field_storage_repr(part: &BodyPart<'_>) -> String {
    let text = |text: &Option<String>| text.as_deref().map_or("None".to_owned(), str_repr);
    let value = match &part.content {
        PartContent::Bytes(file) if part.filename.is_some() => bytes_repr(file),
        PartContent::Bytes(value) => str_repr(&String::from_utf8_lossy(value)),
        PartContent::Parts(parts) => {
            let parts: Vec<String> = parts.iter().map(field_storage_repr).collect();
            format!("[{}]", parts.join(", "))
        }
    };
    let (name, filename) = (text(&part.name), text(&part.filename));
    format!("FieldStorage({name}, {filename}, {value})")
}

/// `repr` of a `str`.
fn str_repr(text: &str) -> String {
    let quote = quote(text.contains('\''), text.contains('"'));
    let mut repr = String::from(quote);
    for character in text.chars() {
        match character {
            '\0'..='\x7f' => push_ascii(&mut repr, character, quote),
            '\u{80}'..='\u{a0}' | '\u{ad}' => {
                // Writing to a string does not fail.
                let _ = write!(repr, "\\x{:02x}", u32::from(character));
            }
            _ => repr.push(character),
        }
    }
    repr.push(quote);
    repr
}

/// `repr` of `bytes`.
fn bytes_repr(bytes: &[u8]) -> String {
    let quote = quote(bytes.contains(&b'\''), bytes.contains(&b'"'));
    let mut repr = format!("b{quote}");
    for &byte in bytes {
        if byte.is_ascii() {
            push_ascii(&mut repr, char::from(byte), quote);
        } else {
            let _ = write!(repr, "\\x{byte:02x}");
        }
    }
    repr.push(quote);
    repr
}

fn quote(has_single: bool, has_double: bool) -> char {
    if has_single && !has_double { '"' } else { '\'' }
}

fn push_ascii(repr: &mut String, character: char, quote: char) {
    match character {
        '\n' => repr.push_str("\\n"),
        '\r' => repr.push_str("\\r"),
        '\t' => repr.push_str("\\t"),
        '\\' => repr.push_str("\\\\"),
        _ if character == quote => {
            repr.push('\\');
            repr.push(quote);
        }
        _ if character.is_ascii_control() => {
            let _ = write!(repr, "\\x{:02x}", u32::from(character));
        }
        _ => repr.push(character),
    }
}
