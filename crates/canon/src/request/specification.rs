//! The parameters of a body by the text of the specification.

use super::compat::Compat;
use super::multipart::{BodyPart, Multipart, PartContent};
use super::{encode, json, json_parameters, multipart};

/// The parameters of a body; nothing for an empty one.
pub(super) fn parameters(content_type: &str, body: &[u8]) -> String {
    if body.is_empty() {
        return String::new();
    }
    let parameters = match media_type(content_type).to_ascii_lowercase().as_str() {
        "application/json" | "text/plain" => json::parse(body, Compat::Spec)
            .and_then(|value| json_parameters::by_specification(&value)),
        "application/x-www-form-urlencoded" => std::str::from_utf8(body).ok().map(|form| {
            let decoded = encode::percent_decode(form.as_bytes());
            format!("__wb_post_data={}", encode::percent_plus(&decoded))
        }),
        multipart if multipart.starts_with("multipart/") => {
            multipart::parse(content_type, body).and_then(|form| form_fields(&form))
        }
        _ => None,
    };
    parameters.unwrap_or_else(|| encode::binary(body))
}

/// The media type as written, without its parameters.
fn media_type(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

/// The fields of a form. Files that share a field are values of that field. `None` where a part has
/// no name, the form has no end, or the form has no parts.
fn form_fields(form: &Multipart) -> Option<String> {
    let mut query = Vec::new();
    for BodyPart { name, content, .. } in &form.parts {
        let name = encode::percent_plus(name.as_deref()?.as_bytes());
        let values: Vec<&[u8]> = match content {
            PartContent::Bytes(value) => vec![value],
            PartContent::Parts(parts) => parts
                .iter()
                .map(|part| part.content.bytes())
                .collect::<Option<_>>()?,
        };
        let pairs = values
            .into_iter()
            .map(|value| format!("{name}={}", encode::percent_plus(value)));
        query.extend(pairs);
    }
    (form.is_closed && !query.is_empty()).then(|| query.join("&"))
}
