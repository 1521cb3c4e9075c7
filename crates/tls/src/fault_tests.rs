//! Each fault of a chain has its own words and its own certificate, and only one of them speaks of `ca-file`.

use std::time::Duration;

use proptest::prelude::*;
use rcgen::{
    BasicConstraints, Certificate as Signed, CertificateParams, CustomExtension, DnType,
    ExtendedKeyUsagePurpose, GeneralSubtree, IsCa, Issuer, KeyPair, NameConstraints, date_time_ymd,
};
use rustls::client::danger::ServerCertVerifier;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use super::*;
use crate::Trust;

/// July 2026.
const NOW: u64 = 1_782_900_000;

/// The settings of an authority and of the certificates below it.
struct Settings {
    root: CertificateParams,
    middle: CertificateParams,
    own: CertificateParams,
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn settings() -> Settings {
    let mut own = CertificateParams::new(vec!["example.test".to_owned()]).unwrap();
    own.distinguished_name = rcgen::DistinguishedName::new();
    own.distinguished_name
        .push(DnType::CommonName, "example.test");
    Settings {
        root: authority("The root"),
        middle: authority("The intermediate"),
        own,
    }
}

/// A chain of three, and the keys that signed it.
struct Chain3 {
    root: Signed,
    middle: CertificateDer<'static>,
    own: CertificateDer<'static>,
}

fn chain(change: impl Fn(&mut Settings)) -> Chain3 {
    let mut settings = settings();
    change(&mut settings);
    let Settings { root, middle, own } = settings;
    let [root_key, middle_key, key] = [(); 3].map(|()| KeyPair::generate().unwrap());
    let signed_root = root.self_signed(&root_key).unwrap();
    let root = Issuer::new(root, root_key);
    let signed_middle = middle.signed_by(&middle_key, &root).unwrap();
    let own = own.signed_by(&key, &Issuer::new(middle, middle_key));
    Chain3 {
        root: signed_root,
        middle: signed_middle.der().clone(),
        own: own.unwrap().der().clone(),
    }
}

fn verify(root: &Signed, own: &CertificateDer<'_>, others: &[CertificateDer<'_>]) -> Option<Fault> {
    let trust = Trust::new(Some(root.pem().as_bytes())).unwrap();
    let name = ServerName::try_from("example.test").unwrap();
    let now = UnixTime::since_unix_epoch(Duration::from_secs(NOW));
    let error = trust
        .verify_server_cert(own, others, &name, &[], now)
        .err()?;
    Some(Fault::within(&error).expect("a fault").clone())
}

fn fault(change: impl Fn(&mut Settings)) -> Option<Fault> {
    let made = chain(change);
    verify(&made.root, &made.own, std::slice::from_ref(&made.middle))
}

/// The same bytes with another object identifier of the same length, wherever it stands.
fn with_other_oid(der: &[u8], from: &[u8], to: &[u8]) -> CertificateDer<'static> {
    let mut der = der.to_vec();
    let mut at = 0;
    while let Some(found) = der[at..]
        .windows(from.len())
        .position(|bytes| bytes == from)
    {
        at += found;
        der[at..at + to.len()].copy_from_slice(to);
    }
    der.into()
}

const ECDSA_SHA256: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];

/// A change of the settings, and the fault that it makes.
type Case<'a> = (&'a dyn Fn(&mut Settings), FaultKind, &'a str);

#[test]
fn each_fault_of_a_chain_has_its_own_words() {
    assert_eq!(fault(|_| ()), None);
    let past = |params: &mut CertificateParams| {
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2021, 1, 1);
    };
    let future = |params: &mut CertificateParams| params.not_before = date_time_ymd(2999, 1, 1);
    let client = |params: &mut CertificateParams| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    };
    let critical = |params: &mut CertificateParams, id: &[u64]| {
        let mut extension = CustomExtension::from_oid_content(id, vec![5, 0]);
        extension.set_criticality(true);
        params.custom_extensions = vec![extension];
    };
    let cases: [Case<'_>; 16] = [
        (
            &|it| past(&mut it.own),
            FaultKind::Expired,
            "the certificate has expired",
        ),
        (
            &|it| past(&mut it.middle),
            FaultKind::Expired,
            "the intermediate certificate CN=The intermediate has expired",
        ),
        (
            &|it| future(&mut it.own),
            FaultKind::NotYetValid,
            "the certificate is not valid yet",
        ),
        (
            &|it| future(&mut it.middle),
            FaultKind::NotYetValid,
            "the intermediate certificate CN=The intermediate is not valid yet",
        ),
        (
            &|it| it.own.subject_alt_names.clear(),
            FaultKind::WrongName,
            "the certificate names no host",
        ),
        (
            &|it| client(&mut it.own),
            FaultKind::Other,
            "the certificate is not for servers (extended key usage: clients)",
        ),
        (
            &|it| client(&mut it.middle),
            FaultKind::Other,
            "the intermediate certificate CN=The intermediate is not for servers (extended key usage: clients)",
        ),
        (
            &|it| it.middle.is_ca = IsCa::ExplicitNoCa,
            FaultKind::Other,
            "the intermediate certificate CN=The intermediate is not that of an authority, and has issued another \
             certificate",
        ),
        (
            &|it| it.middle.is_ca = IsCa::NoCa,
            FaultKind::Other,
            "the intermediate certificate CN=The intermediate is not that of an authority, and has issued another \
             certificate",
        ),
        (
            &|it| it.own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained),
            FaultKind::Other,
            "the certificate is that of an authority, not of a server",
        ),
        (
            &|it| {
                it.middle.name_constraints = Some(NameConstraints {
                    permitted_subtrees: vec![GeneralSubtree::DnsName("other.test".to_owned())],
                    excluded_subtrees: Vec::new(),
                });
            },
            FaultKind::Other,
            "the certificate is for a name that its authority may not certify (name constraints)",
        ),
        (
            &|it| critical(&mut it.own, &[1, 3, 6, 1, 4, 1, 99999, 1]),
            FaultKind::Other,
            "the certificate has a critical extension that is unknown (1.3.6.1.4.1.99999.1)",
        ),
        (
            &|it| critical(&mut it.middle, &[1, 3, 6, 1, 4, 1, 99999, 1]),
            FaultKind::Other,
            "the intermediate certificate CN=The intermediate has a critical extension that is unknown \
             (1.3.6.1.4.1.99999.1)",
        ),
        (
            &|it| critical(&mut it.own, &[2, 5, 29, 32]),
            FaultKind::Unsupported,
            "the certificate needs the critical extension certificate policies, which urldb does not support",
        ),
        (
            &|it| it.own.not_after = date_time_ymd(1970, 1, 1),
            FaultKind::Other,
            "the certificate ends before it begins",
        ),
        (
            &|it| {
                it.own.subject_alt_names =
                    vec![rcgen::SanType::DnsName("other.test".try_into().unwrap())];
            },
            FaultKind::WrongName,
            "the certificate is for other.test",
        ),
    ];
    for (change, kind, words) in cases {
        let fault = fault(change).unwrap_or_else(|| panic!("{words}"));
        assert_eq!((fault.kind, &*fault.to_string()), (kind, words));
        assert!(!fault.to_string().contains("ca-file"));
        assert_eq!(fault.is_own, !words.contains("intermediate"));
    }
}

#[test]
fn a_chain_that_is_longer_than_permitted_says_so() {
    let [root_key, upper_key, lower_key, key] = [(); 4].map(|()| KeyPair::generate().unwrap());
    let settings = settings();
    let root = settings.root.self_signed(&root_key).unwrap();
    let mut upper = authority("The upper");
    upper.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let upper_signed = upper.signed_by(&upper_key, &Issuer::new(settings.root, root_key));
    let lower = authority("The lower");
    let lower_signed = lower.signed_by(&lower_key, &Issuer::new(upper, upper_key));
    let own = settings.own.signed_by(&key, &Issuer::new(lower, lower_key));
    let others = [
        lower_signed.unwrap().der().clone(),
        upper_signed.unwrap().der().clone(),
    ];
    let fault = verify(&root, own.unwrap().der(), &others).unwrap();
    assert_eq!(
        fault.to_string(),
        "the certificate has more authorities above it than one of them permits (path length)"
    );
}

#[test]
fn only_an_unknown_authority_gets_the_advice_to_trust_it() {
    let (one, other) = (
        chain(|_| ()),
        chain(|it| it.root = authority("Another root")),
    );
    let fault = verify(&other.root, &one.own, std::slice::from_ref(&one.middle)).unwrap();
    assert_eq!(fault.kind, FaultKind::UnknownAuthority);
    assert!(fault.words.contains("`ca-file`"), "{fault}");
    // The server leaves out the intermediate certificate.
    let fault = verify(&one.root, &one.own, &[]).unwrap();
    assert_eq!(fault.kind, FaultKind::UnknownAuthority);
    // Another authority of the same name.
    let twin = chain(|_| ());
    let fault = verify(&twin.root, &one.own, std::slice::from_ref(&one.middle)).unwrap();
    let words = "the certificate has a signature that is not that of its authority";
    assert_eq!((fault.kind, &*fault.to_string()), (FaultKind::Other, words));
}

#[test]
fn algorithms_that_only_the_library_lacks_are_named() {
    let made = chain(|_| ());
    let others = std::slice::from_ref(&made.middle);
    let signed_with = |arc: [u8; 2]| {
        let mut other = ECDSA_SHA256;
        other[6..].copy_from_slice(&arc);
        with_other_oid(&made.own, &ECDSA_SHA256, &other)
    };
    for (arc, words) in [
        (
            [3, 4],
            "needs ECDSA with SHA-512, which urldb does not support",
        ),
        (
            [3, 1],
            "needs ECDSA with SHA-224, which urldb does not support",
        ),
        (
            [3, 9],
            "needs the signature algorithm 1.2.840.10045.4.3.9, which urldb does not support",
        ),
    ] {
        let fault = verify(&made.root, &signed_with(arc), others).unwrap();
        assert_eq!((fault.kind, &*fault.words), (FaultKind::Unsupported, words));
    }
    // Of the intermediate certificate too.
    let mut other = ECDSA_SHA256;
    other[7] = 4;
    let middle = with_other_oid(&made.middle, &ECDSA_SHA256, &other);
    let fault = verify(&made.root, &made.own, &[middle]).unwrap();
    assert_eq!(fault.kind, FaultKind::Unsupported);
    // Another curve of the authority's key: secp256k1 has the size of P-256.
    let key = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
    let longer = [6, 8, 0x2b, 0x24, 3, 3, 2, 8, 1, 1];
    let middle = with_other_oid(&made.middle, &key, &longer);
    let fault = verify(&made.root, &made.own, &[middle]).unwrap();
    assert_ne!(fault.kind, FaultKind::UnknownAuthority);
}

#[test]
fn broken_algorithms_and_mismatched_keys_are_no_limits_of_the_library() {
    let path = Path(Vec::new());
    let id = |text: &str| {
        let id = ObjectIdentifier::new_unwrap(text);
        let length = u8::try_from(id.as_bytes().len()).unwrap();
        [&[6, length], id.as_bytes()].concat()
    };
    let signed = |id: &[u8]| {
        path.fault(&CertificateError::UnsupportedSignatureAlgorithmContext {
            signature_algorithm_id: id.to_vec(),
            supported_algorithms: Vec::new(),
        })
    };
    for broken in [
        "1.2.840.113549.1.1.4",
        "1.2.840.113549.1.1.5",
        "1.2.840.10045.4.1",
    ] {
        let fault = signed(&id(broken));
        assert_eq!(fault.kind, FaultKind::Other);
        assert!(fault.words.contains("SHA-1"), "{fault}");
    }
    // RSA-PSS is with SHA-1 unless its parameters say otherwise.
    let pss = id("1.2.840.113549.1.1.10");
    assert_eq!(signed(&pss).kind, FaultKind::Other);
    assert_eq!(
        signed(&[&pss[..], &[0x30, 0]].concat()).kind,
        FaultKind::Other
    );
    let sha224 = [
        0x30, 15, 0xa0, 13, 0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 4,
    ];
    let fault = signed(&[&pss[..], &sha224].concat());
    assert_eq!(fault.kind, FaultKind::Unsupported);
    let by_key = |signature: &str, key: &[u8]| {
        path.fault(
            &CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext {
                signature_algorithm_id: id(signature),
                public_key_algorithm_id: key.to_vec(),
            },
        )
    };
    let p521 = [id("1.2.840.10045.2.1"), id("1.3.132.0.35")].concat();
    let fault = by_key("1.2.840.10045.4.3.2", &p521);
    assert_eq!(fault.kind, FaultKind::Unsupported);
    assert_eq!(
        fault.words,
        "needs ECDSA over P-521, which urldb does not support"
    );
    // The key of an authority with the same name, and of another kind.
    assert_eq!(
        by_key("1.2.840.113549.1.1.11", &p521).kind,
        FaultKind::Other
    );
    let rsa = id("1.2.840.113549.1.1.1");
    assert_eq!(by_key("1.2.840.10045.4.3.2", &rsa).kind, FaultKind::Other);
}

#[test]
fn the_authority_that_ends_first_is_known_if_the_chain_needs_it() {
    let first = |change: &dyn Fn(&mut Settings)| {
        let made = chain(change);
        let trust = Trust::new(Some(made.root.pem().as_bytes())).unwrap();
        let name = ServerName::try_from("example.test").unwrap();
        let more = chain(|it| it.middle.not_after = date_time_ymd(2026, 12, 1));
        // The last one has no part in the chain.
        let shown = [made.own, made.middle, more.middle];
        trust
            .first_to_end(&shown, &name)
            .map(|it| (it.subject, it.not_after.as_secs()))
    };
    assert_eq!(first(&|_| ()), None);
    let ends = |it: &mut Settings| it.middle.not_after = date_time_ymd(2027, 2, 1);
    assert_eq!(
        first(&ends),
        Some(("CN=The intermediate".to_owned(), 1_801_440_000))
    );
    let own_ends_first = |it: &mut Settings| {
        ends(it);
        it.own.not_after = date_time_ymd(2027, 1, 1);
    };
    assert_eq!(first(&own_ends_first), None);
}

proptest! {
    #[test]
    fn damaged_chains_have_some_fault(at: prop::sample::Index, byte: u8, which: bool) {
        let made = chain(|_| ());
        let (mut own, mut middle) = (made.own.to_vec(), made.middle.to_vec());
        let damaged = if which { &mut own } else { &mut middle };
        let at = at.index(damaged.len());
        damaged[at] = byte;
        if let Some(fault) = verify(&made.root, &own.into(), &[middle.into()]) {
            prop_assert!(!fault.words.is_empty());
        }
    }
}
