//! The parameters of a body as warcio.js writes them.

use super::compat::Compat;
use super::limits::PRACTICAL_LENGTH;
use super::parameters::Parameters;
use super::{encode, json, json_parameters};

/// The parameters of a body, cut to [`PRACTICAL_LENGTH`] and then decoded; nothing if decoding fails.
pub(super) fn parameters(content_type: &str, body: &[u8]) -> String {
    // The text decoder of JavaScript drops a byte order mark.
    let text = String::from_utf8_lossy(body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let media_type = content_type.split(';').next().unwrap_or_default();
    let query = match media_type {
        "application/x-www-form-urlencoded" => text.to_owned(),
        "application/json" | "text/plain" => json::parse(text.as_bytes(), Compat::WarcioJs)
            .map(|value| json_parameters::warcio_js(&value))
            .unwrap_or_default(),
        "multipart/form-data" => form_fields(text, content_type),
        _ => encode::binary(body),
    };
    encode::decode_uri(practical_part(&query)).unwrap_or_default()
}

/// The first [`PRACTICAL_LENGTH`] UTF-16 code units of a query, without half a surrogate pair.
fn practical_part(query: &str) -> &str {
    let mut units = 0;
    let end = query.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > PRACTICAL_LENGTH
    });
    &query[..end.map_or(query.len(), |(at, _)| at)]
}

/// The fields of a multipart form: the first line of each part whose header ends with a name.
///
/// warcio.js uses the boundary as a regular expression; this function searches for the literal text.
fn form_fields(body: &str, content_type: &str) -> String {
    let boundary = content_type.split("boundary=").nth(1);
    let boundary = boundary.unwrap_or("undefined").to_ascii_lowercase();
    let folded = body.to_ascii_lowercase();
    let mut parameters = Parameters::default();
    let mut start = 0;
    let mut ends: Vec<usize> = vec![];
    if !boundary.is_empty() {
        ends.extend(folded.match_indices(&boundary).map(|(at, _)| at));
    }
    ends.push(body.len());
    for end in ends {
        let part = body.get(start..end).unwrap_or_default();
        // Dashes next to the boundary belong to the boundary.
        if let Some((name, value)) = field(part.trim_matches('-').trim()) {
            parameters.set(name.to_owned(), value.to_owned());
        }
        start = end + boundary.len();
    }
    parameters.join(encode::form_urlencode)
}

/// The first name at the end of a header, and the first line after the empty line.
fn field(part: &str) -> Option<(&str, &str)> {
    const NAME: &str = "name=\"";
    let folded = part.to_ascii_lowercase();
    folded.match_indices(NAME).find_map(|(at, _)| {
        let (name, rest) = part.get(at + NAME.len()..)?.split_once('"')?;
        let value = rest.strip_prefix("\r\n\r\n").filter(|_| !name.is_empty())?;
        let end = value.find(['\r', '\n', '\u{2028}', '\u{2029}']);
        Some((name, &value[..end.unwrap_or(value.len())]))
    })
}
