//! Object identifiers in certificates, and their names for people.

use der::asn1::ObjectIdentifier;

pub(crate) const RSA_KEY: ObjectIdentifier = oid("1.2.840.113549.1.1.1");
pub(crate) const RSA_PSS: ObjectIdentifier = oid("1.2.840.113549.1.1.10");
pub(crate) const BASIC_CONSTRAINTS: ObjectIdentifier = oid("2.5.29.19");
pub(crate) const EXTENDED_KEY_USAGE: ObjectIdentifier = oid("2.5.29.37");
pub(crate) const SERVER: ObjectIdentifier = oid("1.3.6.1.5.5.7.3.1");
pub(crate) const SHA1: ObjectIdentifier = oid("1.3.14.3.2.26");

const fn oid(text: &str) -> ObjectIdentifier {
    ObjectIdentifier::new_unwrap(text)
}

/// Signatures with MD2, MD4, MD5 or SHA-1, which are no longer trusted.
const BROKEN_SIGNATURES: [ObjectIdentifier; 7] = [
    oid("1.2.840.113549.1.1.2"),
    oid("1.2.840.113549.1.1.3"),
    oid("1.2.840.113549.1.1.4"),
    oid("1.2.840.113549.1.1.5"),
    oid("1.3.14.3.2.29"),
    oid("1.2.840.10045.4.1"),
    oid("1.2.840.10040.4.3"),
];

/// Extensions that other programs know, and the library does not.
const KNOWN_EXTENSIONS: [(ObjectIdentifier, &str); 6] = [
    (oid("2.5.29.32"), "certificate policies"),
    (oid("2.5.29.33"), "policy mappings"),
    (oid("2.5.29.36"), "policy constraints"),
    (oid("2.5.29.54"), "inhibit any policy"),
    (oid("2.16.840.1.113730.1.1"), "Netscape certificate type"),
    (oid("1.3.6.1.5.5.7.1.7"), "IP address blocks"),
];

/// The critical extensions that the library knows.
const LIBRARY_EXTENSIONS: [ObjectIdentifier; 6] = [
    oid("2.5.29.15"),
    oid("2.5.29.17"),
    BASIC_CONSTRAINTS,
    oid("2.5.29.30"),
    oid("2.5.29.31"),
    EXTENDED_KEY_USAGE,
];

/// Whether the algorithm of a signature is broken.
pub(crate) fn is_broken(signature: &ObjectIdentifier) -> bool {
    BROKEN_SIGNATURES.contains(signature)
}

/// Whether the library knows an extension.
pub(crate) fn is_understood(extension: &ObjectIdentifier) -> bool {
    LIBRARY_EXTENSIONS.contains(extension)
}

/// The name of an extension that other programs know.
pub(crate) fn known_extension(extension: &ObjectIdentifier) -> Option<&'static str> {
    Some(KNOWN_EXTENSIONS.iter().find(|(id, _)| id == extension)?.1)
}

/// Names of signature algorithms, elliptic curves and purposes of keys.
const NAMES: [(ObjectIdentifier, &str); 27] = [
    (RSA_PSS, "RSA-PSS with unusual parameters"),
    (oid("1.2.840.113549.1.1.14"), "RSA with SHA-224"),
    (oid("1.2.840.113549.1.1.15"), "RSA with SHA-512/224"),
    (oid("1.2.840.113549.1.1.16"), "RSA with SHA-512/256"),
    (oid("1.2.840.10045.4.3.1"), "ECDSA with SHA-224"),
    (oid("1.2.840.10045.4.3.2"), "ECDSA with SHA-256"),
    (oid("1.2.840.10045.4.3.3"), "ECDSA with SHA-384"),
    (oid("1.2.840.10045.4.3.4"), "ECDSA with SHA-512"),
    (oid("1.3.101.112"), "Ed25519"),
    (oid("1.3.101.113"), "Ed448"),
    (oid("2.16.840.1.101.3.4.3.2"), "DSA with SHA-256"),
    (oid("2.16.840.1.101.3.4.3.17"), "ML-DSA-44"),
    (oid("2.16.840.1.101.3.4.3.18"), "ML-DSA-65"),
    (oid("2.16.840.1.101.3.4.3.19"), "ML-DSA-87"),
    (oid("1.3.132.0.33"), "P-224"),
    (oid("1.2.840.10045.3.1.7"), "P-256"),
    (oid("1.3.132.0.34"), "P-384"),
    (oid("1.3.132.0.35"), "P-521"),
    (oid("1.3.132.0.10"), "secp256k1"),
    (oid("1.3.36.3.3.2.8.1.1.7"), "brainpoolP256r1"),
    (oid("2.5.29.37.0"), "any purpose"),
    (SERVER, "servers"),
    (oid("1.3.6.1.5.5.7.3.2"), "clients"),
    (oid("1.3.6.1.5.5.7.3.3"), "code"),
    (oid("1.3.6.1.5.5.7.3.4"), "mail"),
    (oid("1.3.6.1.5.5.7.3.8"), "timestamps"),
    (oid("1.3.6.1.5.5.7.3.9"), "OCSP"),
];

/// The name of an algorithm, a curve or a purpose, or else its identifier behind these words.
pub(crate) fn name_or(words: &str, id: &ObjectIdentifier) -> String {
    NAMES
        .iter()
        .find(|(known, _)| known == id)
        .map_or_else(|| format!("{words}{id}"), |(_, name)| (*name).to_owned())
}
