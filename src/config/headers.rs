//! `headers` and `headers-env` of a section: the headers of its requests.

use std::collections::BTreeMap;

use urldb_fetch::HeaderSource;

use super::section::Section;

/// The headers of both; the section's value counts for a header in both.
pub(super) fn headers(
    section: &Section<'_>,
    general: &BTreeMap<String, HeaderSource>,
) -> BTreeMap<String, HeaderSource> {
    let literal = section.texts_by_name("headers").unwrap_or_default();
    for name in literal.keys().filter(|name| is_secret_header(name)) {
        section.problem(format!(
            "the header \"{name}\" is a secret, and this file is in git: write \
             headers-env = {{ {name} = \"VARIABLE\" }}, and set that variable where urldb runs"
        ));
    }
    let secret = section.texts_by_name("headers-env").unwrap_or_default();
    for (name, variable) in &secret {
        if variable.is_empty() || variable.contains(['=', '\0']) {
            section.problem(format!(
                "`headers-env` needs the name of an environment variable for \"{name}\""
            ));
        }
        if literal.keys().any(|own| own.eq_ignore_ascii_case(name)) {
            section.problem(format!(
                "the header \"{name}\" is under `headers` and under `headers-env`: remove one"
            ));
        }
    }
    let literal = literal
        .into_iter()
        .map(|(name, text)| (name, HeaderSource::Text(text)));
    let secret = secret
        .into_iter()
        .map(|(name, variable)| (name, HeaderSource::Env(variable)));
    let mut headers: BTreeMap<_, _> = literal.chain(secret).collect();
    let missing: Vec<_> = general
        .iter()
        .filter(|(name, _)| !headers.keys().any(|own| own.eq_ignore_ascii_case(name)))
        .map(|(name, source)| (name.clone(), source.clone()))
        .collect();
    headers.extend(missing);
    headers
}

/// Whether the value of a header with this name is a secret: one of its words says so.
fn is_secret_header(name: &str) -> bool {
    const MARKS: [&str; 9] = [
        "access-key",
        "api-key",
        "apikey",
        "auth",
        "cookie",
        "credential",
        "passw",
        "secret",
        "token",
    ];
    let name = name.to_ascii_lowercase().replace('_', "-");
    MARKS.iter().any(|mark| name.contains(mark))
}
