//! Parts of URLs: host, path, common folder; and of addresses.

use std::net::SocketAddr;

use url::Url;
use urldb_protocol::AffectedUrl;

/// A URL without its scheme.
pub(crate) fn without_scheme(url: &str) -> &str {
    url.strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"))
        .unwrap_or(url)
}

/// The path of a URL, with its query.
pub(crate) fn path_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    match rest.find('/') {
        Some(slash) => rest[slash..].to_owned(),
        None => "/".to_owned(),
    }
}

/// The longest folder that all URLs are in; absent for the top folder and for no URL.
pub(super) fn prefix<'a>(urls: impl Iterator<Item = &'a AffectedUrl>) -> Option<String> {
    prefix_of(urls.map(|url| url.url.as_str()))
}

/// [`prefix`] of URLs as text.
pub(super) fn prefix_of<'a>(urls: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut common: Option<String> = None;
    for url in urls {
        let path = path_of(url);
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let path = &path[..=path.rfind('/').unwrap_or_default()];
        let Some(known) = &mut common else {
            common = Some(path.to_owned());
            continue;
        };
        while !path.starts_with(known.as_str()) {
            let shorter = known.trim_end_matches('/').rfind('/').unwrap_or_default();
            known.truncate(shorter + 1);
        }
    }
    common.filter(|common| common != "/")
}

/// The domain of a domain file.
pub(super) fn domain_of(file: &str) -> Option<&str> {
    let name = file.rsplit('/').next().unwrap_or(file);
    name.strip_suffix(".yaml")
        .or_else(|| name.strip_suffix(".yml"))
        .filter(|domain| !domain.is_empty())
}

/// The host of a URL as domain files have it, or the URL if it has none.
pub(super) fn host_of(url: &str) -> String {
    Url::parse(url).map_or_else(
        |_| url.to_owned(),
        |url| url.authority().replacen(':', "+", 1),
    )
}

/// The IP address and the port of an address, which may have no port.
pub(super) fn ip_and_port(address: &str) -> (String, Option<u16>) {
    match address.parse::<SocketAddr>() {
        Ok(address) => (address.ip().to_string(), Some(address.port())),
        Err(_) => (address.to_owned(), None),
    }
}
