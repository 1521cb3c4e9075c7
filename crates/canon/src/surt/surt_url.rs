//! The components of a URL, read as leniently as surt reads RFC 2396.

/// The components of a URL. User information is dropped.
#[derive(Debug, Default)]
pub(super) struct SurtUrl {
    pub(super) scheme: Vec<u8>,
    pub(super) host: Option<Vec<u8>>,
    pub(super) port: Option<u16>,
    pub(super) path: Option<Vec<u8>>,
    pub(super) query: Option<Vec<u8>>,
    pub(super) fragment: Option<Vec<u8>>,
    /// Whether the URL ends in a `?` without a query.
    pub(super) empty_query: bool,
}

impl SurtUrl {
    /// Parses `url`; `None` where surt raises an exception: the URL has only white space, or its
    /// port is not a number up to 65535.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c');
        let url = url.trim_matches(space).replace(['\n', '\r', '\t'], "");
        if url.is_empty() {
            return None;
        }
        let url = if scheme_length(&url).is_some() {
            url
        } else {
            format!("http://{url}")
        };
        let url = without_repeated_protocols(&url);
        let (scheme, rest) = url.split_at(scheme_length(url)?);
        let rest = &rest[1..];

        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        let (host, port) = split_authority(authority.trim_end_matches(':'))?;

        let mut parsed = Self {
            scheme: scheme.into(),
            host: non_empty(host).map(lower_before_zone),
            port,
            path: non_empty(path).map(Into::into),
            query: non_empty(query).map(Into::into),
            fragment: non_empty(fragment).map(Into::into),
            empty_query: query.is_empty() && url.ends_with('?'),
        };
        // `http:////www.example.com/`: the host stands after all the slashes.
        if scheme.starts_with("http") && parsed.host.is_none() && !path.is_empty() {
            let (host, path) = path
                .trim_start_matches('/')
                .split_once('/')
                .unwrap_or((path.trim_start_matches('/'), ""));
            parsed.host = Some(host.into());
            parsed.path = Some(format!("/{path}").into());
        }
        Some(parsed)
    }
}

fn non_empty(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// The length of the scheme before its colon.
fn scheme_length(url: &str) -> Option<usize> {
    let (scheme, _) = url.split_once(':')?;
    let valid = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    valid.then_some(scheme.len())
}

/// `http://https://example.com` is `https://example.com`.
fn without_repeated_protocols(url: &str) -> &str {
    let strip = |s| str::strip_prefix(s, "http://").or_else(|| str::strip_prefix(s, "https://"));
    let mut current = url;
    while let Some(rest) = strip(current) {
        if strip(rest).is_none() {
            break;
        }
        current = rest;
    }
    current
}

/// Host and port; `None` where the port is invalid. Port 0 counts as no port, as in surt.
fn split_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let host_port = authority
        .rsplit_once('@')
        .map_or(authority, |(_, after)| after);
    let (host, port) = match host_port.split_once('[') {
        Some((_, bracketed)) => {
            let (host, after) = bracketed.split_once(']').unwrap_or((bracketed, ""));
            (host, after.split_once(':').map_or("", |(_, port)| port))
        }
        None => host_port.split_once(':').unwrap_or((host_port, "")),
    };
    if port.is_empty() {
        return Some((host, None));
    }
    if !port.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let port: u16 = port.parse().ok()?;
    Some((host, Some(port).filter(|&port| port != 0)))
}

/// Lower-cases the text before a `%`, as Python's `hostname` does: a `%` may begin an IPv6 zone.
fn lower_before_zone(host: &str) -> Vec<u8> {
    let (name, zone) = host.split_at(host.find('%').unwrap_or(host.len()));
    let mut lower = name.to_ascii_lowercase().into_bytes();
    lower.extend_from_slice(zone.as_bytes());
    lower
}
