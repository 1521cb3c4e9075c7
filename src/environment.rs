//! The environment of the process. All other modules read variables through this one; the values of
//! secret variables come from [`secret_variable`], which registers them.
#![expect(
    clippy::disallowed_methods,
    reason = "the only module of the program that reads variables"
)]

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;

use urldb_text::{register_credentials, secret_variable};

/// Variables that are secrets, whatever urldb.toml says: git and programs for mail see them.
const SECRETS: [&str; 7] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "CI_JOB_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "URLDB_TOKEN",
];

/// Variables with the URL of a proxy, which may have a password, and the list of hosts without one; in
/// lower case as well.
const PROXIES: [&str; 5] = [
    "ALL_PROXY",
    "FTP_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
];

/// The variables that every plugin sees, beside proxies and names that begin with one of
/// [`PLUGIN_PREFIXES`].
const PLUGINS: [&str; 6] = ["HOME", "LANG", "PATH", "TMPDIR", "TZ", "USER"];
const PLUGIN_PREFIXES: [&str; 3] = ["LC_", "SSL_CERT_", "URLDB_"];

/// The value of a variable; `None` if it is not set, or is not valid UTF-8.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The value of a variable, whatever its bytes.
pub(crate) fn os_variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

pub(crate) fn names() -> impl Iterator<Item = OsString> {
    env::vars_os().map(|(name, _)| name)
}

/// Registers the secrets that any program may have in its environment.
pub(crate) fn register_secrets() {
    for name in SECRETS {
        // A variable that is not set holds no secret.
        let _ = secret_variable(name);
    }
    for name in PROXIES {
        for url in [name.to_owned(), name.to_ascii_lowercase()]
            .map(|name| variable(&name))
            .iter()
            .flatten()
        {
            register_credentials(url);
        }
    }
}

/// The variables that every plugin sees, but for [`SECRETS`] and these.
pub(crate) fn of_plugins(secrets: &BTreeSet<String>) -> Vec<(OsString, OsString)> {
    let is_seen = |name: &str| {
        let is_listed = PLUGINS.contains(&name) || PROXIES.contains(&&*name.to_ascii_uppercase());
        let has_prefix = PLUGIN_PREFIXES.iter().any(|it| name.starts_with(it));
        (is_listed || has_prefix) && !secrets.contains(name) && !SECRETS.contains(&name)
    };
    env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(is_seen))
        .collect()
}
