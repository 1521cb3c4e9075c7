//! The environment of the process. All other modules read variables through this one; the values of
//! secret variables come from [`secret_variable`], which registers them.

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

/// Variables with the URL of a proxy, which may have a password; in lower case as well.
const PROXIES: [&str; 4] = ["ALL_PROXY", "FTP_PROXY", "HTTPS_PROXY", "HTTP_PROXY"];

/// The value of a variable; `None` if it is not set, or is not valid UTF-8.
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// The value of a variable, whatever its bytes.
pub(crate) fn os_variable(name: &str) -> Option<OsString> {
    env::var_os(name)
}

/// The names of all variables.
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
        let values = [name.to_owned(), name.to_ascii_lowercase()].map(|name| variable(&name));
        for url in values.iter().flatten() {
            register_credentials(url);
        }
    }
}
