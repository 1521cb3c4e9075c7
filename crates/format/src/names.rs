//! Host names, as they stand in file names and in `cnames`.

/// What is wrong with a name, and the name that was probably meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HostNameError {
    pub(crate) problem: &'static str,
    pub(crate) suggestion: Option<String>,
}

/// Checks that `name` is a host name in lower-case ASCII: no port, no final dot, valid labels.
pub(crate) fn check_host(name: &str) -> Result<(), HostNameError> {
    let Some(problem) = problem(name) else {
        return Ok(());
    };
    Err(HostNameError {
        problem,
        suggestion: suggestion(name),
    })
}

fn problem(name: &str) -> Option<&'static str> {
    let bad_label = |label: &str| {
        label.is_empty() || label.len() > 63 || label.starts_with('-') || label.ends_with('-')
    };
    let allowed = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.');
    if name.is_empty() {
        Some("is empty")
    } else if !name.is_ascii() {
        Some("is not in ASCII; international names are written in punycode")
    } else if name.contains(':') {
        Some("has a port; a domain file is for the default ports")
    } else if name.ends_with('.') {
        Some("ends in a dot")
    } else if name.contains(|char: char| char.is_ascii_uppercase()) {
        Some("has upper-case letters")
    } else if name.contains(|char| !allowed(char)) {
        Some("has characters that no host name has")
    } else if name.len() > 253 || name.split('.').any(bad_label) {
        Some("has a part that is empty, too long, or starts or ends with `-`")
    } else {
        None
    }
}

/// The valid name that is closest to this one.
fn suggestion(name: &str) -> Option<String> {
    let without_port = name.split_once(':').map_or(name, |(host, _)| host);
    let ascii = idna::domain_to_ascii(without_port.trim_end_matches('.')).ok()?;
    let ascii = ascii.to_ascii_lowercase();
    (problem(&ascii).is_none()).then_some(ascii)
}
