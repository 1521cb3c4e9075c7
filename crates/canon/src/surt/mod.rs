//! SURT keys: the host turned round (`com,example)/path`), the rest smoothed.
//!
//! CDXJ indexes are sorted by this key, and a replay tool finds our lines only if its key is ours.
//! So this follows `surt` 0.3.1, which pywb uses, byte for byte, oddities included: unescaping
//! until nothing is left to unescape (`%2526` becomes `&`, which then separates), `..` kept above
//! the root, lower-casing of Base64. Where surt raises (a port that is no port) the URL itself,
//! escaped, is the key. Internationalized hosts go through UTS 46 with the mappings of IDNA 2003
//! that surt applies; the two differ only for rare characters.
//!
//! `parse` takes a URL apart, `canon` smooths the parts, `session` drops session ids.

mod canon;
mod parse;
mod session;

use canon::{canonicalize, escape_once};
use parse::Parts;

/// What is done to the parts of a URL before they are put together again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Canonicalizer {
    /// The rules of the Internet Archive, which CDXJ uses.
    #[default]
    InternetArchive,
    /// Nothing.
    Identity,
}

/// How a SURT is written. The default is what CDXJ uses.
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
    /// Drop a leading `www.`, `www1.` and so on.
    pub host_massage: bool,
    /// Which rules apply to the parts.
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

/// The key of `url` in a CDXJ index; `-` when there is no URL.
pub fn surt(url: &str) -> String {
    surt_with(url, SurtOptions::default())
}

/// The SURT of `url`, written as `options` say.
pub fn surt_with(url: &str, options: SurtOptions) -> String {
    if url.is_empty() {
        return "-".to_owned();
    }
    if url.starts_with("filedesc") {
        return url.to_owned();
    }
    let Some(mut parts) = Parts::parse(url) else {
        let escaped =
            String::from_utf8_lossy(&escape_once(url.trim_ascii().as_bytes())).into_owned();
        return if escaped.is_empty() {
            "-".to_owned()
        } else {
            escaped
        };
    };
    if options.canonicalizer == Canonicalizer::InternetArchive {
        canonicalize(&mut parts, options.host_massage);
    }
    String::from_utf8_lossy(&write(&parts, options)).into_owned()
}

fn write(parts: &Parts, options: SurtOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let host = parts.host.as_deref().filter(|host| !host.is_empty());
    if options.with_scheme || host.is_none() {
        out.extend_from_slice(&parts.scheme);
        out.push(b':');
    }
    if let Some(host) = host {
        if options.with_scheme {
            let open: &[u8] = if parts.scheme == b"dns" { b"(" } else { b"//(" };
            out.extend_from_slice(open);
        }
        out.extend(turn_round(host, options.reverse_ipaddr));
        if let Some(port) = parts.port {
            out.extend_from_slice(format!(":{port}").as_bytes());
        }
        if options.trailing_comma {
            out.push(b',');
        }
        out.push(b')');
    }
    match parts.path.as_deref() {
        Some(path) if !path.is_empty() => out.extend_from_slice(path),
        _ if parts.query.is_some() || parts.fragment.is_some() => out.push(b'/'),
        _ => {}
    }
    for (mark, part) in [(b'?', &parts.query), (b'#', &parts.fragment)] {
        if let Some(part) = part {
            out.push(mark);
            out.extend_from_slice(part);
        }
    }
    if parts.empty_query {
        out.push(b'?');
    }
    out
}

fn turn_round(host: &[u8], reverse_ipaddr: bool) -> Vec<u8> {
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
