//! The address policy: which addresses the program may connect to. Pure.
//!
//! The policy permits globally routable unicast addresses only, so a record or a redirect cannot
//! reach machines of the local network; `[network] allow` adds ranges. The tables follow the
//! special-purpose address registries of IANA (RFC 6890).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The address policy of one run.
#[derive(Debug, Clone, Default)]
pub struct AddressPolicy {
    allow: Vec<IpNet>,
}

/// An address that the policy forbids.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{address} is {kind}; `allow = [\"{address}/{}\"]` under [network] of urldb.toml permits it",
    if address.is_ipv4() { 32 } else { 128 }
)]
pub struct ForbiddenAddress {
    /// The address.
    pub address: IpAddr,
    /// The kind of address, with an article.
    pub kind: &'static str,
}

impl AddressPolicy {
    /// A policy that permits these ranges besides public addresses.
    pub fn new(allow: &[IpNet]) -> Self {
        Self {
            allow: allow.to_vec(),
        }
    }

    /// Checks one address.
    ///
    /// # Errors
    /// The policy forbids the address.
    pub fn check(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        let inner = embedded(address);
        let allowed = |address: &IpAddr| self.allow.iter().any(|range| range.contains(address));
        if allowed(&address) || inner.as_ref().is_some_and(allowed) {
            return Ok(());
        }
        match special_kind(inner.unwrap_or(address)) {
            None => Ok(()),
            Some(kind) => Err(ForbiddenAddress { address, kind }),
        }
    }
}

/// The IPv4 address that an IPv6 address embeds and routes to: IPv4-mapped, NAT64 or 6to4.
fn embedded(address: IpAddr) -> Option<IpAddr> {
    let IpAddr::V6(address) = address else {
        return None;
    };
    let octets = address.octets();
    let at = |start: usize| {
        let four = [
            octets[start],
            octets[start + 1],
            octets[start + 2],
            octets[start + 3],
        ];
        Some(IpAddr::from(four))
    };
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped.into());
    }
    if NAT64.contains(&address) {
        return at(12);
    }
    if SIX_TO_FOUR.contains(&address) {
        return at(2);
    }
    None
}

/// The kind of an address that is not globally routable unicast; `None` for a public address.
fn special_kind(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => V4
            .iter()
            .find(|(range, _)| range.contains(&address))
            .map(|(_, kind)| *kind),
        IpAddr::V6(address) => V6
            .iter()
            .find(|(range, _)| range.contains(&address))
            .map(|(_, kind)| *kind)
            .or_else(|| (!GLOBAL.contains(&address)).then_some("not a global unicast address")),
    }
}

const fn v4(octets: [u8; 4], prefix: u8) -> Ipv4Net {
    let [a, b, c, d] = octets;
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix)
}

const fn v6(first: [u16; 3], prefix: u8) -> Ipv6Net {
    let [a, b, c] = first;
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), prefix)
}

const NAT64: Ipv6Net = v6([0x64, 0xff9b, 0], 96);
const SIX_TO_FOUR: Ipv6Net = v6([0x2002, 0, 0], 16);
const GLOBAL: Ipv6Net = v6([0x2000, 0, 0], 3);

const V4: &[(Ipv4Net, &str)] = &[
    (v4([0, 0, 0, 0], 8), "an address of \"this network\""),
    (v4([10, 0, 0, 0], 8), "a private address"),
    (v4([100, 64, 0, 0], 10), "a carrier's shared address"),
    (v4([127, 0, 0, 0], 8), "a loopback address"),
    (v4([169, 254, 0, 0], 16), "a link-local address"),
    (v4([172, 16, 0, 0], 12), "a private address"),
    (v4([192, 0, 0, 0], 24), "a protocol assignment"),
    (v4([192, 0, 2, 0], 24), "an address for documentation"),
    (v4([192, 88, 99, 0], 24), "a former 6to4 relay"),
    (v4([192, 168, 0, 0], 16), "a private address"),
    (v4([198, 18, 0, 0], 15), "an address for benchmarks"),
    (v4([198, 51, 100, 0], 24), "an address for documentation"),
    (v4([203, 0, 113, 0], 24), "an address for documentation"),
    (v4([224, 0, 0, 0], 4), "a multicast address"),
    (v4([255, 255, 255, 255], 32), "the broadcast address"),
    (v4([240, 0, 0, 0], 4), "a reserved address"),
];

const V6: &[(Ipv6Net, &str)] = &[
    (
        Ipv6Net::new_assert(Ipv6Addr::LOCALHOST, 128),
        "a loopback address",
    ),
    (
        Ipv6Net::new_assert(Ipv6Addr::UNSPECIFIED, 128),
        "the unspecified address",
    ),
    (v6([0, 0, 0], 96), "an IPv4-compatible address"),
    (v6([0x64, 0xff9b, 1], 48), "a local NAT64 address"),
    (v6([0x2001, 0, 0], 32), "a Teredo address"),
    (v6([0x2001, 0, 0], 23), "a protocol assignment"),
    (v6([0x2001, 0xdb8, 0], 32), "an address for documentation"),
    (v6([0x3fff, 0, 0], 20), "an address for documentation"),
    (v6([0xfc00, 0, 0], 7), "a private address"),
    (v6([0xfe80, 0, 0], 10), "a link-local address"),
    (v6([0xfec0, 0, 0], 10), "a site-local address"),
    (v6([0xff00, 0, 0], 8), "a multicast address"),
];
