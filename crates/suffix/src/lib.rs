//! The public suffix list, compiled once.
//!
//! The list is 2.5 MB of generic code, and the compiler compiles generic code with the crate that calls
//! it. In `urldb-canon` each change would compile the list again, which takes eight times as long as
//! all other code of that crate. This crate calls the list instead.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

/// The registrable domain of `host`: the name that its owner registered, such as `example.co.uk` for
/// `data.example.co.uk`.
///
/// The public suffix list is compiled in. A suffix that is not on the list has one label. A host
/// without a registrable domain, such as an address or a public suffix, is returned unchanged. `host`
/// must be in lower case, without a trailing dot.
pub fn registrable_domain(host: &str) -> &str {
    let address = host.parse::<std::net::Ipv4Addr>().is_ok();
    psl::domain_str(host).filter(|_| !address).unwrap_or(host)
}
