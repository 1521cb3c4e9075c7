//! Secrets that must appear in no message.

use std::borrow::Cow;
use std::fmt;

/// Stands for a secret in messages and reports.
pub const REDACTED: &str = "[redacted]";

/// Fewest bytes of a text that counts as a secret: shorter texts are parts of ordinary words and digests.
const MIN_LENGTH: usize = 6;

/// Secrets of the configuration, which a server may send back in any part of a response.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    /// Every form of every secret, the longest first.
    forms: Vec<String>,
}

impl Secrets {
    /// The forms of these values that are redacted: the value itself, each of its words (in
    /// `Bearer TOKEN`, the token), and these as URLs and JSON spell them. Texts of fewer than 6 bytes
    /// are left out, since no text could be shown without them.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let values = values.into_iter();
        let words = values.flat_map(|value| std::iter::once(value).chain(value.split_whitespace()));
        let words = words.map(str::trim).filter(|word| word.len() >= MIN_LENGTH);
        let mut forms: Vec<String> = words
            .flat_map(|word| {
                let escaped = word.replace('\\', r"\\").replace('"', "\\\"");
                let upper = percent_encoded(word);
                [word.to_owned(), escaped, lower_escapes(&upper), upper]
            })
            .collect();
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { forms }
    }

    /// The text with [`REDACTED`] in place of each secret.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut redacted = Cow::Borrowed(text);
        for form in &self.forms {
            if redacted.contains(form) {
                redacted = Cow::Owned(redacted.replace(form, REDACTED));
            }
        }
        redacted
    }

    /// [`Secrets::redact`] in place.
    pub fn redact_in(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.redact(text) {
            *text = redacted;
        }
    }
}

/// No secret gets into a log by its debugging form.
impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

/// The text in a URL: all but unreserved characters (RFC 3986, 2.3) escaped.
fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

/// The text with its escapes in lower case.
fn lower_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (escape, rest) = part.split_at(part.len().min(2));
        format!("{text}%{}{rest}", escape.to_ascii_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_secret_is_redacted() {
        let secrets = Secrets::new(["Bearer abc/def+gh=", "hunter2 \"quoted\"", "12345", ""]);
        for (text, redacted) in [
            ("x Bearer abc/def+gh= y", "x [redacted] y"),
            ("?t=abc/def+gh=&x", "?t=[redacted]&x"),
            ("?t=abc%2Fdef%2Bgh%3D", "?t=[redacted]"),
            ("?t=abc%2fdef%2bgh%3d", "?t=[redacted]"),
            (
                "{\"a\":\"hunter2 \\\"quoted\\\"\"}",
                "{\"a\":\"[redacted]\"}",
            ),
            ("hunter2", "[redacted]"),
            ("12345 Bear", "12345 Bear"),
        ] {
            assert_eq!(secrets.redact(text), redacted, "{text}");
            let again = secrets.redact(redacted);
            assert!(matches!(again, Cow::Borrowed(_)), "{redacted}");
        }
        assert_eq!(format!("{secrets:?}"), "Secrets { .. }");
    }
}
