//! Which addresses may be connected to.

use std::net::IpAddr;

use proptest::prelude::*;
use urldb_fetch::AddressPolicy;

fn permitted(policy: &AddressPolicy, address: &str) -> bool {
    let address: IpAddr = address
        .parse()
        .unwrap_or_else(|_| panic!("{address} is no address"));
    policy.check(address).is_ok()
}

const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.0",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "203.0.112.255",
    "223.255.255.255",
    "2001:4860:4860::8888",
    "2606:4700::1111",
    "2a00::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
    "2002:808:808::1",
];

const SPECIAL: &[&str] = &[
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.0",
    "10.255.255.255",
    "100.64.0.0",
    "100.127.255.255",
    "127.0.0.1",
    "127.255.255.254",
    "169.254.0.1",
    "169.254.169.254",
    "172.16.0.0",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.88.99.1",
    "192.168.0.0",
    "192.168.255.255",
    "198.18.0.0",
    "198.19.255.255",
    "198.51.100.9",
    "203.0.113.9",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.0",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::8.8.8.8",
    "fc00::1",
    "fdff::1",
    "fe80::1",
    "febf::1",
    "fec0::1",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "3fff:fff::1",
    "2001::1",
    "2001:2::1",
    "100::1",
    "5f00::1",
    "4000::1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::10.0.0.1",
    "64:ff9b::169.254.169.254",
    "64:ff9b:1::1",
    "64:ff9b:1::808:808",
    "2002:7f00:1::1",
    "2002:a00:1::",
    "2002:a9fe:a9fe::",
];

#[test]
fn only_public_addresses_are_permitted() {
    let policy = AddressPolicy::default();
    for address in PUBLIC {
        assert!(permitted(&policy, address), "{address} is public");
    }
    for address in SPECIAL {
        assert!(!permitted(&policy, address), "{address} is special");
    }
}

#[test]
fn a_range_is_permitted_in_every_disguise_and_nothing_beside_it() {
    let policy = AddressPolicy::new(&["10.1.0.0/16".parse().unwrap(), "fd00::/8".parse().unwrap()]);
    for address in [
        "10.1.2.3",
        "::ffff:10.1.2.3",
        "64:ff9b::10.1.2.3",
        "fd12::1",
        "8.8.8.8",
    ] {
        assert!(permitted(&policy, address), "{address}");
    }
    for address in ["10.2.0.1", "::ffff:10.2.0.1", "fc00::1", "127.0.0.1", "::1"] {
        assert!(!permitted(&policy, address), "{address}");
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let refused = AddressPolicy::default()
        .check("10.0.0.1".parse().unwrap())
        .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "10.0.0.1 is a private address; `allow = [\"10.0.0.1/32\"]` under [network] of urldb.toml permits it"
    );
}

proptest! {
    #[test]
    fn a_mapped_address_is_judged_as_the_one_it_maps(bits: u32) {
        let plain = std::net::Ipv4Addr::from(bits);
        let policy = AddressPolicy::default();
        let verdict = policy.check(plain.into()).is_ok();
        prop_assert_eq!(policy.check(plain.to_ipv6_mapped().into()).is_ok(), verdict);
    }
}
