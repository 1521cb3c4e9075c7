//! The extension fields of urldb, which carry data that a catalogue has no field for.
//!
//! NAME and DESCRIPTION are keys of the record. The other standard fields are under its `catalogue`,
//! and the extensions of other programs are there under `x`. `docs/interchange.md` lists the losses of
//! a conversion and back.
//!
//! | field | content |
//! |---|---|
//! | `X-Content-Length`, `X-Content-SHA256` | the promise |
//! | `X-DB-Domain`, `X-DB-Path` | domain file and `_path`, if the URI does not imply them |
//! | `X-DB-Cnames`, `X-DB-Metadata` | metadata of the domain, if the URI does not imply it |
//! | `X-DB-Extra` | every other key, as JSON |
//! | `X-DB-Synthesized` | names of fields that only the format requires; dropped on import |

use serde_json::Value as Json;

use super::field::{STANDARD_FIELDS, StandardField};
use super::record::CatalogueRecord;
use crate::json;

pub(super) const LENGTH: &str = "X-Content-Length";
pub(super) const SHA256: &str = "X-Content-SHA256";
pub(super) const DOMAIN: &str = "X-DB-Domain";
pub(super) const PATH: &str = "X-DB-Path";
pub(super) const CNAMES: &str = "X-DB-Cnames";
pub(super) const METADATA: &str = "X-DB-Metadata";
pub(super) const EXTRA: &str = "X-DB-Extra";
pub(super) const SYNTHESIZED: &str = "X-DB-Synthesized";
pub(super) const OURS: [&str; 8] = [
    LENGTH,
    SHA256,
    DOMAIN,
    PATH,
    CNAMES,
    METADATA,
    EXTRA,
    SYNTHESIZED,
];

/// In [`SYNTHESIZED`]: the record had no position of its own.
pub(super) const POSITION: &str = "POSITION";

pub(super) fn key_of(field: &StandardField) -> String {
    field.name.to_ascii_lowercase()
}

/// The fields that `catalogue` holds unchanged.
pub(super) fn catalogued() -> impl Iterator<Item = &'static StandardField> {
    let apart = ["URI", "NAME", "DESCRIPTION"];
    STANDARD_FIELDS
        .iter()
        .filter(move |field| !apart.contains(&field.name))
}

/// The names of the fields of a record that only the format requires.
pub fn synthesized(record: &CatalogueRecord) -> impl Iterator<Item = &str> {
    record
        .get(SYNTHESIZED)
        .into_iter()
        .flat_map(|names| names.split(", "))
}

/// Escapes the text as in a JSON string, without the quotes.
pub(super) fn escaped(text: &str) -> String {
    let quoted = json::ascii(&Json::from(text));
    let inner = quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'));
    // A field must have a value (2.2), so this escape represents the empty text.
    inner
        .filter(|text| !text.is_empty())
        .unwrap_or("\\u0000")
        .to_owned()
}

pub(super) fn unescaped(text: &str) -> Option<String> {
    let text: String = serde_json::from_str(&format!("\"{text}\"")).ok()?;
    Some(if text == "\0" { String::new() } else { text })
}
