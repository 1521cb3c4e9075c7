//! The URLs that a notifier may send to.

use std::net::IpAddr;

use url::{Host, Url};

/// Parses the URL of a service.
///
/// # Errors
/// For people, without the URL: the text is no `http` or `https` URL, it holds a user name or a
/// password, or it is plain `http` to another machine without `allow_http`.
pub fn endpoint(text: &str, allow_http: bool) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("it is no URL: {error}"))?;
    if url.host().is_none() || !matches!(url.scheme(), "http" | "https") {
        return Err("it should begin with https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "it holds a user name or a password: send a header from the environment \
                    instead"
                .to_owned(),
        );
    }
    if url.scheme() == "http" && !is_loopback(&url) && !allow_http {
        return Err(
            "everybody on the way can read plain http: write https, or set `allow-http = true`"
                .to_owned(),
        );
    }
    Ok(url)
}

/// Whether the URL names this machine.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        for fine in [
            "https://chat.example.org/hooks/x",
            "http://127.0.0.1:8080/",
            "http://[::1]/",
            "http://localhost/x",
        ] {
            assert!(endpoint(fine, false).is_ok(), "{fine}");
        }
        for bad in [
            "http://chat.example.org/",
            "http://localhost.example.org/",
            "https://me:secret@chat.example.org/",
            "ftp://chat.example.org/",
            "mailto:me@example.org",
            "chat.example.org",
        ] {
            let error = endpoint(bad, false).unwrap_err();
            assert!(!error.contains("secret"), "{error}");
        }
        assert!(endpoint("http://chat.example.org/", true).is_ok());
    }
}
