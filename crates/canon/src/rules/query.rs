//! The query as parameters.

use crate::path::{decode_escape, push_escape};

/// A parameter of a query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument<'a> {
    /// As it stands.
    pub(crate) raw: &'a str,
    pub(crate) name: &'a str,
}

/// The parameters of `query`, in order.
pub(crate) fn arguments(query: &str) -> impl Iterator<Item = Argument<'_>> {
    query.split('&').map(|raw| Argument {
        raw,
        name: raw.split_once('=').map_or(raw, |(name, _)| name),
    })
}

impl Argument<'_> {
    /// The value as servers read it: escapes decoded, `+` for a space. `None` where that is not
    /// UTF-8.
    pub(crate) fn value(&self) -> Option<String> {
        let (_, raw) = self.raw.split_once('=').unwrap_or((self.raw, ""));
        let mut value = Vec::with_capacity(raw.len());
        let mut rest = raw.as_bytes();
        while let Some((&first, after)) = rest.split_first() {
            if let Some(byte) = decode_escape(rest) {
                value.push(byte);
                rest = rest.get(3..).unwrap_or(&[]);
            } else {
                value.push(if first == b'+' { b' ' } else { first });
                rest = after;
            }
        }
        String::from_utf8(value).ok()
    }
}

/// `NAME=VALUE`, escaped.
pub(crate) fn argument(name: &str, value: &str) -> String {
    let mut argument = format!("{name}=");
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            argument.push(char::from(byte));
        } else {
            push_escape(&mut argument, byte);
        }
    }
    argument
}

/// `text` in lower case, but its escapes.
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
