//! URIs that the database holds although no record of a host can: nothing is requested for them.

use crate::error::UrlError;
use crate::identity::identify;

/// The kind of a URI that no file of a host can hold: its scheme in lower case, or `ipv6` for one of `http` and
/// `https`, or `port` for the default port of the other scheme. `None` for a URL that such a file can hold, and for a
/// text that no file holds: no URI, or one with a user name or a host that is not valid.
///
/// ```
/// use urldb_canon::kind_of_held;
///
/// let kind = |uri| kind_of_held(uri).unwrap_or_default();
/// assert_eq!(kind("FTP://a.test/x"), "ftp");
/// assert_eq!(kind("urn:isbn:0451450523"), "urn");
/// assert_eq!(kind("http://a.test:443/"), "port");
/// assert_eq!(kind("https://[2001:db8::1]/"), "ipv6");
/// assert_eq!(kind_of_held("http://a.test/"), None);
/// assert_eq!(kind_of_held("ftp://ada:secret@a.test/"), None);
/// assert_eq!(kind_of_held("localhost:8080/x"), None);
/// ```
pub fn kind_of_held(uri: &str) -> Option<String> {
    let kind = match identify(uri) {
        Err(UrlError::Scheme { scheme }) => scheme.to_ascii_lowercase(),
        Err(UrlError::Port { .. }) => "port".to_owned(),
        Err(UrlError::Host { .. }) if authority_of(uri).starts_with('[') => "ipv6".to_owned(),
        _ => return None,
    };
    (is_uri(uri) && !authority_of(uri).contains('@')).then_some(kind)
}

/// The text between `//` and the path; empty without `//`.
fn authority_of(uri: &str) -> &str {
    uri.split_once(':')
        .map_or("", |(_, rest)| rest)
        .strip_prefix("//")
        .unwrap_or_default()
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default()
}

/// Whether the text is a `URI` of RFC 3986: with a scheme, and optionally a fragment.
pub fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let in_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let starts_well = scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    if !starts_well || !scheme.bytes().all(in_scheme) {
        return false;
    }
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (authority, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
        None => ("", rest),
    };
    is_encoded(path, b":@/")
        && is_encoded(query, b":@/?")
        && is_encoded(fragment, b":@/?")
        && is_authority(authority)
}

/// Whether the text is `[userinfo@]host[:port]`. An address in brackets is checked only for its
/// characters.
fn is_authority(authority: &str) -> bool {
    let host = match authority.rsplit_once('@') {
        Some((userinfo, host)) if is_encoded(userinfo, b":") => host,
        Some(_) => return false,
        None => authority,
    };
    let (host, port) = match host.split_once(']') {
        Some((literal, port)) => {
            let Some(address) = literal.strip_prefix('[') else {
                return false;
            };
            if !is_encoded(address, b":") || !(port.is_empty() || port.starts_with(':')) {
                return false;
            }
            ("", port.trim_start_matches(':'))
        }
        None => host.split_once(':').unwrap_or((host, "")),
    };
    is_encoded(host, b"") && port.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the text has only unreserved characters, sub-delims, percent escapes and bytes of `also`.
fn is_encoded(text: &str, also: &[u8]) -> bool {
    let mut rest = text.as_bytes();
    while let [byte, after @ ..] = rest {
        rest = match (byte, after) {
            (b'%', [high, low, after @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                after
            }
            _ if byte.is_ascii_alphanumeric()
                || b"-._~!$&'()*+,;=".contains(byte)
                || also.contains(byte) =>
            {
                after
            }
            _ => return false,
        };
    }
    true
}
