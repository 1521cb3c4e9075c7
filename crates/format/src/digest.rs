//! The digests of a body that a record can promise.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A digest algorithm, the weakest first. Keys of records have the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// MD5 (RFC 1321): anyone can make two files with one digest.
    Md5,
    /// SHA-1 (FIPS 180-4): two files with one digest are known.
    Sha1,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// SHA-384 (FIPS 180-4).
    Sha384,
    /// SHA-512 (FIPS 180-4).
    Sha512,
}

impl Algorithm {
    /// Every algorithm.
    pub const ALL: [Self; 5] = [
        Self::Md5,
        Self::Sha1,
        Self::Sha256,
        Self::Sha384,
        Self::Sha512,
    ];

    /// The name in text that programs read, such as `sha256`.
    pub fn name(self) -> &'static str {
        self.key().strip_prefix("content-").unwrap_or_default()
    }

    /// The key of a record that holds the digest, such as `content-sha256`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Md5 => "content-md5",
            Self::Sha1 => "content-sha1",
            Self::Sha256 => "content-sha256",
            Self::Sha384 => "content-sha384",
            Self::Sha512 => "content-sha512",
        }
    }

    /// The algorithm whose digests a key of a record holds.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.key() == key)
    }

    /// The length of a digest in bytes.
    pub fn length(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }

    /// The algorithm of a name, in either case and with or without hyphens: `sha256`, `SHA-256`, `SHA2-256`.
    pub fn from_name(name: &str) -> Option<Self> {
        let plain = name.to_ascii_lowercase().replace('-', "");
        let plain = plain
            .strip_prefix("sha2")
            .filter(|bits| bits.len() == 3)
            .map_or(plain.clone(), |bits| format!("sha{bits}"));
        Self::ALL
            .into_iter()
            .find(|algorithm| algorithm.name() == plain)
    }
}

impl fmt::Display for Algorithm {
    /// The name for people, such as `SHA-256`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Md5 => "MD5",
            Self::Sha1 => "SHA-1",
            Self::Sha256 => "SHA-256",
            Self::Sha384 => "SHA-384",
            Self::Sha512 => "SHA-512",
        })
    }
}

/// A digest of a body.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest {
    algorithm: Algorithm,
    hex: String,
}

impl Digest {
    /// The digest in bytes; `None` if their number is not the algorithm's.
    pub fn new(algorithm: Algorithm, bytes: &[u8]) -> Option<Self> {
        (bytes.len() == algorithm.length()).then(|| Self {
            algorithm,
            hex: data_encoding::HEXLOWER.encode(bytes),
        })
    }

    /// The digest in hexadecimal digits, as records have them: in lower case, and as many as the algorithm has.
    pub fn from_hex(algorithm: Algorithm, hex: impl Into<String>) -> Option<Self> {
        let hex = hex.into();
        Self::is_hex(algorithm, &hex).then_some(Self { algorithm, hex })
    }

    /// Whether a text is a digest, as [`Self::from_hex`] takes them.
    pub(crate) fn is_hex(algorithm: Algorithm, text: &str) -> bool {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.len() == 2 * algorithm.length() && text.bytes().all(is_digit)
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The digest in lower-case hexadecimal digits.
    pub fn hex(&self) -> &str {
        &self.hex
    }
}

impl fmt::Display for Digest {
    /// The name of the algorithm and the digits: `sha256:5891…`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.name(), self.hex)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_algorithms_have_many_spellings() {
        for (name, algorithm) in [
            ("md5", Algorithm::Md5),
            ("MD5", Algorithm::Md5),
            ("sha-1", Algorithm::Sha1),
            ("SHA1", Algorithm::Sha1),
            ("sha256", Algorithm::Sha256),
            ("SHA2-256", Algorithm::Sha256),
            ("SHA-384", Algorithm::Sha384),
            ("Sha512", Algorithm::Sha512),
        ] {
            assert_eq!(Algorithm::from_name(name), Some(algorithm), "{name}");
        }
        for name in [
            "",
            "sha",
            "sha2",
            "sha224",
            "sha3-256",
            "sha2-224",
            "blake2b",
            "sha512256",
        ] {
            assert_eq!(Algorithm::from_name(name), None, "{name}");
        }
    }

    #[test]
    fn keys_sort_as_algorithms_do() {
        assert!(Algorithm::ALL.map(Algorithm::key).is_sorted());
        for algorithm in Algorithm::ALL {
            assert_eq!(Algorithm::of_key(algorithm.key()), Some(algorithm));
            let digest = Digest::new(algorithm, &vec![0xab; algorithm.length()]).unwrap();
            assert_eq!(
                Digest::from_hex(algorithm, digest.hex()),
                Some(digest.clone())
            );
            assert_eq!(
                Digest::from_hex(algorithm, digest.hex().to_ascii_uppercase()),
                None
            );
            assert_eq!(Digest::new(algorithm, b"short"), None);
        }
    }
}
