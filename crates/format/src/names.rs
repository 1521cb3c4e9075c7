//! The names of domain files, and the host names in them and in `cnames`.

use std::path::Path;

/// The name, without `.yaml`, of the domain file of held URIs: those that no file of a host can hold. Each `_path` in
/// it is a whole URI, and no run requests one.
pub const HELD_URIS: &str = "+uris";

/// Whether the last component of `path` is the name of a domain file: it ends in `.yaml`, has
/// something before that, and does not begin with a dot.
///
/// Every command, the git hook and the daemon use this one rule. Names that begin with a dot
/// belong to editors and to the temporary files of [`urldb_files`]. Whether the rest of the name
/// is a host is a finding (`bad-file-name`), so that a misnamed file is reported.
///
/// ```
/// use urldb_format::is_domain_file;
///
/// assert!(is_domain_file("urldb/example.org.yaml"));
/// assert!(!is_domain_file("urldb/.example.org.yaml"));
/// assert!(!is_domain_file("urldb/example.org.yml"));
/// ```
pub fn is_domain_file(path: impl AsRef<Path>) -> bool {
    has_name_with("yaml", path.as_ref())
}

/// Whether the last component of `path` is the name of a domain file, but with the ending `.yml`. No
/// command reads such a file; [`lint_misnamed`](crate::lint_misnamed) has its finding.
pub fn is_misnamed(path: impl AsRef<Path>) -> bool {
    has_name_with("yml", path.as_ref())
}

fn has_name_with(extension: &str, path: &Path) -> bool {
    let begins_with_dot = path
        .file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    !begins_with_dot && path.extension().is_some_and(|known| known == extension)
}

/// The mistake in a host name, and the valid name that was probably meant.
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
