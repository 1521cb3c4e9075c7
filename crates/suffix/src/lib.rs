//! The public suffix list, compiled once.
//!
//! The list is 2.5 MB of generic code, and the compiler compiles generic code with the crate that calls
//! it. In `urldb-canon` each change would compile the list again, which takes eight times as long as
//! all other code of that crate. This crate calls the list instead.
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::too_many_lines))]

use psl::{Info, List, Psl};

/// The list for one type of iterator, which keeps its code small.
struct DynList;

impl Psl for DynList {
    fn find<'a, T: Iterator<Item = &'a [u8]>>(&self, mut labels: T) -> Info {
        List.find(&mut labels as &mut dyn Iterator<Item = &'a [u8]>)
    }
}

/// The registrable domain of `host`: the name that its owner registered, such as `example.co.uk` for
/// `data.example.co.uk`.
///
/// The public suffix list is compiled in. A suffix that is not on the list has one label. A host
/// without a registrable domain, such as an address or a public suffix, is returned unchanged. `host`
/// must be in lower case, without a trailing dot. A port after `+`, as in the name of a domain file, is left out.
pub fn registrable_domain(host: &str) -> &str {
    let host = host.split('+').next().unwrap_or_default();
    if host.parse::<std::net::Ipv4Addr>().is_ok() {
        return host;
    }
    DynList
        .domain(host.as_bytes())
        .and_then(|domain| str::from_utf8(domain.as_bytes()).ok())
        .unwrap_or(host)
}
