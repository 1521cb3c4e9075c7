//! The host of a URL in the one spelling that names its domain file.
//!
//! Lower case, Punycode, without the root's dot. What is not safely a file name, or could be read
//! as an address written in disguise (`0x7f.1`, `2130706433`), is refused. A plain `127.0.0.1` is
//! a host like any other.

use idna::AsciiDenyList;

const LONGEST_LABEL: usize = 63;
const LONGEST_HOST: usize = 253;

/// The canonical spelling of `raw`, or what is wrong with it, as the rest of a sentence.
pub(crate) fn canonical_host(raw: &str) -> Result<String, &'static str> {
    if raw.starts_with('[') {
        return Err("is an IPv6 address: watch the URL under a host name");
    }
    if raw.contains('%') {
        return Err("has a percent escape: write the character itself");
    }
    let host = idna::domain_to_ascii_cow(raw.as_bytes(), AsciiDenyList::EMPTY)
        .map_err(|_| "is not a valid internationalized name")?;
    let host = host.strip_suffix('.').unwrap_or(&host);
    check_labels(host)?;
    check_numeric(host)?;
    Ok(host.to_owned())
}

fn check_labels(host: &str) -> Result<(), &'static str> {
    if host.is_empty() {
        return Err("is empty");
    }
    if host.len() > LONGEST_HOST {
        return Err("is longer than the 253 characters a host may have");
    }
    if host.starts_with('-') {
        return Err("starts with a hyphen: commands would take its file for an option");
    }
    for label in host.split('.') {
        if label.is_empty() {
            return Err("has an empty label: look for a dot too many");
        }
        if label.len() > LONGEST_LABEL {
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

/// A host whose last label is a number is an IPv4 address to every URL parser.
fn check_numeric(host: &str) -> Result<(), &'static str> {
    let last = host.rsplit('.').next().unwrap_or(host);
    let hex = last
        .strip_prefix("0x")
        .is_some_and(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
    let numeric = hex || last.bytes().all(|b| b.is_ascii_digit());
    // The standard library's parser takes four decimal numbers without leading zeros, nothing else.
    if numeric && host.parse::<std::net::Ipv4Addr>().is_err() {
        return Err(
            "is a number: write an IPv4 address as four decimal numbers, or use a host name",
        );
    }
    Ok(())
}
