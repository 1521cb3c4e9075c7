//! Percent-encoding.

/// Percent-encodes the text, except unreserved characters and those in `also`.
pub(crate) fn percent(text: &str, also: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    out
}

fn digit(value: u8) -> char {
    char::from_digit(value.into(), 16)
        .unwrap_or('0')
        .to_ascii_uppercase()
}
