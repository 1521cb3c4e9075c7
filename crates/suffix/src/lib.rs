//! The public suffix list, compiled once.
//!
//! The list is 2.5 MB of generic code, which is compiled again with every change of the crate that
//! calls it, and takes eight times as long as all of `urldb-canon`. So that crate is this one.
#![forbid(unsafe_code)]

/// The registrable domain of `host`: what its owner registered, `example.co.uk` for
/// `data.example.co.uk`. It only chooses site rules.
///
/// By the public suffix list that is compiled in; a suffix that is not in it has one label. A host
/// that has no such domain, as an address or a suffix itself, is its own. `host` is in lower case,
/// without a dot at its end.
pub fn registrable_domain(host: &str) -> &str {
    let address = host.parse::<std::net::Ipv4Addr>().is_ok();
    psl::domain_str(host).filter(|_| !address).unwrap_or(host)
}
