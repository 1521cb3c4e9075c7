//! `proxy` and its credentials, of `[network]`.

use urldb_fetch::Proxy;

use super::section::Section;

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
    Some(Proxy {
        address: address?,
        user,
        password_env,
    })
}
