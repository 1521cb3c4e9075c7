//! The first digits of a SHA-256, which select captures.

use std::fmt;
use std::str::FromStr;

use urldb_warc::Digest;

/// Fewer digits could be those of several contents of one URL.
const FEWEST: usize = 8;

/// Number of hexadecimal digits of a SHA-256.
const ALL: usize = 64;

/// A SHA-256 or its first digits, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestPrefix(String);

/// The text is no beginning of a SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no SHA-256: give {FEWEST} to {ALL} hexadecimal digits")]
pub struct InvalidPrefix {
    text: String,
}

impl DigestPrefix {
    /// Whether a digest of an index begins with these digits.
    pub fn begins(&self, digest: &str) -> bool {
        let digest = digest.parse::<Digest>().map(|digest| digest.to_string());
        digest.is_ok_and(|digest| {
            digest
                .strip_prefix("sha256:")
                .is_some_and(|digits| digits.starts_with(&self.0))
        })
    }
}

impl FromStr for DigestPrefix {
    type Err = InvalidPrefix;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hex && (FEWEST..=ALL).contains(&digits.len()) {
            Ok(Self(digits.to_ascii_lowercase()))
        } else {
            Err(InvalidPrefix {
                text: text.to_owned(),
            })
        }
    }
}

impl fmt::Display for DigestPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_digits_select_a_digest() {
        let digest = format!("sha256:9847d718{}", "0".repeat(56));
        for text in ["9847d718", "9847D7180000", "sha256:9847d718", &digest] {
            let prefix = text.parse::<DigestPrefix>().unwrap();
            assert!(prefix.begins(&digest), "{text}");
            assert!(prefix.begins(&digest.to_uppercase()), "{text}");
            assert!(!prefix.begins(&digest.replace("98", "97")), "{text}");
        }
        let prefix = "9847d718".parse::<DigestPrefix>().unwrap();
        for other in ["-", "", "9847d718", "sha1:QBIYHDSIWFYAAAAAAAAAAAAAAAAAAAAA"] {
            assert!(!prefix.begins(other), "{other}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let long = "0".repeat(65);
        for text in [
            "",
            "9847d71",
            "9847d71x",
            "sha1:9847d718",
            "९847d718",
            &long,
        ] {
            assert!(text.parse::<DigestPrefix>().is_err(), "{text}");
        }
    }
}
