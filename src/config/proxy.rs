//! `proxy` and its credentials, of `[network]`.

use urldb_fetch::Proxy;

use super::section::Section;

/// Prefix of the variables that may hold a proxy's password. Without it, a configuration from elsewhere
/// could send another secret of the environment to a proxy of its choice.
const PASSWORD_VARIABLE: &str = "URLDB_PROXY_";

/// The proxy that a section names, if it names one.
pub(super) fn read(section: &Section<'_>) -> Option<Proxy> {
    let address = section.parsed(
        "proxy",
        "the URL of a proxy, without user and password, such as \"http://127.0.0.1:3128\"",
    );
    let user = section.text("proxy-user");
    let password_env = section.text("proxy-password-env");
    if user.is_some() != password_env.is_some() {
        section.problem("`proxy-user` and `proxy-password-env` go together");
    }
    let variable = password_env.as_deref().unwrap_or(PASSWORD_VARIABLE);
    if !variable.starts_with(PASSWORD_VARIABLE) {
        section.problem(format!(
            "`proxy-password-env` names {variable}; a password for a proxy is read only from a \
             variable whose name begins with {PASSWORD_VARIABLE}, such as {PASSWORD_VARIABLE}PASSWORD"
        ));
    }
    Some(Proxy {
        address: address?,
        user,
        password_env,
    })
}
