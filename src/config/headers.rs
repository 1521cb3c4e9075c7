//! `headers` and `headers-env` of a section: the headers of its requests.

use std::collections::BTreeMap;

use urldb_fetch::HeaderSource;

use super::section::{Section, check_variable};

/// The kind of a name that has no case.
const HEADER: &str = "header";

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
    let mut headers = texts_and_variables(section, HEADER, ["headers", "headers-env"]);
    let missing: Vec<_> = general
        .iter()
        .filter(|(name, _)| !headers.keys().any(|own| own.eq_ignore_ascii_case(name)))
        .map(|(name, source)| (name.clone(), source.clone()))
        .collect();
    headers.extend(missing);
    headers
}

/// The texts under the first key and, by their variables, those under the second one; `kind` is that of their names.
pub(super) fn texts_and_variables(
    section: &Section<'_>,
    kind: &str,
    [key, secret_key]: [&'static str; 2],
) -> BTreeMap<String, HeaderSource> {
    let texts = section.texts_by_name(key).unwrap_or_default();
    let secret = section.texts_by_name(secret_key).unwrap_or_default();
    for (name, variable) in &secret {
        if check_variable(variable).is_none() {
            section.problem(format!(
                "`{secret_key}` needs the name of an environment variable for \"{name}\""
            ));
        }
        if texts
            .keys()
            .any(|other| other == name || kind == HEADER && other.eq_ignore_ascii_case(name))
        {
            section.problem(format!(
                "the {kind} \"{name}\" is under `{key}` and under `{secret_key}`: remove one"
            ));
        }
    }
    let texts = texts
        .into_iter()
        .map(|(name, text)| (name, HeaderSource::Text(text)));
    let secret = secret
        .into_iter()
        .map(|(name, variable)| (name, HeaderSource::Env(variable)));
    texts.chain(secret).collect()
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
