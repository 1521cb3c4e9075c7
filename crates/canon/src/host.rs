//! The canonical spelling of a host, which names the domain file.
//!
//! Lower case, Punycode, without a trailing dot. Hosts that are unsafe as a file name are refused,
//! and so are numbers that programs read as an address (`0x7f.1`, `2130706433`). A plain `127.0.0.1`
//! is a host like any other.

use std::borrow::Cow;

use idna::AsciiDenyList;

const MAX_LABEL_LENGTH: usize = 63;
const MAX_HOST_LENGTH: usize = 253;

/// The canonical spelling of `raw`.
///
/// The error is the reason, worded so that it continues a sentence that starts with the host.
pub(crate) fn canonical_host(raw: &str) -> Result<Cow<'_, str>, &'static str> {
    if raw.starts_with('[') {
        return Err("is an IPv6 address: watch the URL under a host name");
    }
    if raw.contains('%') {
        return Err("has a percent escape: write the character itself");
    }
    let mut host = idna::domain_to_ascii_cow(raw.as_bytes(), AsciiDenyList::EMPTY)
        .map_err(|_| "is not a valid internationalized name")?;
    if let Some(without_dot) = host.strip_suffix('.') {
        host = Cow::Owned(without_dot.to_owned());
    }
    check_labels(&host)?;
    check_numeric(&host)?;
    Ok(host)
}

fn check_labels(host: &str) -> Result<(), &'static str> {
    if host.is_empty() {
        return Err("is empty");
    }
    if host.len() > MAX_HOST_LENGTH {
        return Err("is longer than the 253 characters a host may have");
    }
    if host.starts_with('-') {
        return Err("starts with a hyphen: programs would read the file name as an option");
    }
    for label in host.split('.') {
        if label.is_empty() {
            return Err("has an empty label: remove the extra dot");
        }
        if label.len() > MAX_LABEL_LENGTH {
            return Err("has a label longer than 63 characters");
        }
        if !label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
        {
            return Err("has a character that host names cannot have");
        }
    }
    Ok(())
}

/// Refuses a numeric last label except in a plain IPv4 address: every URL parser reads such a host
/// as an address.
fn check_numeric(host: &str) -> Result<(), &'static str> {
    let last = host.rsplit('.').next().unwrap_or(host);
    let hex = last
        .strip_prefix("0x")
        .is_some_and(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    let numeric = hex || last.bytes().all(|b| b.is_ascii_digit());
    // The standard library accepts only four decimal numbers without leading zeros.
    if numeric && host.parse::<std::net::Ipv4Addr>().is_err() {
        return Err(
            "is a number: write an IPv4 address as four decimal numbers, or use a host name",
        );
    }
    Ok(())
}
