//! SURT keys: the labels of the host in reverse (`com,example)/path`), the rest canonicalized.
//!
//! CDXJ indexes are sorted by this key, and a replay tool finds a line only if the tool computes the
//! same key. So this module follows `surt` 0.3.1, which pywb uses, byte for byte, oddities included:
//! unescaping until no escape is left (`%2526` becomes `&`, which then separates parameters), `..`
//! kept above the root, lower-casing of Base64. Where surt raises an exception (an invalid port), the
//! escaped URL is the key. Internationalized hosts go through UTS 46 with the mappings of IDNA 2003
//! that surt applies; the two standards differ only for rare characters.
//!
//! `surt_url` parses a URL, `canonicalize` rewrites its components, `session_ids` removes session
//! ids.

mod canonicalize;
mod session_ids;
mod surt_url;

use canonicalize::{canonicalize, escape};
use surt_url::SurtUrl;

/// The rules that rewrite a URL before the SURT is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Canonicalizer {
    /// The rules of the Internet Archive, which CDXJ uses.
    #[default]
    InternetArchive,
    /// No rules: the URL stays as it is.
    Identity,
}

/// Options of a SURT. The default is the form of CDXJ indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "these are surt's options, under surt's names"
)]
pub struct SurtOptions {
    /// `http://(com,example)/` for `com,example)/`.
    pub with_scheme: bool,
    /// `com,example,)/` for `com,example)/`.
    pub trailing_comma: bool,
    /// `1,0,0,127)/` for `127.0.0.1)/`.
    pub reverse_ipaddr: bool,
    /// Removes a leading `www.`, `www1.` and so on.
    pub host_massage: bool,
    /// The rules that rewrite the URL.
    pub canonicalizer: Canonicalizer,
}

impl Default for SurtOptions {
    fn default() -> Self {
        Self {
            with_scheme: false,
            trailing_comma: false,
            reverse_ipaddr: true,
            host_massage: true,
            canonicalizer: Canonicalizer::default(),
        }
    }
}

/// The key of `url` in a CDXJ index; `-` for an empty URL.
pub fn surt(url: &str) -> String {
    surt_with(url, SurtOptions::default())
}

/// The SURT of `url`, written with `options`.
pub fn surt_with(url: &str, options: SurtOptions) -> String {
    if url.is_empty() {
        return "-".to_owned();
    }
    if url.starts_with("filedesc") {
        return url.to_owned();
    }
    let Some(mut parsed) = SurtUrl::parse(url) else {
        let escaped = escape(url.trim_ascii().as_bytes());
        return if escaped.is_empty() {
            "-".to_owned()
        } else {
            escaped
        };
    };
    if options.canonicalizer == Canonicalizer::InternetArchive {
        canonicalize(&mut parsed, options.host_massage);
    }
    String::from_utf8_lossy(&write(&parsed, options)).into_owned()
}

fn write(url: &SurtUrl, options: SurtOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let host = url.host.as_deref().filter(|host| !host.is_empty());
    if options.with_scheme || host.is_none() {
        out.extend_from_slice(&url.scheme);
        out.push(b':');
    }
    if let Some(host) = host {
        if options.with_scheme {
            let open: &[u8] = if url.scheme == b"dns" { b"(" } else { b"//(" };
            out.extend_from_slice(open);
        }
        out.extend(reverse_labels(host, options.reverse_ipaddr));
        if let Some(port) = url.port {
            out.extend_from_slice(format!(":{port}").as_bytes());
        }
        if options.trailing_comma {
            out.push(b',');
        }
        out.push(b')');
    }
    match url.path.as_deref() {
        Some(path) if !path.is_empty() => out.extend_from_slice(path),
        _ if url.query.is_some() || url.fragment.is_some() => out.push(b'/'),
        _ => {}
    }
    for (mark, component) in [(b'?', &url.query), (b'#', &url.fragment)] {
        if let Some(component) = component {
            out.push(mark);
            out.extend_from_slice(component);
        }
    }
    if url.empty_query {
        out.push(b'?');
    }
    out
}

fn reverse_labels(host: &[u8], reverse_ipaddr: bool) -> Vec<u8> {
    if !reverse_ipaddr && looks_like_ipv4(host) {
        return host.to_vec();
    }
    host.split(|&b| b == b'.')
        .rev()
        .collect::<Vec<_>>()
        .join(&b',')
}

fn looks_like_ipv4(host: &[u8]) -> bool {
    let number =
        |label: &[u8]| matches!(label.len(), 1..=3) && label.iter().all(u8::is_ascii_digit);
    host.split(|&b| b == b'.').count() == 4 && host.split(|&b| b == b'.').all(number)
}
