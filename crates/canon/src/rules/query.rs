//! The parameters of a query.

use percent_encoding::{percent_decode_str, utf8_percent_encode};

use crate::escape;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryParameter<'a> {
    /// The parameter as written.
    pub(crate) raw: &'a str,
    /// The name as written.
    pub(crate) name: &'a str,
}

/// The parameters of `query`, in order.
pub(crate) fn parameters(query: &str) -> impl Iterator<Item = QueryParameter<'_>> {
    query.split('&').map(|raw| QueryParameter {
        raw,
        name: raw.split_once('=').map_or(raw, |(name, _)| name),
    })
}

impl QueryParameter<'_> {
    /// The value as written.
    pub(crate) fn raw_value(&self) -> &str {
        self.raw.split_once('=').map_or("", |(_, value)| value)
    }

    /// The value as servers read it: escapes decoded, and `+` as a space. `None` where the value is
    /// not UTF-8.
    pub(crate) fn value(&self) -> Option<String> {
        let spaced = self.raw_value().replace('+', " ");
        Some(percent_decode_str(&spaced).decode_utf8().ok()?.into_owned())
    }
}

/// `NAME=VALUE`, with the value escaped.
pub(crate) fn format_parameter(name: &str, value: &str) -> String {
    format!("{name}={}", utf8_percent_encode(value, escape::RESERVED))
}

/// `text` in lower case, except for its escapes.
pub(crate) fn lower_case(text: &str) -> String {
    let mut escape = 0;
    text.chars()
        .map(|c| {
            escape = if c == '%' { 3 } else { escape };
            if escape > 0 {
                escape -= 1;
                c
            } else {
                c.to_ascii_lowercase()
            }
        })
        .collect()
}
