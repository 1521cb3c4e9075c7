//! The parameters of a body as pywb writes them.

use super::compat::Compat;
use super::limits::PRACTICAL_LENGTH;
use super::{encode, field_storage, json, json_parameters, multipart};

/// The parameters of a body, at most [`PRACTICAL_LENGTH`] characters; nothing for an empty body, or
/// for methods other than POST and PUT. `method` is in upper case.
pub(super) fn parameters(method: &str, content_type: &str, body: &[u8]) -> String {
    if body.is_empty() || !matches!(method, "POST" | "PUT") {
        return String::new();
    }
    let parameters = whole_parameters(content_type, body);
    parameters.chars().take(PRACTICAL_LENGTH).collect()
}

fn whole_parameters(content_type: &str, body: &[u8]) -> String {
    let is = |prefix| content_type.starts_with(prefix);
    let binary = || encode::binary(body);
    let json = || json::parse(body, Compat::Pywb).and_then(|value| json_parameters::pywb(&value));
    if is("application/x-www-form-urlencoded") {
        std::str::from_utf8(body).map_or_else(|_| binary(), encode::unquote_plus)
    } else if is("multipart/") {
        multipart::parse(content_type, body)
            .map_or_else(binary, |form| field_storage::urlencode(&form.parts))
    } else if is("application/json") {
        json().unwrap_or_default()
    } else if is("text/plain") {
        json().unwrap_or_else(binary)
    } else {
        binary()
    }
}
