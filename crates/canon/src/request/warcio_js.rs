//! What warcio.js makes of a body.

use super::leaves::Parameters;
use super::{Compat, PRACTICAL_LENGTH, Request, encode, json, leaves};

/// The parameters for a body: cut first, then decoded, and gone if they cannot be.
pub(super) fn parameters(request: Request<'_>) -> String {
    // Its text decoder drops a byte order mark.
    let text = String::from_utf8_lossy(request.body);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let media_type = request.content_type.split(';').next().unwrap_or_default();
    let query = match media_type {
        "application/x-www-form-urlencoded" => text.to_owned(),
        "application/json" | "text/plain" => json::parse(text.as_bytes(), Compat::WarcioJs)
            .map(|value| leaves::warcio_js(&value))
            .unwrap_or_default(),
        "multipart/form-data" => form(text, request.content_type),
        _ => request.binary(),
    };
    encode::decode_uri(cut(&query)).unwrap_or_default()
}

/// The beginning of a query, counted as JavaScript counts.
fn cut(query: &str) -> &str {
    let mut units = 0;
    let end = query.char_indices().find(|(_, character)| {
        units += character.len_utf16();
        units > PRACTICAL_LENGTH
    });
    &query[..end.map_or(query.len(), |(at, _)| at)]
}

/// The fields of a multipart form: of each part the first line, if its header ends with a name. The
/// boundary, which it takes for a regular expression, is taken to the letter here.
fn form(body: &str, content_type: &str) -> String {
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
        // Dashes beside the boundary are part of it.
        if let Some((name, value)) = field(part.trim_matches('-').trim()) {
            parameters.set(name.to_owned(), value.to_owned());
        }
        start = end + boundary.len();
    }
    parameters.join(encode::form_urlencode)
}

/// The first name at the end of a line, and what follows after an empty line.
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
