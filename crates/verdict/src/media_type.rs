//! Compares a promised media type with an observed one.

/// Pairs of a promised type and another type that the original program accepted for it.
const TOLERATED: [(&str, &str); 2] = [
    ("application/javascript", "application/x-javascript"),
    ("application/x-zip-compressed", "application/zip"),
];

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
