//! The names of domain files, and the host names in them and in `cnames`.

use std::path::Path;

use urldb_canon::{host_of, is_port};

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

/// Checks that `name` is a host name in lower-case ASCII, perhaps with `+` and a port: no final dot, valid labels.
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
    let allowed = |char: char| {
        char.is_ascii_lowercase() || char.is_ascii_digit() || matches!(char, '-' | '_' | '.')
    };
    let host = host_of(name);
    if host.is_empty() {
        Some("is empty")
    } else if !host.is_ascii() {
        Some("is not in ASCII; international names are written in punycode")
    } else if host.contains(':') {
        Some("has a port after a colon; a domain file has it after `+`")
    } else if host.contains(|char| !allowed(char)) {
        Some("has characters other than lower-case letters, digits, `-`, `_` and `.`")
    } else if host.len() > 253 || host.split('.').any(bad_label) {
        Some("has a part that is empty, too long, or starts or ends with `-`")
    } else if name.split_once('+').is_some_and(|(_, port)| !is_port(port)) {
        Some("has a port that is no number from 1 to 65535, or that is 80 or 443")
    } else {
        None
    }
}

/// The valid name that is closest to this one.
fn suggestion(name: &str) -> Option<String> {
    let (host, port) = name.split_once([':', '+']).unwrap_or((name, ""));
    let mut ascii = idna::domain_to_ascii(host.trim_end_matches('.')).ok()?;
    ascii.make_ascii_lowercase();
    if is_port(port) {
        ascii = [&ascii, "+", port].concat();
    }
    problem(&ascii).is_none().then_some(ascii)
}
