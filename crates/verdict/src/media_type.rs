//! Compares a promised media type with an observed one.

use crate::observation::Hop;

/// Pairs of a promised type and another type that the original program accepted for it.
const TOLERATED: [(&str, &str); 2] = [
    ("application/javascript", "application/x-javascript"),
    ("application/x-zip-compressed", "application/zip"),
];

/// The different media types that a response names, in order. `Content-Type` has one; of several lines, some servers and
/// proxies make one with commas (RFC 9110, 8.3).
pub(super) fn media_types(hop: &Hop) -> Vec<String> {
    let mut types: Vec<String> = Vec::new();
    for line in hop.values("content-type") {
        for element in outside_quotes(&line, ',') {
            let element = element.trim();
            if !element.is_empty() && !types.iter().any(|known| known == element) {
                types.push(element.to_owned());
            }
        }
    }
    types
}

/// The parts of a text between separators that are in no quoted string (RFC 9110, 5.6.4).
pub fn outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let is_separator = move |char: char| {
        let is_found = char == separator && !is_quoted;
        is_quoted ^= char == '"' && !is_escaped;
        is_escaped = char == '\\' && is_quoted && !is_escaped;
        is_found
    };
    text.split(is_separator).collect()
}

/// Whether `observed` keeps the promise of `promised`. Case does not count, nor do parameters
/// unless `promised` has some.
pub(super) fn matches(promised: &str, observed: &str) -> bool {
    if promised.contains(';') {
        return normalize(promised) == normalize(observed);
    }
    let promised = normalize(promised);
    let observed = normalize(observed.split(';').next().unwrap_or_default());
    promised == observed
        || TOLERATED
            .iter()
            .any(|(old, new)| promised == *old && observed == *new)
}

/// Lower case, without the white space around `;` and the quotes around values.
fn normalize(text: &str) -> String {
    text.split(';')
        .map(|part| part.trim().to_ascii_lowercase().replace('"', ""))
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(";")
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn case_and_undeclared_parameters_do_not_matter() {
        assert!(matches("text/html", "TEXT/HTML; charset=utf-8"));
        assert!(matches(
            "text/html; charset=UTF-8",
            "text/html;charset=\"utf-8\""
        ));
        assert!(!matches("text/html; charset=utf-8", "text/html"));
        assert!(!matches("text/html", "text/plain"));
        assert!(!matches("text/html", ""));
    }

    #[test]
    fn tolerances_hold_in_one_direction_only() {
        assert!(matches(
            "application/javascript",
            "application/x-javascript"
        ));
        assert!(!matches(
            "application/x-javascript",
            "application/javascript"
        ));
        assert!(matches("application/x-zip-compressed", "application/zip"));
        assert!(!matches("application/zip", "application/x-zip-compressed"));
    }
}
