//! Checks the path of a record: whether a request can send it as it is.

use percent_encoding::{NON_ALPHANUMERIC, percent_encode};

/// The column in the path, from 1; the mistake there; the advice.
type PathProblem = (usize, String, String);

/// Checks that a request can send the path without changes.
pub(crate) fn check_path(path: &str) -> Result<(), PathProblem> {
    if !path.starts_with('/') {
        return Err((
            1,
            "does not start with `/`".to_owned(),
            "write an absolute path, without scheme and host".to_owned(),
        ));
    }
    for (index, (at, char)) in path.char_indices().enumerate() {
        let (problem, help) = match char {
            '#' => (
                "has a fragment".to_owned(),
                "remove `#` and what follows, or write %23 for a literal `#`".to_owned(),
            ),
            '\\' => (
                "has a backslash".to_owned(),
                "write `/` to separate, or %5C for a literal backslash".to_owned(),
            ),
            '%' if !is_escape(&path[at..]) => (
                "has a `%` without two hexadecimal digits after it".to_owned(),
                "write %25 for a literal `%`".to_owned(),
            ),
            '!'..='~' => continue,
            _ => (
                format!("has the character U+{:04X}", u32::from(char)),
                format!(
                    "write it as {}",
                    percent_encode(char.encode_utf8(&mut [0; 4]).as_bytes(), NON_ALPHANUMERIC)
                ),
            ),
        };
        return Err((index + 1, problem, help));
    }
    Ok(())
}

fn is_escape(text: &str) -> bool {
    matches!(text.as_bytes(), [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}
